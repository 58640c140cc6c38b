#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
maps.py - the memory of skepd's BPF maps and of skepd itself, with the default probes, on this kernel.

What the kernel charges for a map is exact until Linux 5.10; later kernels estimate it without regard to the number of
CPUs. So run it there, also with more CPUs than the machine has:
    tests/kernels/run-in.sh -s 1,maxcpus=255 -p possible_cpus=255 5.10 -- tests/bench/maps.py
Environment: SKEPD, SKEP_PLUGIN_DIRS. As root; needs bpftool.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
import testing

PROBES = ["proc", "host", "cgroup", "net", "io", "sched", "files", "identity"]


def ids():
    return {m["id"]: m for m in json.loads(subprocess.run(["bpftool", "-j", "map", "show"], stdout=subprocess.PIPE, check=True).stdout)}


with tempfile.TemporaryDirectory() as work:
    json.dump({"interval": "1s", "control": {"socket": False}, "probes": [{"plugin": p} for p in PROBES],
               "sinks": [{"plugin": "file", "path": work + "/out"}]}, open(work + "/conf", "w"))
    before = ids()
    daemon = testing.start(work + "/conf", work + "/log")
    maps = [m for i, m in ids().items() if i not in before]
    status = dict(line.split(":", 1) for line in open("/proc/%d/status" % daemon.pid))
    testing.stop(daemon, work + "/log")
sums, count = collections.Counter(), collections.Counter()
for m in maps:
    kind = "rings" if "ringbuf" in m["type"] else "arrays and hashes for each CPU" if "percpu" in m["type"] else "others"
    sums[kind] += int(m["bytes_memlock"])
    count[kind] += 1
print("%s, possible CPUs %s" % (os.uname().release, open("/sys/devices/system/cpu/possible").read().strip()))
for kind in sorted(sums):
    print("%-32s %4d maps %8.1f MiB" % (kind, count[kind], sums[kind] / 2**20))
for m in sorted(maps, key=lambda m: -int(m["bytes_memlock"]))[:8]:
    print("  %-16s %-20s %8.1f MiB" % (m.get("name", ""), m["type"], int(m["bytes_memlock"]) / 2**20))
print("%-32s %9s %8.1f MiB" % ("skepd's resident memory", "", int(status["VmRSS"].split()[0]) / 1024))
