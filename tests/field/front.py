#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""front.py - what `skep run` passes between its caller and CMD: limits, and what a process inherits. Each answer is compared with the answer without skep.

Environment: SKEP, SKEP_PLUGIN_DIRS. Argument: a folder to work in. Prints a line per check.
"""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

SKEP = os.environ["SKEP"]
WORK = sys.argv[1]
PATIENCE = 60 * int(os.environ.get("SKEP_TEST_PATIENCE", "1"))
BEHIND = [SKEP, "run", "--lake", WORK + "/lake", "--no-report", "--no-live"]
failures = 0


def check(good, what, detail=""):
    global failures
    if not good:
        failures += 1
    print(f"ok - {what}" if good else f"FAIL - {what}: {detail}", flush=True)


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.05)


def state_of(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def children_of(pid):
    lines = subprocess.run(["pgrep", "-l", "-P", str(pid)], capture_output=True, text=True).stdout.splitlines()
    return [int(line.split()[0]) for line in lines if not line.endswith(" skep: keeper")]


def same(what, argv, within=()):
    """Runs the command without skep and behind it, in the surroundings that the programs `within` make. Compares its
    output and its status as waitpid() gives it."""
    seen = []
    for before in ([], [*BEHIND, "--"]):
        done = subprocess.run([*within, *before, *argv], capture_output=True, text=True, timeout=5 * PATIENCE)
        seen.append((done.returncode, done.stdout, done.stderr))
    check(seen[0] == seen[1], what, f"without skep: {seen[0]}; behind it: {seen[1]}")


def may_raise():
    """May this process raise hard limits (CAP_SYS_RESOURCE)? Some containers withhold that from root."""
    for line in open("/proc/self/status"):
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16) >> 24 & 1 == 1
    return False


def limits():
    say = "cat /proc/self/limits; exit 7"
    for limit in ("-n 20", "-S -n 20", "-f 1", "-S -f 1", "-t 5", "-v 300000", "-d 100000", "-s 256", "-u 1", "-i 0", "-l 16",
                  "-c 0"):
        report = WORK + "/limit.json"
        if os.path.exists(report):
            os.unlink(report)
        alone = subprocess.run(["bash", "-c", f"ulimit {limit}; sh -c '{say}'"], capture_output=True, text=True)
        behind = subprocess.run(["bash", "-c", f'ulimit {limit}; "$@"', "sh", *BEHIND, "--json", report, "--", "sh", "-c",
                                 say], capture_output=True, text=True)
        check((alone.returncode, alone.stdout) == (behind.returncode, behind.stdout), f"ulimit {limit}: CMD runs with that limit",
              f"without skep: {alone}; behind it: {behind}")
        if limit in ("-n 20", "-f 1") and not may_raise():
            check("records nothing" in behind.stderr, f"ulimit {limit}: no record, and skep says so", behind.stderr)
            continue
        try:
            run = json.load(open(report))
            check(run["run"]["exit_code"] == 7 and len(run["processes"]) >= 2, f"ulimit {limit}: the report is whole")
        except (OSError, ValueError) as error:
            check(False, f"ulimit {limit}: a report", error)
        check(behind.stderr == "", f"ulimit {limit}: no message", behind.stderr)


def pid_namespace():
    """In a container's pid namespace CMD has another pid than the kernel reports."""
    report = WORK + "/namespace.json"
    for what, procfs in (("its own /proc", ["--mount-proc"]), ("the host's /proc", [])):
        done = subprocess.run(["unshare", "--pid", "--fork", *procfs, *BEHIND, "--json", report, "--", "sh", "-c",
                               "/bin/true; exit 6"], capture_output=True, text=True)
        found = [(p["argv"], p["exit_code"]) for p in json.load(open(report))["processes"] if p["last"]]
        check(done.returncode == 6 and (["/bin/true"], 0) in found and len(found) == 2,
              f"a pid namespace of its own, with {what}: the report has CMD's processes", (done, found))


def bash(script):
    return ["bash", "-c", script + '; "$@"', "bash"]


def task():
    """skep run --task becomes CMD, with the limits of its caller."""
    for limit in ("-n 20", "-s 256"):
        seen = [subprocess.run(["bash", "-c", f'ulimit {limit}; "$@"', "bash", *before, "cat", "/proc/self/limits"],
                               capture_output=True, text=True) for before in ([], [SKEP, "run", "--task", "t", "--"])]
        check(seen[0].stdout == seen[1].stdout and seen[0].stdout, f"skep run --task: ulimit {limit}", seen)


def inherited():
    same("niceness, affinity, scheduler, OOM score, timer slack, umask",
         ["sh", "-c", "nice; taskset -p $$ | sed 's/.*: //'; chrt -p $$ | sed 's/.*: //'; umask; "
          "cat /proc/self/oom_score_adj /proc/self/timerslack_ns"],
         [*bash("umask 0137; echo 300 >/proc/self/oom_score_adj; echo 70000 >/proc/self/timerslack_ns"), "nice", "-n",
          "5", "taskset", "-c", "0", "chrt", "--batch", "0"])
    same("a working directory that is removed", ["sh", "-c", "ls -la; echo here"],
         bash(f"mkdir -p {WORK}/gone; cd {WORK}/gone; rmdir {WORK}/gone"))
    same("a parent-death signal", ["python3", "-c", "import ctypes\nn = ctypes.c_int()\n"
                                   "ctypes.CDLL(None).prctl(2, ctypes.byref(n), 0, 0, 0)\nprint(n.value)"],
         ["setpriv", "--pdeathsig", "TERM"])
    for name, how in (("closed standard streams", "0<&- 1<&- 2<&-"), ("a read-only stdout", "1</dev/null"),
                      ("a write-only stdin", "0>/dev/null"), ("a folder as stdin", "0</"), ("a full disk", ">/dev/full")):
        seen = []
        for before in ([], [*BEHIND, "--"]):
            out = WORK + "/streams"
            done = subprocess.run(["bash", "-c", f'"$@" {how} 7>{out}', "bash", *before, "sh", "-c",
                                   "for f in 0 1 2; do echo $f $(readlink /proc/$$/fd/$f); done >&7; exit 8"])
            seen.append((done.returncode, re.sub(r"\d{3,}", "N", open(out).read())))  # numbers of pipes
        check(seen[0] == seen[1], name, seen)


def death_of_the_caller():
    """setpriv --pdeathsig KILL skep run -- CMD: CMD ends with the caller, as without skep."""
    pid_file = WORK + "/pid"
    script = f"setpriv --pdeathsig KILL \"$@\" sh -c 'echo $$ >{pid_file}; exec sleep 600' & wait"
    caller = subprocess.Popen(["bash", "-c", script, "bash", *BEHIND, "--"])
    until(lambda: os.path.exists(pid_file) and open(pid_file).read().endswith("\n"), "CMD does not start")
    command = int(open(pid_file).read())
    caller.kill()
    caller.wait()
    try:
        until(lambda: state_of(command) in ("", "Z"), "CMD outlives its caller")
    except TimeoutError:
        os.kill(command, signal.SIGKILL)
        raise
    check(True, "a caller that dies takes CMD with it, if it has asked for that")


for test in (limits, task, pid_namespace, inherited, death_of_the_caller):
    if sys.argv[2:] and test.__name__ not in sys.argv[2:]:
        continue
    try:
        test()
    except TimeoutError as error:
        check(False, test.__name__, f"waited too long: {error}")
sys.exit(failures != 0)
