# SPDX-License-Identifier: Apache-2.0
"""tests/day/learned.py - what cloche learn finds for real jobs is enough, and needed

Each job is a shell script with a home of its own, and servers on a host of our own. It
runs outside, which is the control; then `learn` finds its rules and writes them; with
them it does inside what it does outside, and without any one of them it does not. The
heavy ones are in `make check-long`.
"""

import json
import os
import pwd
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from registries import *

PACKAGE = {"name": "p", "version": "1.0.0", "dependencies": {"dep": "1.0.0"},
           "scripts": {"test": "node -p 'require(\"dep\")'"}}
LOCK = {"name": "p", "version": "1.0.0", "lockfileVersion": 3, "packages": {
    "": {"name": "p", "version": "1.0.0", "dependencies": {"dep": "1.0.0"}},
    "node_modules/dep": {"version": "1.0.0", "integrity": INTEGRITY,
                         "resolved": "http://npm.test/dep/-/dep-1.0.0.tgz"}}}
NPM = {"package.json": json.dumps(PACKAGE), "package-lock.json": json.dumps(LOCK),
       ".npmrc": "registry=http://npm.test/\naudit=false\nfund=false\n"
                 "update-notifier=false\nfetch-retries=0\n"}
ROUNDS_MAX = 3
JOBS = []


class Job:
    """One row of the table below"""

    def __init__(self, name, script, needs, tools=(), files=None,
                 setup=(), heavy=False, root=True, refused=(), env=None, packages=()):
        self.__dict__.update(locals())
        del self.self
        JOBS.append(self)


PACKAGES = os.path.join(os.path.dirname(CLOCHE), "day")
INSTALLED = ("node_modules", "package-lock.json")	# By install()


# A job starts from the same home each time, whatever the last one left
def fresh(t, job):
    empty(t.home, "project", ".config", ".local")
    empty(t.home + "/.config", "cloche")
    empty(t.home + "/.local", "state")
    empty(t.home + "/.local/state/cloche/tmp")	# Caches of the last run inside
    empty(t.dir, ".cloche.json", *(INSTALLED if job.packages else ()))
    for path, text in (job.files or {}).items():
        t.write(place(t, path), place(t, text))


def place(t, text):
    return text.replace("~", t.home).replace("AWAY", t.away)


def run_job(t, job, inside):
    fresh(t, job)
    argv = ("bash", "-ec", place(t, job.script))
    return (t.inside if inside else t.outside)(*argv, env=job.env, timeout=600)


def install(t, packages):
    """Packages that tests/day/with-packages has fetched, and what they depend on"""
    if not os.path.isdir(PACKAGES):
        skip("needs packages from npm")
    shutil.copytree(PACKAGES, t.dir, symlinks=True, dirs_exist_ok=True)
    check(set(packages) <= set(os.listdir(t.dir + "/node_modules")), packages)


def is_run(job):
    return (not job.heavy or LONG) and (job.root or not IS_ROOT) and \
        os.environ.get("TEST_FILTER", "") in job.name


def learned(job):
    def each(t):
        for tool in job.tools:
            need(tool)
        serve_registries()
        if job.packages:
            install(t, job.packages)
        stops = [setup(t) for setup in job.setup]
        try:
            learn_and_compare(t, job)
        finally:
            for stop in stops:
                if stop:
                    stop()
    each.__name__ = job.name
    if is_run(job):
        test(timeout=1200)(each)


def learn(t, job, *options):
    fresh(t, job)
    r = t.run("learn", "--json", *options, "--", "bash", "-ec", place(t, job.script),
              env=job.env, timeout=1200)
    check(r.out, repr(r))
    return json.loads(r.out), r


def learn_and_compare(t, job):
    control = run_job(t, job, False).ok("the control")
    check(control.out, "the control prints nothing")
    needs = {place(t, need) for need in job.needs}
    services = {need for need in needs if need.startswith(("socket ", "port "))}
    if services:	# Listed, and not tried before the user allows them
        answer, r = learn(t, job)
        equal((set(answer["notTried"]), r.code),
              ({"cloche policy allow " + need for need in services}, 1), answer)
        for need in services:
            t.run("policy", "allow", *need.split()).ok()
    answer, r = learn(t, job, "--write", "project")
    note(json.dumps(answer))
    lines = {f"{line['kind']} {line['value']}" for line in answer["lines"]}
    equal(lines, needs - services, answer, r.err)
    check(answer["complete"] and answer["rounds"] <= ROUNDS_MAX, answer)
    for word in job.refused:
        contains("\n".join(answer["refusedOnPurpose"]), place(t, word))
    equal(r.code, 0, answer)
    r = run_job(t, job, True)
    equal((r.code, r.out), (0, control.out), repr(r))
    for line in lines | services:
        t.run("policy", "remove", *line.split(" ", 1)).ok()
        r = run_job(t, job, True)
        check((r.code, r.out) != (0, control.out), "not needed:", line)
        t.run("policy", "allow", *line.split(" ", 1)).ok()


def sshd(t):
    where = t.away + "/sshd"
    os.mkdir(where, 0o700)
    for name in ("host", "key"):
        t.outside("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                  f"{where}/{name}").ok()
    t.write(where + "/config", f"""HostKey {where}/host
AuthorizedKeysFile {where}/key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
ListenAddress {ADDRESS}
""")
    p = subprocess.Popen([need("/usr/sbin/sshd"), "-D", "-f", where + "/config",
                          "-E", where + "/log"])
    wait_until(lambda: os.path.exists(where + "/log") and
               "Server listening" in t.read(where + "/log"), "sshd listens")

    def stop():
        p.kill()
        p.wait()
    return stop


def database(t):
    """What answers on a socket of the user's"""
    path = t.away + "/db.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()

    def serve():
        while True:
            with server.accept()[0] as s:
                s.sendall(b"row of " + s.recv(100))
    threading.Thread(target=serve, daemon=True).start()


def local_server(t):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 5984), Handler)
    PAGES["127.0.0.1/a"] = b"of this machine\n"
    threading.Thread(target=server.serve_forever, daemon=True).start()


def docker(t):
    """A daemon that hangs up"""
    server = socket.socket(socket.AF_UNIX)
    server.bind(t.away + "/docker.sock")
    server.listen()

    def serve():
        while True:
            server.accept()[0].close()
    threading.Thread(target=serve, daemon=True).start()


def signature(t):
    """A keyring with a public key, and what that key has signed"""
    own = ("gpg", "-q", "--batch", "--homedir", t.away + "/own")
    os.mkdir(t.away + "/own", 0o700)
    os.mkdir(t.away + "/keys", 0o700)
    t.write(t.away + "/f", "signed")
    t.outside(*own, "--passphrase", "", "--quick-gen-key", "a@example.org", "ed25519",
              "sign").ok()
    t.outside(*own, "-o", t.away + "/f.sig", "-b", t.away + "/f").ok()
    t.outside(*own, "-o", t.away + "/key", "--export").ok()
    t.outside("gpg", "-q", "--batch", "--homedir", t.away + "/keys", "--import",
              t.away + "/key").ok()
    for home in ("own", "keys"):
        t.outside("gpgconf", "--homedir", f"{t.away}/{home}", "--kill", "all")


def redis(t):
    p = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket",
                          t.away + "/r.sock", "--save", ""], cwd=t.away,
                         stdout=subprocess.DEVNULL)
    wait_until(lambda: os.path.exists(t.away + "/r.sock"), "redis listens")

    def stop():
        p.kill()
        p.wait()
    return stop


def postgres(t):
    os.mkdir(t.away + "/pg", 0o700)
    path = t.outside("sh", "-c", "echo /usr/lib/postgresql/*/bin").out.strip()
    env = {"PATH": path + ":" + os.environ["PATH"]}
    t.outside("initdb", "-A", "trust", "-D", t.away + "/db", env=env).ok()
    t.outside("pg_ctl", "-s", "-w", "-D", t.away + "/db", "-l", t.away + "/log", "-o",
              f"-k {t.away}/pg -h ''", "start", env=env, stdout=subprocess.DEVNULL).ok()
    return lambda: t.outside("pg_ctl", "-s", "-D", t.away + "/db", "-m", "fast", "stop",
                             env=env)


USER = pwd.getpwuid(os.getuid()).pw_name

# Networks
Job("npm_ci_and_test", "npm -s ci; npm -s test", {"host npm.test"}, ("npm",), NPM)
Job("npm_installs_what_has_no_lock", "npm -s i dep; node -p 'require(\"dep\")'",
    {"host npm.test"}, ("npm",),
    {".npmrc": NPM[".npmrc"], "package.json": '{"name":"p","version":"1.0.0"}'})
Job("pip_installs_from_an_index", "pip3 -q install --target lib --index-url "
    "http://pip.test/simple --trusted-host pip.test dep\n"
    "PYTHONPATH=lib python3 -c 'import dep; print(dep.value)'",
    {"host pip.test"}, ("pip3",))
Job("git_clones_over_http", "git clone -q http://git.test/repo.git copy; cat copy/file",
    {"host git.test"}, ("git",), setup=(git_repository,))
Job("git_clones_over_ssh", "cp AWAY/sshd/key .; chmod 600 key; export GIT_SSH_COMMAND="
    "\"${GIT_SSH_COMMAND:-ssh} -o BatchMode=yes -o StrictHostKeyChecking=no "
    "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -i key\"\n"
    f"git clone -q ssh://{USER}@git.test/AWAY/repo.git copy; cat copy/file",
    {"host git.test:22"}, ("git", "ssh"), setup=(git_repository, sshd))
Job("curl_fetches_from_two_hosts", "curl -sf http://files.test/a http://more.test/b",
    {"host files.test", "host more.test"}, ("curl",))
Job("an_update_check_is_not_needed", "curl -sf http://files.test/a; "
    "curl -sf http://telemetry.test/ping || true",
    {"host files.test"}, ("curl",))

# Files
Job("make_builds_with_a_shared_ccache", "mkdir -p ~/shared\n"
    "export CCACHE_DIR=~/shared/ccache\n"
    "printf 'int main(void) { return 0; }\\n' > m.c\n"
    "printf 'prog: m.c\\n\\tccache cc -c -o $@ $<\\n' > Makefile\n"
    "make -s; ls prog; ls -d ~/shared/ccache", {"write ~/shared"},
    ("ccache", "make", "cc"))
Job("make_builds_with_its_own_ccache",
    "printf 'int main(void) { return 0; }\\n' > m.c; ccache cc -c m.c; ls m.o", set(),
    ("ccache", "cc"))
Job("a_build_makes_a_directory_beside_the_project",
    "mkdir ~/dist\ncp f ~/dist/f; cat ~/dist/f", {"write ~/dist"}, (), {"f": "content\n"})
Job("a_script_keeps_its_state_elsewhere", "python3 state.py", {"write AWAY/state"},
    files={"AWAY/state/count": "1", "state.py": """
import os, tempfile
count = int(open("AWAY/state/count").read()) + 1
fd, name = tempfile.mkstemp(dir="AWAY/state")
os.write(fd, str(count).encode()); os.close(fd); os.rename(name, "AWAY/state/count")
print(count)
"""})
Job("two_directories_are_two_lines", "echo a > AWAY/one/f; echo b > AWAY/two/f\n"
    "cat AWAY/one/f AWAY/two/f", {"write AWAY/one", "write AWAY/two"},
    files={"AWAY/one/x": "", "AWAY/two/x": "", "AWAY/three/x": ""})

# Sockets and ports of the host's
Job("a_test_asks_a_database_on_a_socket", "python3 test.py", {"socket AWAY/db.sock"},
    files={"test.py": """
import socket, unittest
class Test(unittest.TestCase):
    def test_row(self):
        s = socket.socket(socket.AF_UNIX); s.connect("AWAY/db.sock")
        s.sendall(b"table"); self.assertEqual(s.recv(100), b"row of table")
unittest.main(argv=["x"], exit=False).result.wasSuccessful() or exit(1)
print("tested")
"""}, setup=(database,), root=False)		# What root listens on is not proposed
Job("a_test_asks_a_server_of_this_machine", "curl -sf http://127.0.0.1:5984/a",
    {"port 5984"}, ("curl",), setup=(local_server,))

# What is refused on purpose, and not needed
Job("gpg_verifies_with_a_keyring_of_the_project",
    "cp -r AWAY/keys .; gpg -q --homedir keys --status-fd 1 --verify AWAY/f.sig AWAY/f "
    "2>/dev/null | grep -o GOODSIG", set(), ("gpg",), setup=(signature,))
Job("docker_is_refused_and_the_build_goes_on",
    "curl -s -m 1 --unix-socket AWAY/docker.sock http://x/version >/dev/null || true\n"
    "echo built", set(), ("curl",), setup=(docker,), refused=("docker.sock",))

# Other languages
Job("php_fetches_without_a_proxy", "php -r 'echo file_get_contents(\"http://files.test/a\");'",
    {"host files.test"}, ("php",))
Job("wget_saves_into_another_directory", "wget -q -P AWAY/one http://files.test/a\n"
    "cat AWAY/one/a", {"host files.test", "write AWAY/one"}, ("wget",),
    {"AWAY/one/x": ""})
Job("gem_installs_from_a_source", "gem install -q --silent --no-document --clear-sources "
    "--source http://gems.test/ -i gems dep\nGEM_PATH=gems ruby -e 'require \"dep\"; puts V'",
    {"host gems.test"}, ("gem",), setup=(gem_source,))

# Heavy
Job("java_fetches_a_page", "java Fetch.java", {"host files.test"}, ("javac",), {
    "Fetch.java": """
import java.net.*;
public class Fetch {
	public static void main(String[] a) throws Exception {
		System.out.write(new URL("http://files.test/a").openStream().readAllBytes());
		System.out.flush();
	}
}
"""}, heavy=True)
Job("maven_has_a_mirror", "mvn -q -s settings.xml validate; echo valid", {"host mvn.test"},
    ("mvn",), {
    "pom.xml": "<project><modelVersion>4.0.0</modelVersion><artifactId>p</artifactId>"
               "<parent><groupId>test</groupId><artifactId>parent</artifactId>"
               "<version>1</version><relativePath/></parent></project>",
    "settings.xml": "<settings><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf>"
                    "<url>http://mvn.test</url></mirror></mirrors></settings>"}, heavy=True)
Job("go_builds_with_a_proxy", "go run .", {"host go.test"}, ("go",), {
    "go.mod": "module x\n\ngo 1.19\n\nrequire go.test/dep v1.0.0\n",
    "main.go": 'package main\n\nimport ("fmt"; "go.test/dep")\n\n'
               "func main() { fmt.Println(dep.Value) }\n"},
    env={"GOPROXY": "http://go.test", "GONOSUMDB": "*", "GOFLAGS": "-mod=mod"}, heavy=True)
Job("cargo_builds_offline", "cargo run -q --offline", set(), ("cargo",), {
    "Cargo.toml": '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n'
                  '[dependencies]\ndep = { path = "dep" }\n',
    "src/main.rs": 'fn main() { println!("{}", dep::VALUE) }\n',
    "dep/Cargo.toml": '[package]\nname = "dep"\nversion = "0.1.0"\nedition = "2021"\n',
    "dep/src/lib.rs": "pub const VALUE: i32 = 42;\n"}, heavy=True)
Job("redis_is_asked_on_a_socket", "redis-cli -s AWAY/r.sock set a 1; "
    "redis-cli -s AWAY/r.sock get a", {"socket AWAY/r.sock"}, ("redis-server",),
    setup=(redis,), root=False, heavy=True)
Job("pytest_asks_a_database_on_a_socket", "pytest-3 -q -p no:cacheprovider | grep -o '1 passed'",
    {"socket AWAY/db.sock"}, ("pytest-3",), {"test_row.py": """
import socket
def test_row():
    s = socket.socket(socket.AF_UNIX); s.connect("AWAY/db.sock")
    s.sendall(b"table"); assert s.recv(100) == b"row of table"
"""}, setup=(database,), root=False, heavy=True)
Job("podman_is_refused_and_the_build_goes_on",
    "podman --remote --url unix://AWAY/docker.sock ps >/dev/null 2>&1 || true\n"
    "echo built", set(), ("podman",), setup=(docker,), refused=("docker.sock",), heavy=True)
Job("psql_asks_on_a_socket", "psql -h AWAY/pg -d postgres -Atc 'select 1+1'",
    {"socket AWAY/pg/.s.PGSQL.5432"}, ("psql",), setup=(postgres,), root=False, heavy=True)
Job("next_builds", "node_modules/.bin/next build >/dev/null; ls .next/BUILD_ID", set(),
    ("npm",), {
    "package.json": '{"name":"p","version":"1.0.0"}',
    "app/layout.js": "export default function L({ children }) {\n"
                     "  return <html><body>{children}</body></html> }\n",
    "app/page.js": "export default function P() { return <p>hi</p> }\n"},
    packages=("next", "react", "react-dom"), heavy=True)
Job("playwright_drives_chromium", "node p.mjs", set(), ("npm", "chromium"), {"p.mjs": """
import { chromium } from 'playwright-core'
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: [
  '--no-sandbox', '--disable-component-update', '--disable-background-networking'] })
const p = await b.newPage()
await p.setContent('<p>hello</p>')
console.log(await p.textContent('p'))
await b.close()
"""}, packages=("playwright-core",), heavy=True)

for job in JOBS:
    learned(job)


# One attempt a line; the words that the report has for it
HOSTILE = {
    "cat ~/.ssh/id_rsa": "~/.ssh/id_rsa",
    "cat ~/.aws/credentials": "~/.aws/credentials",
    "echo x >> ~/.bashrc": "~/.bashrc",
    "echo x >> ~/.zshenv": "~/.zshenv",
    "mkdir -p ~/.config/autostart": "~/.config/autostart",
    "echo x > .git/hooks/pre-commit": ".git/hooks/pre-commit",
    "echo x > ~/bin/ls": "~/bin",
    "echo x > ~/.ssh/authorized_keys": "~/.ssh/authorized_keys",
    "curl -sf -m 5 http://169.254.169.254/latest/": "169.254.169.254",
    "curl -sf -m 5 http://metadata.google.internal/": "metadata.google.internal",
    "curl -s -m 5 --unix-socket AWAY/docker.sock http://x/": "docker.sock",
    "echo x > /home/other/x": "/home/other/x",
    "cat /home/other/.ssh/id_rsa": "/home/other/.ssh/id_rsa",
}


@test
def a_hostile_job_is_refused_and_reported(t):
    need("curl")
    docker(t)
    for name in (".ssh/id_rsa", ".aws/credentials", ".bashrc", "bin/ls", ".config/x"):
        t.write(f"{t.home}/{name}", "as it was")
    t.outside("git", "init", "-q", ".").ok()
    t.write("job", place(t, "code=0\n" + "".join(
        f"{line} >/dev/null 2>&1 || code=1\n" for line in HOSTILE) + "exit $code\n"))
    r = t.run("learn", "--json", "--write", "project", "--", "sh", "job",
              env={"PATH": t.home + "/bin:" + os.environ["PATH"]})
    answer = json.loads(r.out)
    note(json.dumps(answer))
    equal((answer["lines"], answer["notNeeded"], answer["rounds"], r.code),
          ([], [], 1, 1), answer)
    check(not t.exists(".cloche.json"))
    for attempt, words in HOSTILE.items():
        check(any(place(t, words) in line and line.endswith(")")
                  for line in answer["refusedOnPurpose"]), attempt, answer)
    for name in (".ssh/id_rsa", ".aws/credentials", ".bashrc", "bin/ls"):
        equal(t.read(f"{t.home}/{name}"), "as it was")

own_host(NAMES)
main()
