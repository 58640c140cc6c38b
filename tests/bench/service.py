#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/service.py - skepd as a service with all probes and the lake: the time until its first record, the
duration of a restart, and its memory, at rest and in a storm.

Environment: SKEPD, SKEP_PLUGIN_DIRS, EXACT_BIN (storm, tiny). Root; it mounts a BPF filesystem. STARTS (7), RATE (500),
SECONDS (10).
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

exact = os.environ["EXACT_BIN"]
starts, rate, seconds = (int(os.environ.get(k, v)) for k, v in (("STARTS", "7"), ("RATE", "500"), ("SECONDS", "10")))
work = tempfile.mkdtemp(prefix="skep-service.")


class Daemon:
    def __init__(self):
        self.began = time.monotonic()
        self.err = open(work + "/err", "w+")
        self.process = subprocess.Popen([os.environ["SKEPD"], "-c", work + "/conf"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.err)
        self.ready = self.until(lambda: " collects: " in open(work + "/err").read())

    def until(self, true):
        while not true():
            assert self.process.poll() is None, open(work + "/err").read()
            assert time.monotonic() < self.began + 60, "nothing came"
            time.sleep(0.002)
        return time.monotonic() - self.began

    def stop(self):
        self.process.terminate()
        assert self.process.wait(30) == 0

    def cpu(self):
        stat = open("/proc/%d/stat" % self.process.pid).read().rsplit(")", 1)[1].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        text = open("/proc/%d/status" % self.process.pid).read()
        return "%.1f (anonymous %.1f, peak %.1f)" % tuple(
            int(re.search(r"^%s:\s+(\d+) kB" % k, text, re.M).group(1)) / 1024 for k in ("VmRSS", "RssAnon", "VmHWM"))


def first_record(pins):
    """From exec of skepd: ready, and the first record of a process in the file, while a process starts every 5 ms."""
    ready, first, cpu = [], [], []
    for _ in range(starts):
        write_conf(pins)
        if os.path.exists(work + "/out"):
            os.unlink(work + "/out")
        storm = subprocess.Popen([exact + "/storm", exact + "/tiny", "200", "30"], stdout=subprocess.DEVNULL)
        d = Daemon()
        ready.append(d.ready)
        cpu.append(d.cpu())
        d.until(lambda: os.path.exists(work + "/out"))
        with open(work + "/out") as out:
            first.append(d.until(lambda: '"process.exit"' in out.read()))
        d.stop()
        storm.terminate()
        storm.wait()
    return ready, first, cpu


def write_conf(pins):
    conf = {"interval": "5s", "spool": {"path": work + "/spool.db"}, "control": {"socket": False},
            "probes": [{"plugin": p} for p in ("proc", "sched", "io", "net", "files", "cgroup", "identity", "host", "gpu")],
            "sinks": [{"plugin": "lake", "path": work + "/lake"}, {"plugin": "file", "path": work + "/out"}]}
    if pins:
        conf["pin_dir"] = work + "/bpf/skep"
    with open(work + "/conf", "w") as f:
        json.dump(conf, f)


def say(what, values):
    print("%s: %.0f ms (%.0f to %.0f, %d times)" % (what, statistics.median(values) * 1e3, min(values) * 1e3, max(values) * 1e3, len(values)))


os.mkdir(work + "/bpf")
subprocess.run(["mount", "-t", "bpf", "bpf", work + "/bpf"], check=True)
try:
    for pins, name in ((False, "from nothing"), (True, "with what the one before has left in the kernel")):
        if pins:  # which leaves the pinned state
            write_conf(True)
            Daemon().stop()
        ready, first, cpu = first_record(pins)
        say("start to ready, " + name, ready)
        say("start to the first process in the file, " + name, first)
        say("CPU of that start, " + name, cpu)
    d = Daemon()
    time.sleep(12)
    print("at rest for 12 s: RSS %s MiB, CPU %.0f ms" % (d.memory(), d.cpu() * 1e3))
    before = d.cpu()
    storm = subprocess.run([exact + "/storm", exact + "/tiny", str(rate), str(seconds)], stdout=subprocess.PIPE, text=True, check=True)
    print("%d processes in %d s: RSS %s MiB, CPU %.0f ms" % (json.loads(storm.stdout)["processes"], seconds, d.memory(), (d.cpu() - before) * 1e3))
    time.sleep(12)
    print("12 s later: RSS %s MiB" % d.memory())
    d.stop()
finally:
    subprocess.run(["umount", work + "/bpf"], check=False)
    shutil.rmtree(work, ignore_errors=True)
