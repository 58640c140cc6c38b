#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Compares the probes "host" and "identity" with /proc. The test reads the counters four times: before skepd starts (a),
after its start (b), before its end (c), and after its end (d). The sum of its records must lie between c - b and d - a.
"""
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import testing
from testing import SKEPD, check

TICK_NS = 1000000000 // os.sysconf("SC_CLK_TCK")
MODES = ["user", "nice", "system", "idle", "iowait", "interrupt", "softirq", "steal"]


def lines(path):
    with open(path) as f:
        return f.read().splitlines()


def counters():
    c = {}
    for line in lines("/proc/stat"):
        w = line.split()
        if w[0].startswith("cpu"):
            for mode, v in zip(MODES, w[1:]):
                c["cpu", w[0][3:] or "-1", mode] = int(v) * TICK_NS
        elif w[0] in ("ctxt", "processes", "intr"):
            c["load", w[0]] = int(w[1])
    for line in lines("/proc/diskstats"):
        w = line.split()
        if os.path.exists("/sys/block/" + w[2]):
            c["disk", w[2], "read"] = int(w[5]) * 512
            c["disk", w[2], "write"] = int(w[9]) * 512
    for line in lines("/proc/1/net/dev")[2:]:
        name, rest = line.split(":", 1)
        w = rest.split()
        c["net", name.strip(), "receive"] = int(w[0])
        c["net", name.strip(), "transmit"] = int(w[8])
    for line in lines("/proc/vmstat"):
        w = line.split()
        if w[0] in ("pgfault", "pgmajfault"):
            c["vm", w[0]] = int(w[1])
    return c


def added(records):
    c = {}

    def add(key, v):
        c[key] = c.get(key, 0) + v

    for r in records:
        s = r["stream"]
        if s == "host.cpu":
            for mode in MODES:
                add(("cpu", str(r["cpu.logical_number"]), mode), r["system.cpu.time." + mode])
        elif s == "host.load":
            add(("load", "ctxt"), r["system.cpu.context_switches"])
            add(("load", "processes"), r["system.thread.created"])
            add(("load", "intr"), r["system.cpu.interrupts"])
        elif s == "host.disk":
            for way in ("read", "write"):
                add(("disk", r["system.device"], way), r["system.disk.io." + way])
        elif s == "host.network":
            for way in ("receive", "transmit"):
                add(("net", r["network.interface.name"], way), r["system.network.io." + way])
        elif s == "host.memory":
            add(("vm", "pgmajfault"), r["system.paging.faults.major"])
            add(("vm", "pgfault"), r["system.paging.faults.major"] + r["system.paging.faults.minor"])
    return c


def load(folder):
    """Makes activity to count: a synced file, 20 MB over loopback, 30 processes."""
    with open(folder + "/data", "wb") as f:
        f.write(os.urandom(4 << 20))
        os.fsync(f.fileno())
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    other, _ = server.accept()
    for _ in range(200):
        client.sendall(b"x" * 100000)
        left = 100000
        while left:
            left -= len(other.recv(left))
    for s in (client, other, server):
        s.close()
    for _ in range(30):
        subprocess.run(["true"], check=True)


work = tempfile.mkdtemp(prefix="skep-host.", dir=os.environ.get("TMPDIR", "/tmp"))
try:
    with open(work + "/conf", "w") as f:
        json.dump({
            "interval": "200ms",
            "spool": {"path": work + "/spool.db"},
            "control": {"socket": work + "/skepd.sock"},
            "probes": [{"plugin": "identity", "required": True}, {"plugin": "host", "required": True, "per_cpu": True, "filesystems": "200ms"}],
            "sinks": [{"plugin": "file", "path": work + "/out.jsonl"}],
        }, f)
    a = counters()
    with open(work + "/err", "w") as err:
        p = subprocess.Popen([SKEPD, "-c", work + "/conf"], stderr=err)
        testing.wait_for(p, work + "/err", "collects")
        b = counters()
        load(work)
        time.sleep(1)
        c = counters()
        p.send_signal(signal.SIGTERM)
        status = p.wait(testing.PATIENCE)
    d = counters()
    with open(work + "/err") as f:
        said = f.read()
    if status != 0:
        print("FAIL - skepd: status %s\n%s" % (status, said))
        sys.exit(1)
    records = [json.loads(line) for line in lines(work + "/out.jsonl")]
    mount = os.statvfs("/")
finally:
    shutil.rmtree(work, ignore_errors=True)

got = added(records)
for key in sorted(d):
    if not all(key in x for x in (a, b, c)):
        continue  # a device that came or went meanwhile
    # the kernel rounds each reading down to a tick; idle and iowait decrease at times
    slack = 2 * TICK_NS if key[0] == "cpu" else 0
    if key[0] == "cpu" and key[2] in ("idle", "iowait"):
        slack += 20 * TICK_NS
    low, high, v = c[key] - b[key] - slack, d[key] - a[key] + slack, got.get(key, 0)
    if high > slack or v:
        check("%s: %d to %d" % (" ".join(key), low, high), low <= v <= high, v)
check("the records of loopback have the 20 MB", got.get(("net", "lo", "transmit"), 0) >= 20000000, got.get(("net", "lo", "transmit")))
check("the records count the 30 processes", got.get(("load", "processes"), 0) >= 30, got.get(("load", "processes")))

memory = [r for r in records if r["stream"] == "host.memory"]
info = {w[0][:-1]: int(w[1]) for w in (line.split() for line in lines("/proc/meminfo"))}
check("memory: limit", memory[-1]["system.memory.limit"] == info["MemTotal"] * 1024, memory[-1])
check("memory: available is near the kernel's figure", abs(memory[-1]["system.memory.linux.available"] - info["MemAvailable"] * 1024) < (1 << 30), memory[-1])
loads = [r for r in records if r["stream"] == "host.load"]
check("load average", abs(loads[-1]["system.cpu.load_average.1m"] - os.getloadavg()[0]) < 1, loads[-1])
root = [r for r in records if r["stream"] == "host.filesystem" and r["system.filesystem.mountpoint"] == "/"]
if any(line.split()[4] == "/" and " - rootfs " not in line for line in lines("/proc/self/mountinfo")):
    check("file system: / is reported", root)
    check("file system: its size", root and root[-1]["system.filesystem.limit"] == mount.f_blocks * mount.f_frsize, root[-1:])
    check("file system: its space is near", root and abs(root[-1]["system.filesystem.usage.free"] - mount.f_bavail * mount.f_frsize) < (1 << 30))
identity = [r for r in records if r["stream"] == "host.identity"]
check("identity: once", len(identity) == 1, identity)
check("identity: name", identity[0]["host.name"] == socket.gethostname(), identity)
check("identity: kernel", identity[0]["os.kernel.release"] == platform.release(), identity)
check("identity: CPUs", identity[0]["system.cpu.logical.count"] == len([k for k in d if k[0] == "cpu" and k[2] == "user"]) - 1, identity)
check("identity: memory", identity[0]["system.memory.limit"] == info["MemTotal"] * 1024, identity)
if shutil.which("systemd-id128") and os.path.exists("/etc/machine-id"):
    own = subprocess.run(["systemd-id128", "machine-id", "--app-specific=8d399ba1d158fcf132e6275746c36cb6"], capture_output=True, text=True)
    if own.returncode == 0:
        check("identity: the id that systemd derives from the machine id", identity[0]["host.machine_id"] == own.stdout.strip(), own.stdout)
sys.exit(testing.failures > 0)
