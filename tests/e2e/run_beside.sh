#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# skep run beside a skepd that writes the same lake: skepd collects the run, and each image of a process has one row in
# all files of the lake, in the run that the user began.
# Needs: root, $SKEP, $SKEPD, $SKEP_PLUGIN_DIRS, $SKEP_TEST_PLUGIN_DIRS, python3.
name=beside
. "$(dirname "$0")/daemon_lib.sh"

cat >"$dir/conf" <<END
{ "interval": "200ms", "control": { "socket": "$SKEP_SOCKET" },
  "probes": [ { "plugin": "proc", "required": true } ],
  "sinks": [ { "plugin": "lake", "min_free": "0", "path": "$dir/lake", "max_bytes": "64MiB" } ] }
END
cat >"$dir/ask.py" <<'END'
import glob, sqlite3, sys
rows, tools, files, ok = {}, 0, sorted(glob.glob(sys.argv[1] + "/lake/lake-*.db")), True
for path in files:
    db = sqlite3.connect(path)
    one = lambda sql: db.execute(sql).fetchone()[0]
    found = db.execute("SELECT b.s, pid, start_boot_ns, image, coalesce(r.name, ''), t.s FROM proc p JOIN dict b ON b.id = p.boot"
                       " JOIN dict t ON t.id = p.tool JOIN dict s ON s.id = p.state LEFT JOIN run r ON r.id = p.run WHERE s.s <> 'excluded'")
    for *key, run, tool in found:
        rows.setdefault(tuple(key), []).append((path, run, tool))
    print(path, "runs", [n for n, in db.execute("SELECT name FROM run")])
    for sums in ("rollup_day", "rollup_run_tool"):
        have = db.execute("SELECT sum(cpu_ns), sum(processes), sum(rchar_bytes) FROM " + sums).fetchone()
        want = db.execute("SELECT sum(cpu_ns), sum(last), sum(rchar_bytes) FROM proc").fetchone()
        print(" ", sums, have, want)
        ok = ok and have == want
twice = {k: v for k, v in rows.items() if len(v) > 1}
tools = sum(r == ("beside", "true") for v in rows.values() for r in {(run, tool) for _, run, tool in v})
print("rows", len(rows), "of true in the run", tools, "twice", len(twice), list(twice.items())[:3])
if tools != 40 or twice or len(files) < 2:
    ok = False
sys.exit(not ok)
END
# The session's own run begins in the first file; its programs fill that file until skepd continues with another.
cat >"$dir/session" <<'END'
i=0 text=$(head -c 60000 /dev/zero | tr '\0' x)
while [ ! -e "$(echo "$1"/lake/lake-*.1.db)" ]; do
	i=$((i + 1))
	[ $i -lt 3000 ] || exit 9
	/bin/true "$text"
done
exec_run() { "$SKEP" run --name beside --no-live --no-report --lake "$1/lake" sh -c 'for i in $(seq 40); do /bin/true; done; exit 3'; }
exec_run "$1"
END
start
# A session of its own, as cron or a login gives one: skepd finds a run in it.
run 3 "skep run beside skepd" setsid -w bash "$dir/session" "$dir"
same_err=$(cat "$dir/err")
[ -z "$same_err" ] || fail "skep run is silent beside skepd"
wait_for python3 "$dir/ask.py" "$dir" # skepd has stored the records of the last one
shows_size() { "$SKEP" plugins lake | grep -q "retention .* of [0-9.]* [MG]iB"; }
wait_for shows_size || fail "skep plugins shows the lake's size and bound"
kill -TERM "$daemon"
wait "$daemon"
daemon=
python3 "$dir/ask.py" "$dir" >"$dir/out" 2>&1 || fail "one process, one row"
sed 's/^/# /' "$dir/out"
echo "ok - one process, one row; roll-ups add up to the rows"
