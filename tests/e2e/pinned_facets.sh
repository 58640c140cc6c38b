#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/pinned_facets.sh - processes send and read a known number of bytes while the test restarts skepd again and
# again, with the same kernel side and with another build of it. The figures of net and io in each process.exit are
# exact. Pinned state without a reader stops recording after pin_for; after kill -9 skepd reports nothing twice. Needs:
# root, $SKEPD, $SKEP_PLUGIN_DIRS, python3; a folder on a block device, or the test leaves out reads. RESTARTS (3).
name=pinned
. "$(dirname "$0")/probe_lib.sh"
[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
needs_probe net
needs_probe io
find_disk
trap 'umount "$work/bpf" 2>/dev/null || :; clean' EXIT
mkdir "$work/bpf"
mount -t bpf bpf "$work/bpf" || skip "needs to mount a BPF filesystem"
python3 "$(dirname "$0")/pinned_facets.py" "$work" "$disk"
