# SPDX-License-Identifier: Apache-2.0
# tests/faults/spool_faults.py [SCENE...] - the program of spool_faults.sh.
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time

import harness
from harness import Scene, when, within
from receivers import ClickHouse, Http, Nginx, free_port

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


def ext4(scene):
    """A filesystem of its own for the spool, and a function that makes it report damage."""
    image, disk = os.path.join(scene.work, "image"), scene.disk
    subprocess.run(["truncate", "-s", "64M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    mount(image, disk)
    device = subprocess.run(["findmnt", "-no", "SOURCE", disk], capture_output=True, text=True, check=True).stdout.strip()
    return image, lambda: open("/sys/fs/ext4/%s/trigger_fs_error" % os.path.basename(device), "w").write("1")


def mount(image, disk):
    subprocess.run(["mount", "-o", "loop,errors=remount-ro", image, disk], check=True)


def nothing(receiver):
    """The columns without a fault."""
    with Scene("none", receiver) as s:
        s.over(s.storm(3))
        s.settle(20)
        calm = time.time()
        s.over(s.storm(15))
        s.settle(30)
        s.finish(rows="raw", calm=calm)


def readonly(receiver):
    """The spool's filesystem becomes read-only under skepd (errors=remount-ro), and is repaired."""
    scene = Scene("spool read-only, then mended", receiver)
    image, fail = ext4(scene)
    try:
        with scene as s:
            s.over(s.storm(3))
            s.settle(20)
            calm = time.time()
            receiver.script("503")
            s.over(s.storm(3))  # on disk
            within(10, lambda: s.delivery().get("lag_records", 0) >= 3 * s.rate)
            fail()
            s.over(s.storm(3))
            s.check("skepd logs that it cannot write", within(10, lambda: "cannot write to the spool" in s.said()), s.said()[-300:])
            receiver.script("200")
            s.over(s.storm(5))
            s.check("all records arrive meanwhile", s.settle(60))
            lost = {k: n for k, n in s.lost.items() if k[0] == "proc" or k[2] == "spool"}
            s.check("nothing is lost meanwhile", not lost, lost)
            at = time.time()
            if subprocess.run(["mount", "-o", "remount,rw", s.disk], capture_output=True).returncode == 0:
                s.check("skepd logs that it can write again", within(20, lambda: "the spool is writable again" in s.said()))
                s.notes.append("remounted while skepd ran")
                at = None
            else:
                # Newer kernels (6.18 does) refuse that after an error: every process with files there has to end.
                s.check("skepd ends", harness.end(s.daemon, 60) == 0)
                subprocess.run(["umount", s.disk], check=True)
                subprocess.run(["fsck.ext4", "-p", image], stdout=subprocess.DEVNULL)
                mount(image, s.disk)
                s.up()
                s.notes.append("this kernel refuses to remount: skepd stopped, fsck, started")
            s.over(s.storm(3))
            s.settle(60)
            # A process that lived when the disk failed, and ended before skepd did, is alive in the old saved state.
            s.finish(rows="raw", most_twice=0 if at is None else 10, late_since=at, late_until=time.time() if at else None, calm=calm)
    finally:
        subprocess.run(["umount", "-l", scene.disk], capture_output=True)


def stopped(receiver):
    """skepd gets no CPU for 20 s: the ring keeps the events."""
    with Scene("skepd SIGSTOP 20 s", receiver, ring="64MiB") as s:
        s.over(s.storm(3))
        s.settle(20)
        calm = at = time.time()
        storm = s.storm(20)
        s.daemon.send_signal(harness.signal.SIGSTOP)
        time.sleep(20)
        s.daemon.send_signal(harness.signal.SIGCONT)
        s.over(storm)
        s.over(s.storm(3))
        s.settle(30)
        s.finish(rows="raw", late_since=at, late_until=time.time(), calm=calm)


def overflow(receiver):
    """The same with a small ring: skepd counts the records without room."""
    with Scene("skepd SIGSTOP 20 s, ring of 256 KiB", receiver, ring="256KiB") as s:
        s.over(s.storm(3))
        s.settle(20)
        calm = at = time.time()
        storm = s.storm(20)
        s.daemon.send_signal(harness.signal.SIGSTOP)
        time.sleep(20)
        s.daemon.send_signal(harness.signal.SIGCONT)
        s.over(storm)
        s.over(s.storm(3))
        time.sleep(3)
        lost = sum(n for (_, stream, where), n in s.lost.items() if where == "kernel" and stream in ("process.fork", "process.exec", "process.exit_event"))
        s.settle(30, most_lost=lost)
        s.check("the ring was full, and it is counted", lost > 0)
        s.notes.append("%d events counted as lost in the ring" % lost)
        s.finish(rows="raw", most_lost=lost, late_since=at, late_until=time.time(), calm=calm)


def hole(receiver):
    """The receiver gets no CPU for 15 s: its port accepts connections and never answers."""
    with Scene("receiver SIGSTOP 15 s", receiver) as s:
        s.over(s.storm(3))
        s.settle(20)
        calm = time.time()
        storm = s.storm(25)
        time.sleep(2)
        receiver.stop()
        time.sleep(15)
        behind = "timed out" in s.delivery().get("why", "").lower() or "timeout" in s.delivery().get("why", "").lower()
        receiver.go_on()
        s.over(storm)
        s.check("requests time out meanwhile", behind, s.delivery())
        s.settle(90)
        s.finish(rows="once", calm=calm)


def killed(receiver):
    """Ten times kill -9 while processes run."""
    with Scene("skepd kill -9, ten times", receiver, rate=300, pins=True, other_late=8) as s:
        storm = s.storm(30)
        time.sleep(2)
        calm = time.time()
        for i in range(10):
            time.sleep(0.6 + 0.13 * (i % 4))
            s.kill()
            time.sleep(0.3 * (i % 2))
            s.up()
        s.over(storm)
        s.settle(90)
        # ClickHouse merges rows away during the count.
        s.finish(rows=None if isinstance(receiver, ClickHouse) else "raw", calm=calm)


def token(receiver):
    """The password changes at the server, and a while later in skepd's file."""
    with Scene("password changed at the server", receiver) as s:
        s.over(s.storm(3))
        s.settle(20)
        calm = time.time()
        storm = s.storm(15)
        if isinstance(receiver, Nginx):
            receiver.secret("second", server=True)
        else:
            receiver.users("second")
        held = within(25, lambda: s.delivery().get("held"))
        s.check("held, with an error in the log", held and "keeps its records until this is mended" in s.said(), s.delivery())
        if isinstance(receiver, Nginx):
            receiver.secret("second", skep=True)
        else:
            receiver.password = "second"
            open(receiver.file, "w").write("second\n")
        s.over(storm)
        s.settle(60)
        s.notes.append("without a reload")
        s.finish(rows="once", calm=calm)


def flipped(receiver):
    """One bit of a batch in the spool changes while skepd is stopped."""
    with Scene("one bit of the spool flipped", receiver) as s:
        s.over(s.storm(3))
        s.settle(20)
        calm = time.time()
        receiver.down()
        s.over(s.storm(6))
        within(20, lambda: len(s.mine()) >= s.sent)
        within(10, lambda: s.delivery().get("lag_records", 0) >= 6 * s.rate)
        s.check("skepd ends", harness.end(s.daemon, 60) == 0)
        db = sqlite3.connect(s.disk + "/spool.db")
        n, body = db.execute("SELECT n, body FROM batch ORDER BY length(body) DESC LIMIT 1").fetchone()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        with open(s.disk + "/spool.db", "r+b") as f:
            at = f.read().index(body[200:264]) + 17
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 0x10]))
        receiver.begin()
        at = time.time()
        s.up()
        s.over(s.storm(3))
        s.settle(60, most_lost=n)
        lost = sum(x["lost"]["spool"] + x["lost"]["sink"] for x in s.ask("stats").get("streams", []) if x["sink"] == receiver.name)
        mine, got = s.mine(), receiver.ids()
        gone = sum(1 for u in mine if u not in got)
        s.check("that batch alone is missing", 0 < gone <= n, "%d, it had %d" % (gone, n))
        s.check("and it is counted", lost == n, "%d, it had %d" % (lost, n))
        s.notes.append("the batch of %d records is kept aside, counted as lost" % n)
        s.finish(rows="raw", most_lost=n, late_since=calm, late_until=at + 3, calm=calm)


def dead(receiver):
    """Five sinks whose receivers do not listen, one of each kind, beside the two that work."""
    s = Scene("five dead sinks beside it", receiver)
    nobody = "127.0.0.1:%d" % free_port()
    s.config["sinks"] += [{"plugin": "otlp", "endpoint": "http://" + nobody}, {"plugin": "clickhouse", "url": "http://" + nobody},
                          {"plugin": "remote_write", "url": "http://" + nobody}, {"plugin": "kafka", "brokers": nobody, "topic": "skep"},
                          {"plugin": "http", "name": "gone", "url": "http://" + nobody}]
    with s:
        s.over(s.storm(3))
        s.settle(20)
        calm = time.time()
        s.over(s.storm(20))
        s.settle(30)
        behind = {i["name"]: i["delivery"]["lag_records"] for i in s.ask("status")["instances"] if i["kind"] == "sink"}
        for name in ("otlp", "clickhouse", "remote_write", "kafka", "gone"):
            s.check(name + " keeps all in the spool", behind[name] >= s.sent, behind)
        s.finish(rows="raw", calm=calm)


def clock(receiver):
    """The host's clock goes three hours back, and three hours forward again (libfaketime)."""
    s = Scene("clock 3 h back, 6 h forward, 3 h back", receiver)
    fake = os.path.join(s.work, "offset")

    def shift(hours):
        open(fake + ".new", "w").write("%+dh\n" % hours)
        os.rename(fake + ".new", fake)

    shift(0)
    s.env.update(LD_PRELOAD=FAKETIME, FAKETIME_TIMESTAMP_FILE=fake, FAKETIME_NO_CACHE="1", FAKETIME_DONT_FAKE_MONOTONIC="1")
    with s:
        s.over(s.storm(3))
        s.settle(20)
        calm = time.time()
        for hours in (-3, 3, 0):
            receiver.script("429:2,503,429:date=2,200")
            storm = s.storm(6)
            time.sleep(1)
            shift(hours)
            s.over(storm)
            s.check("all arrives with the clock at %+d h" % hours, s.settle(20), s.delivery())
        # start and end use the boot clock: no process may last hours
        span = max(when(r["end_ns"]) - when(r["start_ns"]) for r in s.lines if r["stream"] == "process.exit" and r["exe"] == harness.TINY)
        s.check("no process has lasted hours", span < 60, span)
        s.late = [(at, min(abs(d - k * 3600) for k in (-3, 0, 3))) for at, d in s.late]
        s.finish(rows="raw", calm=calm)


SCENES = {"nothing": (nothing, [Http, ClickHouse]), "readonly": (readonly, [Http]), "stopped": (stopped, [Http]), "overflow": (overflow, [Http]), "hole": (hole, [lambda: Http(timeout="3s"), lambda: ClickHouse(timeout="3s")]),
          "killed": (killed, [Http, ClickHouse]), "token": (token, [Nginx, lambda: ClickHouse(password="first")]),
          "flipped": (flipped, [Http, ClickHouse]), "dead": (dead, [Http]), "clock": (clock, [Http])}
NEEDS = {Nginx: ("nginx", "openssl"), ClickHouse: ("clickhouse-server",)}
done = 0
harness.signal.signal(harness.signal.SIGTERM, harness.give_up)
harness.signal.signal(harness.signal.SIGINT, harness.give_up)
try:
    for name in sys.argv[1:] or SCENES:
        if name not in SCENES:
            sys.exit("spool_faults.sh: there is no scene '%s': %s" % (name, " ".join(SCENES)))
        for make in SCENES[name][1]:
            receiver = make()
            missing = [p for p in NEEDS.get(type(receiver), ()) if not shutil.which(p, path=os.environ["PATH"] + ":/usr/sbin")]
            if name == "clock" and not os.path.exists(FAKETIME):
                missing = ["libfaketime"]
            if missing:
                print("skipped - %s: needs %s" % (name, ", ".join(missing)))
                continue
            SCENES[name][0](receiver)
            done += 1
finally:
    for child in harness.children:
        harness.end(child)
print("spool_faults.sh: %d scenes, %d failed" % (done, harness.failures))
sys.exit(1 if harness.failures else 0)
