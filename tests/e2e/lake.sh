#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/lake.sh - skep lake, and what runs, show and tune answer from a lake that is not whole: one that lacks a
# month, has a damaged file, was written by a clock that jumped.  Environment: SKEP, abs_builddir.
set -u
fill=${abs_builddir:?}/tests/bench/fill_lake
[ -x "$fill" ] || { echo "skip: this build has no sink lake"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
export LC_ALL=C.UTF-8 TZ=UTC
unset SKEP_LAKE
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-lake.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0
ok() { echo "ok - $*"; }
fail() { echo "FAIL - $*"; failures=$((failures + 1)); }
same() { if [ "$2" = "$3" ]; then ok "$1"; else fail "$1: wanted '$2', got '$3'"; fi }
contains() { if grep -qF -- "$3" "$2"; then ok "$1"; else fail "$1: '$3' is not in:"; sed 's/^/    /' "$2"; fi }
# ask STATUS COMMAND...: runs skep on the lake; $work/out and $work/err
ask() {
	local wanted=$1 got
	shift
	"$SKEP" "$1" ${2:+"$2"} --lake "$work/lake" "${@:3}" >"$work/out" 2>"$work/err"
	got=$?
	same "skep $*: exit status" "$wanted" "$got"
}
# of EXPRESSION: of the JSON in $work/out, as r
of() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/out" "$1"; }
sql() { python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])' "$1" "$2"; }

# 90 days: 2026-08-12 to 2026-11-10, four files
"$fill" 90 2700 90 0 "path=$work/lake" >"$work/err" 2>&1 || { fail "fill_lake: $(cat "$work/err")"; exit 1; }
october=$work/lake/lake-2026-10.db november=$work/lake/lake-2026-11.db
ask 0 runs "" -n 0 --json
cp -r "$work/lake" "$work/whole"
all=$(of 'len(r)') newest=$(of 'r[0]["id"]')
same "all runs" 90 "$all"

ask 0 lake status --json
same "files" "11 10 09 08" "$(of '" ".join(f["name"][10:12] for f in r["files"])')"
same "runs, processes, partial" "90 2700 False" "$(of 'r["runs"], r["processes"], r["partial"]' | tr -d '(),')"
ask 0 lake status --json --rows
for rows in "run 90" "task 900" "proc 2700"; do
	same "rows" "$rows" "${rows% *} $(of "sum(f['rows']['${rows% *}'] for f in r['files'])")"
done
same "growth: 30 processes a day, as large as those of November's file" True \
	"$(of 'abs(r["growth"]["bytes_a_day"] / (30 * r["files"][0]["bytes"] / r["files"][0]["processes"]) - 1) < 0.01')"
ask 0 lake status
contains "the text" "$work/out" "90 runs, 2,700 processes"
contains "bounds that no configuration names" "$work/out" "bounds     not known"
ask 0 lake vacuum
same "vacuum: every file" 4 "$(grep -c 'in order' "$work/out")"
ask 0 lake check
same "check: every file" 4 "$(grep -c 'in order: .*; the sums agree with the rows$' "$work/out")"

# another program has changed rows or sums: check names the file, the row and both figures
changed() { # TABLE COLUMN SQL
	cp "$work/whole/lake-2026-10.db" "$october"
	sql "$october" "$3"
	ask 1 lake check
	contains "check after $3" "$work/err" "$october: its sums do not agree with its rows"
	same "check: only that file" 3 "$(grep -c 'in order' "$work/out")"
	ask 1 lake check --json
	same "check: $1, $2" True \
		"$(of "not r['in_order'] and any(d['table'] == '$1' and d['column'] == '$2' and d['kept'] != d['rows'] for f in r['files'] for d in f['differences'])")"
}
changed rollup_run_tool cpu_ns "UPDATE rollup_run_tool SET cpu_ns = cpu_ns + 1 WHERE run = 3"
changed rollup_run_tool images "DELETE FROM proc_row WHERE id = (SELECT max(id) FROM proc_row)"
changed rollup_run processes "UPDATE rollup_run SET processes = processes - 1 WHERE run = 3"
changed rollup_run rss_max_bytes "UPDATE rollup_run SET rss_max_bytes = rss_max_bytes + 1 WHERE run = 3"
changed rollup_day read_bytes "UPDATE rollup_day SET read_bytes = read_bytes + 1"
changed usage_hour capacity_ns "INSERT INTO usage_hour VALUES (0, 0, 1, 0, 1, 2, 1, 7, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)"
cp "$work/whole/lake-2026-10.db" "$october"
sql "$october" "DELETE FROM proc_kind WHERE id = 1"
ask 1 lake check
contains "check: a row without the row that it names" "$work/err" "rows of proc_row have no proc_kind; it is damaged"
# what a file says of itself: records that only the sums have
cp "$work/whole/lake-2026-10.db" "$october"
sql "$october" "INSERT INTO meta VALUES ('rows_summed', '3'); UPDATE rollup_run_tool SET images = images + 3 WHERE run = 3;
	UPDATE rollup_run SET images = (SELECT sum(images) FROM rollup_run_tool t WHERE t.run = rollup_run.run)"
ask 0 lake check
contains "check: records that only the sums have" "$work/out" "and have 3 records more"
cp "$work/whole/lake-2026-10.db" "$october"

# the lake that the environment or skep.conf names is a server: no folder is taken in its place
mkdir -p "$work/config/skep"
echo '{"lake": "clickhouse://db.example/skep"}' >"$work/config/skep/skep.conf"
for word in status check vacuum; do
	SKEP_LAKE=clickhouse://db.example/skep "$SKEP" lake $word >"$work/out" 2>"$work/err"
	same "lake $word, SKEP_LAKE has an address: exit status" 1 $?
	contains "lake $word, SKEP_LAKE has an address" "$work/err" "clickhouse://db.example/skep: status, check and vacuum are for a lake of files"
	env -u SKEP_LAKE XDG_CONFIG_HOME="$work/config" "$SKEP" lake $word >"$work/out" 2>"$work/err"
	same "lake $word, skep.conf has an address: exit status" 1 $?
	contains "lake $word, skep.conf has an address" "$work/err" "clickhouse://db.example/skep: status, check and vacuum are for a lake of files"
done

# a month is missing
rm "$october"
ask 0 runs "" -n 0 --json
same "without October" True "$(of "0 < len(r) < $all")"
ask 0 lake status
contains "the missing month" "$work/out" "no file of 2026-10"

# a damaged file: what can be read is there, and marked
cp "$work/whole/lake-2026-10.db" "$october"
truncate -s 20000 "$october"
ask 1 runs "" -n 0 --json
same "the rest of the runs" True "$(of "0 < len(r) < $all")"
contains "runs says that the answer is partial" "$work/err" "partial answer"
contains "and which file it lacks" "$work/err" "$october: damaged"
ask 0 runs "" -n 3 --json # the newest three are in November's file
same "nothing to say about a file that the answer does not need" 0 "$(wc -c <"$work/err")"
ask 0 show "" last
ask 0 show "" "$newest"
ask 1 tune "" "$newest" # which compares it with earlier runs
contains "tune says that earlier runs may be missing" "$work/err" "partial answer"
for command in show tune; do
	ask 1 $command "" nothing
	contains "$command: the run may be in the damaged file" "$work/err" "may be in this file"
done
ask 1 lake status --json
same "status: partial" "True ['lake-2026-10.db'] None" \
	"$(of 'str(r["partial"]) + " " + str([f["name"] for f in r["files"] if f["problem"]]) + " " + str(r["growth"])')"
ask 1 lake status
contains "status: the cause and what to do" "$work/err" "$october: damaged"
ask 1 lake vacuum
contains "vacuum: the damaged file" "$work/err" "$october: damaged"
same "vacuum: the others" 3 "$(grep -c 'in order' "$work/out")"
# the remedy of the manual page, for a file that lacks its end and for one with a page overwritten
if command -v sqlite3 >/dev/null; then
	sed -n '/^# DAMAGED FILES/,/^# SEE/s/^    //p' "${abs_srcdir:?}/man/skep-lake.7.in" >"$work/remedy"
	# a page with rows of processes, wherever it is
	page=$(sqlite3 -readonly "$work/whole/lake-2026-10.db" "SELECT pageno FROM dbstat WHERE name = 'proc_row' AND pagetype = 'leaf' LIMIT 1 OFFSET 1")
	bytes=$(sqlite3 -readonly "$work/whole/lake-2026-10.db" 'PRAGMA page_size')
	for damage in "truncate -s -40000 $october" "dd if=/dev/urandom of=$october bs=$bytes count=1 conv=notrunc seek=$((page - 1))"; do
		cp "$work/whole/lake-2026-10.db" "$october"
		$damage 2>/dev/null
		ask 1 lake vacuum
		rm -f "$work"/lake/*.new
		(cd "$work/lake" && bash "$work/remedy" 2>/dev/null)
		mv "$october.new" "$october"
		ask 0 lake vacuum
		ask 0 runs "" -n 0 --json
		same "runs after the remedy" True "$(of "$all - 31 < len(r) <= $all")"
	done
fi
cp "$work/whole/lake-2026-10.db" "$october"

# a newer schema
sql "$november" "PRAGMA user_version = 99"
ask 1 runs "" --json
contains "a newer schema" "$work/err" "upgrade skep"
ask 1 show "" last
contains "last may be in the newer file" "$work/err" "may be in this file"
ask 1 lake status
contains "status of a newer schema" "$work/err" "has schema version 99"
cp "$work/whole/lake-2026-11.db" "$november"

# clocks: a run that ends before it begins, one of the future, a task without an end
sql "$november" "UPDATE run SET end_ns = start_ns - 3600000000000 WHERE run = '$newest'"
ask 0 show "" "$newest"
contains "a clock that was set back" "$work/err" "was set during run $newest"
! grep -qE '[0-9]{4,}d|inf|nan|-[0-9]+(\.[0-9]+)? (s|ms)' "$work/out" ||
	fail "a wrong time: $(cat "$work/out")"
ask 0 tune "" "$newest" --json
same "tune: no time is negative" True "$(of 'all(t["wall_s"]["min"] >= 0 for t in r["tasks"])')"
ask 0 runs "" -n 1
contains "runs: the elapsed time is not known" "$work/out" " - "
years=315360000000000000
sql "$november" "UPDATE run SET start_ns = start_ns + $years, end_ns = start_ns + $years + 60000000000
	WHERE run = '$newest'"
ask 0 show "" "$newest"
contains "a run of the future" "$work/err" "from now"
cp "$work/whole/lake-2026-11.db" "$november"
sql "$november" "UPDATE task SET end_ns = NULL, exit_code = NULL, state = 'running'
	WHERE run = (SELECT id FROM run WHERE run = '$newest')"
ask 0 show "" "$newest"
ask 0 tune "" "$newest" --json
same "tasks without an end give no request" True \
	"$(of 'all(t["running"] == t["executions"] and t["ask_for"]["cpus"] is None for t in r["tasks"])')"

# usage
for bad in "status --clickhouse http://x" "init --json" "vacuum --json" "vacum" "status x"; do
	# shellcheck disable=SC2086
	"$SKEP" lake $bad >"$work/out" 2>&1
	same "skep lake $bad: wrong usage" 2 $?
done
contains "a misspelled word" <("$SKEP" lake vacum 2>&1) "vacuum"
"$SKEP" lake status --lake "$work/none" >"$work/out" 2>"$work/err"
same "no lake" 1 $?
contains "no lake: where" "$work/err" "$work/none"
[ "$failures" -eq 0 ] || { echo "$failures failed"; exit 1; }
