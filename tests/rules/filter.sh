#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# skep filter as an operator uses it: its output and exit codes, for live and for recorded processes.
set -u
skep=${SKEP:-./skep} src=${abs_srcdir:-.}
day=$src/tests/rules/day.ndjson
dir=$(mktemp -d) || exit 1
child=
trap '[ -z "$child" ] || kill "$child" 2>/dev/null; rm -rf "$dir"' EXIT
failed=0

# want STATUS PATTERN ARG...: that exit status, and a line of the output (errors included) that matches.
want() {
	status=$1 pattern=$2
	shift 2
	"$skep" filter "$@" >"$dir/out" 2>&1
	got=$?
	if [ $got -ne "$status" ] || ! grep -q -e "$pattern" "$dir/out"; then
		echo "FAIL: skep filter $*: exit $got, wanted $status and /$pattern/:"
		cat "$dir/out"
		failed=1
	fi
}

cat >"$dir/rules.json" <<EOF
{ "rules": [
	{ "id": "us", "when": "pid = $$", "verdict": "exclude", "inherit": true, "why": "a test" },
	{ "id": "never", "when": "comm = 'no such'", "verdict": "include" }
] }
EOF
printf '{ "filters": { "dirs": [ "%s" ], "default": "exclude" } }\n' "$dir" >"$dir/skepd.conf"
printf '{ "filters": { "packs": [ "hots" ] } }\n' >"$dir/wrong.conf"

# Live: this shell, and its child, which inherits.
sleep 600 &
child=$!
want 0 "^true of 1 of [0-9]* processes" test "pid = $$"
want 0 "^ *$child .*sleep" test "pid = $child and parent.pid = $$"
want 0 "MATCH us: exclude, with its descendants" explain $$ --rules "$dir/rules.json"
want 0 "ancestor $$ .* says inherit" explain "$child" --rules "$dir/rules.json"
want 0 "^us  *exclude +  *[2-9] " test --rules "$dir/rules.json" --live
want 0 "^never  *include  *0" test --rules "$dir/rules.json" --all
want 0 "1 rules matched nothing" test --rules "$dir/rules.json"
want 0 "warning: us (with all descendants): any user can hide a process by this rule" test --rules "$dir/rules.json"
"$skep" filter test --rules "$src/etc/packs/host.json" "$day" 2>"$dir/out" >/dev/null
if grep -q warning "$dir/out"; then
	echo 'FAIL: the pack host has rules by which any user can hide:'
	cat "$dir/out"
	failed=1
fi
want 0 "(none)  *exclude" test --config "$dir/skepd.conf"
want 0 "wants pid = $$" explain 1 --rules "$dir"
want 0 "^45 images: 45 included, 0 excluded" test --rules "$dir/rules.json" "$day"
want 0 "^45 images: 25 included, 20 excluded" test --rules "$src/etc/packs/build.json" --rules "$src/etc/packs/host.json" "$day"
want 0 "host/periodic (inherited)" test --rules "$src/etc/packs/host.json" --processes "$day"
want 0 "true of 2 of 45" test "comm = 'collect2'" "$day"

# What programs read.
"$skep" filter test --rules "$src/etc/packs/build.json" --processes --json "$day" >"$dir/out.json" &&
"$skep" filter explain $$ --rules "$dir/rules.json" --json >"$dir/explain.json" &&
"$skep" filter schema >"$dir/schema.json" &&
if command -v python3 >/dev/null; then
	python3 - "$dir" "$src" $$ <<'EOF'
import json, sys
d = json.load(open(sys.argv[1] + "/out.json"))
assert d["processes"] == 45 == d["included"] + d["excluded"] + d["sampled"] == len(d["taken"]), d
assert sum(r["processes"] for r in d["rules"]) + d["default"]["processes"] == 45
for r in d["rules"]:
    assert r["processes"] == sum(t["processes"] for t in r["tools"]) == sum(p["rule"] == r["id"] for p in d["taken"])
assert [r["id"] for r in d["rules"]].index("build/configure") == 0
e = json.load(open(sys.argv[1] + "/explain.json"))
assert e["pid"] == int(sys.argv[3]) and e["rule"] == "us" and e["verdict"] == "exclude" and e["before"] == []
# Packs and the example hold to the schema, so far as it can be said without a library for it.
s = json.load(open(sys.argv[1] + "/schema.json"))["properties"]["rules"]["items"]
import re
for name in ("packs/host.json", "packs/build.json", "packs/ml.json", "packs/bioinformatics.json", "filters.d/10-site.json.example"):
    text = "\n".join(l for l in open(sys.argv[2] + "/etc/" + name) if not l.strip().startswith("//"))
    for r in json.loads(text)["rules"]:
        assert set(r) <= set(s["properties"]) and set(s["required"]) <= set(r), r
        assert re.match(s["properties"]["id"]["pattern"], r["id"])
EOF
else
	echo "no python3: what programs read is not looked at"
fi || { echo "FAIL: JSON"; failed=1; }

# Errors: 2 for the command line, 3 for rules, expressions, the configuration, 1 for what cannot be read.
want 2 "give one of: test, explain, schema"
want 2 "did you mean test?" tset
want 2 "did you mean" test --ruels x
want 2 "put it in double quotes" test user = root
want 2 "exclude each other" test --live "uid = 0" "$day"
want 2 "explain needs a process" explain
want 2 "'abc' is not a process id" explain abc
want 2 "is not a process id" explain -- -5
want 1 "no process 4000000000" explain 4000000000 --rules "$dir/rules.json"
want 1 "cannot read .*none.ndjson: No such file" test "uid = 0" "$dir/none.ndjson"
want 1 "none of its .* lines is of the stream process.exit" test "uid = 0" "$dir/skepd.conf"
want 3 '1:1: there is no field "usr"; did you mean "user"?' test "usr = 'root'"
want 3 '^     \^$' test "uid >> 5 or x"
want 3 "for its rules write --rules" test "$dir/rules.json"
want 3 "cannot read: No such file" test --rules "$dir/none.json"
want 3 'there is no pack "hots"' test --config "$dir/wrong.conf"
want 3 "cannot read" test --config "$dir/none.conf"
conf=$("$skep" filter --help | tr -d '\n' | sed -n 's/.*(default: *\([^ )]*skepd.conf\)).*/\1/p')
[ -n "$conf" ] || { echo "FAIL: the help names no default configuration"; failed=1; }
[ -e "$conf" ] || want 3 "$conf does not exist: name the configuration of skepd with --config FILE, or rules" explain 1
printf '{ "rules": [ { "id": "a", "when": "uidd = 5", "verdict": "include" } ] }' >"$dir/90.json"
want 3 "90.json:1:36: error: rules\[0\].when: there is no field \"uidd\"; did you mean \"uid\"?" test --rules "$dir"
exit $failed
