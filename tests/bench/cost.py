#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/cost.py - what collecting costs, A/B interleaved in one run.

  cost.py [--rounds N] [--loads compile,exec,switch,threads] [--tools none,skep,execsnoop,bpftrace] [--details]
          [--quick]

--details: instead of the peers, skep with its details of "sched" attached to the whole host:
one by one, and all three.

Environment: SKEPD (the daemon), SKEP, SKEP_PLUGIN_DIRS, EXACT_BIN (where storm and tiny are), BENCH_BIN (where
switch and threads are).  Root.  Each round runs every load under every tool, in turn; medians of
the differences to "none" of the same round are printed:

  load CPU   user + system of the load and all its children (wait4), against none
  tool CPU   of the tool's own processes (schedstat, exact) until they have nothing left to
             do about it, as a share of the load's CPU
  BPF        run time of the tool's BPF programs, from one further round with bpf_stats
             on (which adds about 50 ns a run, so it is not on in the others)

Peers do less than skep here: execsnoop+exitsnoop (libbpf-tools) and bpftrace print a line
an exec and an exit, keep no totals and store nothing.
"""
import argparse
import atexit
import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BIN, EXACT = os.environ["BENCH_BIN"], os.environ["EXACT_BIN"]
WORK = tempfile.mkdtemp(prefix="skep-cost.")
BPFTRACE = "tracepoint:sched:sched_process_exec { printf(\"%d %s\\n\", pid, comm); } tracepoint:sched:sched_process_exit { printf(\"%d\\n\", pid); }"


def probes_of(path):
    """The configuration as skepd reads it: JSON with comments."""
    text = open(path).read()
    text = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', lambda m: m.group(1) or " ", text, flags=re.S)
    return json.loads(text)["probes"]


def tree_of(pids):
    """the processes and their children: skepd has readers"""
    found = list(pids)
    for pid in found:
        for path in glob.glob(f"/proc/{pid}/task/*/children"):
            try:
                found += [int(c) for c in open(path).read().split()]
            except OSError:
                pass
    return found


def cpu_of(pids):
    total = 0
    for pid in tree_of(pids):
        for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            try:
                total += int(open(path).read().split()[0])
            except (OSError, ValueError):
                pass
    return total / 1e9


def programs():
    out = subprocess.run(["bpftool", "-j", "prog", "list"], capture_output=True, text=True).stdout
    return {p["id"]: p for p in json.loads(out or "[]")}


def bpf_runtime(ids):
    ps = [p for i, p in programs().items() if i in ids]
    return sum(p.get("run_time_ns", 0) for p in ps) / 1e9, sum(p.get("run_cnt", 0) for p in ps)


DETAILS = {"runqlat": ["runqlat"], "oncpu": ["oncpu"], "offcpu": ["offcpu"], "all three": ["runqlat", "oncpu", "offcpu"]}


PROBES = [{"plugin": "proc", "required": True}, {"plugin": "sched"}]


class Tool:
    """probes: of skepd's configuration, None: no skepd (or a peer); details: attached to the host, "all": every
    detail; more: further keys of the configuration; build: the build tree of the skepd, default: SKEPD"""

    def __init__(self, name, probes=None, details=(), more=None, build=None):
        self.name, self.children, self.programs, self.more, self.build = name, [], set(), more or {}, build
        self.details = DETAILS.get(name, details)
        self.probes = probes or (PROBES if name == "skep" or self.details else None)

    def start(self):
        before = set(programs())
        null = open(os.path.join(WORK, f"{self.name}.out"), "w")
        if self.probes:
            conf = os.path.join(WORK, "skepd.conf")
            shutil.rmtree(os.path.join(WORK, "lake"), ignore_errors=True)
            with open(conf, "w") as f:
                json.dump({"interval": "5s", "probes": self.probes,
                           "sinks": [{"plugin": "lake", "path": os.path.join(WORK, "lake")}],
                           "control": {"socket": os.path.join(WORK, "socket")}, **self.more}, f)
            commands = [[f"{self.build}/skepd" if self.build else os.environ["SKEPD"], "-f", "-c", conf]]
        elif self.name == "execsnoop":
            commands = [["/usr/sbin/execsnoop"], ["/usr/sbin/exitsnoop"]]
        elif self.name == "bpftrace":
            commands = [["bpftrace", "-e", BPFTRACE]]
        else:
            commands = []
        for c in commands:
            env = dict(os.environ, SKEP_PLUGIN_DIRS=f"{self.build}/plugins-run") if self.build else None
            self.children.append(subprocess.Popen(c, stdout=null, stderr=null, stdin=subprocess.DEVNULL, env=env))
        time.sleep(3 if self.name == "bpftrace" else 1.5 if commands else 0.2)
        atexit.register(self.stop)  # also when this ends by an error
        for c in self.children:
            if c.poll() is not None:
                sys.exit(f"{self.name} did not start: see {null.name}:\n{open(null.name).read()}")
        socket = os.path.join(WORK, "socket")
        if self.details == "all":
            out = subprocess.run([os.environ["SKEP"], "attach", "--list", "--json", "--socket", socket], capture_output=True, text=True)
            self.details = [d["name"] for d in json.loads(out.stdout)["details"] if "host" in d["scopes"]]
        for d in self.details:
            self.children.append(subprocess.Popen(
                [os.environ["SKEP"], "attach", d, "--for", "1h", "--quiet", "--socket", socket],
                stdout=null, stderr=null, stdin=subprocess.DEVNULL))
        deadline = time.monotonic() + 30
        while open(null.name).read().count(" attached to ") < len(self.details):
            if time.monotonic() > deadline or any(c.poll() is not None for c in self.children):
                sys.exit(f"{self.name}: not all of {self.details} were attached: see {null.name}:\n{open(null.name).read()}")
            time.sleep(0.1)
        self.programs = set(programs()) - before

    def cpu(self):
        return cpu_of([c.pid for c in self.children])

    def stop(self):
        # earlier attachments of the same detail
        for c in reversed(self.children):
            c.send_signal(signal.SIGTERM if "skepd" in c.args[0] else signal.SIGINT)
            c.wait()
        self.children = []


def compile_sources():
    folder = os.path.join(WORK, "src")
    os.makedirs(folder, exist_ok=True)
    for i in range(30):
        with open(os.path.join(folder, f"f{i}.c"), "w") as f:
            f.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n")
            for k in range(40):
                f.write(f"int f{i}_{k}(int a, char *s) {{ int x = a; for (int i = 0; i < {k + 3}; i++) x += s[i] * (a ^ i);"
                        f" if (x > {k}) printf(\"%d %s\\n\", x, s); return x; }}\n")
    with open(os.path.join(folder, "Makefile"), "w") as f:
        f.write("all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\tgcc -O1 -c -o $@ $<\nclean:\n\trm -f *.o\n")
    return folder


def loads(quick):
    src = compile_sources()
    n = 3 if quick else 10
    return {
        "compile": ["sh", "-c", f"make -s -C {src} clean && make -s -j2 -C {src}"],
        "exec": [f"{EXACT}/storm", f"{EXACT}/tiny", "0", "1" if quick else "3"],
        "switch": [f"{BIN}/switch", str(30000 * n)],
        "threads": [f"{BIN}/threads", str(6000 * n)],
    }


def settle(tool):
    """waits until the tool has done the work that the load gave it: its backlog belongs to the load that caused it.
    skepd commits the record of an ended process up to a second later."""
    last = tool.cpu()
    for _ in range(8):
        time.sleep(2.5)
        now = tool.cpu()
        if now - last < 0.02:
            break
        last = now
    return tool.cpu()


def measure(command, tool):
    wall, cpu = time.monotonic(), tool.cpu()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = child.stdout.read()
    _, status, ru = os.wait4(child.pid, 0)
    child.returncode = status
    wall = time.monotonic() - wall
    if status:
        sys.exit(f"{command}: status {status}")
    r = {"cpu": ru.ru_utime + ru.ru_stime, "wall": wall, "tool": settle(tool) - cpu if tool.children else 0.0, "n": 1}
    if out.startswith(b"{"):  # storm: per process
        r["n"] = json.loads(out)["processes"]
    return r


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=7)
    ap.add_argument("--loads", default="compile,exec,switch,threads")
    ap.add_argument("--tools", default="none,skep,execsnoop,bpftrace")
    ap.add_argument("--details", action="store_true")
    ap.add_argument("--quick", action="store_true")
    args = ap.parse_args()
    if args.details:
        args.tools = ",".join(["none", "skep", *DETAILS])
    commands = {k: v for k, v in loads(args.quick).items() if k in args.loads.split(",")}
    tools = args.tools.split(",")
    results = {}
    for round_ in range(args.rounds):
        for t in tools if round_ % 2 == 0 else tools[:1] + tools[:0:-1]:
            tool = Tool(t)
            tool.start()
            for load, command in commands.items():
                results.setdefault((load, t), []).append(measure(command, tool))
            tool.stop()
        print(f"round {round_ + 1} of {args.rounds}", file=sys.stderr, flush=True)
    bpf = {}
    was = open("/proc/sys/kernel/bpf_stats_enabled").read()
    open("/proc/sys/kernel/bpf_stats_enabled", "w").write("1")
    try:
        for t in tools:
            if t == "none":
                continue
            tool = Tool(t)
            tool.start()
            for load, command in commands.items():
                before = bpf_runtime(tool.programs)
                r = measure(command, tool)
                after = bpf_runtime(tool.programs)
                ran, runs = after[0] - before[0], after[1] - before[1]
                bpf[load, t] = (ran - 48e-9 * runs) / r["cpu"], (ran / runs * 1e9 - 48 if runs else 0)
            tool.stop()
    finally:
        open("/proc/sys/kernel/bpf_stats_enabled", "w").write(was)
    print("| load | tool | load CPU | tool CPU | BPF run time | of one run | tool CPU a process |")
    print("| --- | --- | --: | --: | --: | --: | --: |")
    for load in commands:
        base = results[load, "none"]
        for t in tools:
            rs = results[load, t]
            # per unit: the exec storm makes as many as it can in its time
            per = lambda r, k: r[k] / r["n"]
            d = statistics.median(per(r, "cpu") / per(b, "cpu") - 1 for r, b in zip(rs, base))
            share = statistics.median(r["tool"] / r["cpu"] for r in rs)
            each = statistics.median(r["tool"] / r["n"] * 1e6 for r in rs)
            spread = max(per(b, "cpu") for b in base) / min(per(b, "cpu") for b in base) - 1
            if t == "none":
                print(f"| {load} | none | (spread of {len(base)} runs: {spread * 100:.1f} %) | | | | |")
                continue
            print(f"| {load} | {t} | {d * 100:+.1f} % | {share * 100:.2f} % | {bpf[load, t][0] * 100:.2f} % | {bpf[load, t][1]:.0f} ns | "
                  f"{f'{each:.2f} us' if load == 'exec' else ''} |")


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
