# SPDX-License-Identifier: Apache-2.0
# check_containers.py RECORDS PODMAN-ID OOM-ID PARTS HELD-ID RUNC-ID... - checks the records of tests/e2e/containers.sh.
# check_containers.py --ended|--read RECORDS ID - have the records of the end of the cgroup and of its process come; has
# the cgroup's the CPU time of the process?
import json, sys

records = [json.loads(line) for line in open(sys.argv[2 if sys.argv[1].startswith("--") else 1]) if line.endswith("\n")]
processes = [r for r in records if r["stream"] == "process.exit"]
cgroups = [r for r in records if r["stream"] == "cgroup"]
failures = 0


def check(what, good, detail=""):
    global failures
    print(("ok - " if good else "FAIL - ") + what + ("" if good else f": {detail}"))
    failures += not good


def container_of(r):
    return r.get("container") or ""


def cpu_of(i):
    """CPU time of a container, by its cgroup and by its processes."""
    return sum(r["cpu_ns"] for r in cgroups if container_of(r) == i), sum(r["cpu_ns"] for r in processes if container_of(r) == i)


if sys.argv[1] == "--ended":
    sys.exit(not (any(r["gone"] and container_of(r) == sys.argv[3] for r in cgroups) and
                  any(container_of(r) == sys.argv[3] for r in processes)))
if sys.argv[1] == "--read":
    cpu, used = cpu_of(sys.argv[3])
    sys.exit(not (used > 0 and cpu >= used / 2))
podman, oom, parts, held, runc = sys.argv[2], sys.argv[3], sys.argv[4].split(), sys.argv[5], sys.argv[6:]


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
    # busybox's shell forks for some of its own commands without an exec, and renames the fork
    members = [r for r in family(mark) if (r["argv"][0] if r["execed"] else r["comm"]) in ("sh", "sleep", "head", "tail")]
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
    named = {(r["container_name"], r["container_image"]) for r in family("skep-podman") if container_of(r) == podman}
    check("the container's processes have its name and image", named == {("skep-name", "localhost/skep-test:1")}, named)
    check("podman and conmon are in no container",
          not any(r.get("container_name") for r in processes if r["comm"] in ("podman", "conmon") and not container_of(r)))
    task = [r for r in records if r["stream"] == "task" and r["task"] == "in-podman"]
    inside = {r["task"] for r in family("skep-podman")}
    check("the container's processes are in the task that started it, through conmon", inside == {"in-podman"}, inside)
    check("the task's grant is the container's limits, and nobody asked for them",
          [(r["granted_memory_bytes"], r["granted_cpus"], r["granted_source"], r["requested_source"]) for r in task] ==
          [(64 << 20, 0.5, "cgroup", "")], task)
if "nspawn" in parts:
    of("skep-nspawn", ["skep-test"], 4)
    named = {r["container_name"] for r in family("skep-nspawn")}
    check("a machine's id is its name", named == {"skep-test"}, named)
if "pod" in parts:
    pod = {(r.get("pod"), r.get("namespace"), r.get("container_name")) for r in processes
           if r["last"] and any("skep-kube" in a for a in r["argv"] or []) and container_of(r)}
    check("a pod's processes have its name, its namespace and their container's name", pod == {("align-7x2", "batch", "bwa")}, pod)
of("skep-outside", [""], 4)
runcs = [r for r in processes if r["comm"] == "runc" and r["last"] and "init" not in (r["argv"] or [])]
check("runc itself is in no container", runcs and not any(container_of(r) for r in runcs), [(r["argv"], container_of(r)) for r in runcs])

for what, ids in (("runc", runc), ("podman", [podman] if "podman" in parts else [])):
    for i in ids:
        mine = [r for r in cgroups if container_of(r) == i]
        last = [r for r in mine if r["gone"]]
        check(f"{what} {i[:12]}: its cgroup's end is reported once, with its memory peak",
              len(last) == 1 and last[0]["memory_peak_bytes"] > 0, mine)
        # The probe reads the other figures when the cgroup falls empty. If it cannot, the record marks them as missing.
        if not any("cpu" in r["controllers"] for r in mine):
            continue
        cpu, used = cpu_of(i)
        # The image of a runtime's init includes CPU time from before it joined the cgroup; the cgroup's figure does
        # not.
        check(f"{what} {i[:12]}: its CPU time {cpu / 1e6:.1f} ms is at most its processes' CPU time, {used / 1e6:.1f} ms",
              cpu <= used * 1.05 + 1e6, mine)
cpu, used = cpu_of(held)
check("the probe reads the CPU time of a cgroup between the end of its last process and its removal", used > 0 and cpu >= used / 2, (cpu, used))
mine = [r for r in cgroups if container_of(r) == oom]
check("the record of the container that exceeds its limit counts the kill", sum(r["oom_kills"] for r in mine) >= 1, mine)
check("its memory peak is the limit", max([r["memory_peak_bytes"] for r in mine], default=0) == 33554432 and
      max(r["memory_limit_bytes"] for r in mine) == 33554432, [(r["memory_peak_bytes"], r["memory_limit_bytes"]) for r in mine])
# Both programs of the pipe hold much memory: one kernel kills one of them, another kernel both.
victims = [container_of(r) for r in family("skep-oom") if r["oom_killed"]]
check("the victims of the kills are in the container", victims == [oom] * sum(r["oom_kills"] for r in mine), (victims, mine))
sys.exit(1 if failures else 0)
