# SPDX-License-Identifier: Apache-2.0
# tests/e2e/daemon_lib.sh - shared by tests that talk to a real skepd; they source it after `name=` (a word for the
# temporary folder). The test's end also ends the processes in $daemon and $children (pids). Needs: root, $SKEP, $SKEPD,
# $SKEP_PLUGIN_DIRS, $SKEP_TEST_PLUGIN_DIRS, python3.
set -u
. "$(dirname "$0")/../wait.sh"
skip() {
	echo "skipped: $1"
	exit 77
}
[ "$(id -u)" -eq 0 ] || skip "collecting needs root"
[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
command -v python3 >/dev/null || skip "no python3"
: "${SKEP:?path of skep}" "${SKEPD:?path of skepd}" "${SKEP_PLUGIN_DIRS:?}" "${SKEP_TEST_PLUGIN_DIRS:?}"
export SKEP_PLUGIN_DIRS=$SKEP_PLUGIN_DIRS:$SKEP_TEST_PLUGIN_DIRS
export LC_ALL=C

dir=$(mktemp -d "${TMPDIR:-/tmp}/skep_${name:?}.XXXXXX") || exit 1
chmod 0755 "$dir"
export SKEP_SOCKET=$dir/s.sock
daemon=
children=
cleanup() {
	for pid in $daemon $children; do
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

fail() {
	echo "not ok - $1"
	for f in out err log; do
		[ ! -s "$dir/$f" ] || tail -40 "$dir/$f" | sed "s/^/# $f: /"
	done
	exit 1
}
# run STATUS NAME COMMAND...
run() {
	want=$1 name=$2
	shift 2
	timeout $((300 * ${SKEP_TEST_PATIENCE:-1})) "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	[ "$got" -eq "$want" ] || fail "$name: exit $got, not $want"
}
says() { grep -qF -- "$1" "$dir/$2" || fail "$name: $2 does not say: $1"; }
# json EXPRESSION: fails unless the expression holds for o, the object that the last command printed.
json() {
	python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); assert '"$1" "$dir/out" 2>"$dir/err" ||
		fail "$name: not so: $1"
}
# start: starts skepd with $dir/conf and waits until it answers; $verbose: -v
start() {
	"$SKEPD" ${verbose:+"$verbose"} -c "$dir/conf" 2>>"$dir/log" </dev/null &
	daemon=$!
	wait_for "$SKEP" status || fail "skepd does not come up"
}
