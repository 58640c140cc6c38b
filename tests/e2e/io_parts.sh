#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/io_parts.sh - a device completes requests in parts: the process has the bytes of all parts.  A loop device
# does so where its file ends within a request (drivers/block/loop.c, lo_complete_rq). Environment: SKEPD,
# SKEP_PLUGIN_DIRS, abs_builddir.
name=io-parts
. "$(dirname "$0")/probe_lib.sh"
needs_probe io
needs_disk
command -v losetup >/dev/null || skip "needs losetup"
head -c 1048576 /dev/zero >"$disk/file"
loop=$(losetup --direct-io=on --find --show "$disk/file" 2>"$work/why") || skip "no loop device: $(cat "$work/why")"
trap 'losetup -d "$loop"; clean' EXIT
[ "$(cat "/sys/block/${loop##*/}/loop/dio")" = 1 ] || skip "no direct I/O to the file of a loop device here"
truncate -s 614400 "$disk/file"

cat >"$work/conf" <<END
{ "interval": "1s", "control": { "socket": false },
  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "io", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$work/out" } ] }
END
cat >"$work/read" <<'END'
import mmap, os, sys
fd, block = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 262144)
for i in range(4):
    try:
        os.preadv(fd, [block], 524288)
    except OSError:  # the device has no second half of it
        pass
print(os.getpid())
END
cat >"$work/judge" <<'END'
import json, sys
images = [r for r in map(json.loads, (line for line in open(sys.argv[1]) if line.endswith("\n")))
          if r["stream"] == "process.exit" and r["pid"] == int(sys.argv[2])]
io, kernel = (sum(r[field] or 0 for r in images) for field in ("io.read_bytes", "read_bytes"))
print(f"4 reads of 262144 bytes: io says {io}, the kernel's own counter {kernel}")
sys.exit(not 1048576 <= io <= kernel)
END
/usr/bin/python3 "$work/read" "$loop" >"$work/pid" # so that the next one is in memory
start
/usr/bin/python3 "$work/read" "$loop" >"$work/pid"
wait_for /usr/bin/python3 "$work/judge" "$work/out" "$(cat "$work/pid")" || :
stop
/usr/bin/python3 "$work/judge" "$work/out" "$(cat "$work/pid")" || die "bytes are missing, or too many"
echo "ok - the bytes of requests that completed in parts"
