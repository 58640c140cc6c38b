# SPDX-License-Identifier: Apache-2.0
# tests/e2e/rules.py WORK - the program of rules.sh.
import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import testing
from testing import check

work = sys.argv[1]
skep = os.environ.get("SKEP", "skep")
tiny = os.path.join(os.environ["EXACT_BIN"], "tiny")
sanitized = bool(os.environ.get("SKEP_SANITIZE"))
storm_seconds = float(os.environ.get("STORM_SECONDS", "6" if sanitized else "12"))
APPROX_EXEC = 64  # core/process/records.h
daemons = []


def program(path, of=tiny):
    full = os.path.join(work, "bin", path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    shutil.copy2(of, full)
    return full


class Daemon:
    def __init__(self, name, rules, kernel=True, interval="500ms"):
        self.out = os.path.join(work, name + ".jsonl")
        self.dir = os.path.join(work, name + ".d")
        self.err = os.path.join(work, name + ".err")
        os.makedirs(self.dir, exist_ok=True)
        self.write(rules)
        self.took = []
        self.conf = os.path.join(work, name + ".conf")
        json.dump({"interval": interval, "control": {"socket": self.conf + ".sock"},
                   "probes": [{"plugin": "proc"}, {"plugin": "host"}],
                   "sinks": [{"plugin": "file", "path": self.out}],
                   "filters": {"dirs": [self.dir], "kernel": kernel}}, open(self.conf, "w"))
        self.process = testing.start(self.conf, self.err)
        # A busy machine delays the first scan, and skepd does not know who started a process that began before it.
        testing.wait_for(self.process, self.out, '"ledger"')

    def write(self, rules, raw=None):
        path = os.path.join(self.dir, "10.json")
        with open(path + ".new", "w") as f:
            f.write(raw if raw is not None else json.dumps({"rules": rules}))
        os.rename(path + ".new", path)

    def ask(self, *request):
        return subprocess.run([skep, *request, "--socket", self.conf + ".sock"], capture_output=True, text=True, timeout=testing.PATIENCE)

    def reload(self, status=0):
        """Reloads by the socket, which answers at the end of the reload."""
        began = time.monotonic()
        answer = self.ask("reload")
        self.took.append(time.monotonic() - began)
        if answer.returncode != status:
            sys.exit("FAIL - skep reload: status %d, not %d\n%s%s" % (answer.returncode, status, answer.stdout, answer.stderr))
        return answer.stdout + answer.stderr

    def size(self):
        """Open files, resident MiB."""
        pid = self.process.pid
        rss = [int(line.split()[1]) for line in open("/proc/%d/status" % pid) if line.startswith("VmRSS")][0]
        return len(os.listdir("/proc/%d/fd" % pid)), rss / 1024

    def rules(self):
        return json.loads(self.ask("rules", "--json").stdout)

    def settle(self, wanted):
        """Waits until wanted(records so far) is true. skepd waits ten seconds for an exit event that the kernel skipped
        (core/process/track_wait.c)."""
        testing.until(lambda: wanted(testing.records(self.out)))

    def stop(self):
        self.process.terminate()
        if self.process.wait(testing.PATIENCE) != 0:
            sys.exit("FAIL - skepd: status %d\n%s" % (self.process.returncode, open(self.err).read()))
        return [json.loads(line) for line in open(self.out)]


def ended(records):
    return [r for r in records if r["stream"] == "process.exit"]


def ours(records):
    """The test's processes, by name and arguments."""
    found = collections.Counter()
    for r in ended(records):
        if r["execed"] and (r["exe"] or "").startswith(work):
            found[(os.path.basename(r["exe"]), " ".join(r["argv"][1:]), ",".join(r["labels"] or []))] += 1
    return found


def cgroup_make():
    """A cgroup of the hierarchy whose ids the records have: on v1 the memory controller's."""
    for line in open("/proc/self/mountinfo"):
        fields = line.split(" - ")
        mount, kind, options = fields[0].split()[4], fields[1].split()[0], fields[1].split()[2]
        if (kind == "cgroup" and "memory" in options.split(",")) or (kind == "cgroup2" and "memory" in open(mount + "/cgroup.controllers").read()):
            path = os.path.join(mount, "skep-rules-%d" % os.getpid())
            os.mkdir(path)
            return path
    return None


# ---- verdicts ------------------------------------------------------------------------------

RULES = [
    {"id": "first", "when": "comm = 'drop' and uid = 65534", "verdict": "include", "set": {"from": "first"}},
    {"id": "path", "when": "exe prefix '%s/bin/drop/'" % work, "verdict": "exclude"},
    {"id": "tree", "when": "comm = 'treetop'", "verdict": "exclude", "inherit": True},
    {"id": "shell", "when": "exe suffix '/midshell'", "verdict": "exclude"},
    {"id": "words", "when": "argv = 'drop-me' and not tool = 'other'", "verdict": "exclude"},
    {"id": "child", "when": "parent.comm = 'parentsh' and comm = 'child'", "verdict": "exclude"},
    {"id": "user", "when": "uid = 65534 and comm = 'byuser'", "verdict": "exclude"},
    {"id": "group", "when": "cgroup glob '*skep-rules-*' and comm = 'grouped'", "verdict": "exclude"},
    {"id": "label", "when": "comm = 'labelled'", "verdict": "include", "set": {"team": "bio", "n": "1"}},
    {"id": "named", "when": "tool in ('named', 'nobody')", "verdict": "exclude"},
]

keep = program("keep")
drop = program("drop/drop")
treetop = program("treetop", "/bin/sh")
midshell = program("midshell", "/bin/sh")
parentsh = program("parentsh", "/bin/sh")
forker = program("forker", "/bin/sh")
child, byuser, grouped, labelled, named, leaf, other = [program(n) for n in ("child", "byuser", "grouped", "labelled", "named", "leaf", "other")]
N = 12
cgroup = cgroup_make()


def as_nobody(path):
    subprocess.run([path, "nobody"], user=65534, group=65534, check=True)


def workload():
    """Returns the pid of a process that lives through some passes and never executes."""
    lives = os.fork()
    if lives == 0:
        time.sleep(1.3)
        os._exit(0)
    for i in range(N):
        n = str(i)
        subprocess.run([keep, n], check=True)
        subprocess.run([drop, n], check=True)
        subprocess.run([treetop, "-c", "%s %s; %s in-tree; true" % (keep, n, other)], check=True)
        subprocess.run([midshell, "-c", "%s %s; %s drop-me; true" % (leaf, n, keep)], check=True)
        subprocess.run([keep, "drop-me"], check=True)
        subprocess.run([other, "drop-me"], check=True)
        subprocess.run([parentsh, "-c", "%s %s; true" % (child, n)], check=True)
        subprocess.run([child, n], check=True)
        as_nobody(byuser)
        as_nobody(drop)
        subprocess.run([byuser, n], check=True)
        subprocess.run([labelled, n], check=True)
        subprocess.run([named, n], check=True)
        if cgroup:
            subprocess.run(["/bin/sh", "-c", "echo $$ >%s/cgroup.procs; exec %s in" % (cgroup, grouped)], check=True)
        subprocess.run([grouped, "out"], check=True)
        # forks that never execute; the last one's child executes its program after its parent has ended
        subprocess.run([forker, "-c", "(:); (:); (%s late-%s &); true" % (keep, n)], check=True)
    os.waitpid(lives, 0)
    return lives


def wanted():
    want = collections.Counter()
    for i in range(N):
        n = str(i)
        for key in [("keep", n, ""), ("leaf", n, ""), ("other", "drop-me", ""), ("child", n, ""), ("byuser", n, ""),
                    ("drop", "nobody", "from=first"), ("labelled", n, "team=bio,n=1"), ("grouped", "out", "")]:
            want[key] += 1
        want[("keep", "late-" + n, "")] += 1
        want[("forker", "-c (:); (:); (%s late-%s &); true" % (keep, n), "")] += 1
        want[("parentsh", "-c %s %s; true" % (child, n), "")] += 1
    return want


def verdicts():
    for kernel in (True, False):
        words = "with the kernel" if kernel else "in user space"
        d = Daemon("kernel" if kernel else "user", RULES, kernel)
        lives = workload()
        d.settle(lambda records: ours(records) == wanted())
        records = d.stop()
        found, want = ours(records), wanted()
        check("%s: the records have exactly the processes that the rules include" % words, found == want, "\n  missing %s\n  too much %s" % (want - found, found - want))
        mine = [r for r in ended(records) if (r["exe"] or "").startswith(work)]
        check("%s: none is lost or left in the table" % words, all(r["state"] in ("exited", "replaced") for r in mine),
              collections.Counter(r["state"] for r in mine))
        shells = {r["upid"] for r in mine if r["execed"] and os.path.basename(r["exe"]) == "forker"}
        forks = {r["upid"]: r for r in mine
                 if not r["execed"] and r["last"] and os.path.basename(r["exe"]) == "forker"}
        check("%s: forks that never execute are reported, each with its parent" % words, len(forks) == 3 * N and
              all(r["parent_upid"] in shells and not r["approx"] & APPROX_EXEC for r in forks.values()), "%d of %d" % (len(forks), 3 * N))
        late = [r for r in mine if r["argv"][1:2] and r["argv"][1].startswith("late-")]
        check("%s: a fork's child is reported after the fork, as its child" % words, len(late) == N and all(r["parent_upid"] in forks for r in late),
              [r["parent_upid"] for r in late])
        check("%s: a live process that never executes is reported" % words,
              [(r["ppid"], r["execed"], r["approx"] & APPROX_EXEC) for r in ended(records) if r["pid"] == lives] == [(os.getpid(), False, 0)])
        runs = {r["run"] for r in mine if r["execed"] and os.path.basename(r["exe"]) in ("keep", "leaf")}
        check("%s: children of an excluded shell stay in its run" % words, len(runs) == 1, runs)
        books = collections.defaultdict(int)
        for r in records:
            if r["stream"] == "ledger" and r["account"] == "cpu" and not r["run"]:
                books[r["item"]] += r["amount"]
        off = books["unattributed"] / books["capacity"]
        check("%s: the ledger has the excluded CPU time (%.1f ms), unattributed %.2f %%" % (words, books["excluded"] / 1e6, off * 100),
              books["excluded"] > 0 and (abs(off) < 0.03 or sanitized or "QEMU" in open("/proc/cpuinfo").read()), dict(books))


# ---- the rules change --------------------------------------------------------------------------

class Storm(threading.Thread):
    """Starts the same programs again and again, and counts them."""

    def __init__(self, programs):
        super().__init__(daemon=True)
        self.programs, self.started, self.over = programs, collections.Counter(), False

    def run(self):
        n = 0
        while not self.over:
            batch = []
            for p in self.programs:
                batch.append(subprocess.Popen([p, str(n)]))
                self.started[os.path.basename(p)] += 1
            for b in batch:
                b.wait()
            n += 1


def changes():
    a, b, both, never = [program(n) for n in ("a-prog", "b-prog", "both", "never")]
    sleeper = program("sleeper", "/bin/sleep")

    def rules(out, mark):
        return [{"id": "never", "when": "comm = 'never'", "verdict": "exclude"},
                {"id": "out", "when": "comm = '%s'" % out, "verdict": "exclude"},
                {"id": "mark", "when": "exe prefix '%s'" % work, "verdict": "include", "set": {"rules": mark}}]

    set_a, set_b = rules("a-prog", "A"), rules("b-prog", "B")
    d = Daemon("changes", set_a)
    storms = [Storm([a, b, both, never]) for _ in range(2)]
    # A process that lives on: one set includes it, the next excludes it, the third includes it again
    long_lived = subprocess.Popen([sleeper, "100"])
    daemons.append(long_lived)
    for s in storms:
        s.start()
    good = bad = 0
    files, rss = 0, 0
    end = time.monotonic() + storm_seconds
    while time.monotonic() < end:
        which = good % 2
        d.write(set_b if which == 0 else set_a)
        d.reload()
        good += 1
        d.write(None, raw='{ "rules": [ { "id": "x", "when": "comm = \'both\'", "verdict": "exclude" }, { "id": "y", "when": "tol = 1", "verdict": "exclude" } ] }')
        d.reload(3)
        bad += 1
        if bad == 5:
            files, rss = d.size()
        time.sleep(0.05)
    time.sleep(0.2)
    if files:
        after = d.size()
        check("open files stay as they are", after[0] <= files, "%d, then %d" % (files, after[0]))
        print("# resident %.1f MiB after 10 reloads, %.1f after %d" % (rss, after[1], good + bad))
    d.took.sort()
    print("# a reload took %.0f ms (median), %.0f ms (99 %%), the command with it" % (d.took[len(d.took) // 2] * 1e3, d.took[len(d.took) * 99 // 100] * 1e3))
    # no reload is under way, and set A only labels the sleeper
    d.write(rules("sleeper", "C"))
    d.reload()
    time.sleep(1)
    d.write(set_a)
    # the last reload by the signal, as systemctl reload sends it
    generation = d.rules()["generation"]
    d.process.send_signal(signal.SIGHUP)
    testing.until(lambda: d.rules()["generation"] != generation, "the reload by SIGHUP")
    time.sleep(2)  # until a scan finds the sleeper
    for s in storms:
        s.over = True
    for s in storms:
        s.join()
    long_lived.terminate()
    long_lived.wait()
    started = sum((s.started for s in storms), collections.Counter())
    d.settle(lambda records: sum(n for k, n in ours(records).items() if k[0] == "both") == started["both"] and
             any(k[0] == "sleeper" and k[-1] == "rules=A" for k in ours(records)))
    records = d.stop()
    found = collections.Counter()
    labels = collections.defaultdict(collections.Counter)
    seen = collections.Counter()
    for r in ended(records):
        if r["execed"] and (r["exe"] or "").startswith(work):
            name = os.path.basename(r["exe"])
            found[name] += 1
            seen[(r["upid"], r["image"])] += 1
            labels[name][",".join(r["labels"] or [])] += 1
    losses = collections.Counter()
    for r in records:
        if r["stream"] == "loss":
            losses["%s %s %s" % (r["instance"], r["loss.stream"], r["where"])] += r["count"]
    lost = sum(losses.values())
    print("# %d reloads, %d of them refused; %d processes, %.0f a second; reported: %s; lost: %s" %
          (good + bad + 2, bad, sum(started.values()), sum(started.values()) / (storm_seconds + 4), dict(found),
           dict(losses) or 0))
    odd = collections.Counter((os.path.basename(r["exe"] or "?"), r["execed"], r["state"], r["approx"], ",".join(r["labels"] or []))
                              for r in ended(records) if r["state"] == "lost" or r["approx"] & 2)
    if odd:
        print("# without their final counters:", dict(odd))
    check("a process that every set includes is reported once", abs(started["both"] - found["both"]) <= lost and started["both"] >= found["both"], "%d started, %d reported" % (started["both"], found["both"]))
    check("a process that every set excludes is not reported", found["never"] == 0, found["never"])
    check("no process is reported twice", not [k for k, n in seen.items() if n > 1])
    check("each set of rules decided about some process", 0 < found["a-prog"] < started["a-prog"] and 0 < found["b-prog"] < started["b-prog"], dict(found))
    check("no process has verdicts of two sets", set(labels["a-prog"]) <= {"rules=B", "rules=C"} and set(labels["b-prog"]) <= {"rules=A", "rules=C"}, dict(labels))
    check("a live process is excluded by one set and included by the next", found["sleeper"] >= 1 and labels["sleeper"]["rules=A"] >= 1,
          "%d %s" % (found["sleeper"], dict(labels["sleeper"])))


try:
    verdicts()
    changes()
finally:
    for process in daemons:
        if process.poll() is None:
            process.kill()
    if cgroup:
        try:
            os.rmdir(cgroup)
        except OSError:
            pass
print("%d failed" % testing.failures)
sys.exit(testing.failures > 0)
