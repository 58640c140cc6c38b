#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The messages and exit codes of skepd with a valid configuration and with invalid ones. Needs: $SKEPD (the program),
# $SKEP_PLUGIN_DIRS (with proc and lake). Works in a folder of its own.
set -u

: "${SKEPD:?path of skepd}" "${SKEP_PLUGIN_DIRS:?folder of the plugins}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/skepd_config.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
conf=$dir/skepd.conf

fail() {
	echo "not ok - $1"
	sed 's/^/# stdout: /' "$dir/out"
	sed 's/^/# stderr: /' "$dir/err"
	exit 1
}

# run STATUS NAME ARGUMENT...: runs skepd; fails unless it exits with that status.
run() {
	want=$1
	name=$2
	shift 2
	"$SKEPD" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	[ "$got" -eq "$want" ] || fail "$name: exit $got, not $want"
}

# test_config STATUS NAME: runs skepd -t with the configuration on standard input.
test_config() {
	cat >"$conf"
	run "$1" "$2" -t -c "$conf"
}

# says TEXT: fails unless standard error contains the text, letter by letter.
says() {
	grep -qF -- "$1" "$dir/err" || fail "$name: does not say: $1"
}

test_config 0 "a good configuration" <<END
// comment
{ "interval": "1s", /* another */
  "probes": [ { "plugin": "proc" } ],
  "sinks": [ { "plugin": "lake", "min_free": "0", "path": "$dir/lake" } ] }
END
[ "$(cat "$dir/out")" = "configuration ok" ] || fail "$name: does not say: configuration ok"
[ ! -s "$dir/err" ] || fail "$name: complains"
[ ! -e "$dir/lake" ] || fail "$name: -t has made the lake"
echo "ok - a good configuration"

test_config 3 "an unknown key" <<END
{
  "intervall": "1s"
}
END
says "$conf:2:3: error: unknown key \"intervall\": did you mean \"interval\"?"
echo "ok - $name"

test_config 3 "a wrong type" <<END
{ "interval": 5,
  "probes": "proc" }
END
says "$conf:1:3: error: interval: expected a time such as \"5s\""
says "$conf:2:3: error: probes: expected an array of objects, found the string \"proc\""
echo "ok - $name: skepd reports all of them"

test_config 3 "a comment without an end" <<END
{
  /* }
END
says "$conf:2:3: error: this comment has no end"
echo "ok - $name"

test_config 3 "a syntax error" <<END
{ "probes": [ { "plugin": "proc" },
  ] }
END
says "$conf:2:3: error: not valid JSON"
says "remove the comma before it"
echo "ok - $name"

test_config 3 "a missing plugin" <<END
{ "probes": [
  { "plugin": "proc" },
  { "plugin": "nosuch" } ] }
END
says "$conf:3:5: error: no plugin \"nosuch\""
says "$SKEP_PLUGIN_DIRS"
echo "ok - $name"

test_config 3 "a probe where a sink is needed" <<END
{ "sinks": [ { "plugin": "nosuch", "name": "a" } ], "probes": [ { "plugin": "nosuch", "name": "b" } ] }
END
[ "$(grep -c 'error: .*nosuch' "$dir/err")" -eq 2 ] || fail "two missing plugins: skepd does not report both"
echo "ok - two missing plugins: skepd reports both"

test_config 3 "an unknown option" <<END
{ "probes": [ { "plugin": "proc",
    "rign": "8MiB" } ] }
END
says "$conf:2:5: error: probes[0] (proc): unknown option \"rign\": did you mean \"ring\"?"
echo "ok - $name"

test_config 3 "options of wrong type and out of bounds" <<END
{ "probes": [ { "plugin": "proc",
    "drain": 5,
    "ring": "1B" } ] }
END
says "$conf:2:5: error: probes[0] (proc): drain: expected a time such as \"5s\""
says "$conf:3:5: error: probes[0] (proc): ring: the string \"1B\" is out of bounds: from 64KiB to 1GiB"
echo "ok - $name"

test_config 3 "a missing option" <<END
{ "sinks": [ { "plugin": "lake" } ] }
END
says "$conf:1: error: sinks[0] (lake): \"path\" is missing"
echo "ok - $name"

test_config 3 "a plugin that does not open" <<END
{ "sinks": [ { "plugin": "lake", "path": "$dir/lake", "synchronous": "often" } ] }
END
says 'synchronous is "often"'
echo "ok - $name"

if "$SKEPD" --options http >/dev/null 2>&1; then # a build may lack it
	test_config 3 "a secret in a file that does not exist" <<END
{ "sinks": [ { "plugin": "http", "url": "http://127.0.0.1/", "token_file": "$dir/nosuch" } ] }
END
	says "http does not open: token_file: $dir/nosuch: No such file or directory"
	echo "ok - $name"
fi

test_config 3 "two instances of one name" <<END
{ "probes": [
  { "plugin": "proc" },
  { "plugin": "proc" } ] }
END
says "$conf:3: error: two instances are named \"proc\", here and in line 2"
echo "ok - $name"

run 3 "a missing file" -t -c "$dir/nosuch.conf"
says "$dir/nosuch.conf: error: cannot read: No such file or directory"
run 3 "a bad configuration in the foreground" -f -c "$conf"
says "two instances are named"
echo "ok - the same errors without -t"

mkdir "$dir/plugins"
echo "no ELF file" >"$dir/plugins/broken.so"
test_config 5 "a file that is no plugin" <<END
{ "plugin_dirs": [ "$dir/plugins" ],
  "probes": [ { "plugin": "broken" } ] }
END
says "$conf:2:17: error: "
says "broken.so"
run 0 "the list of plugins with a broken one" --list-plugins -c "$conf"
grep -q 'refused: .*broken.so' "$dir/out" || fail "$name: does not say why skepd refuses it"
echo "ok - a file that is no plugin: refused, listed with its reason"

echo '{ "sinks": [ { "plugin": "lake" } ] }' >"$conf"
run 0 "the list of plugins" --list-plugins -v -c "$conf"
grep -Eq '^proc +probe .*ABI 1\.[0-9]+ .*/proc\.so$' "$dir/out" || fail "$name: has no proc"
grep -Eq '^lake +sink .*ABI 1\.[0-9]+ .*/lake\.so$' "$dir/out" || fail "$name: has no lake"
echo "ok - $name, although an option is missing"

run 0 "the options of a plugin" --options proc -c "$conf"
grep -Eq '^ring +size +4MiB ' "$dir/out" || fail "$name: has no ring"
echo "ok - $name"

run 2 "an unknown argument" --nosuch
run 2 "an argument too many" -t extra
says "unexpected argument: extra"
run 2 "a reader without a service manager" --reader
says "start skep-reader.socket"
run 0 "help" --help
grep -q 'never puts itself into the background' "$dir/out" || fail "$name: does not say why it stays in the foreground"
run 0 "version" --version
for what in '^skepd [0-9]' '^plugin ABI: provides 1\.' '^libbpf [0-9]' '^libuv [0-9]' '^jansson [0-9]'; do
	grep -Eq "$what" "$dir/out" || fail "$name: has no $what"
done
echo "ok - usage, help, version"

# until_file TEXT FILE: waits, with a limit, until skepd has written TEXT to FILE.
until_file() {
	tries=0
	until grep -q -- "$1" "$2" 2>/dev/null; do
		tries=$((tries + 1))
		if [ $tries -gt 100 ] || ! kill -0 $pid 2>/dev/null; then
			kill -KILL $pid 2>/dev/null
			wait $pid
			fail "skepd -f ends, or hangs, without \"$1\" in $2 ($?)"
		fi
		sleep 0.1
	done
}

# skepd -f handles signals. A daemon without probes needs no privilege.
cat >"$conf" <<END
{ "sinks": [ { "plugin": "lake", "path": "$dir/lake" } ] }
END
for signal in TERM INT; do
	: >"$dir/err" # removes the output of the previous skepd
	# A shell gives its background jobs an ignored SIGINT, which a handler of skepd's replaces.
	"$SKEPD" -f -v -c "$conf" >"$dir/out" 2>"$dir/err" </dev/null &
	pid=$!
	until_file ' collects: ' "$dir/err"
	kill -HUP $pid
	kill -USR1 $pid
	sleep 0.3
	kill -$signal $pid
	wait $pid
	got=$?
	[ $got -eq 0 ] || fail "SIG$signal: exit $got, not 0"
	grep -q 'SIGHUP: .* loaded in ' "$dir/err" || fail "SIGHUP is not answered"
	grep -q 'SIGUSR1: flushing' "$dir/err" || fail "SIGUSR1 is not answered"
	grep -q "SIG$signal: stopping" "$dir/err" || fail "SIG$signal is not logged"
	[ -d "$dir/lake" ] || fail "the lake was not made"
	echo "ok - skepd -f: HUP, USR1, $signal"
done

if [ -z "${SKEP_TEST_PLUGIN_DIRS:-}" ]; then
	echo "skipped - a sink that hangs: SKEP_TEST_PLUGIN_DIRS (with fake and fakesink) is not set"
	exit 0
fi
# A receiver that does not answer: TERM gives up after 5 s, a second TERM at once.
cat >"$conf" <<END
{ "plugin_dirs": [ "$SKEP_TEST_PLUGIN_DIRS" ],
  "probes": [ { "plugin": "fake", "script": "$dir/script" } ],
  "sinks": [ { "plugin": "fakesink", "path": "$dir/records", "delay": "1h" } ] }
END
echo '0 event text=hello' >"$dir/script"
for terms in 1 2; do
	"$SKEPD" -f -c "$conf" >"$dir/out" 2>"$dir/err" </dev/null &
	pid=$!
	until_file ' collects: ' "$dir/err"
	sleep 2 # a batch leaves after 1 s; the sink keeps it for an hour
	begin=$(date +%s)
	kill $pid
	until_file 'SIGTERM: stopping' "$dir/err"
	[ $terms -eq 1 ] || kill $pid
	wait $pid
	got=$?
	took=$(($(date +%s) - begin))
	case $terms in
	1)
		[ $got -eq 0 ] || fail "TERM with a sink that hangs: exit $got, not 0"
		{ [ $took -ge 4 ] && [ $took -le 15 ]; } || fail "TERM with a sink that hangs: $took s, not 5"
		;;
	2)
		[ $got -eq 1 ] || fail "a second TERM: exit $got, not 1"
		[ $took -le 3 ] || fail "a second TERM: still $took s"
		grep -q 'SIGTERM again: leaving at once' "$dir/err" || fail "a second TERM is not logged"
		;;
	esac
done
# Calls that never return, more of them than libuv's pool has threads: other sinks get their records, and TERM ends
# skepd after the drain and 2 s.
mkfifo "$dir/a.gate" "$dir/b.gate" "$dir/c.gate"
hangs() { echo "{ \"plugin\": \"fakesink\", \"name\": \"$1\", \"path\": \"$dir/$1\", \"mode\": \"work\" }"; }
rm -f "$dir/records"
cat >"$conf" <<END
{ "plugin_dirs": [ "$SKEP_TEST_PLUGIN_DIRS" ], "drain": "1s", "control": { "socket": false }, "spool": { "path": "$dir/spool.db" },
  "probes": [ { "plugin": "fake", "script": "$dir/script" } ],
  "sinks": [ $(hangs a), $(hangs b), $(hangs c), { "plugin": "fakesink", "path": "$dir/records", "mode": "work" } ] }
END
"$SKEPD" -f -c "$conf" >"$dir/out" 2>"$dir/err" </dev/null &
pid=$!
until_file ' collects: ' "$dir/err"
until_file 'hello' "$dir/records"
begin=$(date +%s)
kill $pid
wait $pid
got=$?
took=$(($(date +%s) - begin))
[ $got -eq 0 ] || fail "TERM with work that hangs: exit $got, not 0"
[ $took -le 12 ] || fail "TERM with work that hangs: $took s"
for sink in a b c; do
	grep -q "$sink: abandoned: its work has not returned" "$dir/err" || fail "TERM with work that hangs: the log does not name sink $sink"
done
echo "ok - work that hangs: another sink has its records, TERM ends skepd in $took s"
echo "ok - a sink that hangs: TERM drains for 5 s, a second TERM leaves at once"
