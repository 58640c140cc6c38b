#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# collector.sh [--build DIR] [SCENE...] - the sink otlp against the OpenTelemetry Collector itself.  For a nightly run,
# not for "make check": as root it makes a chroot of Debian forky (240 MB, packages from the network) in
# SKEP_COLLECTOR_DIR (/var/tmp/skep-collector), and builds the collector there from Debian's sources, once.
#
#   plain    500 processes under skepd: each span and event that the sink counts as accepted has arrived once, sums are
#            equal
#   gone     the collector is stopped while they run, and started again: nothing is missing
#   killed   skepd is killed (kill -9) twice while processes run: batches in flight arrive again, with the same ids
#   mtls     the same over TLS with a client's certificate; without one nothing arrives, and the sink is held
#   garbage  what the collector answers to bytes that are no protocol: 400 with words that the sink's reader finds
#   classes  opentelemetry-proto's own classes read the same bytes, and write them again
#   victoria VictoriaMetrics, which takes OTLP's metrics: each sum as the collector has it
set -eu
build=${abs_builddir:-$PWD}
[ "${1:-}" != --build ] || { build=$(realpath "$2"); shift 2; }
here=$(cd "$(dirname "$0")" && pwd)
place=${SKEP_COLLECTOR_DIR:-/var/tmp/skep-collector}
mirror=${SKEP_MIRROR:-$(sed -nE 's/^URIs: *([^ ]*debian)$/\1/p; s/^deb +(\[[^]]*\] +)?([^ ]*debian) .*/\2/p' /etc/apt/sources.list.d/*.sources \
	/etc/apt/sources.list 2>/dev/null | head -1)}
[ "$(id -u)" = 0 ] || { echo "SKIP: needs root"; exit 77; }
[ -x "$build/skepd" ] || { echo "collector.sh: no skepd in $build: build first, or --build DIR" >&2; exit 2; }
for tool in debootstrap openssl python3; do
	command -v $tool >/dev/null || { echo "SKIP: needs $tool: apt-get install -y debootstrap openssl python3"; exit 77; }
done

if [ ! -x "$place/otelcol" ]; then
	mkdir -p "$place"
	if [ ! -e "$place/root/.made" ]; then
		echo "installing: Debian forky in $place/root"
		# An older debootstrap has no script for forky: sid's works.
		debootstrap --variant=minbase forky "$place/root" "$mirror" /usr/share/debootstrap/scripts/sid >"$place/log" 2>&1
		printf '#!/bin/sh\nexit 101\n' >"$place/root/usr/sbin/policy-rc.d"
		chmod +x "$place/root/usr/sbin/policy-rc.d"
		touch "$place/root/.made"
	fi
	mkdir -p "$place/root/otelcol"
	cp "$here/otelcol/main.go" "$place/root/otelcol/"
	mountpoint -q "$place/root/proc" || mount -t proc proc "$place/root/proc"
	trap 'umount "$place/root/proc"' EXIT
	echo "installing: golang-go golang-opentelemetry-collector-dev python3-opentelemetry-proto victoria-metrics, and building the collector"
	chroot "$place/root" /bin/bash -c 'set -e
		apt-get -o Acquire::Check-Valid-Until=false update
		DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
			golang-go golang-opentelemetry-collector-dev python3-opentelemetry-proto victoria-metrics
		cd /otelcol
		HOME=/root GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS=-buildvcs=false go build -ldflags="-s -w" -o otelcol .' \
		</dev/null >>"$place/log" 2>&1 || { tail -5 "$place/log"; exit 1; }
	cp "$place/root/otelcol/otelcol" "$place/otelcol"
	umount "$place/root/proc"
	trap - EXIT
	chroot "$place/root" dpkg-query -W golang-opentelemetry-collector-dev golang-go victoria-metrics python3-opentelemetry-proto >"$place/versions"
fi
sed 's/\t/ /; s/^/with /' "$place/versions"
exec python3 "$here/collector.py" "$build" "$place" "$@"
