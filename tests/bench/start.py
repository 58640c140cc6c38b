#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/start.py - what a start costs, by part.

  start.py [--before BUILD] [--runs N] [--programs]

Runs `skep run --no-report -- true` N times, of this build and, in turn, of --before (the build tree of another
commit), and prints of each: CPU time of all processes (user, system), wall time; the least and the median.  Then the
parts of the CPU time, from N further runs with tests/bench/start_parts.c preloaded, medians:

  types      the kernel's type information, read and indexed
  programs   BPF programs that the kernel verifies, with the instructions that it visited; --programs lists them
  maps       BPF maps that it makes
  bpf        other calls of bpf(2), and libbpf's trial programs
  libbpf     the rest of opening, relocating and loading objects
  tables     JSON and regular expressions
  dlopen     plugins and the libraries that they need
  rest       what is left of the median CPU time

Environment: SKEP (default: ./skep), CC.  Root.  The wrappers add some 3 ms of their own, so that `rest` is less by it.
"""
import argparse
import collections
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND = ["run", "--no-live", "--no-report", "--", "true"]
PARTS = ["types", "programs", "maps", "bpf", "libbpf", "tables", "dlopen", "rest"]


class Build:
    def __init__(self, name, folder, work):
        self.name, self.skep = name, os.path.join(folder, "skep")
        self.env = dict(os.environ, SKEP_PLUGIN_DIRS=os.path.join(folder, "plugins-run"))
        self.lake = os.path.join(work, name)
        self.cpu, self.user, self.system, self.wall, self.parts = [], [], [], [], []
        self.programs = collections.defaultdict(list)
        if not os.access(self.skep, os.X_OK):
            sys.exit(f"start.py: there is no {self.skep}; remedy: make there")

    def run(self, **more):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        p = subprocess.run([self.skep, COMMAND[0], "--lake", self.lake, *COMMAND[1:]], env=dict(self.env, **more),
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if p.returncode:
            sys.exit(f"start.py: {self.skep}: {p.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, time.monotonic() - began

    def measure(self):
        user, system, wall = self.run()
        self.user.append(user)
        self.system.append(system)
        self.cpu.append(user + system)
        self.wall.append(wall)

    def look(self, library, file):
        """One run with the wrappers: ms by part."""
        user, system, _ = self.run(LD_PRELOAD=library, START_PARTS=file)
        ns, inside = collections.Counter(), 0
        for line in open(file):
            part, what, took, n = re.match(r"(\w+) (.*) (\d+) (\d+)$", line).groups()
            took = int(took)
            if part == "libbpf":
                ns["libbpf"] += took
            elif part == "program":
                ns["programs"] += took
                self.programs[what, int(n)].append(took / 1e6)
            else:
                ns[{"map": "maps", "probes": "bpf"}.get(part, part)] += took
            # almost all calls of bpf(2) come from within libbpf's opening and loading
            inside += took if part in ("program", "map", "probes", "bpf") else 0
        os.unlink(file)
        ns["libbpf"] = max(0, ns["libbpf"] - inside)
        ns["rest"] = (user + system) * 1e9 - sum(ns.values())
        self.parts.append({p: ns[p] / 1e6 for p in PARTS})


def library(work):
    path = os.path.join(work, "start_parts.so")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-o", path,
                    os.path.join(HERE, "start_parts.c"), "-ldl"], check=True)
    return path


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--before", help="build tree of another commit")
    ap.add_argument("--runs", type=int, default=10)
    ap.add_argument("--programs", action="store_true", help="each program")
    args = ap.parse_args()
    with tempfile.TemporaryDirectory(prefix="skep-start.") as work:
        here = os.path.dirname(os.path.abspath(os.environ.get("SKEP", "./skep")))
        builds = [Build("before", args.before, work)] if args.before else []
        builds.append(Build("now", here, work))
        preload = library(work)
        for b in builds:
            b.run()  # makes the lake
        for _ in range(args.runs):
            for b in builds:
                b.measure()
        for _ in range(args.runs):
            for b in builds:
                b.look(preload, os.path.join(work, "parts"))
        print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs, {args.runs} runs")
        print(f"{'':8} {'CPU least':>10} {'median':>8} {'user':>8} {'system':>8} {'wall':>8}")
        for b in builds:
            median = statistics.median
            print(f"{b.name:8} {min(b.cpu):8.3f} s {median(b.cpu):6.3f} s {median(b.user):6.3f} s {median(b.system):6.3f} s "
                  f"{median(b.wall):6.3f} s")
        print("\nms of CPU    " + "".join(f"{b.name:>10}" for b in builds))
        for part in PARTS:
            print(f"{part:12} " + "".join(f"{statistics.median(p[part] for p in b.parts):10.1f}" for b in builds))
        if args.programs:
            for b in builds:
                print(f"\n{b.name}: program, instructions visited, ms")
                for (name, n), ms in sorted(b.programs.items(), key=lambda x: -statistics.median(x[1])):
                    print(f"  {name:16} {n:6} {statistics.median(ms):8.2f}")


if __name__ == "__main__":
    main()
