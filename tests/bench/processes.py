#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/processes.py - what a fork, exec and exit costs, by configuration and beside peers.

  processes.py [--rounds N] [--rate N] [--seconds N] [--before BUILD]

Each round runs a storm of short processes under every way in turn, at --rate a second and then as fast as it can.
Printed are medians over the rounds:

  user space   CPU of the tool's own processes, in us a process, until they have nothing left to do about it. What the
               tool takes in as many seconds without a storm is taken off
  BPF          run time of the tool's programs, in us a process, from one more round with bpf_stats on, whose own 48 ns
               a run are taken off
  full speed   processes a second as fast as it can, of those with no tool in the same round
  spread       of user space: largest minus smallest round

proc + lake: skepd with these two, no spool.  default: the probes of etc/skepd.conf, spool, pins and lake.
--before: another build tree, whose skepd runs in the same rounds.

Environment: SKEPD, SKEP, SKEP_PLUGIN_DIRS, EXACT_BIN (storm, tiny). Root; mounts a BPF file system for the pins.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

import cost

DEFAULT = [{"plugin": p} for p in ("identity", "host", "proc", "cgroup", "sched", "net", "io", "files", "gpu")]
EXACT = os.environ["EXACT_BIN"]


def ways(before):
    spool, pins = os.path.join(cost.WORK, "spool.db"), os.path.join(cost.WORK, "bpf/skep")
    default = {"probes": DEFAULT, "more": {"spool": {"path": spool}, "pin_dir": pins}}
    found = {"none": {}, "proc + lake": {"probes": [{"plugin": "proc"}]}, "default": default}
    if before:
        found |= {f"{name}, before": dict(found[name], build=before) for name in ("proc + lake", "default")}
    found |= {name: {} for name in ("execsnoop", "bpftrace") if shutil.which(name)}
    return found


def storm(rate, seconds):
    out = subprocess.run([f"{EXACT}/storm", f"{EXACT}/tiny", str(rate), str(seconds)], capture_output=True, check=True)
    return json.loads(out.stdout)


def started(name, way):
    for left in ("spool.db", "spool.db-wal", "spool.db-shm", "spool.db.lock"):
        if os.path.exists(os.path.join(cost.WORK, left)):
            os.unlink(os.path.join(cost.WORK, left))
    shutil.rmtree(os.path.join(cost.WORK, "bpf/skep"), ignore_errors=True)
    tool = cost.Tool(name, **way)
    tool.start()
    time.sleep(2)  # its first scans are over
    return tool


def measure(name, way, args):
    tool = started(name, way)
    try:
        began, at = tool.cpu(), time.monotonic()
        time.sleep(args.seconds)
        cost.settle(tool)
        idle, rest = tool.cpu() - began, time.monotonic() - at
        began, at = tool.cpu(), time.monotonic()
        n = storm(args.rate, args.seconds)["processes"]
        cost.settle(tool)
        busy = tool.cpu() - began - idle * (time.monotonic() - at) / rest
        fast = storm(0, 3)
        return busy / n * 1e6, fast["processes"] / fast["seconds"]
    finally:
        tool.stop()


def bpf(name, way, args):
    tool = started(name, way)
    try:
        before = cost.bpf_runtime(tool.programs)
        n = storm(args.rate, args.seconds)["processes"]
        after = cost.bpf_runtime(tool.programs)
        return (after[0] - before[0] - 48e-9 * (after[1] - before[1])) / n * 1e6
    finally:
        tool.stop()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--rate", type=int, default=2000)
    ap.add_argument("--seconds", type=int, default=8)
    ap.add_argument("--before")
    args = ap.parse_args()
    found, tried = {}, ways(args.before)
    os.mkdir(os.path.join(cost.WORK, "bpf"))
    subprocess.run(["mount", "-t", "bpf", "bpf", os.path.join(cost.WORK, "bpf")], check=True)
    stats = "/proc/sys/kernel/bpf_stats_enabled"
    was = open(stats).read()
    try:
        for round_ in range(args.rounds):
            for name in tried if round_ % 2 == 0 else reversed(tried):
                found.setdefault(name, []).append(measure(name, tried[name], args))
            print(f"round {round_ + 1} of {args.rounds}", file=sys.stderr, flush=True)
        open(stats, "w").write("1")
        kernel = {name: bpf(name, way, args) for name, way in tried.items() if name != "none"}
    finally:
        open(stats, "w").write(was)
        subprocess.run(["umount", os.path.join(cost.WORK, "bpf")], check=False)
        shutil.rmtree(cost.WORK, ignore_errors=True)
    print("| | user space | spread | BPF | full speed |\n| --- | --: | --: | --: | --: |")
    for name, results in found.items():
        user, speed = [r[0] for r in results], statistics.median(r[1] / n[1] for r, n in zip(results, found["none"]))
        if name == "none":
            print(f"| none | | | | {statistics.median(r[1] for r in results):,.0f}/s |")
        else:
            print(f"| {name} | {statistics.median(user):.1f} us | {max(user) - min(user):.1f} | {kernel[name]:.1f} us | {speed * 100:.0f} % |")


if __name__ == "__main__":
    main()
