# SPDX-License-Identifier: Apache-2.0
# tests/attempts.sh - tests that measure source this first: it runs the script again, up to three attempts in all. A
# measurement shares the host with other programs, and a kernel may skip BPF on some frees (README.md of plugins/proc).
# A real defect fails all three.
if [ -z "${ATTEMPT:-}" ]; then
	for ATTEMPT in 1 2 3; do
		export ATTEMPT
		rc=0
		"$0" "$@" || rc=$?
		[ $rc -ne 0 ] && [ $rc -ne 77 ] || exit $rc
		echo "attempt $ATTEMPT of 3: status $rc"
	done
	exit $rc
fi
