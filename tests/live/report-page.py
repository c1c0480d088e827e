# SPDX-License-Identifier: Apache-2.0
"""tests/live/report-page.py - the page of cloche report, in a browser

The tests in a browser are those of the long run. CLOCHE_PICTURES=DIR keeps screenshots.
The npm of one of them installs from a registry in a network of our own.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from browser import Browser
from registries import *

STORE = ".local/state/cloche/violations.jsonl"
MANY = 100000
HOSTILE = [
    "</script><script>document.title='owned'</script>", "<!--<script>",
    "<img src=x onerror=\"document.title='owned'\">", "<svg/onload=alert(1)>",
    "javascript:alert(1)", "&lt;b&gt;", "\x1b]0;title\x07\x1b[31m", "\u202egnp.exe",
    "\u2066a\u2069\u200bb", "line\u2028end\u2029", "'\"`${alert(1)}", "__proto__", "constructor",
    "<style>*{display:none}</style>", "https://registry.example.org/x.png", "a" * 4096,
    "/\ud7ff\ue000\U0001f600", "</main></body>",
]
RUN = "01J0000000000000000000000"
in_browser = test_if(LONG)
# What has less contrast than AA wants (4.5, large text 3), as it is drawn
CONTRAST = """(() => {
	const parse = (c) => c.match(/[\\d.]+/g).map(Number);
	const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const ground = (n) => {
		for (; n; n = n.parentElement) {
			const c = parse(getComputedStyle(n).backgroundColor);
			if (c.length < 4 || c[3] > 0)
				return c;
		}
		return [255, 255, 255];
	};
	const bad = [];
	for (const n of document.querySelectorAll("main *")) {
		if (![...n.childNodes].some((c) => c.nodeType === 3 && c.data.trim()) || !n.getClientRects().length)
			continue;
		const style = getComputedStyle(n), a = light(parse(style.color)), b = light(ground(n));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
		if (ratio < (large ? 3 : 4.5))
			bad.push([n.tagName, n.textContent.slice(0, 40), ratio]);
	}
	return bad;
})()"""


def refusal(i, target, **more):
    return json.dumps({
        "v": 1, "time": f"2026-01-31T12:{i // 60 % 60:02}:{i % 60:02}.789Z", "run": RUN + "A",
        "command": "npm install", "pid": 4711, "exe": "/usr/bin/node", "kind": "fs-write",
        "op": "openat", "target": target, "errno": "EACCES", "reason": "outside the writable paths",
        "rule": {"file": None, "path": "built-in"},
        "suggest": {"edit": None, "command": f"cloche policy allow write {target}"},
        "count": 2, **more}) + "\n"


def run_line(**more):
    return json.dumps({
        "v": 1, "record": "run", "start": "2026-01-31T12:34:56.789Z",
        "end": "2026-01-31T12:34:58.789Z", "run": RUN + "A", "command": "npm install",
        "project": "/home/me/project", "policy": "0" * 64, "tier": "full", "status": 1,
        "refused": {"fs-write": 3}, **more}) + "\n"


def hostile_store():
    lines = [run_line(hosts="registry.example.org:443=12/3456/7890123 others=1/2/3",
                      limits="time=2000/60000 memory=900000000/1000000000"),
             run_line(run=RUN + "B", command=HOSTILE[0], project=HOSTILE[2], tier="landlock",
                      hosts="<b>=x/1 =", limits="<i>=9/ =/ __proto__=1/2")]
    for i, name in enumerate(HOSTILE):
        lines.append(refusal(i, name, exe=name, command=name, reason=name, run=RUN + "B",
                             rule={"file": name, "path": name}, parents=f"1 {name}/2 {name}",
                             suggest={"edit": name, "command": name}))
    for i in range(40):
        lines.append(refusal(i, f"/usr/lib/file-{i}"))
    lines.append(refusal(50, "telemetry.example.org:443", kind="net-connect", op="CONNECT",
                         reason="no rule allows this host"))
    lines.append(refusal(51, "memory", kind="limit", op="limit", reason="more than 1 GiB"))
    return "".join(lines)


def page_of(t, text):
    t.write(os.path.join(t.home, STORE), text, 0o600)
    t.run("report", "-o", "page.html").ok()
    return f"file://{t.dir}/page.html"


def browser(t):
    return Browser(need("chromium"), f"{t.away}/profile")


def check_silent(page, address):
    equal(page.requests, [address], "what the page asked for")
    equal(page.console, [], "the console")


def show(page, text):
    """Type into the filter, wait for what it says"""
    before = page.run("document.getElementById('count').textContent")
    page.run("document.getElementById('filter').value = ''; document.getElementById('filter').focus()")
    page.call("Input.insertText", text=text)
    page.run("new Promise(done => { const go = () => document.getElementById('count').textContent "
             f"!== {json.dumps(before)} ? done() : requestAnimationFrame(go); go(); }})")
    return page.run("document.getElementById('count').textContent")


def open_all(page):
    page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.run("new Promise(requestAnimationFrame)")
    page.run("document.querySelectorAll('button.more').forEach((b) => b.click())")


def luminance(colour):
    colour = colour.lstrip("#")
    if len(colour) == 3:
        colour = "".join(c * 2 for c in colour)
    parts = [int(colour[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@test
def every_text_has_WCAG_AA_contrast(t):
    page = t.run("report").ok().out
    schemes = re.findall(r":root \{([^}]*)\}", page)
    equal(len(schemes), 2, "light and dark")
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+): (#\w+)", scheme))
        for ground in "bg", "card", "code":
            for text in "text", "soft", "link", "bad", "good":
                ratio = contrast(colours[text], colours[ground])
                check(ratio >= 4.5, text, "on", ground, ratio)
    check(contrast("#777", "#fff") < 4.5, "the control")


@in_browser
def names_with_markup_are_shown_as_text(t):
    with browser(t) as page:
        address = page_of(t, hostile_store())
        page.open(address)
        check_silent(page, address)
        equal(page.run("document.title"), "cloche report")
        equal(page.run("document.querySelectorAll('main img, main script, main svg, main style, main a').length"), 0)
        equal(page.run("document.querySelectorAll('script').length"), 2)
        open_all(page)
        shown = page.run("document.querySelector('main').innerText")
        for name in HOSTILE[:3] + HOSTILE[10:11]:
            contains(shown, name)
        for i in 0, 1, 39:		# Each row has its own
            check(re.search(f"cloche policy allow write /usr/lib/file-{i}\\b", shown), i)
        for text in "7.5 MiB", "900000000", "858 MiB of 954 MiB, 90 %: near", "2.0 s of 60.0 s, 3 %":
            (lacks if text.isdigit() else contains)(shown, text)
        for mark in "\\u202egnp.exe", "\\u2066a\\u2069\\u200bb", "\\u001b]0;title\\u0007":
            contains(shown, mark)
        lacks(shown, "\u202e")
        equal(page.run("document.documentElement.scrollWidth <= innerWidth"), True)
        check_silent(page, address)
        # The control: the browser does report what a page asks for
        t.write("bad.html", "<img src='http://127.0.0.1:9/x.png'><script>console.log(1)</script>")
        page.open(f"file://{t.dir}/bad.html")
        contains(str(page.requests), "127.0.0.1:9")
        check(page.console)


@in_browser
def filters_and_keys_work(t):
    with browser(t) as page:
        page.open(page_of(t, hostile_store()))
        first = page.run("document.getElementById('count').textContent")
        contains(first, f"{len(HOSTILE) + 41} refused")
        page.run("document.activeElement.blur()")
        page.key("/", "/")
        equal(page.run("document.activeElement.id"), "filter")
        equal(page.run("document.getElementById('filter').value"), "")
        contains(show(page, "telemetry"), "1 refused")
        contains(page.run("document.getElementById('refused').innerText"), "telemetry.example.org:443")
        contains(show(page, "nowhere to be found"), "0 refused")
        contains(page.run("document.getElementById('refused').innerText"), "Nothing")
        page.run("document.getElementById('filter').value = ''")
        page.key("Tab")
        equal(page.run("document.activeElement.id"), "run")
        page.run(f"const s = document.getElementById('run'); s.value = '{RUN}A';"
                 "s.dispatchEvent(new Event('change'))")
        contains(page.run("document.getElementById('count').textContent"), "41 refused")
        # A group is opened and closed with the keys
        page.run("document.querySelector('#refused details').open = false;"
                 "document.querySelector('#refused summary').focus()")
        page.key("Enter", "\r")
        equal(page.run("document.querySelector('#refused details').open"), True)
        equal(page.run("getComputedStyle(document.activeElement).outlineStyle"), "solid")
        # A line of the timeline chooses its run, and leaves it again
        equal(page.run("document.querySelectorAll('#timeline .line').length"), 1)
        page.run("document.querySelector('#timeline button').focus()")
        page.key("Enter", "\r")
        equal(page.run("document.getElementById('run').value"), "")
        contains(page.run("document.getElementById('count').textContent"), f"{len(HOSTILE) + 41} refused")
        equal(page.run("document.querySelectorAll('#timeline .line').length"), 2)
        check(page.run("document.querySelectorAll('#timeline .mark').length") > 0, "marks")
        check(page.run("document.querySelector('#timeline .span').getBoundingClientRect().width") > 3, "a span")
        page.call("Emulation.setEmulatedMedia", media="print")
        equal(page.run("getComputedStyle(document.querySelector('.bar')).display"), "none")


@in_browser
def a_page_of_100000_refusals_loads(t):
    with browser(t) as page:
        address = page_of(t, run_line() + "".join(
            refusal(i, f"/usr/lib/node_modules/package-{i % 977}/dist/file-{i}.js",
                    reason=f"outside the writable paths ({i % 7})") for i in range(MANY)))
        page.open(address)
        check_silent(page, address)
        contains(page.run("document.getElementById('count').textContent"), f"{MANY:,} refused")
        note("load event after", page.run("performance.timing.loadEventEnd - performance.timing.navigationStart"), "ms")
        began = page.run("performance.now()")
        contains(show(page, "package-5/ file-5.js"), "1 refused")
        note("filtered after", page.run("performance.now()") - began, "ms")
        check(page.run("document.querySelectorAll('*').length") < 20000, "elements")


@in_browser
def refusals_of_npm_install_are_shown(t):
    npm = need("npm")
    serve_registries()
    script = ("touch $HOME/.npm-planted; curl -s http://telemetry.test/beacon; mkdir -p /usr/lib/planted; "
              "sh -c 'cat $HOME/.ssh/id_ed25519'; true")
    t.write(os.path.join(t.home, ".ssh/id_ed25519"), "secret\n", 0o600)
    t.write("package.json", json.dumps({"name": "project", "version": "1.0.0", "dependencies": {"dep": "1.0.0"},
                                        "scripts": {"postinstall": script}}))
    t.write(".npmrc", "registry=http://npm.test/\n")
    t.inside(npm, "install", "--no-audit", "--no-fund", options=["--ephemeral", "--allow", "npm.test", "--timeout", "10m"]).ok()
    t.run("report", "-o", t.away + "/page.html").ok()
    address = f"file://{t.away}/page.html"
    with browser(t) as page:
        page.open(address)
        open_all(page)
        shown = {name: page.run(f"document.getElementById('{name}').innerText")
                 for name in ("title", "what", "refused", "hosts", "limits", "processes", "staged")}
        contains(shown["title"], "install --no-audit")
        contains(shown["what"], "ended with status 0")
        contains(shown["what"], "4 things were refused.")
        for target in ".npm-planted", "telemetry.test:80", "/usr/lib/planted":
            contains(shown["refused"], target)
        contains(shown["hosts"], "npm.test:80")
        lacks(shown["hosts"], "telemetry")
        contains(shown["limits"], "of 10 min")
        check(re.search(r"npm install.*\n.*sh .*\n.*touch", shown["processes"]), shown["processes"])
        contains(shown["staged"], "node_modules/dep/i.js")
        contains(page.run("document.getElementById('staged').innerHTML"), "module.exports = 42")
        equal(page.run("document.documentElement.scrollWidth <= innerWidth"), True)
        check_silent(page, address)
        look(page, address, "npm")


def look(page, address, name):
    """In every width and colour; pictures are for a person"""
    keep = os.environ.get("CLOCHE_PICTURES")
    for width, height in (1280, 900), (390, 844):
        for scheme in "light", "dark":
            page.size(width, height, scheme)
            page.open(address)
            check(page.run("document.documentElement.scrollWidth <= innerWidth"), width)
            ground = page.run("getComputedStyle(document.body).backgroundColor")
            check((sum(map(int, re.findall(r"\d+", ground))) < 384) == (scheme == "dark"), ground)
            equal(page.run(CONTRAST), [])
            if keep:
                page.picture(os.path.join(keep, f"{name}-{width}-{scheme}.png"))
    # The control: the measure does find grey on grey
    page.run("document.querySelector('h2').style.color = getComputedStyle(document.body).backgroundColor")
    equal(len(page.run(CONTRAST)), 1)


@in_browser
def the_page_fits_wide_narrow_light_and_dark(t):
    with browser(t) as page:
        look(page, page_of(t, hostile_store()), "hostile")


if LONG:
    own_host(NAMES)
main()
