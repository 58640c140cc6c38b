# SPDX-License-Identifier: Apache-2.0
# tests/e2e/payer.py WORK - the program of payer.sh.
import ctypes
import glob
import json
import os
import sqlite3
import sys

import testing
from testing import check

work = sys.argv[1]
OWNER, OTHER, FIRST, COUNT = 65001, 65002, 300000, 900  # the owner's subordinate uids: 300000 to 300899
CLONE_NEWUSER = 0x10000000
ARGUMENT = 30000
libc = ctypes.CDLL(None, use_errno=True)

conf = {"interval": "500ms", "spool": {"path": work + "/spool.db"}, "probes": [{"plugin": "proc", "ring": "64MiB"}],
        "sinks": [{"plugin": "lake", "path": work + "/lake", "max_bytes": "64MiB", "max_share": 0, "min_free": 0},
                  {"plugin": "file", "path": work + "/records.ndjson"}]}
json.dump(conf, open(work + "/conf", "w"))


def rows(sql):
    found = []
    for path in glob.glob(work + "/lake/*.db"):
        db = sqlite3.connect(path)
        found += db.execute(sql).fetchall()
        db.close()
    return found


def executes(uid, argument):
    pid = os.fork()
    if pid == 0:
        try:
            os.setresuid(uid, uid, uid)
            os.execv("/bin/true", ["true", argument])
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def container():
    """A process of the owner in a user namespace with 900 uids, as podman makes it; each of these executes once."""
    asks, answers = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setresgid(OWNER, OWNER, OWNER)
        os.setresuid(OWNER, OWNER, OWNER)
        made = libc.unshare(CLONE_NEWUSER) == 0
        os.write(asks[1], b"y" if made else b"n")
        os.read(answers[0], 1)
        failed = 0
        for i in range(COUNT):
            failed += executes(1 + i, "%05d" % i + "x" * (ARGUMENT - 5)) != 0
        os._exit(failed != 0)
    if os.read(asks[0], 1) != b"y":
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        print("skip: this machine permits no user namespaces")
        sys.exit(77)
    with open("/proc/%d/uid_map" % pid, "w") as f:
        f.write("0 %d 1\n1 %d %d\n" % (OWNER, FIRST, COUNT))
    os.write(answers[1], b"y")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


daemon = testing.start(work + "/conf", work + "/log")
check("each subordinate uid executes a program", container() == 0)
executes(OTHER, "y" * ARGUMENT)
testing.recorded(work + "/records.ndjson")
daemon.terminate()
check("skepd ends with 0", daemon.wait(testing.PATIENCE) == 0, daemon.returncode)

found = rows("SELECT uid, length(argv), argv_total FROM proc WHERE argv_total > %d" % ARGUMENT)
theirs = [r for r in found if FIRST <= r[0] < FIRST + COUNT]
whole = [r[1] for r in theirs if r[1] == r[2]]
check("their processes have %d uids" % COUNT, len({r[0] for r in theirs}) == COUNT, len(theirs))
# The budget is a quarter of 64 MiB.
check("together they have one budget: about 16 MiB of arguments, then cut ones",
      12 << 20 < sum(whole) < 20 << 20 and len(whole) < len(theirs), (sum(whole), len(whole), len(theirs)))
check("another user's arguments are whole", [r[1] == r[2] for r in found if r[0] == OTHER] == [True], found[-3:])
sys.exit(testing.failures > 0)
