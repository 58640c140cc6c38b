#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/attribution.py - whether runs and tasks are right on a full machine, and what skepd needs for that.

  attribution.py [--runs 50] [--live 20000] [--rate 2000] [--seconds 60]

Each run is an xargs in a folder of its own: live/runs tasks that sleep all the time, and a task that executes rate/runs
programs a second. The truth: the folder (a process keeps its parent's), the parent, the count of each storm.
Environment: SKEPD, SKEP_PLUGIN_DIRS, EXACT_BIN. Root.
"""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
import testing  # noqa: E402
from testing import check  # noqa: E402

SLEEPS = "/bin/sleep"


def usage(pid):
    """CPU seconds of skepd and its readers, resident bytes of skepd and of all."""
    cpu, own, together = 0.0, 0, 0
    children = subprocess.run(["pgrep", "-P", str(pid)], stdout=subprocess.PIPE, text=True).stdout.split()
    for p in [str(pid), *children]:
        try:
            with open("/proc/%s/stat" % p) as f:
                words = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        cpu += (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        rss = int(words[21]) * os.sysconf("SC_PAGE_SIZE")
        together += rss
        if p == str(pid):
            own = rss
    return cpu, own, together


def judge(work, out, a, counts):
    tasks_of = a.live // a.runs
    seen, where, run_of, bad = collections.Counter(), collections.Counter(), collections.defaultdict(set), 0
    first = None
    tasks = collections.Counter()
    with open(out) as f:
        for line in f:
            record = json.loads(line)
            if record["stream"] == "task" and record.get("engine") == "xargs":
                tasks[record["run"]] += 1
            if record["stream"] != "process.exit" or not record["cwd"].startswith(work + "/r"):
                continue
            folder = os.path.basename(record["cwd"])
            program = os.path.basename(record["exe"])
            if program not in ("sleep", "storm", "tiny"):
                continue
            if not record["execed"]:  # storm's child before its exec
                program = "tiny before its exec"
            seen[program] += 1
            where[folder, program] += 1
            run_of[folder].add(record["run"])
            task_pid = record["ppid"] if program.startswith("tiny") else record["pid"]
            if not record["task_id"].startswith("%d-" % task_pid):
                bad += 1
                first = first or record
    total = sum(seen.values())
    several = sum(len(r) != 1 for r in run_of.values())
    shared = len(run_of) - len(set.union(*run_of.values()))
    check("%d runs, none split and none shared" % a.runs, len(run_of) == a.runs and not several and not shared, (len(run_of), several, shared))
    check("%d of %d processes are in the right task" % (total - bad, total), bad == 0 and total > 0, first)
    missing = sum(counts[folder] - where[folder, "tiny"] for folder in counts)
    check("each of %d programs and %d sleepers has its record" % (sum(counts.values()), tasks_of * a.runs),
          missing == 0 and seen["sleep"] == tasks_of * a.runs, (missing, seen))
    wrong = {r: n for r, n in tasks.items() if any(r in s for s in run_of.values()) and n != tasks_of + 1}
    check("%d task records in each run" % (tasks_of + 1), not wrong, wrong)


def main():
    p = argparse.ArgumentParser()
    for name, default in ("runs", 50), ("live", 20000), ("rate", 2000), ("seconds", 60):
        p.add_argument("--" + name, type=int, default=default)
    a = p.parse_args()
    work = tempfile.mkdtemp(prefix="skep-attribution.")
    exact, out = os.environ["EXACT_BIN"], work + "/out.jsonl"
    with open(work + "/conf", "w") as f:
        json.dump({"interval": "5s", "plugin_dirs": os.environ["SKEP_PLUGIN_DIRS"].split(":"), "control": {"socket": work + "/sock"},
                   "probes": [{"plugin": "proc"}], "sinks": [{"plugin": "file", "path": out}, {"plugin": "lake", "path": work + "/lake"}]}, f)
    daemon = testing.start(work + "/conf", work + "/log")
    begin_cpu = usage(daemon.pid)[0]
    began = time.monotonic()
    runs = []
    for i in range(a.runs):
        folder = "%s/r%d" % (work, i)
        os.mkdir(folder)
        lines = ["%s %d" % (SLEEPS, a.seconds + 30)] * (a.live // a.runs) + ["%s/storm %s/tiny %d %d" % (exact, exact, a.rate // a.runs, a.seconds)]
        with open(folder + "/list", "w") as f:
            f.write("\n".join(lines) + "\n")
        with open(folder + "/list") as stdin, open(folder + "/said", "w") as stdout:
            runs.append(subprocess.Popen(["xargs", "-P0", "-d\\n", "-n1", "sh", "-c", "exec $0"], stdin=stdin, stdout=stdout,
                                         cwd=folder, start_new_session=True))
    most, most_all, live = 0, 0, 0
    while sum(os.path.getsize("%s/r%d/said" % (work, i)) > 0 for i in range(a.runs)) < a.runs and time.monotonic() - began < a.seconds * 4 + 60:
        _, own, together = usage(daemon.pid)
        most, most_all = max(most, own), max(most_all, together)
        live = max(live, sum(name.isdigit() for name in os.listdir("/proc")))
        time.sleep(1)
    took = time.monotonic() - began
    cpu = usage(daemon.pid)[0] - begin_cpu
    counts = {}
    for i in range(a.runs):
        with open("%s/r%d/said" % (work, i)) as f:
            counts["r%d" % i] = json.loads(f.read() or '{"processes": 0}')["processes"]
    for r in runs:
        r.wait()
    time.sleep(6)
    load = os.getloadavg()[1]
    testing.stop(daemon, work + "/log")
    judge(work, out, a, counts)
    execs = sum(counts.values()) + 2 * a.live
    print("# %d runs, at most %d live processes, %.0f execs/s in %.0f s, load average %.0f: skepd %.1f MiB (with its readers %.1f MiB), %.1f s CPU, %.0f us an exec"
          % (a.runs, live, execs / took, took, load, most / 2**20, most_all / 2**20, cpu, cpu / execs * 1e6))
    shutil.rmtree(work)
    sys.exit(testing.failures > 0)


main()
