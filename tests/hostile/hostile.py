# SPDX-License-Identifier: Apache-2.0
# tests/hostile/hostile.py WORK - the program of hostile.sh.
import atexit
import collections
import glob
import json
import os
import socket
import sqlite3
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
import testing  # noqa: E402
from testing import check  # noqa: E402

work = sys.argv[1]
exact = os.environ["EXACT_BIN"]
program = os.environ["HOSTILE_BIN"] + "/hostile"
sanitized = bool(os.environ.get("SKEP_SANITIZE"))
seconds = int(os.environ.get("HOSTILE_SECONDS", "20"))
rate = int(os.environ.get("RATE", "50" if sanitized else "100"))
NOBODY = 65534
MIB = 1 << 20
# A user may fill a quarter of the lake with whole and a sixteenth with cut records: so the tricks of ten minutes do not
# push out the records that the test counts.
LAKE_BYTES, SPOOL_BYTES, LOG_BYTES = 2048 * MIB, 64 * MIB, 4 * MIB
MEMORY_BYTES = 256 * MIB  # of a build without sanitizers

conf = work + "/skepd.conf"
sock = work + "/s.sock"
log_path = work + "/log"
json.dump({"interval": "500ms", "process_interval": "1s", "pin_dir": work + "/bpf/skep", "control": {"socket": sock},
           "spool": {"path": work + "/spool.db", "reserve": 0, "max_bytes": SPOOL_BYTES},
           # A ring for ten seconds of this load: a busy host may take so long to start skepd again after the kill.
           "probes": [{"plugin": "proc", "ring": "16MiB", "environ": ["SKEP_TASK", "TRACEPARENT"]}] + [{"plugin": p} for p in ("cgroup", "sched", "net", "io", "host")],
           "sinks": [{"plugin": "lake", "path": work + "/lake", "max_bytes": LAKE_BYTES, "min_free": 0}, {"plugin": "file", "path": work + "/records.ndjson"}]}, open(conf, "w"))


def ask(request, timeout=testing.PATIENCE):
    """The answer of the control socket, and the seconds that it took."""
    began = time.monotonic()
    s = socket.socket(socket.AF_UNIX)
    # Like skep, this waits where the tricks have filled the backlog; connect() of a socket that does not block says
    # EAGAIN.
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", timeout, 0))
    try:
        s.connect(sock)
        s.settimeout(timeout)
        s.sendall(json.dumps(request).encode() + b"\n")
        data = b""
        while not data.endswith(b"\n"):
            more = s.recv(1 << 20)
            if not more:
                break
            data += more
    finally:
        s.close()
    return json.loads(data), time.monotonic() - began


def memory(pid):
    for line in open("/proc/%d/status" % pid):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def size(pattern):
    return sum(os.stat(f).st_blocks * 512 for f in glob.glob(work + pattern))


def rows(sql):
    found = []
    for path in glob.glob(work + "/lake/*.db"):
        db = sqlite3.connect(path)
        db.text_factory = bytes
        found += db.execute(sql).fetchall()
        db.close()
    return found


def start():
    d = testing.start(conf, log_path)
    os.chmod(sock, 0o777)  # the file's mode would keep the hostile user out; with this mode skepd has to check the connecting user
    return d


def losses():
    """by stream and place, as the records say"""
    sums = collections.Counter()
    with open(work + "/records.ndjson", "rb") as f:
        for line in f:
            if b'"stream":"loss"' in line:
                r = json.loads(line)
                sums[r["loss.stream"], r["where"]] += r["count"]
    return dict(sums)


daemon = start()

tricks = os.environ.get("TRICKS", "").split() or subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
players = []
for trick in tricks:
    stage = os.fsencode("%s/stage-%s" % (work, trick)) + b"\xff\n\x1b[2J"  # the working directory of a run, too
    os.mkdir(stage)
    os.chown(stage, NOBODY, NOBODY)
    p = subprocess.Popen(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--pdeathsig", "KILL", program, trick,
                          str(seconds), stage, sock],
                         start_new_session=True, cwd=stage, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(p.kill)
    players.append((trick, p))
storm = subprocess.Popen([exact + "/storm", exact + "/tiny", str(rate), str(seconds)], stdout=subprocess.PIPE, text=True, start_new_session=True)
atexit.register(storm.kill)

slowest, most, records, kill_at = 0.0, 0, 0, time.monotonic() + seconds / 2
end = time.monotonic() + seconds + testing.PATIENCE
while storm.poll() is None and time.monotonic() < end:
    try:
        status, took = ask({"request": "status"})
    except (OSError, ValueError) as why:
        check("skepd answers", False, why)
        break
    slowest = max(slowest, took)
    most = max(most, memory(daemon.pid))
    if kill_at and time.monotonic() > kill_at:  # the next skepd has to accept its saved state
        daemon.kill()
        daemon.wait()
        daemon, kill_at = start(), None
    time.sleep(0.2)
truth = json.loads(storm.communicate()[0])
for trick, p in players:
    try:
        check("trick %s ran to its end" % trick, p.wait(testing.PATIENCE) == 0, p.returncode)
    except subprocess.TimeoutExpired:
        p.kill()
        check("trick %s ran to its end" % trick, False, "it hangs")
if not sanitized:
    check("skepd's memory stays below %d MiB" % (MEMORY_BYTES // MIB), most < MEMORY_BYTES, "%.1f MiB" % (most / MIB))

TINY = "SELECT pid, start_boot_ns, image, run, argv FROM proc JOIN dict ON dict.id = proc.exe WHERE CAST(dict.s AS BLOB) = CAST('%s' AS BLOB)" % os.path.realpath(exact + "/tiny")
# skepd waits ten seconds for an exit event that the kernel skipped (core/process/track_wait.c)
testing.until(lambda: len(rows(TINY)) >= truth["processes"])
status, _ = ask({"request": "status"})
daemon.terminate()
check("skepd ends with 0", daemon.wait(testing.PATIENCE) == 0, daemon.returncode)

found = rows(TINY)
keys = collections.Counter(r[:3] for r in found)
# With sanitizers the next skepd starts so slowly that the hostile user can fill the ring: then the kernel side counts.
counted = losses()
check("each of the other user's %d processes has its record" % truth["processes"],
      len(keys) <= truth["processes"] <= len(keys) + (counted.get(("process.exec", "kernel"), 0) if sanitized else 0),
      (len(keys), counted))
check("and only one", max(keys.values(), default=0) == 1)
check("with their arguments", all(r[4].rstrip(b"\0").split(b"\0")[1:] == [b"one", b"two", b"--three=3"] for r in found),
      [r[4] for r in found][:3])
theirs = rows("SELECT DISTINCT run FROM proc WHERE uid = %d" % NOBODY)
check("no process of the hostile user is in the other user's run", theirs and not {r[3] for r in found} & {r[0] for r in theirs})
check("all in one run, across the kill", len({r[3] for r in found}) == 1, collections.Counter(r[3] for r in found))
bad = [s for s in status["streams"] if s["seen"] != s["delivered"] + s["filtered"] + sum(s["lost"].values()) + s["pending"]]
check("seen = delivered + filtered + lost + pending, of each stream to each sink", not bad, bad)
check("disk: lake", size("/lake/*") < LAKE_BYTES + LAKE_BYTES // 64 + 64 * MIB, size("/lake/*"))
check("disk: spool", size("/spool.db*") < SPOOL_BYTES + 16 * MIB, size("/spool.db*"))
check("disk: log", size("/log") < LOG_BYTES, size("/log"))
bad = []
with open(work + "/records.ndjson", "rb") as f:
    for line in f:
        records += 1
        try:
            json.loads(line.decode("utf-8"))
        except ValueError as why:
            bad.append((why, line))
# The kill may have left half a line, which the next skepd ended; the batch came again (sinks/file/README.md).
if len(bad) == 1:
    with open(work + "/records.ndjson", "rb") as f:
        bad = [] if any(line.startswith(bad[0][1][:-1]) and line != bad[0][1] for line in f) else bad
check("each of %d lines of the file is JSON in UTF-8" % records, not bad, [(why, line[:200]) for why, line in bad[:3]])
bad = [line for line in open(log_path, "rb").read().split(b"\n") if any(c < 32 and c != 9 for c in line) or line.startswith(b"skepd: error: forged")]
check("no name forges a line of the log or reaches a terminal raw", not bad, bad[:3])
subprocess.run([testing.SKEPD, "--unpin", "-c", conf], capture_output=True)
print("# %d s of %d tricks beside %d processes at %d/s: slowest answer %.0f ms, most memory %.1f MiB, lake %.1f MiB, spool %.1f MiB, log %.0f kB, %d records" % (
    seconds, len(tricks), truth["processes"], rate, slowest * 1000, most / MIB, size("/lake/*") / MIB, size("/spool.db*") / MIB, size("/log") / 1024, records))
sys.exit(testing.failures > 0)
