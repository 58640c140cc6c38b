#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/containers.sh - containers that live 100 ms, by runc, podman and systemd-nspawn: every record of a process
# has the right container, processes outside have none, a task has the limits of the container that it starts, and the
# probe "cgroup" reports the last figures of each cgroup. The interval is longer than the test.
# Environment: SKEPD, SKEP_PLUGIN_DIRS.
set -u
. "$(dirname "$0")/../wait.sh"
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "skip: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root (BPF, cgroups)"
command -v runc >/dev/null || skip "needs runc; remedy: apt-get install -y --no-install-recommends runc"
busybox=$(command -v busybox) || skip "needs busybox; remedy: apt-get install -y busybox-static"
for plugin in proc cgroup file; do
	[ -e "$SKEP_PLUGIN_DIRS/$plugin.so" ] || skip "the plugin $plugin is not built"
done
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-containers.XXXXXX")
daemon=
pod=8b2f3a4c-1111-2222-3333-444455556666 in_pod=$(printf pod | sha256sum | cut -c1-64)
clean() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null
	podman_ rm -af >/dev/null 2>&1
	for c in /sys/fs/cgroup /sys/fs/cgroup/*; do
		rmdir "$c/kubepods/pod$pod/$in_pod" "$c/kubepods/pod$pod"/* "$c/kubepods/pod$pod" "$c/kubepods" 2>/dev/null
		rmdir "$c/machine.slice/systemd-nspawn@skep-test.service" "$c/machine.slice" "$c/libpod_parent" 2>/dev/null
	done
	rm -rf "$work"
}
# A store of its own, no network, and limits that this user may set.
podman_() {
	command -v podman >/dev/null || return 1
	podman --root "$work/store" --runroot "$work/run" --storage-driver=vfs --cgroup-manager=cgroupfs --runtime runc --events-backend=file "$@"
}
trap clean EXIT
trap 'exit 1' INT TERM HUP

mkdir -p "$work"/rootfs/{bin,proc,dev,sys,tmp,etc,usr,run}
cp "$busybox" "$work/rootfs/bin/busybox"
for applet in sh sleep head tail; do ln -s busybox "$work/rootfs/bin/$applet"; done
touch "$work/rootfs/etc/os-release"
(cd "$work" && runc spec) || skip "runc spec does not work here"
# spec ARGUMENTS-AS-JSON MEMORY-LIMIT
spec() {
	python3 - "$work/config.json" "$1" "$2" <<-'END'
		import json, sys
		c = json.load(open(sys.argv[1]))
		c["process"]["terminal"] = False
		c["process"]["args"] = json.loads(sys.argv[2])
		c["process"]["rlimits"] = []
		c["root"]["readonly"] = False
		c["linux"]["resources"]["memory"] = {"limit": int(sys.argv[3])}
		json.dump(c, open(sys.argv[1], "w"))
	END
}
hex() { printf '%s' "$1" | sha256sum | cut -c1-64; }

# The command of every container: two forks that never execute, an exec, 100 ms.
inside='(:); (exit 3) & wait; sleep 0.1'
spec "[\"sleep\", \"0\"]" 67108864
runc run --bundle "$work" "$(hex try)" >"$work/try" 2>&1 || skip "runc cannot run a container here: $(tail -1 "$work/try")"

cat >"$work/skepd.conf" <<END
{ "interval": "1h", "pod_logs": "$work/kubelet", "plugin_dirs": [ "$SKEP_PLUGIN_DIRS" ], "control": { "socket": false },
  "probes": [ { "plugin": "proc", "required": true, "environ": [ "SKEP_TASK" ] }, { "plugin": "cgroup", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$work/out" } ] }
END
"$SKEPD" -c "$work/skepd.conf" 2>"$work/log" & daemon=$!
wait_skepd "$daemon" "$work/log" || exit $?

spec "[\"sh\", \"-c\", \"$inside # skep-runc\"]" 67108864
for i in 1 2 3 4 5; do runc run --bundle "$work" "$(hex "runc $i")" || exit 1; done
# the same limit everywhere, and a container that exceeds it
spec '["sh", "-c", "head -c 200000000 /dev/zero | tail -c 100000000 # skep-oom"]' 33554432
runc run --bundle "$work" "$(hex oom)" >/dev/null 2>&1

parts=runc
if command -v podman >/dev/null && tar c -C "$work/rootfs" . | podman_ import -q - localhost/skep-test:1 >"$work/podman" 2>&1 &&
   SKEP_TASK=in-podman podman_ run --cidfile "$work/cid" --name skep-name --memory=64m --cpu-quota=50000 --cpu-period=100000 --net=none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 localhost/skep-test:1 \
	sh -c "$inside # skep-podman" >"$work/podman" 2>&1; then
	parts="$parts podman"
else
	echo "# without podman: $(tail -1 "$work/podman" 2>/dev/null || echo not installed)"
fi

# nspawn with the options of its service unit: this machine may not run systemd.
nspawn() {
	local moved= c
	for c in /sys/fs/cgroup/memory /sys/fs/cgroup; do
		[ -e "$c/cgroup.procs" ] || continue
		mkdir -p "$c/machine.slice/systemd-nspawn@skep-test.service" 2>/dev/null &&
			echo $BASHPID >"$c/machine.slice/systemd-nspawn@skep-test.service/cgroup.procs" && moved=1
		break
	done
	[ -n "$moved" ] || { echo "no cgroup can be made"; return 1; }
	systemd-nspawn -q --register=no --keep-unit -D "$work/rootfs" sh -c "$inside # skep-nspawn"
}
if command -v systemd-nspawn >/dev/null && (nspawn) >"$work/nspawn" 2>&1; then
	parts="$parts nspawn"
else
	echo "# without nspawn: $(tail -1 "$work/nspawn" 2>/dev/null || echo not installed)"
fi
# A pod's cgroup as the kubelet's cgroupfs driver makes it, and its log files' names. skep lists them at the pod's first
# process, on a node its sandbox's.
mkdir -p "$work/kubelet/pods/batch_align-7x2_$pod" "$work/kubelet/containers"
touch "$work/kubelet/containers/align-7x2_batch_bwa-$in_pod.log"
run_in_pod() {
	local c
	for c in /sys/fs/cgroup/memory /sys/fs/cgroup; do
		[ -e "$c/cgroup.procs" ] || continue
		mkdir -p "$c/kubepods/pod$pod/$in_pod" && echo $BASHPID >"$c/kubepods/pod$pod/$in_pod/cgroup.procs" || return
		break
	done
	wait_for sh -c '"$0" true; grep -q "\"pod\":\"align-7x2\"" "$1"' "$busybox" "$work/out" || return
	"$busybox" sh -c "$inside # skep-kube"
}
if (run_in_pod) >"$work/kube" 2>&1; then
	parts="$parts pod"
else
	echo "# without a pod: $(tail -1 "$work/kube")"
fi
sh -c "$inside # skep-outside"

# all_cgroups PATH COMMAND...: for this cgroup in each hierarchy.
all_cgroups() {
	local c path=$1
	shift
	for c in /sys/fs/cgroup /sys/fs/cgroup/*; do
		[ ! -e "$c/cpuset.cpus" ] || continue # version 1: nobody has given the new cgroup any CPUs
		[ ! -e "$c/cgroup.procs" ] || "$@" "$c/$path" || return
		[ ! -e /sys/fs/cgroup/cgroup.procs ] || return 0 # version 2 alone
	done
}
join() { mkdir -p "$1" && echo $BASHPID >"$1/cgroup.procs"; }
# An emulated processor is so slow that runc removes a cgroup before the probe reads it. So these cgroups stay for
# longer and longer after the end of their only process.
held=
hold() {
	local pause id
	for pause in 0.1 0.5 2 8 32; do
		id=$(hex "held $pause")
		held="$held $id"
		(all_cgroups "kubepods/pod$pod/$id" join && exec "$busybox" sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done') || return
		sleep "$pause"
		all_cgroups "kubepods/pod$pod/$id" rmdir || return
		wait_for python3 "$here/check_containers.py" --ended "$work/out" "$id" || return
		! python3 "$here/check_containers.py" --read "$work/out" "$id" || return 0
	done
}
hold
judge() {
	python3 "$here/check_containers.py" "$work/out" "$(cat "$work/cid" 2>/dev/null)" "$(hex oom)" "$parts" "${held##* }" \
		"$(hex "runc 1")" "$(hex "runc 2")" "$(hex "runc 3")" "$(hex "runc 4")" "$(hex "runc 5")"
}
wait_for judge # the last records arrive some time after their processes' ends
kill "$daemon"; wait "$daemon"; daemon=
judge
