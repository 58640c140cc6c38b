#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/stressors.py - what skep costs loads that do one thing only, and a real pipeline.

  stressors.py [--rounds N] [--loads switch,pipe,fork,hdd,sock,mmap,pipeline] [--scale X] [--conf FILE]

Each load does a fixed amount of work (stress-ng with a number of operations; the pipeline of
tests/pipelines/reads), under nothing, under skepd with the probes that it has by default
(those of --conf, etc/skepd.conf), and with every detail attached to the whole host besides:
in turn within each round, the order turned round from one to the next.  Printed, as medians
over the rounds:

  load CPU   user + system of the load and its children (wait4), against nothing in the same round
  wall       against nothing in the same round
  tool CPU   of skepd and of who attached the details, until they have nothing left to do, as a
             share of the load's CPU
  BPF        run time of skep's programs, as a share of the load's CPU, from one further round
             with bpf_stats on (48 ns a run, which these add, are taken off)

Environment: SKEPD, SKEP, SKEP_PLUGIN_DIRS.  Root; stress-ng, and bwa, samtools, bcftools for the pipeline.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time

import cost

HERE = os.path.dirname(os.path.abspath(__file__))
STRESSORS = {  # operations: a second or two each on a machine with 2 cores
    "switch": ["--switch", "1", "--switch-ops", 400000],
    "pipe": ["--pipe", "2", "--pipe-ops", 400000],
    "fork": ["--fork", "2", "--fork-ops", 8000],
    "hdd": ["--hdd", "1", "--hdd-bytes", "64M", "--hdd-ops", 2000],
    "sock": ["--sock", "1", "--sock-ops", 1000],
    "mmap": ["--mmap", "1", "--mmap-bytes", "16M", "--mmap-ops", 100],
}


def command(load, scale):
    folder = os.path.join(cost.WORK, "load")
    os.makedirs(folder, exist_ok=True)
    if load == "pipeline":
        return ["sh", "-c", f"rm -rf {folder}/reads && exec {HERE}/../pipelines/reads/run.sh {folder}/reads"]
    args = [str(max(1, int(a * scale))) if isinstance(a, int) else a for a in STRESSORS[load]]
    return ["stress-ng", "--quiet", "--temp-path", folder, *args]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=7)
    ap.add_argument("--loads", default=",".join([*STRESSORS, "pipeline"]))
    ap.add_argument("--scale", type=float, default=1.0)
    ap.add_argument("--conf", default=os.path.join(HERE, "../../etc/skepd.conf"))
    args = ap.parse_args()
    commands = {load: command(load, args.scale) for load in args.loads.split(",")}
    needed = {"stress-ng"} if set(commands) - {"pipeline"} else set()
    needed |= {"bwa", "samtools", "bcftools"} if "pipeline" in commands else set()
    missing = sorted(t for t in needed if not shutil.which(t))
    if missing:
        sys.exit(f"stressors.py: not here: {', '.join(missing)}; remedy: apt-get install -y {' '.join(missing)}")
    probes = cost.probes_of(args.conf)
    tools = {
        "nothing": lambda: cost.Tool("nothing"),
        "default": lambda: cost.Tool("default", probes),
        "all details": lambda: cost.Tool("all details", probes, "all"),
    }
    results, attached = {}, []
    for n in range(args.rounds):
        for name in list(tools) if n % 2 == 0 else list(tools)[::-1]:
            tool = tools[name]()
            tool.start()
            attached = tool.details or attached
            for load, c in commands.items():
                results.setdefault((load, name), []).append(cost.measure(c, tool))
            tool.stop()
        print(f"round {n + 1} of {args.rounds}", file=sys.stderr, flush=True)
    bpf = {}
    was = open("/proc/sys/kernel/bpf_stats_enabled").read()
    open("/proc/sys/kernel/bpf_stats_enabled", "w").write("1")
    try:
        for name in list(tools)[1:]:
            tool = tools[name]()
            tool.start()
            for load, c in commands.items():
                before = cost.bpf_runtime(tool.programs)
                r = cost.measure(c, tool)
                after = cost.bpf_runtime(tool.programs)
                bpf[load, name] = (after[0] - before[0] - 48e-9 * (after[1] - before[1])) / r["cpu"]
            tool.stop()
    finally:
        open("/proc/sys/kernel/bpf_stats_enabled", "w").write(was)
    print(f"{os.cpu_count()} CPUs, Linux {os.uname().release}, {time.strftime('%Y-%m-%d')}; {args.rounds} rounds; "
          f"probes {', '.join(p['plugin'] for p in probes)}; details {', '.join(attached)}\n")
    print("| load | under | load CPU | wall | tool CPU | BPF |")
    print("| --- | --- | --: | --: | --: | --: |")
    for load in commands:
        base = results[load, "nothing"]
        spread = max(r["cpu"] for r in base) / min(r["cpu"] for r in base) - 1
        print(f"| {load} | nothing | {statistics.median(r['cpu'] for r in base):.2f} s (spread {spread * 100:.1f} %) | "
              f"{statistics.median(r['wall'] for r in base):.2f} s | | |")
        for name in list(tools)[1:]:
            rs = results[load, name]
            cpu, wall = (statistics.median(r[k] / b[k] - 1 for r, b in zip(rs, base)) * 100 for k in ("cpu", "wall"))
            share = statistics.median(r["tool"] / r["cpu"] for r in rs) * 100
            print(f"| {load} | {name} | {cpu:+.1f} % | {wall:+.1f} % | {share:.2f} % | {bpf[load, name] * 100:.2f} % |")


try:
    main()
finally:
    shutil.rmtree(cost.WORK, ignore_errors=True)
