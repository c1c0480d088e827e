# SPDX-License-Identifier: Apache-2.0
"""tests/peers/slurm.py - examples/slurm: jobs in sandboxes, cancelled, counted

tests/peers/slurm makes the namespaces in which the daemons run, with fixed ports.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from collector import Collector
from tap import *

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(CLOCHE)), "slurm")
JOBS, HALF = 64, 32
USER, UID = "agent", 12345
PORT = 4318		# The default of OTLP: an epilog has no environment of ours

CONFIG = """ClusterName=test
SlurmctldHost=node(192.0.2.1)
SlurmUser=root
AuthInfo=socket={dir}/munge/socket
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
Prolog={examples}/prolog.sh
TaskProlog={examples}/task-prolog.sh
Epilog={examples}/epilog.sh
NodeName=node NodeAddr=192.0.2.1 CPUs={jobs}
PartitionName=all Nodes=node Default=YES MaxTime=INFINITE State=UP
"""
# Half of the jobs end by themselves; the others leave a process of another session behind.
# Slurm signals every process that it finds: a shell that waits would end with 0 if the
# process it waits for were the first.
TASK = f"""echo x > /usr/x
setsid sleep 100000 &
echo ready $SLURM_ARRAY_TASK_ID $PPID
[ $SLURM_ARRAY_TASK_ID -lt {HALF} ] || exec sleep 100000
"""


class Cluster:
    """munged, slurmctld and slurmd, and a user of the cluster"""

    def __init__(self, t):
        self.t, self.dir = t, os.path.join(t.away, "slurm")
        os.chmod(t.root, 0o755)
        for name in "munge", "state", "spool":
            os.makedirs(os.path.join(self.dir, name))
        t.write(self.dir + "/munge/key", os.urandom(128), 0o600)
        t.write(self.dir + "/slurm.conf", CONFIG.format(dir=self.dir, examples=EXAMPLES, jobs=JOBS))
        self.home = os.path.join(self.dir, "home")
        t.write(self.dir + "/passwd", t.read("/etc/passwd") + f"{USER}:x:{UID}:{UID}::{self.home}:/bin/sh\n")
        subprocess.run(["mount", "--bind", self.dir + "/passwd", "/etc/passwd"], check=True)
        self.project = os.path.join(self.home, "project")
        os.makedirs(self.project)
        for path in self.home, self.project:
            os.chown(path, UID, UID)
        self.env = {"SLURM_CONF": self.dir + "/slurm.conf"}
        self.daemons = []

    def start(self, *argv):
        log = open(os.path.join(self.dir, argv[0] + ".log"), "w")
        self.daemons.append(subprocess.Popen(argv, env={**os.environ, **self.env}, stdout=log,
                                             stderr=log, stdin=subprocess.DEVNULL))

    def __enter__(self):
        munge = self.dir + "/munge/"
        self.start("munged", "--foreground", "--force", "--key-file", munge + "key", "--socket",
                   munge + "socket", "--pid-file", munge + "pid", "--log-file", munge + "log",
                   "--seed-file", munge + "seed")
        wait_until(lambda: os.path.exists(munge + "socket"), "munged")
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D", "-N", "node")
        wait_until(lambda: "idle" in self("sinfo", "-h", "-o", "%T").out, "the node")
        return self

    def __exit__(self, failure, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait()
        if failure:
            for name in "slurmctld", "slurmd":
                print("#", self.t.read(f"{self.dir}/{name}.log")[-2000:].replace("\n", "\n# "))
        subprocess.run(["umount", "/etc/passwd"], check=True)

    def __call__(self, *argv):
        """As the user of the cluster, in his project"""
        return self.t.outside("setpriv", "--reuid", UID, "--regid", UID, "--clear-groups", *argv,
                              env={**self.env, "HOME": self.home, "USER": USER, "TMPDIR": None},
                              cwd=self.project)

    def processes(self):
        """What runs as that user: sandboxes, and whatever they left"""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.stat("/proc/" + pid).st_uid == UID and \
                        "\nState:\tZ" not in self.t.read(f"/proc/{pid}/status"):
                    found.append(self.t.read(f"/proc/{pid}/cmdline").replace("\0", " "))
            except OSError:
                pass
        return found

    def ready(self):
        text = ""
        for name in os.listdir(self.project):
            text += self.t.read(os.path.join(self.project, name))
        return re.findall(r"^ready (\d+)", text, re.M)

    def is_done(self):
        return not self("squeue", "-h", "-t", "R,CG,PD").ok().out


@test
def an_array_is_cancelled_and_every_run_is_counted(t):
    with Cluster(t) as cluster, Collector(t, port=PORT) as collector:
        cluster("sbatch", EXAMPLES + "/array.sh", "sh", "-c", TASK).ok()
        wait_until(lambda: len(cluster.ready()) == JOBS, "the start of all jobs")
        # Half of the jobs have ended, with what they left; the others run
        wait_until(lambda: sorted(cluster("squeue", "-h", "-r", "-t", "R", "-o", "%K").out.split()) ==
                   sorted(map(str, range(HALF, JOBS))), "the end of half of the jobs")
        running = cluster.processes()
        check(sum("cloche run" in line for line in running) >= HALF, running)
        check(sum(line.startswith("sleep") for line in running) >= HALF, running)
        cluster("scancel", "--name", "cloche").ok()
        wait_until(cluster.is_done, "the end of the jobs")
        equal(cluster.processes(), [], "processes of the user")
        wait_until(lambda: sum(v.get("cloche.record") == "run" for v in collector.records()[0].values())
                   == JOBS, "the records")
        found, count = collector.records()
        ends = [v for v in found.values() if v.get("cloche.record") == "run"]
        equal(len({v["cloche.run"] for v in ends}), JOBS)
        equal(sorted(int(v["cloche.status"]) for v in ends), [0] * HALF + [143] * (JOBS - HALF))
        refused = {v["cloche.run"] for v in found.values() if v.get("cloche.target") == "/usr/x"}
        equal(refused, {v["cloche.run"] for v in ends})
        note(len(found), "records,", count - len(found), "twice; tiers",
             {v["cloche.tier"] for v in ends})


@test
def scancel_ends_a_step_with_its_signal(t):
    with Cluster(t) as cluster:
        with Started(["setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups", "srun",
                      "--job-name", "one", "cloche", "run", "--quiet", "--", "sh", "-c", "echo ready; sleep 100000"],
                     env={**os.environ, **cluster.env, "HOME": cluster.home}, cwd=cluster.project,
                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            equal(p.stdout.readline(), b"ready\n")
            cluster("scancel", "--name", "one").ok()
            p.communicate()
            equal(p.returncode, 143)
        wait_until(cluster.is_done, "the end of the job")
        equal(cluster.processes(), [], "processes of the user")


main()
