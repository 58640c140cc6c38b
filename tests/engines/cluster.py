# SPDX-License-Identifier: Apache-2.0
"""cluster.py DIR COMMAND...: executes the command beside a Slurm of this host, whose files are in DIR."""
import atexit
import os
import socket
import subprocess
import sys
import threading
import time

from testing import PATIENCE, text


class Cluster:
    """A Slurm of one node on this host: munged, slurmctld and slurmd as root, ports and files of their own. linuxproc tracks
    processes without cgroups, and leaves a job's daemons alive."""

    lock, one = threading.Lock(), None

    @classmethod
    def get(cls, w):
        with cls.lock:
            cls.one = cls.one or cls(w)
            return cls.one

    def __init__(self, w):
        node = socket.gethostname().split(".")[0]
        self.w = w
        with socket.socket() as a, socket.socket() as b:
            a.bind(("127.0.0.1", 0))
            b.bind(("127.0.0.1", 0))
            ports = a.getsockname()[1], b.getsockname()[1]
        for folder in "state", "spool":
            os.makedirs(os.path.join(w, folder))
        # cred_expire: Slurm starts a requeued job that much later.
        conf = """ClusterName=skep
SlurmctldHost={node}(127.0.0.1)
SlurmUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthInfo=socket={w}/munge.sock,cred_expire=5
StateSaveLocation={w}/state
SlurmdSpoolDir={w}/spool
SlurmctldPidFile={w}/slurmctld.pid
SlurmdPidFile={w}/slurmd.pid
SlurmctldLogFile={w}/slurmctld.log
SlurmdLogFile={w}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MailProg=/bin/true
JobCompType=jobcomp/filetxt
JobCompLoc={w}/jobcomp
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=1
SlurmdParameters=config_overrides
NodeName={node} NodeAddr=127.0.0.1 CPUs=64 RealMemory=4000
PartitionName=all Nodes=ALL Default=YES State=UP
""".format(w=w, node=node, ports=ports)
        with open(w + "/slurm.conf", "w") as f:
            f.write(conf)
        os.environ["SLURM_CONF"] = w + "/slurm.conf"
        with open(w + "/munge.key", "wb") as f:
            f.write(os.urandom(128))
        os.chmod(w + "/munge.key", 0o600)
        self.daemons = []
        for command in (["munged", "--force", "-F", *("--%s=%s/munge.%s" % (k, w, v) for k, v in (
                             ("socket", "sock"), ("key-file", "key"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed")))],
                        ["slurmctld", "-D", "-i"], ["slurmd", "-D"]):
            with open("%s/%s.out" % (w, command[0]), "w") as out:
                self.daemons.append(subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL))
            if command[0] == "munged":
                self.until(lambda: os.path.exists(w + "/munge.sock"), "munged's socket")
        atexit.register(self.stop)
        self.until(lambda: b"idle" in subprocess.run(["sinfo", "-h"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout,
                   "an idle node")

    def until(self, done, what, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not done():
            if time.monotonic() > end:
                raise RuntimeError("the Slurm of this test: no %s; %s" % (what, text(self.w + "/slurmctld.out")[-2000:]))
            time.sleep(0.1)

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()

    def completions(self):
        """A dictionary for each job's end, from jobcomp."""
        return [dict(word.split("=", 1) for word in line.split() if "=" in word)
                for line in text(self.w + "/jobcomp").splitlines()]


if __name__ == "__main__":
    Cluster.get(sys.argv[1])
    sys.exit(subprocess.run(sys.argv[2:]).returncode)
