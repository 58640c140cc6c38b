#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/cuda.sh - the detail "cuda" by real uprobes on this kernel, on a stand-in for libcuda (no device is
# touched): counts are exact for a library at an ordinary path, for one that exists only in the mount namespace of its
# process, and for a deleted one. Environment: abs_builddir.
set -u
[ "$(id -u)" -eq 0 ] || { echo "skip: needs root (uprobes)"; exit 77; }
bin=${abs_builddir:-.}/tests/gpu
dir=$(mktemp -d "${TMPDIR:-/tmp}/skep-cuda.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/lib" "$dir/gone"
failed=0
run() { # WHAT COMMAND...
	echo "== $1"
	shift
	"$@"
	rc=$?
	[ $rc -eq 77 ] && exit 77
	[ $rc -eq 0 ] || failed=1
}
run "at an ordinary path" "$bin/cuda_live" "$bin/load" "$bin/standin_cuda.so"
if unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016
	run "in a mount namespace" "$bin/cuda_live" "$bin/load" x exec unshare -m sh -c \
		'mount -t tmpfs none "$1" && cp "$2" "$1/standin_cuda.so.1" && exec "$3" "$1/standin_cuda.so.1" "$4" "$5"' sh \
		"$dir/lib" "$bin/standin_cuda.so" "$bin/load"
	[ -z "$(ls -A "$dir/lib")" ] || { echo "FAIL - the library was to be seen outside"; failed=1; }
else
	echo "# no mount namespaces here"
fi
cp "$bin/standin_cuda.so" "$dir/gone/standin_cuda.so.1"
run "deleted since" "$bin/cuda_live" "$bin/load" x exec env LOAD_UNLINK=1 "$bin/load" "$dir/gone/standin_cuda.so.1"
[ ! -e "$dir/gone/standin_cuda.so.1" ] || { echo "FAIL - the library was to be deleted"; failed=1; }
exit $failed
