# SPDX-License-Identifier: Apache-2.0
"""tests/cli/packaging.py - the action, the image's entry point, the feature"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

BIN = os.path.dirname(os.path.abspath(CLOCHE))
PACKAGING = os.path.join(BIN, "packaging")
os.environ["PATH"] = BIN + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:" \
    "/usr/bin:/sbin:/bin"


def text(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


@test
def all_say_the_same_version(t):
    version = t.run("--version").ok().out.split()[1]
    contains(text(PACKAGING, "debian/changelog"), f"cloche ({version})")
    feature = json.loads(text(
        PACKAGING, "devcontainer/cloche/devcontainer-feature.json"))
    equal(feature["version"], version)
    equal(feature["id"], "cloche")


@test
def the_action_names_scripts_that_are_there(t):
    action = text(BIN, "action.yml")
    named = re.findall(r'\$SOURCE/([^"]+)"', action)
    equal(sorted(named), ["packaging/action/install", "packaging/action/run"])
    for path in named:
        check(os.access(os.path.join(BIN, path), os.X_OK), path)
    # What a workflow gives never becomes part of a script
    for line in action.splitlines():
        if line.strip().startswith("run:") and "${{" in line:
            raise AssertionError(line)


@test
def the_action_runs_its_script_inside(t):
    away = os.path.join(t.away, "granted")
    os.mkdir(away)
    env = {"CLOCHE_SCRIPT": f"echo $GITHUB_TOKEN$A; touch here {away}/file; "
           "touch ../planted || exit 3", "GITHUB_TOKEN": "secret", "A": "b;c *",
           "CLOCHE_WRITE": away, "CLOCHE_OPTIONS": "--env A --quiet",
           "CLOCHE_ALLOW": "example.com *.example.org"}
    r = t.outside(os.path.join(PACKAGING, "action/run"), env=env).ended(3)
    equal(r.out, "b;c *\n")
    check(t.exists("here") and os.path.exists(away + "/file"))
    check(not t.exists("../planted"))
    t.outside(os.path.join(PACKAGING, "action/run"), env={
        **env, "CLOCHE_SCRIPT": "true", "CLOCHE_ALLOW": "a b/c"}).ended(125)


@test
def the_feature_is_a_script_that_a_shell_reads(t):
    for path in ("devcontainer/cloche/install.sh", "docker/entry"):
        t.outside("sh", "-n", os.path.join(PACKAGING, path)).ok()


@as_root    # It becomes somebody else
def the_entry_closes_the_network_and_gives_all_away(t):
    need("nft")
    for path in (os.path.dirname(BIN), t.root):		# Others may come in
        os.chmod(path, 0o755)
    os.chown(t.dir, 65534, 65534)
    # Its own network, whose rules are looked at afterwards
    r = t.outside("unshare", "-nm", "sh", "-c", f"""ip link set lo up
mount -t tmpfs run /run
{PACKAGING}/docker/entry sh -c 'id -u; grep CapBnd /proc/self/status'
echo $?; nft list table inet cloche; cat /run/cloche/firewall >&2
cloche firewall down >&2
CLOCHE_FIREWALL_OPTIONS= {PACKAGING}/docker/entry sh -c 'echo never'; echo $?
cloche firewall down >&2""", env={
        "CLOCHE_ALLOW": "192.0.2.7 198.51.100.0/24", "CLOCHE_USER": "nobody",
        "CLOCHE_FIREWALL_OPTIONS": "--no-verify", "CLOCHE_OPTIONS": "--quiet"})
    lines = r.out.splitlines()
    nobody = t.outside("id", "-u", "nobody").ok().out.strip()
    equal(lines[0], nobody, repr(r))
    equal(lines[1].split()[1], "0" * 16)
    equal(lines[2], "0")
    contains(r.out, "198.51.100.0/24")
    contains(r.out, "policy drop")
    lacks(r.out, "never")
    equal(lines[-1], "1")


main()
