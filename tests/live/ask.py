# SPDX-License-Identifier: Apache-2.0
"""tests/live/ask.py - the questions of --ask, on a real terminal"""

import http.server
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *
from terminal import Terminal

LINE = "cloche: [y]es for this run, [o]nce, [a]lways, [n]o, and Enter"
SECONDS = 300
WIDE = 4000		# Columns in which no question is broken

FETCH = '''
import os, socket, sys
def tunnel(target):
    s = socket.create_connection(("127.0.0.1", 3128))
    s.sendall(b"CONNECT %s HTTP/1.1\\r\\n\\r\\n" % target)
    return s.recv(4096).split(b"\\r")[0].decode()
'''


WRITE = '''
import ctypes, os, threading
def write(path, text="x"):
    try:
        with open(path, "w") as f: f.write(text)
        print("wrote", ascii(path), flush=True)
    except OSError as e: print("refused", ascii(path), e.errno, flush=True)
'''


class Server:
    """Takes connections on the host's loopback"""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.target = f"127.0.0.1:{self.port}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            self.socket.accept()


def asking(code, program="/usr/bin/python3", options=()):
    return Terminal([CLOCHE, "run", "--ask", *options, "--", program, "-c", FETCH + code],
                    columns=WIDE)


def asked(term, host):
    """Wait for the question about @host; the program that it names"""
    found = term.expect("cloche: allow " + re.escape(host) +
                        r" for ([^\r\n]*?)( \(pid \d+\))?\?(\x1b\[0m)?\r\n" + re.escape(LINE))
    return found.group(1)


def writing(code, options=(), program="/usr/bin/python3", env=None):
    return Terminal([CLOCHE, "run", "--ask", *options, "--", program, "-c", WRITE + code],
                    env=env, columns=WIDE)


def asked_to_write(term, path, target=None):
    """Wait for the question about @path, of which @target is to be written"""
    now = f" (now {target})" if target else ""
    term.expect(re.escape(f"cloche: allow writing {path}{now} for ") +
                r"[^\r\n]*?( \(pid \d+\))?\?(\x1b\[0m)?\r\n" + re.escape(LINE))


def notes(t, name="data"):
    """A directory of the user's that no rule mentions"""
    path = f"{t.home}/notes/{name}"
    os.makedirs(path)
    return path


def lacks_controls(term):
    """What the command chose has not moved the cursor or turned the line around"""
    lacks(re.sub("\r\033\\[K|\033\\[[0-9]*m", "", term.text), "\033")
    lacks(term.text, "\u202e")


def twice(server):
    return f'for i in range(2): print(tunnel(b"{server.target}"), flush=True)\n'


@test
def the_line_that_the_footer_offers_asks(t):
    """As it is printed, with the options and the command of the run"""
    server = Server()
    path = {**os.environ, "PATH": os.path.dirname(os.path.abspath(CLOCHE)) + ":" +
            os.environ["PATH"]}
    t.write("a client.py", FETCH + f'answer = tunnel(b"{server.target}")\nprint(answer)\n'
            'sys.exit(" 200" not in answer)\n')
    words = [CLOCHE, "run", "--deny", "x.example", "--", "python3", "a client.py"]
    with Terminal(words, columns=WIDE) as term:
        equal(term.wait(SECONDS), 1)
        found = re.search(r"or be asked about each host:\r\n\S*? {12}(\S.*?)(\x1b\[0m)?\r\n",
                          term.text)
        check(found, term.text)
    line = found.group(1)
    equal(line, "cloche run --deny x.example --ask -- python3 'a client.py'")
    with Terminal(["bash", "-c", line], env=path, columns=WIDE) as term:
        asked(term, server.target)
        term.send("y\n")
        equal(term.wait(SECONDS), 0, term.text)
        lacks(term.text, "be asked")
    with Terminal([*words, "x" * 600], columns=WIDE) as term:
        equal(term.wait(SECONDS), 1)
        contains(term.text, "or start it again with --ask")


@test
def each_answer_about_a_host_has_its_effect(t):
    server = Server()
    for answer, want, questions in (("y", "200", 1), ("yes", "200", 1), ("Y", "200", 1),
                                    ("o", "200", 2), ("once", "200", 2), ("n", "403", 1),
                                    ("no", "403", 1), ("s", "200", 1)):
        with asking(twice(server)) as term:
            for _ in range(questions):
                asked(term, server.target)
                term.send(answer + "\n")
            equal(term.wait(SECONDS), 0)
            equal(term.text.count("HTTP/1.1 " + want), 2, answer, term.text)
            equal(term.text.count("cloche: allow "), questions, answer, term.text)
    check(not t.exists(t.home + "/.config/cloche"), "it was stored")


@test
def the_answer_always_prints_the_settings_file(t):
    server = Server()
    with asking(twice(server)) as term:
        asked(term, server.target)
        term.send("always\n")
        equal(term.wait(SECONDS), 0)
        contains(term.text, "/.config/cloche/policy.json: network.allowedDomains += " +
                 server.target)
    contains(t.inside("/usr/bin/python3", "-c", FETCH + twice(server)).ok().out, "200")


@test
def an_invalid_answer_prompts_again(t):
    server = Server()
    with asking(twice(server)) as term:
        for words in ("cancel", "", "maybe", "yesno", "abort no"):
            asked(term, server.target)
            term.send(words + "\n")
            term.expect("cloche: this is not one of the answers")
        asked(term, server.target)
        term.send("\x04")		# Ctrl-D: no answer will come
        equal(term.wait(SECONDS), 0)
        equal(term.text.count("HTTP/1.1 403"), 2, term.text)


@test
def two_prompts_are_shown_one_after_the_other(t):
    one, two = Server(), Server()
    with asking(f'''
import threading
def ask(target): print(target.decode(), tunnel(target), flush=True)
threads = [threading.Thread(target=ask, args=(x,)) for x in (b"{one.target}", b"{two.target}")]
for x in threads: x.start()
for x in threads: x.join()
''') as term:
        first = term.expect(r"cloche: allow (127\.0\.0\.1:\d+) for ").group(1)
        # Typed before the second was there, so not for it
        term.send("y\ny\n")
        second = term.expect(r"cloche: allow (127\.0\.0\.1:\d+) for ").group(1)
        check(first != second, first)
        term.expect(re.escape(LINE))
        term.send("n\n")
        equal(term.wait(SECONDS), 0)
        contains(term.text, first + " HTTP/1.1 200")
        contains(term.text, second + " HTTP/1.1 403")


@test
def input_typed_before_the_question_is_discarded(t):
    server = Server()
    os.mkfifo("go")
    with asking(f'''
print("ready", flush=True)
open("go").read()
print(tunnel(b"{server.target}"), flush=True)
''') as term:
        term.expect("ready")
        # A line, and the beginning of another: the terminal has both when it echoes them
        term.send("y\ny")
        term.expect("y\r\ny")
        with open("go", "w"):
            pass
        asked(term, server.target)
        term.send("n\n")
        equal(term.wait(SECONDS), 0)
        contains(term.text, "HTTP/1.1 403")
        equal(term.text.count("cloche: allow "), 1, term.text)


@test
def ctrl_c_ends_the_command_and_the_prompt(t):
    server = Server()
    with asking(f'print(tunnel(b"{server.target}"))') as term:
        asked(term, server.target)
        before = term.settings()
        term.send("\x03")
        equal(term.wait(SECONDS), -2)
        equal(term.settings(), before)
        lacks(term.text, "200")


@test(timeout=600)
def a_prompt_without_an_answer_is_a_reported_refusal(t):
    server = Server()
    path = t.home + "/kept"
    # One question is behind the other; the time of both begins at once
    with asking(WRITE + f'''
thread = threading.Thread(target=write, args=("{path}",)); thread.start()
print(tunnel(b"{server.target}"), flush=True); thread.join()''') as term:
        term.expect("1 more wait")	# Shown again meanwhile
        term.expect("no answer in time, so it is refused")
        term.expect("no answer in time, so it is refused")
        equal(term.wait(SECONDS), 0)
        for words in (server.target + ": no answer in time", "403",
                      f"writing {path}: no answer in time", f"refused '{path}' 30"):
            contains(term.text, words)


@test
def each_answer_about_a_path_has_its_effect(t):
    for tier in ("full", "landlock"):
        for answer, want, questions in (("y", "wrote", 1), ("o", "wrote", 2),
                                        ("n", "refused", 1)):
            data = notes(t)
            with writing(f'for x in "ab": write("{data}/" + x)',
                         ("--tier", tier)) as term:
                for name in "ab"[:questions]:
                    asked_to_write(term, data, f"{data}/{name}")
                    term.send(answer + "\n")
                equal(term.wait(SECONDS), 0)
                equal(term.text.count(want), 2 + (want == "refused"), tier, answer, term.text)
                equal(term.text.count("cloche: allow "), questions, tier, answer, term.text)
            equal(sorted(os.listdir(data)), ["a", "b"] if want == "wrote" else [])
            shutil.rmtree(data)
    check(not t.exists(t.home + "/.config/cloche"), "it was stored")


@test
def the_answer_always_stores_the_path(t):
    path = t.home + "/notes.txt"
    for tier in ("full", "landlock"):
        with writing(f'write("{path}")', ("--tier", tier)) as term:
            asked_to_write(term, path)
            term.send("always\n")
            equal(term.wait(SECONDS), 0)
            contains(term.text, "/.config/cloche/policy.json: filesystem.allowWrite += " +
                     path)
            contains(term.text, "wrote")
        equal(t.read(path), "x")
        t.inside("/usr/bin/python3", "-c", WRITE + f'write("{path}", "again")').ok()
        equal(t.read(path), "again", tier)
        os.unlink(path)
        shutil.rmtree(t.home + "/.config/cloche")


@test
def every_kind_of_write_call_is_emulated_after_yes(t):
    data = notes(t)
    os.mkdir(data + "/old")
    t.write(data + "/file", "abc")
    with writing(f'''
os.chdir("{data}")
os.mkdir("new"); os.rmdir("old"); os.rename("file", "moved"); os.truncate("moved", 1)
os.chmod("moved", 0o600); os.symlink("moved", "link"); os.link("moved", "second")
print("done", flush=True)
''') as term:
        asked_to_write(term, data + "/new")
        term.send("y\n")
        asked_to_write(term, data, data + "/old")
        term.send("y\n")
        equal(term.wait(SECONDS), 0)
        contains(term.text, "done")
    equal(sorted(os.listdir(data)), ["link", "moved", "new", "second"])
    equal(t.read(data + "/moved"), "a")


@test
def protected_and_secret_paths_are_never_asked_about(t):
    home, data = t.home, notes(t)
    for name in (".ssh", ".local/bin", ".config/gh", "repo", "quest*"):
        os.makedirs(f"{home}/{name}", exist_ok=True)
    subprocess.run(["git", "init", "-q", home + "/repo"], check=True)
    never = [home + "/.bashrc", home + "/.ssh/authorized_keys", home + "/.ssh/config",
             home + "/.config/autostart", home + "/.local/bin/ls", home + "/.config/gh/hosts.yml",
             home + "/.gitconfig", home + "/quest*/a",
             home + "/repo/.git/hooks/pre-commit", home + "/.config/cloche/policy.json",
             "/proc/sys/kernel/hostname", "/home/other/x", "/usr/local/bin/ls"]
    with writing(f'''
for path in {never!r}: write(path)
write("{data}/a")
for name in (".bashrc", ".git", ".envrc", "b"): write("{data}/" + name)
''', env=dict(os.environ, PATH=f"{home}/.local/bin:{os.environ['PATH']}")) as term:
        # The one question, and what it does not open either
        asked_to_write(term, data, data + "/a")
        term.send("y\n")
        equal(term.wait(SECONDS), 0)
        equal(term.text.count("cloche: allow "), 1, term.text)
        for name in ("a", "b"):
            contains(term.text, f"wrote '{data}/{name}'")
        for path in (*never, data + "/.bashrc", data + "/.envrc"):
            contains(term.text, f"refused '{path}'")
    check(not t.exists(home + "/.bashrc") and not t.exists(data + "/.bashrc"))


@test
def calls_about_one_path_share_a_prompt(t):
    data = notes(t)
    with writing(f'''
threads = [threading.Thread(target=write, args=("{data}/" + x,)) for x in "abc"]
for x in threads: x.start()
for x in threads: x.join()
''') as term:
        term.expect(re.escape(f"cloche: allow writing {data} (now "))
        term.send("y\n")
        equal(term.wait(SECONDS), 0)
        equal(term.text.count("cloche: allow "), 1, term.text)
    equal(sorted(os.listdir(data)), ["a", "b", "c"])


@test
def the_answer_once_applies_to_the_shown_path_only(t):
    data, other = notes(t), notes(t, "else")
    os.mkfifo(t.dir + "/go")
    # The text of the path changes while the call waits for the answer
    with writing(f'''
libc = ctypes.CDLL(None, use_errno=True)
name = ctypes.create_string_buffer(b"{data}/a")
thread = threading.Thread(target=lambda: libc.creat(name, 0o600)); thread.start()
open("go").read()
name.value = b"{other}/a"
print("changed", flush=True)
thread.join()
''') as term:
        asked_to_write(term, data, data + "/a")
        with open(t.dir + "/go", "w"):
            pass
        term.expect("changed")
        term.send("o\n")
        asked_to_write(term, other, other + "/a")
        term.send("n\n")
        equal(term.wait(SECONDS), 0)
    equal(os.listdir(data) + os.listdir(other), [])


@test
def ctrl_c_ends_a_call_that_waits(t):
    data = notes(t)
    with writing(f'write("{data}/a")') as term:
        asked_to_write(term, data, data + "/a")
        term.send("\x03")
        term.expect("KeyboardInterrupt")
        equal(term.wait(SECONDS), -2)
        lacks(term.text, "cloche: refused")
    equal(os.listdir(data), [])


@test
def without_a_terminal_or_under_an_agent_no_prompt_is_shown(t):
    data = notes(t)
    line = shlex.join([CLOCHE, "run", "--ask", "--", "/usr/bin/python3", "-c",
                       WRITE + f'write("{data}/a")'])
    for script in (line + " < /dev/null", "CLAUDECODE=1 " + line):
        with Terminal(["sh", "-c", script]) as term:
            equal(term.wait(SECONDS), 0)
            contains(term.text, "refused")
            lacks(term.text, "cloche: allow ")
    # What would be written is not staged, so nothing is asked there either
    with writing(f'write("{data}/a")', ("--ephemeral",)) as term:
        equal(term.wait(SECONDS), 0)
        lacks(term.text, "cloche: allow ")
    equal(os.listdir(data), [])


@test
def control_characters_of_paths_are_escaped_in_prompts(t):
    data = notes(t)
    name = "\033[2J\033[1;1H\r\ncloche: allow nothing?\u202e"
    with writing(f'write("{data}/" + {name!r})') as term:
        term.expect(re.escape(f"cloche: allow writing {data} (now {data}/"))
        term.expect(re.escape(LINE))
        term.send("n\n")
        equal(term.wait(SECONDS), 0)
        lacks_controls(term)
        lacks(term.text, "\ncloche: allow nothing")
    # Nor when it is stored, and that is said
    name = "\033]0;x\007\r\ncloche: allow nothing\u202e"
    with writing(f'write("{t.home}/" + {name!r})') as term:
        term.expect(re.escape(LINE))
        term.send("a\n")
        equal(term.wait(SECONDS), 0)
        contains(term.text, "filesystem.allowWrite += " + t.home)
        lacks(re.sub("\r\033\\[K|\033\\[[0-9]*m", "", term.text), "\033")
        lacks(term.text, "\u202e")
        lacks(term.text, "\ncloche: allow nothing")


@test
def control_characters_of_hosts_are_escaped_in_prompts(t):
    server = Server()
    name = "\033[2J\033[1;1Hcurl (pid 1)? yes \u202e" + "x" * 60
    program = os.path.join(t.dir, name)
    shutil.copy(os.path.realpath("/usr/bin/python3"), program)
    with asking(f'''
for name in (b"\\x1b[2J.example.org:443", b"a\\x07b.example.org:443", b"a\\r\\nb:443"):
    print(tunnel(name), flush=True)
print(tunnel(b"{server.target}"), flush=True)
''', program) as term:
        shown = asked(term, server.target)
        check(len(shown) <= 32, shown)
        term.send("n\n")
        equal(term.wait(SECONDS), 0)
        equal(term.text.count("cloche: allow "), 1, term.text)
        equal(term.text.count("HTTP/1.1 400"), 3, term.text)
        lacks_controls(term)


@test
def a_job_in_the_background_is_refused_at_once(t):
    server = Server()
    script = (f"set -m; {shlex.quote(CLOCHE)} run --ask -- /usr/bin/python3 -c " +
              shlex.quote(FETCH + f'print(tunnel(b"{server.target}"), flush=True)') +
              " & wait; echo over")
    with Terminal(["bash", "-c", script], columns=WIDE) as term:
        term.expect("refused: --ask cannot ask while another job has the terminal")
        term.expect("403")
        term.expect("over")
        equal(term.wait(SECONDS), 0)


class Screen:
    """What a person sees: tmux renders it"""

    def __init__(self, t, argv):
        # A socket for each: the server of the one before may still be ending
        self.base = ["tmux", "-S", os.path.join(tempfile.mkdtemp(dir=t.root), "tmux"),
                     "-f", "/dev/null"]
        # Ctrl-C is for the command; the shell tells how it ended
        self.call("new-session", "-d", "-x", "80", "-y", "24", "trap : INT; " +
                  " ".join(map(shlex.quote, argv)) + "; echo ended $?; cat")

    def call(self, *words):
        return subprocess.run([*self.base, *words], check=True, text=True,
                              capture_output=True).stdout

    def shows(self, *texts):
        return all(x in self.call("capture-pane", "-p") for x in texts)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call("kill-server")


@test
def a_prompt_stays_visible_under_a_spinner(t):
    need("tmux")
    server = Server()
    # As npm draws: cursor to the first column, erase, one character
    t.write("spin.py", FETCH + f'''
import threading, time
def ask(): print(tunnel(b"{server.target}"), flush=True); open("answered", "w").close()
thread = threading.Thread(target=ask); thread.start()
frames = 0
while thread.is_alive():
    sys.stdout.write("\\x1b[1G\\x1b[0K" + "|/-\\\\"[frames % 4]); sys.stdout.flush()
    frames += 1
    open("frames", "w").write(str(frames))
    time.sleep(0.01)
''')
    with Screen(t, [CLOCHE, "run", "--ask", "--", "/usr/bin/python3", "spin.py"]) as screen:
        question = f"cloche: allow {server.target} for python3"
        wait_until(lambda: screen.shows(question, LINE), "the question")
        start = int(t.read("frames") or 0)
        wait_until(lambda: int(t.read("frames") or 0) > start + 50, "fifty frames")
        check(screen.shows(question, LINE), screen.call("capture-pane", "-p"))
        screen.call("send-keys", "y", "Enter")
        wait_until(lambda: screen.shows("ended 0"), "the end")
        check(screen.shows("HTTP/1.1 200"), screen.call("capture-pane", "-p"))


@test
def a_prompt_during_npm_install_is_visible(t):
    need("npm")
    need("tmux")
    t.write("package.json", '{"name":"p","version":"1.0.0"}')
    with Screen(t, [CLOCHE, "run", "--ask", "--", "npm", "install", "--fetch-retries=0",
                    "left-pad", "--registry=http://registry.example.org/"]) as screen:
        question = "cloche: allow registry.example.org:80 for node"
        wait_until(lambda: screen.shows(question, LINE), "the question")
        screen.call("send-keys", "n", "Enter")
        wait_until(lambda: screen.shows("ended 1"), "the end")
        check(screen.shows("403"), screen.call("capture-pane", "-p"))


@test
def prompts_during_curl_and_git_are_visible(t):
    need("tmux")
    for argv, host, program, words in (
            (["curl", "http://files.example.org/a", "-f", "-o", "a"],
             "files.example.org:80", "curl", "403"),
            ([need("git"), "clone", "--progress", "http://git.example.org/a", "b"],
             "git.example.org:80", "git-remote-http", "fatal: unable to access")):
        with Screen(t, [CLOCHE, "run", "--ask", "--", *argv]) as screen:
            question = f"cloche: allow {host} for {program}"
            wait_until(lambda: screen.shows(question, LINE), "the question")
            screen.call("send-keys", "n", "Enter")
            wait_until(lambda: screen.shows("ended "), "the end")
            check(screen.shows(words) and not screen.shows("ended 0"),
                  screen.call("capture-pane", "-p"))


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"the page of this host\n")

    def log_message(self, *_):
        pass


def page_server():
    """HOST:PORT of a web server on the host's loopback"""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "%s:%d" % server.server_address


def curl(*hosts):
    return [CLOCHE, "run", "--ask", "--", "curl", "-sSf", "--noproxy", "", "--parallel",
            *(f"http://{host}/" for host in hosts)]


@test
def curl_proceeds_according_to_the_pressed_key(t):
    need("tmux")
    host, page = page_server(), "the page of this host"
    for keys, end in (("n Enter", "ended 22"), ("C-c", "ended 130"), ("y Enter", page),
                      ("a Enter", page)):
        with Screen(t, curl(host)) as screen:
            wait_until(lambda: screen.shows(f"cloche: allow {host} for curl", LINE),
                       "the question")
            screen.call("send-keys", *keys.split())
            wait_until(lambda: screen.shows(end, "ended "), (keys, end))
            equal(screen.shows(page, "ended 0"), end == page, keys)
    with Screen(t, curl(host)) as screen:		# Always
        wait_until(lambda: screen.shows("ended 0"), "the end")
        check(screen.shows(page) and not screen.shows("cloche: allow"))


@test
def two_prompts_of_curl_are_visible_one_by_one(t):
    need("tmux")
    hosts = [page_server(), page_server()]
    with Screen(t, curl(*hosts)) as screen:
        def asked_about():
            shown = re.findall(r"cloche: allow (\S+) for curl.*\n" + re.escape(LINE),
                               screen.call("capture-pane", "-p"))
            return shown[-1] if shown else None
        first = wait_until(asked_about, "a question")
        check(first in hosts, first)
        screen.call("send-keys", "n", "Enter")
        wait_until(lambda: asked_about() not in (None, first), "the other")
        screen.call("send-keys", "y", "Enter")
        wait_until(lambda: screen.shows("ended "), "the end")
        check(screen.shows("the page of this host", "403"), screen.call("capture-pane", "-p"))


@test
def prompts_about_writes_of_git_and_npm_are_visible(t):
    need("tmux")
    os.mkdir(t.home + "/notes")
    t.write("package.json", '{"name":"p","version":"1.0.0","scripts":{"x":"true"}}')
    t.outside("git", "init", "-q", ".").ok()
    for argv, name, program in (
            ([need("git"), "clone", "-q", "."], "copy", "git"),
            ([need("npm"), "run", "x", "--no-update-notifier", "--cache"], "cache", "node")):
        path = f"{t.home}/notes/{name}"
        with Screen(t, [CLOCHE, "run", "--ask", "--", *argv, path]) as screen:
            question = f"cloche: allow writing {path} for {program}"
            wait_until(lambda: screen.shows(question, LINE), "the question")
            check(not t.exists(path), path)
            screen.call("send-keys", "y", "Enter")
            wait_until(lambda: screen.shows("ended 0"), "the end")
        check(os.listdir(path), path)


@test
def the_footer_suggests_the_ask_option(t):
    script = "curl -sf -m 9 http://x.example.org/"
    with Terminal([CLOCHE, "run", "--", "sh", "-c", script]) as term:
        check(term.wait(SECONDS) > 0)
        contains(term.text, "--ask")
    with Terminal([CLOCHE, "run", "--", "sh", "-c", "echo x > ~/x"]) as term:
        check(term.wait(SECONDS) > 0)
        lacks(term.text, "--ask")
    lacks(t.shell(script).err, "--ask")


main()
