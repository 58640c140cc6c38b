#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/packages/qemu.sh SUITE FOLDER - as nspawn.sh, with the kernel of that Debian and its defaults
# (perf_event_paranoid=3, cgroup v2), emulated: minutes. Kernels are those of tests/kernels.
set -euo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
suite=${1:?usage: qemu.sh SUITE FOLDER} folder=${2:?usage: qemu.sh SUITE FOLDER}
seconds=${SKEP_GUEST_SECONDS:-1500}
case $suite in
bookworm) series=6.1 ;;
trixie) series=6.12 ;;
*) echo "qemu.sh: which kernel does $suite have?" >&2; exit 2 ;;
esac
for p in qemu-system-x86_64:qemu-system-x86 mke2fs:e2fsprogs debugfs:e2fsprogs cpio:cpio; do
	command -v "${p%:*}" >/dev/null || { echo "skip: qemu.sh needs ${p#*:}; remedy: apt-get install -y ${p#*:}"; exit 77; }
done
tar=$("$here/root.sh" "$suite")
"$here/../kernels/fetch.sh" "$series" >/dev/null
kernel=${SKEP_KERNEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/skep/kernels}/$series
initramfs=$("$here/../kernels/initramfs.sh" "$series")
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/root"
tar xf "$tar" -C "$work/root" --numeric-owner
. "$here/packages.bash"
guest_root "$work/root" "$folder"
rm -f "$work/root/etc/fstab"
truncate -s 700M "$work/disk"
mke2fs -q -F -t ext4 -O ^has_journal -m 0 -d "$work/root" "$work/disk"
rm -rf "$work/root"

# The initramfs of tests/kernels has the modules; of two files of one name the kernel takes the later.
mkdir "$work/init"
cat >"$work/init/init" <<'END'
#!/bin/busybox sh
busybox mkdir -p /proc /sys /dev /new
busybox mount -t proc none /proc
busybox mount -t sysfs none /sys
busybox mount -t devtmpfs none /dev
while read -r m; do busybox modprobe $m; done </modules.boot
busybox mount -t ext4 /dev/vda /new
exec busybox switch_root /new /sbin/init
END
chmod +x "$work/init/init"
(cd "$work/init" && echo init | cpio --quiet -o -H newc) >"$work/cpio"
cat "$initramfs" "$work/cpio" >"$work/initrd"

# One emulated processor: tests/kernels/lib.sh says why.
timeout -k 5 "$seconds" qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -M pc,usb=off \
	-cpu "${SKEP_KERNEL_CPU:-max}" -accel "${SKEP_KERNEL_ACCEL:-tcg,thread=single}" -smp 1 -m 1024 \
	-kernel "$kernel/vmlinux" -initrd "$work/initrd" \
	-append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr random.trust_cpu=on tsc=reliable no_timer_check nowatchdog \
rcupdate.rcu_cpu_stall_suppress=1 systemd.show_status=false systemd.mask=serial-getty@ttyS0.service rw root=/dev/vda" \
	-drive "file=$work/disk,format=raw,if=none,id=d,cache=unsafe" -device virtio-blk-pci,drive=d,romfile= \
	-serial "file:$work/console" </dev/null >"$work/qemu" 2>&1 || cat "$work/qemu"
debugfs -R "cat /packages/output" "$work/disk" 2>/dev/null || true
status=$(debugfs -R "cat /packages/status" "$work/disk" 2>/dev/null || true)
if [ -z "$status" ]; then
	echo "not ok - the guest has not come to its end within $seconds s"
	tail -n 20 "$work/console" | tr -d '\r' | sed 's/^/# /'
	exit 1
fi
exit "$status"
