#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/table.py - the cost of everything that is always on, in one table, with peers where they are installed.

  table.py [--rounds N] [--only PART,...] [--store FILE | --check FILE]

The parts: processes, stressors, compile, start, live, storm, show. Each round runs every part's ways in turn; the table
has medians over the rounds and the spread (largest minus smallest round). storm and show run once.

  --store FILE  writes the figures as ratios, each by its own part of this machine's speed: CPU time by that of the same
                load without a tool, shares, sizes and times of a report as they are
  --check FILE  measures, and fails if a ratio is larger than FILE's by more than half of it

Environment: SKEPD, SKEP, SKEP_PLUGIN_DIRS, EXACT_BIN (storm, tiny), BENCH_BIN (many, switch). Root; stress-ng, gcc,
make; execsnoop and bpftrace for the peers.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

import cost
import processes

SKEP, EXACT, BIN = os.environ["SKEP"], os.environ["EXACT_BIN"], os.environ["BENCH_BIN"]
LIVE = 20000
HOOKS = {"sock": ["--sock", "1", "--sock-ops", "1000"], "switch": ["--switch", "1", "--switch-ops", "100000"],
         "getppid, ...": ["--get", "1", "--get-ops", "3000"], "read, write": ["--zero", "1", "--zero-ops", "200000"]}

# name: unit, aim (text), what a machine's speed is taken out with
ROWS = {
    "user space a process, proc + lake": ("us", "8", "loop"),
    "user space a process, default": ("us", "15", "loop"),
    "user space a process, execsnoop": ("us", "", None),
    "user space a process, bpftrace": ("us", "", None),
    "BPF a process, proc + lake": ("us", "", "loop"),
    "BPF a process, default": ("us", "6", "loop"),
    "BPF a process, execsnoop": ("us", "", None),
    "BPF a process, bpftrace": ("us", "", None),
    "processes at full speed, a loop on each CPU, default": ("% of those without", "80", None),
    "BPF in a loop of processes, default": ("% of its CPU", "8", None),
    **{f"BPF in stress-ng's {name}, default": ("% of its CPU", "1" if name == "sock" else "0", "as it is") for name in HOOKS},
    "60 compiles with make -j2, default": ("% of their CPU", "0.3", "as it is"),
    "skep run -- true, wall": ("s", "0.2", None),
    "skep run -- true, CPU": ("s", "0.15", "loop"),
    f"{LIVE:,} live processes, default": ("% of a CPU", "2", "as it is"),
    "RSS at rest, default": ("MiB", "20", "as it is"),
    f"RSS with {LIVE:,} live processes, default": ("MiB", "35", "as it is"),
    "RSS after a storm, default": ("MiB", "30", "as it is"),
    "lake, default": ("bytes a process", "120", "as it is"),
}
for n, wall, json_wall in ((20000, "0.15", ""), (100000, "0.3", "1")):
    ROWS |= {f"skep show of {n:,} processes": ("s", wall, "loop"), f"skep show of {n:,}, memory": ("MiB", "50", "as it is"),
             f"skep show --json of {n:,}": ("s", json_wall, "loop"), f"skep show --json of {n:,}, memory": ("MiB", "100", "as it is")}


def timed(*command):
    """wall, CPU of it and its children, peak memory of the largest in MiB"""
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    err = child.stderr.read()
    _, child.returncode, ru = os.wait4(child.pid, 0)
    if child.returncode:
        sys.exit(f"{command}: status {child.returncode}: {err.decode()}")
    return time.monotonic() - began, ru.ru_utime + ru.ru_stime, ru.ru_maxrss / 1024


def loops(seconds, n):
    """n loops of processes as fast as they can: processes a second of all, CPU of a process and of its loop in us"""
    began, command = time.monotonic(), [f"{EXACT}/storm", f"{EXACT}/tiny", "0", str(seconds)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(n)]
    done = sum(json.loads(c.stdout.read())["processes"] for c in children)
    wall = time.monotonic() - began
    used = [os.wait4(c.pid, 0)[2] for c in children]
    for c in children:
        c.returncode = 0
    return done / wall, sum(u.ru_utime + u.ru_stime for u in used) / done * 1e6


def memory(tool):
    """of skepd, MiB. Its readers, forked before it starts, share most of theirs with it."""
    return int(re.search(r"^VmRSS:\s+(\d+) kB", open(f"/proc/{tool.children[0].pid}/status").read(), re.M).group(1)) / 1024


class Part:
    """a tool that runs while a part's loads do"""

    def __init__(self, way="default"):
        self.way = way

    def __enter__(self):
        self.tool = processes.started(self.way, processes.ways(None)[self.way])
        return self.tool

    def __exit__(self, *_):
        self.tool.stop()


def part_processes(args):
    out, ways = {}, {n: w for n, w in processes.ways(None).items() if n != "none"}
    for name, way in ways.items():
        out[f"user space a process, {name}"] = processes.measure(name, way, args)[0]
    rate, out["loop"] = loops(3, os.cpu_count())[0], loops(3, 1)[1]
    with Part():
        out["processes at full speed, a loop on each CPU, default"] = loops(3, os.cpu_count())[0] / rate * 100
    with Bpf():
        for name, way in ways.items():
            out[f"BPF a process, {name}"] = processes.bpf(name, way, args)
    # A loop's own CPU moves by a half from minute to minute here; what the kernel counts for programs does not.
    out["BPF in a loop of processes, default"] = out["BPF a process, default"] / out["loop"] * 100
    return out


class Bpf:
    """the kernel adds up the run time of programs"""
    FILE = "/proc/sys/kernel/bpf_stats_enabled"

    def __enter__(self):
        self.was = open(self.FILE).read()
        open(self.FILE, "w").write("1")

    def __exit__(self, *_):
        open(self.FILE, "w").write(self.was)


def part_stressors(_):
    out = {}
    with Bpf(), Part() as tool:
        for name, load in HOOKS.items():
            before = cost.bpf_runtime(tool.programs)
            _, cpu, _ = timed("stress-ng", "--quiet", "--temp-path", cost.WORK, *load)
            after = cost.bpf_runtime(tool.programs)
            out[f"BPF in stress-ng's {name}, default"] = (after[0] - before[0] - 48e-9 * (after[1] - before[1])) / cpu * 100
    return out


def part_compile(_):
    """What the tool takes in as many seconds without a load is taken off."""
    command = cost.loads(True)["compile"]
    with Part() as tool:
        cost.settle(tool)
        began, at = tool.cpu(), time.monotonic()
        time.sleep(5)
        idle, at = (tool.cpu() - began) / (time.monotonic() - at), time.monotonic()
        results = [cost.measure(command, tool) for _ in range(2)]
        used = sum(r["tool"] for r in results) - idle * (time.monotonic() - at)
    return {"60 compiles with make -j2, default": used / sum(r["cpu"] for r in results) * 100}


def part_start(_):
    results = [timed(SKEP, "run", "--no-live", "--lake", os.path.join(cost.WORK, "run"), "--", "true") for _ in range(3)]
    return {"skep run -- true, wall": statistics.median(r[0] for r in results),
            "skep run -- true, CPU": statistics.median(r[1] for r in results)}


def part_live(_):
    out = {}
    many = subprocess.Popen([f"{BIN}/many", str(LIVE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        if many.stdout.readline().split() != ["ready", str(LIVE)]:
            sys.exit(f"table.py: this machine has no room for {LIVE} processes")
        with Part() as tool:
            time.sleep(15)  # the first records of all are delivered
            began, at = tool.cpu(), time.monotonic()
            time.sleep(20)
            out[f"{LIVE:,} live processes, default"] = (tool.cpu() - began) / (time.monotonic() - at) * 100
            out[f"RSS with {LIVE:,} live processes, default"] = memory(tool)
    finally:
        many.stdin.close()
        many.wait()
    return out


def part_storm(_):
    """A minute of processes at 2,000 a second; the lake's size before them is subtracted."""
    lake = os.path.join(cost.WORK, "lake")

    def size():
        return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(lake) for f in files)

    out = {}
    with Part() as tool:
        time.sleep(15)
        out["RSS at rest, default"], before = memory(tool), size()
        n = processes.storm(2000, 60)["processes"]
        time.sleep(12)
        out["RSS after a storm, default"] = memory(tool)
    out["lake, default"] = (size() - before) / n  # closed: the write-ahead log is merged
    return out


def part_show(args):
    out, lake = {}, os.path.join(cost.WORK, "runs")
    for n in (20000, 100000):
        timed(SKEP, "run", "--no-live", "--no-report", "--lake", lake, "--name", f"n{n}", "--",
              "sh", "-c", f"i=0; while [ $i -lt {n} ]; do {EXACT}/tiny; i=$((i + 1)); done")
        for what, more in (("skep show", []), ("skep show --json", ["--json"])):
            results = [timed(SKEP, "show", "--lake", lake, *more, f"n{n}") for _ in range(args.rounds)]
            name = f"{what} of {n:,}{'' if more else ' processes'}"
            out[name] = statistics.median(r[0] for r in results)
            out[f"{what} of {n:,}, memory"] = max(r[2] for r in results)
    return out


ONCE = {"storm": part_storm, "show": part_show}
PARTS = {"processes": part_processes, "stressors": part_stressors, "compile": part_compile, "start": part_start,
         "live": part_live, **ONCE}


def ratios(found):
    """{row: figure without this machine's speed}, for the rows with such a figure"""
    loop = statistics.median(found["loop"])
    return {name: statistics.median(found[name]) / ((loop if unit == "us" else loop / 1e6) if by == "loop" else 1)
            for name, (unit, _, by) in ROWS.items() if by and name in found}


def check(found, path):
    stored, worse = json.load(open(path)), 0
    for name, ratio in ratios(found).items():
        if name in stored and ratio > stored[name] * 1.5 + 0.02:
            print(f"table.py: {name}: {ratio:.3g}, stored {stored[name]:.3g}: more than half as much again", file=sys.stderr)
            worse += 1
    print(f"table.py: {len(stored)} stored ratios of {path}, {worse} of them worse", file=sys.stderr)
    return 1 if worse else 0


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--only", default=",".join(PARTS))
    ap.add_argument("--rate", type=int, default=2000)
    ap.add_argument("--seconds", type=int, default=5)
    ap.add_argument("--store")
    ap.add_argument("--check")
    args = ap.parse_args()
    asked = args.only.split(",")
    if set(asked) - set(PARTS) or ((args.store or args.check) and "processes" not in asked):
        sys.exit(f"table.py: --only takes parts of {','.join(PARTS)}; --store and --check need processes among them")
    found, pins = {}, os.path.join(cost.WORK, "bpf")
    os.mkdir(pins)
    subprocess.run(["mount", "-t", "bpf", "bpf", pins], check=True)
    try:
        for round_ in range(args.rounds):
            for part in asked if round_ % 2 == 0 else reversed(asked):
                if part not in ONCE or round_ == 0:
                    for name, value in PARTS[part](args).items():
                        found.setdefault(name, []).append(value)
                    print(f"round {round_ + 1} of {args.rounds}: {part}", file=sys.stderr, flush=True)
    finally:
        subprocess.run(["umount", pins], check=False)
        shutil.rmtree(cost.WORK, ignore_errors=True)
    print(f"{os.cpu_count()} CPUs, Linux {os.uname().release}, {time.strftime('%Y-%m-%d')}, load average "
          f"{os.getloadavg()[1]:.1f}; medians of {args.rounds} rounds\n")
    absent = [name for name in ("execsnoop", "bpftrace") if not shutil.which(name)]
    if absent:
        print(f"not here: {', '.join(absent)}; remedy: scripts/deps --install bench\n")
    print("| | | spread | aim |\n| --- | --: | --: | --: |")
    for name, (unit, aim, _) in ROWS.items():
        if name in found:
            v = found[name]
            digits = 2 if unit == "s" else 0 if unit.startswith("bytes") else 1
            print(f"| {name} | {statistics.median(v):.{digits}f} {unit} | {f'{max(v) - min(v):.{digits}f}' if len(v) > 1 else ''} | {aim} |")
    if args.store:
        json.dump(ratios(found), open(args.store, "w"), indent=1)
    return check(found, args.check) if args.check else 0


if __name__ == "__main__":
    sys.exit(main())
