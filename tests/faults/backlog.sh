#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# backlog.sh [--build DIR] [SCENE...] - receivers that mind a sample's time.
#
#   backlog  a spool of 24 hours of samples, for receivers that have been away as long: how much of it arrives, how long
#            that takes, and the memory of skepd. Prometheus with and without out_of_order_time_window, VictoriaMetrics,
#            ClickHouse
#   refused  batches with samples out of order among others (libfaketime): Prometheus takes the others
#
# For a nightly run: as root.
#   PROMETHEUS, VICTORIA   the programs, several with spaces between them (default: this host's); a VictoriaMetrics as
#                          PROGRAM=VERSION
#   CLICKHOUSE             yes, no (default: yes where this host has a clickhouse-server)
set -eu
build=${abs_builddir:-$PWD}
[ "${1:-}" != --build ] || { build=$(realpath "$2"); shift 2; }
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo "SKIP: needs root"; exit 77; }
[ -x "$build/skepd" ] || { echo "backlog.sh: no skepd in $build: build first, or --build DIR" >&2; exit 2; }
if [ -z "${VICTORIA+x}" ] && VICTORIA=$(command -v victoria-metrics); then
	VICTORIA+="=$(dpkg-query -W -f '${Version}' victoria-metrics 2>/dev/null | sed 's/[+-].*//')"
fi
: "${CLICKHOUSE:=$(command -v clickhouse-server >/dev/null && echo yes || echo no)}"
export PROMETHEUS=${PROMETHEUS-$(command -v prometheus || :)} VICTORIA CLICKHOUSE
[ -n "$PROMETHEUS$VICTORIA" ] || [ "$CLICKHOUSE" = yes ] || { echo "SKIP: needs prometheus, victoria-metrics or clickhouse-server"; exit 77; }
export SKEP_BUILD=$build PYTHONDONTWRITEBYTECODE=1
failed=0
[ $# -gt 0 ] || set -- backlog refused
for scene; do
	case $scene in
	backlog|refused) python3 "$here/$scene.py" || failed=1 ;;
	*) echo "backlog.sh: there is no scene '$scene': backlog, refused" >&2; exit 2 ;;
	esac
done
echo "backlog.sh: $([ $failed = 0 ] && echo ok || echo failed)"
exit $failed
