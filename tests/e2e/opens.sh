#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/opens.sh - the detail "opens" on the live kernel, through skepd. It counts each open of tests/exact/opens.c
# once, by its process and path, and nothing else; an attachment to one process counts only that process; afterwards no
# program is left. Environment: EXACT_BIN, SKEP, SKEPD, SKEP_PLUGIN_DIRS.
name=opens
. "$(dirname "$0")/probe_lib.sh"

cat >"$work/conf" <<CONF
{ "interval": "500ms",
  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "files", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$work/out" } ],
  "control": { "socket": "$work/socket" } }
CONF
start
mkdir "$work/files"
files=$(cd "$work/files" && pwd -P)
mkfifo "$work/go"
"$EXACT_BIN/opens" "$files" <"$work/go" >"$work/did" &
driver=$! children="$children $!"
exec 3>"$work/go"
until_ready "$work/did"
"$SKEP" attach opens --for 60s --json --socket "$work/socket" >"$work/host" 2>>"$work/errors" &
host=$! children="$children $!"
until_log "not attached to the host" 'opens attached to host'
"$SKEP" attach opens --pid $driver --for 60s --json --socket "$work/socket" >"$work/pid" 2>>"$work/errors" &
pid=$! children="$children $!"
until_log "not attached to a process" 'opens attached to pid'
"$SKEP" doctor --json --socket "$work/socket" >"$work/doctor" 2>&1 || :
echo >&3
exec 3>&-
wait $driver || die "the driver: status $?"
until_log "the detail did not end with its process" 'opens detached from pid .*: the process has ended'
kill -INT $host || die "skep attach has ended: $(cat "$work/errors")"
wait $host || die "skep attach: $(cat "$work/errors")"
wait $pid || die "skep attach --pid: $(cat "$work/errors")"
"$SKEP" doctor --socket "$work/socket" >"$work/after" 2>&1 || :
stop
grep -q 'proc.opens *off' "$work/after" || die "the hook is still said to be there: $(cat "$work/after")"

PYTHONPATH=$(dirname "$0") /usr/bin/python3 - "$work" <<'END_OF_PYTHON'
import collections, json, os, sys, testing
work = sys.argv[1]
signal = next(s for p in json.load(open(work + "/doctor"))["plugins"] for s in p.get("signals", []) if s["name"] == "proc.opens")
fexit = signal["how"].startswith("fexit")
bad, missing = [], collections.Counter()
# A kernel that preempts a task in a program skips the program for other tasks meanwhile, and counts this (README.md of
# plugins/files).
preemptible = testing.preempts()
if signal["state"] != ("ok" if fexit else "partial"):
    bad.append(f"while attached the signal is {signal}")

wanted, pids = collections.defaultdict(lambda: [0] * 4), []
for line in open(work + "/did"):
    if line == "ready\n":
        continue
    way, pid, *numbers, error, path = line.rstrip("\n").split(" ", 7)
    if int(pid) not in pids:
        pids.append(int(pid))
    if way == "uring" and not fexit:
        continue  # the hook on system calls cannot see it, and the signal reports this
    row = wanted[(int(pid), "" if error == "-" else error, path)]
    for i in range(4):
        row[i] += int(numbers[i])

def lines(name):
    """The records that skep attach got. On a busy machine it may read them too slowly: then those of the sink."""
    got = [json.loads(line) for line in open(work + "/" + name)]
    end = got[-1]
    if not end["dropped"]:
        return got
    print(f"{name}: skepd dropped {end['dropped']} records for a slow skep attach")
    return [r for r in map(json.loads, open(work + "/out")) if r.get("detail.id") == end["id"]]

def counted(name):
    rows = collections.defaultdict(lambda: [0] * 4)
    for r in lines(name):
        if r.get("stream") != "proc.opens":
            continue
        row = rows[(int(r["upid"].split("-")[1]), r["error.type"], r["file.path"])]
        for i, field in enumerate(("opens", "writes", "created", "failed")):
            row[i] += r[field]
        if row is rows.get((pids[0], r["error.type"], r["file.path"])) and not r.get("tool"):
            bad.append(f"{name}: {r['file.path']}: the process had ended, and its record did not wait for the probe: no tool")
    return rows

def compare(what, want, got):
    for key in sorted(set(want) | set(got)):
        w, g = want.get(key), got.get(key)
        if w and g and preemptible and all(a <= b for a, b in zip(g, w)):
            missing[what] += sum(w) - sum(g)  # the test compares the sum with the reported losses below
        elif w != g:
            bad.append(f"{what}: {key}: opens, writes, created, failed {want.get(key)}, counted {got.get(key)}")

everybody = counted("host")
compare("of the host", dict(wanted), {k: v for k, v in everybody.items() if k[0] in pids})
compare("of the process", {k: v for k, v in wanted.items() if k[0] == pids[0]}, dict(counted("pid")))
lost = sum(json.loads(line)["count"] for line in open(work + "/out") if '"loss"' in line and '"proc.opens"' in line)
if lost and not preemptible:
    bad.append(f"{lost} lost")
for what, n in missing.items():
    print(f"{what}: {n} not seen, skepd reports {lost} as lost")
    if n > lost:
        bad.append(f"{what}: {n} missing, {lost} lost")
print(f"{signal['how']}: {sum(sum(v) for v in wanted.values())} numbers of {len(wanted)} files, {len(pids)} processes; "
      f"{len(everybody) - len(wanted)} files of others beside them")
for b in bad:
    print("not ok -", b)
sys.exit(bool(bad))
END_OF_PYTHON
echo "ok - every open is counted once, by process and path"

# skep run without a daemon prints a table without other processes' files. The command opens its files more than once:
# the table has no room for files opened once, such as the libraries of programs.
cat "$files/d" >/dev/null
head -c 5000 /dev/zero >"$files/a"
"$SKEP" run --lake "$work/lake" --no-live --no-report --detail opens -- sh -c "cat '$files/a' '$files/a' '$files/none' '$files/none' '$files/none'" 2>"$work/table" >/dev/null || :
grep -Eq "^ +2 +- .* 4.88 KiB +cat .*/files/a\$" "$work/table" || { echo "not ok - two opens of a run, with the size of the file, are not in its table:"; cat "$work/table"; exit 1; }
grep -Eq "^ +- .* 3 +- +cat +ENOENT .*/files/none\$" "$work/table" || { echo "not ok - a failed open of a run is not in its table:"; cat "$work/table"; exit 1; }
! grep -q "/files/d\$" "$work/table" || { echo "not ok - the run's table has another process's file:"; cat "$work/table"; exit 1; }
echo "ok - opens of a run, as a table"
