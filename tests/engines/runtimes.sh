#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/engines/runtimes.sh - containers of real daemons: dockerd, and containerd with a pod by its CRI. Records of
# their processes have the name, image, pod and namespace that the daemons were given, from the daemons' state files.
# Each container lives 0.3 s. Leaves nothing behind: /run and /var/lib are those of a namespace.
# For a nightly run: as root, with docker.io, busybox-static and, for the pod, python3-grpcio (scripts/deps --install
# engines). SKEPD, SKEP_PLUGIN_DIRS: by default those of the build folder in which it is started.
# RUNTIMES_KEEP: a folder for copies of the state files.
set -u
. "$(dirname "$0")/../wait.sh"
skip() { echo "skip: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root (BPF, containers)"
export SKEPD=${SKEPD:-$PWD/skepd} SKEP_PLUGIN_DIRS=${SKEP_PLUGIN_DIRS:-$PWD/plugins-run}
[ -x "$SKEPD" ] || { echo "runtimes: no skepd in $PWD: build first, or set SKEPD and SKEP_PLUGIN_DIRS" >&2; exit 2; }
for p in dockerd containerd runc busybox; do
	command -v $p >/dev/null || skip "no $p; remedy: scripts/deps --install engines"
done
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${RUNTIMES_DIR:-}" ]; then
	RUNTIMES_DIR=$(mktemp -d "${TMPDIR:-/tmp}/skep-runtimes.XXXXXX")
	export RUNTIMES_DIR
	trap 'rm -rf "$RUNTIMES_DIR"' EXIT
	unshare -m --propagation private bash "$0"
	exit
fi
work=$RUNTIMES_DIR
{ mount -t tmpfs none /run && mount -t tmpfs none /var/lib; } || skip "cannot mount here"
# As containerd makes it. A shim of dockerd's own containerd would make it with mode 0600, and then root's own file
# reader, which has no DAC capability, could not search it.
install -d -m 711 /run/containerd
mkdir -p /run/lock "$work"/rootfs/{bin,proc,dev,sys,tmp,etc}
cp "$(command -v busybox)" "$work/rootfs/bin/busybox"
for applet in sh sleep; do ln -s busybox "$work/rootfs/bin/$applet"; done

pids=
# started COMMAND...: in the background, with its messages in a file
started() {
	"$@" >"$work/$(basename "$1").log" 2>&1 &
	pids="$! $pids"
}
ended() {
	local p
	for p in $pids; do kill "$p" 2>/dev/null; done
	for p in $pids; do
		for _ in {1..100}; do
			kill -0 "$p" 2>/dev/null || break
			sleep 0.1
		done
		kill -KILL "$p" 2>/dev/null
	done
	wait
	# containerd leaves its shims behind; nothing else is in this mount namespace.
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/ns/mnt" 2>/dev/null)" = "$(readlink /proc/self/ns/mnt)" ] && [ "${p#/proc/}" != $$ ] &&
			grep -q '^containerd-shim' "$p/comm" 2>/dev/null && kill -KILL "${p#/proc/}"
	done
	for c in /sys/fs/cgroup /sys/fs/cgroup/*; do
		find "$c/docker" "$c/kubepods" -depth -type d -exec rmdir {} \; 2>/dev/null
	done
}
trap ended EXIT
trap 'exit 1' INT TERM HUP
cat >"$work/skepd.conf" <<END
{ "interval": "10s", "pod_logs": "", "plugin_dirs": [ "$SKEP_PLUGIN_DIRS" ], "control": { "socket": false },
  "probes": [ { "plugin": "proc", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$work/out", "streams": [ "process.exit" ] } ] }
END
started "$SKEPD" -c "$work/skepd.conf"
daemon=$!
wait_skepd $daemon "$work/skepd.log" || exit $?

parts=
started dockerd --iptables=false --ip6tables=false --bridge=none --storage-driver=vfs \
	--exec-opt native.cgroupdriver=cgroupfs --host unix:///run/docker.sock
export DOCKER_HOST=unix:///run/docker.sock
wait_for sh -c 'docker version || ! kill -0 "$0"' $!
if docker version >/dev/null 2>&1 && tar c -C "$work/rootfs" . |
	docker import -c 'CMD ["sleep", "1000"]' -c 'ENV PATH=/bin' - skep-test:1 >"$work/import" 2>&1 &&
	docker run --cidfile "$work/cid" --network none --name skep-web skep-test:1 sh -c 'sleep 0.3; : skep-docker' \
		>"$work/run" 2>&1; then
	parts="docker"
	docker save skep-test:1 >"$work/image.tar"
else
	echo "# without docker: $(tail -1 "$work/run" 2>/dev/null || tail -1 "$work/dockerd.log")"
fi

if [ -e "$work/image.tar" ] && /usr/bin/python3 -c 'import grpc' 2>/dev/null; then
	cat >"$work/containerd.toml" <<-END
		version = 2
		[grpc]
		address = "/run/containerd/containerd.sock"
		[plugins."io.containerd.grpc.v1.cri"]
		sandbox_image = "docker.io/library/skep-test:1"
		restrict_oom_score_adj = true
		disable_apparmor = true
		[plugins."io.containerd.grpc.v1.cri".containerd]
		snapshotter = "native"
		default_runtime_name = "runc"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		runtime_type = "io.containerd.runc.v2"
	END
	started containerd --config "$work/containerd.toml"
	wait_for ctr version
	if ctr -n k8s.io images import --snapshotter native "$work/image.tar" >"$work/import" 2>&1 &&
		/usr/bin/python3 -B "$here/cri.py" /run/containerd/containerd.sock docker.io/library/skep-test:1 \
			sh -c 'sleep 0.3; : skep-cri' >"$work/cri" 2>&1; then
		parts="$parts cri"
	else
		echo "# without containerd: $(grep -hE "details|rror" "$work/cri" "$work/import" 2>/dev/null | tail -2)"
	fi
else
	echo "# without containerd: no image, or no python3-grpcio"
fi
if [ -n "${RUNTIMES_KEEP:-}" ]; then
	cp /var/lib/docker/containers/*/config.v2.json "$RUNTIMES_KEEP/docker.json"
	cp "$work"/cri-*.json "$RUNTIMES_KEEP/" 2>/dev/null
fi
[ -n "$parts" ] || skip "no daemon runs a container here"
recorded "$work/out"
kill "$daemon"
wait "$daemon"
/usr/bin/python3 - "$work/out" "$parts" <<'END'
import json, sys
records = [json.loads(line) for line in open(sys.argv[1])]
wanted = {"docker": ("skep-web", "skep-test:1", None, None),
          "cri": ("align", "docker.io/library/skep-test:1", "align-7x2", "batch")}
failed = 0
for part in sys.argv[2].split():
    inside = [r for r in records if r.get("container") and any(": skep-" + part in a for a in r["argv"] or [])
              and (r["argv"] or [""])[0] == "sh"]
    ids = {r["container"] for r in inside}
    # runc's own processes end before the answer
    got = {tuple(r.get(k) or None for k in ("container_name", "container_image", "pod", "namespace"))
           for r in records if r.get("container") in ids and r["last"] and (r["argv"] or [""])[0] in ("sh", "sleep")}
    good = inside and got == {wanted[part]}
    failed += not good
    print("%s - %s: each of its processes has name, image and pod: %s" % ("ok" if good else "FAIL", part, sorted(got, key=str)))
sys.exit(failed > 0)
END
