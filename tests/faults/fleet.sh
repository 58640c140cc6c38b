#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fleet.sh [--build DIR] [gateway|kafka|clickhouse]... - the three ways to collect from many hosts that
# docs/guides/fleet.md has, with the
# very files of docs/guides/examples/fleet.  For a nightly run, not for "make check": as root; installs
# clickhouse-server and -client (Debian 12: 18.16.1) where they are missing; the scene gateway needs the collector that
# collector.sh builds in SKEP_COLLECTOR_DIR (/var/tmp/skep-collector).
#
# Two hosts (a name, a boot id, /var/lib, /run and a BPF filesystem of their own; the kernel is this one) run skepd, so
# that each
# sees all processes.  While 2 x 300 of them fail, one skepd is killed (kill -9) and started again, and so is what
# stands in the middle: the collector, the brokers (away for 3 s; then also ClickHouse, which reads from them),
# ClickHouse. At the end each process is there, for each host, once by its key, and questions have the answers of that
# host's own lake.
set -eu
build=${abs_builddir:-$PWD}
[ "${1:-}" != --build ] || { build=$(realpath "$2"); shift 2; }
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo "SKIP: needs root"; exit 77; }
[ -x "$build/skepd" ] || { echo "fleet.sh: no skepd in $build: build first, or --build DIR" >&2; exit 2; }
for tool in python3 unshare nsenter ip; do
	command -v $tool >/dev/null || { echo "SKIP: needs $tool: apt-get install -y python3 util-linux iproute2"; exit 77; }
done
scenes=${*:-gateway kafka clickhouse}
for s in $scenes; do
	case $s in
	gateway|kafka|clickhouse) ;;
	*) echo "fleet.sh: there is no scene '$s': gateway, kafka, clickhouse" >&2; exit 2 ;;
	esac
done
case " $scenes " in *" kafka "*|*" clickhouse "*)
	{ command -v clickhouse-server && command -v clickhouse-client; } >/dev/null ||
		DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		clickhouse-server clickhouse-client </dev/null >/dev/null 2>&1 || { echo "SKIP: no clickhouse-server here (Debian 12 has it)"; exit 77; }
esac
dir=$(mktemp -d /tmp/skep_fleet.XXXXXX)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
# The names in the examples' files are this machine's loopback, in a network of its own: their ports are free there.
printf '127.0.0.1 localhost gateway.example kafka1.example clickhouse.example\n127.0.0.2 backend.example\n' >"$dir/hosts"
rc=0
for s in $scenes; do
	unshare --mount --net --propagation private sh -c 'ip link set lo up && mount --bind "$1/hosts" /etc/hosts && shift && exec python3 "$@"' \
		sh "$dir" "$here/fleet.py" "$s" "$build" "$here/../../docs/guides/examples/fleet" "$dir" || rc=1
done
[ $rc = 0 ] && echo "fleet.sh: all as expected: $scenes" || echo "fleet.sh: something is wrong: $scenes"
exit $rc
