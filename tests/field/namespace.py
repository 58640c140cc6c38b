#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""namespace.py - `skep run` gives the same report inside a namespace of each kind as outside. A child that clone()
gives to another process (CLONE_PARENT) belongs to the run of the process that made it.

Environment: SKEP, SKEPD, SKEP_PLUGIN_DIRS. Argument: a folder to work in, which has the program `clone`. Prints a line
per check.
"""
import datetime
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
REPORT = WORK + "/report.json"
LOOP = ["sh", "-c", 'for i in 1 2 3; do sh -c "exit 3$i"; done; sleep .3']
BEHIND = [SKEP, "run", "--no-report", "--no-live", "--json", REPORT]
OWN = ["--lake", WORK + "/lake"]


def shape(report):
    """A report's processes, without the numbers that differ by run."""
    names = {p["pid"]: p["argv"] for p in report["processes"]}
    return sorted((p["argv"], p["exit_code"], p["state"], names.get(p["ppid"]), p["exe"], p["cwd"], p["uid"],
                   p["cgroup"], p["tool"]) for p in report["processes"] if p["last"])


def run(before, argv):
    if os.path.exists(REPORT):
        os.unlink(REPORT)
    began = time.time()
    done = subprocess.run([*before, *BEHIND, *OWN, "--", *argv], capture_output=True, text=True)
    took = time.time() - began
    report = json.load(open(REPORT)) if done.returncode == 0 else None
    return done, report, began, took


def namespaces():
    outside = shape(run([], LOOP)[1])
    check("outside: five processes", sorted(p[1] for p in outside) == [0, 0, 31, 32, 33], outside)
    pid = ["unshare", "--pid", "--fork"]
    ago = str(-int(min(60, time.clock_gettime(time.CLOCK_BOOTTIME) / 2)))  # no clock may begin below 0
    for what, before in (("pid, with its own /proc", [*pid, "--mount-proc"]), ("pid, with the host's /proc", pid),
                         ("pid in pid", [*pid, "--mount-proc", *pid, "--mount-proc"]),
                         ("time, later", ["unshare", "--time", "--boottime", "1000000", "--monotonic", "400000", "--fork"]),
                         ("time, earlier", ["unshare", "--time", "--boottime", ago, "--monotonic", ago, "--fork"]),
                         ("cgroup", ["unshare", "--cgroup"]), ("mount", ["unshare", "--mount"]),
                         ("network, UTS and IPC", ["unshare", "--net", "--uts", "--ipc"]),
                         ("all but user", ["unshare", "--pid", "--fork", "--mount-proc", "--time", "--boottime", "5000",
                                           "--cgroup", "--mount", "--net", "--uts", "--ipc"])):
        done, report, began, took = run(before, LOOP)
        found = report and shape(report)
        check(f"{what}: the processes of the same run outside", done.returncode == 0 and found == outside,
              f"{done.returncode} {done.stderr} {found}, outside {outside}")
        if not report:
            continue
        begins = [datetime.datetime.fromisoformat(x["start"]).timestamp() - began
                  for x in [report["run"], *report["processes"]]]
        check(f"{what}: the run and its processes begin when they begin, and it takes as long as it takes",
              -0.1 < min(begins) and max(begins) < took and 0.3 <= report["run"]["wall_ns"] / 1e9 <= took,
              (begins, report["run"], took))
    done = run(["unshare", "--user", "--map-root-user"], ["touch", WORK + "/ran"])[0]
    check("user: skep says why it cannot record, and the command does not start",
          done.returncode == 4 and "user namespace" in done.stderr and not os.path.exists(WORK + "/ran"), done)


def clones(options, what, report):
    """report(): of the run that has just ended."""
    go = WORK + "/go"
    os.mkfifo(go)
    job = subprocess.Popen([*BEHIND, *options, "--", WORK + "/clone", go])
    with open(go, "w") as file:  # clone has waited for its children, and opens its end
        file.write("go\n")
    job.wait()
    os.unlink(go)
    check(f"{what}: the status of a thread that became the process", job.returncode == 46, job.returncode)
    report = report()
    codes = sorted(p["exit_code"] for p in report["processes"] if p["last"])
    check(f"{what}: each process that clone() makes is in the run once", codes == [0, 41, 42, 43, 44, 45, 46], codes)
    bare = [p for p in report["processes"] if p["last"] and p["exit_code"] == 42]
    check(f"{what}: a child that executes nothing has the program of the process that made it",
          [p["exe"] for p in bare] == [WORK + "/clone"], bare)


DAEMONS = ["--lake", WORK + "/daemon-lake"]  # skep lets the skepd of that lake record
CONF, LOG = WORK + "/conf", WORK + "/log"


def beside_skepd():
    json.dump({"interval": "200ms", "control": {"socket": WORK + "/ctl"},
               "probes": [{"plugin": "proc", "required": True}],
               "sinks": [{"plugin": "lake", "path": WORK + "/daemon-lake", "max_bytes": "64MiB"}]}, open(CONF, "w"))
    os.environ["SKEP_SOCKET"] = WORK + "/ctl"
    daemon = testing.start(CONF, LOG)

    def report():
        testing.stop(daemon, LOG)
        shown = subprocess.run([SKEP, "show", *DAEMONS, "--json", json.load(open(REPORT))["run"]["id"]],
                               capture_output=True, text=True)
        check("beside a skepd: it has recorded the run", shown.returncode == 0, shown)
        return json.loads(shown.stdout)

    clones(DAEMONS, "beside a skepd", report)


def skepd_inside():
    """skepd and skep run in one pid namespace, which is not the initial one."""
    script = """"$1" -c "$2" 2>"$3" & until grep -q ' collects: ' "$3" || ! kill -0 $!; do sleep .1; done
        shift 3; "$@"; echo $?; kill $!; wait $!"""
    done = subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script, "sh",
                           testing.SKEPD, CONF, LOG + ".inside", *BEHIND, *DAEMONS, "--", *LOOP], capture_output=True,
                          text=True)
    codes = done.stdout.split() == ["0"] and sorted(p["exit_code"] for p in json.load(open(REPORT))["processes"] if p["last"])
    check("beside a skepd in the same pid namespace: skep records by itself",
          codes == [0, 0, 31, 32, 33], (done, codes))


namespaces()
clones(OWN, "skep run", lambda: json.load(open(REPORT)))
beside_skepd()
skepd_inside()
sys.exit(testing.failures != 0)
