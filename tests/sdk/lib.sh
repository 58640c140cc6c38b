# SPDX-License-Identifier: Apache-2.0
# lib.sh - sourced by the tests of the installed SDK.

skip() {
	echo "skip: $1"
	exit 77
}

fail() {
	echo "not ok - $1"
	[ ! -s "$work/log" ] || tail -n 40 "$work/log" | sed 's/^/# /'
	exit 1
}

# quietly NAME COMMAND...: its output only when it fails
quietly() {
	local name=$1
	shift
	timeout 300 "$@" >"$work/log" 2>&1 </dev/null || fail "$name: exit $?"
}

# sdk_install FOLDER: the SDK as "make install" puts it, below FOLDER; $prefix is where, $PKG_CONFIG finds it
sdk_install() {
	quietly 'make install-sdk' env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$abs_builddir" install-sdk DESTDIR="$1"
	prefix=$1$(sed -n 's/^prefix=//p' "$abs_builddir/sdk/skep.pc")
	export PKG_CONFIG_PATH
	PKG_CONFIG_PATH=$(dirname "$(find "$1" -name skep.pc)")
	# skep.pc below DESTDIR names the final folder, but the SDK is still below DESTDIR: pkg-config gets this prefix.
	cat >"$work/pkg-config" <<-END
		#!/bin/sh
		case " \$* " in *" skep"*) exec pkg-config --define-variable=prefix=$prefix "\$@" ;; esac
		exec pkg-config "\$@"
	END
	chmod +x "$work/pkg-config"
	export PKG_CONFIG=$work/pkg-config
}
