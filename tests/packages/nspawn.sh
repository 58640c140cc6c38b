#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/packages/nspawn.sh SUITE FOLDER - boots a Debian of that suite with systemd in a container (systemd-nspawn -b)
# on this kernel, and runs guest.sh in it with the packages of FOLDER. Has the output and the exit status of guest.sh;
# 77: cannot run here.
set -euo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
suite=${1:?usage: nspawn.sh SUITE FOLDER} folder=${2:?usage: nspawn.sh SUITE FOLDER}
seconds=${SKEP_GUEST_SECONDS:-300}

for p in systemd-nspawn:systemd-container script:bsdutils; do
	command -v "${p%:*}" >/dev/null || { echo "skip: nspawn.sh needs ${p#*:}; remedy: apt-get install -y ${p#*:}"; exit 77; }
done
tar=$("$here/root.sh" "$suite")
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/root"
tar xf "$tar" -C "$work/root" --numeric-owner
. "$here/packages.bash"
guest_root "$work/root" "$folder"

# A terminal, because nspawn -b says nothing without one; --keep-unit: this host's process 1 need not be systemd. The
# capabilities are what the service asks for, and CAP_SYS_ADMIN is what PID 1 needs anyway; bpf(2) is not in nspawn's
# filter.
timeout -k 5 "$seconds" script -qec "systemd-nspawn -q -b --register=no --keep-unit -M skep-$$ -D '$work/root' \
	--capability=CAP_BPF,CAP_PERFMON,CAP_SYS_PTRACE,CAP_SYS_ADMIN --system-call-filter='bpf perf_event_open' \
	--private-network" /dev/null >"$work/console" 2>&1 </dev/null || true
cat "$work/root/packages/output" 2>/dev/null || true
if [ ! -e "$work/root/packages/status" ]; then
	echo "not ok - the guest has not come to its end within $seconds s"
	tail -n 20 "$work/console" | tr -d '\r' | sed 's/^/# /'
	exit 1
fi
exit "$(cat "$work/root/packages/status")"
