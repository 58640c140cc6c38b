# SPDX-License-Identifier: Apache-2.0
# tests/faults/backlog.py - the program of backlog.sh. The backlog: a skepd with the probe host fills a spool for a
# receiver that is away. The program then writes its batches again, each with another time (spool/code.h describes
# where), until they cover 24 hours, a batch each ten seconds.
import ctypes
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

import harness
from harness import BIN, end, rss, start
from remotes import Remote, Rows

HOURS, STEP = 24, 10
zstd = ctypes.CDLL("libzstd.so.1")
for name in ("ZSTD_getFrameContentSize", "ZSTD_decompress", "ZSTD_compressBound", "ZSTD_compress2", "ZSTD_CCtx_setParameter"):
    getattr(zstd, name).restype = ctypes.c_size_t
zstd.ZSTD_createCCtx.restype = ctypes.c_void_p
context = ctypes.c_void_p(zstd.ZSTD_createCCtx())
zstd.ZSTD_CCtx_setParameter(context, 201, 1)  # with a checksum


def unpack(body):
    size = zstd.ZSTD_getFrameContentSize(body, ctypes.c_size_t(len(body)))
    out = ctypes.create_string_buffer(size)
    if zstd.ZSTD_decompress(out, ctypes.c_size_t(size), body, ctypes.c_size_t(len(body))) != size:
        sys.exit("a body of the spool cannot be read")
    return out.raw


def pack(raw):
    room = zstd.ZSTD_compressBound(ctypes.c_size_t(len(raw)))
    out = ctypes.create_string_buffer(room)
    n = zstd.ZSTD_compress2(context, out, ctypes.c_size_t(room), raw, ctypes.c_size_t(len(raw)))
    return out.raw[:n]


def varint(raw, at):
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def put(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def earlier(raw, number, by_ns):
    """The same batch, so much earlier, with another number."""
    version, at = varint(raw, 0)
    _, at = varint(raw, at)
    n, at = varint(raw, at)
    key, at = raw[at:at + n].rsplit(b":", 1)[0] + b":%d" % number, at + n
    host = at
    for _ in range(3):  # its boot id, host name and kernel stay
        n, at = varint(raw, at)
        at += n
    host = raw[host:at]
    zigzag, at = varint(raw, at)
    offset = (zigzag >> 1 ^ -(zigzag & 1)) - by_ns
    zigzag = offset << 1 if offset >= 0 else (-offset << 1) - 1
    return put(version) + put(number) + put(len(key)) + key + host + put(zigzag) + raw[at:]


def fill(work, config):
    """A spool of so many hours, whose newest batch is of now; returns batches, records, samples of one series,
    bytes."""
    path, log = work + "/spool.db", open(work + "/fill.log", "a")
    first = dict(config, probes=[{"plugin": "host"}])
    json.dump(first, open(work + "/fill.conf", "w"))
    env = dict(os.environ, SKEP_PLUGIN_DIRS=os.path.join(harness.BUILD, "plugins-run"))
    d = start([BIN["skepd"], "-c", work + "/fill.conf"], stdout=log, stderr=log, env=env)
    time.sleep(8)
    end(d, 60)
    db = sqlite3.connect(path)
    kept = [(n, counts, unpack(body)) for n, counts, body in
            db.execute("SELECT n, counts, body FROM batch WHERE kind = 1 AND counts LIKE '%host.load%' ORDER BY id")][1:4]
    if len(kept) < 3:
        sys.exit("there are no batches to make a backlog of: " + open(log.name).read())
    total_n, total_bytes, now = 0, 0, time.time_ns()
    db.execute("DELETE FROM batch")
    db.execute("DELETE FROM dead")
    ids = db.execute("SELECT max(cursor) FROM sink").fetchone()[0] or 0
    made = HOURS * 3600 // STEP
    uptimes = 0
    for i in range(made):
        n, counts, raw = kept[i % 3]
        back = (made - i) * STEP * 1000000000
        body = pack(earlier(raw, ids + 1 + i, back))
        total_n, total_bytes = total_n + n, total_bytes + len(body)
        uptimes += int(counts.split("host.load ")[1].split()[0])
        db.execute("INSERT INTO batch VALUES (?, 1, ?, ?, ?, ?, ?, ?)", (ids + 1 + i, n, now - back, total_n, total_bytes, counts, body))
    db.execute("UPDATE sink SET cursor = ?, total_n = 0, total_bytes = 0", (ids,))
    db.commit()
    db.close()
    return made, total_n, uptimes, total_bytes


def run(receiver, expected):
    """expected(samples): how many of them have to arrive, from and to."""
    work = tempfile.mkdtemp(prefix="skep-backlog.")
    config = {"interval": "1s", "control": {"socket": work + "/sock"}, "spool": {"path": work + "/spool.db", "reserve": 0, "max_age": "48h"},
              "sinks": [receiver.config(work)]}
    batches, records, samples, size = fill(work, config)
    receiver.up(work)
    json.dump(dict(config, interval="2s", probes=[{"plugin": "host"}]), open(work + "/conf", "w"))
    log = open(work + "/log", "a")
    began = time.monotonic()
    d = start([BIN["skepd"], "-c", work + "/conf"], stdout=log, stderr=log, env=dict(os.environ, SKEP_PLUGIN_DIRS=harness.BUILD + "/plugins-run"))

    def waiting():
        got = subprocess.run([BIN["skep"], "status", "--json", "--socket", work + "/sock"], capture_output=True, text=True)
        lags = [i["delivery"]["lag_records"] for i in json.loads(got.stdout)["instances"] if i["kind"] == "sink"] if got.returncode == 0 else []
        return lags[0] if lags else -1

    most, end_at, lag = 0.0, time.monotonic() + 420, -1
    time.sleep(1)
    with sqlite3.connect("file:%s/spool.db?mode=ro" % work, uri=True) as db:
        last = ("SELECT (SELECT count(*) FROM batch WHERE id > s.cursor AND id <= ?) FROM sink s", (batches + 100000,))
        while time.monotonic() < end_at and d.poll() is None:
            most = max(most, rss(d.pid))
            lag = waiting()
            if 0 <= lag < 200:
                break
            time.sleep(0.25)
    seconds = time.monotonic() - began
    stats = json.loads(subprocess.run([BIN["skep"], "stats", "--json", "--socket", work + "/sock"], capture_output=True, text=True).stdout or "{}")
    status = end(d, 60)
    time.sleep(1)
    got, oldest = receiver.samples(time.time())
    lost = sum(s["lost"]["sink"] for s in stats.get("streams", []))
    receiver.down()
    low, high = expected(samples)
    high += seconds  # the probe's samples meanwhile, one each two seconds
    ok = status == 0 and low <= got <= high and 0 <= lag < 200
    row = {"fault": "backlog of %d h: %d batches, %d records, %.1f MiB" % (HOURS, batches, records, size / 2**20), "receiver": receiver.title(),
           "sent": samples, "received": got, "missing": max(0, samples - got), "twice": None, "other_late_s": None, "rss_growth_mib": round(most, 1),
           "counters": None, "seconds": round(seconds, 1), "ok": ok,
           "note": "oldest %.1f h; %d records counted as refused; memory: all of skepd's" % (oldest, lost)}
    print("%s - %s" % ("ok" if ok else "not ok", json.dumps(row, ensure_ascii=False)), flush=True)
    if not ok:
        print("     expected %s to %s, %s records wait, status %s; the files are in %s" % (low, high, lag, status, work))
        harness.failures += 1
    else:
        subprocess.run(["rm", "-rf", work])
    if harness.OUT:
        with open(harness.OUT, "a") as f:
            f.write(json.dumps(row) + "\n")


def everything(samples):
    return samples, samples + 60


def last_hour(samples):
    """The sink leaves out records older than max_age (55 minutes)."""
    return samples * 0.9 * 55 / 60 / HOURS, samples * 1.1 * 55 / 60 / HOURS + 60


harness.signal.signal(harness.signal.SIGTERM, harness.give_up)
try:
    for prometheus in os.environ["PROMETHEUS"].split():
        run(Remote(prometheus), last_hour)
        run(Remote(prometheus, "48h", out_of_order=True), everything)
    for victoria in os.environ["VICTORIA"].split():
        run(Remote(victoria, out_of_order=True), everything)
    if os.environ.get("CLICKHOUSE") == "yes":
        run(Rows(), everything)
finally:
    for child in harness.children:
        end(child)
sys.exit(1 if harness.failures else 0)
