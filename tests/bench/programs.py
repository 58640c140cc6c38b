#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/programs.py - what a run of each BPF program takes, by plugin and detail.

  programs.py [--plugins proc,sched,io,net,files,cgroup] [--seconds N]

Each plugin alone in a skepd, first as it is, then with each of its details attached to the whole
host, under loads that call its programs: processes, switches, block and file I/O, connections,
memory.  With bpf_stats on, whose own 48 ns a run are taken off.  Printed for each program that ran at
least 100 times: runs, the most runs a second under any of the loads, mean time of a run.

Environment: SKEPD, SKEP, SKEP_PLUGIN_DIRS, BENCH_BIN (where net_calls and switch are), EXACT_BIN
(storm, tiny).  Root; stress-ng, fio.
"""
import argparse
import os
import shutil
import subprocess
import sys
import time

import cost

EXACT = os.environ.get("EXACT_BIN", ".")
SELF_NS = 48


def loads(seconds):
    folder = os.path.join(cost.WORK, "load")
    os.makedirs(folder, exist_ok=True)
    ng = ["stress-ng", "--quiet", "--temp-path", folder, "--timeout", str(seconds)]
    return {
        "processes": [f"{EXACT}/storm", f"{EXACT}/tiny", "0", str(seconds)],
        "switches": [*ng, "--switch", "1"],
        "connections": [*ng, "--sock", "1"],
        "datagrams": [*ng, "--udp", "1"],
        "files": [*ng, "--open", "1", "--hdd", "1", "--hdd-bytes", "32M"],
        "blocks": ["fio", "--name=r", "--ioengine=io_uring", "--rw=randread", "--direct=1", "--bs=4k", "--iodepth=32", "--size=64M",
                   "--time_based", f"--runtime={seconds}", f"--filename={folder}/blocks", "--output-format=terse"],
    }


def stats(ids):
    return {i: (p["name"], p.get("run_time_ns", 0), p.get("run_cnt", 0)) for i, p in cost.programs().items() if i in ids}


def rows_of(tool, commands):
    """{program: (runs, most a second, ns)}"""
    rows = {}
    tool.start()
    try:
        for command in commands.values():
            before, began = stats(tool.programs), time.monotonic()
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            wall = time.monotonic() - began
            for i, (name, ns, runs) in stats(tool.programs).items():
                name_, ns0, runs0 = before.get(i, (name, 0, 0))
                n, t = runs - runs0, ns - ns0 - SELF_NS * (runs - runs0)
                had = rows.get(name, (0, 0, 0))
                rows[name] = (had[0] + n, max(had[1], n / wall), had[2] + max(t, 0))
    finally:
        tool.stop()
    return {name: (n, rate, ns / n) for name, (n, rate, ns) in rows.items() if n >= 100}


def details_of(plugin):
    tool = cost.Tool(plugin, [{"plugin": plugin}], "all")
    tool.start()
    names = tool.details
    tool.stop()
    return names


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--plugins", default="proc,sched,io,net,files,cgroup")
    ap.add_argument("--seconds", type=int, default=2)
    args = ap.parse_args()
    missing = [t for t in ("stress-ng", "fio") if not shutil.which(t)]
    if missing:
        sys.exit(f"programs.py: not here: {', '.join(missing)}; remedy: apt-get install -y {' '.join(missing)}")
    commands = loads(args.seconds)
    stat = "/proc/sys/kernel/bpf_stats_enabled"
    was = open(stat).read()
    open(stat, "w").write("1")
    try:
        print(f"{os.cpu_count()} CPUs, Linux {os.uname().release}, {time.strftime('%Y-%m-%d')}\n")
        print("| plugin | detail | program | runs | most a second | ns a run |")
        print("| --- | --- | --- | --: | --: | --: |")
        for plugin in args.plugins.split(","):
            plain = rows_of(cost.Tool(plugin, [{"plugin": plugin}]), commands)
            for name, (n, rate, ns) in sorted(plain.items()):
                print(f"| {plugin} | | `{name}` | {n} | {rate:.0f} | {ns:.0f} |", flush=True)
            for detail in details_of(plugin):
                rows = rows_of(cost.Tool(detail, [{"plugin": plugin}], [detail]), commands)
                for name, (n, rate, ns) in sorted(rows.items()):
                    if name not in plain:
                        print(f"| {plugin} | {detail} | `{name}` | {n} | {rate:.0f} | {ns:.0f} |", flush=True)
    finally:
        open(stat, "w").write(was)


try:
    main()
finally:
    shutil.rmtree(cost.WORK, ignore_errors=True)
