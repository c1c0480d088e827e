# SPDX-License-Identifier: Apache-2.0
"""tests/cli/packaging.py - the GitHub action, the image and the devcontainer feature"""

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
def all_packages_have_the_same_version(t):
    version = t.run("--version").ok().out.split()[1]
    contains(text(PACKAGING, "debian/changelog"), f"cloche ({version})")
    feature = json.loads(text(
        PACKAGING, "devcontainer/cloche/devcontainer-feature.json"))
    equal(feature["version"], version)
    equal(feature["id"], "cloche")


@test
def scripts_named_by_the_action_exist(t):
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
def the_action_runs_its_script_in_the_sandbox(t):
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
def the_devcontainer_feature_is_valid_shell(t):
    for path in ("devcontainer/cloche/install.sh",
                 "devcontainer/cloche/entry", "docker/entry"):
        t.outside("sh", "-n", os.path.join(PACKAGING, path)).ok()


@test
def example_pods_are_restricted(t):
    """What tests/peers/kubernetes runs in the long run, as far as text shows it"""
    examples = os.path.join(BIN, "examples", "kubernetes")
    pod = text(examples, "pod.yaml")
    [policy] = re.findall(r"fleet.json: \|\n((?:    .*\n)+)", pod)
    t.write("fleet.json", policy)
    t.run("policy", "check", "fleet.json").ok()
    for name in "pod.yaml", "agent-sandbox.yaml":
        manifest = text(examples, name)
        for line in ("runAsNonRoot: true", "type: RuntimeDefault", "automountServiceAccountToken: false"):
            equal(manifest.count(line), 1, name, line)
        for line in "allowPrivilegeEscalation: false", 'drop: ["ALL"]':
            equal(manifest.count(line), manifest.count("image: "), name, line)
        for word in "privileged", "hostPath", "hostNetwork", "hostPID", "Unconfined", "add:":
            lacks(manifest, word)
        [probe] = re.findall(r"startupProbe:\s+exec:\s+command: (\[.*\])", manifest)
        contains(json.loads(probe)[2], "cloche verify --quick --json")


@test
def the_slurm_example_epilog_always_exits_0(t):
    """A node whose epilog fails is drained"""
    store = os.path.join(t.away, "store")
    os.mkdir(store)
    script = text(BIN, "examples", "slurm", "epilog.sh")
    contains(script, "store=/var/spool/cloche/$SLURM_JOB_UID\n")
    t.write("epilog.sh", script.replace("/var/spool/cloche/$SLURM_JOB_UID", store))
    env = {"SLURM_JOB_UID": str(os.getuid()), "SLURM_JOB_GID": str(os.getgid()),
           "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "XDG_STATE_HOME": store}
    t.inside("true", env=env).ok()
    if not IS_ROOT:		# Without the capability the groups stay
        t.write("epilog.sh", t.read("epilog.sh").replace(" --clear-groups", " --keep-groups"))
    contains(t.outside("sh", "epilog.sh", env=env).ok().err, "cannot be reached")


def feature(t, command, asked=None, **env):
    """The feature in a file system and network of its own: what it printed"""
    etc = os.path.join(t.away, "etc")
    os.makedirs(etc + "/cloche", exist_ok=True)
    if asked is not None:
        t.write(etc + "/cloche/firewall", asked)
    # /etc is an overlay, so that nothing of the machine changes
    return t.outside("unshare", "-nm", "sh", "-c", f"""ip link set lo up
mount -t tmpfs run /run
mount -t tmpfs upper /mnt && mkdir /mnt/upper /mnt/work
mount -t overlay etc -o lowerdir={etc}:/etc,upperdir=/mnt/upper,workdir=/mnt/work /etc
{command}""", env=env)


ENTRY = os.path.join(PACKAGING, "devcontainer/cloche/entry")


@as_root
def the_devcontainer_feature_fails_without_its_firewall(t):
    need("nft")
    os.chmod(os.path.dirname(BIN), 0o755)	# Others may come in
    start = f"{ENTRY} echo started"
    r = feature(t, f"{start}; nft list tables")
    equal(r.out, "started\n", repr(r))			# None was asked for
    # Nothing answers in this network, so a verification must fail
    for asked in ("allow ghost.invalid\n", "allow a*b\n", "allow \n", "",
                  "deny x\n", "allow 192.0.2.7\n", "preset none\n", "preset npm\n"):
        r = feature(t, start, asked)
        equal((r.code, r.out), (1, ""), asked, repr(r))
        contains(r.err, "the container does not start")
    r = feature(t, f"setpriv --bounding-set=-net_admin --inh-caps=-net_admin {start}",
                "allow 192.0.2.7\n")
    equal((r.code, r.out), (1, ""), repr(r))
    r = feature(t, f"setpriv --reuid 65534 --clear-groups {start}",
                "allow 192.0.2.7\n")
    equal((r.code, r.out), (1, ""), repr(r))
    contains(r.err, "containerUser")


@as_root
def a_missing_firewall_is_reported(t):
    need("nft")
    words = "egress firewall of this container (/etc/cloche/firewall) is down"
    r = feature(t, f"""{CLOCHE} preflight; {CLOCHE} doctor
echo --; {CLOCHE} firewall up --no-verify --allow 192.0.2.7 >&2
{CLOCHE} preflight; {CLOCHE} doctor""", "allow 192.0.2.7\n")
    down, up = r.out.split("--\n")
    contains(down, words)
    contains(down, "asks for one, and it is down")
    lacks(up, words)
    lacks(up, "asks for one")


@as_root
def the_devcontainer_feature_checks_its_options(t):
    install = os.path.join(PACKAGING, "devcontainer/cloche/install.sh")
    # Where nothing is wrong it goes on to the packages, and not further here
    t.write(t.away + "/bin/apt-get", "#!/bin/sh\nexit 9\n", mode=0o755)
    install = f"PATH={t.away}/bin:$PATH {install}"
    r = feature(t, install, ALLOW="a.example 192.0.2.0/24", PRESET="npm")
    equal(r.code, 9, repr(r))
    for bad in ("a.example *.example.org", "x;y", "a.example $(id)", "\u00e4.example"):
        r = feature(t, install, ALLOW=bad)
        equal(r.code, 1, repr(r))
        contains(r.err, "is not a host, an address or a network")
    for bad in ("npn", "npm *", "npm;id"):
        r = feature(t, install, PRESET=bad)
        equal(r.code, 1, repr(r))
        contains(r.err, "is not one of anthropic, npm, github, debian")


@as_root    # It changes its user
def the_image_entry_point_raises_the_firewall_and_drops_privileges(t):
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
