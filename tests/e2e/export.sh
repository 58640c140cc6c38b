#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/export.sh - skep lake export: the same rows in each format and as skep show has them; lakes that are empty
# or damaged, a full disk, a reader that goes away; Parquet as hyparquet and DuckDB read it (npm, in SKEP_NPM_DIR).
# Environment: SKEP, abs_builddir, abs_srcdir.
set -u
here=${abs_srcdir:?}/tests/e2e fill=${abs_builddir:?}/tests/bench/fill_lake npm=${SKEP_NPM_DIR:-/var/tmp/skep-npm}
[ -x "$fill" ] || { echo "skip: this build has no sink lake"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
export LC_ALL=C.UTF-8 TZ=UTC
unset SKEP_LAKE
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-export.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0
ok() { echo "ok - $*"; }
fail() { echo "FAIL - $*"; failures=$((failures + 1)); }
same() { if [ "$2" = "$3" ]; then ok "$1"; else fail "$1: wanted '$2', got '$3'"; fi }
contains() { if grep -qF -- "$3" "$2"; then ok "$1"; else fail "$1: '$3' is not in:"; head -c 2000 "$2"; fi }
# ask STATUS OPTION...: exports; $work/out and $work/err
ask() {
	local wanted=$1
	"$SKEP" lake export --lake "$work/lake" "${@:2}" >"$work/out" 2>"$work/err"
	same "export ${*:2}: exit status" "$wanted" $?
}

"$fill" 90 2700 90 0 "path=$work/lake" >"$work/err" 2>&1 || { fail "fill_lake: $(cat "$work/err")"; exit 1; }
"$SKEP" runs --lake "$work/lake" -n 0 --all --json >"$work/runs" || fail "skep runs"
newest=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[0]["id"])' "$work/runs")
"$SKEP" show --lake "$work/lake" "$newest" --json >"$work/show" || fail "skep show"

# ---- the same rows everywhere -------------------------------------------------------------
for what in runs tasks processes samples ledger; do
	ask 0 --what $what
	mv "$work/out" "$work/$what.ndjson"
	ask 0 --what $what --format csv --output "$work/$what.csv"
	same "nothing on the output with --output" 0 "$(wc -c <"$work/out")"
	ask 0 --what $what --format parquet
	mv "$work/out" "$work/$what.parquet"
done
ask 0
same "processes are the default" "$(cksum <"$work/processes.ndjson")" "$(cksum <"$work/out")"
ask 0 --what all
mv "$work/out" "$work/all.ndjson"
ask 0 --what all --run "$newest"
mv "$work/out" "$work/newest.ndjson"
ask 0 --what runs --pipeline pipeline-03 --since 2026-09-10T00:00:00Z --until 2026-10-10T00:00:00Z
mv "$work/out" "$work/some.ndjson"
python3 "$here/export_check.py" "$work" || fail "export_check.py"

# ---- lakes that are not whole ---------------------------------------------------------------
cp -r "$work/lake" "$work/whole"
truncate -s 20000 "$work/lake/lake-2026-10.db"
ask 1 --what runs
contains "a damaged file: the message names it" "$work/err" "lake-2026-10.db: damaged"
same "the rows of the other files" "$(grep -vc '"start":"2026-10' "$work/runs.ndjson")" "$(wc -l <"$work/out")"
cp "$work/whole/lake-2026-10.db" "$work/lake/"
# pages of processes are damaged, pages of runs are not
python3 - "$work/lake/lake-2026-10.db" <<'END' || fail "damage"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
size, = db.execute("PRAGMA page_size").fetchone()
root, = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'proc_argv'").fetchone()
db.close()
with open(sys.argv[1], "r+b") as f:
    f.seek((root - 1) * size)
    f.write(b"\xaa" * size)
END
ask 1
contains "damaged processes: whose" "$work/err" "without the rows of run"
same "the rows of the runs of the other files" "$(grep -vc '"start":"2026-10' "$work/processes.ndjson")" \
	"$(wc -l <"$work/out")"
ask 1 --format parquet --output "$work/partial.parquet"
rm -r "$work/lake"
cp -r "$work/whole" "$work/lake"
rm "$work"/lake/*.db
ask 1
contains "an empty folder" "$work/err" "no lake"
cp "$work/whole/lake-2026-10.db" "$work/lake/"
python3 -c 'import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); [d.execute("DELETE FROM " + t) for t in ("run", "rollup_run")]; d.commit()' \
	"$work/lake/lake-2026-10.db"
for format in ndjson csv parquet; do
	ask 0 --format $format
	cp "$work/out" "$work/empty.$format"
done
same "a lake without runs: no line" 0 "$(wc -l <"$work/empty.ndjson")"
same "and in CSV the head" 1 "$(wc -l <"$work/empty.csv")"
rm -r "$work/lake"
mv "$work/whole" "$work/lake"

# ---- outputs that cannot be written, wrong usage ---------------------------------------------
for format in ndjson csv parquet; do
	"$SKEP" lake export --lake "$work/lake" --format $format >/dev/full 2>"$work/err"
	same "$format to a full disk" 1 $?
	contains "$format to a full disk: the message" "$work/err" "No space left on device"
	"$SKEP" lake export --lake "$work/lake" --format $format 2>"$work/err" | head -c 100 >/dev/null
	status=${PIPESTATUS[0]}
	if [ "$status" -ne 0 ] && [ "$(wc -l <"$work/err")" -le 1 ]; then ok "$format to a reader that went away: $status"
	else fail "$format to a reader that went away: $status, $(cat "$work/err")"; fi
done
ask 1 --output "$work/none/x"
contains "an output that cannot be opened" "$work/err" "$work/none/x: No such file"
ask 1 --run nothing
contains "no such run" "$work/err" 'no run "nothing"'
for bad in "--what process" "--format xml" "--what all --format csv" "--run last --since 2h" "--since yesterday" "--json"; do
	# shellcheck disable=SC2086
	ask 2 $bad
done
ask 2 --since yesterday
contains "a wrong time: the value, and how a time looks" "$work/err" "--since yesterday: not a time; give one like 2026"

# ---- Parquet as others read it ---------------------------------------------------------------
mkdir "$work/hostile"
SKEP_EXPORT_FOLDER=$work/hostile "$abs_builddir/tests/unit/test_export" >"$work/err" 2>&1 ||
	fail "test_export: $(cat "$work/err")"
readers=
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	echo "skip: Parquet is not read by others: needs node and npm"
else
	if [ ! -d "$npm/node_modules/hyparquet-compressors" ] || [ ! -d "$npm/node_modules/@duckdb/node-api" ]; then
		mkdir -p "$npm"
		(cd "$npm" && flock . timeout 300 npm install --no-audit --no-fund --no-package-lock hyparquet@1.33.0 \
			hyparquet-compressors@1.1.2 @duckdb/node-api@1.5.6-r.1) >"$work/npm" 2>&1 ||
			echo "skip: Parquet is not read by others: npm: $(tail -n 1 "$work/npm")"
	fi
	[ ! -d "$npm/node_modules/hyparquet-compressors" ] || readers="$readers hyparquet"
	[ ! -d "$npm/node_modules/@duckdb/node-api" ] || readers="$readers duckdb"
fi
for reader in $readers; do
	files=
	for what in runs tasks processes samples ledger empty hostile/samples hostile/processes; do
		files="$files $work/$what"
	done
	# shellcheck disable=SC2086
	timeout 500 node "$here/parquet_read.mjs" "$npm" "$reader" $files >"$work/out" 2>&1
	same "$reader: exit status" 0 $?
	grep -E '^(ok|FAIL) - ' "$work/out"
	contains "a file of two row groups" "$work/out" "130000 rows, 11 columns, 2 row groups, by skep version"
	case $reader in
	hyparquet) types="start:TIMESTAMPNANOS pid:INTEGER64 argv:LIST facets:MAP tool:STRING" ;;
	duckdb) types="pid:UBIGINT argv:VARCHAR[] facets:MAP(VARCHAR,_DOUBLE) tool:VARCHAR exit_code:BIGINT last:BOOLEAN" ;;
	esac
	for type in $types; do
		contains "$reader: type $type" "$work/out" "${type/,_/, }"
	done
done
[ "$failures" -eq 0 ] || { echo "$failures failed"; exit 1; }
[ -n "$readers" ] || exit 77
