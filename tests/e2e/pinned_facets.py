# SPDX-License-Identifier: Apache-2.0
# tests/e2e/pinned_facets.py WORK DISK - what pinned_facets.sh says.  pinned_facets.py KIND N SECONDS LAST [FILE]:
# a process that moves N bytes, the last of them when the file LAST exists.
import fcntl
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import time

import testing
from testing import APPROX_COUNTERS, check, records, until

KIB = 1 << 10
PARTS = 40
LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81  # linux/loop.h
LOOP = 1234
READ_PART = 64 * KIB  # more than the start of a program or a file system adds

# ---- the processes that move bytes -------------------------------------------------------------


def parts(n, seconds):
    """n in PARTS different parts, spread over the time; the last waits for the test."""
    sizes = [n // PARTS] * PARTS
    sizes[-1] += n - sum(sizes)
    for i, size in enumerate(sizes):
        while i == PARTS - 1 and not os.path.exists(sys.argv[4]):
            time.sleep(0.01)
        yield size
        time.sleep(seconds / PARTS)


def move_tcp(n, seconds):
    """Sends n bytes to itself and reads them, over a loopback connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    a = socket.create_connection(listener.getsockname())
    b, _ = listener.accept()
    for size in parts(n, seconds):
        a.sendall(bytes(size))
        while size:
            size -= len(b.recv(size))


def move_udp(n, seconds):
    to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    to.bind(("127.0.0.1", 0))
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(to.getsockname())
    for size in parts(n, seconds):
        s.send(bytes(size))
        to.recv(size)


def move_unix(n, seconds):
    a, b = socket.socketpair()
    for size in parts(n, seconds):
        a.sendall(bytes(size))
        while size:
            size -= len(b.recv(size))


def move_read(n, seconds, path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    block = mmap.mmap(-1, n // PARTS)  # page-aligned, as O_DIRECT needs it
    for i, size in enumerate(parts(n, seconds)):
        os.preadv(fd, [block], i * (n // PARTS))
    # With a cold cache the kernel also reads the program itself: the kernel's own count of this process has all of it.
    print(*(line.split()[1] for line in open("/proc/self/io") if line.startswith("read_bytes")))


KINDS = {"tcp": move_tcp, "udp": move_udp, "unix": move_unix, "read": move_read}
FIELDS = {"tcp": ("net.tcp_tx_bytes", "net.tcp_rx_bytes"), "udp": ("net.udp_tx_bytes", "net.udp_rx_bytes"),
          "unix": ("net.unix_tx_bytes", "net.unix_rx_bytes"), "read": ("io.read_bytes",)}

if sys.argv[1] in KINDS:
    KINDS[sys.argv[1]](int(sys.argv[2]), float(sys.argv[3]), *sys.argv[5:])
    sys.exit(0)

# ---- the records of these processes ----------------------------------------------------------

work, disk = sys.argv[1], sys.argv[2]
restarts = int(os.environ.get("RESTARTS", "3"))
pins = work + "/bpf/skep"
hidden = 0
children = []
moved = 0


class Daemon:
    def __init__(self, name, make=0, pin_for="10m", processes=8192, ring=1 << 20):
        self.out, self.err = "%s/%s.jsonl" % (work, name), "%s/%s.err" % (work, name)
        self.conf = "%s/%s.conf" % (work, name)
        with open(self.conf, "w") as f:
            json.dump({"interval": "500ms", "spool": {"path": work + "/spool.db"}, "pin_dir": pins, "pin_for": pin_for, "control": {"socket": False},
                       "probes": [{"plugin": "proc"},
                                  {"plugin": "net", "ring": ring << (make & 1), "connections": 10000, "calls": make < 2},
                                  {"plugin": "io", "processes": processes - make}],
                       "sinks": [{"plugin": "file", "path": self.out}]}, f)
        open(self.err, "w").close()
        self.process = testing.start(self.conf, self.err)

    def text(self):
        return testing.text(self.err)

    def stop(self):
        testing.stop(self.process, self.err)


def start(kind, seconds, last="/"):
    """A process that moves a number of bytes of its own, and that number; it ends after the file last exists."""
    global moved
    moved += 1
    n = READ_PART * PARTS if kind == "read" else 300 * KIB + 1009 * moved
    process = subprocess.Popen([sys.executable, __file__, kind, str(n), str(seconds), last] + ([disk + "/read"] if kind == "read" else []),
                               stdout=subprocess.PIPE)
    children.append(process)
    return [process, kind, n]


def said_of(d, pid):
    """Sums over a process's images."""
    sums = {}
    for r in records(d.out, "process.exit"):
        if r["pid"] == pid:
            for field in sum(FIELDS.values(), ()):
                sums[field] = sums.get(field, 0) + (r.get(field) or 0)
            sums["ended"] = sums.get("ended", 0) + (r["state"] == "exited")
            sums["hidden"] = sums.get("hidden", 0) | r["approx"] & APPROX_COUNTERS
    return sums


def right(kind, n, said):
    """A free on which the kernel skips BPF (plugins/net/README.md) loses bytes not yet reported; the record is
    marked."""
    global hidden
    if said.get("hidden"):
        hidden += 1
        return all(said.get(f) <= n + READ_PART for f in FIELDS[kind])
    if kind == "read":  # some kernels skip BPF on 1 % of completions (plugins/io/README.md); a restart that loses bytes loses a third
        return n * 0.9 <= said.get("io.read_bytes", 0) < n + READ_PART
    return all(said.get(f) == n for f in FIELDS[kind])


def wait_for(d, all_of_them):
    for one in all_of_them:
        one[2] = int(one[0].communicate()[0] or one[2])  # the reader's own count
    until(lambda: all(said_of(d, p.pid).get("ended") for p, _, _ in all_of_them))


def unpin(d):
    subprocess.run([testing.SKEPD, "--unpin", "-c", d.conf], stdout=subprocess.DEVNULL, check=True)


def loop_device(request, number):
    """Adds or removes an empty loop device: one disk more or less. Returns whether this machine could."""
    try:
        with open("/dev/loop-control") as control:
            fcntl.ioctl(control, request, number)
    except OSError as e:
        print("# no loop device:", e)
        return False
    return True


def across(name, makes, kinds, restarts):
    d = Daemon(name, makes[0])
    pinned = {p: os.listdir("%s/%s" % (pins, p)) for p in ("net", "io")}
    more = loop_device(LOOP_CTL_ADD, LOOP)
    away = []
    seconds = restarts * 0.8 + 0.5
    last = "%s/%s.last" % (work, name)
    through = [start(kind, seconds, last) for kind in kinds]
    between = []
    for i in range(restarts):
        testing.recorded(d.out)
        began = time.monotonic()
        d.stop()
        if i % 2:
            meanwhile = [start(kind, 0.1) for kind in kinds]  # whole lives while no skepd runs
            between += meanwhile
            for process, _, _ in meanwhile:
                process.wait()
        d = Daemon(name, makes[(i + 1) % len(makes)])
        if not i % 2:
            away.append(time.monotonic() - began)
    between += [start(kind, 0.2) for kind in kinds]
    open(last, "w").close()
    wait_for(d, through + between)
    d.stop()
    print("# %s: %d restarts, skepd away for %.0f ms (median of the restarts that waited for nothing else)" %
          (name, restarts, sorted(away)[len(away) // 2] * 1e3))
    for which, processes in (("lived through them", through), ("lived in between", between)):
        for kind in kinds:
            wrong = []
            for process, k, n in processes:
                said = said_of(d, process.pid)
                if k == kind and not right(kind, n, said):
                    wrong.append("%d: moved %d, said %s" % (process.pid, n, [said.get(f) for f in FIELDS[kind]]))
            check("%s: %s: every byte of a process that %s is reported once" % (name, kind, which), not wrong, wrong)
    for probe in ("net", "io"):
        now = os.listdir("%s/%s" % (pins, probe))
        check("%s: the pinned state of %s is in the kernel once" % (name, probe), len(now) == 1, now)
        if len(makes) == 1:
            check("%s: skepd never replaces %s%s" % (name, probe, ", also with one disk more" * more), now == pinned[probe], (pinned[probe], now))
    if more:
        loop_device(LOOP_CTL_REMOVE, LOOP)
    unpin(d)
    check("%s: skepd --unpin removes the pinned state" % name, not os.path.exists(pins), os.path.exists(pins) and os.listdir(pins))


def crash(kinds):
    d = Daemon("crash")
    last = work + "/crash.last"
    through = [start(kind, 3, last) for kind in kinds]
    testing.recorded(d.out)
    time.sleep(1)  # some intervals, in which they move bytes
    d.process.kill()
    d.process.wait()
    meanwhile = [start(kind, 0.1) for kind in kinds]
    for process, _, _ in meanwhile:
        process.wait()
    d = Daemon("crash")
    open(last, "w").close()
    wait_for(d, through + meanwhile)
    d.stop()
    for process, kind, n in meanwhile:
        said = said_of(d, process.pid)
        check("kill -9: %s: every byte of a process that lived only meanwhile is reported once" % kind, right(kind, n, said), (n, said))
    for process, kind, n in through:
        said = said_of(d, process.pid)
        check("kill -9: %s: no byte of a process that lived through it is reported twice" % kind, said.get("hidden") or all(0 < said.get(f, 0) <= n + READ_PART * (kind == "read") for f in FIELDS[kind]), (n, said))
    unpin(d)


def asleep():
    d = Daemon("asleep", pin_for="5s")
    d.stop()
    folders = {p: os.listdir("%s/%s" % (pins, p)) for p in ("proc", "net", "io")}
    time.sleep(6.5)  # more than pin_for and two intervals
    start("tcp", 0.1)[0].wait()  # at its end net's program compares the clock with pin_for
    missed = start("tcp", 0.1)
    missed[0].wait()
    d = Daemon("asleep", pin_for="5s")
    for probe in ("proc", "net"):
        check("asleep: %s reports that its state expired, and for how long it recorded nothing" % probe, any(
            " %s: pinned BPF state expired after 6 s without a reader" % probe in line for line in d.text().splitlines()) and
            os.listdir("%s/%s" % (pins, probe)) != folders[probe], d.text())
    again = start("tcp", 0.1)
    wait_for(d, [again])
    d.stop()
    check("asleep: a process that no skepd measured has no figures", not said_of(d, missed[0].pid), said_of(d, missed[0].pid))
    check("asleep: afterwards every byte counts again", right("tcp", again[2], said_of(d, again[0].pid)), said_of(d, again[0].pid))
    unpin(d)


def wait_and_stay(path):
    """Waits for a device, prints its wait, and stays alive."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    block = mmap.mmap(-1, READ_PART)
    for i in range(PARTS):
        os.preadv(fd, [block], i * READ_PART)
    open("%s/waited.%d" % (work, os.getpid()), "w").close()
    signal.pause()


def waited(pid):
    """The time in ns that a process waited for block I/O: the kernel counts ticks of 10 ms (proc(5), stat)."""
    return int(open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[39]) * 10**7


def crowded(make):
    """More processes wait than the map of reported waits has room for: 2 * 65."""
    name, switch = "crowded %d" % make, "/proc/sys/kernel/task_delayacct"
    if not os.path.exists(switch):
        print("#", name + ": this kernel has no switch for its account of delays")
        return
    was = open(switch).read()
    open(switch, "w").write("1")
    pids, began = [], time.monotonic()
    try:
        d = Daemon(name, processes=65)
        folders = os.listdir(pins + "/io")
        for _ in range(150):
            pid = os.fork()
            if not pid:
                try:
                    wait_and_stay(disk + "/read")
                finally:
                    os._exit(0)
            pids.append(pid)
        until(lambda: all(os.path.exists("%s/waited.%d" % (work, p)) for p in pids), "the processes of %s" % name)
        time.sleep(1.5)  # a pass has seen them
        d.stop()
        d = Daemon(name, make=make, processes=65)
        check(name + ": io adopts its pinned state", make or os.listdir(pins + "/io") == folders, d.text())
        time.sleep(1.5)
        kernel = {p: waited(p) for p in pids}
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        slept = int((time.monotonic() - began) * 1e9)
        open(switch, "w").write(was)

    def delays():
        return {r["pid"]: r.get("io.block_delay_ns") or 0 for r in records(d.out, "process.exit") if r["pid"] in pids}

    until(lambda: len(delays()) == len(pids))
    d.stop()
    said = delays()
    print("# %s: %d processes waited for %.0f ms, in records %.0f ms of %d" % (
        name, len(pids), sum(kernel.values()) / 1e6, sum(said.values()) / 1e6, len(said)))
    wrong = {p: (n, kernel[p]) for p, n in said.items() if n > kernel[p] + 2 * 10**7}
    # Since 6.12 the kernel may book a process's sleep until the kill as a wait, after this test has read its account.
    late = [p for p, (n, of_kernel) in wrong.items() if n <= of_kernel + slept]
    check(name + ": of no process more than it waited", len(late) == len(wrong) <= 2 and len(said) == len(pids), wrong)
    unpin(d)


def losses(d):
    sums = {}
    for r in records(d.out, "loss"):
        if r["where"] == "kernel":
            sums[r["loss.stream"]] = sums.get(r["loss.stream"], 0) + r["count"]
    return sums


def full(make):
    """The kernel side runs out of room while no skepd runs. The next skepd, of the same or another build, reports the
    loss."""
    name = "full %d" % make
    d = Daemon(name, processes=65, ring=64 * KIB)
    d.stop()
    before = losses(d)
    listener = socket.create_server(("127.0.0.1", 0))
    for _ in range(800):
        a = socket.create_connection(listener.getsockname())
        b, _ = listener.accept()
        a.close()
        b.close()
    for _ in range(100 if disk else 0):
        pid = os.fork()
        if not pid:
            os.preadv(os.open(disk + "/read", os.O_RDONLY | os.O_DIRECT), [mmap.mmap(-1, 4096)], 0)
            os._exit(0)
        os.waitpid(pid, 0)
    d = Daemon(name, make=make, processes=65, ring=64 * KIB)
    streams = ["net.connection"] + ["io"] * bool(disk)
    until(lambda: all(losses(d).get(s, 0) - before.get(s, 0) > 20 for s in streams))
    d.stop()
    after = losses(d)
    for stream in streams:
        check("%s: records of %s without room count as lost" % (name, stream), after.get(stream, 0) - before.get(stream, 0) > 20, (before, after))
    print("#", name + ": lost", after)
    unpin(d)


try:
    kinds = ["tcp", "udp", "unix"]
    if disk:
        with open(disk + "/read", "wb") as f:
            f.write(os.urandom(KIB) * (READ_PART * PARTS // KIB))
            f.flush()
            os.fsync(f.fileno())
        kinds.append("read")
    else:
        print("# no folder on a block device: no reads")
    across("same", [0], kinds, restarts)
    across("without calls", [2], ["tcp"], restarts - 1)
    # after such an exchange the issuer of requests under way is unknown: no reads
    across("another build", [0, 1], kinds[:3], restarts - 2)
    crash(kinds)
    asleep()
    full(0)
    full(1)
    if disk:
        crowded(0)
        crowded(1)
finally:
    for child in children:
        if child.poll() is None:
            child.kill()
print("# this kernel skipped BPF on the ends of %d of %d processes" % (hidden, moved))
check("the programs miss less than a quarter of the ends", hidden * 4 < moved, hidden)
print(testing.failures, "failed")
sys.exit(testing.failures > 0)
