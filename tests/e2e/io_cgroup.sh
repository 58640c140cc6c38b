#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/io_cgroup.sh - the probe "io" and cgroups: bytes of write-back belong to the writer's cgroup, exactly as in
# io.stat (cgroup v2); and a process at its cgroup's limit reports reclaim. Environment: SKEPD, SKEP_PLUGIN_DIRS,
# abs_builddir.
name=io-cgroup
. "$(dirname "$0")/probe_lib.sh"
needs_probe io
v2=$(findmnt -n -o TARGET -t cgroup2 | head -1)
v1=$(findmnt -n -o TARGET,OPTIONS -t cgroup | grep -w memory | head -1 | cut -d ' ' -f 1)
if [ -n "$v2" ] && grep -qw memory "$v2/cgroup.controllers"; then
	memory=$v2 limit=memory.max
	echo +memory >"$v2/cgroup.subtree_control" 2>/dev/null || skip "no memory controller for children of $v2"
elif [ -n "$v1" ]; then
	memory=$v1 limit=memory.limit_in_bytes
else
	skip "no memory controller"
fi

needs_disk
writeback=no
if [ "$memory" = "$v2" ] && grep -qw io "$v2/cgroup.controllers" && echo +io >"$v2/cgroup.subtree_control" 2>/dev/null; then
	writeback=yes
fi

cat >"$work/conf" <<END
{ "interval": "1s",
  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "io", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$work/out" } ] }
END
start
cgroup=$memory/skep-$name-$$
mkdir "$cgroup"
id=$(stat -c %i "$cgroup")
# without a limit, then with one: 8 MiB are too few for 48 MiB of dirty pages
sh -c 'echo $$ >"$1/cgroup.procs"; echo $$ >"$3"; exec dd if=/dev/zero of="$2/free" bs=64k count=256 2>/dev/null' x "$cgroup" "$disk" "$work/free"
sync
[ $writeback = no ] || cp "$cgroup/io.stat" "$work/stat"
echo 8388608 >"$cgroup/$limit"
# On a slow disk the kernel may end it, which has reclaimed by then.
sh -c 'echo $$ >"$1/cgroup.procs"; echo $$ >"$3"; exec dd if=/dev/zero of="$2/tight" bs=64k count=768 2>/dev/null' x "$cgroup" "$disk" "$work/tight" || [ $? -eq 137 ]
sync
[ $writeback = no ] || cp "$cgroup/io.stat" "$work/stat2"
cat >"$work/judge" <<'END'
import json, os, sys
work, id, writeback = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "yes"
records = [json.loads(line) for line in open(f"{work}/out") if line.endswith("\n")]
bad = []

def process(name):
    pid = int(open(f"{work}/{name}").read())
    return [r for r in records if r["stream"] == "process.exit" and r["pid"] == pid]

free, tight = process("free"), process("tight")
if not free or not tight:
    bad.append("no record of the processes")
for name, images in (("without a limit", free), ("at its limit", tight)):
    n = sum(r["io.cgroup_reclaims"] or 0 for r in images)
    ns = sum(r["io.cgroup_reclaim_ns"] or 0 for r in images)
    print(f"{name}: {n} reclaims of its cgroup, {ns} ns")
    if (n > 0) != (name == "at its limit") or (n > 0) != (ns > 0):
        bad.append(f"{name}: {n} reclaims, {ns} ns")
if writeback:
    said = {}
    for r in records:
        if r["stream"] == "cgroup.io" and r["cgroup_id"] == id:
            key = f"{r['issuer']} {r['operation']}"
            said[key] = said.get(key, 0) + r["bytes"]
    truth = {"rbytes": 0, "wbytes": 0}
    for line in open(f"{work}/stat2"):
        for word in line.split()[1:]:
            k, v = word.split("=")
            if k in truth:
                truth[k] += int(v)
    read = said.get("direct read", 0) + said.get("writeback read", 0)
    written = said.get("direct write", 0) + said.get("writeback write", 0)
    print(f"io.stat: {truth}; cgroup.io: {said}")
    if read != truth["rbytes"] or written != truth["wbytes"]:
        bad.append(f"cgroup.io has {read} read, {written} written")
    if said.get("writeback write", 0) < 16 << 20:
        bad.append("written-back bytes do not belong to the cgroup")
else:
    print("write-back: skipped, because the io controller is not on cgroup v2")
for b in bad:
    print("not ok -", b)
print("ok - cgroups" if not bad else f"{len(bad)} not as they must be")
sys.exit(1 if bad else 0)
END
wait_for python3 "$work/judge" "$work" "$id" $writeback || :
stop
python3 "$work/judge" "$work" "$id" $writeback
