#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/cost.sh - skep cost of a real run, compared with a formula over the report of skep show: what tasks and
# tools used, and that the parts are the bill. Then files of prices that are wrong.
# Environment: SKEP, SKEP_PLUGIN_DIRS.
. "$(dirname "$0")/run_lib.sh"

cat >"$work/prices.json" <<'END'
// 36 an hour: 0.01 a second
{ "currency": "EUR", "prices": [
  { "name": "all", "machine_hour": 36, "split": { "cpu": 100 }, "overhead_percent": 25 } ] }
END
# bill ARGUMENT...: to $work/bill
bill() {
	"$SKEP" cost --lake "$lake" --prices "$work/prices.json" --json "$@" >"$work/bill" || fail "cost $*: status $?"
}
# of EXPRESSION over the bill b and the report r
of() {
	python3 - "$work/bill" "$work/report" "$1" <<'PY'
import json, sys
b, r = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
run, rows = r["run"], b["rows"]
parts = b["used_nano"] + b["reserved_nano"] + b["idle_nano"] + b["overhead_nano"]
def ns(t):
	import calendar, re, time
	s, f = re.fullmatch(r"(.*)\.(\d{9})Z", t).groups()
	return calendar.timegm(time.strptime(s, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(f)
wall = ns(run["end"]) - ns(run["start"])
# a core's share of the machine's price, 0.01 a second, in billionths
def worth(cpu_ns): return cpu_ns * 10**7 / 10**9 / run["cpus"]
print(eval(sys.argv[3]))
PY
}

# a task, and a tool outside of it
cat >"$work/job" <<'END'
SKEP_TASK=work sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 1'
sort /etc/services >/dev/null
END
run --pipeline costs --name one -- sh "$work/job" || fail "run"
"$SKEP" show --lake "$lake" --json one >"$work/report" || fail "show"
bill one
same "the bill is the price of the machine while the run ran, and a quarter" True \
	"$(of 'abs(b["bill_nano"] - wall / 100 * 1.25) <= 2')"
same "the parts are the bill" True "$(of 'parts == b["bill_nano"]')"
same "the run is in the rows of its tasks" "{'work': True, None: True}" \
	"$(of '{x: y for x, y in sorted(((x["task"], x["used_nano"] > 0) for x in rows if not x["others"]),
		key=str)}')"
same "the tasks used what skep show says" True \
	"$(of 'abs(sum(x["used_nano"] for x in rows if not x["others"]) - worth(r["totals"]["cpu_ns"])) <= 10')"
bill one --by tool
same "each tool has its CPU time's worth" True \
	"$(of 'all(abs(sum(x["used_nano"] for x in rows if x["tool"] == t["tool"]) - worth(t["cpu_ns"])) <= 10
		for t in r["tools"])')"
same "the same bill" True "$(of 'abs(b["bill_nano"] - wall / 100 * 1.25) <= 2 and parts == b["bill_nano"]')"
for by in pipeline run user host label; do
	bill one --by "$by"
	same "by $by" True "$(of 'parts == b["bill_nano"] and len([x for x in rows if not x["others"]]) == 1')"
done
same "a time without records has no figure" "no_records" \
	"$("$SKEP" cost --lake "$lake" --prices "$work/prices.json" --json --since 1h |
	   python3 -c 'import json, sys; b = json.load(sys.stdin); print(b["problems"][0]["kind"])')"
"$SKEP" cost --lake "$lake" --prices "$work/prices.json" one >"$work/text" || fail "text: status $?"
contains "the text has the bill" "$work/text" "bill, EUR"

# ---- wrong prices ------------------------------------------------------------------------
"$SKEP" cost --lake "$lake" one >"$work/text" 2>&1
same "without prices: a wrong configuration" 3 $?
contains "and what to do" "$work/text" "give --prices FILE"
cat >"$work/gap.json" <<'END'
{ "currency": "EUR", "prices": [
{ "until": "2026-01-01", "core_hour": 1 },
{ "from": "2026-02-01", "core_hour": 1 } ] }
END
"$SKEP" cost --lake "$lake" --prices "$work/gap.json" one >"$work/text" 2>&1
same "a gap: a wrong configuration" 3 $?
contains place "$work/text" "$work/gap.json:3:1: error: prices[1]: no price holds for these machines from 2026"
printf '{ "currency": "EUR", "prices": [ { "match": { "host": "other" }, "core_hour": 1 } ] }\n' >"$work/other.json"
"$SKEP" cost --lake "$lake" --prices "$work/other.json" one >"$work/text" 2>"$work/err"
same "no price for the host: no figure" 1 $?
contains "and the reason" "$work/text" "no price holds from"
if grep -q "bill" "$work/text"; then fail "a bill without a price"; fi
finish
