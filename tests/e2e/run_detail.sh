#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/run_detail.sh - `skep run --detail`: distributions of the run only, which end with it; skep refuses unknown
# names before the command starts.
. "$(dirname "$0")/run_lib.sh"

# Another process sleeps as well and must not be counted.
python3 -c '
import threading, time
def naps():
    while True:
        time.sleep(0.01)
for _ in range(20):
    threading.Thread(target=naps).start()' &
others=$!
before=$(date +%s%N)
run --detail offcpu --detail runqlat -- sh -c 'for i in 1 2 3 4 5; do sleep 0.05; done' 2>"$work/err"
same "status" 0 $?
took=$((($(date +%s%N) - before) / 1000000))
kill $others
contains "a section for each" "$work/err" "runqlat"
contains "by state" "$work/err" "state sleeping"
# Each sleep waits once for 50 ms or more, and the shell waits for each sleep: two processes at a time.
python3 - "$work/err" $took <<'PY' || fail "the distribution of sleeps"
import re, sys
text = open(sys.argv[1]).read()
sleeping = text[text.index("state sleeping"):]
count = int(re.search(r"count (\d+)", sleeping).group(1))
print(sleeping.splitlines()[0])
total = re.search(r"sum_ns ([\d.]+) (\w+)", sleeping)
ms = float(total.group(1)) * {"s": 1000, "ms": 1, "µs": 0.001}[total.group(2)]
assert count >= 10, count
assert 480 <= ms <= 2 * int(sys.argv[2]), ms
PY
python3 - "$lake" <<'PY' || fail "the records of the detail"
import glob, json, sqlite3, sys
rows = []
for f in glob.glob(sys.argv[1] + "/lake-*.db"):
    db = sqlite3.connect(f)
    rows += db.execute("select r.fields, run.run from record r join dict d on d.id = r.stream join run on run.id = r.run where d.s = 'sched.offcpu'").fetchall()
assert rows, "none in the lake"
print("in the lake:", rows[0][0][:150])
PY
if command -v bpftool >/dev/null; then
	same "no program is left on the scheduler" 0 "$(bpftool prog list | grep -c sched_switch)"
fi
run --detail nonsense -- touch "$work/started" 2>"$work/err"
same "an unknown detail: status" 2 $?
contains "an unknown detail: skep lists the known ones" "$work/err" "runqlat, oncpu, offcpu"
[ -e "$work/started" ] && fail "the command has started in spite of an unknown detail"
finish
