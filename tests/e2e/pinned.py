# SPDX-License-Identifier: Apache-2.0
# tests/e2e/pinned.py WORK restarts|left - the program of pinned.sh.
import collections
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import ledger_check
import testing
from testing import APPROX_COUNTERS, PATIENCE, check, records, until

work = sys.argv[1]
exact = os.environ["EXACT_BIN"]
rate, restarts = int(os.environ.get("RATE", "300")), int(os.environ.get("RESTARTS", "3"))
pins = work + "/bpf/skep"
tiny = os.path.realpath(work) + "/tiny-of-%d" % os.getpid()  # a name that no other test's program has
shutil.copy(exact + "/tiny", tiny)
children = []
logs = collections.defaultdict(str)  # of skepds that ended in order, by their file of records


def programs():
    """Ids of all BPF programs in the kernel."""
    shown = json.loads(subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=True).stdout)
    return {p["id"] for p in shown}


def pinned():
    """Ids of this test's programs: other skepds may run beside it."""
    return {json.loads(subprocess.run(["bpftool", "-j", "prog", "show", "pinned", path], capture_output=True, text=True, check=True).stdout)["id"]
            for path in glob.glob(pins + "/proc/proc@*/prog_*")}


class Daemon:
    def __init__(self, name, ring="4MiB", pin_dir=pins, **settings):
        self.out, self.err = "%s/%s.jsonl" % (work, name), "%s/%s.err" % (work, name)
        conf = "%s/%s.conf" % (work, name)
        json.dump({"interval": "500ms", "spool": {"path": work + "/spool.db"}, "pin_dir": pin_dir, "control": {"socket": False},
                   "probes": [{"plugin": "proc", "ring": ring}], "filters": {"dirs": [work + "/rules"]}, "sinks": [{"plugin": "file", "path": self.out}], **settings}, open(conf, "w"))
        self.conf = conf
        open(self.err, "w").close()
        self.process = testing.start(conf, self.err, "-v")

    def text(self):
        return testing.text(self.err)

    def stop(self):
        testing.stop(self.process, self.err)
        logs[self.out] += self.text()


def ended(d, *words, exe=tiny):
    """The records of ended processes of the program with these arguments."""
    return [r for r in records(d.out, "process.exit") if r["exe"] == exe and r["argv"][1:1 + len(words)] == list(words)]


def unpin(conf, status=0):
    done = subprocess.run([testing.SKEPD, "--unpin", "-c", conf], capture_output=True, text=True)
    if done.returncode != status:
        check("skepd --unpin: status %d" % status, False, "%d %s%s" % (done.returncode, done.stdout, done.stderr))
    return done.stdout + done.stderr


def rules(*when):
    """Writes a rule file that excludes processes by these conditions."""
    os.makedirs(work + "/rules", exist_ok=True)
    with open(work + "/rules/10.json", "w") as f:
        json.dump({"rules": [{"id": "r%d" % i, "when": w, "verdict": "exclude"} for i, w in enumerate(when)]}, f)


def seen(d):
    return testing.text(d.out).count('"exe":"%s"' % tiny) if os.path.exists(d.out) else 0


def until_more(d):
    """Waits until this skepd has recorded a process of the storm."""
    before = seen(d)
    until(lambda: seen(d) > before, "a record of %s" % tiny)


def storm_across(name, rings):
    """Restarts skepd while processes start; another ring size makes another build of the kernel side."""
    d = Daemon(name, rings[0])
    ours = pinned()
    storm = subprocess.Popen([exact + "/storm", tiny, str(rate), str(PATIENCE)], stdout=subprocess.PIPE, text=True)
    children.append(storm)
    sleeps = ["%d.%d" % (300 + i, os.getpid()) for i in range(restarts)]
    # each restart adds a process, which lives through the remaining restarts
    long_lived = []
    away = []
    for i in range(restarts):
        long_lived.append(subprocess.Popen(["/bin/sleep", sleeps[i]]))
        children.append(long_lived[-1])
        until_more(d)
        began = time.monotonic()
        d.stop()
        if i == restarts // 2:
            subprocess.run([tiny], check=True)  # a process that lives while no skepd runs
        d = Daemon(name, rings[(i + 1) % len(rings)])
        away.append(time.monotonic() - began)
        ours |= pinned()
    until_more(d)
    storm.terminate()
    truth = json.loads(storm.communicate()[0])["processes"] + 1
    for process in long_lived:
        process.terminate()
        process.wait()

    def through():
        return [r for r in records(d.out, "process.exit") if r["last"] and r["argv"][1:2] and r["argv"][1] in sleeps]

    # skepd waits ten seconds for an exit event that the kernel skipped (core/process/track_wait.c).
    until(lambda: seen(d) >= truth and len(through()) >= restarts)
    d.stop()
    left = programs() & ours
    short, long = ended(d), through()
    keys = collections.Counter((r["upid"], r["image"]) for r in short)
    print("# %d restarts, skepd away for %.0f ms each (median), %d processes" % (restarts, sorted(away)[len(away) // 2] * 1e3, truth))
    check("%s: every process has its record, with its program" % name, len(keys) == truth, "%d of %d" % (len(keys), truth))
    check("%s: no process has two records" % name, not [k for k, n in keys.items() if n > 1])
    wrong = ledger_check.problems(logs[d.out], [("file", d.out)])
    check("%s: the ledgers balance, and the file has all that they count as delivered" % name, not wrong, wrong)
    check("%s: parents are known" % name, all(r["ppid"] for r in short), [r for r in short if not r["ppid"]][:1])
    check("%s: each process that lived through restarts has its record" % name, sorted(r["argv"][1] for r in long) == sleeps and
          all(r["state"] == "exited" and r["signal"] == signal.SIGTERM and not r["approx"] & 32 for r in long),
          [(r["argv"], r["state"], r["approx"]) for r in long])
    check("%s: the pinned state stays once while no skepd runs" % name, len(left) >= 4 and len(os.listdir(pins + "/proc")) == 1,
          "%d programs, %s" % (len(left), os.listdir(pins + "/proc")))
    said = unpin(d.conf)
    check("%s: skepd --unpin removes the pinned state" % name, "objects taken out" in said and not os.path.exists(pins), said)
    until(lambda: not programs() & ours)  # the kernel frees links and programs some time after their last reference
    check("%s: no program is left in the kernel" % name, not programs() & ours, programs() & ours)
    return d


def crash():
    """kill -9: the next skepd finds the pinned state and records the processes of the time between."""
    d = Daemon("crash")
    testing.recorded(d.out)
    d.process.kill()
    d.process.wait()
    subprocess.run([tiny, "while-dead"], check=True)
    os.mkdir(pins + "/proc/proc_1-0123456789abcdef")  # a skepd that dies while it pins leaves such a folder
    d = Daemon("crash")
    testing.wait_for(d.process, d.err, "adopted the previous skepd's pinned BPF state")
    check("after kill -9: skepd removes a half-pinned state", len(os.listdir(pins + "/proc")) == 1, os.listdir(pins + "/proc"))
    until(lambda: ended(d, "while-dead"))
    d.stop()
    check("after kill -9: processes of the time between are recorded", len(ended(d, "while-dead")) == 1)
    unpin(d.conf)


def expired():
    """No skepd reads for longer than pin_for: events before are recorded, later ones count as lost."""
    def runs(n, *words):
        for _ in range(n):
            subprocess.run([tiny, *words], check=True)

    def lost(d):
        sums = collections.Counter()
        for r in records(d.out, "loss"):
            if r["where"] == "kernel":
                sums[r["loss.stream"]] += r["count"]
        return sums

    probes = [{"plugin": "proc"}, {"plugin": "net"}, {"plugin": "io"}]
    d = Daemon("expired", pin_for="5s", probes=probes)
    testing.recorded(d.out)
    for away in ("stopped", "restarted"):
        before = lost(d)
        if away == "stopped":
            d.process.send_signal(signal.SIGSTOP)
        else:
            d.stop()
        runs(3, away, "recorded")
        time.sleep(6.5)  # more than pin_for and two intervals
        runs(50, away, "missed")
        run_file = os.path.join(work, "written")
        with open(run_file, "wb") as f:  # events that net and io miss too
            f.write(bytes(1 << 20))
            os.fsync(f.fileno())
        if away == "stopped":
            d.process.send_signal(signal.SIGCONT)
        else:
            d = Daemon("expired", pin_for="5s", probes=probes)

        def missed():
            """What counts as lost; nothing while an event of the 50 processes has neither a record nor a count."""
            now = lost(d) - before
            recorded = len(ended(d, away, "missed"))
            return now if all(now[s] >= 50 - recorded for s in ("process.fork", "process.exec", "process.exit_event")) and now["process.final"] else {}

        until(lambda: len(ended(d, away, "recorded")) == 3 and missed())
        said = [line for line in d.text().splitlines() if " proc: pinned BPF state expired after 6 s without a reader" in line]
        check("expired, %s: events before are recorded" % away, len(ended(d, away, "recorded")) == 3, ended(d, away))
        check("expired, %s: later events count as lost" % away, missed(), lost(d) - before)  # a busy kernel frees many later
        # A skepd that a busy host runs too seldom may find it expired a second time.
        check("expired, %s: skepd reports it" % away, said and "were not recorded and count as lost" in said[-1], d.text()[-2000:])
        runs(1, away, "after")
        until(lambda: ended(d, away, "after"))
    for probe in ("proc", "net", "io"):
        check("expired: one %s is left" % probe, len(glob.glob(pins + "/" + probe + "/*")) == 1, os.listdir(pins))
    d.stop()
    after = [r["argv"][1] for r in ended(d) if r["argv"][2] == "after"]
    check("expired: afterwards everything is recorded", after == ["stopped", "restarted"], after)
    unpin(d.conf)


def half_dismantled():
    """A skepd is killed while it removes pinned state. The next skepd reads the state but does not adopt it, as its links
    may be gone."""
    for i, kinds in enumerate((["prog"], ["prog", "link"])):
        d = Daemon("half-%d" % i)
        d.stop()
        for kind in kinds:
            for path in glob.glob(pins + "/proc/proc@*/%s_*" % kind):
                os.unlink(path)
        subprocess.run([tiny, "half-while"], check=True)
        d = Daemon("half-%d" % i)
        check("without its %s pins: skepd does not adopt the state but removes it" % "/".join(kinds), "adopted the previous" not in d.text() and
              len(os.listdir(pins + "/proc")) == 1, d.text())
        subprocess.run([tiny, "half-after"], check=True)
        until(lambda: ended(d, "half-after") and ("link" in kinds or ended(d, "half-while")))
        d.stop()
        said = sorted(r["argv"][1] for r in ended(d))
        # The kernel detaches a program some time after its link's pin has gone, so what ran meanwhile may be there.
        check("without its %s pins: skepd records new processes" % "/".join(kinds),
              said == ["half-after", "half-while"] or ("link" in kinds and said == ["half-after"]), said)
        unpin(d.conf)


def threads_across():
    """Processes whose threads end before, while and after another build replaces the kernel side: their sums have all
    written bytes once."""
    each, enough, stop = 1000, 50, os.path.join(work, "stop")
    program = ("import os, sys, threading, time\nto, n = os.open('/dev/null', os.O_WRONLY), 0\n"
               "while not os.path.exists(sys.argv[1]):\n t = threading.Thread(target=os.write, args=(to, bytes(%d)))\n"
               " t.start()\n t.join()\n n += 1\n time.sleep(0.001)\nprint(n)" % each)

    def wrote(p):
        return int(testing.text("/proc/%d/io" % p.pid).split("wchar: ")[1].split()[0])

    def until_wrote(threads):
        before = [wrote(p) for p in running]
        until(lambda: all(wrote(p) > b + threads * each for p, b in zip(running, before)), "the bytes of threads")

    d = Daemon("threads")
    running = [subprocess.Popen([sys.executable, "-c", program, stop, str(i)], stdout=subprocess.PIPE) for i in range(8)]
    children.extend(running)
    until_wrote(enough)
    d.stop()
    d = Daemon("threads", ring="8MiB")
    until_wrote(10)
    open(stop, "w").close()
    ran = {str(i): int(p.communicate(timeout=PATIENCE)[0]) for i, p in enumerate(running)}
    # A process's final record waits for all of its threads (plugins/proc/pending_finals.c).
    def sums():
        return {r["argv"][4]: r for r in records(d.out, "process.exit") if r["argv"][1:3] == ["-c", program]}

    until(lambda: len(sums()) >= len(ran))
    d.stop()
    found = sums()
    wrote = {i: r["wchar_bytes"] for i, r in found.items() if not r["approx"] & APPROX_COUNTERS}
    # A process that ends in the moment of the exchange may be missing. Each process writes its number at its end.
    check("bytes of threads that ended under another build count exactly once", found.keys() == ran.keys() and
          len(wrote) > len(ran) / 2 and min(ran.values()) > enough and
          all(0.8 * ran[i] * each <= n <= ran[i] * each + 16 for i, n in wrote.items()), (ran, {i: (r["wchar_bytes"], r["approx"]) for i, r in found.items()}))
    unpin(d.conf)


def others():
    """One folder serves one skepd; another skepd collects without pins."""
    d = Daemon("first")
    second = Daemon("second")
    check("a second skepd does not use the folder, and logs the reason", "is in use by another skepd" in second.text(), second.text())
    second.stop()
    check("--unpin while skepd runs: refused", "is in use by a skepd that runs" in unpin(d.conf, 1))
    d.stop()
    unpin(d.conf)
    os.mkdir(work + "/plain")
    d = Daemon("plain", pin_dir=work + "/plain")
    check("a folder outside of a BPF filesystem: skepd reports it", "is not in a BPF filesystem" in d.text(), d.text())
    d.stop()
    check("--unpin there: refused", "nothing of skep's can be there" in unpin(d.conf, 1))


def restarted():
    rules()
    storm_across("same", ["4MiB"])
    # With rules a fork waits in the kernel for its exec: plugins/proc/pending_forks.bpf.h
    rules("comm = 'nobody'")
    storm_across("same, with rules", ["4MiB"])
    storm_across("other make, with rules", ["4MiB", "8MiB"])


def left():
    rules()
    crash()
    expired()
    if rate >= 100:  # not on an emulated processor (tests/kernels/tests.list), where it takes too long
        half_dismantled()
        threads_across()
    others()


try:
    {"restarts": restarted, "left": left}[sys.argv[2]]()
finally:
    for child in children:
        if child.poll() is None:
            child.kill()
print(testing.failures, "failed")
sys.exit(testing.failures > 0)
