# SPDX-License-Identifier: Apache-2.0
# tarball/package.bash - sourced by scripts/package: a folder that runs from anywhere, on hosts that have none of the libraries: what
# is in the Debian package, and the libraries that it is linked with. Programs find them by $ORIGIN, not by
# LD_LIBRARY_PATH, which each command of "skep run" would inherit. (Static linking would need no path at all, but Debian's
# libelf.a is not position-independent, so no plugin can have it.)
#
# The C library is in a folder of its own, where only its own ld.so looks: libraries of Debian 12 need up to glibc 2.36
# (libsnappy's libstdc++: arc4random), EL 8 has 2.28. The wrapper uses the host's C library if it is new enough.

# copyrights FOLDER FILE...: the licences in the packages of these files, LGPL among them, and the versions of their
# sources
copyrights() {
	local folder=$1 f package
	shift
	for f; do
		f=$(readlink -f "$f")
		dpkg-query -S "$f" 2>/dev/null || dpkg-query -S "${f#/usr}" # dpkg knows some by their name before the merge of /usr
	done | sed 's/:.*//' | LC_ALL=C sort -u | while read -r package; do
		install -D -m 0644 "/usr/share/doc/$package/copyright" "$folder/$package/copyright" || fail "$package: no copyright file"
		dpkg-query -W -f '${Package} ${source:Package} ${source:Version}\n' "$package"
	done >"$folder/sources"
}

# tarball_libraries ROOT: copies the libraries of its programs and plugins beside them, where $ORIGIN finds them
tarball_libraries() {
	local root=$1 f needed libs libc
	mapfile -t libs < <(ldd "$root"/libexec/* "$root"/lib/skep/plugins/*.so | grep -oE '/[^ ]+\.so[^ ]*' |
		grep -vE "^$root|/(libc|libm|libpthread|libdl|librt|libresolv|ld-linux[^/]*)\.so" | LC_ALL=C sort -u)
	for f in "${libs[@]}"; do
		install -m 0644 "$f" "$root/lib/private/${f##*/}"
	done
	# Copies all parts of one glibc, also libpthread, libdl and librt, which only older programs name: a site's
	# plugin may need them.
	libc=$(ldd "$root/libexec/skepd" | sed -n 's|.*=> \(.*\)/libc\.so\.6 .*|\1|p')
	for f in "$(patchelf --print-interpreter "$root/libexec/skepd")" "$libc"/lib{c,m,pthread,dl,rt,resolv,util}.so.?; do
		install -m 0755 "$f" "$root/lib/libc/${f##*/}"
		libs+=("$f")
	done
	copyrights "$root/share/doc" "${libs[@]}"
	patchelf --set-rpath '$ORIGIN/../lib/private' "$root"/libexec/*
	patchelf --set-rpath '$ORIGIN/../../private' "$root"/lib/skep/plugins/*.so
	patchelf --set-rpath '$ORIGIN' "$root"/lib/private/*

	for f in "$root"/libexec/* "$root"/lib/skep/plugins/*.so "$root"/lib/private/*; do
		for needed in $(patchelf --print-needed "$f"); do
			[ -e "$root/lib/private/$needed" ] || [ -e "$root/lib/libc/$needed" ] || fail "${f#"$root/"} needs $needed, which is not in the tarball"
		done
	done
}

# tarball_wrappers ROOT MINOR: makes bin/skep and sbin/skepd, which use the host's C library from glibc 2.MINOR on
tarball_wrappers() {
	local root=$1 minor=$2
	sed -e "s/@program@/skep/g; s/@config@//; s/@minor@/$minor/" "$src/packaging/tarball/wrapper.in" >"$root/bin/skep"
	sed -e "s/@program@/skepd/g; s/@minor@/$minor/" \
		-e 's|@config@|case " $* " in *" -c"*\|*" --config"*) ;; *) set -- --config "$root/etc/skep/skepd.conf" "$@" ;; esac\n|' \
		"$src/packaging/tarball/wrapper.in" >"$root/sbin/skepd"
	chmod 0755 "$root/bin/skep" "$root/sbin/skepd"
}

tarball() {
	need patchelf patchelf
	local top=$work/tarball deb version name root rel epoch
	deb=$(find "$out" -maxdepth 1 -name 'skep_*.deb' | LC_ALL=C sort | tail -1)
	[ -n "$deb" ] || fail "the tarball is made of the package: scripts/package deb tarball"
	version=$(dpkg-deb -f "$deb" Version) version=${version%-*}
	name=skep-$version-linux-$(uname -m)
	root=$top/$name
	rm -rf "$top" && mkdir -p "$top/deb" "$root/bin" "$root/sbin" "$root/libexec" "$root/lib/private" "$root/lib/libc" "$root/share/doc" "$root/etc/skep"
	dpkg-deb -x "$deb" "$top/deb"
	mv "$top/deb/usr/bin/skep" "$top/deb/usr/sbin/skepd" "$root/libexec/"
	mv "$top/deb/usr/lib/skep" "$root/lib/skep"
	mv "$top/deb/usr/share/skep" "$top/deb/usr/share/man" "$root/share/"
	cp "$src/LICENSE" "$src/README.md" "$root/"
	# There is no /etc/skep/filters.d to read.
	sed -E 's|^([[:space:]]*)("filters": .*)|\1// \2|' "$src/etc/skepd.conf" >"$root/etc/skep/skepd.conf"
	tarball_libraries "$root"
	rel=$(objdump -T "$root"/libexec/* "$root"/lib/skep/plugins/*.so "$root"/lib/private/* | grep -oE 'GLIBC_[0-9.]+' |
		LC_ALL=C sort -uV | tail -1)
	rel=${rel#GLIBC_2.}
	tarball_wrappers "$root" "$rel"
	echo "$name: takes the C library of hosts that have glibc 2.$rel or later"
	epoch=$(dpkg-parsechangelog -l "$src/packaging/debian/changelog" -S Timestamp)
	tar c -C "$top" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" "$name" | xz -9e -T1 >"$out/$name.tar.xz"
}
