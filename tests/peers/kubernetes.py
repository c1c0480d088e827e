# SPDX-License-Identifier: Apache-2.0
"""tests/peers/kubernetes.py - examples/kubernetes under podman, as root and rootless

podman has no kubelet: the test replaces ..data of the ConfigMap's volume, and runs the
command of the startup probe.
"""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

BIN = os.path.dirname(os.path.abspath(CLOCHE))
EXAMPLES = os.path.join(BIN, "kubernetes")
IMAGE = "registry.example.org/cloche:latest"
PORT = 8080		# In the pod's own network

ENGINE = """[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
infra_image = "%s"
[containers]
default_ulimits = ["nofile=1000:1000", "nproc=1000:1000"]
""" % IMAGE


class Engine:
    """podman, with everything that it keeps in one directory"""

    def __init__(self, t):
        self.t, self.dir = t, os.path.join(t.away, "podman")
        t.write(self.dir + "/containers.conf", ENGINE)
        t.write(self.dir + "/storage.conf", f'[storage]\ndriver = "overlay"\n'
                f'runroot = "{self.dir}/run"\ngraphroot = "{self.dir}/graph"\n'
                f'rootless_storage_path = "{self.dir}/graph"\n')
        os.mkdir(self.dir + "/runtime", 0o700)
        self.env = {"CONTAINERS_CONF": self.dir + "/containers.conf",
                    "CONTAINERS_STORAGE_CONF": self.dir + "/storage.conf",
                    "XDG_RUNTIME_DIR": self.dir + "/runtime"}

    def load(self):
        name = "image-root.tar" if IS_ROOT else "image-user.tar"
        self("import", "--quiet", "--change", 'CMD ["/usr/bin/sleep", "infinity"]',
             "--change", "ENV PATH=/usr/sbin:/usr/bin:/sbin:/bin", os.path.join(BIN, name), IMAGE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Files of a user's containers have other owners, and a process waits for the next"""
        self("pod", "rm", "--all", "--force", "--time", "0")
        self("system", "reset", "--force")

    def __call__(self, *argv, **more):
        return self.t.outside("podman", *argv, env=self.env, **more).ok().out

    def start(self, *argv):
        return Started(["env", *(f"{k}={v}" for k, v in self.env.items()), "podman", *argv],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, cwd=self.t.dir)

    def change(self, script):
        """Run a shell script on files of volumes, whatever their owner"""
        if IS_ROOT:
            self.t.outside("sh", "-euc", script).ok()
        else:
            self("unshare", "sh", "-euc", script)

    def records(self):
        """What the second container has printed"""
        return [json.loads(line) for line in self("logs", "agent-records").splitlines()
                if line.startswith("{")]


def text(name):
    with open(os.path.join(EXAMPLES, name)) as file:
        return file.read()


def check_probe(engine, name):
    """Run the command of the start-up probe, and see what it goes by"""
    [command] = re.findall(r"startupProbe:\s+exec:\s+command: (\[.*\])", text(name))
    report = json.loads(engine("exec", "agent-command", *json.loads(command)))
    note("verify:", report["summary"], report["ms"], "ms")
    # Status 3: what the tier does not promise, and what the pod's own filter stops already
    for row in report["probes"]:
        if row["verdict"] == "INCONCLUSIVE":
            note(row["id"], row["title"], row["why"])
            check(row["why"].startswith(("tier landlock does not promise it: ",
                                         "the same attempt fails outside as well: ")), row)
    check(report["summary"]["pass"] > 100, report["summary"])
    equal(report["summary"]["fail"], 0)
    # The control: a probe does fail
    engine.t.outside("podman", "exec", "agent-command", "/bin/sh", "-c",
                     json.loads(command)[2].replace("--quick", "--wrong"), env=engine.env).ended(1)


def play(engine, manifest):
    path = os.path.join(engine.t.away, "manifest.yaml")
    engine.t.write(path, manifest)
    engine.load()
    engine("play", "kube", "--network", "none", path)


def publish(engine, volume, generation, policy):
    """As the kubelet does it: a directory, a link to it, a rename of the link"""
    engine.change(f"""cd {volume}
        mkdir ..{generation}
        cat > ..{generation}/fleet.json <<'END'
{json.dumps(policy)}
END
        ln -s ..{generation} ..data_tmp
        mv -T ..data_tmp ..data
        [ -L fleet.json ] || {{ ln -s ..data/fleet.json link; mv -T link fleet.json; }}""")


def check_restricted(engine, container):
    """As the manifest asks, and as the kernel has it"""
    state = dict(re.findall(r"^(\w+):\s*(.*)$", engine(
        "exec", container, "/bin/cat", "/proc/1/status"), re.M))
    for name in "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb":
        equal(int(state[name], 16), 0, container, name)
    equal((state["NoNewPrivs"], state["Seccomp"]), ("1", "2"), container)
    equal(state["Uid"].split(), ["1000"] * 4, container)


@test
def a_restricted_pod_runs_its_command_in_the_sandbox(t):
    with Engine(t) as engine:
        play(engine, text("pod.yaml"))
        for container in "agent-command", "agent-records":
            check_restricted(engine, container)
        # What the pod's own command was refused is in the records
        refused = wait_until(lambda: [r for r in engine.records() if "kind" in r["unmapped"]],
                             "the refusal")
        equal(refused[0]["dst_endpoint"], {"hostname": "elsewhere.example.org", "port": 443})
        [start] = [r for r in engine.records() if r["unmapped"].get("record") == "start"]
        equal(start["metadata"]["correlation_uid"], refused[0]["metadata"]["correlation_uid"])
        tier = start["unmapped"]["tier"]
        note("tier", tier)
        doctor = t.outside("podman", "exec", "agent-command", "cloche", "doctor", "--json",
                           env=engine.env).ended(0 if tier == "full" else 1)
        equal(json.loads(doctor.out)["tier"], tier)
        digest = engine("exec", "agent-command", "cloche", "policy", "show", "--digest")
        equal(digest.strip(), start["unmapped"]["policy"])
        check_probe(engine, "pod.yaml")


@test
def a_config_map_change_applies_at_once(t):
    policy = {"network": {"strictAllowlist": True, "allowedDomains": []}}
    with Engine(t) as engine:
        play(engine, text("pod.yaml"))
        volume = engine("volume", "inspect", "--format", "{{.Mountpoint}}", "cloche-policy").strip()
        publish(engine, volume, 1, policy)
        engine("exec", "--detach", "agent-records", "/usr/bin/python3", "-m", "http.server",
               "--bind", "127.0.0.1", str(PORT))
        engine("exec", "agent-command", "/bin/sh", "-c",
               f"until curl -s -o /dev/null http://127.0.0.1:{PORT}/; do sleep 0.1; done")
        ask = f"curl -s --noproxy none -o /dev/null -w '%{{http_code}}\\n' http://127.0.0.1:{PORT}/"
        with engine.start("exec", "agent-command", "/usr/bin/cloche", "run", "--quiet", "--", "sh", "-c",
                          f"{ask}; until [ $({ask}) = 200 ]; do sleep 0.1; done; echo reached") as p:
            equal(p.stdout.readline(), b"403\n")
            policy["network"]["allowedDomains"] = [f"127.0.0.1:{PORT}"]
            publish(engine, volume, 2, policy)
            equal(p.stdout.readline(), b"reached\n")


@test
def the_agent_sandbox_template_is_a_restricted_pod(t):
    config = text("pod.yaml").split("---\n")[0]
    _, pod = text("agent-sandbox.yaml").split("  podTemplate:\n")
    pod = "apiVersion: v1\nkind: Pod\n" + re.sub("^    ", "", pod, flags=re.M) \
        .replace("metadata:\n", "metadata:\n  name: agent\n", 1)
    with Engine(t) as engine:
        play(engine, config + "---\n" + pod)
        for container in "agent-command", "agent-records":
            check_restricted(engine, container)
        equal(engine("exec", "agent-command", "cloche", "run", "--quiet", "--", "sh", "-c",
                     "echo kept > file; cat file; cloche status || true").splitlines()[0], "kept")
        r = t.outside("podman", "exec", "agent-command", "cloche", "run", "--", "touch", "/state/x",
                      env=engine.env)
        contains(r.err, "/state/x")
        wait_until(lambda: [r for r in engine.records() if "kind" in r["unmapped"]], "the refusal")
        check_probe(engine, "agent-sandbox.yaml")
        # Both end when they are asked to, as process 1 as well
        engine("stop", "--time", str(RUN_SECONDS), "agent-command", "agent-records")
        equal(engine("inspect", "--format", "{{.State.ExitCode}}", "agent-command", "agent-records").split(),
              ["143", "0"])


main()
