# SPDX-License-Identifier: Apache-2.0
"""tests/cli/hook.py - cloche hook: the decision about a command of an agent"""

import json
import os
import shlex
import shutil
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

SETTINGS = ".claude/settings.json"
REFUSED = 2

AGENTS = ("claude", "codex", "gemini", "cursor")


def call(t, command, cwd=None, mode="default", **fields):
    """What Claude Code documents for PreToolUse"""
    return {"session_id": "s", "prompt_id": "7f3a", "effort": {"level": "high"},
            "transcript_path": "/t.jsonl", "cwd": cwd or t.dir,
            "permission_mode": mode, "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": command, "description": "d\u00e9",
                           "timeout": 120000, "run_in_background": False,
                           **fields},
            "tool_use_id": "toolu_1"}


def ask(t, what, *options, agent="claude", event="pre-tool-use", env=None):
    """The hook's answer: a dictionary, empty for silence"""
    r = t.run("hook", agent, event, *options, stdin=json.dumps(what), env=env)
    r.ok()
    return json.loads(r.out) if r.out else {}


def specific(t, what, *options, **more):
    return ask(t, what, *options, **more).get("hookSpecificOutput", {})


def rules(t, **lists):
    t.write(SETTINGS, json.dumps({"permissions": lists}))
    t.trust()


def sandbox(t, **values):
    t.write(t.home + "/" + SETTINGS, json.dumps({"sandbox": values}))


@test
def commands_of_one_agent_session_share_a_sandbox(t):
    what = call(t, "echo hi > $HOME/made; cat /tmp/kept; echo x > /tmp/kept")
    what["session_id"] = "11111111-2222-3333-4444-555555555555"

    def line(*options, **more):
        return specific(t, {**what, **more}, *options)["updatedInput"]["command"]

    def names():
        return [s["name"] for s in json.loads(
            t.run("session", "list", "--json").ok().out)["sessions"]]
    rewritten = line("--session")
    contains(rewritten, f" --session claude-{what['session_id']} ")
    equal(specific(t, {**what, "tool_input": {"command": rewritten}}, "--session"), {})
    for options, more in (((), {}), (["--session"], {"session_id": "../x"}),
                          (["--session"], {"session_id": None})):
        lacks(line(*options, **more), "--session ")
    # Its owner is the process that starts the hook: this one
    contains(rewritten, f" --session-owner {os.getpid()} ")
    t.outside("sh", "-c", rewritten)
    contains(t.outside("sh", "-c", rewritten).out, "x")
    equal(names(), [f"claude-{what['session_id']}"])
    # Another's end does not end it
    end = {"hook_event_name": "SessionEnd", "cwd": t.dir, "reason": "other"}
    ask(t, {**end, "session_id": "other"}, "--session", event="session-end")
    equal(len(names()), 1)
    ask(t, {**end, "session_id": what["session_id"]}, "--session", event="session-end")
    equal(names(), [])
    ask(t, {**end, "session_id": what["session_id"]}, "--session", event="session-end")


@test
def the_command_is_rewritten_and_every_field_is_kept(t):
    what = call(t, "echo hi", extra={"a": [1, None, 2.5]})
    answer = specific(t, what)
    equal(answer["hookEventName"], "PreToolUse")
    check("permissionDecision" not in answer, answer)
    command = answer["updatedInput"].pop("command")
    what["tool_input"].pop("command")
    equal(answer["updatedInput"], what["tool_input"])
    check(command.startswith(os.path.realpath(CLOCHE) + " run "), command)


@test
def the_rewritten_command_runs_in_the_sandbox(t):
    t.write(t.home + "/.ssh/id_ed25519", "key\n")
    script = "cat ~/.ssh/id_ed25519; echo \"it's\" > out; echo x > ../out"
    equal(t.outside("sh", "-c", "cat ~/.ssh/id_ed25519").ok().out, "key\n")
    command = specific(t, call(t, script))["updatedInput"]["command"]
    r = t.outside("bash", "-c", command)
    lacks(r.out, "key")
    equal(t.read("out"), "it's\n")
    check(not os.path.exists(t.home + "/out"))


@test
def quotes_newlines_and_bytes_are_preserved(t):
    for text in ["a'b\"c", "$HOME `x` \\", "two\nlines", "\u00e9\u4e2d\U0001f600",
                 "-n", "!!", "*"]:
        line = "printf %s " + shlex.quote(text)
        command = specific(t, call(t, line))["updatedInput"]["command"]
        equal(t.outside("bash", "-c", command).ok().out, text)


@test
def a_working_directory_below_the_project_keeps_its_policy(t):
    os.makedirs(t.dir + "/sub dir")
    t.write(".claude/settings.json", json.dumps(
        {"sandbox": {"filesystem": {"denyWrite": ["kept"]}}}))
    t.write("kept", "")
    what = call(t, "pwd; echo x > here; echo x > ../top; echo x > ../kept",
                cwd=t.dir + "/sub dir")
    command = specific(t, what, env={"CLAUDE_PROJECT_DIR": t.dir}
                       )["updatedInput"]["command"]
    r = t.outside("bash", "-c", command)
    equal(r.out, t.dir + "/sub dir\n")
    check(t.exists("sub dir/here") and t.exists("top"), r)
    equal(t.read("kept"), "")


@test
def deny_rules_apply_to_the_original_command(t):
    rules(t, deny=["Bash(curl *)"], allow=["Bash"])
    for command in ["curl x", "true && curl x", "FOO=1 timeout 5 curl x"]:
        answer = specific(t, call(t, command))
        equal(answer["permissionDecision"], "deny", command)
        contains(answer["permissionDecisionReason"], "Bash(curl *)")
        contains(answer["permissionDecisionReason"], SETTINGS)
        check("updatedInput" not in answer, answer)
    equal(specific(t, call(t, "ls"))["permissionDecision"], "allow")


@test
def ask_and_allow_rules_apply_to_the_original_command(t):
    rules(t, ask=["Bash(git push *)"], allow=["Bash(git *)"])
    answer = specific(t, call(t, "git push origin"))
    equal(answer["permissionDecision"], "ask")
    contains(answer["updatedInput"]["command"], "git push origin")
    equal(specific(t, call(t, "git status"))["permissionDecision"], "allow")
    check("permissionDecision" not in specific(t, call(t, "make")))


@test
def rules_apply_to_fields_of_the_call(t):
    rules(t, deny=["Bash(run_in_background:true)"], allow=["Bash"])
    equal(specific(t, call(t, "ls", run_in_background=True))
          ["permissionDecision"], "deny")
    equal(specific(t, call(t, "ls"))["permissionDecision"], "allow")


@test
def autoAllowBashIfSandboxed_allows_sandboxed_commands(t):
    rules(t, ask=["Bash", "Bash(git push *)"], deny=["Bash(curl *)"])
    equal(specific(t, call(t, "make"))["permissionDecision"], "ask")
    sandbox(t, autoAllowBashIfSandboxed=True)
    equal(specific(t, call(t, "make"))["permissionDecision"], "allow")
    equal(specific(t, call(t, "git push x"))["permissionDecision"], "ask")
    equal(specific(t, call(t, "curl x"))["permissionDecision"], "deny")
    equal(specific(t, call(t, "make", mode="plan"))["permissionDecision"],
          "ask")
    for critical in ["rm -rf /", "rm -rf ~", "rm -r *", 'rm -rf "$HOME"']:
        equal(specific(t, call(t, critical))["permissionDecision"], "ask",
              critical)


@test
def bypass_mode_skips_prompts_and_keeps_denials(t):
    rules(t, deny=["Bash(curl *)"])
    answer = specific(t, call(t, "make", mode="bypassPermissions"))
    equal(answer["permissionDecision"], "allow")
    contains(answer["updatedInput"]["command"], " run ")
    equal(specific(t, call(t, "curl x", mode="bypassPermissions"))
          ["permissionDecision"], "deny")


@test
def a_wrapped_command_is_decided_by_its_content(t):
    rules(t, deny=["Bash(curl *)"])
    for inner in ["echo hi", "echo \"it's\"", "a\nb"]:
        wrapped = specific(t, call(t, inner))["updatedInput"]["command"]
        equal(ask(t, call(t, wrapped)), {}, inner)
    wrapped = specific(t, call(t, "true"))["updatedInput"]["command"]
    forged = wrapped.replace("-c true", "-c 'curl x'")
    answer = specific(t, call(t, forged))
    equal(answer["permissionDecision"], "deny")
    contains(answer["permissionDecisionReason"], "Bash(curl *)")


@test
def a_forged_wrapper_is_refused(t):
    sandbox(t, autoAllowBashIfSandboxed=True)
    real = os.path.realpath(CLOCHE)
    wrapped = specific(t, call(t, "true"))["updatedInput"]["command"]
    os.symlink(real, t.dir + "/other")
    for line in [wrapped + " ; id", wrapped + "x y",
                 wrapped.replace(" run ", " run --net host "),
                 wrapped.replace(" run ", " run --settings /tmp/x "),
                 wrapped.replace(t.dir, "/"), "cloche run -- id",
                 "/somewhere/cloche run id", f"{real} run -c id",
                 "X=1 cloche run id", "timeout 5 cloche run id",
                 "true && cloche run id", "echo $(cloche run id)",
                 f"{t.dir}/other run id", "'clo'che \"run\" id"]:
        answer = specific(t, call(t, line))
        equal(answer["permissionDecision"], "deny", line)
        contains(answer["permissionDecisionReason"], "sandbox of its own")
    # The control: other verbs and other words go into the sandbox
    for line in ["cloche doctor", "echo cloche run id", "git run"]:
        contains(specific(t, call(t, line))["updatedInput"]["command"], line)


@test
def excluded_commands_are_not_rewritten(t):
    sandbox(t, excludedCommands=["docker *"])
    equal(ask(t, call(t, "docker ps")), {})
    for inside in ["docker ps; id", "docker ps > f", "cd / && docker ps"]:
        contains(specific(t, call(t, inside))["updatedInput"]["command"],
                 " run ")
    rules(t, deny=["Bash(docker rm *)"])
    equal(specific(t, call(t, "docker rm x"))["permissionDecision"], "deny")
    sandbox(t, excludedCommands=["docker *"], allowUnsandboxedCommands=False)
    contains(specific(t, call(t, "docker ps"))["updatedInput"]["command"],
             " run ")


@test
def an_unsandboxed_request_of_the_model_is_asked_about(t):
    what = call(t, "make", dangerouslyDisableSandbox=True,
                mode="bypassPermissions")
    answer = specific(t, what)
    equal(answer["permissionDecision"], "ask")
    check("updatedInput" not in answer, answer)
    sandbox(t, allowUnsandboxedCommands=False)
    contains(specific(t, what)["updatedInput"]["command"], " run ")


@test
def without_obey_settings_a_disabled_sandbox_is_used(t):
    t.write(t.home + "/" + SETTINGS, json.dumps({"sandbox": {"enabled": False}}))
    contains(specific(t, call(t, "ls"))["updatedInput"]["command"], " run ")
    equal(ask(t, call(t, "ls"), "--allow-unsandboxed"), {})


@test
def a_disabled_sandbox_auto_allows_nothing(t):
    sandbox(t, enabled=True, autoAllowBashIfSandboxed=True)
    equal(specific(t, call(t, "make"))["permissionDecision"], "allow")
    sandbox(t, enabled=False, autoAllowBashIfSandboxed=True)
    answer = specific(t, call(t, "make"))
    check("permissionDecision" not in answer, answer)
    contains(answer["updatedInput"]["command"], " run ")


@test
def mode_disabled_disables_the_hook(t):
    start = {"cwd": t.dir, "hook_event_name": "SessionStart",
             "source": "startup"}
    rules(t, ask=["Bash(make)"], allow=["Bash(ls)"])
    t.run("policy", "mode", "auto-allow", "--scope", "user").ok()
    equal(specific(t, call(t, "id"))["permissionDecision"], "allow")
    equal(ask(t, start, event="session-start"), {})
    t.run("policy", "mode", "disabled", "--scope", "user").ok()
    for command in ("id", "make", "ls", "rm -rf /"):
        for agent in ("claude", "codex"):
            equal(ask(t, call(t, command), agent=agent), {}, command)
    contains(ask(t, start, event="session-start")["systemMessage"],
             "commands run WITHOUT the sandbox")
    # Unless something forbids that, or the project asks for the sandbox
    sandbox(t, allowUnsandboxedCommands=False)
    contains(specific(t, call(t, "id"))["updatedInput"]["command"], " run ")
    os.unlink(t.home + "/" + SETTINGS)
    t.run("policy", "mode", "regular").ok()
    contains(specific(t, call(t, "id"))["updatedInput"]["command"], " run ")


@test
def hook_options_apply_to_wrapper_and_policy(t):
    t.write(t.away + "/s.json", json.dumps(
        {"permissions": {"deny": ["Bash(id)"]}}))
    options = ("-s", t.away + "/s.json", "--net", "none")
    answer = specific(t, call(t, "ls"), *options)
    contains(answer["updatedInput"]["command"],
             f"-s {t.away}/s.json --net none --cwd {t.dir} -c ls")
    equal(specific(t, call(t, "id"), *options)["permissionDecision"], "deny")


@test
def calls_of_other_tools_are_ignored(t):
    what = call(t, "x")
    what["tool_name"] = "Read"
    what["tool_input"] = {"file_path": "/x"}
    equal(ask(t, what), {})


def refused(t, text, *options, agent="claude", event="pre-tool-use", **more):
    r = t.run("hook", agent, event, *options, stdin=text, **more)
    r.ended(REFUSED)
    equal(r.out, "")
    check(r.err.startswith("cloche: ") and r.err.count("\n") == 1, r)
    return r


@test
def malformed_input_is_refused(t):
    good = json.dumps(call(t, "ls"))
    t.run("hook", "claude", "pre-tool-use", stdin=good).ok()
    for agent in AGENTS:
        for text in ["", " ", "{", "[]", "null", "x", good[:-1], good + "x",
                     "{}", '{"tool_name": 1}', good.replace("ls", "\\u0000"),
                     '{"tool_name":"Bash","tool_name":"Read"}',
                     "[" * 100000, '{"a":' * 40 + "1" + "}" * 40,
                     "\ufeff" + good]:
            refused(t, text, agent=agent)
    for text in [good.replace('"ls"', "7"), good.replace("PreToolUse", "Stop"),
                 good.replace(t.dir, "relative"), good.encode()[:-9] + b"\xff",
                 good.replace("ls", "x" * (1 << 20))]:
        refused(t, text)


@test
def settings_that_cannot_be_read_refuse_every_command(t):
    t.write(SETTINGS, "{")
    contains(refused(t, json.dumps(call(t, "ls"))).err, SETTINGS)


@test
def wrong_usage_refuses_the_command(t):
    for argv in [(), ("nobody",), ("claude",), ("claude", "stop"),
                 ("claude", "pre-tool-use", "--nope"),
                 ("claude", "pre-tool-use", "word"),
                 ("claude", "pre-tool-use", "--watchdog", "1h"),
                 ("install",), ("install", "nobody"),
                 ("install", "codex", "--scope", "local")]:
        t.run("hook", *argv, stdin=json.dumps(call(t, "ls"))).ended(REFUSED)


@test
def a_non_UTF_8_directory_refuses_the_command(t):
    os.mkdir(os.fsencode(t.dir) + b"/\xff")
    refused(t, json.dumps(call(t, "ls")),
            env={"CLAUDE_PROJECT_DIR": t.dir + "/\udcff"})


@test
def a_hanging_hook_refuses_at_its_watchdog(t):
    hook = t.start("hook", "claude", "pre-tool-use", "--watchdog", "300ms")
    equal(hook.wait(RUN_SECONDS), REFUSED)
    contains(hook.stderr.read().decode(), "no answer in time")
    hook.stdin.close()


def worker_of(hook):
    path = f"/proc/{hook.pid}/task/{hook.pid}/children"
    return wait_until(lambda: [int(p) for p in open(path).read().split()],
                      "a worker")[0]


@test
def a_dead_worker_refuses_the_command(t):
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT):
        hook = t.start("hook", "claude", "pre-tool-use")
        os.kill(worker_of(hook), number)
        equal(hook.wait(RUN_SECONDS), REFUSED)
        equal(hook.stdout.read(), b"")
        contains(hook.stderr.read().decode(), "refused")
        hook.stdin.close()


@test
def a_terminated_hook_refuses_and_ends_its_worker(t):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
                   signal.SIGSEGV, signal.SIGABRT):
        hook = t.start("hook", "claude", "pre-tool-use")
        worker = worker_of(hook)
        os.kill(hook.pid, number)
        equal(hook.wait(RUN_SECONDS), REFUSED)
        wait_until(lambda: worker not in running(), "the worker's end")
        hook.stdin.close()


@test
def a_hook_with_closed_output_refuses(t):
    read, write = os.pipe()
    os.close(read)
    t.run("hook", "claude", "pre-tool-use", stdin=json.dumps(call(t, "ls")),
          stdout=write).ended(REFUSED)
    os.close(write)


@test
def codex_gets_rewrites_with_allow_and_no_prompt(t):
    rules(t, ask=["Bash(git push *)"], deny=["Bash(curl *)"])
    what = call(t, "ls")
    answer = ask(t, what, agent="codex")
    equal(list(answer), ["hookSpecificOutput"])
    equal(set(answer["hookSpecificOutput"]),
          {"hookEventName", "permissionDecision", "updatedInput"})
    equal(answer["hookSpecificOutput"]["permissionDecision"], "allow")
    for command in ["curl x", "git push x"]:
        answer = specific(t, call(t, command), agent="codex")
        equal(answer["permissionDecision"], "deny", command)
        check("updatedInput" not in answer, answer)
    sandbox(t, excludedCommands=["docker *"])
    equal(ask(t, call(t, "docker ps"), agent="codex"), {})


@test
def the_working_directory_of_a_codex_call_grants_nothing(t):
    os.mkdir(t.dir + "/sub")
    for cwd in (t.dir + "/sub", t.home, "/"):
        what = call(t, f"pwd; touch {t.dir}/ok {t.home}/no", cwd=cwd)
        command = specific(t, what, agent="codex")["updatedInput"]["command"]
        contains(command, f"--cwd {t.dir} ")
        equal(t.outside("bash", "-c", command).out, cwd + "\n")
        check(t.exists("ok") and not os.path.exists(t.home + "/no"), cwd)
        os.unlink(t.dir + "/ok")


@test
def gemini_gets_the_rewritten_tool_input(t):
    rules(t, deny=["Bash(curl *)"], ask=["Bash(git push *)"])
    os.mkdir(t.dir + "/sub")
    what = {"session_id": "s", "transcript_path": "", "cwd": t.dir,
            "hook_event_name": "BeforeTool", "timestamp": "2026-01-01T00:00:00Z",
            "tool_name": "run_shell_command",
            "tool_input": {"command": "pwd", "dir_path": "sub"}}
    answer = ask(t, what, agent="gemini", event="before-tool")
    command = answer["hookSpecificOutput"]["tool_input"].pop("command")
    equal(answer["hookSpecificOutput"]["tool_input"], {"dir_path": "sub"})
    equal(t.outside("bash", "-c", command).ok().out, t.dir + "/sub\n")
    for command in ["curl x", "git push x"]:
        what["tool_input"]["command"] = command
        answer = ask(t, what, agent="gemini")
        equal(answer["decision"], "deny")
    what["tool_name"] = "read_file"
    equal(t.run("hook", "gemini", "before-tool",
                stdin=json.dumps(what)).ok().out, "{}\n")


@test
def cursor_gets_a_json_object_for_every_call(t):
    rules(t, deny=["Bash(curl *)"], ask=["Bash(git push *)"])
    what = {"hook_event_name": "preToolUse", "cwd": t.dir, "tool_name": "Shell",
            "conversation_id": "c", "workspace_roots": [t.dir],
            "tool_input": {"command": "ls", "working_directory": ""}}
    answer = ask(t, what, agent="cursor")
    equal(answer["permission"], "allow")
    contains(answer["updated_input"]["command"], " run ")
    equal(answer["updated_input"]["working_directory"], "")
    contains(answer["updated_input"]["command"], f"--cwd {t.dir} ")
    elsewhere = {**what, "cwd": "/"}
    contains(ask(t, elsewhere, agent="cursor")["updated_input"]["command"],
             f"--cwd {t.dir} ")
    for command, verdict in [("curl x", "deny"), ("git push x", "ask")]:
        what["tool_input"]["command"] = command
        equal(ask(t, what, agent="cursor")["permission"], verdict)
    what["tool_name"] = "Read"
    equal(t.run("hook", "cursor", "pre-tool-use",
                stdin=json.dumps(what)).ok().out, "{}\n")
    older = {"hook_event_name": "beforeShellExecution", "cwd": t.dir,
             "command": "curl x"}
    equal(ask(t, older, agent="cursor", event="before-shell-execution")
          ["permission"], "deny")


@test
def session_start_prints_nothing_on_a_healthy_machine(t):
    for agent in AGENTS:
        what = {"session_id": "s", "cwd": t.dir, "source": "startup"}
        equal(ask(t, what, agent=agent, event="session-start"), {}, agent)


@test
def session_start_reports_bad_settings_and_two_sandboxes(t):
    what = {"cwd": t.dir, "hook_event_name": "SessionStart",
            "source": "startup"}
    t.write(SETTINGS, "{")
    answer = ask(t, what, event="session-start")
    contains(answer["systemMessage"], SETTINGS)
    contains(answer["hookSpecificOutput"]["additionalContext"], SETTINGS)
    t.write(SETTINGS, '{"sandbox": {"enabled": true}}')
    contains(ask(t, what, event="session-start")["systemMessage"],
             "own sandbox is switched on as well")


@test
def with_a_shell_prefix_commands_are_not_rewritten(t):
    prefix = t.write("prefix", "#!/bin/sh\n", mode=0o755)
    given = ("--prefix", prefix)
    ours = {"CLAUDE_CODE_SHELL_PREFIX": prefix}

    def answer(command, env=ours, **more):
        return ask(t, call(t, command, **more), *given, env=env)

    equal(answer("ls"), {})
    equal(answer("ls", mode="bypassPermissions"), {})
    rules(t, allow=["Bash(make *)"], deny=["Bash(curl *)"], ask=["Bash(git push *)"])
    equal(answer("make x"), {})
    for command, verdict in (("curl x", "deny"), ("git push x", "ask")):
        equal(answer(command)["hookSpecificOutput"]["permissionDecision"],
              verdict)
    sandbox(t, enabled=True, autoAllowBashIfSandboxed=True)
    t.trust()
    equal(answer("make x")["hookSpecificOutput"]["permissionDecision"], "allow")
    equal(answer("rm -rf ~"), {})


@test
def a_missing_shell_prefix_refuses_the_command(t):
    prefix = t.write("prefix", "#!/bin/sh\n", mode=0o755)
    other = t.write("other", "#!/bin/sh\n", mode=0o755)
    plain = t.write("plain", "", mode=0o644)
    ours = {"CLAUDE_CODE_SHELL_PREFIX": prefix}

    def reason(env, path=prefix):
        said = ask(t, call(t, "ls"), "--prefix", path, env=env)[
            "hookSpecificOutput"]
        equal(said["permissionDecision"], "deny")
        return said["permissionDecisionReason"]

    equal(ask(t, call(t, "ls"), "--prefix", prefix, env=ours), {})
    for env in ({}, {"CLAUDE_CODE_SHELL_PREFIX": ""},
                {"CLAUDE_CODE_SHELL_PREFIX": other}):
        contains(reason(env), "not in force")
    contains(reason({"CLAUDE_CODE_SHELL_PREFIX": plain}, plain), "cannot be executed")
    for name in ("BASH_ENV", "LD_PRELOAD", "LD_AUDIT"):
        contains(reason({**ours, name: "x"}), f"sets {name}")
    # The user's own, with which the agent was started
    what = json.dumps(call(t, "ls"))
    equal(t.outside("sh", "-c", f"{CLOCHE} hook claude pre-tool-use --prefix "
                    f"{prefix}; true", stdin=what,
                    env={**ours, "BASH_ENV": "x"}).ok().out, "")


LINE = ("source %s 2>/dev/null || true && { \\builtin shopt -u extglob; } "
        ">/dev/null 2>&1 || true && eval %s < /dev/null && pwd -P >| %s")


def shell(t, command, *options, cwd_file=None, snapshot="/none", **more):
    """As Claude Code runs its prefix: started by a process in the project"""
    line = LINE % (snapshot, "'" + command.replace("'", "'\"'\"'") + "'",
                   cwd_file or t.away + "/claude-ab12-cwd")
    where = more.pop("where", ".")
    return t.outside(sys.executable, "-c", "import subprocess, sys; sys.exit("
                     "subprocess.run(sys.argv[2:], cwd=sys.argv[1]).returncode)",
                     where, CLOCHE, "hook", "claude", "shell", *options, "--",
                     line, **more)


@test
def hook_shell_runs_the_line_in_the_sandbox(t):
    made = t.away + "/claude-ab12-cwd"
    os.makedirs("sub")
    r = shell(t, f"cd sub; echo \"it's $SANDBOX_RUNTIME\"; touch {t.home}/x").ended(1)
    contains(r.out, "it's 1")
    check(not os.path.exists(t.home + "/x") and not os.path.exists(made), r)
    shell(t, "cd sub").ok()
    equal(t.read(made).strip(), t.dir + "/sub")
    os.unlink(made)
    # The project is the agent's, wherever its last command went
    r = shell(t, f"pwd; echo x > ../up; echo x > {t.away}/no", where="sub")
    contains(r.out, t.dir + "/sub")
    check(t.exists("up") and not os.path.exists(t.away + "/no"), r)


SESSION = {"CLAUDE_CODE_SESSION_ID": "11111111-2222-3333-4444-555555555555"}


@test
def reports_have_the_command_of_the_model_and_not_the_line_around_it(t):
    file = f"/tmp/claude-{os.getpid():x}-cwd"
    os.makedirs("sub")
    for options in ((), ("--session",)):
        for more in ("false", f"TOKEN=ghp_{'a' * 36} false"):
            shell(t, f"touch {t.home}/x; {more}", *options, where="sub", env=SESSION,
                  cwd_file=file)
    found = json.loads(t.run("violations", "list", "--json").ok().out)["violations"]
    equal([v["command"] for v in found if v["target"] == t.home + "/x"],
          [f"'touch {t.home}/x; false'", "'***'"] * 2)


@test
def where_no_session_can_be_each_command_is_a_run_of_its_own(t):
    """Elsewhere what one command left in the background is there for the next"""
    def found(number, *options, file=f"/tmp/claude-{os.getpid():x}-cwd"):
        lines = [LINE % ("/none", f"'{command} false'", file) for command in (
            f"echo x > {t.home}/x; echo $SANDBOX_RUNTIME; sleep 600{number} >/dev/null 2>&1 & "
            "until grep -aq ^sleep /proc/$!/cmdline; do true; done;",
            f"grep -aq \"^sleep.600{number}.$\" /proc/[1-9]*/cmdline && echo found;")]
        r = t.outside(sys.executable, "-c", "import subprocess, sys\nfor line in sys.argv[-2:]: "
                      "subprocess.run([*sys.argv[1:-2], line])", CLOCHE, "hook", "claude", "shell",
                      "--session", *options, "--", *lines, env=SESSION)
        contains(r.out, "1\n")
        check(not os.path.exists(t.home + "/x"))
        return "found" in r.out
    check(found(1))
    check(not found(2, "--tier", "landlock"))
    check(not found(3, file=t.away + "/claude-ab12-cwd"))


@test
def hook_shell_writes_only_the_agents_cwd_file(t):
    victim = t.write(t.home + "/victim", "mine\n")
    for name in (victim, t.home + "/x/../victim", t.home + "/cwd"):
        shell(t, f"echo x > {victim}", cwd_file=name)
        equal(t.read(victim), "mine\n", name)
        check(not os.path.exists(t.home + "/cwd"))
    link = t.home + "/claude-ab12-cwd"
    os.symlink(victim, link)
    shell(t, f"echo x > {link}", cwd_file=link)
    equal(t.read(victim), "mine\n")


@test
def hook_shell_runs_other_lines_outside_for_the_agent_only(t):
    made = t.home + "/made"
    command = f"touch {made}"
    t.run("hook", "claude", "shell", "--", command, env={"CLAUDE_PROJECT_DIR": None})
    check(not os.path.exists(made))
    t.run("hook", "claude", "shell", "--", command,
          env={"CLAUDE_PROJECT_DIR": t.dir}).ok()
    check(os.path.exists(made))
    os.unlink(made)
    shell(t, command, env={"CLAUDE_PROJECT_DIR": t.dir})
    check(not os.path.exists(made))


def repository(name):
    """Make one once a command runs there"""
    wait_until(lambda: os.path.exists(name + "/go"), "a command in /tmp")
    for file, text in ((".git/config", "[core]\n"), ("went", "")):
        os.makedirs(os.path.dirname(f"{name}/{file}"), exist_ok=True)
        with open(f"{name}/{file}", "w") as made:
            made.write(text)


@test
def hook_shell_shares_tmp_without_other_sessions(t):
    name = f"/tmp/cloche-test-hook-{os.getpid()}"
    sessions = f"/tmp/claude-{os.getuid()}/cloche-hook-{os.getpid()}"
    mine, other = ("/".join((sessions, digit * 8 + "-0000-0000-0000-" + digit * 12))
                   for digit in "ab")
    os.makedirs(os.path.dirname(sessions), 0o700, exist_ok=True)	# As claude makes it
    for path in (name, mine, other):
        os.makedirs(path)
    try:
        t.write(mine + "/f", "of mine\n")
        t.write(other + "/f", "of another\n")
        r = shell(t, f"echo x > {name}/made; cat {mine}/f {other}/f; true",
                  env={"CLAUDE_CODE_SESSION_ID": os.path.basename(mine)}).ok()
        equal(t.read(name + "/made"), "x\n")
        equal(r.out, "of mine\n", r)
        # Others work in /tmp as well: what they make there is not the command's
        other = threading.Thread(target=repository, args=(name,))
        other.start()
        shell(t, f"touch {name}/go; until [ -e {name}/went ]; "
              f"do : > {name}/busy; done").ok()
        other.join()
        equal(t.read(name + "/.git/config"), "[core]\n")
        check(t.shell(f"ls {name}").code != 0)
        t.write(name + "/.bashrc", "x\n")
        for option, searched in (("--share-tmp",), False), (("--write", name), True):
            plan = t.run("explain", "--json", *option, "--", "true").ok().out
            equal(f"{name}/.bashrc" in plan, searched, option)
    finally:
        shutil.rmtree(name)
        shutil.rmtree(sessions)


@test
def hook_shell_runs_excluded_commands_unsandboxed(t):
    made = t.home + "/made"
    t.write(t.home + "/.config/cloche/policy.json", json.dumps(
        {"excludedCommands": ["touch *"]}))
    shell(t, f"touch {made}").ok()
    check(os.path.exists(made))
    os.unlink(made)
    os.makedirs("sub")
    for command, where in ((f"touch {made}; id", "."), (f"touch {made}", "sub")):
        shell(t, command, where=where)
        check(not os.path.exists(made), command)


@test
def hook_shell_with_invalid_settings_runs_nothing(t):
    t.write(".cloche.json", "{")
    r = shell(t, "touch made").ended(125)
    contains(r.err, ".cloche.json")
    check(not t.exists("made"))
    t.run("hook", "claude", "shell").ended(125)


@test
def hook_shell_in_a_sandbox_does_not_nest(t):
    r = t.inside(CLOCHE, "hook", "claude", "shell", "--", "echo $SANDBOX_RUNTIME; touch made")
    equal((r.out, r.err), ("1\n", ""))
    check(t.exists("made"))


main()
