# SPDX-License-Identifier: Apache-2.0
# tests/e2e/testing.py - shared by Python programs of tests: verdicts, and the start and the end of a skepd.
import atexit
import os
import subprocess
import sys
import time

SKEPD = os.environ.get("SKEPD", "skepd")
APPROX_COUNTERS = 2  # core/process/records.h
failures = 0


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


def wait_for(daemon, log, words, count=1, seconds=30):
    end = time.monotonic() + seconds
    while text(log).count(words) < count:
        if daemon.poll() is not None or time.monotonic() > end:
            sys.exit("FAIL - skepd does not say '%s':\n%s" % (words, text(log)[-3000:]))
        time.sleep(0.02)


def start(conf, log, *options, seconds=30):
    """A skepd that collects. Its log may already have the lines of earlier ones."""
    with open(log, "a") as f:
        earlier = text(log).count(" collects: ")
        daemon = subprocess.Popen([SKEPD, *options, "-c", conf], stdout=subprocess.DEVNULL, stderr=f)
    atexit.register(lambda: (daemon.kill(), daemon.wait()))  # also when a check ends this program
    wait_for(daemon, log, " collects: ", earlier + 1, seconds)
    return daemon


def stop(daemon, log):
    daemon.terminate()
    if daemon.wait(60) != 0:
        sys.exit("FAIL - skepd: status %d\n%s" % (daemon.returncode, text(log)[-3000:]))
