# SPDX-License-Identifier: Apache-2.0
# tests/e2e/filelat_ends.py WORK SOCKET LOG - calls that end late or never; a part of filelat.sh.
import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import threading
import time

import testing

work, socket, log = sys.argv[1:]
bad = []


def until(words, n=1):
    testing.until(lambda: testing.text(log).count(words) >= n, f"the log does not say '{words}' {n} times")


class Attached:
    n = 0

    def __init__(self, *scope):
        Attached.n += 1
        self.out = f"{work}/attached{Attached.n}"
        before = open(log).read().count("filelat attached to")
        self.process = subprocess.Popen([os.environ["SKEP"], "attach", "filelat", *scope, "--for", "10m", "--json", "--socket", socket],
                                        stdout=open(self.out, "w"), stderr=subprocess.STDOUT)
        until("filelat attached to", before + 1)

    def end(self):
        self.process.send_signal(2)
        self.process.wait(testing.PATIENCE)
        rows = [json.loads(line) for line in open(self.out) if line.startswith("{")]
        return [r for r in rows if r.get("stream") == "io.filelat" or "file.path" in r]


with open(work + "/data", "wb") as f:
    f.write(bytes(1 << 20))
idle = [subprocess.Popen(["sleep", "3600"]) for _ in range(2)]
try:
    # A call that waits for a pipe: under way while one attachment ends and another gets its slot.
    keeps_it_loaded = Attached("--pid", str(idle[0].pid))
    host = Attached()
    data, (out, into) = os.open(work + "/data", os.O_RDONLY), os.pipe()
    os.write(into, bytes(fcntl.fcntl(into, 1032)))  # F_GETPIPE_SZ: until the pipe is full, of 16 pages
    waits = threading.Thread(target=os.sendfile, args=(into, data, 0, 4096), daemon=True)
    waits.start()
    time.sleep(1)
    host.end()
    other = Attached("--pid", str(idle[1].pid))
    if not waits.is_alive():
        sys.exit("not ok - the call did not wait for the pipe")
    os.read(out, 1 << 16)
    waits.join()
    time.sleep(1.2)  # two intervals
    mine = [r for r in other.end() if r["file.path"].endswith("/data")]
    if mine:
        bad.append(f"a call of before counts for an attachment to another process: {mine}")

    # The kernel skips the program at the end of a call when it already runs on that CPU: the call's row stays.
    maps = json.loads(subprocess.run(["bpftool", "-j", "map", "show"], capture_output=True, text=True).stdout) if shutil.which("bpftool") else []
    calls = [m for m in maps if m.get("name") == "calls" and m["bytes_value"] == 56]
    if calls:
        again = Attached("--pid", str(idle[1].pid))
        thread = struct.pack("<Q", os.getpid() << 32 | threading.get_native_id())
        # struct filelat_call: begun at 1 ns, for all attachments, a read of descriptor 0
        left = struct.pack("<QQQQIIIIHHI", 1, 0, 0, 0, 0, 0, 0xffff, 0, 1, 0, 0xffffffff)
        subprocess.run(["bpftool", "map", "update", "id", str(calls[-1]["id"]), "key", *(f"0x{b:02x}" for b in thread),
                        "value", *(f"0x{b:02x}" for b in left)], check=True)
        os.read(os.open("/dev/zero", os.O_RDONLY), 1)  # a call outside of the attachment
        time.sleep(1.2)
        long = [r for r in again.end() if r["file.path"].endswith("/data") or int(r["upid"].split("-")[1]) == os.getpid()]
        if long:
            bad.append(f"a call that is not measured ends another one: {long}")
    else:
        print("# no bpftool: skipped the row that a skipped end leaves")
    keeps_it_loaded.end()
finally:
    for p in idle:
        p.kill()
for b in bad:
    print("not ok -", b)
sys.exit(bool(bad))
