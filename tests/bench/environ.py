#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/environ.py - what the probe proc's option environ costs an exec.

  environ.py [--rounds N] [--execs N] [--entries 0,30,40,100,400]

Environment: SKEPD, SKEP_PLUGIN_DIRS.  Root.  Two skepds run at once, without and with the option; the order in which
the kernel calls them changes with each round.  Execs have environments of so many variables (about 60 bytes each).
Prints the run time of the kernel side's program for exec, by bpf_stats (which adds some 50 ns a run to both), as
medians over the rounds, and the mean of the differences (the first one called pays for cold caches, so the number of
rounds is even).
"""
import argparse
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


def start(work, kind, names):
    """A skepd with that option; its program's id."""
    conf = "%s/%s.conf" % (work, kind)
    with open(conf, "w") as f:
        json.dump({"probes": [{"plugin": "proc", "required": True, "environ": names}], "control": {"socket": "%s/%s" % (work, kind)},
                   "sinks": [{"plugin": "file", "path": "/dev/null"}], "interval": "60s"}, f)
    daemon = subprocess.Popen([os.environ["SKEPD"], "-c", conf, "-q", "-q"], stdin=subprocess.DEVNULL)
    for _ in range(200):
        ours = programs_of(daemon.pid) & set(programs())
        if ours:
            time.sleep(0.3)
            return daemon, ours.pop()
        time.sleep(0.1)
    daemon.kill()
    sys.exit("skepd has not come up")


def measure(work, kinds, entries, execs):
    """Both at once, so that other activity of the machine meets both: {kind: {entries: ns}}."""
    daemons = {}
    try:
        for kind, names in kinds:
            daemons[kind] = start(work, kind, names)
        got = {kind: {} for kind in daemons}
        for n in entries:
            env = {"VARIABLE_%d" % i: "/usr/share/some/path/%024d" % i for i in range(n)}
            first = programs()
            for _ in range(execs):
                os.posix_spawn("/bin/true", ["true"], env)
                os.wait()
            last = programs()
            for kind, (_, i) in daemons.items():
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
    ap.add_argument("--entries", default="0,30,40,100,400")
    a = ap.parse_args()
    entries = [int(n) for n in a.entries.split(",")]
    stats = open(STATS).read()
    kinds = {"[]": [], "default": ["TRACEPARENT", "SKEP_TASK"]}
    got = {k: {n: [] for n in entries} for k in kinds}
    try:
        with open(STATS, "w") as f:
            f.write("1")
        with tempfile.TemporaryDirectory() as work:
            for r in range(a.rounds):
                for kind, by_n in measure(work, sorted(kinds.items(), reverse=r % 2), entries, a.execs).items():
                    for n, ns in by_n.items():
                        got[kind][n].append(ns)
    finally:
        with open(STATS, "w") as f:
            f.write(stats)
    print("%9s %12s %12s %12s" % ("variables", "[] ns", "default ns", "more"))
    for n in entries:
        base, more = (statistics.median(got[k][n]) for k in kinds)
        print("%9d %12.0f %12.0f %12.0f" % (n, base, more, statistics.mean(m - b for b, m in zip(got["[]"][n], got["default"][n]))))


main()
