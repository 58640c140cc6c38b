#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/filelat.sh - the detail "filelat" on the live kernel, through skepd. It counts calls, bytes and errors of
# tests/exact/filelat.c exactly, by process, operation and path; times match the program's own clock; an attachment to
# one process counts only that process; calls without room for a row are in the overflow row. Environment: EXACT_BIN,
# SKEP, SKEPD, SKEP_PLUGIN_DIRS.
name=filelat
. "$(dirname "$0")/probe_lib.sh"
# start_rows ROWS
start_rows() {
	cat >"$work/conf" <<-CONF
		{ "interval": "500ms",
		  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "files", "required": true, "filelat_rows": $1 } ],
		  "sinks": [ { "plugin": "file", "path": "$work/out$1" } ],
		  "control": { "socket": "$work/socket" } }
	CONF
	start
}
# drive OUT [FILES]: starts the driver, which waits; its output goes through a pipe, as the detail would count a file
drive() {
	rm -f "$work/go" "$work/pipe"
	mkfifo "$work/go" "$work/pipe"
	cat "$work/pipe" >"$work/$1" &
	reader=$!
	shift
	"$EXACT_BIN/filelat" "$files" "$@" <"$work/go" >"$work/pipe" &
	driver=$! children="$children $!"
	exec 3>"$work/go"
}
mkdir "$work/files"
files=$(cd "$work/files" && pwd -P)

start_rows 4096
drive did
"$SKEP" attach filelat --for 60s --json --socket "$work/socket" >"$work/host" 2>&1 &
host=$! children="$children $!"
until_log "not attached to the host" 'filelat attached to host'
"$SKEP" attach filelat --pid $driver --for 60s --json --socket "$work/socket" >"$work/pid" 2>&1 &
pid=$! children="$children $!"
until_log "not attached to a process" 'filelat attached to pid'
echo >&3
exec 3>&-
wait $driver || die "the driver: status $?"
wait $reader
until_log "the detail did not end with its process" 'filelat detached from pid .*: the process has ended'
kill -INT $host
wait $host || die "skep attach: $(cat "$work/host")"
wait $pid || die "skep attach --pid: $(cat "$work/pid")"
"$SKEP" doctor --socket "$work/socket" >"$work/after" 2>&1 || :
stop
grep -q 'io.filelat *off' "$work/after" || die "the hooks are still said to be there: $(cat "$work/after")"

start_rows 1024
python3 "$(dirname "$0")/filelat_ends.py" "$work" "$work/socket" "$work/log" || die "calls that end late"
stop
echo "ok - a call that ends late, or whose end skepd misses, counts for no other"

start_rows 64
drive did_many 300
"$SKEP" attach filelat --pid $driver --for 60s --json --socket "$work/socket" >"$work/many" 2>&1 &
pid=$! children="$children $!"
until_log "not attached to a process" 'filelat attached to pid'
echo >&3
exec 3>&-
wait $driver || die "the driver: status $?"
wait $reader
wait $pid || die "skep attach --pid: $(cat "$work/many")"
stop

PYTHONPATH=$(dirname "$0") /usr/bin/python3 - "$work" <<'END_OF_PYTHON'
import collections, json, sys, testing
work, bad, missing = sys.argv[1], [], collections.Counter()
# A kernel that preempts a task in a program skips the program for other tasks meanwhile, and counts this (README.md of
# plugins/files).
preemptible = testing.preempts()

def driven(name):
    rows = {}
    for line in open(f"{work}/{name}"):
        pid, op, calls, size, errors, ns, path = line.rstrip("\n").split(" ", 6)
        rows[(int(pid), op, path)] = [int(calls), int(size), int(errors), int(ns)]
    return rows

def counted(name):
    rows = collections.defaultdict(lambda: [0] * 4)
    for line in open(f"{work}/{name}"):
        r = json.loads(line)
        if r.get("stream") != "io.filelat":
            continue
        h = r["duration"]
        if h["zero_count"] + sum(h["counts"]) != r["calls"] or h["sum"] != r["sum_ns"]:
            bad.append(f"the histogram does not add up: {r}")
        row = rows[(int(r["upid"].split("-")[1]) if r["upid"] else 0, r["operation"], r["file.path"])]
        for i, field in enumerate(("calls", "bytes", "errors", "sum_ns")):
            row[i] += r[field]
    return rows

def compare(what, want, got):
    for key in sorted(set(want) | set(got)):
        w, g = want.get(key), got.get(key)
        if w and g and preemptible and g[0] < w[0] and g[1] <= w[1] and g[2] <= w[2]:
            missing[what] += w[0] - g[0]  # the test compares the sum with the reported losses below
        elif not w or not g or w[:3] != g[:3]:
            bad.append(f"{what}: {key}: calls, bytes, errors, ns {w}, counted {g}")
        elif g[3] > w[3] and not (key[1] == "read" and w[0] > 2000):  # threads' times overlap
            bad.append(f"{what}: {key}: {g[3]} ns of calls within {w[3]} ns")

did, host = driven("did"), counted("host")
pids = [key[0] for key in did]
first = pids[0]
compare("of the host", did, {k: v for k, v in host.items() if k[0] in pids and k[2].startswith(work + "/files/")})
compare("of the process", {k: v for k, v in did.items() if k[0] == first}, {k: v for k, v in counted("pid").items() if k[2].startswith(work + "/files/")})
# the large sync: nearly all of its time is inside the call
key = next(k for k in did if k[1] == "sync" and k[2].endswith("/b"))
if host[key][3] < did[key][3] * 0.7 - 1e6:
    bad.append(f"{key}: {host[key][3]} ns, by the program's clock {did[key][3]}")
lost = {n: sum(json.loads(line)["count"] for line in open(f"{work}/{n}") if '"loss"' in line and '"io.filelat"' in line) for n in ("out4096", "out64")}
if any(lost.values()) and not preemptible:
    bad.append(f"lost: {lost}")
for what, n in missing.items():
    print(f"{what}: {n} not seen, skepd reports {lost['out4096']} at most as lost")
    if n > lost["out4096"]:
        bad.append(f"{what}: {n} missing, {lost['out4096']} lost")
print(f"{sum(v[0] for v in did.values())} calls in {len(did)} rows of {len(set(pids))} processes; sync of 16 MiB: {host[key][3] / 1e6:.2f} ms, "
      f"by the program's clock {did[key][3] / 1e6:.2f} ms")

# 300 files, room for fewer than 64 rows at a time: no call is lost
rows = counted("many")
files = [v for k, v in rows.items() if k[1] == "write" and "/many" in k[2]]
others = [v for k, v in rows.items() if k[1] == "write" and k[2] == "other"]
calls, size, other = sum(v[0] for v in files + others), sum(v[1] for v in files + others), sum(v[0] for v in others)
print(f"of 300 files {len(files)} had a row, {other} calls are in the overflow row")
if not 300 - lost["out64"] <= calls <= 300 or size != 3 * calls or not other or any(v[0] != 1 for v in files):
    bad.append(f"300 calls of 3 bytes: {calls} with {size} bytes")
for b in bad:
    print("not ok -", b)
sys.exit(bool(bad))
END_OF_PYTHON
echo "ok - calls on files are counted exactly, with their time"
