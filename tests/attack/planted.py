# SPDX-License-Identifier: Apache-2.0
"""tests/attack/planted.py - a command plants settings and takes them for the user's

What appears under a protected name goes to quarantine unless no call from inside can
have made it; how long ago a call was let through says nothing.
"""

import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from refusals import *

FILE = ".claude/settings.json"
TRIES = 12

# Threads ask for plain names, and are made idle ones beside busy loops before the answer
# comes. They go on seconds later, when the loops have ended; by then the name is another.
# Prints how many of them have opened that.
STALLED = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
enum { THREADS = 8, LOOPS = 16 };
static char names[THREADS][256];
static const char *text;
static volatile int tid, renamed, planted, done;
static void on(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}
static void *stall(void *name)
{
	int fd;
	on(0);
	tid = gettid();
	fd = open(name, O_WRONLY | O_CREAT, 0644);
	if (renamed && fd >= 0 && write(fd, text, strlen(text)) > 0)
		__sync_fetch_and_add(&planted, 1);
	__sync_fetch_and_add(&done, 1);
	return NULL;
}
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
int main(int argc, char **argv)
{
	struct sched_param none = { 0 };
	pid_t loops[LOOPS];
	pthread_t thread;
	double start;
	(void)argc;
	text = argv[2];
	on(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	for (int i = 0; i < LOOPS; i++) {
		loops[i] = fork();
		if (!loops[i]) {
			on(0);
			for (start = now(); now() < start + 60;)
				;
			_exit(0);
		}
	}
	for (int i = 0; i < THREADS; i++) {
		snprintf(names[i], sizeof(names[i]), "plain%d", i);
		tid = 0;
		pthread_create(&thread, NULL, stall, names[i]);
		for (start = now(); !tid && now() < start + 20;)
			;
		sched_setscheduler(tid, SCHED_IDLE, &none);
	}
	for (start = now(); now() < start + 2.6;)
		usleep(1000);
	for (int i = 0; i < THREADS; i++)
		strcpy(names[i], argv[1]);
	renamed = 1;
	for (int i = 0; i < LOOPS; i++)
		kill(loops[i], SIGKILL);
	for (start = now(); done < THREADS && now() < start + 20;)
		usleep(1000);
	printf("%d\n", planted);
	fflush(stdout);
	usleep(500000);
	return 0;
}
"""


def grant(t):
    return json.dumps({"sandbox": {"filesystem": {"allowWrite": [t.away]}}})


def opens_when_approved(t, where):
    """The control: the same settings, after a look at them"""
    write = ("run", "--", "sh", "-c", f"echo x > {t.away}/never")
    check(t.run(*write, cwd=where).code, "nobody has approved it")
    t.trust("--cwd", where)
    t.run(*write, cwd=where).ok()


def compiled(t):
    source = t.write(t.root + "/stall.c", STALLED)
    program = t.root + "/stall"
    t.outside(need("cc"), "-O1", "-pthread", "-o", program, source).ok()
    return program


@test
def a_held_up_call_cannot_plant_settings_after_a_wait(t):
    """Whether a thread is kept off the processor long enough depends on the machine:
    src/observe/test-inflight-calls.c has the same without that"""
    program = compiled(t)
    os.mkdir(".claude")
    t.outside("sh", "-c", f"echo '{{}}' > {FILE}").ok("the control")
    late = tries = 0
    while not late and tries < TRIES:
        tries += 1
        os.system("rm -f plain* " + FILE)
        p = t.start("run", "--", "sh", "-c", f"{program} {FILE} '{grant(t)}'; "
                    "for i in 1 2 3 4 5; do "
                    f"(echo x > {t.away}/never) 2>/dev/null; sleep 0.1; done")
        out, err = p.communicate()
        check(not os.path.exists(t.away + "/never"), "it was obeyed", err)
        check(not os.path.exists(FILE), "it stayed", err)
        late = int(out)
    note(f"{late} calls were late, in {tries} tries")


@test
def settings_planted_by_another_run_are_quarantined(t):
    """One run sees no call of its own, and the other is at work in its directory"""
    other = t.root + "/other"
    os.mkdir(other)
    os.mkdir(".claude")
    t.write(other + "/grant", grant(t))
    for call in ("echo x > made; ", ""):
        b = t.start("run", "--", "sh", "-c", call + "echo ready; read x; "
                    "for i in 1 2 3 4 5 6 7 8 9 10; do "
                    f"(echo x > {t.away}/never) 2>/dev/null; sleep 0.1; done")
        equal(b.stdout.readline(), b"ready\n")
        a = t.start("run", "--observe", "off", "--write", t.dir, "--", "sh", "-c",
                    f"echo ready; read x; cp grant {t.dir}/{FILE} && "
                    "echo planted; read x", cwd=other)
        equal(a.stdout.readline(), b"ready\n")
        a.send_signal(signal.SIGSTOP)	# It is up to the other one
        a.stdin.write(b"\n")
        a.stdin.flush()
        equal(a.stdout.readline(), b"planted\n")
        _, err = b.communicate(b"\n")
        check(not os.path.exists(t.away + "/never"), "it was obeyed", err)
        check(not call or not os.path.exists(FILE), "the user's?", err)
        a.send_signal(signal.SIGCONT)
        a.communicate(b"\n")
        check(not os.path.exists(FILE), "it stayed")
    t.write(FILE, grant(t))
    opens_when_approved(t, t.dir)


@test
def settings_of_a_clone_that_changes_are_not_applied(t):
    """A command may write in the repository that it makes; another runs there"""
    need("git")
    a = t.start("run", "--", "sh", "-c", "git init -q app; mkdir app/.claude; "
                f"echo '{{}}' > app/{FILE} && echo made; read x; "
                f"echo '{grant(t)}' > app/{FILE} && echo changed; read x")
    equal(a.stdout.readline(), b"made\n")
    b = t.start("run", "--", "sh", "-c", "echo ready; read x; "
                "for i in 1 2 3 4 5 6 7 8 9 10; do "
                f"(echo x > {t.away}/never) 2>/dev/null; sleep 0.1; done",
                cwd=t.dir + "/app")
    equal(b.stdout.readline(), b"ready\n")
    a.stdin.write(b"\n")
    a.stdin.flush()
    equal(a.stdout.readline(), b"changed\n")
    _, err = b.communicate(b"\n")
    check(not os.path.exists(t.away + "/never"), "it was obeyed", err)
    a.communicate(b"\n")
    opens_when_approved(t, t.dir + "/app")


@test
def settings_made_by_the_user_are_kept_and_read_only(t):
    """And is read-only inside; else it is in quarantine, and comes back"""
    os.mkdir(".claude")
    p = t.start("run", "--write", t.home, "--", "sh", "-c",
                "echo x > made; echo ready; "
                f"until grep -q ' {t.dir}/{FILE} ' /proc/self/mountinfo; do sleep 0.02; done; "
                f"(echo x > {FILE}) 2>/dev/null || echo refused; read x; "
                "while test ! -e stop; do echo x > made; echo; done")
    equal(p.stdout.readline(), b"ready\n")

    def has_mount():
        # Until the calls before have been seen to be over it is quarantined
        if not os.path.exists(FILE):
            t.write(FILE, "{}")
        return select.select([p.stdout], [], [], 0)[0]

    wait_until(has_mount, "a mount of the user's file")
    equal(p.stdout.readline(), b"refused\n")
    p.stdin.write(b"\n")		# From now on there is always a call
    p.stdin.flush()
    p.stdout.readline()
    t.write(".mcp.json", "{}")
    wait_until(lambda: not os.path.exists(".mcp.json"), "quarantine")
    fix = [v["suggest"]["command"] for v in records(t, "--kind", "quarantine")
           if v["target"].endswith("/.mcp.json")][-1]
    t.run(*fix.split()[1:]).ok()
    t.write("stop", "")
    lacks(p.communicate()[1].decode(), "may be open")
    equal(t.read(".mcp.json"), "{}", "it came back, and stayed")
    equal(t.read(FILE), "{}")


@test
def files_that_the_next_run_reads_or_starts_are_quarantined(t):
    """No row protects these by their name, and a command can win them by a race"""
    bin = t.home + "/.local/bin"
    os.makedirs(bin)
    os.mkdir(t.home + "/opt")
    program = shutil.copy(os.path.realpath(CLOCHE), t.home + "/opt/cloche")
    env = {**os.environ, "PATH": bin + ":" + os.environ["PATH"],
           "CLAUDE_CONFIG_DIR": t.home + "/other"}
    names = [t.home + name for name in (
        "/.srt-settings.json", "/.local/bin/cloche", "/opt/cloche-secret",
        "/other/settings.json")]
    for killed in (False, True):
        p = Started([program, "run", "--write", t.home, "--", "sh", "-c",
                     "echo x > made; echo ready; "
                     "while test ! -e stop; do echo x > made; done"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, cwd=t.dir, env=env)
        equal(p.stdout.readline(), b"ready\n")
        if killed:
            p.send_signal(signal.SIGSTOP)
        for name in (*names, bin + "/plain"):
            t.write(name, "{}")
        if killed:
            p.kill()
        else:
            wait_until(lambda: not os.path.lexists(names[1]), "quarantine")
        t.write("stop")
        p.communicate()
        if killed:
            t.run("run", "--no-settings", "true", env=env).ok()
        equal([name for name in names if os.path.lexists(name)], [], killed)
        check(os.path.exists(bin + "/plain"), "the control")
        os.unlink("stop")
    fix = [v["suggest"]["command"] for v in records(t, "--kind", "quarantine")
           if v["target"] == names[1]][-1]
    t.run(*fix.split()[1:]).ok()
    t.inside("true", env=env).ok()
    equal(t.read(names[1]), "{}", "it came back, and stayed")


ASIDE = """
import os, time
os.mkdir("v")
with open("v/tasks.json", "w") as file:
    file.write("x" * (1 << 20))
os.rename("v", ".vscode")
while os.path.exists(".vscode"):
    time.sleep(0.001)
print(*(name for name in os.listdir(".") if name.startswith(".vscode")))
"""


@test
def a_planted_directory_is_renamed_at_once_and_copied_at_the_end(t):
    """It loses its name at once, and is copied when the command has ended"""
    r = t.inside("/usr/bin/python3", "-c", ASIDE,
                 options=("--observe", "off")).ok()
    check(r.out.startswith(".vscode.quarantine-"), "it was copied", repr(r))
    equal([name for name in os.listdir(".") if "vscode" in name], [])
    fix = records(t, "--kind", "quarantine")[-1]["suggest"]["command"]
    t.run(*fix.split()[1:]).ok("the control")
    equal(os.path.getsize(".vscode/tasks.json"), 1 << 20)


@test
def planted_files_in_a_renamed_root_are_found(t):
    """Its path is not there any more when everything is looked at in the end"""
    for options in ((), ("--observe", "off")):
        os.makedirs("d/s")
        r = t.run("run", *options, "--write", "d", "--", "sh", "-c",
                  "echo x > d/s/.envrc; mv d e; echo x > .mcp.json; ls -d e")
        equal(r.out, "e\n", r.err)
        lacks(r.err, "the next run looks")
        for path in ("e/s/.envrc", ".mcp.json"):
            check(not t.exists(path), path, r.err)
        t.outside("rm", "-rf", "d", "e").ok()


main()
