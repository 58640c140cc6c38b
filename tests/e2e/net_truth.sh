#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/net_truth.sh - compares the records of transfers of every kind with the processes' own counts, to the byte:
# over loopback, and between two network namespaces. Four daemons measure at the same time: with the default
# configuration, with hooks on calls, and both with hash maps (as on kernels before 5.11). Environment: SKEPD,
# SKEP_PLUGIN_DIRS, EXACT_BIN (the folder of net_drive), WAYS (as_it_is calls hashes hashes_calls).
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the test compares figures; the build without sanitizers runs it"; exit 77; }
set -u
. "$(dirname "$0")/../wait.sh"
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF, network namespaces)"; exit 77; }
command -v ip >/dev/null || { echo "skip: needs ip (iproute2)"; exit 77; }
here=$(cd "$(dirname "$0")/../exact" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-net.XXXXXX")
a=skep-a-$$ b=skep-b-$$
daemons=
cleanup() {
	[ -z "$daemons" ] || kill $daemons 2>/dev/null
	ip netns del "$a" 2>/dev/null
	ip netns del "$b" 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

if ip netns add "$a" && ip netns add "$b" && ip link add va netns "$a" type veth peer name vb netns "$b"; then
	for side in "a $a va 1" "b $b vb 2"; do
		set -- $side
		ip -n "$2" link set lo up
		ip -n "$2" addr add "10.91.7.$4/24" dev "$3"
		ip -n "$2" addr add "fd91:7::$4/64" dev "$3" nodad
		ip -n "$2" link set "$3" up
	done
	# frames to an address without a host: such a connect ends by a timeout
	ip -n "$a" neigh add 10.91.7.99 lladdr 02:00:00:00:00:99 dev va nud permanent
	outside=yes
else
	echo "no namespaces or veth here: loopback only"
	outside=
fi

# daemon NAME OPTIONS
daemon() {
	cat >"$work/$1.conf" <<-CONF
		{ "interval": "500ms",
		  "probes": [ { "plugin": "proc" }, { "plugin": "net", "required": true, "connections": 20000 $2 } ],
		  "control": { "socket": "$work/$1.sock" },
		  "sinks": [ { "plugin": "file", "path": "$work/$1.jsonl" } ] }
	CONF
	"$SKEPD" -c "$work/$1.conf" 2>"$work/$1.err" &
	daemons="$daemons $!"
}
ways=$(echo "${WAYS:-as_it_is calls hashes hashes_calls}" | tr , ' ')
for d in $ways; do
	case $d in
	as_it_is) daemon $d '' ;;
	calls) daemon $d ', "calls": true' ;;
	hashes) daemon $d ', "storage": false' ;;
	hashes_calls) daemon $d ', "storage": false, "calls": true' ;;
	*) echo "FAIL - WAYS: \"$d\" is none of as_it_is, calls, hashes, hashes_calls"; exit 1 ;;
	esac
done
i=0
for pid in $daemons; do
	i=$((i + 1))
	wait_skepd "$pid" "$work/$(echo $ways | cut -d ' ' -f $i).err" || exit $?
done

rc=0
"$EXACT_BIN/net_drive" >"$work/inside.truth" &
inside=$!
if [ -n "$outside" ]; then
	"$EXACT_BIN/net_drive" -c "/run/netns/$a" -s "/run/netns/$b" -4 10.91.7.2 -6 fd91:7::2 -b 10.91.7.99 >"$work/outside.truth" || rc=1
fi
wait "$inside" || rc=1
[ $rc -eq 0 ] || { echo "FAIL - the drive failed"; exit 1; }
for d in $ways; do
	recorded "$work/$d.jsonl" || rc=1
done
for pid in $daemons; do
	kill "$pid"
	wait "$pid" || rc=1
done
daemons=
cat "$work"/*.err
[ $rc -eq 0 ] || { echo "FAIL - a daemon failed, or made no record"; exit 1; }
for d in $ways; do
	case $d in
	*calls) flag= ;;
	*) flag=--owner ;;
	esac
	echo "# $d"
	python3 "$here/net_compare.py" "$work/$d.jsonl" $flag --loopback "$work/inside.truth" \
		${outside:+--outside "$work/outside.truth"} || rc=1
done
[ -z "${KEEP:-}" ] || cp "$work"/* "$KEEP"
exit $rc
