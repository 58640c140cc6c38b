#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# browser.sh - the pages of skep web in chromium, on generated runs (one with BROWSER_TASKS tasks, one that failed) and
# hosts and, as root, on recorded ones; and the one-file report from disk. pages.mjs has the checks.
# BROWSER_PICTURES: a folder for screenshots.
set -eu
. "$(dirname "$0")/../wait.sh"
: "${SKEP:?}" "${SKEPD:?}" "${abs_srcdir:?}" "${abs_builddir:?}"
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the browser is not ours; the build without sanitizers runs it"; exit 77; }
for program in node npm chromium; do
	command -v $program >/dev/null || { echo "skip: no $program (scripts/deps --install web check)"; exit 77; }
done
"$SKEP" show --lake /nonexistent --html /dev/null 2>&1 | grep -q 'built without its pages' && { echo "skip: built without the pages"; exit 77; }
work=$(mktemp -d)
web='' skepd=''
trap 'for pid in $web $skepd; do kill "$pid" 2>/dev/null && wait "$pid" || true; done; rm -rf "$work"' EXIT

# The modules are kept in the build, as the lock file has them.
modules=$abs_builddir/tests/browser/modules
mkdir -p "$modules"
if ! cmp -s "$abs_srcdir/tests/browser/package-lock.json" "$modules/installed"; then
	rm -f "$modules/installed"
	cp "$abs_srcdir/tests/browser/package.json" "$abs_srcdir/tests/browser/package-lock.json" "$modules"
	(cd "$modules" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
	cp "$modules/package-lock.json" "$modules/installed"
fi

"$abs_builddir/tests/bench/fill_lake" 8 400 8 "${BROWSER_TASKS:-3400}" path="$work/lake" >/dev/null
"$abs_builddir/tests/bench/fill_fleet" 9 4 path="$work/lake" >/dev/null
if [ "$(id -u)" -eq 0 ] && [ -n "${SKEP_PLUGIN_DIRS:-}" ]; then
	# Samples need an interval: half a second.
	cat >"$work/pipeline" <<-'END'
		#!/bin/bash
		SKEP_TASK=spin timeout 1.5 sh -c 'while :; do :; done'
		for i in 1 2 3; do SKEP_TASK=copy dd if=/dev/zero of="$0.out" bs=1M count=8 conv=fsync 2>/dev/null & done; wait
		SKEP_TASK=broken sh -c 'kill -SEGV $$'
		exit 7
	END
	chmod +x "$work/pipeline"
	# Names and arguments that a page must show as text: markup, quotes, a mark that turns the direction, 32 KiB.
	hostile='<img src=x onerror="window.hostile=1">'"'"'&quot;\' turned=$(printf 'a\342\200\256b')
	cat >"$work/$hostile" <<-'END'
		#!/bin/bash
		SKEP_TASK="$1" sh -c 'sleep 0.1; exit 3' "$1" "$2" "$(head -c 32768 /dev/zero | tr '\0' x)"
	END
	chmod +x "$work/$hostile"
	for i in 1 2; do
		"$SKEP" run --lake "$work/lake" --no-report --name "$hostile" --pipeline "$hostile" -- "$work/$hostile" "$hostile" "$turned" || :
	done
	export BROWSER_HOSTILE=$hostile
	export BROWSER_LIVE=$work/lake
	"$SKEP" run --lake "$work/lake" --html "$work/run.html" --name recorded --pipeline recorded -- "$work/pipeline" >"$work/out" 2>&1 || [ $? -eq 7 ] || { cat "$work/out"; exit 1; }
fi
"$SKEP" show --lake "$work/lake" large --html "$work/report.html"
"$SKEP" tune --lake "$work/lake" large --html "$work/tune.html"
"$SKEP" diff --lake "$work/lake" nightly large --html "$work/diff.html"
# A skepd with a rule, for its page.
if [ -n "${BROWSER_LIVE:-}" ]; then
	mkdir "$work/rules"
	printf '{ "rules": [\n  { "id": "no-true", "when": "tool = '"'true'"'", "verdict": "exclude", "why": "a test" } ] }\n' >"$work/rules/10.json"
	cat >"$work/skepd.conf" <<-CONF
		{ "interval": "1s", "probes": [ { "plugin": "proc" } ], "sinks": [ { "plugin": "file", "path": "$work/records" } ],
		  "filters": { "dirs": [ "$work/rules" ] }, "control": { "socket": "$work/socket" } }
	CONF
	"$SKEPD" -c "$work/skepd.conf" 2>"$work/skepd.log" &
	skepd=$!
	wait_skepd $skepd "$work/skepd.log" || exit $?
	export SKEP_SOCKET=$work/socket
fi
size=$(stat -c %s "$work/report.html")
[ "$size" -le 1500000 ] || { echo "FAIL: the report of 10,000 processes has $size bytes"; exit 1; }

"$SKEP" web --lake "$work/lake" >"$work/address" 2>"$work/errors" &
web=$!
wait_for sh -c 'test -s "$1" || ! kill -0 "$0"' $web "$work/address"
[ -s "$work/address" ] || { cat "$work/errors"; exit 1; }
BROWSER_MODULES=$modules node "$abs_srcdir/tests/browser/pages.mjs" "$(cat "$work/address")" "$work/report.html" "${BROWSER_PICTURES:-}"
