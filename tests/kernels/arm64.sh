#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/arm64.sh [-b BUILD] [KERNEL...] - compiles this tree for arm64, as a cross build, and runs root's tests
# there under qemu, which emulates the processor. KERNEL: 4k, Debian 12's of pages of 4 KiB, or 16k, Debian 13's of
# 16 KiB. BUILD: where to compile (build/arm64). Each test has a line; exit status 1 if one fails, 77 where a program or
# the archive is missing. The user space is Debian's arm64 packages, unpacked in the cache of lib.sh.
. "$(dirname "$0")/lib.sh"
build=$kernels_src/build/arm64
while getopts b: o; do
	case $o in b) build=$OPTARG ;; *) usage "arm64.sh [-b BUILD] [4k] [16k]" ;; esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- 4k 16k
need qemu-system-aarch64 qemu-system-arm ld.lld lld llvm-ar llvm clang clang bpftool bpftool cpio cpio
need apt-get apt dpkg-deb dpkg
base=$cache/arm64 root=$cache/arm64/root
mirror=${SKEP_DEBIAN_MIRROR:-http://deb.debian.org/debian}
libraries=(
	libc6-dev linux-libc-dev libgcc-12-dev libbpf-dev libelf-dev libuv1-dev libjansson-dev
	libsqlite3-dev libpcre2-dev libcurl4-openssl-dev libdeflate-dev libzstd-dev libsnappy-dev
	libmicrohttpd-dev libncurses-dev libcmocka-dev
)
programs=(
	bash bsdutils coreutils dash diffutils findutils gawk grep hostname iproute2 jq kmod libc-bin mount procps
	python3 sed sqlite3 tar time util-linux zstd
)
# LIMIT NAME [VARIABLE=VALUE...]: an emulated processor takes about 30 times as long.
tests='600 tests/exact/exact.sh LONGEST=300
300 tests/e2e/pid_reuse.sh
600 tests/e2e/cgroup.sh
900 tests/e2e/net_truth.sh WAYS=as_it_is
600 tests/e2e/filelat.sh
600 tests/e2e/rtt.sh
600 tests/e2e/sched_details.sh
600 tests/e2e/sched_states.sh
600 tests/field/names.sh
600 tests/field/figures.sh WAITS=40'

# apt_of SUITE COMMAND...: apt of arm64 packages, with lists of its own: nothing of the host's own changes
apt_of() {
	local dir=$base/$1
	mkdir -p "$dir/lists/partial" "$dir/archives/partial" "$dir/parts"
	: >"$dir/status"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$dir/sources.list"
	cat >"$dir/conf" <<-END
		APT::Architecture "arm64"; APT::Architectures { "arm64"; }; APT::Install-Recommends "0";
		Dir::State "$dir"; Dir::State::status "$dir/status"; Dir::Cache "$dir"; APT::Sandbox::User "root";
		Dir::Etc::sourcelist "$dir/sources.list"; Dir::Etc::sourceparts "-"; Dir::Etc::parts "$dir/parts";
	END
	APT_CONFIG=$dir/conf "${@:2}"
}

# The packages unpacked in $root, with /usr merged, and links that hold there.
user_space() {
	local deb link to
	[ "$(cat "$base/packages" 2>/dev/null)" != "${libraries[*]} ${programs[*]}" ] || return 0
	rm -rf "$root"
	mkdir -p "$root"
	apt_of bookworm apt-get update -qq || { echo "skip: arm64.sh cannot reach $mirror"; exit 77; }
	apt_of bookworm apt-get install -qq -y --download-only "${libraries[@]}" "${programs[@]}" >/dev/null
	for deb in "$base"/bookworm/archives/*.deb; do dpkg-deb -x "$deb" "$root"; done
	for to in bin sbin lib; do
		cp -a "$root/$to/." "$root/usr/$to/"
		rm -r "${root:?}/$to"
		ln -s "usr/$to" "$root/$to"
	done
	ln -sf dash "$root/usr/bin/sh"
	ln -sf gawk "$root/usr/bin/awk"
	find "$root/usr" -type l -lname '/*' | while read -r link; do
		ln -sfn "$(realpath -m --relative-to="${link%/*}" "$root$(readlink "$link")")" "$link"
	done
	echo "${libraries[*]} ${programs[*]}" >"$base/packages"
}

# kernel 4k|16k: its image in the cache
kernel() {
	local suite=bookworm meta=linux-image-cloud-arm64 name
	[ "$1" = 4k ] || suite=trixie meta=linux-image-arm64-16k
	if ! compgen -G "$base/$1/boot/vmlinuz-*" >/dev/null; then
		[ "$suite" = bookworm ] || apt_of $suite apt-get update -qq || { echo "skip: arm64.sh cannot reach $mirror"; exit 77; }
		name=$(apt_of $suite apt-cache depends $meta | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p')
		(cd "$base" && rm -f linux-image-*.deb && apt_of $suite apt-get download -qq "$name" && dpkg-deb -x linux-image-*.deb "$1")
	fi
	compgen -G "$base/$1/boot/vmlinuz-*"
}

cross_build() {
	local cc=(clang --target=aarch64-linux-gnu "--sysroot=$root") f
	export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/aarch64-linux-gnu/pkgconfig
	[ -x "$kernels_src/configure" ] || (cd "$kernels_src" && ./autogen.sh) || return
	mkdir -p "$build/fixtures" && cd "$build" || return
	[ -e Makefile ] || "$kernels_src/configure" --host=aarch64-linux-gnu --enable-werror --disable-web CC="${cc[*]}" AR=llvm-ar \
		RANLIB=llvm-ranlib CFLAGS='-O2 -g1' LDFLAGS=-fuse-ld=lld || return
	make -j"$(nproc)" programs || return
	make -j"$(nproc)" tests/exact/{details,drive,filelat,net_drive,opens,states,tiny,workload} || return
	for f in "$kernels_src"/tests/e2e/fixtures/*.c; do
		"${cc[@]}" -fuse-ld=lld -std=c17 -D_GNU_SOURCE -O1 -pthread "$f" -o "fixtures/$(basename "$f" .c)" || return
	done
}

# The guest's file system, which its kernel unpacks into memory.
image() {
	local to=$work/root
	mkdir -p "$to"
	cp -a "$root/." "$to/"
	rm -rf "$to"/usr/{include,lib/gcc,share/{doc,man,locale,perl,zoneinfo}} "$to"/usr/lib/aarch64-linux-gnu/*.a
	mkdir -p "$to/src" "$to/build/tests" "$to/usr/libexec"
	tar c -C "$kernels_src" --exclude=./tests/fuzz --exclude=__pycache__ ./tests ./plugins ./etc ./scripts | tar x -C "$to/src"
	cp -a "$build"/{skep,skepd,plugins-run} "$to/build/"
	cp -a "$build/tests/exact" "$to/build/tests/"
	cp -a "$build/fixtures" "$to/usr/libexec/fixtures"
	install -m 755 "$kernels_here/guest-cc" "$to/usr/bin/cc"
	printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n' >"$to/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$to/etc/group"
	echo '127.0.0.1 localhost' >"$to/etc/hosts"
	echo "$tests" >"$to/tests.list"
	cat >"$to/init" <<-'END'
		#!/bin/bash
		export PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb TMPDIR=/var/tmp
		mount -t devtmpfs dev /dev; mount -t proc proc /proc; mount -t sysfs sys /sys
		exec </dev/null >/dev/ttyAMA0 2>&1
		mkdir -p /dev/pts /dev/shm /results /run /tmp
		mount -t devpts -o ptmxmode=666 devpts /dev/pts
		for i in 0:stdin 1:stdout 2:stderr; do ln -s /proc/self/fd/${i%:*} /dev/${i#*:}; done
		ln -s /proc/self/fd /dev/fd
		for at in /dev/shm /run /tmp /var/tmp; do mount -t tmpfs -o mode=1777 tmp $at; done
		mount -t tracefs tracing /sys/kernel/tracing; mount -t bpf bpf /sys/fs/bpf
		mount -t cgroup2 cgroup2 /sys/fs/cgroup
		for c in $(cat /sys/fs/cgroup/cgroup.controllers); do echo "+$c" >/sys/fs/cgroup/cgroup.subtree_control; done
		hostname guest; ip link set lo up
		export abs_builddir=/build abs_srcdir=/src SKEP=/build/skep SKEPD=/build/skepd
		export SKEP_PLUGIN_DIRS=/build/plugins-run EXACT_BIN=/build/tests/exact SKEP_TEST_PATIENCE=5
		cd /build
		echo "$(uname -rm), pages of $(getconf PAGESIZE) bytes"
		setsid --wait bash /src/tests/kernels/guest-tests /tests.list
		echo o >/proc/sysrq-trigger; sleep 60
	END
	chmod 755 "$to/init"
	(cd "$to" && find . | cpio -o -H newc --quiet) >"$work/initrd"
	rm -rf "$to"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/skep-arm64.XXXXXX")
trap 'rm -rf "$work"' EXIT
locked "$base/lock" user_space
cross_build >"$work/log" 2>&1 || { tail -n 40 "$work/log"; die "the cross build for arm64 failed"; }
image
failed=0
for k; do
	image=$(kernel "$k")
	timeout 5400 qemu-system-aarch64 -nodefaults -display none -no-reboot -M virt -cpu max \
		-accel tcg,thread=single -m 2048 -kernel "$image" -initrd "$work/initrd" -append 'console=ttyAMA0 quiet loglevel=4 panic=-1 audit=0 nowatchdog
		rcupdate.rcu_cpu_stall_suppress=1 rdinit=/init' -serial "file:$work/console" </dev/null || :
	tr -d '\r' <"$work/console" >"$work/said"
	grep -m1 'pages of' "$work/said" || { tail -n 30 "$work/said"; die "$k: the guest did not start"; }
	while read -r limit name _; do
		[ -n "$limit" ] || continue
		rc=$(awk -v t="$name" '$1 == "RESULT" && $2 == t { print $3 }' "$work/said")
		if [ "$rc" = 0 ]; then
			echo "ok - arm64 $k: $name"
		else
			echo "FAIL - arm64 $k: $name: status ${rc:-none}"
			failed=1
		fi
	done <<<"$tests"
	[ $failed -eq 0 ] || grep '^LOG' "$work/said" || :
done
exit $failed
