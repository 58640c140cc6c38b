#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# skep run beside a skepd that writes the same lake: each image of a process has one row, in the run that
# the user began, and the roll-ups add up to the rows.
# Needs: root, $SKEP, $SKEPD, $SKEP_PLUGIN_DIRS, $SKEP_TEST_PLUGIN_DIRS, python3.
name=beside
. "$(dirname "$0")/daemon_lib.sh"

cat >"$dir/conf" <<END
{ "interval": "200ms", "control": { "socket": "$SKEP_SOCKET" },
  "probes": [ { "plugin": "proc", "required": true } ],
  "sinks": [ { "plugin": "lake", "path": "$dir/lake" } ] }
END
cat >"$dir/ask.py" <<'END'
import glob, sqlite3, sys
[path] = glob.glob(sys.argv[1] + "/lake/lake-*.db")
db = sqlite3.connect(path)
one = lambda sql: db.execute(sql).fetchone()[0]
rows = one("SELECT count(*) FROM proc p JOIN run r ON r.id = p.run WHERE r.name = 'beside'")
tools = one("SELECT count(*) FROM proc p JOIN run r ON r.id = p.run JOIN dict d ON d.id = p.tool WHERE r.name = 'beside' AND d.s = 'true'")
twice = db.execute("SELECT pid, image, count(*) FROM proc p JOIN dict s ON s.id = p.state WHERE s.s <> 'excluded'"
                   " GROUP BY boot, pid, start_boot_ns, image HAVING count(*) > 1").fetchall()
print("rows of the run", rows, "of true", tools, "twice", twice)
ok = tools == 40 and not twice
for sums in ("rollup_day", "rollup_run_tool"):
    have = db.execute("SELECT sum(cpu_ns), sum(processes), sum(rchar_bytes) FROM " + sums).fetchone()
    want = db.execute("SELECT sum(cpu_ns), sum(last), sum(rchar_bytes) FROM proc").fetchone()
    print(sums, have, want)
    ok = ok and have == want
print("sessions that skepd found", one("SELECT count(*) FROM run WHERE name <> 'beside' AND state <> ''"))
sys.exit(not ok)
END
start
# A session of its own, as cron or a login gives one: skepd finds a run in it.
run 3 "skep run beside skepd" setsid -w "$SKEP" run --name beside --no-live --no-report --lake "$dir/lake" \
	sh -c 'for i in $(seq 40); do /bin/true; done; exit 3'
sleep 1 # skepd's records of the last of them
shows_size() { "$SKEP" plugins lake | grep -q "retention .* of [0-9.]* [MG]iB"; }
until_true 300 shows_size || fail "skep plugins shows the lake's size and bound"
kill -TERM "$daemon"
wait "$daemon"
daemon=
python3 "$dir/ask.py" "$dir" >"$dir/out" 2>&1 || fail "one process, one row"
sed 's/^/# /' "$dir/out"
echo "ok - one process, one row; roll-ups add up to the rows"
