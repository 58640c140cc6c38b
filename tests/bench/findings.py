#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""findings.py [--rounds N] [--seconds S] [--often]: what skepd's own search for findings costs.

Runs two skepd beside each other on the same events, one with findings and one without, alternating which starts first,
and prints the CPU time of each (all threads, to the nanosecond, from schedstat) and the median of the differences, in
percent of a core.  --often: looks every second instead of every 15 s, to see a cost that is otherwise noise.
Environment: SKEPD, SKEP_PLUGIN_DIRS.  As root.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

OFF = {"stall": "0s", "leftover_process": "0s", "orphan_container": "0s", "gpu_held_idle": "0s", "oom_kill": False}
OFTEN = {"stall": "20s", "leftover_process": "20s", "orphan_container": "20s", "gpu_held_idle": "20s"}


def cpu_ns(pid):
    return sum(int(open(f).read().split()[0]) for f in glob.glob(f"/proc/{pid}/task/*/schedstat"))


def start(work, name, findings, interval):
    conf = os.path.join(work, name + ".conf")
    with open(conf, "w") as f:
        json.dump({"interval": interval, "control": {"socket": False}, "findings": findings,
                   "spool": {"path": os.path.join(work, name + ".spool")},
                   "probes": [{"plugin": p} for p in ("proc", "sched", "net", "io", "gpu")],
                   "sinks": [{"plugin": "file", "path": os.path.join(work, name + ".json")}]}, f)
    log = open(os.path.join(work, name + ".log"), "a")
    return subprocess.Popen([os.environ["SKEPD"], "-q", "-c", conf], stderr=log, stdout=subprocess.DEVNULL)


def one(work, i, seconds, often):
    interval = "1s" if often else "5s"
    kinds = [("with", OFTEN if often else {}), ("without", OFF)]
    daemons = {name: start(work, name, findings, interval) for name, findings in (kinds if i % 2 else kinds[::-1])}
    try:
        time.sleep(15)  # they have read the processes that are there
        before = {n: cpu_ns(d.pid) for n, d in daemons.items()}
        began = time.monotonic()
        time.sleep(seconds)
        after = {n: cpu_ns(d.pid) for n, d in daemons.items()}
        wall = time.monotonic() - began
    finally:
        for d in daemons.values():
            d.terminate()
        for d in daemons.values():
            d.wait(60)
    return {n: 100 * (after[n] - before[n]) / 1e9 / wall for n in daemons}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=int, default=60)
    p.add_argument("--often", action="store_true")
    a = p.parse_args()
    if os.geteuid() != 0:
        sys.exit("findings.py needs root")
    rounds = []
    with tempfile.TemporaryDirectory(prefix="skep-findings-") as work:
        for i in range(a.rounds):
            rounds.append(one(work, i, a.seconds, a.often))
            r = rounds[-1]
            processes = len(glob.glob("/proc/[0-9]*"))
            print(f"round {i + 1}: with {r['with']:.3f} %, without {r['without']:.3f} % of a core, "
                  f"{r['with'] - r['without']:+.3f}; load {os.getloadavg()[0]:.1f}, {processes} processes", flush=True)
        found = sum(line.count('"stream":"finding"') for line in open(os.path.join(work, "with.json"), errors="replace"))
    differences = [r["with"] - r["without"] for r in rounds]
    print(f"median difference {statistics.median(differences):+.3f} % of a core "
          f"({min(differences):+.3f} to {max(differences):+.3f}), {found} records of findings")


main()
