#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/environ.py - what the probe proc's search of environments costs an exec.

  environ.py [--rounds N] [--execs N] [--entries 0,30,40,100,400] [--before BUILD]

Environment: SKEPD, SKEP_PLUGIN_DIRS.  Root.  Several skepds run at once; the order in which the kernel calls them
changes with each round.  Execs have environments of so many variables (about 60 bytes each); "slurm" is a job's of 60
variables, of which 15 are found at a boundary.  Prints the run time of the kernel side's program for exec, by bpf_stats
(which adds some 50 ns a run to all), as medians over the rounds.  Columns:

  before   the skepd of another build folder, without names, at an exec that is no boundary
  0        this one, likewise: the difference is what every exec pays for the question whether it is a boundary
  8        the option environ with 8 names, at an exec that is no boundary
  64       the built-in names and the option's up to 64, at a boundary (a child of make)
"""
import argparse
import ctypes
import glob
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

STATS = "/proc/sys/kernel/bpf_stats_enabled"


def programs():
    out = subprocess.run(["bpftool", "-j", "prog", "list"], capture_output=True, text=True).stdout
    return {p["id"]: p for p in json.loads(out or "[]") if p.get("name") == "on_exec"}


def programs_of(pid):
    """The skepd with these file descriptors: others may run here as well."""
    found = set()
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        try:
            found |= {int(line.split()[1]) for line in open(path) if line.startswith("prog_id:")}
        except OSError:
            pass
    return found


def start(work, kind, names, build):
    """A skepd with that option; its program's id."""
    conf = "%s/%s.conf" % (work, kind)
    with open(conf, "w") as f:
        json.dump({"probes": [{"plugin": "proc", "required": True, "environ": names}], "control": {"socket": "%s/%s" % (work, kind)},
                   "sinks": [{"plugin": "file", "path": "/dev/null"}], "interval": "60s"}, f)
    env = dict(os.environ)
    if build:
        env.update(SKEPD=build + "/skepd", SKEP_PLUGIN_DIRS=build + "/plugins-run")
    daemon = subprocess.Popen([env["SKEPD"], "-c", conf, "-q", "-q"], stdin=subprocess.DEVNULL, env=env)
    for _ in range(200):
        ours = programs_of(daemon.pid) & set(programs())
        if ours:
            time.sleep(0.3)
            return daemon, ours.pop()
        time.sleep(0.1)
    daemon.kill()
    sys.exit("skepd has not come up")


def environment(n):
    if n != "slurm":
        return {"VARIABLE_%d" % i: "/usr/share/some/path/%024d" % i for i in range(int(n))}
    found = ["JOB_ID", "JOB_NAME", "CPUS_PER_TASK", "NTASKS", "MEM_PER_NODE", "PROCID", "CLUSTER_NAME", "STEP_ID", "ARRAY_JOB_ID",
             "ARRAY_TASK_ID", "RESTART_COUNT", "MEM_PER_CPU"]
    env = {"SLURM_" + name: "4711" for name in found}
    env.update({"SLURM_JOB_PART_%d" % i: "/usr/share/some/path/%024d" % i for i in range(45)})
    env.update(MAKELEVEL="1", OMP_NUM_THREADS="4", INVOCATION_ID="0f" * 16)
    return env


def call_me(name):
    """The kernel's name of this process, the parent of all execs."""
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME


def measure(work, kinds, entries, execs):
    """All at once, so that other activity of the machine meets all: {kind: {entries: ns}}."""
    daemons = {}
    try:
        for kind, (names, _, build) in kinds:
            daemons[kind] = start(work, kind, names, build)
        got = {kind: {} for kind in daemons}
        for n in entries:
            env = environment(n)
            for parent in sorted({parent for _, (_, parent, _) in kinds}):
                call_me(parent)
                first = programs()
                for _ in range(execs):
                    os.posix_spawn("/bin/true", ["true"], env)
                    os.wait()
                last = programs()
                for kind, (_, its, _) in kinds:
                    i = daemons[kind][1]
                    if its == parent:
                        got[kind][n] = ((last[i]["run_time_ns"] - first[i].get("run_time_ns", 0)) /
                                        (last[i]["run_cnt"] - first[i].get("run_cnt", 0)))
        return got
    finally:
        for daemon, _ in daemons.values():
            daemon.send_signal(signal.SIGTERM)
        for daemon, _ in daemons.values():
            daemon.wait()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=6)
    ap.add_argument("--execs", type=int, default=600)
    ap.add_argument("--entries", default="0,30,40,100,400,slurm")
    ap.add_argument("--before", help="the folder of another build")
    a = ap.parse_args()
    entries = a.entries.split(",")
    stats = open(STATS).read()
    kinds = {"0": ([], "bench", None), "8": (["NAME_%d" % i for i in range(8)], "bench", None),
             "64": (["NAME_%d" % i for i in range(5)], "make", None)}
    if a.before:
        kinds = {"before": ([], "bench", a.before), **kinds}
    got = {k: {n: [] for n in entries} for k in kinds}
    try:
        with open(STATS, "w") as f:
            f.write("1")
        with tempfile.TemporaryDirectory() as work:
            for r in range(a.rounds):
                order = list(kinds.items())
                order = order[r % len(order):] + order[:r % len(order)]
                for kind, by_n in measure(work, order, entries, a.execs).items():
                    for n, ns in by_n.items():
                        got[kind][n].append(ns)
    finally:
        with open(STATS, "w") as f:
            f.write(stats)
    print("%9s" % "variables" + "".join("%10s" % k for k in kinds) + "  ns")
    for n in entries:
        print("%9s" % n + "".join("%10.0f" % statistics.median(got[k][n]) for k in kinds))


main()
