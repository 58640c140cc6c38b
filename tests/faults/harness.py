# SPDX-License-Identifier: Apache-2.0
# tests/faults/harness.py - shared by the scenes of spool_faults.py: skepd with a sink under test and a file beside it,
# a storm of processes whose number is known, the delay of the file, skepd's memory, and the row of the table at the
# end.
import collections
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

BUILD = os.environ.get("SKEP_BUILD", os.getcwd())
BIN = {name: os.path.join(BUILD, name) for name in ("skep", "skepd", "tests/exact/storm", "tests/exact/tiny")}
TINY = os.path.realpath(BIN["tests/exact/tiny"])
ESTIMATED = 2  # skepd waited ten seconds for a skipped exit event (core/process/track_wait.c): not the sink's delay
OUT = os.environ.get("SKEP_FAULTS_JSON")
failures = 0
children = []


def start(argv, **kw):
    child = subprocess.Popen(argv, stdin=kw.pop("stdin", subprocess.DEVNULL), **kw)
    children.append(child)
    return child


def end(child, seconds=30):
    """TERM, then KILL for a process that does not react; returns its status."""
    if child.poll() is None:
        child.send_signal(signal.SIGCONT)
        child.terminate()
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def within(seconds, true):
    until = time.monotonic() + max(seconds, 120)  # ends a hang
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def rss(pid):
    try:
        for line in open("/proc/%d/status" % pid):
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


class Scene:
    """One fault at one receiver. As a context it ends all that it began and writes the row."""

    def __init__(self, fault, receiver, rate=200, ring=None, pins=False, other_late=5.0):
        self.fault, self.receiver, self.rate, self.other_late = fault, receiver, rate, other_late
        self.work = tempfile.mkdtemp(prefix="skep-fault.")
        self.out, self.log, self.socket = (os.path.join(self.work, n) for n in ("out.jsonl", "log", "sock"))
        self.disk, self.conf = os.path.join(self.work, "disk"), os.path.join(self.work, "conf")
        os.mkdir(self.disk)
        open(self.out, "w").close()
        open(self.log, "w").close()
        self.config = {"interval": "500ms", "control": {"socket": self.socket}, "spool": {"path": self.disk + "/spool.db", "reserve": 0},
                       "probes": [dict({"plugin": "proc"}, **({"ring": ring} if ring else {}))],
                       "sinks": [{"plugin": "file", "path": self.out, "streams": ["process.exit", "loss"]}, receiver.config(self.work)]}
        self.pins = os.path.join(self.work, "bpf") if pins else None
        if pins:
            self.config["pin_dir"] = self.pins + "/skep"
            os.mkdir(self.pins)
            subprocess.run(["mount", "-t", "bpf", "bpf", self.pins], check=True)
        self.daemon, self.began, self.sent, self.bad = None, time.monotonic(), 0, []
        self.memory, self.grown, self.notes, self.base = [], 0.0, [], 0
        self.late, self.ended, self.env = [], False, dict(os.environ, SKEP_PLUGIN_DIRS=os.path.join(BUILD, "plugins-run"))
        self.lines, self.lost = [], collections.Counter()

    # ---- skepd
    def up(self):
        json.dump(self.config, open(self.conf, "w"))
        n = self.said().count(" collects: ")
        self.base = self.receiver.rows()
        self.daemon = start([BIN["skepd"], "-c", self.conf], stdout=subprocess.DEVNULL, stderr=open(self.log, "a"), env=self.env)
        if not within(30, lambda: self.said().count(" collects: ") > n):
            raise SystemExit("skepd does not start:\n" + self.said()[-2000:])
        time.sleep(1.2)  # its first sweep

    def kill(self):
        self.daemon.kill()
        self.daemon.wait()

    def said(self):
        return open(self.log, errors="replace").read()

    def ask(self, what):
        got = subprocess.run([BIN["skep"], what, "--json", "--socket", self.socket], capture_output=True, text=True, timeout=60)
        return json.loads(got.stdout) if got.returncode == 0 else {}

    def delivery(self):
        """How far the sink under test is behind; {} when skepd does not answer."""
        return next((i["delivery"] for i in self.ask("status").get("instances", []) if i["name"] == self.receiver.name), {})

    def delivered(self):
        """The process.exit records that this skepd counts as delivered to the sink under test."""
        return sum(s["delivered"] for s in self.ask("stats").get("streams", []) if s["sink"] == self.receiver.name and s["stream"] == "process.exit")

    # ---- measured all the time
    def watch(self):
        """How late the file gets ended processes, and how much memory skepd has."""
        with open(self.out) as f:
            part = ""
            while not self.ended:
                part += f.read()
                now = time.time()
                *whole, part = part.split("\n")
                for line in whole:
                    try:
                        r = json.loads(line)
                    except ValueError:
                        continue  # half a line, when skepd was killed; the record arrives again
                    self.lines.append(r)
                    if r["stream"] == "loss":
                        self.lost[r["instance"] if "instance" in r else "", r.get("loss.stream", ""), r.get("where", "")] += r["count"]
                    elif r["exe"] == TINY and not r["approx"] & ESTIMATED:
                        self.late.append((now, now - when(r["time"])))
                if self.daemon and self.daemon.poll() is None:
                    self.memory.append((now, rss(self.daemon.pid)))
                time.sleep(0.1)

    def storm(self, seconds, rate=None):
        """Starts so many seconds of processes."""
        return start([BIN["tests/exact/storm"], TINY, str(rate or self.rate), str(seconds)], stdout=subprocess.PIPE, text=True)

    def over(self, storm):
        self.sent += json.loads(storm.communicate(timeout=300)[0])["processes"]

    def check(self, what, good, why=""):
        if not good:
            self.bad.append(what)
            print("FAIL - %s, %s: %s %s" % (self.fault, self.receiver.name, what, why), flush=True)

    def mine(self):
        """Process -> its images, of the storms' processes in the file."""
        found, wanted = collections.defaultdict(set), set()
        for r in list(self.lines):
            if r["stream"] == "process.exit":
                found[process(r["upid"])].add(r["image"])
                if r["exe"] == TINY:
                    wanted.add(process(r["upid"]))
        return {p: found[p] for p in wanted}

    def seen(self, rows):
        return self.receiver.once() if rows == "once" else self.receiver.rows() - self.base

    def arrived(self, most_lost=0):
        got = self.receiver.ids()
        return sum(1 for u in self.mine() if u in got) >= self.sent - most_lost

    def settle(self, seconds, most_lost=0):
        """Waits until all records have arrived and skepd's counter equals the receiver's."""
        there = within(seconds, lambda: len(self.mine()) >= self.sent - most_lost and self.arrived(most_lost))
        return there

    # ---- its beginning and end
    def __enter__(self):
        try:
            self.receiver.up(self.work)
            self.watcher = threading.Thread(target=self.watch, daemon=True)
            self.watcher.start()
            self.up()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def finish(self, rows=None, most_lost=0, most_twice=0, late_since=None, late_until=None, calm=None):
        """The row. rows: the receiver's number that skepd's counter has to equal ("raw": all that arrived since skepd's
        start, "once": each key once); calm: the time of the memory that the growth counts from."""
        global failures
        mine, got = self.mine(), self.receiver.ids()
        # Other processes end all the time: the numbers are equal at some moment, not at every moment.
        equal = rows is None or within(15, lambda: self.seen(rows) == self.delivered())
        seen, counted = None if rows is None else self.seen(rows), self.delivered()
        status = end(self.daemon, 60)
        time.sleep(0.5)
        self.ended = True
        self.watcher.join()
        received = sum(1 for u in mine if u in got)
        twice = sum(max(0, got[u] - len(images)) for u, images in mine.items())
        late = max((d for at, d in self.late if not late_since or not late_since <= at <= late_until), default=0)
        before = max((m for at, m in self.memory if not calm or at <= calm), default=0)
        self.grown = max((m for _, m in self.memory), default=0) - before
        self.check("skepd ends with 0", status == 0, "%s\n%s" % (status, self.said()[-1500:]))
        self.check("the file has all", len(mine) >= self.sent - most_lost, "%d of %d" % (len(mine), self.sent))
        self.check("none is missing", received >= self.sent - most_lost, "%d of %d" % (received, self.sent))
        self.check("none is twice", twice <= most_twice, twice)
        self.check("the other sink is not delayed", late <= self.other_late, "%.1f s" % late)
        absurd = {k: n for k, n in self.lost.items() if n > 1 << 40}
        self.check("no loss is absurd", not absurd, absurd)
        self.check("memory is flat", self.grown <= 24, "%.1f MiB" % self.grown)
        self.check("counters are equal", equal, "skepd says %d, the receiver %s" % (counted, seen))
        row = {"fault": self.fault, "receiver": self.receiver.title(), "sent": self.sent, "received": received, "missing": self.sent - received,
               "twice": twice, "other_late_s": round(late, 1), "rss_growth_mib": round(self.grown, 1),
               "counters": None if rows is None else equal, "seconds": round(time.monotonic() - self.began), "ok": not self.bad,
               "note": "; ".join(self.notes)}
        print("%s - %s, %s: %s" % ("not ok" if self.bad else "ok", self.fault, row["receiver"],
                                   " ".join("%s=%s" % (k, v) for k, v in row.items() if k not in ("fault", "receiver", "ok"))), flush=True)
        if OUT:
            with open(OUT, "a") as f:
                f.write(json.dumps(row) + "\n")
        failures += bool(self.bad)

    def __exit__(self, kind, value, trace):
        self.ended = True
        if self.daemon:
            end(self.daemon)
        self.receiver.down()
        if self.pins:
            subprocess.run([BIN["skepd"], "--unpin", "-c", self.conf], capture_output=True, env=self.env)
            subprocess.run(["umount", "-l", self.pins])
        if kind or self.bad:
            print("     the files are in", self.work, flush=True)
        else:
            shutil.rmtree(self.work, ignore_errors=True)


def process(upid):
    """The part of an upid (host, pid, begin of the process) that belongs to the process."""
    return upid.split("-", 1)[1]


def when(text):
    """Seconds of an RFC 3339 time with nanoseconds."""
    head, _, rest = text.partition(".")
    return datetime.datetime.strptime(head.rstrip("Z") + "+0000", "%Y-%m-%dT%H:%M:%S%z").timestamp() + float("0." + rest.rstrip("Z") if rest else 0)


def give_up(*_):
    sys.exit(1)
