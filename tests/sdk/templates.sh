#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The installed SDK: each header compiles alone, as C17 and as C++17, and includes only installed headers. Each template
# builds outside of this tree with gcc and with clang, passes its tests, also with sanitizers, and passes
# `skep-dev check`. skep.m4 works in a configure.ac.
# Needs: $SKEP, $SKEPD, $abs_builddir, $abs_srcdir.
set -u
export LC_ALL=C
[ -z "${SKEP_SANITIZE:-}" ] || skip_why="sanitizers: templates are built once, by the build without them"
case ${CC:-gcc} in *clang*) skip_why="the build by gcc has done it, with both compilers" ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/skep_sdk.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
. "$abs_srcdir/tests/sdk/lib.sh"
[ -z "${skip_why:-}" ] || skip "$skip_why"
command -v pkg-config >/dev/null || skip "no pkg-config"
sdk_install "$work/root"

compilers=
for cc in gcc clang; do
	if command -v $cc >/dev/null; then compilers="$compilers $cc"; fi
done
[ -n "$compilers" ] || skip "no compiler"

# ---- headers
headers=0
for header in "$prefix"/include/skep/*.h "$prefix"/include/skep/sink/*.h; do
	name=${header#"$prefix/include/"}
	printf '#include <%s>\n#include <%s>\n' "$name" "$name" >"$work/header.c"
	cp "$work/header.c" "$work/header.cc"
	for cc in $compilers; do
		cxx=g++
		[ $cc = gcc ] || cxx=clang++
		quietly "$name as C17, $cc" $cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only "$work/header.c"
		! command -v $cxx >/dev/null ||
			quietly "$name as C++17, $cxx" $cxx -std=c++17 -D_GNU_SOURCE -Wall -Werror -I"$prefix/include" -fsyntax-only "$work/header.cc"
	done
	headers=$((headers + 1))
done
[ $headers -ge 32 ] || fail "only $headers headers are installed"
for header in "$prefix"/include/skep/*.h "$prefix"/include/skep/*/*.h; do
	sed -n 's/^[ \t]*#[ \t]*include[ \t]*[<"]\(skep\/[^>"]*\)[>"].*/\1/p' "$header" | while read -r name; do
		[ -f "$prefix/include/$name" ] || { echo "$header includes $name, which is not installed"; exit 1; }
	done || fail "an include that is not installed"
done
echo "ok - $headers headers, alone, as C17 and C++17"

# ---- libraries: a shared object in C++ links both, and shows none of their names
if command -v g++ >/dev/null && pkg-config --exists libbpf; then
	cat >"$work/uses.cc" <<-END
		#include <skep/pins.h>
		#include <skep/sink/record_json.h>
		#include <skep/utf8.h>
		extern "C" const void *const uses[] = { (const void *)skep_pins_load, (const void *)skep_record_json, (const void *)skep_utf8_cut };
	END
	# shellcheck disable=SC2046 # words
	quietly 'libskep-probe and libskep-sink in one plugin' g++ -shared -fPIC -Wl,-z,defs -o "$work/uses.so" "$work/uses.cc" \
		$("$PKG_CONFIG" --static --cflags --libs skep-probe skep-sink)
	nm -D --defined-only "$work/uses.so" | grep ' skep_\| record_' >"$work/log"
	[ ! -s "$work/log" ] || fail "a plugin shows names of the libraries"
	echo 'ok - libraries'
fi

# ---- templates
for kind in probe-proc probe-bpf sink recognizer; do
	[ -d "$prefix/share/skep/templates/$kind" ] || fail "the template $kind is not installed"
	case $kind in probe-bpf)
		command -v clang >/dev/null && { command -v bpftool || command -v /usr/sbin/bpftool; } >/dev/null &&
			pkg-config --exists libbpf ||
			{ echo "# skip: $kind needs clang, bpftool and libbpf"; continue; } ;;
	esac
	if [ $kind = recognizer ]; then
		quietly "skep-dev new $kind" "$SKEP_DEV" new --templates "$prefix/share/skep/templates" $kind sitetool "$work/$kind"
		quietly "$kind: make check" make -C "$work/$kind" check SKEP="$SKEP" SKEPD="$SKEPD"
		quietly "$kind: make install" make -C "$work/$kind" install DESTDIR="$work/into"
		[ -f "$work/into/etc/skep/tools.d/sitetool.json" ] || fail "$kind: make install"
		echo "ok - $kind"
		continue
	fi
	for cc in $compilers; do
		at=$work/$kind.$cc
		quietly "skep-dev new $kind" "$SKEP_DEV" new --templates "$prefix/share/skep/templates" $kind sitething "$at"
		quietly "$kind: make, $cc" make -C "$at" CC=$cc CFLAGS='-O2 -g -Werror'
		quietly "$kind: make check, $cc" make -C "$at" check CC=$cc CFLAGS='-O2 -g -Werror'
		[ $cc != gcc ] || {
			rm -f "$at/test_sitething"
			quietly "$kind: make check, sanitized" make -C "$at" check CC=$cc SANITIZE=-fsanitize=address,undefined
		}
		rc=0
		timeout 60 "$SKEP_DEV" check $([ $kind != sink ] || echo "--submit --option path=$work/lines") "$at/sitething.so" >"$work/log" 2>&1 || rc=$?
		# 4: a user who may not load BPF programs
		[ $rc -eq 0 ] || { [ $rc -eq 4 ] && [ "$(id -u)" -ne 0 ]; } || fail "$kind: skep-dev check: exit $rc"
		# (but for the time of a callback, on a busy machine)
		! grep -q '^  warning  [^l]' "$work/log" || [ $rc -eq 4 ] || fail "$kind: skep-dev check has warnings"
		quietly "$kind: make install" make -C "$at" install DESTDIR="$work/into" plugindir=/plugins
		[ "$(stat -c %a "$work/into/plugins/sitething.so")" = 644 ] || fail "$kind: mode of the installed plugin"
		quietly "$kind: make uninstall" make -C "$at" uninstall DESTDIR="$work/into" plugindir=/plugins
		[ ! -e "$work/into/plugins/sitething.so" ] || fail "$kind: make uninstall leaves it"
		quietly "$kind: make clean" make -C "$at" clean
		diff -r "$prefix/share/skep/templates/$kind" "$at" | grep '^Only in' | grep -v example | grep -v sitething >"$work/log"
		[ ! -s "$work/log" ] || fail "$kind: make clean leaves files"
	done
	echo "ok - $kind:$compilers"
done

# ---- the guide's probe
cp -r "$abs_srcdir/docs/guides/examples/ibports" "$work/ibports"
chmod -R u+w "$work/ibports"
quietly 'ibports: make check' make -C "$work/ibports" check CFLAGS='-O2 -g -Werror' SANITIZE=-fsanitize=address,undefined
quietly 'ibports: a port' "$work/ibports/fake-sysfs" "$work/sys" mlx5_0 1
quietly 'ibports: skep-dev check' "$SKEP_DEV" check --option root="$work/sys" "$work/ibports/ibports.so"
grep -q 'ibports.port: 3 records' "$work/log" && grep -q '^sound' "$work/log" || fail 'ibports: skep-dev check'
echo 'ok - docs/guides/examples/ibports'

# ---- configure
if command -v autoconf >/dev/null && command -v aclocal >/dev/null; then
	mkdir "$work/ac"
	cd "$work/ac" || exit 1
	# probe MINIMUM: what a configure of that minimum finds, and says
	probe() {
		cat >configure.ac <<-END
			AC_INIT([sitething], [1.0])
			AC_PROG_CC
			SKEP_PLUGIN_SDK([$1])
			AC_CONFIG_FILES([vars])
			AC_OUTPUT
		END
		printf '%s\n' 'cflags=@SKEP_PLUGIN_CFLAGS@' 'dir=@SKEP_PLUGIN_DIR@' 'abi=@SKEP_PLUGIN_ABI@' 'mock=@SKEP_MOCK_LIBS@' 'probe=@SKEP_PROBE_LIBS@' 'sink=@SKEP_SINK_LIBS@' 'skeleton=@SKEP_BPF_SKELETON@' >vars.in
		rm -rf autom4te.cache configure aclocal.m4
		quietly aclocal aclocal -I "$prefix/share/aclocal"
		quietly autoconf autoconf
		timeout 60 ./configure >"$work/log" 2>&1
	}
	probe 1.0 || fail 'configure'
	grep -q -- '-fvisibility=hidden' vars && grep -q '^dir=.*/skep/plugins$' vars && grep -q '^abi=1\.' vars &&
		grep -q -- '-lskep-mock' vars && grep -q -- '-lskep-probe.* -lbpf' vars && grep -q -- '-lskep-sink ' vars && grep -q 'bpf-skeleton$' vars || { cp vars "$work/log"; fail 'skep.m4: variables'; }
	! probe 1.99 || fail 'skep.m4: a newer ABI than there is'
	grep -q '1.99 is needed' "$work/log" || fail 'skep.m4: does not name the needed ABI'
	! probe 2.0 || fail 'skep.m4: another major'
	! (export PKG_CONFIG_PATH=/nonexistent PKG_CONFIG_LIBDIR=/nonexistent; probe 1.0) || fail 'skep.m4: no SDK at all'
	grep -q 'install skep-dev' "$work/log" || fail 'skep.m4: does not name the package to install'
	echo 'ok - skep.m4'
fi
