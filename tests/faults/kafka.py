# SPDX-License-Identifier: Apache-2.0
"""kafka.py BUILD WORK - the program of kafka.sh."""
import collections
import json
import os
import signal
import subprocess
import sys
import time

build, work = sys.argv[1:3]
rate, kills = int(os.environ.get("RATE", "300")), int(os.environ.get("KILLS", "10"))
tiny = os.path.realpath(build + "/tests/exact/tiny")
bad = 0
log = open(work + "/log", "w")
children = []


def check(what, ok, more=""):
    global bad
    bad += not ok
    print("%s - %s %s" % ("ok" if ok else "not ok", what, more), flush=True)


def words():
    return open(work + "/log").read()


def start():
    before = words().count(" collects: ")
    d = subprocess.Popen([build + "/skepd", "-c", work + "/skepd.conf"], stdout=subprocess.DEVNULL, stderr=log)
    children.append(d)
    end = time.monotonic() + 30
    while words().count(" collects: ") == before:
        if d.poll() is not None or time.monotonic() > end:
            sys.exit("not ok - skepd does not start:\n" + words()[-3000:])
        time.sleep(0.02)
    return d


def messages():
    """[(batch, record), upid, image] of each process of the storm in the topic"""
    out = subprocess.run([build + "/tests/faults/kmock", "consume", brokers, "skep.process.exit", "skep.batch", "skep.record"],
                         capture_output=True, text=True)
    found = []
    for line in out.stdout.splitlines():
        batch, record, text = line.split("\t", 2)
        r = json.loads(text)
        if r["exe"] == tiny:
            found.append(((batch, int(record)), r["upid"], r["image"]))
    return found


def main():
    global brokers
    children.append(subprocess.Popen([build + "/tests/faults/kmock", "serve", work + "/brokers"], stdin=subprocess.PIPE))
    while not os.path.exists(work + "/brokers") or not open(work + "/brokers").read().endswith("\n"):
        time.sleep(0.05)
    brokers = open(work + "/brokers").read().strip()
    json.dump({"interval": "500ms", "pin_dir": work + "/bpf/skep", "control": {"socket": False}, "probes": [{"plugin": "proc"}],
               "spool": {"path": work + "/spool.db", "reserve": 0},
               "sinks": [{"plugin": "kafka", "brokers": brokers, "topic": "skep.{stream}"}]}, open(work + "/skepd.conf", "w"))
    d = start()
    time.sleep(1.5)
    storm = subprocess.Popen([build + "/tests/exact/storm", tiny, str(rate), str(2 + int(kills * 1.3))], stdout=subprocess.PIPE, text=True)
    children.append(storm)
    for i in range(kills):
        time.sleep(0.6 + 0.13 * (i % 4))
        d.send_signal(signal.SIGKILL)
        d.wait()
        time.sleep(0.3 * (i % 2))
        d = start()
    truth = json.loads(storm.communicate()[0])["processes"]
    time.sleep(3)
    last = time.monotonic() + 60
    while len({m[1:] for m in messages()}) < truth and time.monotonic() < last:
        time.sleep(1)
    d.terminate()
    check("skepd ends with 0", d.wait(60) == 0)
    found = messages()
    images = {m[1:] for m in found}
    by_headers = {}
    for key, upid, image in found:
        by_headers.setdefault(key, set()).add((upid, image))
    check("each of %d processes is in the topic, across %d kills" % (truth, kills), len(images) == truth, "%d are" % len(images))
    check("a pair of headers names one record", all(len(v) == 1 for v in by_headers.values()))
    left = collections.Counter(next(iter(v)) for v in by_headers.values())
    check("a consumer that counts each pair of headers once has no record twice", sum(left.values()) == len(images), sum(left.values()) - len(images))
    subprocess.run([build + "/skepd", "--unpin", "-c", work + "/skepd.conf"], capture_output=True)
    print("kafka: %d processes at %d/s, %d kills: %d messages, %d missing; %d arrived again with the same headers, %d twice without them" %
          (truth, rate, kills, len(found), truth - len(images), len(found) - len(by_headers),
           sum(left.values()) - len(images)))


try:
    main()
finally:
    for c in children:
        if c.poll() is None:
            c.kill()
            c.wait()
sys.exit(1 if bad else 0)
