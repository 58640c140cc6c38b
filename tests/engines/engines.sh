#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/engines/engines.sh [ENGINE...] - workflow engines under skepd, real ones or stand-ins (drivers.py): two runs at
# once from one shell. Compares skepd's runs and tasks with the engines' own records, and prints how many processes are
# in the right run and task.
# Environment: SKEP, SKEPD, SKEP_PLUGIN_DIRS; ENGINES; ENGINE_JOBS (tasks of a run, default 20); ENGINE_RESTARTS (how
# often skepd ends and begins again meanwhile, with pinned and saved state; default 0).  Skips (77) where an engine is
# missing.
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
engines=("$@")
export STAND_IN_PROGRAM=${STAND_IN_PROGRAM:-${abs_builddir:-$PWD}/tests/engines/stand_in}
[ $# -gt 0 ] || read -ra engines <<<"${ENGINES:-snakemake make ninja parallel xargs find nextflow cromwell miniwdl airflow torchrun gitlab-runner github-actions jenkins buildkite agent luigi systemd}"
for e in "${engines[@]}"; do
	case $e in *slurm) command=slurmctld ;; toil) command=toil-cwl-runner ;;
	make) command=ninja ;; # of a recipe
	nextflow|cromwell|miniwdl|airflow|torchrun|gitlab-runner|github-actions|jenkins|buildkite|agent|luigi|systemd)
		command=$STAND_IN_PROGRAM ;;
	*) command=$e ;;
	esac
	command -v "$command" >/dev/null || { echo "skip: no $e (scripts/deps --install engines schedulers)"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-engines.XXXXXX")
trap 'umount "$work/bpf" 2>/dev/null || :; rm -rf "$work"' EXIT
if [ "${ENGINE_RESTARTS:-0}" -gt 0 ]; then
	mkdir "$work/bpf"
	mount -t bpf bpf "$work/bpf" || { echo "skip: needs to mount a BPF filesystem"; exit 77; }
fi
export PYTHONPATH=$here/../e2e
# As a child of init: make check is itself a run of make, and what make starts would be part of it.
# shellcheck disable=SC2016
(setsid sh -c 'echo $$ >"$1/pid"; shift; /usr/bin/python3 -B "$@" >"$2/said" 2>&1; echo $? >"$2/status"' \
	engines "$work" "$here/engines.py" "$work" "${engines[@]}" </dev/null &)
until [ -s "$work/pid" ]; do sleep 0.1; done
until [ -s "$work/status" ] || ! kill -0 "$(cat "$work/pid")" 2>/dev/null; do sleep 0.2; done
cat "$work/said"
exit "$(cat "$work/status" 2>/dev/null || echo 1)"
