# SPDX-License-Identifier: Apache-2.0
# tests/faults/refused.py - the program of backlog.sh for the scene refused. One skepd writes the stream host.load.
# Another one, of the same label and with a clock a minute behind, writes all streams: each of its batches has a few
# samples out of order.
import json
import os
import subprocess
import sys
import tempfile
import time

import harness
from harness import BIN, end, start, when
from remotes import Remote

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


def skepd(work, name, receiver, seconds, env, **sink):
    """Runs a skepd for so many seconds; returns its counters, and how many batches it has put off."""
    conf, sock, spool = (os.path.join(work, name + x) for x in (".conf", ".sock", ".db"))
    json.dump({"interval": "1s", "control": {"socket": sock}, "spool": {"path": spool, "reserve": 0}, "probes": [{"plugin": "host"}],
               "sinks": [dict(receiver.config(work), **sink)]}, open(conf, "w"))
    log = open(os.path.join(work, name + ".log"), "a")
    d = start([BIN["skepd"], "-c", conf], stdout=log, stderr=log,
              env=dict(os.environ, SKEP_PLUGIN_DIRS=os.path.join(harness.BUILD, "plugins-run"), **env))
    time.sleep(seconds)
    stats = json.loads(subprocess.run([BIN["skep"], "stats", "--json", "--socket", sock], capture_output=True, text=True).stdout)
    if end(d, 30) != 0:
        sys.exit("skepd: " + open(log.name).read()[-1000:])
    dead = json.loads(subprocess.run([BIN["skep"], "spool", "dead", "--spool", spool, "--json"], capture_output=True, text=True).stdout)
    lost = {s["stream"]: s["lost"]["sink"] for s in stats["streams"] if s["lost"]["sink"]}
    return lost, sum(s["delivered"] for s in stats["streams"]), len(dead), sum(b["n"] if "n" in b else b["records"] for b in dead)


def run(binary):
    receiver, work, began = Remote(binary), tempfile.mkdtemp(prefix="skep-refused."), time.monotonic()
    receiver.up(work)
    skepd(work, "first", receiver, 6, {}, streams=["host.load"])
    before = time.time()
    lost, delivered, dead, _ = skepd(work, "second", receiver, 10, {"LD_PRELOAD": FAKETIME, "FAKETIME": "-60s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"})
    load = [t for t in receiver.times('skep_system_uptime_seconds{host="h"}') if t < before - 30]
    cpu = receiver.times('skep_system_cpu_logical_number{host="h",cpu="all"}')
    cpu = [t for t in cpu if t < before - 30]
    receiver.down()
    ok = len(cpu) >= 5 and not load and sum(lost.values()) >= 5 and not dead
    row = {"fault": "samples out of order among others", "receiver": receiver.title(), "sent": delivered + sum(lost.values()), "received": delivered,
           "missing": sum(lost.values()), "twice": None, "other_late_s": None, "rss_growth_mib": None, "counters": None,
           "seconds": round(time.monotonic() - began), "ok": ok, "note": "records; the missing ones are counted as refused, %d batches put aside" % dead}
    print("%s - %s" % ("ok" if ok else "not ok", json.dumps(row, ensure_ascii=False)), flush=True)
    if ok:
        subprocess.run(["rm", "-rf", work])
    else:
        print("     of the second: %d samples of cpu, %d of load, lost %s; the files are in %s" % (len(cpu), len(load), lost, work))
        harness.failures += 1
    if harness.OUT:
        with open(harness.OUT, "a") as f:
            f.write(json.dumps(row) + "\n")


def killed(binary):
    """kill -9, ten times: a batch whose answer was lost is sent again, with sums that start anew, at times that the
    server already has."""
    receiver, work, began = Remote(binary), tempfile.mkdtemp(prefix="skep-refused."), time.monotonic()
    receiver.up(work)
    out, spool, conf = (os.path.join(work, x) for x in ("out.jsonl", "spool.db", "conf"))
    json.dump({"interval": "500ms", "control": {"socket": False}, "spool": {"path": spool, "reserve": 0}, "probes": [{"plugin": "host"}],
               "sinks": [{"plugin": "file", "path": out, "streams": ["host.load"]}, receiver.config(work)]}, open(conf, "w"))
    log = open(os.path.join(work, "log"), "a")
    for life in range(11):
        d = start([BIN["skepd"], "-c", conf], stdout=log, stderr=log, env=dict(os.environ, SKEP_PLUGIN_DIRS=os.path.join(harness.BUILD, "plugins-run")))
        time.sleep(1.9 + 0.17 * (life % 5))
        if life < 10:
            d.kill()
            d.wait()
    status = end(d, 30)
    dead = json.loads(subprocess.run([BIN["skep"], "spool", "dead", "--spool", spool, "--json"], capture_output=True, text=True).stdout)
    there = sorted(receiver.times('skep_system_uptime_seconds{host="h"}'))
    sent = sorted({when(json.loads(line)["time"]) for line in open(out) if line.endswith("}\n")})
    receiver.down()
    missing = sum(1 for t in sent if not any(abs(t - got) < 0.6 for got in there))
    ok = status == 0 and not dead and not missing and len(sent) > 20
    row = {"fault": "skepd kill -9, ten times", "receiver": receiver.title(), "sent": len(sent), "received": len(sent) - missing, "missing": missing,
           "twice": None, "other_late_s": None, "rss_growth_mib": None, "counters": None, "seconds": round(time.monotonic() - began), "ok": ok,
           "note": "times of samples; %d batches put aside" % len(dead)}
    print("%s - %s" % ("ok" if ok else "not ok", json.dumps(row, ensure_ascii=False)), flush=True)
    if ok:
        subprocess.run(["rm", "-rf", work])
    else:
        print("     the files are in", work)
        harness.failures += 1
    if harness.OUT:
        with open(harness.OUT, "a") as f:
            f.write(json.dumps(row) + "\n")


harness.signal.signal(harness.signal.SIGTERM, harness.give_up)
try:
    if not os.path.exists(FAKETIME):
        print("skipped: refused: needs the package faketime")
    else:
        for prometheus in os.environ["PROMETHEUS"].split():
            run(prometheus)
            killed(prometheus)
finally:
    for child in harness.children:
        end(child)
sys.exit(1 if harness.failures else 0)
