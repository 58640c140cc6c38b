# SPDX-License-Identifier: Apache-2.0
# check_containers.py RECORDS PODMAN-ID OOM-ID PARTS RUNC-ID... - checks the records of tests/e2e/containers.sh.
import json, sys

records = [json.loads(line) for line in open(sys.argv[1])]
podman, oom, parts, runc = sys.argv[2], sys.argv[3], sys.argv[4].split(), sys.argv[5:]
processes = [r for r in records if r["stream"] == "process.exit"]
cgroups = [r for r in records if r["stream"] == "cgroup"]
failures = 0


def check(what, good, detail=""):
    global failures
    print(("ok - " if good else "FAIL - ") + what + ("" if good else f": {detail}"))
    failures += not good


def container_of(r):
    return r.get("container") or ""


def upid(u):
    return json.dumps(u)


# A shell, found by the mark in its command line, and all its descendants.
def family(mark):
    ids = {upid(r["upid"]) for r in processes if (r["argv"] or [""])[0] == "sh" and any(mark in a for a in r["argv"])}
    more = ids
    while more:
        more = {upid(r["upid"]) for r in processes if upid(r["parent_upid"]) in ids} - ids
        ids |= more
    return [r for r in processes if upid(r["upid"]) in ids]


def of(mark, wanted, least):
    # the images of the runtime's init before the container's command do not count
    members = [r for r in family(mark) if r["execed"] and r["argv"][0] in ("sh", "sleep", "head", "tail") or
               not r["execed"] and r["comm"] == "sh"]
    got = {container_of(r) for r in members}
    check(f"{mark}: all of {len(members)} records are in {', '.join(sorted(w[:12] or 'none' for w in wanted))}",
          len(members) >= least and got == set(wanted), f"{[(r['argv'], r['comm'], r['image'], container_of(r), r['cgroup']) for r in members]}")
    return members


# per container: sh, two forks, sleep (in busybox's shell perhaps as another fork)
of("skep-runc", runc, 5 * 4)
of("skep-oom", [oom], 3)
if "podman" in parts:
    of("skep-podman", [podman], 4)
    conmon = [r for r in processes if r["comm"] == "conmon"]
    check("conmon is in no container", conmon and not any(container_of(r) for r in conmon), [(r["cgroup"], container_of(r)) for r in conmon])
if "nspawn" in parts:
    of("skep-nspawn", ["skep-test"], 4)
of("skep-outside", [""], 4)
runcs = [r for r in processes if r["comm"] == "runc" and r["last"] and "init" not in (r["argv"] or [])]
check("runc itself is in no container", runcs and not any(container_of(r) for r in runcs), [(r["argv"], container_of(r)) for r in runcs])

read_in_time = 0
for what, ids in (("runc", runc), ("podman", [podman] if "podman" in parts else [])):
    for i in ids:
        mine = [r for r in cgroups if container_of(r) == i]
        last = [r for r in mine if r["gone"]]
        check(f"{what} {i[:12]}: its cgroup's end is reported once, with its memory peak",
              len(last) == 1 and last[0]["memory_peak_bytes"] > 0, mine)
        # The probe reads other figures when the cgroup falls empty. If that fails, the record says that it has none.
        if not any("cpu" in r["controllers"] for r in mine):
            continue
        cpu = sum(r["cpu_ns"] for r in mine)
        used = sum(r["cpu_ns"] for r in processes if container_of(r) == i)
        # The image of a runtime's init includes CPU time from before it joined the cgroup; the cgroup's figure does
        # not.
        check(f"{what} {i[:12]}: its CPU time {cpu / 1e6:.1f} ms is that of its processes, {used / 1e6:.1f} ms, or less",
              cpu <= used * 1.05 + 1e6, mine)
        # The cgroup may end before the probe reads it, after only an early sample: an emulated processor is that slow.
        read_in_time += cpu >= used / 2
check(f"CPU time of {read_in_time} containers was read in the moment between their last process and their end", read_in_time > 0)
mine = [r for r in cgroups if container_of(r) == oom]
check("the kill is counted", sum(r["oom_kills"] for r in mine) >= 1, mine)
check("the peak is the limit", max([r["memory_peak_bytes"] for r in mine], default=0) == 33554432 and
      max(r["memory_limit_bytes"] for r in mine) == 33554432, [(r["memory_peak_bytes"], r["memory_limit_bytes"]) for r in mine])
victims = [r for r in processes if r["oom_killed"]]
check("the victim of the kill is in the container", [container_of(r) for r in victims] == [oom], [(r["argv"], container_of(r)) for r in victims])
sys.exit(1 if failures else 0)
