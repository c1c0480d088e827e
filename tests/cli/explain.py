# SPDX-License-Identifier: Apache-2.0
"""tests/cli/explain.py - cloche explain and cloche wrap"""

import json
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *


@test
def explain_shows_the_rules_and_runs_nothing(t):
    t.write("keep", "")
    os.mkdir(t.dir + "/hidden")
    t.write(".git/config", "")
    t.write(".git/hooks/x", "")
    before = tree(t.dir)
    r = t.run("explain", "--deny-write", "keep", "--deny-read", "hidden", "--",
              "touch", "ran").ok()
    for part in (t.dir, t.dir + "/keep", t.dir + "/hidden", "--deny-write",
                 "--deny-read", ".git/hooks"):
        contains(r.out, part)
    equal(tree(t.dir), before)


@test
def explain_prints_json(t):
    t.write("keep", "")
    plan = json.loads(t.run("explain", "--json", "--deny-write", "keep", "--",
                            "true").ok().out)
    equal(plan["version"], 1)
    check("mounts" in plan, sorted(plan))
    check(any(m.get("path") == t.dir + "/keep" for m in plan["mounts"]),
          plan["mounts"])


@test
def explain_names_the_settings_line(t):
    t.write("keep", "")
    file = t.write(t.away + "/s.json",
                   '{\n  "filesystem": {\n    "denyWrite": ["keep"]\n  }\n}\n')
    contains(t.run("explain", "-s", file, "--", "true").ok().out,
             "s.json:3")


@test
def explain_names_the_reason_for_each_variable(t):
    r = t.run("explain", "--env", "MINE=wisdom", env={"LC_TIME": "C"}).ok()
    lacks(r.out, "wisdom")
    shown = r.out.split("environment\n")[1].split("command\n")[0]
    words = dict(line.split(None, 1) for line in shown.splitlines())
    equal(words["MINE"], "(--env)")
    equal(words["LC_TIME"], "(passes by default)")
    equal(words["HTTPS_PROXY"], "(set for the sandbox)")


def network_of(text):
    return text.split("network\n")[1].split("process\n")[0]


@test
def explain_lists_hosts_ports_and_sockets(t):
    file = t.write(t.away + "/s.json", json.dumps({"network": {
        "allowLocalBinding": True, "socksProxyPort": 4444,
        "deniedResolvedAddresses": ["203.0.113.0/24"]}}))
    words = ["-s", file, "--host-port", "5432", "--publish", "3000",
             "--unix-socket", t.dir + "/s", "--allow", "shown.test"]
    more = {"env": {"http_proxy": "http://me:s3cret@proxy.test:3333",
                    "https_proxy": "https://not-ours.test:1"}}
    r = t.run("explain", *words, **more).ok()
    lacks(r.out, "s3cret")
    shown = network_of(r.out)
    for line in ("allow          shown.test  (--allow)",
                 "host's port    5432  (--host-port)",
                 "publish        3000  (--publish)",
                 "publish        whatever is listened on  (" + file + ":1",
                 "deny address   203.0.113.0/24  (" + file + ":1",
                 f"Unix socket    {t.dir}/s  (--unix-socket)",
                 "SOCKS5 by      port 4444 of the host, which alone decides",
                 "HTTP through   proxy.test:3333  (http_proxy)",
                 "unchecked      addresses of names"):
        contains(shown, "  " + line)
    lacks(shown, "not-ours")
    contains(r.out, "AF_UNIX sockets of its own, or by path\n")
    plan = json.loads(t.run("explain", "--json", *words, **more).ok().out)
    equal([plan[k] for k in ("hostPorts", "publish", "publishAny",
                             "unixSocketPaths", "deniedAddresses",
                             "socksProxyPort", "parentProxy")],
          [["5432"], ["3000"], True, [t.dir + "/s"], ["203.0.113.0/24"], 4444,
           {"http": "proxy.test:3333"}])
    # Without a gate there is none of it
    shown = network_of(t.run("explain", "--net", "none", *words,
                             **more).ok().out)
    for word in ("shown.test", "5432", "3000", "4444", "proxy.test", "203.0.113"):
        lacks(shown, word)


@test
def explain_says_that_no_host_is_allowed(t):
    words = "no host        is allowed"
    contains(t.run("explain").ok().out, words)
    for options in (["--allow", "a.test"], ["--net", "none"],
                    ["--net", "host"]):
        lacks(t.run("explain", *options).ok().out, words)


@test
def explain_describes_tmp_per_profile(t):
    for words, lines in (([], ["  write          /tmp  (private, kept for this "
                               "project)"]),
                         (["--profile", "srt"], []),
                         (["--write", "/tmp"],
                          ["  write          /tmp  (--write)"])):
        r = t.run("explain", *words).ok()
        equal([line for line in r.out.splitlines() if " /tmp  " in line],
              lines, *words)


@test
def explain_works_without_a_command(t):
    t.run("explain").ok()


@test
def wrap_prints_one_line_that_runs_the_command(t):
    r = t.run("wrap", "--env", "A=b c", "--", "sh", "-c",
              "echo \"it's $A\" > out").ok()
    equal(len(r.out.splitlines()), 1, r.out)
    check(not t.exists("out"), "wrap ran it")
    t.outside("sh", "-c", r.out).ok()
    equal(t.read("out"), "it's b c\n")


WORDS = ["", "a b", "$HOME", "`id`", "'", '"', "\\", "*", "!", ";", "%s%%",
         "!!", "\\'; touch out; '", "'\\", "\\\\'\\'", "x'!$'y", "~", "^a^b",
         "(id)", "$(id)", "{a,b}", "\\(id)", "it's \\\"!", "é'\\é", "#a", "=ls", "%self"]


def wrapped(t, words):
    line = t.run("wrap", "--", "printf", "%s|", *words).ok().out
    equal(line.count("\n"), 1, line)
    return line


def quoted_words(t, shell, *options, before=""):
    """A real shell reads a line of ours as the words that went in"""
    if not shutil.which(shell):
        skip(f"{shell} is not installed")
    odd, r = "'\\!\"$ a`", random.Random(1)
    words = WORDS + ["".join(r.choices(odd, k=r.randrange(1, 9)))
                     for _ in range(100)]
    for more in ([], ["\n", "a\n", "-n\\n\n'%d'\n$(id)\\"]):
        words = words + more
        line = before + wrapped(t, words)
        r = t.outside(shell, *options, line) if options[-1] == "-c" else \
            t.outside(shell, *options, stdin=line)
        equal(r.ok().out,
              "".join(w + "|" for w in words))
        check(not t.exists("out"), "a word broke out")


@test
def wrap_quotes_for_sh_bash_dash_and_zsh(t):
    for shell in ("sh", "bash", "dash", "zsh"):
        quoted_words(t, shell, "-c")


@test
def wrap_quotes_for_a_bash_that_expands_its_history(t):
    control = t.outside("bash", "--norc", stdin="set -o history -H\n: first\n"
                        'echo "!!"\n').ok()
    contains(control.out, ": first")
    quoted_words(t, "bash", "--norc",
                 before="set -o history -H\n: first\n")


@test
def wrap_quotes_for_fish(t):
    quoted_words(t, "fish", "--no-config", "-c")


def fish_reads(line):
    """fish's quotes: single ones know \\\\ and \\', double ones \\\\, \\" and \\$"""
    words, word, quote, i = [], None, None, 0
    while i < len(line):
        c = line[i]
        known = {None: "\\'\" ", "'": "\\'", '"': '\\"$'}[quote]
        if c == "\\" and line[i + 1:i + 2] in tuple(known):
            word, i = (word or "") + line[i + 1], i + 1
        elif c == quote:
            quote = None
        elif quote is None and c in "'\"":
            word, quote = word or "", c
        elif quote is None and c in " \n":
            words, word = words + [word] * (word is not None), None
        else:
            check(quote or c not in "()$;*~#{}%", "not quoted:", c)
            word = (word or "") + c
        i += 1
    check(quote is None, "a quote is open:", line)
    return words + [word] * (word is not None)


@test
def wrap_quotes_as_fish_is_documented_to_read(t):
    equal(fish_reads(wrapped(t, WORDS))[-len(WORDS):], WORDS)


@test
def a_preset_grants_only_its_agents_hosts_and_paths(t):
    def plan(agent, **env):
        return t.run("explain", "--json", "--for", agent, "--", "true",
                     env=env).ok().out

    state = t.home + "/.local/state/cloche-agents/"
    for agent, key, host, login in (
            ("claude", "ANTHROPIC_API_KEY", "api.anthropic.com",
             "platform.claude.com"),
            ("codex", "OPENAI_API_KEY", "api.openai.com", "auth.openai.com"),
            ("gemini", "GEMINI_API_KEY", "generativelanguage.googleapis.com",
             "accounts.google.com")):
        keyed, plain = plan(agent, **{key: "sk-x"}), plan(agent)
        for text in (keyed, plain):
            contains(text, host)
            contains(text, state + agent)
        lacks(keyed, login)
        contains(plain, login)
        lacks(keyed + plain, "sk-x")
    r = t.run("run", "--for", "claude", "-c",
              "echo $ANTHROPIC_API_KEY $CLAUDE_CONFIG_DIR; echo x > "
              "$CLAUDE_CONFIG_DIR/kept; ls -A ~", env={"ANTHROPIC_API_KEY": "sk-x"})
    equal(r.out.split()[:2], ["sk-x", state + "claude"])
    lacks(r.out, ".claude\n")
    equal(t.read(state + "claude/kept"), "x\n")
    contains(t.read(state + "codex/config.toml"), "daemon_auto_start = false")
    text = plan("aider", OPENAI_API_KEY="sk-x")
    contains(text, "api.openai.com")
    lacks(text, "api.anthropic.com")
    contains(t.run("run", "--for", "nobody", "true").ended(125).err,
             "claude, codex, gemini, aider")


# What an agent writes in its usual home, and what its next start outside obeys
SHARED = {
    "claude": (".claude", ("projects/p/x.jsonl", "todos/x", "history.jsonl"),
               ("settings.json", "CLAUDE.md", "plugins/x", "skills/x", "hooks/x",
                "remote-settings.json", "output-styles/x", "new")),
    "codex": (".codex", ("sessions/x", "state_5.sqlite", "logs_2.sqlite-wal"),
              ("config.toml", "hooks.json", "environments.toml", "AGENTS.md", "rules/x",
               "prompts/x", "skills/x", "plugins/x", "packages/x", ".env")),
    "gemini": (".gemini", ("projects.json", "tmp/x/chats", "history/x"),
               ("settings.json", ".env", "GEMINI.md", "extensions/x", "commands/x",
                "policies/x", "skills/x", "hooks/x", "trustedFolders.json")),
}
TOKENS = {"claude": ".credentials.json", "codex": "auth.json",
          "gemini": "oauth_creds.json"}


@test
def a_shared_agent_home_is_writable_except_its_settings(t):
    def writes(options, dir, names):
        script = "".join(f"mkdir -p {os.path.dirname(f'{dir}/{n}')} 2>&-; "
                         f"echo x 2>&- > {dir}/{n} && echo {n}\n" for n in names)
        return t.run("run", "--quiet", *options, "-c", script + "true").ok().out.split()

    for agent, (name, state, obeyed) in SHARED.items():
        dir = f"{t.home}/{name}"
        t.write(f"{dir}/{TOKENS[agent]}", "login")
        options = ["--for", agent + ",shared"]
        equal(writes(options, dir, [*state, *obeyed]), list(state), agent)
        # The login passes where there is no key, and only there
        for key, shown in (({}, "login"), ({k: "sk-x" for k in (
                "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")}, "")):
            r = t.run("run", "--quiet", *options, "-c",
                      f"cat {dir}/{TOKENS[agent]} 2>&-; true", env=key).ok()
            equal(r.out, shown, agent)
        # A home that is opened by options has the same denials
        denied = [n for n in obeyed if n != "new"]
        equal(writes(["--write", dir], dir, denied + ["control"]), ["control"], agent)


@test
def an_expired_login_that_stays_so_is_a_note(t):
    def run(ms, *options, **more):
        t.write(t.home + "/.claude/.credentials.json", json.dumps(
            {"claudeAiOauth": {"accessToken": "sk-secret", "expiresAt": ms}}))
        return t.run("run", *options, "true", **more).ok().err
    words = "has expired, and Claude Code does not renew it here"
    said = run(1, "--for", "claude,shared")
    contains(said, words)
    lacks(said, "sk-secret")
    for ms, options, env in (
            (2 ** 50, ("--for", "claude,shared"), {}), (1, ("--for", "claude"), {}), (1, (), {}),
            (1, ("--for", "claude,shared", "--write", t.home + "/.claude"), {}),
            (1, ("--for", "claude,shared"), {"ANTHROPIC_API_KEY": "sk-x"})):
        lacks(run(ms, *options, env=env), words, ms, options, env)


@test
def a_shared_agent_home_must_be_the_default_one(t):
    contains(t.run("run", "--for", "codex,shared", "true",
                   env={"CODEX_HOME": t.home + "/other"}).ended(125).err,
             "$CODEX_HOME names another home")
    contains(t.run("run", "--for", "aider,shared", "true").ended(125).err,
             "no home that could be shared")
    contains(t.run("run", "--for", "claude,none", "true").ended(125).err,
             "claude, codex, gemini, aider")


@test
def a_preset_does_not_overwrite_existing_settings(t):
    path = t.write(t.home + "/.local/state/cloche-agents/codex/config.toml", "mine\n")
    t.run("run", "--for", "codex", "true").ok()
    equal(t.read(path), "mine\n")


main()
