#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/initramfs.sh - what a guest needs before it has a root file system: a shell, guest-init, and the
# kernel's modules that guest-modules names.
#   initramfs.sh KERNEL     makes $SKEP_KERNEL_CACHE/KERNEL/initramfs where it is missing or old, prints its path
. "$(dirname "$0")/lib.sh"
[ $# -eq 1 ] || usage "initramfs.sh KERNEL"
need busybox busybox-static cpio cpio depmod kmod xz xz-utils zstd zstd flock util-linux
kernel=$(kernel_dir "$1")
[ -r "$kernel/release" ] || die "$kernel has no kernel; remedy: $kernels_here/fetch.sh $1"

build() {
	local release modules work root kind name line path file names
	release=$(cat "$kernel/release")
	modules=$kernel/modules/$release
	work=$(mktemp -d "$kernel/initramfs.XXXXXX")
	root=$work/root
	mkdir -p "$root/bin" "$root/lib/modules/$release"
	cp -L "$(command -v busybox)" "$root/bin/busybox"
	! ldd "$root/bin/busybox" >/dev/null 2>&1 || die "busybox is not static; remedy: apt-get install -y busybox-static"
	install -m 755 "$kernels_here/guest-init" "$root/init"

	# Dependencies between modules. A package has no modules.dep: depmod writes one beside the modules.
	if [ ! -s "$modules/modules.dep" ]; then
		mkdir -p "$work/all/lib/modules"
		ln -s "$modules" "$work/all/lib/modules/$release"
		depmod -b "$work/all" "$release"
	fi
	for f in modules.builtin modules.builtin.modinfo modules.order; do
		[ ! -f "$modules/$f" ] || cp "$modules/$f" "$root/lib/modules/$release/"
	done
	touch "$root/lib/modules/$release/modules.order"
	: >"$root/modules.boot"
	while read -r kind names; do
		for name in $names; do
			line=$(grep -E "/${name//_/[-_]}[.]ko([.][a-z0-9]+)?:" "$modules/modules.dep") || continue
			[ "$kind" != boot ] || echo "$name" >>"$root/modules.boot"
			for path in ${line/:/ }; do
				file=$root/lib/modules/$release/$(basename "${path%%.ko*}").ko
				case $path in
				*.xz) xz -dc "$modules/$path" >"$file" ;;
				*.zst) zstd -qdc "$modules/$path" >"$file" ;;
				*) cp "$modules/$path" "$file" ;;
				esac
			done
		done
	done < <(grep -v '^#' "$kernels_here/guest-modules")
	depmod -b "$root" "$release"
	# Not compressed: a guest's processor is slower than the host's disk.
	( cd "$root" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 ) >"$work/cpio"
	cat "$kernels_here/guest-init" "$kernels_here/guest-modules" "$kernels_here/initramfs.sh" | sha256sum >"$kernel/initramfs.of"
	mv "$work/cpio" "$kernel/initramfs"
	rm -rf "$work"
}

make_it() {
	local of
	of=$(cat "$kernels_here/guest-init" "$kernels_here/guest-modules" "$kernels_here/initramfs.sh" | sha256sum)
	if [ ! -e "$kernel/initramfs" ] || [ "$kernel/initramfs" -ot "$kernel/package" ] ||
		[ "$of" != "$(cat "$kernel/initramfs.of" 2>/dev/null)" ]; then
		build
	fi
}
locked "$cache/lock.initramfs.$1" make_it
echo "$kernel/initramfs"
