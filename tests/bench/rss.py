#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/rss.py [N ...] [storm] - memory of skepd in the configuration that the package installs (nine probes,
spool, lake; no pins): with N live processes, and after a storm (default: 0 20000 storm).

Environment: SKEPD, SKEP_PLUGIN_DIRS, BENCH_BIN (where `many` is), EXACT_BIN (storm, tiny), SECONDS_ (60, of the storm).
Root.  The live processes are there before skepd starts (its start-up snapshot reads them); after 26 s, four intervals,
the script reads /proc/PID/status.  The storm executes 2,000 programs a second; `after` is 12 s after its end.

resident   VmRSS: the three next to it
anonymous  RssAnon: what skepd allocated, stacks, and data that it has written
files      RssFile, less the maps: code and constants, most of them in the page cache for others too
maps       rings and counters of the kernel that skepd has mapped; the kernel's memory, not allocated by skepd
start      seconds from its exec until it says that it collects, when it knows all live processes; and its CPU time
           until then. "again": a skepd that was ended and finds what the first one saved

Other processes that start or end on the machine meanwhile cost skepd memory, too.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import cost


def started(work):
    """Starts skepd: (process, seconds until it collects, its CPU seconds until then)."""
    began, log = time.monotonic(), f"{work}/log"
    with open(log, "w") as out:
        skepd = subprocess.Popen([os.environ["SKEPD"], "-f", "-c", f"{work}/conf"], stdin=subprocess.DEVNULL, stderr=out)
    while " collects: " not in open(log).read():
        assert skepd.poll() is None, "skepd ended"
        time.sleep(0.01)
    took = time.monotonic() - began
    ticks = open(f"/proc/{skepd.pid}/stat").read().rsplit(")", 1)[1].split()
    return skepd, took, (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


def show(what, pid, start=None):
    text = open(f"/proc/{pid}/status").read()
    rss, peak, anon, file = (int(re.search(rf"^{k}:\s+(\d+) kB", text, re.M).group(1)) / 1024
                             for k in ("VmRSS", "VmHWM", "RssAnon", "RssFile"))
    smaps = open(f"/proc/{pid}/smaps").read()
    maps = sum(map(int, re.findall(r" anon_inode:bpf-map\n(?:.*\n)*?Rss:\s+(\d+) kB", smaps))) / 1024
    start = f"{start[1]:.2f} s, {start[2]:.2f} s CPU" if start else ""
    print(f"| {what} | {rss:.1f} | {anon:.1f} | {file - maps:.1f} | {maps:.1f} | {peak:.1f} | {start} |", flush=True)


def measure(what, probes):
    work, many = tempfile.mkdtemp(prefix="skep-rss.", dir="/var/tmp"), None
    if what != "storm" and int(what):
        many = subprocess.Popen([f"{cost.BIN}/many", what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                start_new_session=True)
        assert many.stdout.readline().split() == ["ready", what], "could not start that many processes"
    with open(f"{work}/conf", "w") as f:
        json.dump({"interval": "5s", "probes": probes, "spool": {"path": f"{work}/spool.db"},
                   "control": {"socket": f"{work}/socket"},
                   "sinks": [{"plugin": "lake", "path": f"{work}/lake"}]}, f)
    start = started(work)
    skepd = start[0]
    time.sleep(14 if what == "storm" else 26)
    if what == "storm":
        subprocess.run([f"{cost.EXACT}/storm", f"{cost.EXACT}/tiny", "2000", os.environ.get("SECONDS_", "60")], check=True,
                       stdout=subprocess.DEVNULL)
        show("end of the storm", skepd.pid)
        time.sleep(12)
    assert skepd.poll() is None, "skepd ended"
    live = f"{int(what):,} live processes" if what != "storm" and int(what) else None
    show("after the storm" if what == "storm" else live or "idle", skepd.pid, start)
    skepd.terminate()
    skepd.wait()
    if live:
        start = started(work)
        time.sleep(26)
        show(f"again, {live}", start[0].pid, start)
        start[0].terminate()
        start[0].wait()
    if many:
        many.stdin.close()
        many.wait()
    shutil.rmtree(work, ignore_errors=True)


def main():
    probes = cost.probes_of(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../etc/skepd.conf"))
    print("| MiB | resident | anonymous | files | maps | peak | start |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    for what in sys.argv[1:] or ["0", "20000", "storm"]:
        measure(what, probes)


main()
