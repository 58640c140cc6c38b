#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""namespace.py - `skep run` gives the same report inside a namespace of each kind as outside: by itself, beside a skepd
outside, and beside a skepd that is inside. A child that clone() gives to another process (CLONE_PARENT) belongs to the
run of the process that made it.

Environment: SKEP, SKEPD, SKEP_PLUGIN_DIRS. Argument: a folder to work in, which has the program `clone`. Prints a line
per check.
"""
import contextlib
import ctypes
import datetime
import errno
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
import testing
from testing import check

SKEP = os.environ["SKEP"]
WORK = sys.argv[1]
REPORT = WORK + "/report.json"
LOOP = ["sh", "-c", 'for i in 1 2 3; do sh -c "exit 3$i"; done; sleep .3']
BEHIND = [SKEP, "run", "--no-report", "--no-live", "--json", REPORT]
OWN = ["--lake", WORK + "/lake"]
PID = ["unshare", "--pid", "--fork"]
TIME = ["unshare", "--time", "--boottime", "1000000", "--monotonic", "400000", "--fork"]
USER = ["unshare", "--user", "--map-root-user"]
# As in most containers: a cgroup namespace, and a hierarchy that is mounted inside it.
MOUNTS = open("/proc/self/mountinfo").read()
if found := re.search(r"^(?:\S+ ){4}(\S+) .* - cgroup \S+ (?:\S*,)?memory(?:,|$)", MOUNTS, re.M):
    HIERARCHY, KIND = found[1], "cgroup -o memory"
else:
    HIERARCHY, KIND = re.search(r"^(?:\S+ ){4}(\S+) .* - cgroup2 ", MOUNTS, re.M)[1], "cgroup2"
CONTAINER = ["unshare", "--cgroup", "--mount", "sh", "-c",
             f'umount -l {HIERARCHY} && mount -t {KIND} none {HIERARCHY} && exec "$@"', "sh"]
# A namespace of each kind.
EACH = (("time", TIME), ("user", USER), ("cgroup", ["unshare", "--cgroup"]), ("mount", ["unshare", "--mount"]),
        ("network", ["unshare", "--net"]), ("pid", [*PID, "--mount-proc"]))


def shape(report):
    """A report's processes, without the numbers that differ by run."""
    names = {p["pid"]: p["argv"] for p in report["processes"]}
    return sorted((p["argv"], p["exit_code"], p["state"], names.get(p["ppid"]), p["exe"], p["cwd"], p["uid"],
                   p["cgroup"], p["tool"]) for p in report["processes"] if p["last"])


def run(before, argv, lake=OWN):
    if os.path.exists(REPORT):
        os.unlink(REPORT)
    began = time.time()
    done = subprocess.run([*before, *BEHIND, *lake, "--", *argv], capture_output=True, text=True)
    took = time.time() - began
    report = json.load(open(REPORT)) if done.returncode == 0 else None
    return done, report, began, took


def moment(text):
    return datetime.datetime.fromisoformat(text).timestamp()


def as_outside(what, before, outside, lake=OWN):
    """Runs LOOP there: the report has the processes of the run outside, and its times."""
    done, report, began, took = run(before, LOOP, lake)
    found = report and shape(report)
    check(f"{what}: the processes of the same run outside", done.returncode == 0 and found == outside,
          f"{done.returncode} {done.stderr} {found}, outside {outside}")
    if not report:
        return
    begins = [moment(x["start"]) - began for x in [report["run"], *report["processes"]]]
    check(f"{what}: the run and its processes begin when they begin, and it takes as long as it takes",
          -0.1 < min(begins) and max(begins) < took and 0.3 <= report["run"]["wall_ns"] / 1e9 <= took,
          (begins, report["run"], took))


def run_outside(lake=OWN):
    outside = shape(run([], LOOP, lake)[1])
    check("outside: five processes", sorted(p[1] for p in outside) == [0, 0, 31, 32, 33], outside)
    return outside


def namespaces():
    outside = run_outside()
    ago = str(-int(min(60, time.clock_gettime(time.CLOCK_BOOTTIME) / 2)))  # no clock may begin below 0
    for what, before in (("pid, with its own /proc", [*PID, "--mount-proc"]), ("pid, with the host's /proc", PID),
                         ("pid in pid", [*PID, "--mount-proc", *PID, "--mount-proc"]), ("time, later", TIME),
                         ("time, earlier", ["unshare", "--time", "--boottime", ago, "--monotonic", ago, "--fork"]),
                         ("cgroup", ["unshare", "--cgroup"]),
                         ("cgroup, with its own hierarchy", CONTAINER), ("mount", ["unshare", "--mount"]),
                         ("network, UTS and IPC", ["unshare", "--net", "--uts", "--ipc"]),
                         ("all but user", ["unshare", "--pid", "--fork", "--mount-proc", "--time", "--boottime", "5000",
                                           "--cgroup", "--mount", "--net", "--uts", "--ipc"])):
        as_outside(what, before, outside)
    done = run(USER, ["touch", WORK + "/ran"])[0]
    check("user: skep says why it cannot record, and the command does not start",
          done.returncode == 4 and "user namespace" in done.stderr and not os.path.exists(WORK + "/ran"), done)


def refuses_test_runs(error):
    """Puts this process behind a seccomp filter, as containers have one: bpf(BPF_PROG_TEST_RUN) fails with that error."""
    number = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
    code = ((0x20, 0, 0, 0), (0x15, 0, 3, number),  # load seccomp_data.nr; is it bpf?
            (0x20, 0, 0, 16), (0x15, 0, 1, 10),  # load seccomp_data.args[0]; is it BPF_PROG_TEST_RUN?
            (0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, 0x7fff0000))  # return the error; allow
    filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    program = ctypes.create_string_buffer(struct.pack("HP", len(code), ctypes.addressof(filters)))  # struct sock_fprog
    if ctypes.CDLL(None).prctl(22, ctypes.c_ulong(2), program, 0, 0) != 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        os.abort()


def no_pid():
    """A kernel that does not tell CMD's pid in the initial pid namespace: before 5.10, or behind a filter."""
    for what, error, words in (("a filter refuses", errno.EPERM, "seccomp filter"), ("not supported", 524, "bpf(2)")):
        done = subprocess.run([*PID, "--mount-proc", *BEHIND, *OWN, "--", "touch", WORK + "/ran"], capture_output=True,
                              text=True, preexec_fn=lambda: refuses_test_runs(error))
        check(f"pid, {what}: skep says why it cannot record, and the command does not start",
              done.returncode == 4 and "pid namespace" in done.stderr and "--pid=host" in done.stderr and
              words in done.stderr and not os.path.exists(WORK + "/ran"), done)


def clones(options, what, report):
    """report(): of the run that has just ended."""
    go = WORK + "/go"
    os.mkfifo(go)
    job = subprocess.Popen([*BEHIND, *options, "--", WORK + "/clone", go])
    with open(go, "w") as file:  # clone has waited for its children, and opens its end
        file.write("go\n")
    job.wait()
    os.unlink(go)
    check(f"{what}: the status of a thread that became the process", job.returncode == 46, job.returncode)
    report = report()
    codes = sorted(p["exit_code"] for p in report["processes"] if p["last"])
    check(f"{what}: each process that clone() makes is in the run once", codes == [0, 41, 42, 43, 44, 45, 46], codes)
    bare = [p for p in report["processes"] if p["last"] and p["exit_code"] == 42]
    check(f"{what}: a child that executes nothing has the program of the process that made it",
          [p["exe"] for p in bare] == [WORK + "/clone"], bare)


DAEMONS = ["--lake", WORK + "/daemon-lake"]  # skep lets the skepd of that lake record
CONF, LOG, RECORDS = WORK + "/conf", WORK + "/log", WORK + "/records"
BEGUN = "control: run "  # skepd logs each run that it begins for a client


def configure():
    with open(CONF, "w") as file:
        json.dump({"interval": "200ms", "control": {"socket": WORK + "/ctl"},
                   "probes": [{"plugin": "proc", "required": True}],
                   "sinks": [{"plugin": "lake", "min_free": "0", "path": WORK + "/daemon-lake", "max_bytes": "64MiB"},
                             {"plugin": "file", "path": RECORDS}]}, file)
    os.environ["SKEP_SOCKET"] = WORK + "/ctl"


def beside_skepd():
    daemon = testing.start(CONF, LOG)

    def report():
        testing.stop(daemon, LOG)
        shown = subprocess.run([SKEP, "show", *DAEMONS, "--json", json.load(open(REPORT))["run"]["id"]],
                               capture_output=True, text=True)
        check("beside a skepd: it has recorded the run", shown.returncode == 0, shown)
        return json.loads(shown.stdout)

    clones(DAEMONS, "beside a skepd", report)


def runs_beside():
    """skepd outside; skep run in a namespace of each kind."""
    daemon = testing.start(CONF, LOG, "-v")
    outside = run_outside(DAEMONS)
    for what, before in EACH:
        begun = testing.text(LOG).count(BEGUN)
        as_outside(f"{what}, beside a skepd outside", before, outside, DAEMONS)
        recorded = testing.text(LOG).count(BEGUN) - begun
        check(f"{what}: {'skep run records by itself' if what == 'pid' else 'skepd records'}",
              recorded == (what != "pid"), recorded)
    names(daemon.pid)
    testing.stop(daemon, LOG)


def names(daemon):
    """A client in another namespace names a process or a cgroup that means another one to skepd."""
    probe = ["skew", "--for", "1s"]  # no detail has this name: a request that gets so far fails for that
    for what, before, words, said in (
            ("its own pid", [], ["attach", *probe, "--pid", str(daemon)], "skew"),
            ("a pid of its namespace, attach", [*PID, "--mount-proc"], ["attach", *probe, "--pid", "1"], "pid namespace"),
            ("a pid of its namespace, with the host's /proc", PID, ["attach", *probe, "--pid", "1"], "pid namespace"),
            ("a pid of its namespace, recognize", [*PID, "--mount-proc"], ["recognize", "1"], "pid namespace"),
            ("a path of its cgroup namespace", ["unshare", "--cgroup"], ["attach", *probe, "--cgroup", "/"], "cgroup namespace"),
            ("a cgroup's id", ["unshare", "--cgroup"], ["attach", *probe, "--cgroup", "1"], "skew"),
            ("a path, in skepd's", [], ["attach", *probe, "--cgroup", "/"], "skew")):
        done = subprocess.run([*before, SKEP, *words], capture_output=True, text=True)
        check(f"{what}: skepd says what it takes it for", done.returncode == 1 and said in done.stderr, done)


@contextlib.contextmanager
def skepd(within):
    """A skepd inside: its pid here."""
    log = LOG + ".inside"
    open(log, "w").close()
    outer = testing.start(CONF, log, "-v", within=within)
    inner = outer.pid
    if "--fork" in within:
        inner = int(subprocess.run(["pgrep", "-P", str(outer.pid)], capture_output=True, text=True).stdout)
    yield inner, log
    os.kill(inner, signal.SIGTERM)
    check(f"skepd: {' '.join(within)}: it ends", outer.wait(testing.PATIENCE) == 0, testing.text(log)[-3000:])


def record_of(earlier):
    """What skepd has recorded of a process that began before skepd."""
    ends = testing.until(lambda: [r for r in testing.records(RECORDS, "process.exit") if r["pid"] == earlier and r["last"]])
    keys = ("argv", "exe", "cwd", "uid", "cgroup", "exit_code", "start_ns")
    return [[r.get(key) for key in keys] for r in ends or []]


def skepds_inside():
    """skepd in a namespace of each kind that lets it record; skep run outside."""
    outside = None
    for what, within in (("outside", []), *EACH[:1], *EACH[2:5], ("cgroup, with its own hierarchy", CONTAINER)):
        if os.path.exists(RECORDS):
            os.unlink(RECORDS)
        began = time.time()
        earlier = subprocess.Popen(["sh", "-c", "read x; exit 47"], stdin=subprocess.PIPE, cwd=WORK)
        with skepd([*within, "--kill-child"] if "--fork" in within else within) as (_, log):
            if not outside:
                outside = run_outside(DAEMONS)
            else:
                as_outside(f"skepd in a namespace of its own: {what}", [], outside, DAEMONS)
            check(f"{what}: skepd has recorded the run", testing.text(log).count(BEGUN) == 1, testing.text(log)[-3000:])
            earlier.communicate(b"x\n")
            found = record_of(earlier.pid)
        if what == "outside":
            want = found[0][:-1]
        check(f"skepd: {what}: a process that began before skepd, as skepd outside records it",
              [f[:-1] for f in found] == [want] and want[0], (found, want))
        check(f"skepd: {what}: it began when it began",
              found and -0.1 < moment(found[0][-1]) - began < time.time() - began, (found, began))
    done = subprocess.run([*USER, testing.SKEPD, "-c", CONF], capture_output=True, text=True)
    check("skepd in a user namespace: it says why it cannot record", done.returncode == 4 and "user namespace" in done.stderr,
          done)


def usage(path):
    """What the probe cgroup has recorded of this cgroup."""
    return [r for r in testing.records(RECORDS, "cgroup") if r["cgroup"] == path]


def container():
    """skepd in a container with its own hierarchy: it samples the container's cgroups, and no cgroup outside that
    has the same name as one inside."""
    name = f"/skep-test-{os.getpid()}"
    inner = ["sh", "-c", f'echo $$ > {HIERARCHY}{name}/cgroup.procs && exec "$@"', "sh", *CONTAINER]
    limit = "memory.max" if KIND == "cgroup2" else "memory.limit_in_bytes"
    twin = f"/twin-of-{os.getpid()}"
    if KIND == "cgroup2":
        with open(HIERARCHY + "/cgroup.subtree_control", "w") as file:
            file.write("+memory")
    folders = [HIERARCHY + name, HIERARCHY + name + twin, HIERARCHY + twin]
    for folder in folders:
        os.mkdir(folder)
    with open(f"{HIERARCHY}{name}/{limit}", "w") as file:
        file.write(str(512 << 20))
    if os.path.exists(RECORDS):
        os.unlink(RECORDS)
    with open(CONF) as file:
        conf = json.load(file)
    conf["probes"].append({"plugin": "cgroup"})
    with open(CONF, "w") as file:
        json.dump(conf, file)
    sleepers = []
    try:
        with skepd(inner) as (pid, _):
            for folder in (folders[0], folders[2]):
                sleepers.append(subprocess.Popen(["sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec sleep 1000']))
            found = testing.until(lambda: [r for r in usage(name) if r.get("memory_bytes")], "a sample of the container")
            check("skepd in a container with its own hierarchy: the container's memory and limit",
                  found[-1]["memory_limit_bytes"] == 512 << 20, found[-1])
            testing.recorded(RECORDS)
            check("it samples no cgroup outside by the figures of one inside", not usage(twin), usage(twin))
            said = json.loads(subprocess.run([SKEP, "plugins", "cgroup", "--json"], capture_output=True, check=True).stdout)
            check("it says that it reads the memory of cgroups",
                  [s["state"] for s in said["signals"] if s["name"] == "cgroup.memory"] == ["ok"], said)
            for sleeper in sleepers:
                sleeper.kill()
                sleeper.wait()
    finally:
        for folder in reversed(folders):
            testing.until(lambda: not open(folder + "/cgroup.procs").read(), "the end of a cgroup's processes")
            os.rmdir(folder)


def asked(request):
    """skepd's answer to this client, a process of the initial pid namespace."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(WORK + "/ctl")
        client.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(client.makefile().readline())


def skepd_in_pid():
    """skepd in a pid namespace of its own, where its pids are not the kernel's."""
    with skepd([*PID, "--kill-child", "--mount-proc"]) as (pid, log):
        there = ["nsenter", "--target", str(pid), "--pid", "--mount", "sh", "-c", 'cd "$0" && exec "$@"', os.getcwd()]
        outside = run_outside()
        for what, before in (("in its pid namespace", there), ("outside of it", []), ("in another one", [*PID, "--mount-proc"])):
            as_outside(f"beside a skepd in a pid namespace, {what}", before, outside, DAEMONS)
        check("skep run records by itself there", BEGUN not in testing.text(log), testing.text(log))
        refused = "skepd runs in a pid namespace of its own"
        done = subprocess.run([*there, SKEP, "run", "--task", "t", "--", "sh", "-c", "exit 9"], capture_output=True, text=True)
        check("skepd refuses a task there, and the command runs", done.returncode == 9 and refused in done.stderr, done)
        answer = asked({"request": "run_begin", "pid": 1, "argv": ["x"], "sink": "lake"})
        check("skepd refuses a run there", answer["ok"] is False and refused in answer["error"], answer)


namespaces()
no_pid()
clones(OWN, "skep run", lambda: json.load(open(REPORT)))
configure()
beside_skepd()
runs_beside()
skepds_inside()
container()
skepd_in_pid()
sys.exit(testing.failures != 0)
