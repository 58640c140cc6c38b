# SPDX-License-Identifier: Apache-2.0
"""planted.py WORK [WORKLOAD...]: workloads with a planted problem, and clean ones, under real engines, each under a skepd of
its own with the default probes. Prints what `skep tune` should say of each and what it says, then precision and recall.

The thresholds of the findings are the defaults. The gate on the run's length is lower, because a workload takes 10 to
30 s. A finding that this skep does not have (skep tune --list) is pending: it is no miss.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import drivers
from cluster import Cluster
import testing
from testing import check, start, stop, text

top, wanted = sys.argv[1], sys.argv[2:]
here = os.path.dirname(os.path.abspath(__file__))
SKEP = os.environ["SKEP"]
GATES = ["--set", "gate.wall=5"]
WORKLOADS = {}
KNOWN = set()  # the findings that this skep has


class Skip(Exception):
    """Something that the workload needs is not here."""


def workload(name, engine, *planted, settings=()):
    """Each of planted: a finding, and the task or the tool that has it, "" the run; None: any."""
    def add(function):
        WORKLOADS[name] = (engine, planted, [word for s in settings for word in ("--set", s)], function)
        return function
    return add


def write(path, content, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(content)
    os.chmod(path, mode)


def sh(w, command, **variables):
    with open(w + "/out", "a") as out:
        p = subprocess.run(["bash", "-euc", command], cwd=w, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                           env={**os.environ, **variables}, start_new_session=True)
    if p.returncode:
        raise RuntimeError("status %d: %s: %s" % (p.returncode, command, text(w + "/out")[-2000:]))


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip("no " + program)


WORK = """#!/usr/bin/python3
# work PHASE...: CORESxSECONDS burns (0: sleeps) in threads of one process; memory=MIB touches and keeps memory.
import hashlib
import sys
import threading
import time

block, kept = bytes(1 << 20), []


def burn(end):
    while time.monotonic() < end:
        hashlib.sha256(block)  # without the interpreter's lock


for phase in sys.argv[1:]:
    if phase.startswith("memory="):
        kept.append(bytearray(b"x") * (int(phase[7:]) << 20))
        continue
    cores, seconds = phase.split("x")
    end = time.monotonic() + float(seconds)
    threads = [threading.Thread(target=burn, args=(end,)) for _ in range(int(cores) - 1)]
    for t in threads:
        t.start()
    if cores == "0":
        time.sleep(float(seconds))
    else:
        burn(end)
    for t in threads:
        t.join()
"""


def snakemake(w, rules, cores=8, options=""):
    """rules: (name, lines of the rule, shell command, outputs)."""
    needs("snakemake")
    snakefile = "rule all:\n    input: %s\n" % ", ".join(repr(o) for _, _, _, outputs in rules for o in outputs)
    for name, lines, command, outputs in rules:
        pattern = outputs[0] if len(outputs) == 1 else re.sub(r"\d+$", "{s}", outputs[0])
        snakefile += "rule %s:\n    output: %r\n%s    shell: %r\n" % (name, pattern, "".join("    %s\n" % line for line in lines),
                                                                  command + " && touch {output}")
    write(w + "/Snakefile", snakefile)
    sh(w, "snakemake -j %d %s" % (cores, options))


class Cgroup:
    """A cgroup of its own, in v2 or in the controller's v1 hierarchy."""

    def __init__(self, controller, v1, name="skep-planted"):
        root = "/sys/fs/cgroup"
        if os.path.exists(root + "/cgroup.controllers"):
            with open(root + "/cgroup.subtree_control", "w") as f:
                f.write("+" + controller)
        else:
            root += "/" + v1
        if not os.path.isdir(root):
            raise Skip("no cgroups with " + controller)
        self.v2, self.path = not root.endswith(v1), "%s/%s-%d" % (root, name, os.getpid())
        os.mkdir(self.path)

    def file(self, v2, v1):
        return "%s/%s" % (self.path, v2 if self.v2 else v1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with open(os.path.dirname(self.path) + "/cgroup.procs", "w") as f:
            f.write("%d" % os.getpid())
        for _ in range(100):
            try:
                return os.rmdir(self.path)
            except OSError:
                time.sleep(0.1)


def first():
    """The CPUs are the workloads' first: what other programs do on this machine is not planted."""
    cgroup = Cgroup("cpu", "cpu", "skep-planted-first")
    for path, value in (cgroup.file("cpu.weight", "cpu.shares"), 10000 if cgroup.v2 else 200000), (cgroup.file(*["cgroup.procs"] * 2), os.getpid()):
        with open(path, "w") as f:
            f.write("%d" % value)
    return cgroup


# ---- planted --------------------------------------------------------------------------------------------------------

@workload("8 cores asked, 1 used", "snakemake", ("serial", "one_core"))
def one_core(w):
    snakemake(w, [("one_core", ["threads: 8"], top + "/work 1x14", ["a"])])


@workload("8 cores asked, 2 used", "snakemake", ("cpu-over-request", "two_cores"))
def two_cores(w):
    snakemake(w, [("two_cores", ["threads: 8"], top + "/work 2x14", ["a"])])


@workload("a short parallel phase: not serial", "snakemake")
def phase(w):
    snakemake(w, [("phases", ["threads: 2"], top + "/work 0x4 1x6 2x4", ["a"])])


@workload("a throttled disk", "snakemake", ("io-bound", "reads"))
def slow_disk(w):
    needs("mkfs.ext4", "losetup")
    switch = "/proc/sys/kernel/task_delayacct"
    if not os.path.exists(switch) or text(switch).strip() != "1":
        raise Skip("kernel.task_delayacct is off")
    sh(w, "truncate -s 64M img; mkfs.ext4 -q -F img; mkdir mnt; mount -o loop img mnt; head -c 24M /dev/urandom >mnt/data; umount mnt")
    try:
        sh(w, "mount -o loop img mnt")
        device = os.stat(w + "/mnt/data").st_dev
        with Cgroup("io", "blkio") as cgroup:
            with open(cgroup.file("io.max", "blkio.throttle.read_bps_device"), "w") as f:
                f.write(("%d:%d rbps=%d" if cgroup.v2 else "%d:%d %d") % (os.major(device), os.minor(device), 2 << 20))
            snakemake(w, [("reads", [], "echo $$ >%s/cgroup.procs; cat mnt/data >/dev/null" % cgroup.path, ["a"])])
    finally:
        sh(w, "! mountpoint -q mnt || umount mnt")


@workload("killed for its memory, then retried", "snakemake", ("memory-at-risk", "hog"), ("retries", "hog"))
def hog(w):
    with Cgroup("memory", "memory") as cgroup:
        write(w + "/hog.sh", """#!/bin/bash
tries=$(cat tries 2>/dev/null || echo 0)
echo $((tries + 1)) >tries
echo $(((64 + 192 * tries) << 20)) >%s
echo $$ >%s/cgroup.procs
exec %s/work 1x4 memory=120 1x4
""" % (cgroup.file("memory.max", "memory.limit_in_bytes"), cgroup.path, top), 0o755)
        snakemake(w, [("hog", ["retries: 1"], "./hog.sh", ["a"])])


@workload("a CPU quota", "snakemake", ("cpu-quota", "limited"))
def quota(w):
    with contextlib.ExitStack() as stack:
        cgroups = [stack.enter_context(Cgroup("cpu", "cpu"))]
        if not cgroups[0].v2:  # the probe takes the cgroup of the hierarchy with memory
            cgroups.append(stack.enter_context(Cgroup("memory", "memory")))
        with open(cgroups[0].file("cpu.max", "cpu.cfs_quota_us"), "w") as f:
            f.write("20000 100000" if cgroups[0].v2 else "20000")
        enter = "".join("echo $$ >%s/cgroup.procs; " % c.path for c in cgroups)
        snakemake(w, [("limited", [], enter + top + "/work 1x14", ["a"])])


# Ten minutes without progress are a stall by default.
@workload("a sleeper", "snakemake", ("stall", "sleeps"), settings=("stall.idle=10",))
def sleeper(w):
    snakemake(w, [("sleeps", [], top + "/work 1x3 0x16", ["a"])])


@workload("a straggler among 8", "cwltool", ("straggler", "work"))
def straggler(w):
    scatter(w, [2] * 7 + [9])


@workload("a copy over a slow network", "snakemake", ("network-bound", "fetch"))
def slow_network(w):
    needs("ip", "tc")
    name, mine, theirs = "skep-planted-%d" % os.getpid(), "skp%dm" % (os.getpid() % 10**6), "skp%dt" % (os.getpid() % 10**6)
    server = None
    write(w + "/served/data", "x" * (5 << 20))
    try:
        sh(w, """ip netns add {n}; ip link add {m} type veth peer name {t} netns {n}; ip addr add 198.18.77.1/30 dev {m}; ip link set {m} up
ip -n {n} addr add 198.18.77.2/30 dev {t}; ip -n {n} link set {t} up
tc -n {n} qdisc add dev {t} root tbf rate 3mbit burst 32k latency 400ms""".format(n=name, m=mine, t=theirs))
        server = subprocess.Popen(["ip", "netns", "exec", name, "/usr/bin/python3", "-m", "http.server", "-d", w + "/served", "8077"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        write(w + "/fetch", "#!/usr/bin/python3\nimport shutil, urllib.request\n"
              "shutil.copyfileobj(urllib.request.urlopen('http://198.18.77.2:8077/data'), open('copy', 'wb'))\n", 0o755)
        time.sleep(1)
        snakemake(w, [("fetch", [], "./fetch", ["a"])])
    finally:
        if server:
            server.terminate()
            server.wait()
        sh(w, "ip netns del %s; ip link del %s 2>/dev/null || :" % (name, mine))


@workload("millions of 1-byte writes", "make", ("tiny-io", "dd"))
def tiny(w):
    write(w + "/Makefile", "tiny:\n\tdd if=/dev/zero of=$@ bs=1 count=12000000 2>/dev/null\n")
    sh(w, "make")


@workload("thousands of /bin/true, by a shell", "", ("exec-storm", ""))
def shell_storm(w):
    sh(w, "$SKEP run --name planted --no-live --no-report -- sh -c 'i=0; while [ $i -lt 20000 ]; do /bin/true; i=$((i+1)); done'")


@workload("thousands of /bin/true, by xargs", "xargs", ("exec-storm", ""))
def xargs_storm(w):
    sh(w, "seq 16000 | xargs -n1 /bin/true")


@workload("8 threads on 2 CPUs", "snakemake", ("oversubscribed", ""))
def threads(w):
    snakemake(w, [("crowd", ["threads: 8"], "taskset -c 0,1 %s/work 8x14" % top, ["a"])])


@workload("a regression in the fifth of ten runs", "", ("regression", None))
def regression(w):
    if "regression" not in KNOWN:
        raise Skip("pending")
    for seconds in [5] * 4 + [6.5] * 6:
        sh(w, "$SKEP run --name planted --pipeline planted --no-live --no-report -- %s/work 1x%g" % (top, seconds))


def slurm(w, name, options, script):
    needs("slurmctld", "slurmd", "munged")
    Cluster.get(os.path.join(top, "cluster"))
    write(w + "/job.sh", "#!/bin/bash\n" + script)
    sh(w, "sbatch --wait -J %s %s job.sh" % (name, options))


@workload("a hundred short jobs", "slurm", ("short-tasks", "quick"))
def short_jobs(w):
    slurm(w, "quick", "--array=0-99%8", "sleep 0.4\n")


@workload("3 GB asked, little used", "slurm", ("memory-over-request", "modest"))
def much_memory(w):
    slurm(w, "modest", "--mem=3000", top + "/work memory=80 1x12\n")


@workload("4 GB asked, little used", "snakemake", ("memory-over-request", "modest"))
def much_memory_local(w):
    snakemake(w, [("modest", ["resources: mem_mb=4000"], top + "/work memory=80 1x12", ["a"])])


@workload("a day asked, seconds taken", "snakemake", ("walltime-over-request", "brief"))
def much_time(w):
    needs("slurmctld", "slurmd", "munged")
    Cluster.get(os.path.join(top, "cluster"))
    write(w + "/status", """#!/bin/sh
case $(scontrol show job $1 | sed -n 's/.*JobState=\\([A-Z]*\\).*/\\1/p') in
COMPLETED) echo success ;;
FAILED|CANCELLED|TIMEOUT) echo failed ;;
*) echo running ;;
esac
""", 0o755)
    snakemake(w, [("brief", ["resources: mem_mb=120, runtime=1440"], top + "/work 1x10", ["a"])], options="--latency-wait 10 "
              "--cluster 'sbatch --parsable --mem={resources.mem_mb} --time={resources.runtime}' --cluster-status ./status")


@workload("4 cores, 4 GB, a day asked", "nextflow", ("serial", "ALIGN"), ("memory-over-request", "ALIGN"), ("walltime-over-request", "ALIGN"))
def nextflow(w):
    s = drivers.Stand(w, None)
    java = s.install("java")
    s.install("nextflow", '#!/bin/bash\nexec -a java %s -cp %s/nextflow-all.jar nextflow.cli.Launcher "$@"\n' % (java, w))
    folder = w + "/work/ab/" + "0123456789" * 3
    s.file(folder + "/.command.sh", "#!/bin/bash -ue\n%s/work 1x12\n" % top)
    s.file(folder + "/.command.run", "#!/bin/bash\n#SBATCH -c 4\n#SBATCH --mem 4096M\n#SBATCH -t 24:00:00\n### ---\n### name: 'ALIGN (S1)'\n### ...\n"
           "/bin/bash -ue %s/.command.sh\n" % folder)
    s.attempt(w, "S1", folder, ["/bin/bash", "-ue", ".command.run"])
    s.write_plans()
    sh(w, "%s/bin/nextflow run main.nf -name planted" % w, STAND_IN=w)


# ---- clean: nothing to say ------------------------------------------------------------------------------------------

@workload("clean: tests/pipelines/reads", "")
def reads(w):
    needs("bwa", "samtools", "bcftools")
    sh(w, "PAIRS=60000 $SKEP run --name planted --no-live --no-report -- %s/../pipelines/reads/run.sh %s/r" % (here, w))


@workload("clean: tests/pipelines/snakemake", "snakemake")
def pipeline(w):
    needs("bwa", "samtools", "bcftools", "snakemake")
    sh(w, "snakemake --cores 2 --quiet -s %s/../pipelines/snakemake/Snakefile --config pairs=40000" % here)


@workload("clean: equal tasks that ask for what they use", "snakemake")
def balanced(w):
    snakemake(w, [("equal", ["resources: mem_mb=120"], top + "/work memory=90 1x3", ["a%d" % i for i in range(6)])], cores=2)


def scatter(w, seconds):
    needs("cwltool")
    write(w + "/tool.cwl", json.dumps({
        "cwlVersion": "v1.2", "class": "CommandLineTool", "baseCommand": [top + "/work"], "outputs": [],
        "inputs": {"n": {"type": "string", "inputBinding": {"position": 1}}}}))
    write(w + "/wf.cwl", json.dumps({
        "cwlVersion": "v1.2", "class": "Workflow", "requirements": {"ScatterFeatureRequirement": {}}, "inputs": {"n": "string[]"},
        "outputs": [], "steps": {"step": {"run": "tool.cwl", "scatter": "n", "in": {"n": "n"}, "out": []}}}))
    write(w + "/in.json", json.dumps({"n": ["1x%g" % s for s in seconds]}))
    sh(w, "cwltool --outdir out wf.cwl in.json")


@workload("clean: six equal steps", "cwltool")
def steps(w):
    scatter(w, [2] * 6)


@workload("clean: a build, make -j2", "make")
def build(w):
    for i in range(24):
        write("%s/f%d.c" % (w, i), "".join("double f%d_%d(double x) { for (int i = 0; i < %d; i++) x = x * x + i; return x; }\n" % (i, k, k + 2)
                                          for k in range(400)))
    write(w + "/Makefile", "all: %s\n%%.o: %%.c\n\tgcc -O2 -c -o $@ $<\n" % " ".join("f%d.o" % i for i in range(24)))
    sh(w, "make -j2")


@workload("clean: a job that asks for what it uses", "slurm")
def fair_job(w):
    slurm(w, "fair", "--mem=120 --cpus-per-task=1 --time=5", top + "/work memory=90 1x12\n")


# ---- what skep says -------------------------------------------------------------------------------------------------

def skep(*arguments):
    return json.loads(subprocess.run([SKEP, *arguments, "--json"], stdout=subprocess.PIPE, check=True).stdout)


def probes():
    """The probes of the installed configuration."""
    block = re.search(r'"probes": \[\n(.*?)\n\t\]', text(here + "/../../etc/skepd.conf"), re.S).group(1)
    return [{"plugin": name} for name in re.findall(r'\{ "plugin": "(\w+)"', block)]


EMITTED = "4 cores, 4 GB, a day asked"


def emitted(w, lake, run):
    """What skep writes for engines, read by the engines' own parsers. tests/e2e/tune.sh has Snakemake's."""
    said = {}
    for form in "sbatch", "k8s", "nextflow":
        said[form] = subprocess.run([SKEP, "tune", "--lake", lake, "--emit", form, run], stdout=subprocess.PIPE, text=True,
                                    check=True).stdout
    memory = re.search(r"--mem=(\d+)M", said["sbatch"]).group(1)
    if shutil.which("slurmctld"):
        Cluster.get(os.path.join(top, "cluster"))
        write(w + "/emitted.sh", "#!/bin/bash\n" + said["sbatch"] + "true\n")
        p = subprocess.run(["sbatch", "--test-only", w + "/emitted.sh"], stderr=subprocess.PIPE, text=True)
        check("sbatch accepts its directives", p.returncode == 0 and " using 1 processors " in p.stderr, p.stderr)
    else:
        print("# not checked: no sbatch")
    if shutil.which("kubectl"):
        write(w + "/pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
              "spec: {containers: [{name: ALIGN, image: x, resources: {requests: {cpu: '4'}}}]}\n")
        write(w + "/patch.yaml", "spec:\n" + re.sub(r"(?m)^(?=.)", "  ", said["k8s"]))
        p = subprocess.run(["kubectl", "patch", "--local", "-f", w + "/pod.yaml", "--patch-file", w + "/patch.yaml", "-o", "json"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        check("kubectl patches a pod with its containers", p.returncode == 0 and
              [(c["name"], c["resources"]) for c in json.loads(p.stdout)["spec"]["containers"]] ==
              [("ALIGN", {"requests": {"cpu": "1", "memory": memory + "Mi"}, "limits": {"memory": memory + "Mi"}})], p.stdout)
    else:
        print("# not checked: no kubectl")
    if shutil.which("groovy"):  # ConfigSlurper is what Nextflow's own parser of configurations is made of
        write(w + "/nextflow.config", said["nextflow"])
        p = subprocess.run(["groovy", "-e", "println groovy.json.JsonOutput.toJson(new ConfigSlurper().parse(new File(args[0]).text))",
                            w + "/nextflow.config"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={"JAVA_HOME": os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("java") or ""))), **os.environ})
        check("Groovy reads its configuration", p.returncode == 0 and json.loads(p.stdout) ==
              {"process": {"ALIGN": {"cpus": 1, "memory": memory + " MB", "time": "1 min"}}}, p.stdout + p.stderr)
    else:
        print("# not checked: no groovy")


def judge(name, folder):
    """A row: name, engine, planted, said, hits, false ones; None: skipped."""
    engine, planted, settings, function = WORKLOADS[name]
    w = "%s/%s" % (top, folder)
    os.mkdir(w)
    conf, log, lake = w + "/skepd.conf", w + "/log", w + "/lake"
    os.environ.update(SKEP_SOCKET=w + "/sock", SKEP_LAKE=lake)
    write(conf, json.dumps({
        "interval": "1s", "process_interval": "1s",
        "plugin_dirs": os.environ["SKEP_PLUGIN_DIRS"].split(":"),
        "probes": probes(),
        "sinks": [{"plugin": "lake", "min_free": "0", "path": lake}],
        "control": {"socket": w + "/sock"},
    }))
    daemon = start(conf, log)
    try:
        function(w)
    finally:
        stop(daemon, log)
    runs = [r for r in skep("runs", "--limit", "0", "--lake", lake) if (r["engine"] or "") == engine and
            r["cwd"].startswith(w) and (engine or r["name"] == "planted")]
    if not runs:
        raise RuntimeError("no run of %s in %s" % (engine or "skep run", lake))
    answer = skep("tune", "--lake", lake, *GATES, *settings, runs[0]["id"])
    said = {(f["id"], f["name"]): f for f in answer["findings"]}
    due = [p for p in planted if p[0] in KNOWN]
    hits = {s for s in said for p in due if s[0] == p[0] and p[1] in (s[1], None)}
    for key, f in said.items():
        print("# %s: %s %s: %s" % (name, *key, f["evidence"]), flush=True)
    for t in answer["tasks"][:3]:
        print("#     task %s: %s" % (t["task"], {k: t[k] for k in ("executions", "wall_s", "busy_cores", "memory_bytes", "requested", "waits")}),
              flush=True)
    if name == EMITTED:
        emitted(w, lake, runs[0]["id"])
    words = ["%s %s" % p if p[1] else p[0] for p in planted]
    return (name, engine or "skep run", [s if p in due else s + " (pending)" for s, p in zip(words, planted)],
            [("%s %s" % s).strip() for s in said], len(due), len(hits), len(said) - len(hits))


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("FAIL - ended by SIGTERM"))  # and its children end
    write(top + "/work", WORK, 0o755)
    unknown = [name for name in wanted if name not in WORKLOADS]
    if unknown:
        sys.exit("planted.py: no workload %s; there are: %s" % (unknown, "; ".join(WORKLOADS)))
    KNOWN.update(k["id"] for k in skep("tune", "--list")["kinds"])
    rows, skipped, broken = [], [], 0
    with first():
        for number, name in enumerate(wanted or WORKLOADS):
            print("== %s" % name, flush=True)
            try:
                row = judge(name, "w%d" % number)
                if row[4] != row[5] or row[6]:  # a finding or its guard may be of another program's load: once more
                    print("# %s: not as expected: %s" % (name, row[3]), flush=True)
                    row = judge(name, "w%d-again" % number)
                rows.append(row)
            except Skip as why:
                skipped.append((name, why))
            except (RuntimeError, subprocess.CalledProcessError) as why:
                print("FAIL - %s: %s" % (name, why))
                broken += 1
        if Cluster.one:
            Cluster.one.stop()
    print("\n| workload | engine | planted | said | false |\n| --- | --- | --- | --- | --: |")
    for name, engine, planted, said, _, _, wrong in rows:
        print("| %s | %s | %s | %s | %d |" % (name, engine, ", ".join(planted) or "-", ", ".join(said) or "-", wrong))
    due, hits, wrong = (sum(r[i] for r in rows) for i in (4, 5, 6))
    for name, why in skipped:
        print("skipped: %s: %s" % (name, why))
    print("precision %d of %d, recall %d of %d" % (hits, hits + wrong, hits, due))
    sys.exit(wrong > 0 or hits < due or broken > 0 or testing.failures > 0)


main()
