#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""figures.py - figures that promise no more than they count.

Environment: SKEP, SKEPD, SKEP_PLUGIN_DIRS. Argument: a folder to work in. Prints a line per check.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
import testing
from testing import check

SKEP = os.environ["SKEP"]
WORK = sys.argv[1]
CONF, LOG, OUT = WORK + "/conf", WORK + "/log", WORK + "/out.jsonl"
MIB = 1 << 20

# Touches 200 MiB; eight forks read them, and all wait for the file.
SHARED = """
import os, sys, time
memory = bytearray(200 << 20)
for at in range(0, len(memory), 4096):
    memory[at] = 1
children = []
for i in range(8):
    pid = os.fork()
    if pid == 0:
        sum(memory[::4096])
    else:
        children.append(pid)
        continue
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.1)
    os._exit(0)
for pid in children:
    os.waitpid(pid, 0)
"""


def shared_memory():
    """Pages that processes share count once: the kernel divides each among them (PSS)."""
    json.dump({"interval": "200ms", "control": {"socket": WORK + "/ctl"}, "probes": [{"plugin": "proc", "required": True}],
               "sinks": [{"plugin": "file", "path": OUT}, {"plugin": "lake", "min_free": "0", "path": WORK + "/lake", "max_bytes": "64MiB"}]}, open(CONF, "w"))
    os.environ["SKEP_SOCKET"] = WORK + "/ctl"
    daemon = testing.start(CONF, LOG)

    def held(seconds):
        """A run that holds its memory so long after five samples: its record."""
        name, go = "shared %g" % seconds, WORK + "/go %g" % seconds
        run = subprocess.Popen([SKEP, "run", "--no-report", "--no-live", "--lake", WORK + "/lake", "--name", name, "--",
                                sys.executable, "-c", SHARED, go])
        earlier = {r["run"] for r in testing.records(OUT, "run") if r["state"] == "ended"}
        testing.until(lambda: len([r for r in testing.records(OUT, "tool.sample") if r["run"] and r["run"] not in earlier and
                                   r["processes"] >= 9 and r["rss_bytes"] > 1600 * MIB]) >= 5,
                      "samples of nine processes with 200 MiB each")
        time.sleep(seconds)
        open(go, "w").close()
        run.wait()
        return testing.until(lambda: [r for r in testing.records(OUT, "run") if r["name"] == name and r["state"] == "ended"],
                             "the run's record")[0]

    # On a busy machine the reader measures a while after the sample: a longer run then.
    hold, record = 0.1, held(0)
    while record["memory_source"] != "pss" and hold < testing.PATIENCE:
        record, hold = held(hold), 4 * hold
    memory, source = record["memory_peak_bytes"], record["memory_source"]
    check("eight forks that read 200 MiB of their parent: the run's memory is what they hold together", source == "pss" and 200 * MIB <= memory < 400 * MIB, (source, memory / MIB))
    shown = subprocess.run([SKEP, "show", "--lake", WORK + "/lake", record["run"]], stdout=subprocess.PIPE, check=True, text=True).stdout
    check("the report names the figure", "PSS peak at samples" in shown, shown)
    testing.stop(daemon, LOG)


def deleted_files():
    """The kernel counts a write when it dirties a page, and takes it back when a file goes before its pages are on a disk."""
    lake, file = WORK + "/lake2", WORK + "/scratch"
    os.environ["SKEP_SOCKET"] = WORK + "/none"
    shown = subprocess.run([SKEP, "run", "--no-live", "--lake", lake, "--", "sh", "-c", 'head -c 52428800 /dev/zero >"$0"; rm "$0"', file], stderr=subprocess.PIPE, check=True, text=True).stderr
    totals = json.loads(subprocess.run([SKEP, "show", "--json", "--lake", lake], stdout=subprocess.PIPE, check=True).stdout)["totals"]
    if totals["write_bytes"] < 50 * MIB:
        print("# %s is in memory: nothing is written" % WORK)
        return
    check("a file that is deleted before it reaches a disk: the report says so",
          totals["cancelled_write_bytes"] < 25 * MIB or "of it deleted before it reached a disk" in " ".join(shown.split()), (totals, shown))


# Threads that compute beside others, and wait for storage now and then.
WAITS = """
for i in 1 2; do (while [ ! -e "$0/end" ]; do :; done) & done
i=0
while [ $i -lt "$1" ]; do
	i=$((i + 1))
	sort -R /etc/services | gzip >"$0/packed"
	sync "$0/packed"
done
touch "$0/end"
wait
"""


def waits():
    """Since 6.12 the kernel may count a wait for storage from the boot of the machine on: 1 of 200 waits here."""
    switch, shown = "/proc/sys/kernel/task_delayacct", WORK + "/waits.json"
    if not os.path.exists(switch):
        print("# this kernel switches delay accounting on for ever, or not at all")
        return
    before = open(switch).read()
    with open(switch, "w") as f:
        f.write("1")
    try:
        subprocess.run([SKEP, "run", "--no-live", "--no-report", "--lake", WORK + "/lake3", "--json", shown, "--", "sh", "-c", WAITS,
                        WORK, os.environ.get("WAITS", "300")], check=True)
    finally:
        with open(switch, "w") as f:
            f.write(before)
    report = json.load(open(shown))
    waited = [p for p in report["processes"] if p["block_delay_ns"]]
    impossible = [p for p in waited if p["block_delay_ns"] > p["wall_ns"] + MIB]
    check("no process of one thread waits for storage for longer than it lives", not impossible, (len(waited), impossible[:3]))
    check("the run waits for no longer than its processes live",
          report["totals"]["block_delay_ns"] <= sum(p["wall_ns"] or 0 for p in report["processes"]), report["totals"])


shared_memory()
deleted_files()
waits()
sys.exit(testing.failures != 0)
