#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/pinned_facets.sh - processes send and read a known number of bytes while skepd is restarted again and again,
# with the same kernel side and with another build of it: the figures of net and io in each process.exit are exact. A
# pinned state without a reader stops recording after pin_for; after kill -9 nothing is reported twice. Needs: root,
# $SKEPD, $SKEP_PLUGIN_DIRS, python3; a folder on a block device for the reads, or the test leaves them out. RESTARTS
# (3).
set -u
[ "$(id -u)" -eq 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
[ -r /sys/kernel/btf/vmlinux ] || { echo "skip: this kernel has no BTF"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
for probe in net io; do
	[ -e "${SKEP_PLUGIN_DIRS:-.}/$probe.so" ] || { echo "skip: the probe $probe is not built"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-pinned.XXXXXX") disk=''
trap 'umount "$work/bpf" 2>/dev/null; rm -rf "$work" "$disk"' EXIT
trap 'exit 1' INT TERM
# A device that counts requests: not tmpfs, not overlay.
for folder in "${abs_builddir:-}" /var/tmp /tmp /root; do
	[ -n "$folder" ] && [ -d "$folder" ] || continue
	case $(findmnt -n -o SOURCE -T "$folder" 2>/dev/null) in
	/dev/*) disk=$(mktemp -d "$folder/skep-pinned.XXXXXX"); break ;;
	esac
done
mkdir "$work/bpf"
mount -t bpf bpf "$work/bpf" || { echo "skip: needs to mount a BPF filesystem"; exit 77; }
python3 "$(dirname "$0")/pinned_facets.py" "$work" "$disk"
