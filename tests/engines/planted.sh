#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/engines/planted.sh [WORKLOAD...] - problems planted in real workloads, and clean ones, and what `skep tune` says
# of them: planted.py. Takes some ten minutes: a part of make nightly.
# Environment: SKEP, SKEPD, SKEP_PLUGIN_DIRS, abs_builddir. Changes kernel.task_delayacct for its time.
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
command -v snakemake >/dev/null || { echo "skip: no snakemake (scripts/deps --install engines)"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
export STAND_IN_PROGRAM=${STAND_IN_PROGRAM:-${abs_builddir:-$PWD}/tests/engines/stand_in}
# In memory where that is possible: a disk that others keep busy makes a clean workload wait for it.
memory=/dev/shm
[ -w $memory ] || memory=${TMPDIR:-/tmp}
work=$(mktemp -d "$memory/skep-planted.XXXXXX")
switch=/proc/sys/kernel/task_delayacct
before=$(cat $switch 2>/dev/null || :)
end() {
	local pid
	pid=$(cat "$work/pid" 2>/dev/null || :)
	if [ -n "$pid" ] && kill -TERM -- "-$pid" 2>/dev/null; then # it was cut off
		for _ in {1..100}; do kill -0 -- "-$pid" 2>/dev/null || break; sleep 0.1; done
	fi
	[ -z "$before" ] || echo "$before" >$switch
	rm -rf "$work"
}
trap end EXIT
trap 'exit 143' TERM INT
[ -z "$before" ] || echo 1 >$switch
export PYTHONPATH=$here/../e2e
# As a child of init: make nightly is itself a run of make, and what make starts would be part of it.
# shellcheck disable=SC2016
(setsid sh -c 'echo $$ >"$1/pid"; shift; /usr/bin/python3 -B "$@" >"$2/said" 2>&1; echo $? >"$2/status"' \
	planted "$work" "$here/planted.py" "$work" "$@" </dev/null &)
until [ -s "$work/pid" ]; do sleep 0.1; done
until [ -s "$work/status" ] || ! kill -0 "$(cat "$work/pid")" 2>/dev/null; do sleep 0.2; done
cat "$work/said"
exit "$(cat "$work/status" 2>/dev/null || echo 1)"
