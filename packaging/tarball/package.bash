# SPDX-License-Identifier: Apache-2.0
# tarball/package.bash - sourced by scripts/package: a folder that runs from anywhere, on hosts that have none of the libraries: what
# is in the Debian package, and the libraries that it is linked with, the C library excepted. They are found by $ORIGIN, and not by
# LD_LIBRARY_PATH, which each command of "skep run" would inherit. (Static linking would need no path at all, but Debian's libelf.a
# is not position-independent, so no plugin can have it.)

# The newest symbol version of the C library that it may need: what that is tells on which distributions it runs. Programs that are
# linked on Debian 12 ask for 2.34, the first with all of it in one libc.so (__libc_start_main, dlopen, pthread_create).
GLIBC_FLOOR=2.34

tarball() {
	need patchelf patchelf
	local top=$work/tarball deb version name root f lib needed rel epoch
	deb=$(find "$out" -maxdepth 1 -name 'skep_*.deb' | LC_ALL=C sort | tail -1)
	[ -n "$deb" ] || fail "the tarball is made of the package: scripts/package deb tarball"
	version=$(dpkg-deb -f "$deb" Version) version=${version%-*}
	name=skep-$version-linux-$(uname -m)
	root=$top/$name
	rm -rf "$top" && mkdir -p "$top/deb" "$root/bin" "$root/sbin" "$root/libexec" "$root/lib/private" "$root/share" "$root/etc/skep"
	dpkg-deb -x "$deb" "$top/deb"
	mv "$top/deb/usr/bin/skep" "$top/deb/usr/sbin/skepd" "$root/libexec/"
	mv "$top/deb/usr/lib/skep" "$root/lib/skep"
	mv "$top/deb/usr/share/skep" "$top/deb/usr/share/man" "$root/share/"
	cp "$src/LICENSE" "$src/README.md" "$root/"
	# There is no /etc/skep/filters.d to read.
	sed -E 's|^([[:space:]]*)("filters": .*)|\1// \2|' "$src/etc/skepd.conf" >"$root/etc/skep/skepd.conf"
	sed -e 's/@program@/skep/; s/@config@//' "$src/packaging/tarball/wrapper.in" >"$root/bin/skep"
	sed -e 's/@program@/skepd/g' \
		-e 's|@config@|case " $* " in *" -c"*\|*" --config"*) ;; *) set -- --config "$root/etc/skep/skepd.conf" "$@" ;; esac\n|' \
		"$src/packaging/tarball/wrapper.in" >"$root/sbin/skepd"
	chmod 0755 "$root/bin/skep" "$root/sbin/skepd"
	while read -r lib; do
		install -m 0644 "$lib" "$root/lib/private/${lib##*/}"
	done < <(ldd "$root"/libexec/* "$root"/lib/skep/plugins/*.so | grep -oE '/[^ ]+\.so[^ ]*' |
		grep -vE "^$root|/(libc|libm|libpthread|libdl|librt|ld-linux[^/]*)\.so" | LC_ALL=C sort -u)
	patchelf --set-rpath '$ORIGIN/../lib/private' "$root"/libexec/*
	patchelf --set-rpath '$ORIGIN/../../private' "$root"/lib/skep/plugins/*.so
	patchelf --set-rpath '$ORIGIN' "$root"/lib/private/*

	for f in "$root"/libexec/* "$root"/lib/skep/plugins/*.so "$root"/lib/private/*; do
		for needed in $(patchelf --print-needed "$f"); do
			case $needed in
			libc.so.*|libm.so.*|libpthread.so.*|libdl.so.*|librt.so.*|ld-linux*) ;;
			*) [ -e "$root/lib/private/$needed" ] || fail "${f#"$root/"} needs $needed, which is not in the tarball" ;;
			esac
		done
	done
	rel=$(objdump -T "$root"/libexec/* "$root"/lib/skep/plugins/*.so "$root"/lib/private/* | grep -oE 'GLIBC_[0-9.]+' |
		LC_ALL=C sort -uV | tail -1)
	[ "$(printf '%s\n' "GLIBC_$GLIBC_FLOOR" "$rel" | LC_ALL=C sort -V | tail -1)" = "GLIBC_$GLIBC_FLOOR" ] ||
		fail "needs $rel, above the floor of $GLIBC_FLOOR: $(objdump -T "$root"/libexec/* "$root"/lib/skep/plugins/*.so \
			"$root"/lib/private/* | grep -F "$rel)" | awk '{ print $NF }' | LC_ALL=C sort -u | tr '\n' ' ')"
	echo "$name: needs ${rel/GLIBC_/glibc }"
	epoch=$(dpkg-parsechangelog -l "$src/packaging/debian/changelog" -S Timestamp)
	tar c -C "$top" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" "$name" | xz -9e -T1 >"$out/$name.tar.xz"
}
