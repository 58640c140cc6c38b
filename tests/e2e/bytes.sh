#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program, a folder, arguments, a run and a task have names that are not UTF-8 and contain an escape sequence. Rules
# match the bytes. All output of skepd and skep is UTF-8 (docs/reference/text.md), JSON output is valid JSON, and no
# output moves the cursor.
name=bytes
. "${0%/*}/daemon_lib.sh"
b=$'caf\xe9\xff\e[7m' # Latin-1, no character at all, and "inverse"
place=$dir/$b
mkdir "$place"
cp "$(command -v dash || command -v sh)" "$place/t$b" || fail "no shell to copy"

# utf8 FILE...: fails unless the files are UTF-8 without control characters, C0 or C1.
utf8() {
	python3 - "$@" 2>"$dir/why" <<'EOT' || fail "$name: $* is not clean: $(tail -1 "$dir/why")"
import sys, unicodedata
for path in sys.argv[1:]:
    text = open(path.encode(errors="surrogateescape"), "rb").read().decode("utf-8")
    for line in text.split("\n"):
        bad = [c for c in line if unicodedata.category(c) in ("Cc", "Cs") and c != "\t"]
        assert not bad, (line, bad)
EOT
}
# shows COMMAND...: the command prints text.
shows() {
	run 0 "$*" "$@"
	utf8 "$dir/out" "$dir/err"
}
# prints_json COMMAND...
prints_json() {
	run 0 "$*" "$@"
	utf8 "$dir/out" "$dir/err"
	json "o or True"
}

mkdir "$dir/rules"
cat >"$dir/rules/10.json" <<EOT
{ "rules": [ { "id": "bytes", "when": "exe suffix 'caf\\\\xe9\\\\xff\\\\x1b[7m' and argv = 'caf\\\\xe9\\\\xff\\\\x1b[7m'", "verdict": "include" } ] }
EOT
cat >"$dir/conf" <<EOT
{ "interval": "200ms", "probes": [ { "plugin": "proc", "required": true, "environ": [ "SKEP_TASK" ] }, { "plugin": "sched" } ],
  "filters": { "dirs": [ "$dir/rules" ] },
  "sinks": [ { "plugin": "file", "path": "$dir/records" } ], "control": { "socket": "$dir/s.sock" } }
EOT
start
# start_program: starts a program that lives until its input ends.
mkfifo "$dir/life"
(cd "$place" && SKEP_TASK=$b exec "./t$b" -c 'read -r line; exit 3' "$b" <"$dir/life" 2>/dev/null) &
pid=$!
children="$children $pid"
exec 9>"$dir/life"

name="a rule that names the bytes"
hit() { "$SKEP" rules --json | python3 -c 'import json, sys; r = json.load(sys.stdin)["rules"][0]; sys.exit(r["hits_user"] + r["hits_kernel"] < 1)'; }
wait_for hit || fail "$name: does not hold"
for command in status plugins stats rules "filter test --rules $dir/rules --processes"; do
	# shellcheck disable=SC2086
	shows "$SKEP" $command
	# shellcheck disable=SC2086
	prints_json "$SKEP" $command --json
done
shows "$SKEP" stats --prometheus
shows "$SKEP" filter explain "$pid" --rules "$dir/rules"
prints_json "$SKEP" filter explain "$pid" --rules "$dir/rules" --json
prints_json "$SKEP" filter test "argv = 'caf\\xe9\\xff\\x1b[7m'" --processes --json
json "any(p['pid'] == $pid for p in o['taken'])"
run 0 "attach" "$SKEP" attach runqlat --for 200ms --pid "$pid"
utf8 "$dir/out" "$dir/err"
run 0 "support-bundle" "$SKEP" support-bundle -o "$dir/bundle.tar.gz"
utf8 "$dir/out" "$dir/err"
mkdir "$dir/bundle" && tar -xzf "$dir/bundle.tar.gz" -C "$dir/bundle" || fail "support-bundle: not to be unpacked"
find "$dir/bundle" -type f -exec cat {} + >"$dir/bundle.txt"
utf8 "$dir/bundle.txt"

# skep run with such a lake, report and names
lake=$dir/lake
cd "$place" || fail "no folder"
run 2 "a lake of that name" "$SKEP" run --lake "$lake$b" -- true
utf8 "$dir/err"
run 3 "skep run" "$SKEP" run --name "$b" --pipeline "$b" --lake "$lake" --json "$dir/report$b.json" --no-live -- "./t$b" -c 'exit 3' "$b"
utf8 "$dir/err" "$dir/report$b.json"
cd / || exit 1
shows "$SKEP" runs --lake "$lake"
prints_json "$SKEP" runs --lake "$lake" --json
json "o[0]['name'].startswith('caf\\ufffd\\ufffd')"
shows "$SKEP" show --lake "$lake" --processes
LC_ALL=C.UTF-8 shows "$SKEP" show --lake "$lake" --processes
prints_json "$SKEP" show --lake "$lake" --json
json "any(p['argv'][-1:] == ['caf\\ufffd\\ufffd\\x1b[7m'] and p['cwd'].endswith('/caf\\ufffd\\ufffd\\x1b[7m') for p in o['processes'])"
run 1 "show of no such run" "$SKEP" show "no-$b" --lake "$lake"
utf8 "$dir/out" "$dir/err"

name="skepd's records and messages"
exec 9>&-
wait "$pid"
[ $? -eq 3 ] || fail "$name: the program"
kill -TERM "$daemon"
wait "$daemon" || fail "$name: exit code $?"
daemon=
utf8 "$dir/records" "$dir/log"
python3 - "$dir/records" "$pid" >"$dir/out" 2>"$dir/err" <<'EOT' || fail "$name"
import json, sys
shown = "caf\ufffd\ufffd\x1b[7m"
records = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
mine = [r for r in records if r.get("pid") == int(sys.argv[2]) and r["stream"] == "process.exit"]
assert mine, "no record"
r = mine[-1]
assert r["argv"][-1] == shown and r["cwd"].endswith("/" + shown) and r["exe"].endswith("/t" + shown), r
assert r["comm"] == "tcaf\ufffd\ufffd\x1b[7m", r["comm"]
print(r)
EOT
echo "ok - bytes"
