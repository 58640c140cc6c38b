# SPDX-License-Identifier: Apache-2.0
# tests/e2e/testing.py - shared by Python programs of tests: verdicts, waits, and the start and the end of a skepd.
import atexit
import contextlib
import itertools
import json
import os
import sqlite3
import subprocess
import sys
import time

SKEPD = os.environ.get("SKEPD", "skepd")
APPROX_COUNTERS = 2  # core/process/records.h
# A wait judges no speed: it ends only a hang (tests/wait.sh).
PATIENCE = 120 * int(os.environ.get("SKEP_TEST_PATIENCE", 1))
failures = 0
marks = itertools.count()


def check(what, good, why=""):
    global failures
    if good:
        print("ok -", what, flush=True)
    else:
        failures += 1
        print("FAIL -", what, why, flush=True)


def text(path):
    with open(path, errors="replace") as f:
        return f.read()


def preempts():
    """Does this kernel put another task on the CPU in the middle of a BPF program? It skips the program for that task, and
    counts it."""
    try:
        return any(word in text("/sys/kernel/debug/sched/preempt") for word in ("(full)", "(lazy)"))
    except OSError:
        return False


def until(good, what=""):
    """Waits until good() is true, and returns its value. After a hang: a value that is not true, or the program ends with what."""
    end = time.monotonic() + PATIENCE
    while not (value := good()) and time.monotonic() < end:
        time.sleep(0.05)
    if not value and what:
        sys.exit("FAIL - waited too long: " + what)
    return value


def saved(spool, words):
    """The saved state in the spool has the words: skepd saves there which processes live. Its chunks are zstd frames."""
    try:
        with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % spool, uri=True)) as db:
            chunks = [body for body, in db.execute("SELECT body FROM chunk")]
    except sqlite3.OperationalError:  # skepd has not made it yet
        return False
    return any(words.encode() in subprocess.run(["zstd", "-dcq"], input=body, stdout=subprocess.PIPE).stdout for body in chunks)


def records(path, stream=None):
    """The whole lines of a sink's file."""
    found = [json.loads(line) for line in text(path).splitlines(True) if line.endswith("\n")] if os.path.exists(path) else []
    return [r for r in found if stream in (None, r["stream"])]


def recorded(path):
    """Runs a program and waits for its record: skepd has read the events until then."""
    mark = "mark %d %d" % (os.getpid(), next(marks))
    subprocess.run(["/bin/true", mark], check=True)
    until(lambda: os.path.exists(path) and mark in text(path), "the record of '%s' in %s" % (mark, path))


def wait_for(daemon, log, words, count=1):
    until(lambda: text(log).count(words) >= count or daemon.poll() is not None)
    if text(log).count(words) < count:
        sys.exit("FAIL - skepd does not say '%s':\n%s" % (words, text(log)[-3000:]))


def start(conf, log, *options, within=()):
    """A skepd that collects. Its log may already have the lines of earlier ones. within: a program that starts it."""
    with open(log, "a") as f:
        earlier = text(log).count(" collects: ")
        daemon = subprocess.Popen([*within, SKEPD, *options, "-c", conf], stdout=subprocess.DEVNULL, stderr=f)
    atexit.register(lambda: (daemon.kill(), daemon.wait()))  # also when a check ends this program
    wait_for(daemon, log, " collects: ", earlier + 1)
    return daemon


def stop(daemon, log):
    daemon.terminate()
    if daemon.wait(PATIENCE) != 0:
        sys.exit("FAIL - skepd: status %d\n%s" % (daemon.returncode, text(log)[-3000:]))
