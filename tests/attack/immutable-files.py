# SPDX-License-Identifier: Apache-2.0
"""tests/attack/immutable-files.py - policy files and programs that no command may change"""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

OPEN = json.dumps({"sandbox": {"filesystem": {"allowRead": ["~/.ssh"],
                                              "allowWrite": ["~"]}}})
POLICY = [".claude/settings.json", ".claude/settings.local.json",
          ".cloche.json"]
HOOKS = [".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json",
         ".cursor/hooks.json", ".claude/hooks/x"]


def srt(t, script, *roots):
    """As srt, with those writable roots"""
    t.write(t.home + "/.srt-settings.json", json.dumps({
        "network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": list(roots),
                       "denyWrite": []}}))
    return t.outside(CLOCHE, "as", "srt", "-c", script)


def writers(t, root):
    """Every way to run a script that may write below @root"""
    yield "srt", lambda script: srt(t, script, root)
    for profile in ("default", "home", "srt"):
        yield profile, lambda script, profile=profile: t.run(
            "run", "--profile", profile, "--write", root, "-c", script)
    for profile in ("default", "srt"):
        yield profile + "-landlock", lambda script, profile=profile: t.run(
            "run", "--tier", "landlock", "--profile", profile, "--write", root,
            "-c", script)


def plant(path):
    """Lines that bring a file there, by every way that comes to mind"""
    top = os.path.dirname(path)
    return (f"mkdir -p {top}; echo '{OPEN}' > {path}; "
            f"echo '{OPEN}' > {path}.new && mv {path}.new {path}; "
            f"rm -f {path}; ln -s /etc/passwd {path}; rm -rf {top}.d; "
            f"mkdir {top}.d && echo x > {top}.d/{os.path.basename(path)} && "
            f"mv -T {top}.d {top}")


@test
def policy_files_cannot_be_written_in_any_profile(t):
    for root in (t.dir, t.away):
        names = POLICY + HOOKS
        for name, write in writers(t, root):
            control = f"{root}/control-{name}"
            write("; ".join(plant(f"{root}/{file}") for file in names) +
                  f"; touch {control}")
            check(os.path.exists(control), name, root)
            equal([file for file in names
                   if os.path.lexists(f"{root}/{file}")], [], name, root)


@test
def policy_files_cannot_be_written_with_filesystem_disabled(t):
    """filesystem.disabled leaves the rest of the machine open, as in srt"""
    off = '{"sandbox": {"filesystem": {"disabled": true}}}'
    user = t.home + "/.claude/settings.json"
    files = [f"{t.dir}/{name}" for name in POLICY] + [user]
    t.write(user, "{}")
    for more in ([], ["--no-settings"], ["--profile", "srt"]):
        t.run("run", "-s", off, *more, "-c",
              "; ".join(plant(file) for file in files) +
              f"; rm -rf {t.home}/.config/cloche {t.home}/.claude; "
              f"touch {t.away}/control")
        check(os.path.exists(t.away + "/control"), more)
        os.unlink(t.away + "/control")
        equal([file for file in files if os.path.lexists(file)], [user], more)
        equal(t.read(user), "{}")


@test
def existing_policy_files_cannot_be_changed(t):
    for name in POLICY:
        t.write(name, "{}")
    for name, write in writers(t, t.dir):
        write("; ".join(plant(f"{t.dir}/{file}") for file in POLICY) +
              f"; mv .claude gone; rm -rf .claude; touch control-{name}")
        check(t.exists(f"control-{name}"), name)
        equal([t.read(file) for file in POLICY], ["{}"] * len(POLICY), name)


@test
def user_settings_cannot_be_written_by_srt(t):
    t.write(t.home + "/.claude/settings.json", "{}")
    files = [f"{t.home}/.claude/{name}"
             for name in ("settings.json", "settings.local.json")]
    srt(t, "; ".join(plant(file) for file in files) +
        f"; touch {t.home}/control", t.home)
    check(os.path.exists(t.home + "/control"))
    equal(t.read(files[0]), "{}")
    check(not os.path.lexists(files[1]))


@test
def settings_written_under_srt_do_not_affect_cloche_run(t):
    t.write(t.home + "/.ssh/id_rsa", "secret\n")
    read = ["run", "-c", "cat ~/.ssh/id_rsa; echo end"]
    t.write(".claude/settings.json", "{}")
    running = t.start("run", "-c",
                      "echo up; read x; cat ~/.ssh/id_rsa; echo end")
    equal(running.stdout.readline(), b"up\n")
    srt(t, plant(t.dir + "/.claude/settings.json") + "; touch control", ".")
    equal(running.communicate(b"\n")[0], b"end\n")
    check(t.exists("control"))
    equal(t.run(*read).out, "end\n")
    what = {"cwd": t.dir, "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": "ls"}}
    r = t.run("hook", "claude", "pre-tool-use", stdin=json.dumps(what)).ok()
    contains(r.out, " run ")


def digest(top):
    """What is below a directory, links and all"""
    found = {}
    for base, _, files in os.walk(top):
        for name in files:
            path = os.path.join(base, name)
            found[path] = os.readlink(path) if os.path.islink(path) else \
                open(path, "rb").read()
    return found


def install(t, place, *more):
    """A copy of the program, and files that belong to it"""
    os.makedirs(place, exist_ok=True)
    shutil.copy(os.path.realpath(CLOCHE), place + "/cloche")
    for name in more:
        t.write(name, "ours")
    return place + "/cloche"


def replace(place, *names):
    """Lines that put something else in the place of a program"""
    return "; ".join(
        [f"echo evil > {place}/{name}" for name in names] +
        [f"rm -f {place}/{name}; ln -s /bin/true {place}/{name}"
         for name in names] +
        [f"cp /bin/true {place}/x && mv {place}/x {place}/{name}; rm -f {place}/x"
         for name in names] +
        [f"mv {place} {place}.old && mkdir {place} && echo evil > "
         f"{place}/cloche", f"mv {os.path.dirname(place)} "
         f"{os.path.dirname(place)}.old"])


@test
def the_program_cannot_be_replaced_at_any_install_path(t):
    for place, files in ((t.dir + "/node_modules/cloche/native",
                          ["../index.js", "cloche.node"]),
                         (t.dir + "/.venv/lib/python3/site-packages/cloche/"
                          "native", ["../__init__.py", "libcloche.so.0"]),
                         (t.dir + "/bin", ["cloche-resolve",
                                           "../libexec/cloche/shells/bash"])):
        program = install(t, place, *(os.path.normpath(f"{place}/{file}")
                                      for file in files))
        before = digest(t.dir)
        for profile, tier in (("default", "full"), ("srt", "full"),
                              ("default", "landlock")):
            r = t.outside(program, "run", "--profile", profile, "--tier", tier,
                          "--write", t.dir, "-c", replace(place, "cloche", *files,
                                               "cloche-secret", "cloche-verify",
                                               "cloche-firewall") +
                          f"; touch {t.dir}/control")
            check(t.exists("control"), r)
            contains(r.err, "runs from here: update it outside the sandbox")
            os.unlink(t.dir + "/control")
            after = digest(t.dir)
            equal([file for file in sorted({*before, *after})
                   if before.get(file) != after.get(file)], [], profile, tier,
                  place)
        # The control: another program of the same name may be replaced
        t.run("run", "-c", f"cp {place}/cloche {t.dir}/cloche && "
              f"echo x > {t.dir}/cloche").ok()
        equal(t.read("cloche"), "x\n")
        os.unlink(t.dir + "/cloche")


@test
def a_symlink_to_a_pnpm_package_cannot_be_replaced(t):
    real = "node_modules/.pnpm/cloche@0.1.0/node_modules/cloche"
    program = install(t, f"{t.dir}/{real}/native", f"{real}/index.js")
    link = t.dir + "/node_modules/cloche"
    os.symlink(real.removeprefix("node_modules/"), link)
    for profile in ("default", "srt"):
        t.outside(program, "run", "--profile", profile, "--write", t.dir, "-c",
                  f"rm -f {link}; ln -sfn /etc {link}; mkdir x; "
                  f"mv -T x {link}; mv node_modules old; touch control")
        check(t.exists("control"))
        os.unlink(t.dir + "/control")
        equal(os.path.realpath(link), f"{t.dir}/{real}", profile)


@test
def the_symlink_that_started_the_program_cannot_be_replaced(t):
    install(t, t.dir + "/node_modules/other/bin")
    link = "node_modules/.bin/cloche"
    os.mkdir(t.dir + "/node_modules/.bin")
    for name in (link, "node_modules/.bin/other"):
        os.symlink("../other/bin/cloche", f"{t.dir}/{name}")
    for profile in ("default", "srt"):
        for options in ([], ["--cwd", "node_modules"]):
            t.outside("./" + link, "run", "--profile", profile, *options,
                      "--write", t.dir, "-c", f"cd {t.dir}; "
                      f"rm -f {link}; ln -sfn /bin/true {link}; echo x > x; "
                      f"mv -T x {link}; mv -T node_modules/.bin old; "
                      "rm node_modules/.bin/other && "
                      "ln -s ../other/bin/cloche node_modules/.bin/other && "
                      "touch control")
            check(t.exists("control"), "the control")
            os.unlink(t.dir + "/control")
            equal(os.readlink(f"{t.dir}/{link}"), "../other/bin/cloche", profile)


@test
def the_program_cannot_be_shadowed_in_PATH(t):
    bin = t.home + "/.local/bin"
    os.makedirs(bin)
    env = {"PATH": bin + ":" + os.environ["PATH"]}
    script = (f"echo evil > {bin}/cloche; ln -s /bin/true {bin}/cloche; "
              f"echo x > {bin}/other; mv -T {bin} {bin}.old && "
              f"mkdir {bin} && cp /bin/true {bin}/cloche")
    for linked in (False, True):
        if linked:
            os.symlink(os.path.realpath(CLOCHE), bin + "/cloche")
        for profile in ("default", "srt"):
            t.run("run", "--profile", profile, "--write", t.home, "-c", script,
                  env=env)
            if not linked:	# An empty one may be taken away, not made anew
                check(not os.path.lexists(bin), profile)
                os.rename(bin + ".old", bin)
            equal(t.read(bin + "/other"), "x\n")
            os.unlink(bin + "/other")
            equal(os.listdir(bin), ["cloche"] * linked, profile)
            check(not linked or os.readlink(bin + "/cloche") ==
                  os.path.realpath(CLOCHE))


@test
def a_settings_file_of_an_earlier_run_cannot_be_changed(t):
    file = t.write("policy.json", '{"sandbox": {}}')
    script = (f"echo '{OPEN}' > policy.json; rm -f policy.json; touch control")
    t.run("run", "--write", t.away, "-s", file, "--cwd", t.away, "true").ok()
    for profile in ("default", "srt"):
        t.run("run", "--profile", profile, "--write", t.dir, "-c", script)
        check(t.exists("control"))
        os.unlink(t.dir + "/control")
        equal(t.read("policy.json"), '{"sandbox": {}}', profile)
    t.run("run", "-c", "echo x > other.json").ok()
    # Many names push the oldest out, and missing ones are forgotten
    for i in range(200):
        t.write(t.away + f"/{'d' * 100}-{i}", "{}")
        t.run("run", "-s", t.away + f"/{'d' * 100}-{i}", "--no-settings",
              "--net", "none", "true").ok()
    names = open(t.home + "/.local/state/cloche/settings-files").read()
    check(0 < len(names) <= 16 << 10 and names.endswith("\n"))
    check(all(os.path.exists(name) for name in names.splitlines()))
    contains(names, "-199\n")
    lacks(names, "policy.json")


main()
