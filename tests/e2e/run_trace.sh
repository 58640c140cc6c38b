#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/run_trace.sh - `skep run` leaves no BPF programs, maps, links or pinned objects in the kernel: neither after
# a run, nor after a kill -9 of skep, which CMD outlives.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: objects left in the kernel do not depend on sanitizers"; exit 77; }
. "$(dirname "$0")/run_lib.sh"
command -v bpftool >/dev/null || skip "needs bpftool"
bpftool prog list >/dev/null 2>&1 || skip "bpftool does not work here"

# maps.debug and progs.debug are the kernel's own (bpf_preload, since 5.10): they exist once a program mounts a bpffs.
objects() {
	{
		for kind in prog map link; do
			bpftool -j "$kind" list | python3 -c 'import json, sys
for o in json.load(sys.stdin): print(sys.argv[1], o["id"], o.get("name", o.get("type")))' "$kind"
		done
		find /sys/fs/bpf -mindepth 1 ! -path '/sys/fs/bpf/*.debug' 2>/dev/null
	} | LC_ALL=C sort
}
# The kernel frees objects after an RCU grace period or two; other programs of this machine may come and go meanwhile.
gone() { # WHAT: waits until no new object is left
	nothing() { objects >"$work/after" && [ -z "$(LC_ALL=C comm -13 "$work/before" "$work/after")" ]; }
	if wait_for nothing; then ok "$1"; else fail "$1: left over: $(LC_ALL=C comm -13 "$work/before" "$work/after")"; fi
}
objects >"$work/before"
sed -i '/^$/d' "$work/before"

run sh -c 'sleep 0.2; exit 3'
same "a run" 3 "$?"
gone "nothing is left after a run"

# While skep runs some object must exist, or the check above proves nothing.
"$SKEP" run --lake "$lake" --no-live --no-report sleep 600 &
skep=$!
wait_for pgrep -P "$skep" -x sleep
child=$(pgrep -P "$skep" -x sleep)
objects >"$work/during"
[ -n "$(LC_ALL=C comm -13 "$work/before" "$work/during")" ] && ok "while it runs there are programs" || fail "no program while it runs"
same "nothing is pinned while it runs" "$(grep -c ^/sys/fs/bpf "$work/before")" "$(grep -c ^/sys/fs/bpf "$work/during")"
kill -KILL "$skep"
wait "$skep" 2>/dev/null
gone "nothing is left after kill -9"
if [ -n "$child" ] && kill -0 "$child"; then ok "CMD outlives kill -9 of skep"; else fail "CMD died with skep"; fi
kill "$child"

# A start that fails half-way
"$SKEP" run --lake "$lake" --no-report no-such-command-here 2>/dev/null
gone "nothing is left after a command that is not found"
finish
