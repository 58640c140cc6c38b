# SPDX-License-Identifier: Apache-2.0
"""iolat.py FOLDER CGROUP WRITEBACK RECORDS - the programs of iolat.sh, its attachments, and the comparison. work FILE
READS WRITES: a process that on each order makes so many requests of 4 KiB"""
import mmap, os, re, subprocess, sys, time

sys.dont_write_bytecode = True
import attached
from attached import SKEP, Attached, Worker, check, until_attached, until_known
from testing import until

BLOCK = 4096
SIZE = 4 << 20


def work(path, reads, writes):
    block = mmap.mmap(-1, BLOCK)  # page-aligned, as O_DIRECT needs it
    block[:] = b"x" * BLOCK
    fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(reads):
        os.preadv(fd, [block], i * 7919 % (SIZE // BLOCK) * BLOCK)
    for i in range(writes):
        os.pwritev(fd, [block], i * 7919 % (SIZE // BLOCK) * BLOCK)
    print("done", flush=True)
    sys.stdin.readline()


def worker(path, reads, writes, cgroup=None):
    w = Worker([sys.executable, os.path.abspath(__file__), "work", path, str(reads), str(writes)], cgroup)
    w.expected = {"read": reads, "write": writes}
    return w


def iolat(*scope):
    return Attached("iolat", "io.iolat", *scope)


def total(records, device, operation):
    some = [r for r in records if r["operation"] == operation and device in (None, r["device"])]
    return sum(r["count"] for r in some), sum(r["bytes"] for r in some)


def adds_up(records):
    for r in records:
        d = r["duration"]
        if d["zero_count"] + sum(d["counts"]) != r["count"] or d["sum"] != r["sum_ns"]:
            return False
        q, s = r["queue"], r["service"]
        # for a queue that notes when the driver gets a request, the record has both parts, and they add up to the whole
        if s["count"] == r["count"] == q["count"] and q["sum"] + s["sum"] != r["sum_ns"]:
            return False
    return True


missing = 0  # requests that attachments missed


def exactly(what, records, device, expected):
    """Counts each request; where a kernel skips a program now and then, the missing ones must count as lost (see
    judge)."""
    global missing
    for op, n in expected.items():
        count, size = total(records, device, op)
        check(n * 0.9 <= count <= n and size == count * BLOCK, f"{what}: {count} of {n} requests, {size} bytes, {op}")
        missing += max(0, n - count)
    check(records and adds_up(records), f"{what}: histograms add up to their counts and sums")


def device_of(path):
    dev = os.stat(path).st_dev
    link = os.path.realpath(f"/sys/dev/block/{os.major(dev)}:{os.minor(dev)}")
    return os.path.basename(os.path.dirname(link) if os.path.exists(link + "/partition") else link)


def run_of_a_command(path):
    """An attachment to a run counts the run's requests and no others, by its byte in the verdict map."""
    argv = [SKEP, "run", "--lake", os.path.dirname(path) + "/lake", "--detail", "iolat", "--", "dd", f"if={path}", "of=/dev/null",
            f"bs={BLOCK}", "count=200", "iflag=direct"]
    for _ in range(2):  # the second time dd is in memory
        err = subprocess.run(argv, capture_output=True, text=True).stderr
    m = re.search(r"operation read  count (\d+)  bytes", err)
    check(m and m[1] == "200", f"a run: {m and m[1]} of 200 reads" if m else "a run: no histogram: " + err[-2000:])


def judge(out):
    """The losses that skepd reports, once it has reported them."""
    until(lambda: attached.lost(out, "io.iolat") >= missing)
    n = attached.lost(out, "io.iolat")
    check(missing <= n if missing else True, f"{missing} requests missing in all, {n} said to be lost")


def main(folder, cgroup, writeback, out):
    path, device = f"{folder}/file", device_of(folder)
    with open(path, "wb") as f:
        f.write(b"y" * SIZE)
        f.flush()
        os.fsync(f.fileno())
    one, two = worker(path, 500, 40), worker(path, 300, 20, cgroup)
    until_known(one, two)
    pid, host = iolat("--pid", str(one.pid)), iolat()
    group = iolat("--cgroup", str(os.stat(cgroup).st_ino)) if cgroup else None
    until_attached(3 if cgroup else 2)
    one.tell(), two.tell()
    one.finish(), two.finish()
    time.sleep(0.7)  # an interval: records before and at the detach add up
    mine = pid.records()
    exactly("a process", mine, device, one.expected)
    check(all(int(r["upid"].split("-")[1]) == one.pid for r in mine), "its records are the process's")
    if group:
        exactly("a cgroup", group.records(), device, two.expected)
    all_of_them = host.records()
    for op in "read", "write":
        n, least = total(all_of_them, device, op)[0], one.expected[op] + two.expected[op]
        check(n >= least, f"the host: {n} requests, at least {least}, {op}")
    check(adds_up(all_of_them), "the host: histograms add up to their counts and sums")
    one.end(), two.end()
    judge(out)
    run_of_a_command(path)
    if cgroup and writeback == "yes":
        group = iolat("--cgroup", str(os.stat(cgroup).st_ino))
        until_attached(1)
        size = 16 << 20
        subprocess.run(["sh", "-c", 'echo $$ >"$0/cgroup.procs"; exec dd if=/dev/zero of="$1" bs=64k count=256 2>/dev/null',
                        cgroup, f"{folder}/later"], check=True)
        os.sync()
        written = total(group.records(), device, "write")[1]
        check(size <= written < size + (1 << 20), f"a cgroup, written back by the kernel: {written} of {size} bytes")
    return attached.bad > 0


if sys.argv[1] == "work":
    work(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    sys.exit(main(*sys.argv[1:5]))
