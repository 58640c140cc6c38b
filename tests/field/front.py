#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""front.py - what `skep run` passes between its caller and CMD: the end by a signal, stops, limits, orphans, and what a
process inherits. Each answer is compared with the answer without skep.

Environment: SKEP, SKEP_PLUGIN_DIRS. Argument: a folder to work in. Prints a line per check.
"""
import ctypes
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
OWN = ("skep: keeper", "witness: signal")  # processes of skep itself
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
    return [int(line.split()[0]) for line in lines if line.split(" ", 1)[1] not in OWN]


def same(what, argv, within=()):
    """Runs the command without skep and behind it, in the surroundings that the programs `within` make. Compares its
    output and its status as waitpid() gives it."""
    seen = []
    for before in ([], [*BEHIND, "--"]):
        done = subprocess.run([*within, *before, *argv], capture_output=True, text=True, timeout=5 * PATIENCE)
        seen.append((done.returncode, done.stdout, done.stderr))
    check(seen[0] == seen[1], what, f"without skep: {seen[0]}; behind it: {seen[1]}")


def ends_by_signal():
    for number in (1, 2, 3, 6, 9, 11, 13, 15, 31, 34):
        same(f"CMD dies of signal {number}: so does skep", ["bash", "-c", f"ulimit -c 0; kill -{number} $$"])
    # skep itself leaves no core dump
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os.chdir(WORK)
        os.execv(SKEP, [*BEHIND, "--", "bash", "-c", "ulimit -c 0; kill -SEGV $$"])
    _, status = os.waitpid(pid, 0)
    check(os.WIFSIGNALED(status) and os.WTERMSIG(status) == 11 and not os.WCOREDUMP(status),
          "CMD dies of SIGSEGV: skep dumps no core", hex(status))
    report = WORK + "/signal.json"
    done = subprocess.run([SKEP, "run", "--lake", WORK + "/lake", "--json", report, "--", "sh", "-c", "kill -TERM $$"],
                          capture_output=True, text=True)
    check(done.returncode == -15 and "SIGTERM" in done.stderr, "the report is printed before", repr(done))
    check(json.load(open(report))["run"]["signal"] == 15, "the report says which signal")
    done = subprocess.run(["sh", "-c", '"$@"; echo $?', "sh", *BEHIND, "--", "sh", "-c", "kill -TERM $$"],
                          capture_output=True, text=True)
    check(done.stdout == "143\n", "a shell sees 128 and the signal", repr(done))
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", *BEHIND, "--", "sh", "-c", "kill -TERM $$"],
                          capture_output=True, text=True)
    check(done.returncode == 143, "as process 1, which no signal can end: 128 and the signal", repr(done))


def stops():
    """SIGTSTP, SIGCONT and SIGSTOP to one of the two alone."""
    ticks = WORK + "/ticks"
    # a group of its own: the kernel stops no process of an orphaned group
    job = subprocess.Popen([*BEHIND, "--", "sh", "-c", f"while :; do echo >>{ticks}; sleep 0.05; done"],
                           preexec_fn=os.setpgrp)
    until(lambda: os.path.exists(ticks), "CMD does not start")
    try:
        (command,) = children_of(job.pid)
        os.kill(job.pid, signal.SIGTSTP)
        until(lambda: state_of(command) == "T", "SIGTSTP to skep does not stop CMD")
        _, status = os.waitpid(job.pid, os.WUNTRACED)
        check(os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTSTP,
              "SIGTSTP to skep alone: CMD stops, and the caller sees a stop", hex(status))
        os.kill(job.pid, signal.SIGCONT)
        until(lambda: state_of(command) != "T", "SIGCONT to skep does not continue CMD")
        check(True, "SIGCONT to skep alone: CMD goes on")
        os.kill(command, signal.SIGSTOP)
        until(lambda: state_of(command) == "T", "SIGSTOP does not stop CMD")
        os.kill(command, signal.SIGCONT)
        os.kill(job.pid, signal.SIGTERM)
        check(job.wait(PATIENCE) == -15, "CMD stopped and continued by another program: skep follows its end", job.returncode)
    finally:
        if job.returncode is None:
            os.killpg(job.pid, signal.SIGKILL)


LISTEN = """import os, signal, sys
def heard(number, _):
    os.write(file, b"%d\\n" % number)
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for number in (1, 2, 3, 10, 12, 15, 34):
    signal.signal(number, heard)
os.write(file, b"ready\\n")
while True:
    signal.pause()
"""


def once():
    """CMD gets a signal once: from skep, or from the sender of a signal for its whole group."""
    said = WORK + "/heard"
    job = subprocess.Popen([*BEHIND, "--", "python3", "-c", LISTEN, said], preexec_fn=os.setpgrp)
    heard = lambda: open(said).read().split() if os.path.exists(said) else []
    try:
        until(lambda: heard() == ["ready"], "CMD does not begin")
        listed = subprocess.run(["pgrep", "-g", str(job.pid)], capture_output=True, text=True).stdout.split()
        for what, numbers, send in (("skep alone", (1, 2, 3, 10, 12, 15), lambda n: os.kill(job.pid, n)),
                                    ("its group", (1, 2, 3, 10, 12, 15), lambda n: os.killpg(job.pid, n)),
                                    ("each process, one by one", (1, 2, 3, 15), lambda n: [os.kill(int(p), n) for p in listed])):
            for number in numbers:
                open(said, "w").close()
                send(number)
                until(lambda: str(number) in heard(), f"signal {number} to {what}")
                os.kill(job.pid, 34)  # skep passes it on after the first
                until(lambda: "34" in heard(), f"signal 34 after {number}")
                check(sorted(heard()) == sorted([str(number), "34"]), f"signal {number} to {what}: CMD gets it once", heard())
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def from_outside():
    """Signals from outside to skep as process 1 of a pid namespace, as by `docker stop`: their sender has no pid inside."""
    said = WORK + "/heard-inside"
    inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *BEHIND, "--"]
    heard = lambda: open(said).read().split() if os.path.exists(said) else []
    job = subprocess.Popen([*inside, "python3", "-c", LISTEN, said])
    try:
        until(lambda: heard() == ["ready"], "CMD does not begin")
        (first,) = children_of(job.pid)
        listed = subprocess.run(["pgrep", "-P", str(first)], capture_output=True, text=True).stdout.split()
        everybody = [first, *map(int, listed)]
        for what, numbers, send in (("skep alone", (1, 2, 3, 10, 12, 15), lambda n: os.kill(first, n)),
                                    ("each process, one by one", (1, 2, 3, 15), lambda n: [os.kill(p, n) for p in everybody])):
            for number in numbers:
                open(said, "w").close()
                send(number)
                until(lambda: str(number) in heard(), f"signal {number} from outside to {what}")
                os.kill(first, 34)  # skep passes it on after the first
                until(lambda: "34" in heard(), f"signal 34 after {number}")
                check(sorted(heard()) == sorted([str(number), "34"]), f"signal {number} from outside to {what}: CMD gets it once",
                      heard())
    finally:
        job.kill()
        job.wait()
    begun = WORK + "/begun-inside"
    job = subprocess.Popen([*inside, "sh", "-c", f"echo >{begun}; exec tail -f /dev/null"])
    try:
        until(lambda: os.path.exists(begun), "CMD does not begin")
        (first,) = children_of(job.pid)
        os.kill(first, signal.SIGTERM)
        check(job.wait(PATIENCE) == 143, "docker stop: CMD ends by SIGTERM, and process 1 exits with 143", job.returncode)
    finally:
        job.kill()
        job.wait()


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


BORN = WORK + "/born"
ORPHANS = f"for i in 1 2 3 4 5; do (sh -c 'echo >>{BORN}; exit 3' &) ; done; "


def zombies_of(pid):
    listed = subprocess.run(["ps", "-o", "stat=,comm=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [line for line in listed.splitlines() if line.startswith("Z")]


def orphans():
    report = WORK + "/orphans.json"
    libc = ctypes.CDLL(None)
    for what, before in (("a subreaper", []), ("process 1", ["unshare", "--pid", "--fork", "--mount-proc"])):
        go = WORK + "/go"
        os.mkfifo(go)
        open(BORN, "w").close()
        job = subprocess.Popen([*before, *BEHIND, "--json", report, "--", "sh", "-c", f"{ORPHANS} read x <{go}; exit 4"],
                               preexec_fn=None if before else lambda: libc.prctl(36, 1, 0, 0, 0))
        parent = job.pid
        if before:
            until(lambda: children_of(job.pid), "unshare starts nothing")
            (parent,) = children_of(job.pid)
        # the five are skep's children, end, and are reaped; the shell remains
        try:
            until(lambda: len(open(BORN).read()) == 5 and len(children_of(parent)) == 1 and
                  children_of(children_of(parent)[0]) == [], "orphans that skep does not reap")
        except TimeoutError:
            pass
        check(zombies_of(parent) == [], f"skep as {what}: no orphan stays a zombie", zombies_of(parent))
        with open(go, "w") as file:
            file.write("go\n")
        check(job.wait() == 4, f"skep as {what}: CMD's status", job.returncode)
        os.unlink(go)
        ended = [p["state"] for p in json.load(open(report))["processes"] if p["exit_code"] == 3 and p["last"]]
        check(ended == ["exited"] * 5, f"skep as {what}: the orphans are in the report, with their status", ended)


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
    same("a pipe without a reader", ["yes"], bash("exec 1> >(true)"))
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


for test in (ends_by_signal, stops, once, from_outside, limits, task, orphans, inherited, death_of_the_caller):
    if sys.argv[2:] and test.__name__ not in sys.argv[2:]:
        continue
    try:
        test()
    except TimeoutError as error:
        check(False, test.__name__, f"waited too long: {error}")
sys.exit(failures != 0)
