# SPDX-License-Identifier: Apache-2.0
"""tests/day/workflows.py - ordinary work with real tools, inside as outside

Each workflow is a shell script that runs twice in a project of its own in the user's
home: outside, which is the control, and inside. Status and output must be the same, and
inside there must be no message of cloche's but an expected note. The heavy ones are in `make check-long`.
"""

import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *


# A registry may have a certificate of a company's authority, which the system knows
CERTIFICATES = {name: "/etc/ssl/certs/ca-certificates.crt"
                for name in ("npm_config_cafile", "NODE_EXTRA_CA_CERTS")}


def allow_registry():
    """Options with which the registries of npm and yarn are reached, wherever they are"""
    hosts = ("registry.npmjs.org", "registry.yarnpkg.com")
    return [word for host in hosts for name in (host, socket.gethostbyname(host))
            for word in ("--allow", name)]


def workflow(name, script, *tools, files=None, options=(), heavy=False, env=None,
             note=None, root=True, packages=(), registry=False, quiet=False):
    """@packages: of npm, installed outside for both; @registry: npm's may be reached;
    @quiet: it goes on without what is refused"""
    def each(t):
        for tool in tools:
            need(tool)
        allowed = allow_registry() if registry else ()
        results = []
        for where in ("outside", "inside"):
            top = f"{t.home}/{where}/project"
            for path, text in {**FILES, **(files or {})}.items():
                t.write(f"{top}/{path}", text)
            t.outside("git", "init", "-q", "-b", "main", ".", cwd=top).ok()
            if packages:
                t.outside(need("npm"), "install", "--silent", "--no-audit", "--no-fund",
                          *packages, cwd=top, env=CERTIFICATES, timeout=1000).ok()
            shell = ("bash", "-ec", script)
            results.append(
                t.outside(*shell, cwd=top, env={**CERTIFICATES, **(env or {})}, timeout=1000)
                if where == "outside" else
                t.inside(*shell, cwd=top, env={**CERTIFICATES, **(env or {})},
                         options=(*options, *allowed), timeout=1000))
        control, r = results
        control.ok("the control")
        check(control.out, "the control prints nothing")
        equal(r.code, control.code, repr(r))
        equal(r.out.replace("/inside/", "/outside/"), control.out, repr(r))
        if note:
            contains(r.err, note)
        if not quiet:
            lacks(r.err, "cloche: refused" if note else "cloche:")
    each.__name__ = name
    if (not heavy or LONG) and (root or not IS_ROOT):
        test(timeout=1200)(each)


FILES = {
    "package.json": '{"name":"p","version":"1.0.0","scripts":'
                    '{"test":"node test.js","start":"node server.js"}}',
    "test.js": "console.log('tested', process.env.PORT || 'no port')",
    "server.js": """
const http = require('http');
const s = http.createServer((q, a) => a.end('served ' + q.url));
s.listen(0, '127.0.0.1', () => http.get({port: s.address().port, path: '/x'},
  a => a.on('data', d => console.log(d.toString())).on('end', () => s.close())));
""",
}
GIT = """git config user.name n; git config user.email e@example.org
echo 1 > a; git add -A; git commit -qm one
"""

# git
workflow("git_commits_branches_merges_and_rebases", GIT + """
git checkout -q -b side; echo 2 > b; git add b; git commit -qm two
git checkout -q main; echo 3 > c; git add c; git commit -qm three
git merge -q --no-edit side; git checkout -q -b again HEAD~1
echo 4 > d; git add d; git commit -qm four; git rebase -q main
echo 5 >> a; git stash -q; git stash pop -q; git reset -q --hard
git log --format=%s; git status --short; git gc -q; git fsck --no-progress --no-dangling""", "git")
workflow("git_works_from_a_subdirectory", GIT + """
mkdir -p sub/dir; cd sub/dir; echo x > x; git add x; git commit -qm sub
git log --format=%s; git status --short""", "git")
workflow("git_pushes_and_tracks", GIT + """
git init -q --bare r.git; git remote add origin ./r.git 2>&1
git push -q -u origin main; git branch -q -m main other
git checkout -q -b main; git branch -q -D other
git -C r.git log --format=%s main; git branch --format='%(refname:short) %(upstream)'
git config pull.rebase true; git config pull.rebase""", "git", note="remote.origin.url")
workflow("git_clones_with_submodules", """
for d in lib top; do git init -q -b main $d; (cd $d; git config user.name n
  git config user.email e@example.org; echo 1 > f; git add f; git commit -qm 1); done
file='-c protocol.file.allow=always'
(cd top; git $file submodule --quiet add ../lib sub; git commit -qm sub)
git $file clone -q --recurse-submodules top all; git -C all submodule status | cut -c1-1,42-
git $file clone -q top some; cd some; git $file submodule --quiet update --init
cat sub/f; git status --short""", "git")
workflow("git_has_work_trees", GIT + """
git worktree add -q tree; cd tree; echo 2 > b; git add b; git commit -qm two
git log --format=%s; git worktree list | wc -l""", "git")

# node
workflow("npm_runs_scripts_with_the_users_variables", "npm -s test", "npm",
         env={"PORT": "4000"})
workflow("npm_start_serves_and_is_asked", "npm -s start", "npm")
workflow("npm_installs_workspaces", """npm install --silent --no-audit --no-fund
node -p 'require("b")'; cd packages/a; npm -s test""", "npm", files={
    "package.json": '{"name":"p","version":"1.0.0","workspaces":["packages/*"]}',
    "packages/a/package.json": '{"name":"a","version":"1.0.0","dependencies":'
                               '{"b":"1.0.0"},"scripts":{"test":"node -p '
                               '\'require(\\"b\\") + 1\'"}}',
    "packages/b/package.json": '{"name":"b","version":"1.0.0","main":"i.js"}',
    "packages/b/i.js": "module.exports = 41"})
workflow("node_listens_on_a_socket_of_its_own", """node -e '
const net = require("net"), path = require("os").tmpdir() + "/day-" + process.pid;
const s = net.createServer(c => c.end("hello\\n")).listen(path, () =>
  net.connect(path).on("data", d => process.stdout.write(d)).on("end", () => s.close()));
'""", "node")
workflow("node_watches_files", """node -e '
const fs = require("fs"), w = fs.watch(".", (e, n) => {
  if (n == "seen") { console.log(n); w.close(); } });
fs.writeFileSync("seen", "");'""", "node")
workflow("node_has_workers_and_children", """node -e '
const { Worker } = require("worker_threads");
new Worker("require(\\"worker_threads\\").parentPort.postMessage(42)", {eval: true})
  .on("message", m => { console.log(m, require("child_process")
    .execSync("echo child").toString()); });'""", "node")

# python
workflow("python_processes_share_and_talk", """python3 - <<'X'
import asyncio, multiprocessing, socket, tempfile, threading
from multiprocessing import Manager, Pool, shared_memory
print(Pool(2).map(abs, [-1, 2]), Manager().list([1]))
m = shared_memory.SharedMemory(create=True, size=8); m.close(); m.unlink()
async def main():
    path = tempfile.mkdtemp() + "/s"
    async def serve(r, w): w.write(await r.readline()); w.close()
    async with await asyncio.start_unix_server(serve, path):
        r, w = await asyncio.open_unix_connection(path)
        w.write(b"line\\n"); print(await r.readline())
asyncio.run(main())
X""")
workflow("python_has_sqlite_with_a_log", """python3 -c '
import sqlite3
d = sqlite3.connect("db"); print(d.execute("pragma journal_mode=wal").fetchone())
d.execute("create table t(a)"); d.execute("insert into t values(1)"); d.commit()
print(sqlite3.connect("db").execute("select * from t").fetchall())'""")
workflow("pip_lists_without_complaints", "python3 -m venv --without-pip v && "
         "v/bin/python -c 'print(1)' && python3 -m pip list 2>&1 | grep -ci warning || true")

# builds, editors, shells
workflow("make_builds_with_ccache", """
printf 'int main(void) { return 0; }\\n' > m.c
printf 'prog: m.c\\n\\tccache cc -o $@ $<\\n' > Makefile
make -s; ./prog; make -s; ls -1 prog""", "make", "cc", "ccache")
workflow("java_compiles_and_runs", """
echo 'class A { public static void main(String[] a) { System.out.println(6 * 7); } }' > A.java
javac A.java; java -cp . A""", "javac", "java", heavy=True)
workflow("strace_follows_a_child", "strace -f -qq -e trace=execve sh -c true "
         "2>&1 | grep -c execve", "strace")
workflow("vim_saves", "vim -es -u NONE -c 'normal iline' -c wq file; cat file", "vim")
workflow("a_shell_controls_its_jobs", """set -m; sleep 100 & kill -STOP %1
wait -f %1 & kill -CONT %1; kill %1; wait %1 || echo $?
(exit 42) || echo $?; sh -c 'kill -9 $$' || echo $?; sh -c 'kill -SEGV $$' || echo $?""",
         "bash")
workflow("thousands_of_files_come_and_go", """for i in $(seq 2000); do echo $i > f$i; done
ls f* | wc -l; tar cf all.tar f*; rm f*; tar xf all.tar; cat f2000; rm f*; ls""")
workflow("tmux_runs_a_command", """export TMUX_TMPDIR=$(mktemp -d)
tmux -f /dev/null new -d 'echo hi > done; tmux wait -S end; exec cat'
tmux wait end; cat done; tmux kill-server""", "tmux")
# Outside its directory of sockets, which stays, is another than the machine's
workflow("screen_runs_a_command", """mkfifo done
[ -n "$CLOCHE_SANDBOX" ] || export SCREENDIR=$(mktemp -d)
screen -dmS day sh -c 'echo hi > done'; cat done""", "screen",
         root=False)	# Root's gives its terminal to group tty, which is not inside
workflow("an_ssh_agent_of_its_own_holds_a_key", """ssh-keygen -q -t ed25519 -N '' -C x -f k
eval $(ssh-agent -s) >/dev/null; ssh-add -q k; ssh-add -l | cut -d' ' -f1,3-
ssh-agent -k >/dev/null""", "ssh-agent")

# Profile home
workflow("profile_home_builds_and_commits", GIT + """npm -s test; git log --format=%s
echo x > ~/kept-inside; cat ~/kept-inside; rm ~/kept-inside""", "git", "npm",
         options=("--profile", "home"), note="not kept: ~/kept-inside ")

# Heavy
workflow("redis_serves_a_socket", """
redis-server --port 0 --unixsocket $PWD/r.sock --save '' --daemonize yes \\
  --pidfile $PWD/r.pid >/dev/null
until redis-cli -s r.sock ping 2>/dev/null; do :; done
redis-cli -s r.sock set a 1; redis-cli -s r.sock get a
redis-cli -s r.sock shutdown nosave || true""", "redis-server", heavy=True)
workflow("redis_serves_a_port", """port=$(python3 -c '
import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
redis-server --bind 127.0.0.1 --port $port --save '' --daemonize yes \\
  --pidfile $PWD/r.pid >/dev/null
until redis-cli -p $port ping 2>/dev/null; do :; done
redis-cli -p $port set a 1; redis-cli -p $port get a
redis-cli -p $port shutdown nosave || true""", "redis-server", heavy=True)
workflow("cmake_builds_and_tests", """
echo 'int main(void) { return 0; }' > m.c
printf '%s\\n' 'cmake_minimum_required(VERSION 3.0)' 'project(p C)' 'enable_testing()' \\
  'add_executable(m m.c)' 'add_test(NAME t COMMAND m)' > CMakeLists.txt
cmake -G Ninja -B out -DCMAKE_C_COMPILER_LAUNCHER=ccache >/dev/null; ninja -C out >/dev/null
cd out; ctest | grep 'tests passed'""", "cmake", "ninja", "ccache", heavy=True)
workflow("gdb_stops_at_a_breakpoint", """echo 'int main(void) { return 42; }' > m.c
cc -g -o m m.c; gdb -q -batch -ex 'break main' -ex run -ex continue ./m 2>/dev/null |
  grep -o 'Breakpoint 1, main\\|exited with code 052'""", "gdb", "cc", heavy=True)
workflow("postgres_serves_a_socket", """PATH=$PATH:$(echo /usr/lib/postgresql/*/bin)
initdb -A trust -D db >/dev/null; sock=$(mktemp -d)
pg_ctl -s -D db -o "-k $sock -h ''" -w -l log start
psql -h $sock -d postgres -Atc 'select 1+1'; pg_ctl -s -D db -m fast stop""", "psql",
         heavy=True, root=False)
workflow("go_builds_and_serves", """mkdir g; cd g; printf 'module x\\ngo 1.19\\n' > go.mod
cat > m.go <<'X'
package main
import ("fmt"; "io"; "net/http"; "net/http/httptest")
func main() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "served") }))
	r, _ := http.Get(s.URL); b, _ := io.ReadAll(r.Body); fmt.Println(string(b))
}
X
go run .""", "go", heavy=True)
workflow("tsx_runs_typescript", "node_modules/.bin/tsx a.ts", "npm", packages=("tsx",),
         files={"a.ts": "const a: number = 41; console.log('ts', a + 1)"}, heavy=True)
workflow("vite_serves_a_page", "node v.mjs", "npm", packages=("vite",), heavy=True, files={
    "index.html": "<p>hi</p>", "v.mjs": """
import { createServer } from 'vite'
const s = await createServer({ logLevel: 'silent', server: { port: 0, host: '127.0.0.1' } })
await s.listen()
const r = await fetch(s.resolvedUrls.local[0])
console.log((await r.text()).includes('<p>hi</p>'))
await s.close()
"""})
# Tools of npm's that are started as they are in every project
TOOLS = {
    "index.js": "module.exports = () => 42;\n",
    "index.ts": "const n: number = 42;\nconsole.log(n);\n",
    "main.js": "console.log(require('./index.js')());\n",
    "index.test.js": "const f = require('./index.js');\n"
                     "test('answers', () => expect(f()).toBe(42));\n",
    "index.spec.mjs": "import { expect, test } from 'vitest'\n"
                      "test('answers', () => expect(42).toBe(42))\n",
    "eslint.config.js": "module.exports = [{ rules: { 'no-undef': 'off' } }];\n",
}
for name, packages, script in (
        ("esbuild_bundles", ("esbuild",), """esbuild --bundle --log-level=error \\
  --outfile=out.js index.ts; node out.js"""),
        ("webpack_bundles", ("webpack@5", "webpack-cli@6"), """webpack --mode production \\
  --entry ./main.js --target node -o out >/dev/null; node out/main.js"""),
        ("jest_tests", ("jest@29",), "jest 2>&1 | grep ^Tests:"),
        ("vitest_tests", ("vitest@3",), "vitest run index.spec.mjs 2>&1 | grep -c '1 passed'"),
        ("eslint_finds_nothing", ("eslint@9",), "eslint index.js; echo clean"),
        ("prettier_checks", ("prettier@3",), "prettier --check index.js"),
        ("concurrently_starts_two", ("concurrently@9",), """concurrently -r 'echo one' \\
  'echo two' | sort""")):
    workflow(name, f"PATH=$PWD/node_modules/.bin:$PATH; {script}", "npm", packages=packages,
             files=TOOLS, heavy=True)
workflow("turbo_builds_a_package", """node_modules/.bin/turbo run build --no-daemon 2>&1 |
  grep -o '1 successful'""", "npm", packages=("turbo@2",), heavy=True, quiet=True, files={
    "turbo.json": '{"tasks":{"build":{}}}',
    "package.json": '{"name":"p","version":"1.0.0","packageManager":"npm@10.0.0",'
                    '"workspaces":["packages/*"]}',
    "packages/a/package.json": '{"name":"a","version":"1.0.0","scripts":'
                               '{"build":"echo made"}}'})
workflow("nx_builds_a_package", """node_modules/.bin/nx run a:build --outputStyle=static \\
  --skipNxCache | grep -x made; node_modules/.bin/nx daemon --stop >/dev/null || true""",
         "npm", packages=("nx@20",), heavy=True, files={
    "nx.json": "{}",
    "package.json": '{"name":"p","version":"1.0.0","workspaces":["packages/*"]}',
    "packages/a/package.json": '{"name":"a","version":"1.0.0","scripts":'
                               '{"build":"echo made"}}'})
# With a warm cache at the second time
for name, package, script in (
        ("pnpm_installs", "pnpm@9", "pnpm add --silent is-odd@3"),
        ("yarn_1_installs", "yarn@1", "yarn --silent add is-odd@3 2>&1")):
    workflow(name, f"""mkdir -p a; cd a; echo '{{"name":"a","license":"MIT"}}' > package.json
for i in 1 2; do ../node_modules/.bin/{script}; node -p 'require("is-odd")(3)'
rm -r node_modules; done""", "npm", packages=(package,), registry=True, heavy=True)
workflow("next_builds_a_page", """node_modules/.bin/next build >/dev/null 2>&1
grep -o '<p>hi</p>' .next/server/app/index.html""", "npm",
         packages=("next@15", "react@19", "react-dom@19"), heavy=True, quiet=True, files={
    "app/page.jsx": "export default function P() { return <p>hi</p> }",
    "app/layout.jsx": "export default function L({ children }) "
                      "{ return <html><body>{children}</body></html> }"})
# Its engine is not in the registry; generate needs none, but looks for it
workflow("prisma_generates_a_client", """node_modules/.bin/prisma generate >/dev/null
ls generated""", "npm", packages=("prisma@7",), heavy=True,
         env={"PRISMA_SCHEMA_ENGINE_BINARY": "/usr/bin/true", "CHECKPOINT_DISABLE": "1"},
         files={"prisma/schema.prisma": """
generator client {
  provider = "prisma-client"
  output = "../generated"
}
datasource db {
  provider = "sqlite"
}
model A {
  id Int @id
}
"""})
workflow("playwright_drives_chromium", "node p.mjs", "npm", "chromium", root=False,
         options=("--quiet",),	# Crash reports, updates: it goes on without
         packages=("playwright-core",), heavy=True, files={"p.mjs": """
import { chromium } from 'playwright-core'
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: [
  '--no-sandbox', '--disable-component-update', '--disable-background-networking'] })
const p = await b.newPage()
await p.setContent('<p>hello</p>')
console.log(await p.textContent('p'))
await b.close()
"""})
for name, browser, options in (
        ("with_its_own_sandbox", "chromium",
         ("-s", '{"allowNestedUserNamespaces":true}')),
        ("without", "chromium --no-sandbox", ())):
    # Root's has no sandbox of its own
    workflow("chromium_renders_a_page_" + name, browser + """ --headless \\
  --disable-gpu --user-data-dir=$(mktemp -d) --disable-component-update \\
  --disable-background-networking --dump-dom 'data:text/html,<p>hello</p>' 2>/dev/null""",
             "chromium", heavy=True, options=("--quiet",) + options, root=False)


@test
def the_comparison_detects_a_difference(t):
    """The control of all the others: something that is another thing inside"""
    control = t.outside("bash", "-ec", "readlink /proc/self/ns/net").ok()
    r = t.inside("bash", "-ec", "readlink /proc/self/ns/net").ok()
    check(control.out != r.out)


main()
