#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/rtt.sh - the detail rtt on the live kernel: connections with a known number of round trips, over loopback
# and over a link of known delay, with storage of sockets and with hash maps (rtt.py).
# Environment: SKEP, SKEPD, SKEP_PLUGIN_DIRS.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: figures are compared, for which the build without them is there"; exit 77; }
set -eu
. "$(dirname "$0")/../attempts.sh"
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "skip: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root (BPF)"
command -v python3 >/dev/null || skip "needs python3"
[ -e "${SKEP_PLUGIN_DIRS:-.}/net.so" ] || skip "the probe net is not built"

work=$(mktemp -d "${TMPDIR:-/tmp}/skep-rtt.XXXXXX")
skepd='' cgroup='' near=skep-near-$$ far=skep-far-$$
clean() {
	[ -z "$skepd" ] || kill "$skepd" 2>/dev/null || :
	ip netns del $near 2>/dev/null || :
	ip netns del $far 2>/dev/null || :
	[ -z "$cgroup" ] || rmdir "$cgroup" 2>/dev/null || :
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM HUP

# The hierarchy that names processes' cgroups.
v2=$(findmnt -n -o TARGET -t cgroup2 | head -1)
v1=$(findmnt -n -o TARGET,OPTIONS -t cgroup | grep -w memory | head -1 | cut -d ' ' -f 1)
if [ -n "$v2" ] && grep -qw memory "$v2/cgroup.controllers" && echo +memory >"$v2/cgroup.subtree_control" 2>/dev/null; then
	cgroup=$v2/skep-rtt-$$
elif [ -n "$v1" ]; then
	cgroup=$v1/skep-rtt-$$
fi
[ -z "$cgroup" ] || mkdir "$cgroup"

# Two hosts, 10 ms apart in one direction.
delayed=no
if ip netns add $near 2>/dev/null && ip netns add $far 2>/dev/null &&
	ip link add rtt0 netns $near type veth peer name rtt1 netns $far 2>/dev/null; then
	ip -n $near addr add 10.91.8.1/24 dev rtt0 && ip -n $near link set rtt0 up
	ip -n $far addr add 10.91.8.2/24 dev rtt1 && ip -n $far link set rtt1 up
	! tc -n $near qdisc add dev rtt0 root netem delay 10ms 2>/dev/null || delayed=yes
fi
[ $delayed = yes ] || echo "# no link of known delay here: needs network namespaces, veth and sch_netem"

rc=0
for storage in true false; do
	echo "# storage of sockets: $storage"
	rm -f "$work/out"
	cat >"$work/conf" <<-END
		{ "interval": "500ms",
		  "probes": [ { "plugin": "proc", "required": true },
		              { "plugin": "net", "required": true, "storage": $storage, "rtt_peers": 16 } ],
		  "sinks": [ { "plugin": "file", "path": "$work/out" } ],
		  "control": { "socket": "$work/socket" } }
	END
	"$SKEPD" -f -c "$work/conf" 2>"$work/log" &
	skepd=$!
	i=0
	until grep -q collects "$work/log"; do
		i=$((i + 1))
		kill -0 $skepd 2>/dev/null || { cat "$work/log"; grep -q 'not permitted' "$work/log" && skip "BPF is not permitted here"; exit 1; }
		[ $i -lt 300 ] || { echo "not ok - skepd did not start: $(cat "$work/log")"; exit 1; }
		sleep 0.1
	done
	"$SKEP" doctor --socket "$work/socket" >"$work/doctor" 2>&1 || :
	if grep -q 'net.rtt *missing' "$work/doctor"; then
		skip "$(grep net.rtt "$work/doctor")"
	fi
	SKEP_SOCKET=$work/socket python3 "$here/rtt.py" "$cgroup" $delayed $near $far "$work/out" || rc=$?
	"$SKEP" doctor --socket "$work/socket" >"$work/doctor" 2>&1 || :
	kill -TERM $skepd
	wait $skepd || { echo "not ok - skepd: status $?: $(cat "$work/log")"; exit 1; }
	skepd=''
	grep -q 'net.rtt *off' "$work/doctor" || { echo "not ok - with the last attachment it is not off: $(cat "$work/doctor")"; rc=1; }
done
exit $rc
