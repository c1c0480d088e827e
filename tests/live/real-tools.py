# SPDX-License-Identifier: Apache-2.0
"""tests/live/real-tools.py - git, npm, pip, make and other tools work in the sandbox"""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *


def git_config(t):
    t.write(t.home + "/.gitconfig",
            "[user]\n\tname = A\n\temail = a@x\n[init]\n\tdefaultBranch = m\n")


@test
def git_commits_branches_and_merges(t):
    need("git")
    git_config(t)
    t.outside("git", "init", "-q", ".").ok()
    t.shell("""set -e
        echo 1 > a; git add a; git commit -qm one
        git checkout -qb side; echo 2 > b; git add b; git commit -qm two
        git checkout -q m; echo 3 > c; git add c; git commit -qm three
        git merge -q --no-edit side
        git stash list; git gc -q; git fsck --no-progress
        git status --porcelain""").ok()
    equal(t.outside("git", "rev-list", "--count", "HEAD").ok().out, "4\n")


@test
def git_init_and_clone_work(t):
    need("git")
    git_config(t)
    t.shell("git init -q new && cd new && echo 1 > a && git add a && "
            "git commit -qm one").ok()
    t.shell("git clone -q new copy").ok()
    contains(t.outside("git", "-C", "copy", "log", "--oneline").ok().out, "one")


@test
def a_worktree_commits_into_its_repository(t):
    need("git")
    git_config(t)
    main = t.root + "/main"
    t.outside("git", "init", "-q", main).ok()
    t.outside("git", "-C", main, "commit", "-q", "--allow-empty", "-m", "0").ok()
    tree_dir = t.root + "/tree"
    t.outside("git", "-C", main, "worktree", "add", "-q", tree_dir, "-b", "w").ok()
    t.shell("echo 1 > a && git add a && git commit -qm inside",
            cwd=tree_dir).ok()
    contains(t.outside("git", "-C", main, "log", "--oneline", "w").ok().out,
             "inside")
    t.shell(f"echo x > {main}/.git/hooks/post-commit", cwd=tree_dir)
    check(not os.path.exists(main + "/.git/hooks/post-commit"))
    t.shell(f"echo x > {main}/file", cwd=tree_dir)
    check(not os.path.exists(main + "/file"), "the main work tree was written")


@test(timeout=600)
def npm_installs_a_local_package(t):
    need("npm")
    t.write("dep/package.json", '{"name":"dep","version":"1.0.0","main":"i.js"}')
    t.write("dep/i.js", "module.exports = 42")
    t.write("package.json", '{"name":"p","version":"1.0.0","scripts":'
            '{"test":"node -e \\"process.exit(require(\'dep\')-42)\\""}}')
    t.inside("npm", "install", "--no-audit", "--no-fund", "./dep",
             timeout=500).ok()
    t.inside("npm", "test", timeout=500).ok()
    check(t.exists("node_modules/dep"))


@test(timeout=600)
def npm_gets_a_writable_cache(t):
    """It ends where it cannot; the one in the home is closed"""
    need("npm")
    os.makedirs(t.home + "/.npm/_cacache/tmp")
    t.write("dep/package.json", '{"name":"dep","version":"1.0.0"}')
    t.write("package.json", '{"name":"p","version":"1.0.0"}')
    script = "echo ${npm_config_cache:-none}"
    equal(t.shell(script).ok().out, "/tmp/npm-cache\n")
    for options in (["--write", t.home + "/.npm"], ["--profile", "srt"]):
        equal(t.shell(script, options=options).ok().out, "none\n", options)
    t.inside("npm", "install", "--no-audit", "--no-fund", "./dep",
             timeout=500).ok()
    equal(os.listdir(t.home + "/.npm"), ["_cacache"])


CACHES = {"GOCACHE": (".cache/go-build", "/tmp/go-build"),
          "GOMODCACHE": ("go/pkg/mod", "/tmp/go-mod"),
          "CARGO_HOME": (".cargo", "/tmp/cargo"),
          "CCACHE_DIR": (".cache/ccache", "/tmp/ccache"),
          "PIP_CACHE_DIR": (".cache/pip", "/tmp/pip-cache"),
          "PNPM_HOME": (".local/share/pnpm", "/tmp/pnpm"),
          "YARN_CACHE_FOLDER": (".cache/yarn", "/tmp/yarn-cache"),
          "BUN_INSTALL_CACHE_DIR": (".bun/install/cache", "/tmp/bun-cache"),
          "DENO_DIR": (".cache/deno", "/tmp/deno"),
          "ZIG_GLOBAL_CACHE_DIR": (".cache/zig", "/tmp/zig"),
          "GRADLE_USER_HOME": (".gradle", "/tmp/gradle"),
          "UV_CACHE_DIR": (".cache/uv", "/tmp/uv-cache")}


@test
def pip_gets_a_writable_cache(t):
    need("pip")
    r = t.inside("pip", "list").ok()
    lacks(r.out + r.err, "WARNING")
    equal(t.inside("pip", "cache", "dir").ok().out, "/tmp/pip-cache\n")


@test
def read_only_caches_of_the_host_are_used(t):
    script = "echo ${PLAYWRIGHT_BROWSERS_PATH:-none}"
    equal(t.shell(script).ok().out, "/tmp/ms-playwright\n")
    os.makedirs(t.home + "/.cache/ms-playwright/chromium-1")
    equal(t.shell(script).ok().out, "none\n")
    contains(t.shell("echo $MAVEN_OPTS").ok().out,
             f"-Dmaven.repo.local.tail={t.home}/.m2/repository")


@test_if(shutil.which("mvn"))
def maven_gets_a_writable_repository(t):
    os.makedirs(t.home + "/.m2/repository")
    t.inside("mvn", "-o", "-q", "help:help", timeout=300)	# Has no plugins
    equal(t.shell("ls -d /tmp/m2").ok().out, "/tmp/m2\n")
    equal(os.listdir(t.home + "/.m2/repository"), [])


@test_if(shutil.which("cargo"))
def cargo_builds_with_a_read_only_home(t):
    os.makedirs(t.home + "/.cargo")
    t.inside("cargo", "init", "-q", "--name", "p", timeout=300).ok()
    t.inside("cargo", "build", "-q", "--offline", timeout=300).ok()
    equal(os.listdir(t.home + "/.cargo"), [])


@test
def ccache_gets_a_writable_cache(t):
    ccache, cc = need("ccache"), need("cc")
    t.write("a.c", "int a;\n")
    build = (ccache, cc, "-c", "a.c")
    check(t.inside(*build, options=("--env", "CCACHE_DIR=" + t.home)).code,
          "the control built")
    t.inside(*build).ok()
    for name, (usual, ours) in CACHES.items():
        script = f"echo ${{{name}:-none}}"
        usual = os.path.join(t.home, usual)
        os.makedirs(usual, exist_ok=True)
        equal(t.shell(script).ok().out, ours + "\n")
        equal(t.shell(script, options=("--write", usual)).ok().out, "none\n")
        # One that cannot be written is moved as well; --env insists
        equal(t.shell(script, env={name: "/mine"}).ok().out, ours + "\n")
        equal(t.shell(script, env={name: t.dir}).ok().out, t.dir + "\n")
        equal(t.shell(script, options=("--env", name + "=/mine")).ok().out,
              "/mine\n")


@test(timeout=600)
def make_builds_a_small_c_project(t):
    need("make")
    need("cc")
    names = [f"f{i}" for i in range(8)]
    for name in names:
        t.write(name + ".c", f"int {name}(void) {{ return 1; }}\n")
    t.write("main.c", "#include <stdio.h>\n" +
            "".join(f"int {n}(void);\n" for n in names) +
            'int main(void) { printf("%d\\n", ' +
            "+".join(f"{n}()" for n in names) + "); return 0; }\n")
    t.write("Makefile", "prog: main.o " + " ".join(n + ".o" for n in names) +
            "\n\tcc -o $@ $^\n")
    t.inside("make", "-j2", timeout=500).ok()
    equal(t.inside("./prog").ok().out, "8\n")


@test(timeout=600)
def python_makes_a_virtual_environment(t):
    python = "/usr/bin/python3"
    if t.outside(python, "-c", "import ensurepip, venv").code:
        skip("needs python3-venv")
    t.inside(python, "-m", "venv", "venv", timeout=500).ok()
    r = t.inside("venv/bin/python", "-c", "import sys; print(sys.prefix)")
    equal(r.ok().out, t.dir + "/venv\n")


@test
def threads_and_child_processes_work(t):
    r = t.inside("/usr/bin/python3", "-c", """
import threading, multiprocessing, subprocess, tempfile, socket, sqlite3
n = []
ts = [threading.Thread(target=n.append, args=(i,)) for i in range(8)]
[x.start() for x in ts]; [x.join() for x in ts]
print(len(n), subprocess.check_output(['echo', 'sub']).decode().strip())
with multiprocessing.Pool(2) as pool: print(sum(pool.map(abs, range(5))))
a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))
s = socket.create_server(('127.0.0.1', 0))
c = socket.create_connection(s.getsockname()); print('loopback')
d = sqlite3.connect('db'); d.execute('create table t(a)'); d.commit()
print(tempfile.mkstemp()[1] != '')
""")
    equal(r.ok().out.split("\n")[:5],
          ["8 sub", "10", "b'x'", "loopback", "True"])


@test
def tar_and_find_and_sed_work(t):
    t.shell("""set -e
        mkdir -p a/b; for i in 1 2 3; do echo $i > a/b/$i; done
        tar czf a.tgz a; rm -r a; tar xzf a.tgz
        find a -type f | xargs sed -i s/^/x/
        cat a/b/1; cp -a a c; chmod -R u-w c; chmod -R u+w c; rm -rf c""").ok()
    equal(t.read("a/b/1"), "x1\n")


NPMRC = ("registry=https://registry.example.org/\n"
         "//registry.example.org/:_authToken=npm-token\n")
PIP_CONF = "[global]\nindex-url = https://me:word@pypi.example.org/simple\n"


@test
def npm_reads_its_registry_while_the_token_is_hidden(t):
    """A package manager that cannot read the name would ask the public one"""
    npm = need("npm")
    for options in ((), ("--profile", "home"), ("--observe", "off")):
        npmrc = t.write(t.home + "/.npmrc", NPMRC)
        pip = t.write(t.home + "/.config/pip/pip.conf", PIP_CONF)
        r = t.shell(f"cat {npmrc} {pip}", options=options).ok()
        equal(r.out, "registry=https://registry.example.org/\n[global]\n"
              "index-url = https://pypi.example.org/simple\n")
        equal(r.err, "")
        equal(t.inside(npm, "config", "get", "registry", options=options).ok().out,
              t.outside(npm, "config", "get", "registry").ok().out)
        t.shell(f"echo x >> {npmrc}; rm {npmrc}; mv {npmrc} {npmrc}2",
                options=options)
        equal(t.read(npmrc), NPMRC)
    equal(t.inside("cat", npmrc, options=("--read", npmrc)).ok().out, NPMRC)
    # Without a name to show, all of it is hidden
    t.write(npmrc, "_authToken=npm-token\n")
    check(t.inside("cat", npmrc).code)


@test
def a_saved_npmrc_is_hidden_again(t):
    """The old copy without its token, or nothing, is in its place"""
    npmrc = t.write(t.home + "/.npmrc", NPMRC)
    with t.start("run", "--", "sh", "-c", f"cat {npmrc}; read x; "
                 f"for i in $(seq 300); do cat {npmrc}; done; echo end") as run:
        contains(run.stdout.readline().decode(), "registry=")
        t.write(npmrc + ".new", NPMRC.replace("npm-token", "new-token"))
        os.rename(npmrc + ".new", npmrc)
        out, _ = run.communicate(b"x\n", timeout=RUN_SECONDS)
        lacks(out.decode(), "token")
        contains(out.decode(), "end\n")


main()
