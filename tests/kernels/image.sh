#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/image.sh - the guests' two disks, as ext4 images that all kernels share.
#
#   image.sh tools              programs of this host, with their libraries, and Python: into the cache, made again
#                               when a program, this script or the list below changed; prints its path
#   image.sh build BUILD OUT    what tests need of the build tree BUILD and of its sources, at the same paths as here
#
# A guest runs the host's own user space: so programs built here run there, on every kernel.
. "$(dirname "$0")/lib.sh"
need mkfs.ext4 e2fsprogs ldd libc-bin unshare util-linux flock util-linux

# Programs of the guests. "?" marks a program that only some tests need: without it these tests skip with the reason.
tools=(
	bash sh env true false
	basename cat chgrp chmod chown chroot comm cp cut date dd df dirname du echo expr head hostname id install kill
	link ln ls mkdir mkfifo mknod mktemp mv nice nohup nproc od paste printf pwd readlink realpath rm rmdir seq
	sha256sum sleep sort split stat stdbuf stty sum sync tac tail tee test timeout touch tr truncate tty uname uniq
	unlink wc whoami yes
	awk sed grep find xargs cmp diff tar gzip
	blkid chrt dmesg fallocate flock findmnt ionice lscpu losetup mount mountpoint nsenter prlimit setpriv setsid
	swapoff swapon mkswap switch_root taskset umount unshare script
	ps pgrep pkill pidof free sysctl top uptime vmstat
	ip ss tc modprobe insmod rmmod lsmod
	mkfs.ext4 mke2fs
	/usr/bin/python3 zstd
	'?bpftool' '?jq' '?xz' '?iptables' '?nft' '?/usr/bin/time' '?strace' '?perl' '?make' '?gawk' '?busybox' '?runc'
)

# put ROOT PATH...: each file under the same name, without links
put() {
	local root=$1 path
	shift
	for path; do
		[ ! -e "$root$path" ] || continue
		mkdir -p "$root${path%/*}"
		cp -L --preserve=mode,timestamps "$path" "$root$path"
	done
}

# libraries FILE...: the libraries of these, by the dynamic linker
libraries() {
	ldd "$@" 2>/dev/null | grep -oE '/[^ ):]+[.]so[^ ):]*' | grep -vF ':' | sort -u || :
}

# skeleton ROOT: /bin, /lib, /sbin are links into /usr, as on every distribution of today
skeleton() {
	local d
	mkdir -p "$1"/usr/{bin,sbin,lib,lib64,libexec} "$1"/{etc,root,tmp,run,dev,proc,sys,var/tmp,var/lib,home}
	for d in bin sbin lib lib64; do [ -e "$1/$d" ] || ln -s "usr/$d" "$1/$d"; done
}

# pack ROOT IMAGE: in a user namespace where we are root, so that root owns the files for any builder
pack() {
	local kib files
	kib=$(du -sk --apparent-size "$1" | cut -f 1)
	files=$(find "$1" | wc -l)
	truncate -s $(((kib + files * 5) * 5 / 4 + 8192))K "$2.new"
	set -- "$1" "$2" mkfs.ext4 -q -F -O '^has_journal' -m 0 -N $((files + 1000)) -E root_owner=0:0 -d "$1" "$2.new"
	if [ "$(id -u)" = 0 ]; then "${@:3}"; else unshare -r "${@:3}"; fi
	mv "$2.new" "$2"
}

tools_image() {
	local work root tool path paths=() of python f
	for tool in "${tools[@]}"; do
		if path=$(command -v "${tool#\?}" 2>/dev/null) && [[ $path = /* ]]; then
			paths+=("$path")
		elif path=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin type -P "$tool" 2>/dev/null); then
			paths+=("$path")
		elif [[ $tool != \?* ]]; then
			die "no program '$tool' on this host, which guests need; remedy: apt-get install -y $(scripts_deps)"
		fi
	done
	of=$( { cat "${BASH_SOURCE[0]}" "$kernels_here/guest-run" "$kernels_here/guest-cc"; stat -L -c '%n %s %Y' "${paths[@]}"; } | sha256sum)
	[ ! -e "$cache/tools.ext4" ] || [ "$of" != "$(cat "$cache/tools.of" 2>/dev/null)" ] || return 0
	work=$(mktemp -d "$cache/tools.XXXXXX")
	root=$work/root
	skeleton "$root"
	put "$root" "${paths[@]}"
	python=$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
	mkdir -p "$root$python"
	tar c -C "$python" --exclude=./test --exclude=./idlelib --exclude=./lib2to3 --exclude=./ensurepip --exclude=./tkinter \
		--exclude=./pydoc_data --exclude='./config-*' --exclude=./dist-packages --exclude=./site-packages --exclude=./distutils . |
		tar x -C "$root$python"
	mapfile -t f < <(libraries "${paths[@]}" "$python"/lib-dynload/*.so)
	# pthread_exit loads it by name, and aborts without it.
	f+=("$(ldconfig -p | awk '/libgcc_s.so.1.*x86-64/ { print $NF; exit }')")
	put "$root" "${f[@]}"
	[ ! -d /usr/lib/locale/C.utf8 ] || { mkdir -p "$root/usr/lib/locale" && cp -a /usr/lib/locale/C.utf8 "$root/usr/lib/locale/"; }
	install -m 755 "$kernels_here/guest-run" "$root/usr/libexec/guest-run"
	install -m 755 "$kernels_here/guest-cc" "$root/usr/bin/cc"
	# Their names mean something to kernels and tests; no service looks them up.
	printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n' >"$root/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
	printf 'passwd: files\ngroup: files\nhosts: files\n' >"$root/etc/nsswitch.conf"
	printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
	pack "$root" "$cache/tools.ext4"
	echo "$of" >"$cache/tools.of"
	rm -rf "$work"
}

scripts_deps() { "$kernels_src/scripts/deps" kernels | tr '\n' ' '; }

build_image() {
	local build=$1 out=$2 src work root f
	src=$(source_of "$build")
	work=$(mktemp -d "$out.XXXXXX")
	root=$work/root
	skeleton "$root"
	mkdir -p "$root$build" "$root$src"
	# Sources that run as they are: scripts of the tests, tables, fixtures.
	tar c -C "$src" --exclude='*.o' --exclude='./tests/fuzz' --exclude='./tests/pipelines/reads' \
		--exclude=__pycache__ ./scripts ./tests ./plugins ./etc | tar x -C "$root$src"
	# Programs, plugins. Unit tests need no other kernel.
	( cd "$build" && find . \( -path ./plugins -o -path ./sinks -o -path ./tests/unit -o -path ./tests/abi -o -path ./tests/fuzz \
		-o -path ./src -o -path './skep-*' -o -name autom4te.cache \) -prune -o -type f -perm -u+x ! -name '*.o' \
		! -name config.status -print
		find plugins-run plugins-test -type f 2>/dev/null ) | tar c -C "$build" -T - | tar x -C "$root$build"
	mapfile -t f < <(cd "$root$build" && find . -type f -perm -u+x -print0 | xargs -0 -r ldd 2>/dev/null |
		grep -oE '=> /[^ ]+' | cut -c 4- | sort -u)
	put "$root" "${f[@]}"
	# Guests have no compiler: what tests compile is compiled here, and guest-cc finds it.
	for f in "$src"/tests/e2e/fixtures/*.c; do
		mkdir -p "$root/usr/libexec/fixtures"
		${CC:-cc} -std=c17 -D_GNU_SOURCE -O1 -pthread "$f" -o "$root/usr/libexec/fixtures/$(basename "$f" .c)"
	done
	pack "$root" "$out"
	rm -rf "$work"
}

case ${1:-}:$# in
tools:1)
	locked "$cache/lock.tools" tools_image
	echo "$cache/tools.ext4" ;;
build:3)
	[ -x "$2/skepd" ] && [ -d "$2/plugins-run" ] || die "$2 is no build tree: there is no skepd and plugins-run in it; remedy: make"
	build_image "$(cd "$2" && pwd)" "$3" ;;
*) usage "image.sh tools | image.sh build BUILD OUT" ;;
esac
