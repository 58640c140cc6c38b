# SPDX-License-Identifier: Apache-2.0
# tests/e2e/boundaries.py WORK - the program of boundaries.sh.
import ctypes
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys

import testing
from testing import check, until

libc = ctypes.CDLL(None)
work = sys.argv[1]
log, out, conf = work + "/log", work + "/out", work + "/skepd.conf"
listed = subprocess.run([os.environ["SKEP"], "recognize", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
names = listed.strip().splitlines()[-1].split(": ")[1].split()
cgroup = None
for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified"):
    if os.path.exists(folder + "/cgroup.procs"):
        try:
            os.mkdir("%s/skep-boundaries-%d" % (folder, os.getpid()))
            cgroup = "%s/skep-boundaries-%d" % (folder, os.getpid())
            break
        except OSError:
            pass


def configure(names, interval="500ms"):
    json.dump({"interval": interval, "pin_dir": work + "/bpf/skep", "control": {"socket": work + "/s"},
               "filters": {"dirs": [work + "/rules"]}, "recognizers": [work + "/kron.json"],
               "spool": {"path": work + "/spool.db", "reserve": 0}, "probes": [{"plugin": "proc", "required": True, "environ": names}],
               "sinks": [{"plugin": "file", "path": out}]}, open(conf, "w"))


def script(name, line):
    with open(work + "/" + name, "w") as f:
        f.write("#!/bin/sh\n%s\n" % line)
    os.chmod(work + "/" + name, 0o755)
    return work + "/" + name


def run(marker, env, before=None, through=(), parent=None):
    """Executes `true MARKER` with that environment: below the program `through`, or as the child of a process of that name."""
    argv = [*through, "/bin/true", marker]
    pid = os.fork()
    if pid == 0:
        try:
            if parent:
                libc.prctl(15, parent.encode(), 0, 0, 0)  # PR_SET_NAME
                child = os.fork()
                if child:
                    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            if before:
                before()
            os.execve(argv[0], argv, env)
        finally:
            os._exit(9)
    check("%s ran" % marker, os.waitpid(pid, 0)[1] == 0)


def into_cgroup():
    with open(cgroup + "/cgroup.procs", "w") as f:
        f.write(str(os.getpid()))


def variables(marker):
    """The variables in the record of `true MARKER`; None: it has no record yet."""
    for line in open(out) if os.path.exists(out) else ():
        if '"%s"' % marker in line and line.endswith("\n"):
            r = json.loads(line)
            if r["stream"] == "process.exit" and r.get("argv", [])[1:] == [marker]:
                return r.get("environ", [])
    return None


def wait_for(marker):
    until(lambda: variables(marker) is not None)


def expect(what, marker, wanted):
    wait_for(marker)
    got = variables(marker)
    check(what, got == wanted, "%s: got %s, not %s" % (marker, got, wanted))
    if got is None:  # where the record stays
        print(ask("plugins", "proc"), ask("status"), testing.text(log)[-2000:], sep="\n")


def ask(*words):
    return subprocess.run([os.environ["SKEP"], *words], env=dict(os.environ, SKEP_SOCKET=work + "/s"), capture_output=True,
                          text=True).stdout


def counter(name):
    """A counter of the probe; -1: skepd does not show it."""
    found = re.findall(r"^ *%s +(\d+) " % name, ask("plugins", "proc"), re.M)
    return int(found[0]) if found else -1


def engine(marker):
    """The engine of the run of `true MARKER`; None: it has no run of an engine."""
    engines, of = {}, None
    for line in open(out):
        r = json.loads(line) if line.endswith("\n") else {}
        if r.get("stream") == "run":
            engines[r["run"]] = r.get("engine")
        elif r.get("stream") == "process.exit" and r.get("argv", [])[1:] == [marker]:
            of = r.get("run")
    return engines.get(of)


os.mkdir(work + "/rules")
json.dump({"rules": [{"id": "kron", "when": "comm = 'kron'", "verdict": "exclude"}]}, open(work + "/rules/10.json", "w"))
json.dump({"recognizers": [{"engine": "kron", "class": "workflow", "run": [{"parents": ["kron"]}]}]}, open(work + "/kron.json", "w"))
kron = script("kron", '"$@"; exit $?')
make = script("make", '"$@"; exit $?')       # its child executes the command
makes = script("gmake", 'exec "$@"')         # executes the command itself
other = script("mike", '"$@"; exit $?')
option = ["SITE_%d" % i for i in range(5)]
level = {"MAKELEVEL": "1", "SSHPASS": "hunter15", "MAKELEVELS": "no", "XMAKELEVEL": "no"}
found = ["MAKELEVEL=1"]


def typed(lines):
    """The lines, typed into a shell on a terminal of its own."""
    pid, tty = pty.fork()
    if pid == 0:
        os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], {"HOME": work, "TERM": "dumb", "HISTFILE": "", "PS1": "$(/bin/true prompt)$ "})
    for line in lines:
        os.write(tty, line.encode() + b"\n")
    os.write(tty, b"exit\n")
    try:
        while os.read(tty, 4096):
            pass
    except OSError:
        pass
    os.close(tty)
    os.waitpid(pid, 0)


def runs_of(markers):
    """For each marker the record of the run of `true MARKER`, newest state."""
    runs, of = {}, {}
    for line in open(out):
        r = json.loads(line) if line.endswith("\n") else {}
        if r.get("stream") == "run":
            runs[r["run"]] = r
        elif r.get("stream") == "process.exit" and r.get("argv", [])[-1:] and r["argv"][-1] in markers:
            of[r["argv"][-1]] = r.get("run")
    return [runs.get(of.get(m), {}) for m in markers]


def round_of(n):
    """What must hold at any time: a boundary, and none."""
    run("listed-%d" % n, level, through=[make])
    run("unlisted-%d" % n, level, through=[other])
    return [("a child of make, %d" % n, "listed-%d" % n, found), ("a child of another program, %d" % n, "unlisted-%d" % n, [])]


def streams():
    """The records of runs and tasks, of each the newest, and of processes."""
    runs, tasks, processes = {}, {}, []
    for line in open(out):
        r = json.loads(line) if line.endswith("\n") else {}
        if r.get("stream") == "run":
            runs[r["run"]] = r
        elif r.get("stream") == "task":
            tasks[r["task_id"]] = r
        elif r.get("stream") == "process.exit":
            processes.append(r)
    return runs, tasks, processes


def workflow_over_a_restart(how):
    """
    A workflow runs while skepd ends and begins again. One task runs through the gap, one begins and ends in it, and one
    is tried before, in and after it.
    """
    w = "%s/flow-%d" % (work, how)
    os.mkdir(w)
    name = w[len(work) + 1:]
    through = script(name + "/through", "/bin/true through-1; : >began; until [ -e after ]; do [ -d \"$PWD\" ] || exit; sleep 0.05; done; /bin/true through-2")
    tried, within = script(name + "/tried", "/bin/true tried; [ -e after ]"), script(name + "/within", "/bin/true within")
    flow = script(name + "/snakemake", """rule() { /bin/bash -c "set -euo pipefail;  $1"; }
there() { until [ -e "$1" ]; do [ -d "$PWD" ] || exit; sleep 0.05; done; }
rule {tried}; rule {through} &
there gap; rule {tried}; rule {within}; : >gap-over
there after; rule {tried}; wait""".replace("{tried}", tried).replace("{through}", through).replace("{within}", within))
    p = subprocess.Popen([flow], cwd=w, start_new_session=True, stdout=subprocess.DEVNULL)
    until(lambda: os.path.exists(w + "/began"), "the task that runs through the gap")
    until(lambda: testing.saved(work + "/spool.db", through), "the spool's commit")
    if how == signal.SIGKILL:
        d.kill()
        d.wait()
    else:
        testing.stop(d, log)
    open(w + "/gap", "w").close()
    until(lambda: os.path.exists(w + "/gap-over"), "the task within the gap")
    again = testing.start(conf, log, "-v")
    open(w + "/after", "w").close()
    code = p.wait()

    def of_flow():
        runs, tasks, processes = streams()
        mine = [r for r in runs.values() if r.get("engine") == "snakemake" and r["cwd"] == w]
        ids = [r["run"] for r in mine]
        return mine, [t for t in tasks.values() if t["run"] in ids], [r for r in processes if r.get("run") in ids]

    # After a kill, the first sample ends what no process is in any more.
    until(lambda: [r["state"] for r in of_flow()[0]] == ["ended"] and len(of_flow()[1]) >= 5)
    mine, tasks, processes = of_flow()
    check("a workflow over a restart of skepd (%s) is one run" % how.name, [(r["state"], r["exit_code"]) for r in mine] == [("ended", code)], mine)
    got = sorted((t["task"], t["attempt"], t["exit_code"]) for t in tasks)
    check("each task has one record, also the task that ran through the gap, and attempts count on (%s)" % how.name,
          got == [("through", 1, 0), ("tried", 1, 1), ("tried", 2, 1), ("tried", 3, 0), ("within", 1, 0)], got)
    task_of = {r["argv"][1]: (r.get("task"), r.get("task_id")) for r in processes if r["argv"][:1] == ["/bin/true"]}
    check("processes before and after the gap are in the task (%s)" % how.name,
          task_of.get("through-1", "-") == task_of.get("through-2") and task_of["through-1"][0] == "through", task_of)
    return again


def job(marker):
    """A part of Slurm's job 7077, and of a Snakemake whose leader runs on another host."""
    bash = [shutil.copy("/bin/bash", work + "/" + name) for name in ("slurmstepd", "snakemake")]
    subprocess.run([bash[0], "-c", "SLURM_JOB_ID=7077 SLURM_JOB_NAME=align /bin/true slurm-%s; :" % marker], check=True, start_new_session=True)
    subprocess.run([bash[1], "-c", "/bin/true snakemake-%s; :" % marker, "-s", "wheat.smk", "--target-jobs", "align:s=1", "--wait-for-files",
                    "/data/wheat/.snakemake/tmp.ab12cd34"], check=True, start_new_session=True)
    for engine in "slurm", "snakemake":
        until(lambda: any(r.get("argv", [])[1:] == ["%s-%s" % (engine, marker)] for r in streams()[2]))


def part(engine, marker):
    """The record of the run of that part of the job."""
    runs, _, processes = streams()
    ids = [r.get("run") for r in processes if r.get("argv", [])[1:] == ["%s-%s" % (engine, marker)]]
    return runs.get(ids[-1] if ids else None, {})


# SKEP_TASK and TRACEPARENT have fields of their own
shown = [n for n in names if n not in ("SKEP_TASK", "TRACEPARENT")]
early = subprocess.Popen(["/bin/sleep", "3600"], env={"SLURM_JOB_ID": "early", "SSHPASS": "hunter15"})
configure(option)
d = testing.start(conf, log, "-v")
testing.recorded(out)

expected = round_of(1)
run("image", level, through=[makes])
expected.append(("the image that execs is in the list", "image", found))
run("leader", level, before=os.setsid)
expected.append(("the first program of a session", "leader", found))
if cgroup:
    run("moved", level, before=into_cgroup)
    expected.append(("a process whose cgroup is not its parent's", "moved", found))
else:
    print("# without a cgroup: none can be made here")
run("site", dict(level, SITE_0="here"))
expected.append(("a name of the option, at no boundary", "site", ["SITE_0=here"]))
run("excluded-1", {}, through=[kron])
expected.append(("the child of a program that a rule excludes", "excluded-1", []))
all_of = {n: "%d" % i for i, n in enumerate(option + shown)}
run("all", dict(all_of, OTHER="1"), parent="make")
expected.append(("%d names at once" % len(all_of), "all", ["%s=%s" % v for v in all_of.items()]))
run("long", {"MAKELEVEL": "7" * 300, "JOB_ID": "5"}, parent="make")
expected.append(("a value over the limit is cut to 159 bytes", "long", [("MAKELEVEL=" + "7" * 300)[:159], "JOB_ID=5"]))
run("whole", {"MAKELEVEL": "7" * 148}, parent="make")
expected.append(("a value below the limit is whole", "whole", ["MAKELEVEL=" + "7" * 148]))
filler = {"VARIABLE_%d" % i: "/usr/share/some/path/%024d" % i for i in range(400)}
run("many", dict(filler, JOB_ID="9"), parent="make")
expected.append(("behind 400 others", "many", ["JOB_ID=9"]))
run("secret", {"LSB_JOBNAME": "https://me:hunter15@example.org/", "JOB_ID": "6"}, parent="make")
expected.append(("a secret in a value is blanked", "secret", ["LSB_JOBNAME=https://me:***@example.org/", "JOB_ID=6"]))
for e in expected:
    expect(*e)
run("excluded-2", {}, through=[kron])
expect("the same, now that the kernel knows the rule's answer", "excluded-2", [])
for marker in ("excluded-1", "excluded-2"):
    check("a recognizer knows an excluded parent by its name, %s" % marker, engine(marker) == "kron", engine(marker))
check("the excluded parent has no record", kron not in testing.text(out))
faults, full = counter("environ_faults"), counter("environ_full")
check("every environment was searched to its end", (faults, full) == (0, 0), (faults, full))
run("large", {"JOB_ID": "first", **{"FILLER_%d" % i: "x" * 8000 for i in range(9)}, "MAKELEVEL": "last"}, parent="make")
expect("of more than 64 KiB the first 64 KiB", "large", ["JOB_ID=first"])
run("over", {n: "y" * 120 for n in shown}, parent="make")
whole = ["%s=%s" % (n, "y" * 120) for n in shown]
wait_for("over")
got = variables("over") or []  # the record of the process has fewer variables than the record of its exec
check("more than a record holds: none is damaged", len(got) > 5 and set(got) <= set(whole), got)
check("both are counted", until(lambda: (counter("environ_faults"), counter("environ_full")) == (1, 1)), (counter("environ_faults"), counter("environ_full")))

a, b = script("a.sh", "set -m; /bin/true a1; sleep 0.2; /bin/true a2; exit 3"), script("b.sh", "sleep 0.1; /bin/true b1; exit 0")
typed([b + " & " + a, "(/bin/true c1; exec /bin/true c2) | cat"])
for marker in ("a1", "a2", "b1", "c1", "c2", "prompt"):
    wait_for(marker)
a1, a2, b1, c1, c2, prompt = runs_of(["a1", "a2", "b1", "c1", "c2", "prompt"])
check("a script typed at a shell is a run", (a1.get("origin"), a1.get("name"), a1.get("parent_run")) == ("shell", "a.sh", prompt.get("run")), a1)
check("a process that the script starts is in the script's run, also in a process group of its own", a2.get("run") == a1.get("run"), a2)
check("a script beside it is another run", (b1.get("origin"), b1.get("name")) == ("shell", "b.sh") and b1.get("run") != a1.get("run"), b1)
check("a subshell and the rest of its pipeline are one", c1.get("run") == c2.get("run") not in (None, b1.get("run"), a1.get("run")), c1)
check("a process that the prompt starts is in none of these runs", prompt.get("origin") == "session", prompt)
until(lambda: [r.get("state") for r in runs_of(["a1", "b1"])] == ["ended", "ended"])
a1, b1 = runs_of(["a1", "b1"])
check("a run ends with its script", (a1.get("state"), a1.get("exit_code"), b1.get("exit_code")) == ("ended", 3, 0), (a1, b1))

d.send_signal(signal.SIGHUP)
testing.wait_for(d, log, "SIGHUP: ")
expected = round_of(2)
configure(["SITE_5"])
d.send_signal(signal.SIGHUP)
testing.wait_for(d, log, "SIGHUP: ", 2)
expected += round_of(3)
run("site-5", dict(level, SITE_0="no", SITE_5="new"))
expected.append(("another name of the option, after a reload", "site-5", ["SITE_5=new"]))
for e in expected:
    expect(*e)

d.kill()
d.wait()
expected = round_of(4)
d = testing.start(conf, log, "-v")
check("the pinned state was adopted", "adopted the previous skepd's pinned BPF state" in testing.text(log), testing.text(log)[-2000:])
expected += round_of(5)
for e in expected:
    expect(*e)

d = workflow_over_a_restart(signal.SIGTERM)
configure([], "5s")
d.send_signal(signal.SIGHUP)
testing.wait_for(d, log, "SIGHUP: ", 3)
d = workflow_over_a_restart(signal.SIGKILL)
job("host-a")

early.terminate()
early.wait()
of_early = until(lambda: [r.get("environ") for r in testing.records(out, "process.exit") if r["pid"] == early.pid])
check("a process older than skepd", of_early == [["SLURM_JOB_ID=early"]], of_early)
testing.stop(d, log)
check("no other variable left the kernel", "hunter15" not in testing.text(out))
subprocess.run([testing.SKEPD, "--unpin", "-c", conf], capture_output=True)

# Another host: a skepd with a host name of its own, and without what the first one has saved.
parts = {engine: [part(engine, "host-a")] for engine in ("slurm", "snakemake")}
out, conf, testing.SKEPD = work + "/out-b", work + "/skepd-b.conf", script("elsewhere", "exec unshare -u sh -c 'hostname host-b; exec \"$@\"' sh \"$SKEPD\" \"$@\"")
json.dump({"interval": "500ms", "control": {"socket": False}, "probes": [{"plugin": "proc", "required": True}],
           "sinks": [{"plugin": "file", "path": out}]}, open(conf, "w"))
d = testing.start(conf, work + "/log-b", "-v")
# What ends before the first sweep has looked at all of the host is in no engine's run.
until(lambda: job("host-b") or [part(engine, "host-b").get("engine") for engine in parts] == list(parts))
testing.stop(d, work + "/log-b")
for engine, key in (("slurm", "7077"), ("snakemake", "/data/wheat/.snakemake/tmp.ab12cd34")):
    parts[engine].append(part(engine, "host-b"))
    a, b = parts[engine]
    check("%s: the parts of a job on two hosts are runs of their own" % engine,
          [r.get("host") for r in parts[engine]] == [socket.gethostname(), "host-b"] and a["run"] != b["run"], parts[engine])
    check("%s: one engine, user and key join them" % engine, [(r.get("engine"), r.get("uid"), r.get("join_key")) for r in parts[engine]] == 2 * [(engine, 0, key)],
          parts[engine])
if cgroup:
    os.rmdir(cgroup)
sys.exit(testing.failures > 0)
