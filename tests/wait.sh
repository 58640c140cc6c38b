# SPDX-License-Identifier: Apache-2.0
# tests/wait.sh - scripts source this to wait for an event. A wait judges no speed: it ends only a hang, after two
# minutes, times $SKEP_TEST_PATIENCE (a whole number, 1 by default).

# The verdict is the same in the background and below nohup: commands begin without ignored signals and without input.
[ -n "${SKEP_TEST_SIGNALS:-}" ] || SKEP_TEST_SIGNALS=default exec env --default-signal "$0" "$@" </dev/null

# wait_for COMMAND...: waits until COMMAND succeeds; status 1: it never does
wait_for() {
	wait_end=$(($(date +%s) + 120 * ${SKEP_TEST_PATIENCE:-1}))
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$wait_end" ] || { echo "waited too long for: $*" >&2; return 1; }
		sleep 0.1
	done
}
not() { ! "$@"; }
# has N PATTERN FILE: true when FILE has N lines or more that match
has() { [ "$(grep -c -- "$2" "$3")" -ge "$1" ]; }
# recorded FILE: runs a program and waits for its record in FILE: skepd has read the events until then
recorded() {
	wait_mark=$((${wait_mark:-0} + 1))
	/bin/true "mark $$ $wait_mark"
	wait_for grep -q "\"mark $$ $wait_mark\"" "$1"
}
# wait_skepd PID LOG: waits until the skepd of that pid collects. When it ends or hangs, prints LOG; status 77: a skepd
# may not load BPF here.
wait_skepd() {
	wait_for sh -c 'grep -q " collects: " "$1" || ! kill -0 "$0"' "$1" "$2" && grep -q " collects: " "$2" && return
	cat "$2"
	! grep -qi 'CAP_BPF\|not permitted' "$2" || { echo "skip: collecting is not possible here"; return 77; }
	echo "FAIL - skepd does not start"
	return 1
}
