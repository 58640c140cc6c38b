#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/stood_still.sh - a skepd that gets no CPU time for seconds (here: stopped by a signal) still gives every
# process that ended before or meanwhile what it sent. Environment: see daemon_lib.sh.
name=still
. "$(dirname "$0")/daemon_lib.sh"
cat >"$dir/conf" <<EOF
{ "probes": [ { "plugin": "proc" }, { "plugin": "net" }, { "plugin": "io" } ], "control": { "socket": "$SKEP_SOCKET" },
  "sinks": [ { "plugin": "file", "path": "$dir/out.jsonl" } ] }
EOF
start
python3 - "$dir" "$daemon" <<'EOF' || fail "a process without what it sent"
import json, os, signal, socket, subprocess, sys, threading, time

work, skepd = sys.argv[1], int(sys.argv[2])
SENT = 777
server = socket.create_server(("127.0.0.1", 0), backlog=64)


def serve():
    while True:
        with server.accept()[0] as s:
            while s.recv(4096):
                pass


threading.Thread(target=serve, daemon=True).start()
send = "exec 3<>/dev/tcp/127.0.0.1/%d; printf %%0%dd 1 >&3" % (server.getsockname()[1], SENT)
pids = set()
for _ in range(3):
    begun = time.monotonic()
    stopped = False
    # more than TRACK_PATIENCE_NS, 2 s: so long an ended process waits for a late probe
    while time.monotonic() < begun + 3.2:
        client = subprocess.Popen(["bash", "-c", send])
        client.wait()
        pids.add(client.pid)
        if not stopped and time.monotonic() > begun + .6:
            stopped = True
            os.kill(skepd, signal.SIGSTOP)
    os.kill(skepd, signal.SIGCONT)


def exits():
    with open(work + "/out.jsonl") as f:
        found = [json.loads(line) for line in f if line.endswith("\n") and '"process.exit"' in line]
    return {r["pid"]: r for r in found if r["pid"] in pids and r["last"]}


end = time.monotonic() + 120 * int(os.environ.get("SKEP_TEST_PATIENCE", 1))
while len(exits()) < len(pids) and time.monotonic() < end:
    time.sleep(.2)
got = exits()
wrong = [(pid, r["approx"], r.get("net.tx_bytes")) for pid, r in got.items() if r.get("net.tx_bytes") != SENT]
print("%d processes, %d records, wrong: %s" % (len(pids), len(got), wrong))
sys.exit(len(got) < len(pids) or wrong != [])
EOF
run 0 "status" "$SKEP" status --json
json "o['self']['facets_late'] == 0"
echo "ok - stopped three times"
