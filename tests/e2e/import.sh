#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/import.sh - skep lake import: the answers about imported runs are those of the lake they come from; a second
# import, other runs beside them, wrong files, a run that is cut.  Environment: SKEP, abs_builddir, abs_srcdir.
set -u
fill=${abs_builddir:?}/tests/bench/fill_lake
[ -x "$fill" ] || { echo "skip: this build has no sink lake"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
export LC_ALL=C.UTF-8 TZ=UTC
unset SKEP_LAKE
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-import.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0
ok() { echo "ok - $*"; }
fail() { echo "FAIL - $*"; failures=$((failures + 1)); }
same() { if [ "$2" = "$3" ]; then ok "$1"; else fail "$1: wanted '$2', got '$3'"; fi }
contains() { if grep -qF -- "$3" "$2"; then ok "$1"; else fail "$1: '$3' is not in:"; head -c 2000 "$2"; fi }
# import STATUS LAKE FILE...; $work/out and $work/err
import() {
	local wanted=$1
	"$SKEP" lake import --lake "$work/$2" "${@:3}" >"$work/out" 2>"$work/err"
	same "import ${*:3}: exit status" "$wanted" $?
	[ "$wanted" != 0 ] || [ ! -s "$work/err" ] || fail "import ${*:3} says $(cat "$work/err")"
}
export_all() { "$SKEP" lake export --lake "$work/$1" --what all "${@:2}" || fail "export of $1"; }

"$fill" 60 2000 90 100 "path=$work/lake" >"$work/err" 2>&1 || { fail "fill_lake: $(cat "$work/err")"; exit 1; }
lakes=lake
# a real run has facets, samples and a ledger, and here arguments of any bytes
if "$SKEP" run --no-report --name hostile --lake "$work/real" -- python3 -c '
import subprocess, time
subprocess.run([b"/bin/echo", b"\xff\xfe", b"a\nb\t,\"", b"", "é".encode()], stdout=subprocess.DEVNULL)
subprocess.run(["sh", "-c", "exit 3"])
time.sleep(2.2)' >"$work/out" 2>&1; then
	lakes="lake real"
else
	echo "no run is recorded here, so none is imported: $(tail -n 1 "$work/out")"
fi

# ---- the same answers ------------------------------------------------------------------------
for lake in $lakes; do
	export_all "$lake" >"$work/$lake.ndjson"
	import 0 "new-$lake" "$work/$lake.ndjson"
	same "$lake: a line with the number of runs" \
		"$work/new-$lake: imported $(grep -c '^{"row":"runs"' "$work/$lake.ndjson") runs" "$(sed 's/run with/runs with/; s/ with .*//' "$work/out")"
	export_all "new-$lake" >"$work/again.ndjson"
	if cmp "$work/$lake.ndjson" "$work/again.ndjson"; then ok "$lake: the same rows again"; else fail "$lake: other rows"; fi
	for ask in "runs --all -n 0 --json" "tune --no-files --json last" "show --no-files --json last" \
		"show --no-files --tasks --width 120 last"; do
		# shellcheck disable=SC2086
		"$SKEP" $ask --lake "$work/$lake" >"$work/there" 2>&1 || fail "$lake: $ask: $(cat "$work/there")"
		# shellcheck disable=SC2086
		"$SKEP" $ask --lake "$work/new-$lake" >"$work/here" 2>&1 || fail "new-$lake: $ask: $(cat "$work/here")"
		python3 "${abs_srcdir:?}/tests/e2e/import_check.py" "$lake" "$ask" "$work/there" "$work/here" || fail "$lake: $ask"
	done
done
"$SKEP" lake vacuum --lake "$work/new-lake" >"$work/out" 2>&1 || fail "vacuum: $(cat "$work/out")"

# ---- twice, and beside others -----------------------------------------------------------------
import 0 new-lake "$work/lake.ndjson"
contains "a second import: skipped" "$work/out" "imported 0 runs with 0 processes; skipped 60"
export_all new-lake | cmp - "$work/lake.ndjson" || fail "a second import changes rows"
last=$("$SKEP" runs --lake "$work/lake" --json -n 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["id"])')
export_all lake --run "$last" >"$work/one.ndjson"
import 0 parts "$work/one.ndjson"
"$SKEP" lake import --lake "$work/parts" - <"$work/lake.ndjson" >"$work/out" 2>&1 || fail "from the input: $(cat "$work/out")"
contains "the other runs, from the input" "$work/out" "imported 59 runs"
export_all parts | cmp - "$work/lake.ndjson" || fail "runs that were imported one after the other"
if [ "$lakes" != lake ]; then
	import 0 parts "$work/real.ndjson" "$work/real.ndjson"
	contains "one file twice" "$work/out" "imported 1 run with"
	import 0 real "$work/one.ndjson" # into a lake that skep run writes
	export_all real --run "$last" | cmp - "$work/one.ndjson" || fail "a run beside recorded ones"
	export_all real --run hostile | cmp - "$work/real.ndjson" || fail "a recorded run beside imported ones"
fi

# ---- labels ----------------------------------------------------------------------------------
python3 - "$work" <<'END' || fail "labels"
import sys
of, n = ('["team=red"]', '["team=red","cost=\u00e9 \\"7\\""]', "[]"), 0
with open(f"{sys.argv[1]}/one.ndjson", encoding="utf-8") as rows, open(f"{sys.argv[1]}/labels.ndjson", "w", encoding="utf-8") as f:
    for row in rows:
        f.write(row.replace('"labels":[]', f'"labels":{of[n // 2 % 3]}'))
        n += '"labels":[]' in row
assert n > 3, n
END
import 0 labels "$work/labels.ndjson"
export_all labels >"$work/out"
if cmp "$work/out" "$work/labels.ndjson"; then ok "the same labels"; else fail "other labels"; fi

# ---- wrong files ------------------------------------------------------------------------------
python3 - "$work" <<'END' || fail "wrong files"
import json, sys
work = sys.argv[1]
rows = [json.loads(line) for line in open(f"{work}/one.ndjson")]
at = {kind: next(i for i, r in enumerate(rows) if r["row"] == kind) for kind in ("runs", "tasks", "processes")}
cases = []

def case(name, want, text):
    cases.append((name, want))
    open(f"{work}/wrong-{len(cases)}", "w").write(text)

def changed(name, kind, want, **keys):
    bad = [dict(r) for r in rows]
    bad[at[kind]].update(keys)
    line = json.dumps(bad[at[kind]], separators=(",", ":"))
    key = next(iter(keys))
    column = line.index(f'"{key}":') + len(key) + 4 if keys[key] is not ... else 0
    case(name, f"FILE:{at[kind] + 1}:{column}: {want}", "\n".join(json.dumps(r, separators=(",", ":")) for r in bad) + "\n")

changed("a text for a number", "processes", '"pid" is the string "12"; it can be a whole number from 0 on', pid="12")
changed("a negative number", "processes", '"cpu_ns" is the integer -1; it can be a whole number', cpu_ns=-1)
changed("a number for a text", "processes", '"tool" is the integer 7; it can be a string or null', tool=7)
changed("a wrong time", "runs", '"start" is the string "2h"; it can be a time like', start="2h")
changed("a list with a number", "processes", '"argv" is the integer 1; it can be a list of strings', argv=["a", 1])
changed("a facet that is no number", "processes", '"facets" is', facets={"a": "b"})
changed("a wrong identity", "processes", '"upid" is "x"; it can be an identity', upid="x")
changed("an unknown key", "tasks", 'a row of tasks has no "colour"; if a newer skep', colour=1)
changed("a row of another run", "processes", '"run" is "x", in the rows of run', run="x")
changed("an unknown row", "tasks", '"row" is "task"; if a newer skep', row="task")
changed("a wrong number of rows", "runs", '"following" is', following=-1)
lines = open(f"{work}/one.ndjson").read().splitlines(True)
case("not JSON", "FILE:2:", lines[0] + "{\"row\": nonsense}\n")
case("a binary file", "FILE:1", "PAR1\0\1\2\3")
case("an empty line", "FILE:2: not JSON", lines[0] + "\n" + lines[1])
case("rows of one kind", "import reads what `skep lake export --what all` writes", '{"run":"x","upid":"y"}\n')
case("rows without their run", "without its run; is a part of the file missing?", "".join(lines[1:3]))
case("a file that ends too early", f"the file ends with 1 of the {len(lines) - 1} rows of run", "".join(lines[:2]))
case("a run within a run", "a run begins here, and the run before it has 1 of its", "".join(lines[:2] + lines))
case("a key twice", "duplicate", '{"row":"runs","row":"runs"}\n')
case("a NUL in a text", "FILE:1:", lines[0].replace('"name":"', '"name":"\\u0000'))
with open(f"{work}/cases", "w") as f:
    f.writelines(f"{i}\t{name}\t{want}\n" for i, (name, want) in enumerate(cases, 1))
END
while IFS=$'\t' read -r n name want; do
	"$SKEP" lake import --lake "$work/none" "$work/wrong-$n" >"$work/out" 2>"$work/err"
	same "$name: exit status" 1 $?
	contains "$name: what, where and the remedy" "$work/err" "${want/FILE/$work/wrong-$n}"
	same "$name: one message" 1 "$(wc -l <"$work/err")"
done <"$work/cases"
[ "$("$SKEP" lake export --lake "$work/none" 2>/dev/null | wc -l)" = 0 ] || fail "a part of a wrong run is in the lake"
# the lake has the rows before the error, and the mended file brings the rest
{ cat "$work/one.ndjson"; echo '{"row":"runs"}'; } >"$work/two"
import 1 mixed "$work/two"
contains "the runs before the error" "$work/out" "imported 1 run with"
import 0 mixed "$work/lake.ndjson"
export_all mixed | cmp - "$work/lake.ndjson" || fail "after the remedy"

# ---- usage --------------------------------------------------------------------------------------
import 2 none
import 1 none "$work/nothing"
contains "no such file" "$work/err" "$work/nothing: No such file"
"$SKEP" lake import --lake clickhouse://localhost/x "$work/one.ndjson" >"$work/out" 2>"$work/err"
same "into a server: exit status" 2 $?
contains "into a server" "$work/err" "import writes into a folder"
"$SKEP" lake import --what all "$work/one.ndjson" 2>"$work/err"
contains "options of export" "$work/err" "go with export"
if [ "$(id -u)" -eq 0 ]; then
	mkdir "$work/other"
	chown 65534 "$work/other"
	import 1 other "$work/one.ndjson"
	contains "a folder of another user" "$work/err" "belongs to the user with uid 65534"
fi
cp -r "$work/lake" "$work/damaged"
truncate -s 20000 "$work/damaged/lake-2026-10.db"
import 1 damaged "$work/one.ndjson"
contains "a damaged lake" "$work/err" "its runs could be imported twice"
[ "$failures" -eq 0 ] || { echo "$failures failed"; exit 1; }
