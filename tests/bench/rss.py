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


def show(what, pid):
    text = open(f"/proc/{pid}/status").read()
    rss, peak, anon, file = (int(re.search(rf"^{k}:\s+(\d+) kB", text, re.M).group(1)) / 1024
                             for k in ("VmRSS", "VmHWM", "RssAnon", "RssFile"))
    smaps = open(f"/proc/{pid}/smaps").read()
    maps = sum(map(int, re.findall(r" anon_inode:bpf-map\n(?:.*\n)*?Rss:\s+(\d+) kB", smaps))) / 1024
    print(f"| {what} | {rss:.1f} | {anon:.1f} | {file - maps:.1f} | {maps:.1f} | {peak:.1f} |", flush=True)


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
    skepd = subprocess.Popen([os.environ["SKEPD"], "-f", "-c", f"{work}/conf"], stdin=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    time.sleep(14 if what == "storm" else 26)
    if what == "storm":
        subprocess.run([f"{cost.EXACT}/storm", f"{cost.EXACT}/tiny", "2000", os.environ.get("SECONDS_", "60")], check=True,
                       stdout=subprocess.DEVNULL)
        show("end of the storm", skepd.pid)
        time.sleep(12)
    assert skepd.poll() is None, "skepd ended"
    show("after the storm" if what == "storm" else f"{int(what):,} live processes" if int(what) else "idle", skepd.pid)
    skepd.terminate()
    skepd.wait()
    if many:
        many.stdin.close()
        many.wait()
    shutil.rmtree(work, ignore_errors=True)


def main():
    probes = cost.probes_of(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../etc/skepd.conf"))
    print("| MiB | resident | anonymous | files | maps | peak |")
    print("| --- | --: | --: | --: | --: | --: |")
    for what in sys.argv[1:] or ["0", "20000", "storm"]:
        measure(what, probes)


main()
