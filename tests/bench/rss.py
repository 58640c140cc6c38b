#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/rss.py [N ...] - resident memory of skepd with N live processes (default 0 1000 20000).

Environment: SKEPD, SKEP_PLUGIN_DIRS, BENCH_BIN (where `many` is).  Root.  The processes
are there before skepd starts (its start-up snapshot reads them), then it runs two
intervals.  Rss counts the ring, which is mapped twice; RssAnon is what skepd allocated.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

BIN = os.environ.get("BENCH_BIN", ".")


def status(pid):
    text = open(f"/proc/{pid}/status").read()
    return {k: int(re.search(rf"^{k}:\s+(\d+) kB", text, re.M).group(1)) / 1024 for k in ("VmRSS", "VmHWM", "RssAnon", "RssFile", "RssShmem")}


def main():
    counts = [int(a) for a in sys.argv[1:]] or [0, 1000, 20000]
    print("| live processes | RSS (MiB) | peak | anonymous | files and ring |")
    print("| --: | --: | --: | --: | --: |")
    for n in counts:
        work = tempfile.mkdtemp(prefix="skep-rss.")
        many = subprocess.Popen([f"{BIN}/many", str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert many.stdout.readline().split() == ["ready", str(n)], "could not start that many processes"
        with open(f"{work}/conf", "w") as f:
            json.dump({"interval": "2s", "probes": [{"plugin": "proc", "required": True}, {"plugin": "sched"}],
                       "sinks": [{"plugin": "lake", "path": f"{work}/lake"}]}, f)
        skepd = subprocess.Popen([os.environ["SKEPD"], "-f", "-c", f"{work}/conf"], stdin=subprocess.DEVNULL)
        time.sleep(7)
        assert skepd.poll() is None, "skepd ended"
        s = status(skepd.pid)
        print(f"| {n} | {s['VmRSS']:.1f} | {s['VmHWM']:.1f} | {s['RssAnon']:.1f} | {s['RssFile'] + s['RssShmem']:.1f} |", flush=True)
        skepd.terminate()
        skepd.wait()
        many.stdin.close()
        many.wait()
        shutil.rmtree(work, ignore_errors=True)


main()
