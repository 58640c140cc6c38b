#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a process costs that a rule takes out, beside one that is collected.

  rules_cost.py [--shipped] [--rounds N] [--rate N] [--seconds N]

A storm of short processes under skepd (probe proc, file sink; --shipped: the probes of etc/skepd.conf
and the lake, as it is installed), once for each way, the ways one after
another in every round; the median of each is printed, in microseconds of CPU a process: what the BPF
programs took (kernel.bpf_stats_enabled, whose own 48 ns a run are in it) and what skepd took in user
space and in the kernel.  What skepd takes without a storm is measured in each round and taken off.

  collected     no rules
  kept          rules that take out others, and keep this one
  by argument   excluded by what only user space can judge: its arguments
  excluded      by its name, in the kernel
  tree          excluded with what started it, by inheritance

Environment: SKEPD, SKEP_PLUGIN_DIRS, EXACT_BIN (a build tree's tests/exact).  Needs root.
"""
import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

WAYS = {
    "collected": None,
    "kept": [("a", "tool = 'nobody'", False), ("b", "uid = 4711 or comm prefix 'zz'", False)],
    "by argument": [("a", "argv = '--three=3'", False)],
    "excluded": [("a", "comm = 'tiny'", False)],
    "tree": [("a", "comm = 'storm'", True)],
}
SHIPPED = ["identity", "host", "proc", "cgroup", "sched", "net", "io", "files"]


def cpu_us(pid):
    """Of all its threads, by the scheduler's own clock: ticks of 10 ms are coarse for some microseconds a process."""
    return sum(int(open(t).read().split()[0]) for t in glob.glob("/proc/%d/task/*/schedstat" % pid)) / 1e3


def programs():
    """BPF programs by id, and the ns that each has run."""
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=True).stdout
    return {p["id"]: p.get("run_time_ns", 0) for p in json.loads(shown)}


def measure(rules, args, work, storm=True):
    exact = os.environ["EXACT_BIN"]
    folder = os.path.join(work, "rules")
    for old in folder, os.path.join(work, "lake"):
        shutil.rmtree(old, ignore_errors=True)
    os.mkdir(folder)
    if rules:
        json.dump({"rules": [{"id": i, "when": w, "verdict": "exclude", "inherit": t} for i, w, t in rules]}, open(folder + "/r.json", "w"))
    conf = os.path.join(work, "conf")
    probes, sink, interval, rest = ["proc"], {"plugin": "file", "path": os.path.join(work, "out")}, "60s", 0.5
    if args.shipped: # the lake writes later: wait for it
        probes, sink, interval, rest = SHIPPED, {"plugin": "lake", "path": os.path.join(work, "lake")}, "5s", 5
    json.dump({"interval": interval, "control": {"socket": False}, "probes": [{"plugin": p} for p in probes],
               "sinks": [sink], "filters": {"dirs": [folder]}}, open(conf, "w"))
    others = programs()
    daemon = subprocess.Popen([os.environ.get("SKEPD", "skepd"), "-q", "-c", conf], stdout=subprocess.DEVNULL)
    try:
        time.sleep(1.5)
        before = cpu_us(daemon.pid), programs()
        ours = before[1].keys() - others.keys()
        if storm:
            out = subprocess.run([exact + "/storm", exact + "/tiny", str(args.rate), str(args.seconds)], capture_output=True, text=True, check=True)
        else:
            time.sleep(args.seconds)
        time.sleep(rest)
        after = cpu_us(daemon.pid), programs()
    finally:
        daemon.terminate()
        daemon.wait()
    n = json.loads(out.stdout)["processes"] if storm else 1
    return sum(after[1].get(i, 0) - before[1][i] for i in ours) / 1e3, after[0] - before[0], n


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shipped", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate", type=int, default=1500)
    parser.add_argument("--seconds", type=int, default=4)
    args = parser.parse_args()
    stats = "/proc/sys/kernel/bpf_stats_enabled"
    was = open(stats).read()
    open(stats, "w").write("1")
    found = {way: [] for way in WAYS}
    work = tempfile.mkdtemp(prefix="skep-bench.")
    try:
        for _ in range(args.rounds):
            idle = measure(None, args, work, storm=False)
            for way, rules in WAYS.items():
                bpf, daemon, n = measure(rules, args, work)
                found[way].append(((bpf - idle[0]) / n, (daemon - idle[1]) / n))
    finally:
        open(stats, "w").write(was)
        shutil.rmtree(work)
    whole = statistics.median(b + d for b, d in found["collected"])
    print("%-12s %10s %10s %10s %10s" % ("", "BPF us", "skepd us", "both us", "of it"))
    for way, results in found.items():
        both = statistics.median(b + d for b, d in results)
        print("%-12s %10.2f %10.2f %10.2f %10.2f" % (way, statistics.median(b for b, _ in results), statistics.median(d for _, d in results), both, both / whole))


main()
