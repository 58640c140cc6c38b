dnl SPDX-License-Identifier: Apache-2.0
dnl skep.m4 - for the configure.ac of a package that builds skep plugins.
dnl
dnl SKEP_PLUGIN_SDK([MINIMUM-ABI], [ACTION-IF-FOUND], [ACTION-IF-NOT-FOUND])
dnl
dnl Looks for the SDK by pkg-config, of at least that plugin ABI (such as 1.2, of the same major), and
dnl substitutes
dnl   SKEP_PLUGIN_CFLAGS    to compile a plugin with
dnl   SKEP_PLUGIN_LDFLAGS   to link it with by libtool: one module that exports its entry function alone
dnl   SKEP_PLUGIN_DIR       where plugins are installed
dnl   SKEP_PLUGIN_ABI       the ABI of this SDK
dnl   SKEP_BPF_CFLAGS, SKEP_BPF_SKELETON   to compile X.bpf.c with: SKELETON X.bpf.c X.skel.h CFLAGS
dnl   SKEP_PROBE_LIBS, SKEP_SINK_LIBS      the libraries of probes and of sinks (with what skep/sink/http.h needs)
dnl   SKEP_MOCK_CFLAGS, SKEP_MOCK_LIBS     for tests under the mock host
dnl Without ACTION-IF-NOT-FOUND an SDK that is not there, or too old, is an error.
dnl These names are stable within a major version of the plugin ABI.
AC_DEFUN([SKEP_PLUGIN_SDK], [
	AC_REQUIRE([PKG_PROG_PKG_CONFIG])
	skep_sdk_found=no skep_sdk_why=
	AC_MSG_CHECKING([for the skep plugin SDK[]m4_ifval([$1], [ of ABI $1])])
	AS_IF([$PKG_CONFIG --exists skep], [
		SKEP_PLUGIN_ABI=`$PKG_CONFIG --variable=abi skep`
		skep_sdk_found=yes
		m4_ifval([$1], [
			skep_sdk_minimum="$1"
			AS_IF([test "${SKEP_PLUGIN_ABI%%.*}" != "${skep_sdk_minimum%%.*}" || test "${SKEP_PLUGIN_ABI#*.}" -lt "${skep_sdk_minimum#*.}"],
				[skep_sdk_found=no skep_sdk_why="the SDK that is installed has plugin ABI $SKEP_PLUGIN_ABI, $skep_sdk_minimum is needed; install another skep-dev"])
		])
	], [skep_sdk_why="pkg-config does not find skep; install skep-dev, or set PKG_CONFIG_PATH to the folder of skep.pc"])
	AS_IF([test $skep_sdk_found = yes], [
		AC_MSG_RESULT([yes, $SKEP_PLUGIN_ABI])
		SKEP_PLUGIN_CFLAGS="`$PKG_CONFIG --cflags skep` -fvisibility=hidden"
		SKEP_PLUGIN_LDFLAGS='-module -avoid-version -shared -export-symbols-regex ^skep_plugin_entry$$'
		SKEP_PLUGIN_DIR=`$PKG_CONFIG --variable=plugindir skep`
		SKEP_BPF_CFLAGS=`$PKG_CONFIG --variable=bpfcflags skep`
		SKEP_BPF_SKELETON=`$PKG_CONFIG --variable=bpfskeleton skep`
		SKEP_PROBE_LIBS=`$PKG_CONFIG --static --libs skep-probe`
		SKEP_SINK_LIBS=`$PKG_CONFIG --static --libs skep-sink`
		SKEP_MOCK_CFLAGS=`$PKG_CONFIG --cflags skep-mock`
		SKEP_MOCK_LIBS=`$PKG_CONFIG --libs skep-mock`
		$2
	], [
		AC_MSG_RESULT([no])
		m4_default([$3], [AC_MSG_ERROR([$skep_sdk_why])])
	])
	AC_SUBST([SKEP_PLUGIN_CFLAGS])
	AC_SUBST([SKEP_PLUGIN_LDFLAGS])
	AC_SUBST([SKEP_PLUGIN_DIR])
	AC_SUBST([SKEP_PLUGIN_ABI])
	AC_SUBST([SKEP_BPF_CFLAGS])
	AC_SUBST([SKEP_BPF_SKELETON])
	AC_SUBST([SKEP_PROBE_LIBS])
	AC_SUBST([SKEP_SINK_LIBS])
	AC_SUBST([SKEP_MOCK_CFLAGS])
	AC_SUBST([SKEP_MOCK_LIBS])
])
