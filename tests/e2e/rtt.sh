#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/rtt.sh - the detail rtt on the live kernel: counts connections with a known number of round trips, over
# loopback and over a link of known delay, with socket storage and with hash maps (rtt.py).
# Environment: SKEP, SKEPD, SKEP_PLUGIN_DIRS.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the test compares figures; the build without sanitizers runs it"; exit 77; }
name=rtt near=skep-near-$$ far=skep-far-$$
. "$(dirname "$0")/probe_lib.sh"
needs_probe net
trap 'ip netns del $near 2>/dev/null || :; ip netns del $far 2>/dev/null || :; clean' EXIT
make_cgroup

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
	start
	"$SKEP" doctor --socket "$work/socket" >"$work/doctor" 2>&1 || :
	if grep -q 'net.rtt *missing' "$work/doctor"; then
		skip "$(grep net.rtt "$work/doctor")"
	fi
	SKEP_SOCKET=$work/socket python3 "$here/rtt.py" "$cgroup" $delayed $near $far "$work/out" || rc=$?
	"$SKEP" doctor --socket "$work/socket" >"$work/doctor" 2>&1 || :
	stop
	grep -q 'net.rtt *off' "$work/doctor" || { echo "not ok - the signal is not off after the last attachment: $(cat "$work/doctor")"; rc=1; }
done
exit $rc
