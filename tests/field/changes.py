#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""changes.py - what skepd reads at its start and the machine changes later.

Environment: SKEP, SKEPD, SKEP_PLUGIN_DIRS. Argument: a folder to work in. Prints a line per check.
"""
import datetime
import glob
import json
import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
import testing
from testing import check

SKEP = os.environ["SKEP"]
WORK = sys.argv[1]
CONF, LOG, OUT = WORK + "/conf", WORK + "/log", WORK + "/out.jsonl"


def ended(name):
    """The record of the run of that name, which skepd wrote at its end."""
    def found():
        return [r for r in testing.records(OUT, "run") if r["name"] == name and r["state"] != "running"]
    return testing.until(found, "the record of the run " + name)[0]


def host():
    """
    cloud-init and DHCP name a host minutes after its boot; a virtual machine gets CPUs; an administrator switches delay
    accounting. skepd has namespaces of its own, so that this host keeps its name, CPUs and switches.
    """
    json.dump({"interval": "200ms", "control": {"socket": WORK + "/ctl"},
               "probes": [{"plugin": "proc", "required": True}, {"plugin": "io", "required": True}],
               "sinks": [{"plugin": "file", "path": OUT}, {"plugin": "lake", "min_free": "0", "path": WORK + "/lake", "max_bytes": "64MiB"}]}, open(CONF, "w"))
    os.environ["SKEP_SOCKET"] = WORK + "/ctl"
    with open(WORK + "/online", "w") as f:
        f.write("0-6\n")
    for value in "01":
        with open(WORK + "/delayacct" + value, "w") as f:
            f.write(value + "\n")

    def within(*command):
        subprocess.run(["nsenter", "-t", str(daemon.pid), "--uts", "--mount", *command], check=True)

    def delays(value):
        within("mount", "--bind", WORK + "/delayacct" + value, "/proc/sys/kernel/task_delayacct")

    script = 'mount --bind "$0" /proc/sys/kernel/task_delayacct; exec "$@"'
    daemon = testing.start(CONF, LOG, within=["unshare", "--uts", "--mount", "sh", "-c", script, WORK + "/delayacct1"])
    run = [SKEP, "run", "--no-report", "--no-live", "--lake", WORK + "/lake"]  # the skepd of that lake records
    subprocess.run([*run, "--name", "before", "--", "true"], check=True)
    within("hostname", "renamed-later")
    within("mount", "--bind", WORK + "/online", "/sys/devices/system/cpu/online")
    testing.wait_for(daemon, LOG, 'this host is called "renamed-later" from now on')
    subprocess.run([*run, "--name", "after", "--", "true"], check=True)
    names = [ended(name)["host"] for name in ("before", "after")]
    check("a host gets another name: runs that end later have it", names == [socket.gethostname(), "renamed-later"], names)
    cpus = [ended(name)["cpus"] for name in ("before", "after")]
    check("a host gets CPUs: runs that end later have their number", cpus == [os.sysconf("SC_NPROCESSORS_ONLN"), 7], cpus)

    def delay():
        answer = subprocess.run([SKEP, "plugins", "io", "--json"], stdout=subprocess.PIPE, check=True).stdout
        return next(s["state"] for s in json.loads(answer)["signals"] if s["name"] == "io.delay")
    states = [delay()]
    for value, words in (("0", "kernel.task_delayacct is off now"), ("1", "kernel.task_delayacct is on again")):
        delays(value)
        testing.wait_for(daemon, LOG, words)
        states.append(delay())
    check("delay accounting is switched off, and on again: skepd says what it measures", states == ["ok", "off", "ok"], states)
    testing.stop(daemon, LOG)


def moment(text):
    """Nanoseconds since 1970 of a time as records have it."""
    whole, fraction = text.rstrip("Z").split(".")
    return int(datetime.datetime.fromisoformat(whole + "+00:00").timestamp()) * 10**9 + int(fraction.ljust(9, "0"))


def clocks(records):
    """Realtime minus boot time, by forks that execute nothing: an upid has the fork's boot time."""
    return [moment(r["start_ns"]) - int(r["upid"].split("-")[-1], 16) for r in records if r["image"] == 0]


def wall_clock():
    """
    The wall clock is set forward and back while a run goes on, and skepd restarts meanwhile. Only skepd's and skep's wall
    clock moves (libfaketime), as other programs of this host need theirs.
    """
    library = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    if not library:
        sys.exit("FAIL - libfaketime is missing; remedy: apt-get install -y faketime")
    fake, go, spool, lake = WORK + "/clock", WORK + "/go", WORK + "/spool", WORK + "/lake2"
    env = ["env", "LD_PRELOAD=" + library[0], "FAKETIME_TIMESTAMP_FILE=" + fake, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"]

    def step(hours):
        with open(fake + ".new", "w") as f:
            f.write("%+dh\n" % hours)
        os.rename(fake + ".new", fake)

    step(0)
    json.dump({"interval": "200ms", "control": {"socket": WORK + "/ctl"}, "spool": {"path": spool},
               "probes": [{"plugin": "proc", "required": True}],
               "sinks": [{"plugin": "file", "path": OUT}, {"plugin": "lake", "min_free": "0", "path": lake, "max_bytes": "64MiB"}]}, open(CONF, "w"))
    daemon = testing.start(CONF, LOG, within=env)
    run = [SKEP, "run", "--no-report", "--no-live", "--lake", lake]
    across = subprocess.Popen([*run, "--name", "across", "--", "sh", "-c", "until [ -e %s ]; do (:); sleep 0.1; done" % go])
    begun = testing.until(lambda: [r for r in testing.records(OUT, "run") if r["name"] == "across"], "the record of the run")[0]["run"]
    testing.until(lambda: [r for r in testing.records(OUT, "process.exit") if r["run"] == begun], "the first record of a process of it")
    step(1)
    subprocess.run([*run, "--name", "hour later", "--", "sh", "-c", "(:)"], check=True)
    later = ended("hour later")
    testing.stop(daemon, LOG)
    daemon = testing.start(CONF, LOG, within=env)
    step(-1)
    count = len(testing.records(OUT, "process.exit"))
    testing.until(lambda: len(testing.records(OUT, "process.exit")) > count + 4, "records of the next skepd")
    open(go, "w").close()
    across.wait()
    record = ended("across")
    mine = [r for r in testing.records(OUT, "process.exit") if r["run"] == record["run"]]
    spread = clocks(mine)
    check("the wall clock is set while a run goes on: the times of its records agree to a millisecond",
          len(spread) >= 6 and max(spread) - min(spread) < 10**6, spread)
    away = [abs(moment(t) - moment(record["start_ns"])) / 10**9 for r in [*mine, record] for t in (r["start_ns"], r["end_ns"])]
    check("the run and its processes begin and end within one hour", max(away) < 1800, away)
    ahead = clocks([r for r in testing.records(OUT, "process.exit") if r["run"] == later["run"]])
    check("a run that begins afterwards has the new time", ahead and all(abs(a - spread[0] - 3600 * 10**9) < 10**9 for a in ahead), (ahead, spread))
    testing.stop(daemon, LOG)

    # skep run that records by itself: its records about the host have the offset of the run, too
    step(0)
    os.environ["SKEP_SOCKET"] = WORK + "/none"
    script = 'sleep 1.2; echo +1h >"$0.new"; mv "$0.new" "$0"; sleep 1.5'
    subprocess.run([*env, SKEP, "run", "--no-report", "--no-live", "--lake", WORK + "/alone", "--", "sh", "-c", script, fake], check=True)
    shown = json.loads(subprocess.run([SKEP, "show", "--json", "--lake", WORK + "/alone"], stdout=subprocess.PIPE, check=True).stdout)
    parts = [shown["run"], *shown["processes"], *shown["samples"]]
    away = [abs(moment(e[t]) - moment(shown["run"]["start"])) / 10**9 for e in parts for t in ("start", "end") if t in e]
    check("skep run alone: the run, its programs and its samples are within one hour", max(away) < 1800, away)
    check("its ledger goes from its begin to its end", shown["ledger"]["interval_ns"] > 2.6 * 10**9, shown["ledger"])


host()
wall_clock()
sys.exit(testing.failures != 0)
