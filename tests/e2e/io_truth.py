# SPDX-License-Identifier: Apache-2.0
"""io_truth.py - the programs of io_truth.sh, and the comparison.

    run FOLDER CASES    runs each case as a process of its own, and writes the facts about each into CASES
    work CASE FILE      runs one case
    judge CASES RECORDS compares the facts with the records; exit status 1: they differ
"""
import json, mmap, os, shutil, subprocess, sys, time

MIB = 1 << 20
SIZE = 16 * MIB

# ---- the cases ---------------------------------------------------------------------------


def buffer(n):
    m = mmap.mmap(-1, n)  # page-aligned, as O_DIRECT needs it
    m[:] = os.urandom(4096) * (n // 4096)
    return m


def direct_write(path):
    fd = os.open(path, os.O_WRONLY | os.O_DIRECT)
    block = buffer(MIB)
    for at in range(0, SIZE, MIB):
        os.pwritev(fd, [block], at)


def direct_read(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    block = buffer(65536)
    for at in range(0, SIZE, 65536):
        os.preadv(fd, [block], at)


def direct_random(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    block = buffer(4096)
    for i in range(500):
        os.preadv(fd, [block], i * 7919 % (SIZE // 4096) * 4096)


def forget(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def buffered_read(path):
    fd = os.open(path, os.O_RDONLY)
    while os.read(fd, 65536):
        pass


def mapped_read(path):
    fd = os.open(path, os.O_RDONLY)
    m = mmap.mmap(fd, SIZE, prot=mmap.PROT_READ)
    sum(m[at] for at in range(0, SIZE, 4096))


def buffered_fsync(path):
    fd = os.open(path, os.O_WRONLY)
    block = os.urandom(4096) * 16
    for at in range(0, SIZE, 65536):
        os.pwrite(fd, block, at)
    os.fdatasync(fd)


def buffered_write(path):
    fd = os.open(path, os.O_WRONLY)
    block = os.urandom(4096) * 16
    for at in range(0, SIZE, 65536):
        os.pwrite(fd, block, at)


# name: (program, drop its cache first, bytes read, bytes written, operations or None). None: any number, because the
# kernel writes back later, in its own threads.
CASES = {
    "direct write 1 MiB": (direct_write, False, 0, SIZE, None),
    "direct read 64 KiB": (direct_read, False, SIZE, 0, None),
    "direct random read 4 KiB": (direct_random, False, 500 * 4096, 0, 500),
    "buffered read": (buffered_read, True, SIZE, 0, None),
    "mmap read": (mapped_read, True, SIZE, 0, None),
    "buffered write + fdatasync": (buffered_fsync, False, 0, SIZE, None),
    "buffered write, written back": (buffered_write, False, 0, 0, None),
}
FIO = {"fio io_uring read": ("io_uring", "randread"), "fio libaio write": ("libaio", "randwrite")}

# ---- running -----------------------------------------------------------------------------


def diskstats():
    stats = {}
    for line in open("/proc/diskstats"):
        w = line.split()
        if not os.path.exists(f"/sys/class/block/{w[2].replace('/', '!')}/partition"):
            stats[w[2]] = (int(w[5]) * 512, int(w[9]) * 512)
    return stats


def device_of(path):
    dev = os.stat(path).st_dev
    link = os.path.realpath(f"/sys/dev/block/{os.major(dev)}:{os.minor(dev)}")
    if os.path.exists(link + "/partition"):
        link = os.path.dirname(link)
    return os.path.basename(link)


def wait4(argv, **kw):
    p = subprocess.Popen(argv, **kw)
    _, status, _ = os.wait4(p.pid, 0)
    return p.pid, status


def fio(folder, engine, kind, out):
    if not shutil.which("fio"):
        return "fio is not installed"
    argv = ["fio", "--name=x", f"--ioengine={engine}", f"--rw={kind}", f"--filename={folder}/file", "--direct=1", "--bs=16k",
            f"--size={SIZE}", "--iodepth=16", "--output-format=json", f"--output={out}", "--thread", "--norandommap=0"]
    pid, status = wait4(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if status:
        return f"fio with {engine} fails here"
    text = open(out).read()
    job = json.loads(text[text.index("{"):])["jobs"][0]
    return pid, job["read"]["io_bytes"], job["write"]["io_bytes"]


def run(folder, cases):
    path = f"{folder}/file"
    with open(path, "wb") as f:  # allocates the blocks, so that each case writes only its own bytes
        f.write(os.urandom(4096) * (SIZE // 4096))
        f.flush()
        os.fsync(f.fileno())
    me = os.path.abspath(__file__)
    for name in CASES:  # runs each once, so that every program is in memory
        wait4([sys.executable, me, "work", name, path])
    if shutil.which("fio"):
        fio(folder, "psync", "read", f"{folder}/warm")
    os.sync()
    time.sleep(1.5)
    result = {"device": device_of(path), "before": diskstats(), "cases": {}, "skipped": {}}
    for name, (_, cold, read, written, operations) in CASES.items():
        if cold:
            forget(path)
        pid, status = wait4([sys.executable, me, "work", name, path])
        if status:
            sys.exit(f"not ok - {name}: status {status}")
        result["cases"][name] = {"pid": pid, "read": read, "written": written, "operations": operations}
    os.sync()
    for name, (engine, kind) in FIO.items():
        got = fio(folder, engine, kind, f"{folder}/fio.json")
        if isinstance(got, str):
            result["skipped"][name] = got
        else:
            result["cases"][name] = {"pid": got[0], "read": got[1], "written": got[2], "operations": None}
    os.sync()
    result["after"] = diskstats()
    json.dump(result, open(cases, "w"))


# ---- the comparison ----------------------------------------------------------------------


def judge(cases, out):
    import testing  # not in a case, whose reads count

    driven = json.load(open(cases))
    records = [json.loads(line) for line in open(out) if line.endswith("\n")]
    bad = []
    # Bytes that a device counted and no hook saw: a kernel may skip BPF where an interrupt stops a protected task. The
    # ledger has these bytes as unattributed, and the cases may lack at most this number.
    unseen = {a: 0 for a in ("disk.read", "disk.write")}
    for r in records:
        if r["stream"] == "ledger" and r["item"] == "unattributed" and r["account"] in unseen:
            unseen[r["account"]] += max(0, r["amount"])
    missing = dict.fromkeys(unseen, 0)
    print(f"device {driven['device']}, kernel {os.uname().release}")
    print(f"{'case':30} {'read':>12} {'io says':>12} {'written':>12} {'io says':>12} {'operations':>10} {'mean µs':>8} {'max µs':>8}")
    for name, c in driven["cases"].items():
        images = [r for r in records if r["stream"] == "process.exit" and r["pid"] == c["pid"]]
        if not images:
            bad.append(f"{name}: no record of process {c['pid']}")
            continue
        last = images[-1]["upid"]
        images = [r for r in images if r["upid"] == last]
        total = lambda f: sum(r[f"io.{f}"] or 0 for r in images)
        read, written = total("read_bytes"), total("write_bytes")
        ops = total("read_operations") + total("write_operations")
        ns = total("read_ns") + total("write_ns")
        peak = max(r["io.latency_max_ns"] or 0 for r in images)
        print(f"{name:30} {c['read']:12} {read:12} {c['written']:12} {written:12} {ops:10} {ns / ops / 1000 if ops else 0:8.0f} {peak / 1000:8.0f}")
        # Exact except for blocks that the kernel also counts for the process: blocks that the file system looks up, the
        # inode that an fsync writes, and programs that the kernel loads again when memory is short.
        by_kernel = sum(r["read_bytes"] for r in images)
        for account, what, want, got in (("disk.read", "read", c["read"], read), ("disk.write", "wrote", c["written"], written)):
            missing[account] += max(0, want - got)
            if got > (max(want, by_kernel) if what == "read" else want + 65536):
                bad.append(f"{name}: {what} {want} bytes, io says {got}")
        if c["operations"] is not None and ops != c["operations"] and not unseen["disk.read"]:
            bad.append(f"{name}: {c['operations']} operations, io says {ops}")
        if ops and not 0 < ns / ops <= peak < 60e9:
            bad.append(f"{name}: {ops} operations took {ns} ns, the slowest {peak} ns")
        if name == "buffered write, written back":
            by_proc = sum(r["write_bytes"] for r in images)
            print(f"{'':30}   of the process by the kernel's own counter: {by_proc} bytes dirtied")
            if by_proc != SIZE:
                bad.append(f"{name}: proc says {by_proc} bytes written")
    for name, why in driven["skipped"].items():
        print(f"{name:30} skipped: {why}")

    for account, n in missing.items():
        if n > unseen[account]:
            bad.append(f"{account}: processes lack {n} bytes, and only {unseen[account]} are unattributed")
        elif n:
            print(f"{account}: {n} bytes of the cases were seen by no hook; {unseen[account]} are unattributed")

    # the device: all I/O in both directions against /proc/diskstats over the same time
    for i, op in enumerate(("read", "write")):
        truth = driven["after"][driven["device"]][i] - driven["before"][driven["device"]][i]
        said = [r for r in records if r["stream"] == "disk.io" and r["device"] == driven["device"] and r["operation"] == op]
        total = sum(r["bytes"] for r in said)
        sizes = sum(r["size"]["count"] for r in said)
        waits = sum(r["latency"]["count"] for r in said)
        ops = sum(r["operations"] for r in said)
        print(f"device {op:5}: {truth} bytes in the cases by /proc/diskstats; all records of disk.io have {total} in {ops} requests")
        if total < truth - unseen[f"disk.{op}"]:
            bad.append(f"device {op}: the records have {total} bytes, the device counted {truth} in a shorter time")
        if sizes != ops or waits > ops or waits < ops * 0.9:
            bad.append(f"device {op}: {ops} requests, but {sizes} sizes and {waits} latencies")

    # the ledger: the bytes that devices counted are the bytes that hooks saw
    books = {}
    for r in records:
        if r["stream"] == "ledger" and r["account"].startswith("disk."):
            book = books.setdefault(r["account"], {})
            book[r["item"]] = book.get(r["item"], 0) + r["amount"]
    for account in ("disk.read", "disk.write"):
        book = books.get(account)
        if not book:
            bad.append(f"no ledger lines of {account}")
            continue
        print(f"{account}: " + ", ".join(f"{k} {v}" for k, v in book.items()))
        reference = book.get("device", 0)
        left = book.get("unattributed", 0)
        cases_bytes = sum(c["read" if account == "disk.read" else "written"] for c in driven["cases"].values())
        if reference < cases_bytes:
            bad.append(f"{account}: the reference {reference} is less than the cases' {cases_bytes}")
        if book.get("processes", 0) < cases_bytes - missing[account]:
            bad.append(f"{account}: processes have {book.get('processes', 0)}, the cases {cases_bytes}")
        # other I/O may happen between the two readings
        if left < -MIB or left > max(reference // 10, MIB):
            bad.append(f"{account}: {left} of {reference} bytes unattributed")
    # Of disk.io the requests to loop devices are lost that another test makes and removes within an interval; the sums
    # above have those of this disk. A kernel that preempts programs skips them at the ends of some threads.
    lost = {r["loss.stream"]: r["count"] for r in records if r["stream"] == "loss" and r["loss.stream"] in ("cgroup.io", "io")}
    if "cgroup.io" in lost or (lost and not testing.preempts()):
        bad.append(f"lost: {lost}")
    for b in bad:
        print("not ok -", b)
    print("ok - io agrees" if not bad else f"{len(bad)} not as they must be")
    sys.exit(1 if bad else 0)


if sys.argv[1] == "run":
    run(sys.argv[2], sys.argv[3])
elif sys.argv[1] == "work":
    CASES[sys.argv[2]][0](sys.argv[3])
else:
    judge(sys.argv[2], sys.argv[3])
