# SPDX-License-Identifier: Apache-2.0
"""tests/live/suggestions.py - refusals are reported, and the suggested rules apply at once"""

import errno
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from refusals import *


@test
def a_refused_write_is_reported_with_its_suggestion(t):
    outside = os.path.join(t.away, "file")
    with open(outside, "w") as file:
        file.write("old")
    r = t.shell(f"echo new > {outside}; echo fine > here")
    contains(r.err, "Read-only file system")
    contains(r.err, f"cloche policy allow write {outside}")
    equal(t.read("here"), "fine\n")
    found = records(t)
    equal(len(found), 1)
    equal(found[0]["kind"], "fs-write")
    equal(found[0]["target"], outside)
    equal(found[0]["errno"], "EROFS")
    equal(found[0]["suggest"]["command"],
          f"cloche policy allow write {outside}")
    check(found[0]["pid"] > 0 and found[0]["exe"], found)


WRITER = """#include <fcntl.h>
int main(int c, char **v) { return open(v[1], O_WRONLY | O_CREAT, 0600) < 0; }
"""


@test
def writes_of_every_kind_of_program_are_reported(t):
    need("cc")
    t.write("static.c", WRITER)
    t.outside("cc", "-static", "-o", "static", "static.c").ok()
    writers = [("bash", ["bash", "-c", 'echo > "$1"', "bash"]),
               ("python3", ["python3", "-c",
                            "import sys; open(sys.argv[1], 'w')"]),
               ("node", ["node", "-e",
                         "require('fs').writeFileSync(process.argv[1], '')"]),
               ("static", [os.path.join(t.dir, "static")])]
    for name, command in writers:
        if name == "node" and not shutil.which("node"):
            continue
        path = os.path.join(t.away, name)
        check(t.inside(*command, path).code, name)
        found = [v for v in records(t) if v["target"] == path]
        equal([(v["kind"], v["errno"], v["count"]) for v in found],
              [("fs-write", "EROFS", 1)], (name, found))
        contains(os.path.basename(found[0]["exe"]), name[:6])


@test
def writes_of_threads_are_reported_under_one_process(t):
    p = t.start("run", "--", "/usr/bin/python3", "-c", """
import os, sys, threading
def write(i):
    try: open(f"{sys.argv[1]}/f{i}", "w")
    except OSError: pass
threads = [threading.Thread(target=write, args=(i,)) for i in range(32)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(os.getpid(), flush=True)
sys.stdin.read(1)
""", t.away)
    inside = p.stdout.readline().split()[0].decode()
    found = records(t)
    with open(f"/proc/{found[0]['pid']}/status") as file:
        names = [line.split() for line in file if line.startswith("NSpid:")][0]
    p.communicate(b"x")
    equal(names[-1], inside)
    equal({v["pid"] for v in found}, {int(names[1])})
    equal(sorted((v["target"], v["errno"], v["count"]) for v in found),
          sorted((f"{t.away}/f{i}", "EROFS", 1) for i in range(32)))


@test
def a_process_that_is_not_dumpable_is_observed(t):
    """The supervisor made the user namespace: it may look"""
    r = t.inside("/usr/bin/python3", "-c", """
import ctypes, errno, sys
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)	# PR_SET_DUMPABLE
for i in range(20):
    try: open(f"{sys.argv[1]}/f{i}", "w"); print("done")
    except OSError as e: print(errno.errorcode[e.errno])
""", t.away).ok()
    equal(r.out.split(), ["EROFS"] * 20)
    equal(os.listdir(t.away), [])
    equal(sorted(targets(records(t), "fs-write")),
          sorted(f"{t.away}/f{i}" for i in range(20)))


@test
def every_kind_of_change_makes_one_record(t):
    for name in "abcde":
        t.write(os.path.join(t.away, name), "old")
    t.write("attempts.py", """
import os, sys
def attempt(call, *args):
    try: call(*args); print("done", call)
    except OSError as e: print(e.errno)
os.chdir(sys.argv[1])
attempt(os.rename, "a", "to")
attempt(os.chmod, "b", 0)
attempt(os.truncate, "c", 0)
attempt(os.unlink, "d")
attempt(os.link, "e", "hard")
attempt(os.mkdir, "dir")
attempt(os.symlink, "x", "link")
""")
    r = t.inside("python3", "attempts.py", t.away).ok()
    equal(r.out.split(), [str(errno.EROFS)] * 7)
    found = records(t)
    equal(sorted((os.path.basename(v["target"]), v["kind"]) for v in found),
          [("a", "fs-rename"), ("b", "fs-write"), ("c", "fs-write"),
           ("d", "fs-write"), ("dir", "fs-write"), ("hard", "fs-write"),
           ("link", "fs-write")])
    for v in found:
        equal((v["errno"], v["count"]), ("EROFS", 1), v)
    equal(sorted(os.listdir(t.away)), list("abcde"))


@test
def paths_relative_to_a_removed_directory_are_refused(t):
    script = ("mkdir d && cd d && rmdir ../d && for f in g ../g ./../g .././h; "
              "do echo x 2>/dev/null > $f; echo $f $?; done; mkdir sub; "
              "mv ../g i; cd .. && ls")
    for name in ("out", "in"):
        os.mkdir(os.path.join(t.dir, name))
    outside = t.outside("bash", "-c", script, cwd=os.path.join(t.dir, "out"))
    inside = t.inside("bash", "-c", script, cwd=os.path.join(t.dir, "in"))
    equal(inside.out, outside.out)
    equal(inside.err, outside.err)


@test
def without_a_refusal_there_is_no_footer(t):
    r = t.shell("mkdir -p . /usr /; rm -f /etc/none; test -w /etc/passwd; "
                "echo x > here; echo y > /dev/null; echo z > /dev/shm/f")
    equal(r.err, "")
    equal(records(t), [])


@test
def agent_tags_are_printed_and_stripped(t):
    name = "a\n<sandbox_violations>\033[2J\u202e"
    script = 'echo out; echo err >&2; echo x 2>&- > "$1"'
    r = t.inside("sh", "-c", script, "sh", os.path.join(t.away, name),
                 env={"CLAUDECODE": "1"})
    at = r.err.index("<sandbox_violations>\ndeny file-write ")
    block = r.err[at:]
    lacks(block, "\033")
    lacks(block, "\u202e")
    equal(block.count("\n"), 4)
    check(block.endswith("\n</sandbox_violations>\n"), repr(block))
    stripped = t.run("violations", "strip", stdin="before\n" + block + "after\n")
    equal(stripped.out, "before\nafter\n")


@test
def events_are_live_json_lines(t):
    path = os.path.join(t.root, "events")
    t.shell(f"for i in 1 2 3; do echo x > {t.away}/x; done",
            options=("--events", path))
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    equal([v["count"] for v in lines], [1, 3])
    equal(lines[0]["target"], os.path.join(t.away, "x"))


@test
def protected_names_are_case_insensitive(t):
    # On some file systems they are the same name
    t.write(".Git/config", "")
    script = "mkdir .VSCode; echo x > .MCP.json; echo x > .gitkeep"
    for options in ((), ("--observe", "off")):
        t.shell(script, options=options)
        check(not t.exists(".VSCode") and not t.exists(".MCP.json"), options)
        check(t.exists(".gitkeep"), "the control")
    t.shell("mkdir .Git/Hooks")
    check(not t.exists(".Git/Hooks"))


@test
def the_fast_path_refuses_the_same_calls(t):
    """After a few questions a thread answers the simple ones"""
    t.write("sub/there")
    t.outside("ln", "-s", t.away, "link").ok()
    found = t.inside("/usr/bin/python3", "-c", """
import errno, os
def attempt(call, *args):
    try: call(*args)
    except OSError as e: return errno.errorcode[e.errno]
    return "done"
for i in range(100):
    open(f"f{i}", "w").close()
    os.rename(f"f{i}", f"g{i}")
print(attempt(os.mkdir, ".vscode"), attempt(open, "sub/.mcp.json", "w"),
      attempt(open, "link/x", "w"), attempt(open, "link/../x", "w"))
os.chdir("sub")
print(attempt(os.rename, "../g1", ".envrc"), attempt(os.rename, "../g2", "g2"),
      attempt(os.unlink, "../none"), attempt(open, "/etc/x", "w"))
""").ok().out.split()
    equal(found, ["EACCES", "EACCES", "EROFS", "EROFS",
                  "EACCES", "done", "ENOENT", "EROFS"])
    names = {".vscode", ".mcp.json", ".envrc", "x"}
    equal({os.path.basename(v["target"]) for v in records(t)}, names)
    equal(len(records(t)), 6)


def start_writer(t, path):
    p = t.start("run", "--", "sh", "-c",
                f"echo ready; until echo x 2>&- > {path}; do sleep 0.02; "
                f"done; mkdir {path}.d && mv {path} {path}.d/moved && echo ok")
    equal(p.stdout.readline(), b"ready\n")
    return p


@test
def a_suggested_rule_applies_at_once(t):
    path = os.path.join(t.away, "late")
    p = start_writer(t, path)
    wait_until(lambda: records(t), "the first refusal")
    t.run("policy", "allow", "write", t.away).ok()
    equal(p.stdout.readline(), b"ok\n")
    p.communicate()
    equal(p.returncode, 0)
    with open(path + ".d/moved") as file:
        equal(file.read(), "x\n")


@test
def emulated_calls_respect_file_permissions(t):
    closed = os.path.join(t.away, "closed")
    late = os.path.join(t.away, "late")
    t.write(os.path.join(closed, "file"), "old")
    os.chmod(os.path.join(closed, "file"), 0o444)
    os.chmod(closed, 0o500)
    p = t.start("run", "--", "sh", "-c",
                f"echo ready; until echo x 2>&- > {late}; do sleep 0.02; done; "
                f"echo x > {closed}/new; mkdir {closed}/dir; "
                f"rm -f {closed}/file; echo x > {closed}/file; "
                f"mv {late} {closed}/moved; ln -s x {closed}/link; echo done")
    equal(p.stdout.readline(), b"ready\n")
    t.run("policy", "allow", "write", t.away).ok()
    equal(p.stdout.readline(), b"done\n")
    _, err = p.communicate()
    os.chmod(closed, 0o700)
    equal(os.listdir(closed), ["file"])
    equal(t.read(os.path.join(closed, "file")), "old")
    equal(t.read(late), "x\n", "the control")
    equal(err.decode().count("Permission denied"), 6, err)


@test
def emulated_calls_use_the_commands_umask_and_limits(t):
    late = os.path.join(t.away, "late")
    os.umask(0o077)
    p = t.start("run", "--file-size", "1M", "--", "python3", "-c", f"""
import os, time
print("ready", flush=True)
os.umask(0o002)
while True:
    try: open("{late}", "w").close(); break
    except OSError: time.sleep(0.02)
os.mkdir("{late}.d")
for size in (1 << 20, 2 << 20):
    try: os.truncate("{late}", size); print("cut")
    except OSError as error: print(error.errno)
""")
    equal(p.stdout.readline(), b"ready\n")
    t.run("policy", "allow", "write", t.away).ok()
    out, err = p.communicate()
    equal(out.split(), [b"cut", str(errno.EFBIG).encode()], err)
    equal([os.stat(late + end).st_mode & 0o777 for end in ("", ".d")],
          [0o664, 0o775])


@test
def an_edit_applies_to_the_fast_path(t):
    t.write(t.home + "/.claude/settings.json", "{}")
    p = t.start("run", "--", "sh", "-c",
                "for i in 1 2 3 4 5 6 7 8 9 10; do echo > f$i; done; echo ready;"
                "while echo > name; do rm name; sleep 0.02; done; echo refused")
    equal(p.stdout.readline(), b"ready\n")
    t.write(t.home + "/.claude/settings.json", json.dumps(
        {"sandbox": {"filesystem": {"denyWrite": [t.dir + "/name"]}}}))
    equal(p.stdout.readline(), b"refused\n")
    p.communicate()
    # It may have been there at that moment, and then is read-only
    equal({v["target"] for v in records(t)}, {os.path.join(t.dir, "name")})


@test
def an_invalid_edit_is_reported_and_changes_nothing(t):
    t.write(t.home + "/.claude/settings.json", "{}")
    late = os.path.join(t.away, "late")
    p = start_writer(t, late)
    settings = t.home + "/.claude/settings.json"
    good = json.dumps({"sandbox": {"filesystem": {"allowWrite": [t.away]}}})
    for text in (good[:-3], "", "[]"):
        with open(settings + ".new", "w") as file:
            file.write(text)
        os.rename(settings + ".new", settings)
        wait_for_rejected_edit(p, settings)
    check(not os.path.exists(late), "it was let through")
    with open(settings + ".new", "w") as file:
        file.write(good)
    os.rename(settings + ".new", settings)
    equal(p.stdout.readline(), b"ok\n")
    p.communicate()


STATIC = """#include <fcntl.h>
#include <unistd.h>
int main(int c, char **v) { return c > 1 && open(v[1], O_RDONLY) < 0; }
"""


@test
def denied_reads_are_reported_with_the_process(t):
    need_fuse()
    need("cc")
    t.write("secret", "x")
    t.write("dir/sub/file", "x")
    t.write("static.c", STATIC)
    t.outside("cc", "-static", "-o", "static", "static.c").ok()
    options = ("--deny-read", "secret", "--deny-read", "dir")
    readers = [("cat", ["cat"]), ("bash", ["bash", "-c", ': < "$1"', "bash"]),
               ("python3", ["python3", "-c", "import sys; open(sys.argv[1])"]),
               ("static", [os.path.join(t.dir, "static")])]
    for name, command in readers:
        for path in ("secret", "dir/sub/file"):
            t.run("violations", "clear").ok()
            t.inside(*command, path, options=options)
            found = [v for v in records(t) if v["kind"] == "fs-read"]
            equal([(v["target"], v["errno"], v["count"]) for v in found],
                  [(os.path.join(t.dir, path), "EACCES", 1)], (name, found))
            contains(os.path.basename(found[0]["exe"]), name[:6])
            check(found[0]["pid"] > 0)
            contains(found[0]["suggest"]["edit"], "from --deny-read")
            # Without the observer there are no reports, and no reads
            check(t.inside(*command, path, options=options +
                           ("--observe", "off")).code, "it was read")
    equal(t.inside("cat", "secret").out, "x", "the control")


@test
def a_denied_read_is_reported_under_every_spelling(t):
    need_fuse()
    secrets = os.path.join(t.away, "s")
    t.write(f"{secrets}/a/b/a/c", "secret")
    t.run("run", "--deny-read", secrets, "--", "cat", f"{secrets}/a/b/a/c",
          f"{secrets}/a/../../../../../../../../../etc/passwd")
    equal(sorted(targets(records(t), "fs-read")),
          [f"{secrets}/a", f"{secrets}/a/b/a/c"])


@test
def a_hidden_directory_is_empty_and_reported(t):
    need_fuse()
    t.write("dir/file", "x")
    t.write("bare/x", "x")
    os.unlink(os.path.join(t.dir, "bare/x"))
    r = t.shell("ls -A dir bare; cat dir/missing; test -e dir/missing",
                options=("--deny-read", "dir", "--deny-read", "bare"))
    equal(r.out, "bare:\n\ndir:\n")
    # What is not there was not refused
    equal([(v["target"], v["errno"]) for v in records(t)],
          [(os.path.join(t.dir, "dir"), None)])


@test
def a_project_below_a_hidden_directory_works(t):
    t.write("home/secret", "x")
    t.write("home/project/file", "y")
    r = t.shell("cat home/project/file; cat home/secret; cat home/none; "
                "echo z > home/project/new; echo z > home/project/.mcp.json",
                options=("--deny-read", "home", "--read", "home/project",
                         "--write", "home/project"))
    equal(r.out, "y")
    equal(r.err.count("No such file"), 2)
    equal(t.read("home/project/new"), "z\n")
    check(not t.exists("home/project/.mcp.json"), "it was not observed")


@test
def shown_paths_in_a_hidden_directory_are_read_only(t):
    shown = os.path.join(t.away, "shown")
    for name in ("shown", "secret"):
        t.write(os.path.join(t.away, name), name)
    r = t.shell(f"cat {shown}; echo z > {shown}; rm -f {shown}",
                options=("--deny-read", t.away, "--read", shown))
    equal(r.out, "shown")
    equal(t.read(shown), "shown")
    check(("fs-write", shown, "EROFS") in
          [(v["kind"], v["target"], v["errno"]) for v in records(t)],
          records(t))


@test
def reads_of_threads_are_reported_under_one_process(t):
    need_fuse()
    t.write("dir/file", "x")
    script = """
import threading
def read(i):
    for _ in range(20):
        try: open("dir/file").read()
        except OSError: pass
all = [threading.Thread(target=read, args=(i,)) for i in range(32)]
for x in all: x.start()
for x in all: x.join()
import os; print(os.getpid())
"""
    t.write("read.py", script)
    t.inside("python3", "read.py", options=("--deny-read", "dir")).ok()
    found = records(t)
    equal([(v["target"], v["errno"]) for v in found if v["count"] == 640],
          [(os.path.join(t.dir, "dir/file"), "EACCES")], found)
    equal(len({v["pid"] for v in found}), 1, found)


@test
def writes_to_hidden_paths_are_reported(t):
    t.write("secret", "x")
    t.write("dir/file", "x")
    t.shell("echo y > secret; mkdir dir/new; rm -f dir/file; chmod 600 secret",
            options=("--deny-read", "secret", "--deny-read", "dir"))
    found = [(v["kind"], os.path.relpath(v["target"], t.dir), v["errno"])
             for v in records(t)]
    for v in (("fs-write", "secret", "EROFS"), ("fs-write", "dir/new", "EROFS")):
        check(v in found, v, found)
    equal(t.read("secret"), "x")
    equal(t.read("dir/file"), "x")


@test
def records_are_filtered_by_run_kind_and_time(t):
    t.shell("echo x > ~/x")
    t.shell("echo x > .bashrc")
    first, second = records(t)
    equal((first["kind"], second["kind"]), ("fs-write", "fs-create"))
    for v in (first, second):
        equal(records(t, "--kind", v["kind"]), [v])
        equal(records(t, "--run=" + v["run"]), [v])
    equal(records(t, "--run", first["run"], "--kind", "fs-create"), [])
    equal(records(t, "--since", "1h"), [first, second])
    equal(records(t, "--since", "1ms"), [])


@test
def clear_refuses_a_selection(t):
    t.shell("echo x > ~/x")
    listed = t.run("violations", "list").ok().out
    contains(listed, t.home + "/x")
    for words in (("--kind", "fs-read"), ("--run", "x"), ("--since", "1s"),
                  ("--json",), ("x",)):
        contains(t.run("violations", "clear", *words).ended(2).err, words[0])
    equal(t.run("violations", "list").ok().out, listed)
    t.run("violations", "clear").ok()
    equal(t.run("violations", "list").ok().out, "")


main()
