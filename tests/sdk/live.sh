#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Plugins made from the installed templates, on a real skepd: loaded; reconfigured by a reload; replaced, which takes a
# restart, and the log says so; removed by a reload.  A recognizer's table is taken over by a reload as well.
# Needs: root, $SKEP, $SKEPD, $SKEP_PLUGIN_DIRS, $abs_builddir, $abs_srcdir, gcc, clang, bpftool, python3.
set -u
export LC_ALL=C
work=$(mktemp -d "${TMPDIR:-/tmp}/skep_sdk.XXXXXX") || exit 1
chmod 755 "$work"
daemon=
cleanup() {
	[ -z "$daemon" ] || kill -KILL "$daemon" 2>/dev/null
	[ -z "$daemon" ] || wait "$daemon" 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
. "$abs_srcdir/tests/wait.sh"
. "$abs_srcdir/tests/sdk/lib.sh"
[ -z "${SKEP_SANITIZE:-}" ] || skip "sanitizers: plugins that others build are without them"
[ "$(id -u)" -eq 0 ] || skip "collecting needs root"
[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
for tool in gcc clang pkg-config python3; do command -v $tool >/dev/null || skip "no $tool"; done
{ command -v bpftool || command -v /usr/sbin/bpftool; } >/dev/null || skip "no bpftool"
pkg-config --exists libbpf || skip "no libbpf-dev"

sdk_install "$work/root"
plugins=$work/plugins
mkdir -m 755 "$plugins"
# build KIND NAME: a project of that template, made and installed
build() {
	[ -d "$work/$2" ] || quietly "skep-dev new $1 $2" "$SKEP_DEV" new --templates "$prefix/share/skep/templates" "$1" "$2" "$work/$2"
	quietly "make of $2" make -C "$work/$2" install plugindir="$plugins"
}
build probe-proc sdkfiles
build probe-bpf sdksignals
build sink sdklines

export SKEP_PLUGIN_DIRS=$plugins:$SKEP_PLUGIN_DIRS SKEP_SOCKET=$work/s.sock
# conf PROBES SINKS TOOLS
conf() {
	cat >"$work/conf.new" <<-END
		{ "interval": "200ms", "control": { "socket": "$SKEP_SOCKET" }, "tools": [ $3 ],
		  "probes": [ { "plugin": "proc", "required": true }$1 ],
		  "sinks": [ { "plugin": "file", "path": "$work/records" }$2 ] }
	END
	mv "$work/conf.new" "$work/conf"
}
files=', { "plugin": "sdkfiles" }'
signals=', { "plugin": "sdksignals" }'
lines=", { \"plugin\": \"sdklines\", \"path\": \"$work/lines\" }"

start() {
	"$SKEPD" -f -c "$work/conf" >>"$work/log" 2>&1 </dev/null &
	daemon=$!
	wait_for "$SKEP" status || fail "skepd does not answer"
}
stop() {
	kill -TERM "$daemon"
	wait "$daemon" || fail "skepd ended with $?"
	daemon=
}
reload() { timeout 300 "$SKEP" reload >"$work/out" 2>&1 || { cat "$work/out" >>"$work/log"; fail "$1: reload"; }; }
said() { grep -qF -- "$1" "$work/out" || { cat "$work/out" >>"$work/log"; fail "reload does not say: $1"; }; }
# count WORD FILE
count() { grep -c -- "$1" "$work/$2" 2>/dev/null || true; }
more() { [ "$(count "$1" "$2")" -gt "$3" ]; }
version() { "$SKEP" plugins --json | python3 -c 'import json, sys
print(next(p["version"] for p in json.load(sys.stdin)["plugins"] if p["name"] == sys.argv[1]))' "$1"; }

# ---- loaded
conf "$files$signals" "$lines" ''
quietly 'skepd -t' "$SKEPD" -t -c "$work/conf"
: >"$work/log"
start
wait_for more '"sdkfiles.files"' records 2 || fail "no records of the /proc probe"
wait_for more ' sdkfiles.files ' lines 2 || fail "no lines of the sink"
# signalled NAME: a process that gets that signal; its pid is $victim
signalled() {
	sleep 300 &
	victim=$!
	wait_for grep -qx sleep "/proc/$victim/comm" || fail "sleep does not start"
	kill "-$1" $victim
	wait $victim 2>/dev/null
}
signalled USR1
signalled TERM
wait_for more "\"process.signal.name\":\"TERM\"" records 0 || fail "no record of the BPF probe"
wait_for grep -q "sdksignals.signal $victim .*process.signal.number=15 " "$work/lines" || fail "the signal's record is not about its process"
[ "$(count '"process.signal.name":"USR1"' records)" -eq 0 ] || fail "USR1 is reported, and should not be"
"$SKEP" doctor >"$work/out" 2>&1
grep -q 'process.signal' "$work/out" || fail "skep doctor does not know the plugin's signal"
echo 'ok - loaded'

# ---- reconfigured
conf ', { "plugin": "sdkfiles", "every": 3600 }, { "plugin": "sdksignals", "fatal_only": false }' "${lines% \}}, \"streams\": [ \"sdksignals.signal\" ] }" ''
reload reconfigured
for what in 'probe sdkfiles: applied, options: every' 'probe sdksignals: applied, options: fatal_only' 'sink sdklines: applied, options: streams'; do said "$what"; done
recorded "$work/records" || fail "no record of proc" # and all earlier ones are in the file
before=$(count '"sdkfiles.files"' records)
signalled USR1
wait_for more '"process.signal.name":"USR1"' records 0 || fail "USR1 is not reported after the reload"
recorded "$work/records" || fail "no record of proc"
[ "$(count '"sdkfiles.files"' records)" -le $((before + 1)) ] || fail "every=3600 is not taken over"
conf ', { "plugin": "sdkfiles", "every": 0 }' '' ''
! timeout 300 "$SKEP" reload >"$work/out" 2>&1 || fail "a value out of bounds is taken over"
grep -q 'every' "$work/out" || fail "the error does not name the option"
conf ', { "plugin": "sdkfiles", "evry": 2 }' '' ''
! timeout 300 "$SKEP" reload >"$work/out" 2>&1 || fail "an unknown option is taken over"
said 'did you mean "every"?'
echo 'ok - reconfigured'

# ---- replaced
sed -i 's/"1\.0"/"1.1"/' "$work/sdkfiles/sdkfiles.c"
build probe-proc sdkfiles
conf "$files$signals" "$lines" ''
reload replaced
wait_for grep -q 'sdkfiles.so: the file was replaced; skepd uses the loaded one until a restart' "$work/log" ||
	fail "the log does not say that a restart is needed"
[ "$(version sdkfiles)" = 1.0 ] || fail "the new file is in use before the restart"
stop
start
[ "$(version sdkfiles)" = 1.1 ] || fail "the new file is not in use after the restart"
before=$(count '"sdkfiles.files"' records)
wait_for more '"sdkfiles.files"' records "$before" || fail "no records of the new plugin"
echo 'ok - replaced'

# ---- removed
conf "$signals" "$lines" ''
reload removed
said 'probe sdkfiles: removed'
recorded "$work/records" || fail "no record of proc"
before=$(count '"sdkfiles.files"' records)
sleep 1 # some intervals
recorded "$work/records" || fail "no record of proc"
[ "$(count '"sdkfiles.files"' records)" -eq "$before" ] || fail "a removed probe still reports"
conf '' '' ''
reload removed
said 'probe sdksignals: removed'
said 'sink sdklines: removed'
echo 'ok - removed'

# ---- a recognizer
quietly 'skep-dev new recognizer' "$SKEP_DEV" new --templates "$prefix/share/skep/templates" recognizer sitetool "$work/rec"
conf '' '' "\"$work/rec/tools.d\""
reload recognizer
mkdir "$work/bin"
cp "$(command -v sleep)" "$work/bin/sitetool-launch"
printf '#!/bin/sh\nexit 0\n' >"$work/bin/sitetool"
chmod +x "$work/bin/sitetool"
"$work/bin/sitetool" -d /tmp sync
wait_for more '"sitetool sync"' records 0 || fail "the tool's name is not what the table says"
stop
! grep -iE '^skepd: error|bug in the plugin' "$work/log" | grep -v 'sdkfiles' | grep -q . || fail "errors in the log"
echo 'ok - a recognizer'
