# SPDX-License-Identifier: Apache-2.0
"""tests/library/bindings.py - the packages as a user gets them, offline

Both are installed once, from the files that were made; then the examples and
the bindings' own tests run with what was installed.
"""

import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

BIN = os.path.dirname(CLOCHE)
HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = tempfile.mkdtemp()
PYTHON = os.path.join(PLACE, "venv/bin/python")
PATIENCE = 300


def install():
    """What a user types; nothing of it may need a network"""
    def run(*argv):
        done = subprocess.run(argv, cwd=PLACE, capture_output=True, text=True)
        if done.returncode:
            print(f"Bail out! {argv}: {done.stdout}{done.stderr}")
            sys.exit(1)
    with open(os.path.join(PLACE, "package.json"), "w") as file:
        file.write('{"private": true}')
    run("npm", "install", "--offline", "--no-audit", "--no-fund",
        *glob.glob(f"{BIN}/cloche-*.tgz"))
    run("/usr/bin/python3", "-m", "venv", "venv")
    run(PYTHON, "-m", "pip", "install", "--quiet", "--no-index",
        "--disable-pip-version-check", *glob.glob(f"{BIN}/cloche-*.whl"))


def story(t, *argv, **more):
    """Run an example in an empty directory; its output, in its own order"""
    place = tempfile.mkdtemp(dir=t.away)
    r = t.outside(*argv, place, "nowhere.invalid", timeout=PATIENCE, **more)
    r.ok()
    return r.out, sorted(line.replace(place, "DIR")
                         for line in r.err.splitlines()
                         if not line.startswith("=="))


@test(timeout=PATIENCE)
def c_node_and_python_report_the_same_events(t):
    env = {"NODE_PATH": os.path.join(PLACE, "node_modules")}
    want = ("refused\nwrote\n", [
        "asked: nowhere.invalid:80",
        "refused: fs-write DIR/file (outside the writable paths)",
        "refused: net-connect nowhere.invalid:80 (the answer was no)",
        "update 1: in force"])
    equal(story(t, f"{BIN}/example-run"), want, "C")
    equal(story(t, "node", f"{BIN}/run.js", env=env), want, "Node")
    equal(story(t, PYTHON, f"{BIN}/run.py"), want, "Python")


@test(timeout=PATIENCE)
def the_example_in_c_is_clean_under_valgrind(t):
    need("valgrind")
    story(t, "valgrind", "--quiet", "--leak-check=full", "--track-fds=yes",
          "--show-leak-kinds=all", "--errors-for-leak-kinds=all",
          "--error-exitcode=99", f"{BIN}/example-run")


@test(timeout=PATIENCE)
def the_node_addon_passes_its_tests(t):
    t.outside("node", "--test", os.path.join(HERE, "node.js"),
              env={"NODE_PATH": os.path.join(PLACE, "node_modules"),
                   "AWAY": t.away}, timeout=PATIENCE).ok()


@test(timeout=PATIENCE)
def the_srt_manager_passes_its_tests(t):
    t.outside("node", "--test", os.path.join(HERE, "srt.js"),
              env={"NODE_PATH": os.path.join(PLACE, "node_modules"),
                   "AWAY": t.away}, timeout=PATIENCE).ok()


@test(timeout=PATIENCE)
def the_python_binding_passes_its_tests(t):
    t.outside(PYTHON, os.path.join(HERE, "python.py"), "-v",
              env={"AWAY": t.away}, timeout=PATIENCE).ok()


@test(timeout=PATIENCE)
def a_command_cannot_replace_the_package_that_runs_it(t):
    node = PLACE + "/node_modules/cloche"
    python = glob.glob(PLACE + "/venv/lib/python*/site-packages/cloche")[0]
    script = ("for f in index.js native/cloche native/cloche.node __init__.py "
              "native/libcloche.so.0; do echo evil > $0/$f; rm -f $0/$f; done; "
              "mv $0 $0.old; mv $0/.. $0/../../old; echo x > $1/control")
    embed = {node: ["node", "-e", "const [, script, dir, place] = process.argv;"
                    "const { Sandbox } = require('cloche');"
                    "new Sandbox(null, { write: [place] }).run(['sh', '-c',"
                    " script, dir, place]).then((r) => console.log(r.status))"],
             python: [PYTHON, "-c", "import cloche, sys\n"
                      "script, dir, place = sys.argv[1:]\n"
                      "r = cloche.Sandbox(write=[place]).run(['sh', '-c', "
                      "script, dir, place])\nprint(r.status)\n"]}
    for package, program in embed.items():
        before = tree(package)
        t.outside(*program, script, package, PLACE,
                  env={"NODE_PATH": PLACE + "/node_modules"}).ok()
        equal(tree(package), before, package)
        os.unlink(PLACE + "/control")


@test(timeout=PATIENCE)
def the_source_archive_uses_the_installed_library(t):
    archive = glob.glob(f"{BIN}/cloche-*.tar.gz")[0]
    t.outside("tar", "xzf", archive, "--strip-components=1").ok()
    code = ("import cloche; r = cloche.Sandbox(program=%r).run('exit 3'); "
            "print(cloche.__file__, r.status)" % CLOCHE)
    r = t.outside("/usr/bin/python3", "-c", code,
                  env={"LD_LIBRARY_PATH": BIN}).ok()
    equal(r.out, f"{t.dir}/cloche/__init__.py 3\n")


try:
    need("npm")
    install()
    main()
except Skip as reason:
    print(f"1..0 # SKIP {reason}")
    sys.exit(1 if MUST_WORK else 0)
finally:
    shutil.rmtree(PLACE, ignore_errors=True)
