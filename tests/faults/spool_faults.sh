#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# spool_faults.sh [--build DIR] [SCENE...] - skepd, storms of processes and receivers, one of which fails. Beside
# the sink under test there is a file that must not be delayed; memory must be flat, and skepd's counters equal to what
# the receiver has. For a nightly run, not for "make check": as root. docs/inside/faults.md has the last figures and
# what the columns are.
#
#   nothing   no fault: the columns without one
#   readonly  the spool's filesystem becomes read-only (an ext4 that is made to report damage), and is mended
#   stopped   skepd gets no CPU for 20 s (SIGSTOP); overflow: with a ring too small for the events meanwhile
#   hole      the receiver gets no CPU for 15 s: connections without an answer (faultd, ClickHouse)
#   killed    kill -9, ten times, while processes run (faultd, ClickHouse)
#   token     a password is changed at the server, and later in skepd's file (nginx, ClickHouse)
#   flipped   one bit of the spool changes (faultd, ClickHouse)
#   dead      five sinks of five kinds without a receiver, beside the two
#   clock     the clock goes back and forth by hours (libfaketime)
#
# Needs the packages clickhouse-server, nginx, openssl, faketime, python3: scenes whose package is missing are skipped,
# and say so.
set -eu
build=${abs_builddir:-$PWD}
[ "${1:-}" != --build ] || { build=$(realpath "$2"); shift 2; }
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo "SKIP: needs root"; exit 77; }
[ -x "$build/skepd" ] || { echo "spool_faults.sh: no skepd in $build: build first, or --build DIR" >&2; exit 2; }
make -s -C "$build" tests/exact/storm tests/exact/tiny plugins-run/.stamp >/dev/null
export SKEP_BUILD=$build PYTHONDONTWRITEBYTECODE=1
python3 "$here/spool_faults.py" "$@"
