#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/pid_reuse.sh - two processes that had the same pid, one after the other, are two records. Environment: SKEP,
# SKEP_PLUGIN_DIRS.
set -eu
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF, ns_last_pid)"; exit 77; }
[ -w /proc/sys/kernel/ns_last_pid ] || { echo "skip: no /proc/sys/kernel/ns_last_pid (CONFIG_CHECKPOINT_RESTORE)"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-reuse.XXXXXX")
trap 'rm -rf "$work"' EXIT
cat >"$work/twice" <<'END'
#!/bin/bash
# other users start processes too: try until the same pid repeats
for try in $(seq 50); do
	/bin/true & first=$!
	wait $first
	echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
	/bin/false & second=$!
	wait $second
	if [ $first = $second ]; then echo $first; exit 0; fi
done
echo 0
END
chmod +x "$work/twice"
"$SKEP" run --no-report --no-live --lake "$work/lake" --json "$work/report.json" -- "$work/twice" >"$work/pid"
/usr/bin/python3 - "$work" <<'END'
import json, sys
work = sys.argv[1]
pid = int(open(f"{work}/pid").read())
if not pid:
    print("skip: the pid did not come again in 50 tries")
    sys.exit(77)
r = json.load(open(f"{work}/report.json"))
last = [p for p in r["processes"] if p["pid"] == pid and p["last"]]
tools = sorted((p["tool"], p["exit_code"]) for p in last)
if len({p["upid"] for p in last}) != 2 or tools != [("false", 1), ("true", 0)]:
    sys.exit(f"not ok - pid {pid} is {[(p['upid'], p['tool'], p['exit_code']) for p in last]}")
# before Linux 6.16 the memory peak of an image no larger than the one before is an upper bound
if any(set(p["approx"]) - {"split", "rss_peak"} for p in last):
    sys.exit(f"not ok - not exact: {[p['approx'] for p in last]}")
print(f"ok - pid {pid} twice: two processes")
END
