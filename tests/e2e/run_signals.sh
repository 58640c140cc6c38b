#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/run_signals.sh - signals sent to skep alone reach CMD once; skep waits for CMD after every signal; on a
# terminal: pty_run.py.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the build without sanitizers tests terminals and signals of skep run"; exit 77; }
. "$(dirname "$0")/run_lib.sh"
fixture listen

# start: skep run listen in the background; waits until it listens
start() {
	: >"$work/heard"
	"$SKEP" run --lake "$lake" --no-report "$work/listen" "$work/heard" "$@" 2>"$work/err" &
	skep=$!
	wait_for grep -q ready "$work/heard" || fail "did not start: $(cat "$work/err")"
}
heard() { # N: waits until listen has heard N signals, and prints them
	wait_for has "$(($1 + 1))" . "$work/heard"
	sleep 0.2 # no more than N come
	grep -v ready "$work/heard" | tr '\n' ' '
}

start
want=
n=0
for signal in 1 2 3 10 12 14 15 16 34 64; do
	kill -$signal "$skep"
	n=$((n + 1))
	want="$want$signal "
	heard $n >/dev/null
done
same "signals to skep alone: each arrives once" "$want" "$(heard $n)"
if kill -0 "$skep"; then ok "skep survives the signals"; else fail "skep died of a signal that only CMD should get"; fi
python3 -c 'import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.sigqueue.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
sys.exit(libc.sigqueue(int(sys.argv[1]), 35, 4711))' "$skep"
same "a queued signal arrives with its value" "${want}35:4711 " "$(heard $((n + 1)))"
child=$(pgrep -P "$skep" -x listen)
kill -STOP "$child"
sleep 0.5
if kill -0 "$skep"; then ok "CMD stopped: skep keeps waiting"; else fail "skep left a stopped CMD"; fi
kill -CONT "$child"
kill -KILL "$child"
wait "$skep"
same "CMD killed: status" 137 "$?"

start
kill -TERM "$skep" && heard 1 >/dev/null
kill -USR1 "$(pgrep -P "$skep" -x listen)" # after this signal the next one ends listen
heard 2 >/dev/null
kill -TERM "$(pgrep -P "$skep" -x listen)"
wait "$skep"
same "ended by SIGTERM: status" 143 "$?"

# CMD signals its whole group: skep is a member and must not pass the signal on
setsid "$SKEP" run --lake "$lake" --no-report "$work/listen" "$work/heard2" group 2>/dev/null
same "kill 0 by CMD: CMD gets the signal once" "ready 12 " "$(tr '\n' ' ' <"$work/heard2")"

# Signals after CMD's end. A lake that another process locks delays skep's end.
cat >"$work/hold.py" <<'PY'
import glob, os, sqlite3, sys, time
db = sqlite3.connect(glob.glob(sys.argv[1] + "/*.db")[0], timeout=300, isolation_level=None)
while True:  # between two batches
    try:
        db.execute("begin immediate")
        break
    except sqlite3.OperationalError:
        pass
open(sys.argv[2], "w").close()
time.sleep(3600)
PY
"$SKEP" run --lake "$lake" --no-report sh -c "while ! [ -e '$work/held' ]; do sleep 0.05; done; exit 21" 2>"$work/err" &
skep=$!
wait_for pgrep -P "$skep" -x sh
python3 "$work/hold.py" "$lake" "$work/held" &
holder=$!
wait_for test -e "$work/held"
wait_for not pgrep -P "$skep" -x sh
# taken PID: no SIGTERM (the fourth digit from the end) waits for the process
taken() { not grep -qE '^(Sig|Shd)Pnd:.*[4-7c-f].{3}$' "/proc/$1/status"; }
sleep 0.3
if kill -0 "$skep" 2>/dev/null; then
	kill -TERM "$skep"
	sleep 0.3
	if kill -0 "$skep" 2>/dev/null; then ok "the first SIGTERM at the end: skep finishes the report"; else fail "the first SIGTERM at the end: skep left"; fi
	wait_for taken "$skep"
	kill -TERM "$skep"
	wait_for not kill -0 "$skep" || fail "the second SIGTERM: skep waits for the lake"
	kill -KILL "$skep" 2>/dev/null
	wait "$skep"
	same "the second SIGTERM: skep exits with CMD's status" 21 "$?"
	contains "the second SIGTERM: the message" "$work/err" "interrupted before the report"
else
	wait "$skep"
	fail "a locked lake did not hold the end up: status $?"
fi
kill "$holder" 2>/dev/null
wait "$holder" 2>/dev/null

python3 "$here/pty_run.py" "$work" || failures=$((failures + 1))
finish
