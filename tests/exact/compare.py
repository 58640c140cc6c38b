#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py TRUTH REPORT [--table]: what drive.c wrote down against skep's report.

Bounds: CPU total within 0.1 % or 20 us, of wait4 where the process had one thread, and of
the cgroup's usage always (of a process that had more, wait4 leaves out what each thread
ran between the last tick and its end); peak RSS, bytes, calls and faults equal; status
equal; every process there, once, under the right parent.  wait4's rusage and /proc/PID/io
hold what children took that were waited for (kernel/exit.c, wait_task_zombie); skep keeps
each apart, so here they are added up again.  Prints one line a difference,
then "N of M equal"; exit 1 on any difference.  --table prints a table for the docs.
"""
import json
import sys

def by_process(report):
    """upid -> its images in order"""
    found = {}
    for image in report["processes"]:
        found.setdefault(image["upid"], []).append(image)
    for images in found.values():
        images.sort(key=lambda i: i["image"])
    return found


def total(images, key):
    return sum(i[key] for i in images)


def main():
    truth = [json.loads(line) for line in open(sys.argv[1])]
    report = json.load(open(sys.argv[2]))
    table = "--table" in sys.argv
    processes = by_process(report)
    by_pid = {}
    for upid, images in processes.items():
        by_pid.setdefault(images[0]["pid"], []).append(upid)
    unknown = 0
    differences, worst_us, worst_cgroup_us, rows = [], 0.0, 0.0, []
    children = {}
    for upid, images in processes.items():
        children.setdefault(images[0]["parent_upid"], []).append(upid)

    def was_waited_for(child, parent):
        """its parent never waited for a child that ends after the parent, or not at all"""
        end = processes[child][-1]["end"]
        return end is not None and end <= parent[-1]["end"]

    def inclusive(upid, key, waited=True):
        """the sum of the process and its children; waited: the parent's figure, without children that it never waited
        for"""
        mine = processes[upid]
        own = sum(i[key] for i in mine)
        if waited and mine[-1]["argv"] and mine[-1]["argv"][1:2] in (["zombie"],):
            return own
        return own + sum(inclusive(c, key, waited) for c in children.get(upid, ())
                         if not waited or was_waited_for(c, mine))

    def inexact(upid):
        """its final record, or a child's, never came; skepd counts it as lost, see README.md of plugins/proc"""
        return "counters" in processes[upid][-1]["approx"] or any(inexact(c) for c in children.get(upid, ()))

    def largest(upid):
        """wait4: of the process, or of the largest child that it waited for"""
        mine = processes[upid][-1]
        waited = mine["argv"][1:2] != ["zombie"]
        return max([mine["maxrss_bytes"] or 0] + [largest(c) for c in children.get(upid, ())
                                             if waited and processes[c][-1]["end"] <= mine["end"]])

    def differ(case, what, ours, theirs):
        differences.append(f"{case}: {what}: skep {ours}, kernel {theirs}")

    driver = [u for u, i in processes.items() if any("drive" in (x["argv"][0] if x["argv"] else "") for x in i)]
    for t in truth:
        upids = by_pid.get(t["pid"], [])
        if len(upids) != 1:
            differ(t["case"], "processes with its pid", len(upids), 1)
            continue
        images = processes[upids[0]]
        last = images[-1]
        if inexact(upids[0]):
            unknown += 1
            continue
        upid = upids[0]
        # rusage cuts user and system time to whole microseconds each, of every process: up to 2 us less than the truth
        cpu_us, rusage_us = inclusive(upid, "cpu_ns") / 1000, t["utime_us"] + t["stime_us"]
        off = max(0.0, abs(cpu_us - 1 - rusage_us) - 1)
        # wait may return a child before the child's last switch: wait4 has less then
        at_once = sum(1 for c in children.get(upid, ()) if was_waited_for(c, images))
        cgroup_us = t["cgroup_ns"] / 1000 if "cgroup_ns" in t else None
        as_cgroup = False
        if cgroup_us is not None and not t["case"].startswith("daemon"):  # its grandchild outlives it
            ours = inclusive(upid, "cpu_ns", waited=False) / 1000
            off_cgroup = abs(ours - cgroup_us)
            as_cgroup = off_cgroup <= 20 or off_cgroup <= cgroup_us * 0.001
            if not as_cgroup:
                differ(t["case"], "cpu_us, cgroup", ours, cgroup_us)
            worst_cgroup_us = max(worst_cgroup_us, off_cgroup)
        if last["threads"] == 1:
            if not at_once:
                worst_us = max(worst_us, off)
            # An emulated processor takes 300 us and more from the wait to the last switch; the cgroup has all of it.
            if off > 20 + 200 * at_once and off > rusage_us * 0.001 and not (as_cgroup and cpu_us > rusage_us):
                differ(t["case"], "cpu_us", cpu_us, rusage_us)
        maxrss = largest(upid)
        if maxrss != t["maxrss_kib"] * 1024:
            differ(t["case"], "maxrss_bytes", maxrss, t["maxrss_kib"] * 1024)
        for ours, theirs in (("rchar_bytes", "rchar"), ("wchar_bytes", "wchar"), ("read_bytes", "read_bytes"),
                             ("write_bytes", "write_bytes"), ("read_calls", "syscr"), ("write_calls", "syscw"),
                             ("minor_faults", "minflt"), ("major_faults", "majflt")):
            if inclusive(upid, ours) != t[theirs]:
                differ(t["case"], ours, inclusive(upid, ours), t[theirs])
        # the last switch of a dead task comes after its parent's wait returns
        for ours, theirs in (("voluntary_switches", "nvcsw"), ("involuntary_switches", "nivcsw")):
            if not 0 <= inclusive(upid, ours) - t[theirs] <= 1:
                differ(t["case"], ours, inclusive(upid, ours), t[theirs])
        signal, code = t["status"] & 0x7f, t["status"] >> 8
        if (last["signal"] or 0) != signal or (not signal and last["exit_code"] != code):
            differ(t["case"], "status", (last["exit_code"], last["signal"]), t["status"])
        if driver and images[0]["parent_upid"] != driver[0]:
            differ(t["case"], "parent", images[0]["parent_upid"], driver[0])
        for a, b in zip(images, images[1:]):
            if a["state"] != "replaced" or b["image"] != a["image"] + 1:
                differ(t["case"], "images", [i["image"] for i in images], "in a row")
        rows.append((t["case"], last["threads"], cpu_us, rusage_us, cgroup_us, maxrss, t["maxrss_kib"] * 1024,
                     inclusive(upid, "wchar_bytes"), t["wchar"], inclusive(upid, "write_bytes"), t["write_bytes"]))

    # children that the driver did not start itself
    def count(argv, **want):
        n = 0
        for images in processes.values():
            last = images[-1]
            if argv in " ".join(last["argv"] or []) and all(last[k] == v for k, v in want.items()):
                n += 1
        return n

    for argv, expected in (("fork 10 5", 6), ("daemon 20", 3), ("zombie 20", 2)):
        if any(t["case"].startswith(argv) for t in truth) and count(argv) != expected:
            differ(argv, "processes", count(argv), expected)
    loss = sum(v for v in report["loss"].values() if isinstance(v, int))
    marked = sum(1 for i in processes.values() if "counters" in i[-1]["approx"] and i[-1]["state"] == "exited")
    if loss != marked or unknown > 2:
        differ("run", "loss", report["loss"], f"{marked} processes marked, {unknown} cases not compared")
    if table:
        print("| case | threads | CPU, skep (us) | wait4 | cgroup | peak RSS, skep | wait4 | wchar, skep | kernel | written, skep | kernel |")
        print("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
        for r in rows:
            cgroup = f"{r[4]:.1f}" if r[4] is not None else ""
            print(f"| {r[0]} | {r[1]} | {r[2]:.1f} | {r[3]} | {cgroup} | {r[5]} | {r[6]} | {r[7]} | {r[8]} | {r[9]} | {r[10]} |")
    for line in differences:
        print(f"differs - {line}")
    print(f"{len(truth)} processes and their children, {len(differences)} differences; CPU off by at most {worst_us:.1f} us "
          f"from wait4 (one thread), {worst_cgroup_us:.1f} us from the cgroup; {unknown} without final counters")
    return 1 if differences else 0


sys.exit(main())
