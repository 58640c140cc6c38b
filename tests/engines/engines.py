# SPDX-License-Identifier: Apache-2.0
"""engines.py WORK ENGINE...: runs each engine twice at once under one skepd, and compares skepd's records with the engine's own.

The truth about a task is what its engine wrote down (Snakemake's metadata, parallel's joblog, ninja's log, make's debugging
output, cwltool's log), and for its processes a file into which each of them writes its own pid and its parent's.
"""
import base64
import calendar
import concurrent.futures
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import drivers
import testing
from cluster import Cluster
from testing import check, start, stop, text, until

top, engines = sys.argv[1], sys.argv[2:]
JOBS = int(os.environ.get("ENGINE_JOBS", "20"))  # tasks of each run


def write(path, content, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(content)
    os.chmod(path, mode)


def make_step(w):
    """What a task executes: it notes its pid, starts a child that does the same, and may leave a daemon behind. Tasks with
    one command end one after another, so the engine's record says which is which (number_twins(), drivers.twin_in())."""
    write(w + "/step", """#!/bin/sh
# step RUN TASK [daemon|fail|fail-first|twin]: the processes of a task say who they are
w=%s key=$2 n=0
if [ "${3:-}" = twin ]; then # the command does not say which one this is
	until mkdir -m 777 "$w/twin.$1.$n" 2>/dev/null; do
		[ -d "$w/twin.$1.$n" ] || exit 9
		n=$((n + 1))
	done
	key=$2.$n
fi
echo "$$ $1 $key" >>"$w/pids"
sh -c 'echo "$$ $1 $2" >>"$0/pids"; : | cat' "$w" "$1" "$key"
if [ "${3:-}" = daemon ]; then
	setsid sh -c 'echo "$$ $1 $2" >>"$0/pids"; exec sleep 2' "$w" "$1" "$key" >/dev/null 2>&1 </dev/null &
fi
[ "${3:-}" != fail ] || exit 1
if [ "${3:-}" = fail-first ] && [ ! -e "$w/failed.$1.$2" ]; then
	: >"$w/failed.$1.$2"
	exit 1
fi
if [ "${3:-}" = twin ]; then
	pwd >"$w/twin.$1.$n/cwd"
	echo $$ >"$w/twin.$1.$n/pid"
	if [ $n -gt 0 ]; then
		until [ -s "$w/twin.$1.$((n - 1))/pid" ]; do sleep 0.1; done
		while kill -0 "$(cat "$w/twin.$1.$((n - 1))/pid")" 2>/dev/null; do sleep 0.1; done
	fi
	sleep 1 # the engine notes the end of the one before
fi
""" % w, 0o755)
    return w + "/step"


TWINS = 3  # tasks of each run with the very same command


def number_twins(tasks, order):
    """The tasks of a run that have one command, by their ends in the engine's record: the key of each is that of its processes."""
    for run in ("a", "b"):
        for n, t in enumerate(sorted((t for t in tasks if (t.run, t.key) == (run, "twin")), key=order)):
            t.key = "twin.%d" % n
    return tasks


def run_pair(w, command):
    """Two runs of the command at once from one shell; {run} is its name, and its folder."""
    script = "\n".join("(cd %s/%s && exec >../%s.out 2>&1; %s) &" % (w, run, run, command.replace("{run}", run))
                       for run in ("a", "b"))
    subprocess.run(["bash", "-c", script + "\nwait"], check=True)


class Task:
    """A task by the engine's record. Times: seconds since 1970, None: the engine does not say."""

    def __init__(self, run, key, name=None, begin=None, end=None, code=None, pid=None, attempt=None, wall=None,
                 cwd=None, trace=None, **fields):
        self.run, self.key, self.name, self.begin, self.end, self.code, self.pid = run, key, name, begin, end, code, pid
        self.attempt, self.wall, self.cwd, self.trace = attempt, wall, cwd, trace
        self.fields = fields  # what the task's record must have, for example job="7_1"


NOBODY = 65534
SAID = {}  # name and pipeline of each run, by the engine's record


# ---- the engines: prepare two folders, run, and read what the engine wrote -------------------------------------

def snakemake(w):
    step = make_step(w)
    for run in ("a", "b"):
        write("%s/%s/Snakefile" % (w, run), """
rule all:
    input: expand("out/{{s}}.txt", s=range({jobs})), "out/daemon", "out/flaky", "out/group", "out/script", "out/shadow",
           expand("out/twin.{{n}}", n=range({twins}))
rule same:
    output: "out/{{s}}.txt"
    threads: 2
    resources: mem_mb=100
    shell: "{step} {run} same.{{wildcards.s}} && touch {{output}}"
rule leaves_a_daemon:
    output: "out/daemon"
    shell: "{step} {run} daemon daemon && touch {{output}}"
rule flaky:
    output: "out/flaky"
    retries: 1
    shell: "{step} {run} flaky fail-first && sleep 3 && touch {{output}}"
rule in_a_script:
    output: "out/group"
    run:
        shell("{step} {run} run && touch {{output}}")
rule in_a_script_file:
    output: "out/script"
    script: "plot.py"
rule in_a_shadow:
    output: "out/shadow"
    shadow: "minimal"
    shell: "{step} {run} shadow && touch {{output}}"
rule twin:
    output: "out/twin.{{n}}"
    threads: lambda wildcards: 1 + int(wildcards.n)
    shell: "{step} {run} twin twin && cd out && touch twin.$((OMP_NUM_THREADS - 1))"
""".format(jobs=JOBS, step=step, run=run, twins=TWINS))
        write("%s/%s/plot.py" % (w, run), "import subprocess\nsubprocess.check_call(['%s', '%s', 'script'])\nopen(snakemake.output[0], 'w')\n" % (
            step, run))
    run_pair(w, "snakemake -j 4")
    tasks = []
    for run in ("a", "b"):
        log = text(glob.glob("%s/%s/.snakemake/log/*.log" % (w, run))[0])
        for path in glob.glob("%s/%s/.snakemake/metadata/*" % (w, run)):
            with open(path) as f:
                m = json.load(f)
            output = base64.b64decode(os.path.basename(path)).decode()
            key = "same." + output[4:-4] if output.endswith(".txt") else {"out/group": "run"}.get(output, output[4:])
            fields = {}
            if key.startswith("twin."):
                job = re.search(r"^    output: %s\n(?:    .*\n)*" % re.escape(output), log, re.M).group()
                fields = {"requested_cpus": int((re.findall(r"threads: (\d+)", job) or ["1"])[0])}
                key = "twin"
            # A Snakemake of its own runs these two; the metadata's times begin later.
            begin = None if key in ("run", "shadow") else m["starttime"]
            tasks.append(Task(run, key, m["rule"], begin, m["endtime"], 0, attempt=2 if key == "flaky" else 1, **fields))
        for _ in range(log.count("Error in rule flaky")):
            tasks.append(Task(run, "flaky", "flaky", code=1, attempt=1))
    return number_twins(tasks, lambda t: t.end), 0.5  # a rule's shell begins 3 to 90 ms behind the engine's record, more on a busy machine


def parallel(w):
    step = make_step(w)
    for run in ("a", "b"):
        os.makedirs("%s/%s" % (w, run))
    # An empty PARALLEL_HOME: parallel has not measured the host yet, as in a user's first run of it.
    run_pair(w, "(echo 0 daemon; echo 1 fail-first; seq -f '%%g plain' 2 %d; yes twin twin | head -n %d) | PARALLEL_HOME=%s/{run}/home parallel -j4 --retries 2 "
             "--colsep ' ' --joblog joblog '%s {run} {1} {2}'" % (JOBS - 1, TWINS, w, step))
    tasks = []
    for run in ("a", "b"):
        for line in text("%s/%s/joblog" % (w, run)).splitlines()[1:]:
            seq, _, begin, took, _, _, code, _, command = line.split("\t")
            key, how = command.split()[-2:]
            tasks.append(Task(run, key, "step", float(begin), float(begin) + float(took), int(code), attempt=2 if how == "fail-first" else 1,
                              wall=float(took), sample=seq))
        tasks.append(Task(run, "1", "step", code=1, attempt=1))  # the joblog has the last try alone
    return number_twins(tasks, lambda t: t.end), 0.5  # parallel notes the begin before its fork


def ninja(w):
    step = make_step(w)
    for run in ("a", "b"):
        write("%s/%s/build.ninja" % (w, run), "rule step\n  command = %s %s $out $how && touch $out\n" % (step, run) +
              "".join("build t%d: step\n" % i for i in range(JOBS)) + "build t%d: step\n  how = daemon\n" % JOBS +
              "rule twin\n  command = %s %s twin twin\n" % (step, run) + "".join("build twin%d: twin\n" % i for i in range(TWINS)) +
              "rule inner\n  command = ninja -C sub\nbuild inner: inner\n")
        write("%s/%s/sub/build.ninja" % (w, run), "rule step\n  command = %s %s $out && touch $out\nbuild s0: step\nbuild s1: step\n" % (step, run))
    run_pair(w, "ninja -j4")
    tasks = []
    for run in ("a", "b"):
        for folder in "", "sub/":
            for line in text("%s/%s/%s.ninja_log" % (w, run, folder)).splitlines():
                if not line.startswith("#"):
                    begin, end, _, output, _ = line.split("\t")  # ms from ninja's own begin
                    tasks.append(Task(run, "twin" if output.startswith("twin") else output, "ninja" if output == "inner" else "step",
                                      end=int(end), wall=(int(end) - int(begin)) / 1000))
    return number_twins(tasks, lambda t: t.end), None


def make(w):
    step = make_step(w)
    for run in ("a", "b"):
        write("%s/%s/Makefile" % (w, run), "all: %s inner ninja\n" % " ".join(
                  ["t%d" % i for i in range(JOBS)] + ["twin%d" % i for i in range(TWINS)]) +
              "twin%%:\n\t%s %s twin twin\n" % (step, run) +
              "ninja:\n\tcd built && ninja\n" +
              "X := $(shell %s %s none)\n" % (step, run) +
              "t%%:\n\t%s %s $@ $(if $(filter t0,$@),daemon) && touch $@\ninner:\n\t$(MAKE) -C sub\n" % (step, run))
        write("%s/%s/sub/Makefile" % (w, run), "all: s0 s1\ns%%:\n\t%s %s $@ && touch $@\n" % (step, run))
        write("%s/%s/built/build.ninja" % (w, run), "rule step\n  command = %s %s ninja && touch $out\nbuild e0: step\nbuild e1: step\n" % (step, run))
    run_pair(w, "make -j4 --debug=j")
    tasks = []
    for run in ("a", "b"):
        said = text("%s/%s.out" % (w, run))
        over = [int(pid) for pid in re.findall(r"Reaping winning child \S+ PID (\d+)", said)]
        for target, pid in re.findall(r"Putting child \S+ \((\S+)\) PID (\d+) on the chain", said):
            twin = target.startswith("twin")  # without a shell, so called like the whole program
            name = {"inner": "make", "ninja": "ninja"}.get(target, "step " + run if twin else "step")
            tasks.append(Task(run, "twin" if twin else target, name, end=over.index(int(pid)), pid=int(pid)))
    return number_twins(tasks, lambda t: t.end), None


def xargs(w):
    step = make_step(w)
    for run in ("a", "b"):
        os.makedirs("%s/%s" % (w, run))
    run_pair(w, "(echo 0 daemon; seq -f '%%g plain' %d; yes twin twin | head -n %d) | xargs -t -P4 -n2 %s {run}" % (JOBS - 1, TWINS, step))
    tasks = [Task(run, line.split()[-2], "step " + run) for run in ("a", "b") for line in text("%s/%s.out" % (w, run)).splitlines()
             if line.startswith(step)]
    return number_twins(tasks, lambda t: 0), None  # it writes no ends


def find(w):
    """One command after another. The truth is what find itself prints of each: whether the command succeeded."""
    step = make_step(w)
    for run in ("a", "b"):
        for name in ["f%d" % i for i in range(JOBS - 2)] + ["daemon", "fail"] + ["twin%d" % i for i in range(TWINS)]:
            write("%s/%s/list/%s" % (w, run, name), "")
    run_pair(w, r"find list -type f \( -name daemon -exec {step} {run} {{}} daemon \; -o -name fail -exec {step} {run} {{}} fail \; "
             r"-o -name 'twin*' -exec {step} {run} twin twin \; -o -name 'f?*' ! -name fail -execdir {step} {run} {{}} \; \) -printf '0 %p\n' "
             r"-o -type f -printf '1 %p\n'".replace("{step}", step).replace("{{}}", "{}"))
    tasks = []
    for run in ("a", "b"):
        for code, path in (line.split() for line in text("%s/%s.out" % (w, run)).splitlines()):
            name = os.path.basename(path)
            key = "twin" if name.startswith("twin") else path if name in ("daemon", "fail") else "./" + name
            tasks.append(Task(run, key, "step " + run, code=int(code)))
    return number_twins(tasks, lambda t: 0), None


def cwltool(w):
    step = make_step(w)
    for run in ("a", "b"):
        write("%s/%s/tool.cwl" % (w, run), json.dumps({
            "cwlVersion": "v1.2", "class": "CommandLineTool", "baseCommand": [step, run], "outputs": [],
            "inputs": {"n": {"type": "string", "inputBinding": {"position": 1}},
                       "how": {"type": "string", "inputBinding": {"position": 2}}}}))
        write("%s/%s/wf.cwl" % (w, run), json.dumps({
            "cwlVersion": "v1.2", "class": "Workflow", "requirements": {"ScatterFeatureRequirement": {}},
            "inputs": {"n": "string[]", "how": "string[]"}, "outputs": [],
            "steps": {"order": {"run": "tool.cwl", "scatter": ["n", "how"], "scatterMethod": "dotproduct",
                                "in": {"n": "n", "how": "how"}, "out": []}}}))
        how = ["daemon", "fail"] + ["plain"] * (JOBS - 2) + ["twin"] * TWINS
        write("%s/%s/in.json" % (w, run), json.dumps({"n": ["n%d" % i for i in range(JOBS)] + ["twin"] * TWINS, "how": how}))
    write(w + "/pids", "")
    for path in [top, w, w + "/pids", w + "/a", w + "/b"]:
        os.chmod(path, 0o755 if path == top else 0o777)
    run_pair(w, "HOME=%s/{run} setpriv --reuid %d --regid %d --clear-groups cwltool --parallel --on-error continue --timestamps "
             "--outdir out wf.cwl in.json" % (w, NOBODY, NOBODY))
    tasks = []
    for run in ("a", "b"):
        for name, cwd, command in re.findall(r"\[job (\w+?)(?:_\d+)?\] (/\S+)\$ ((?:.*\\\n)*.*)", text("%s/%s.out" % (w, run))):
            key, how = command.replace("\\\n", " ").split()[2:4]
            tasks.append(Task(run, drivers.twin_in(w, run, cwd) if key == "twin" else key, name, code=int(how == "fail"), cwd=cwd))
    return tasks, None


def toil(w):
    """CWL jobs in single-machine mode. A job that Toil tries again keeps its id."""
    step = make_step(w)
    for run in ("a", "b"):
        write("%s/%s/tool.cwl" % (w, run), json.dumps({
            "cwlVersion": "v1.2", "class": "CommandLineTool", "baseCommand": [step, run], "outputs": [],
            "inputs": {"n": {"type": "string", "inputBinding": {"position": 1}},
                       "how": {"type": "string", "inputBinding": {"position": 2}}}}))
        write("%s/%s/wf.cwl" % (w, run), json.dumps({
            "cwlVersion": "v1.2", "class": "Workflow", "requirements": {"ScatterFeatureRequirement": {}},
            "inputs": {"n": "string[]", "how": "string[]"}, "outputs": [],
            "steps": {"step": {"run": "tool.cwl", "scatter": ["n", "how"], "scatterMethod": "dotproduct",
                               "in": {"n": "n", "how": "how"}, "out": []}}}))
        write("%s/%s/in.json" % (w, run), json.dumps({"n": ["0", "1", "2"], "how": ["daemon", "fail-first", "plain"]}))
    run_pair(w, "toil-cwl-runner --jobStore js --retryCount 1 --outdir out wf.cwl in.json")
    tasks, seen = [], {}
    for run in ("a", "b"):
        for index, instance in re.findall(r"Issued job 'CWLJob' wf\.cwl\.(\d+)\.tool\.cwl (\S+) ", text("%s/%s.out" % (w, run))):
            seen[instance] = seen.get(instance, 0) + 1
            tasks.append(Task(run, index, "CWLJob", attempt=seen[instance]))
    return tasks, None


def cron(w):
    """Debian's cron in a mount namespace of its own, with two files in /etc/cron.d. The truth is cron's own syslog."""
    step = make_step(w)
    for run in ("a", "b"):
        os.makedirs("%s/%s" % (w, run))
        write("%s/cron.d/%s" % (w, run), "HOME=%s/%s\nMAILTO=\"\"\n* * * * * root %s %s none daemon\n" % (w, run, step, run))
    for path in "dev/null", "crontab":
        write("%s/%s" % (w, path), "")
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind(w + "/dev/log")
    p = subprocess.Popen(["unshare", "-m", "--propagation", "private", "sh", "-ec", """
mount --bind /dev/null "$0/dev/null"; mount --rbind "$0/dev" /dev; mount -t tmpfs none /run
mount -t tmpfs none /var/spool/cron; mkdir /var/spool/cron/crontabs
mount --bind "$0/cron.d" /etc/cron.d; mount --bind "$0/crontab" /etc/crontab; exec cron -f""", w], start_new_session=True)
    said, deadline = {}, time.monotonic() + 90
    log.settimeout(1)
    while len(said) < 2 and time.monotonic() < deadline:
        try:
            command = re.search(r"CMD \((.*)\)", log.recv(4096).decode())
        except TimeoutError:
            continue
        if command:
            said[command.group(1).split()[1]] = command.group(1)
    time.sleep(2)  # the jobs end, before the next minute
    p.terminate()
    p.wait()
    SAID["cron"] = {run: ("step", line) for run, line in said.items()}
    return [], None


def at(w):
    """Debian's at, in a mount namespace of its own. The truth is the numbers that at gives the jobs."""
    step = make_step(w)
    for run in ("a", "b"):
        write("%s/%s/job" % (w, run), "%s %s none daemon\n" % (step, run))
    p = subprocess.Popen(["unshare", "-m", "--propagation", "private", "sh", "-ec", """
mount -t tmpfs none /run; mount -t tmpfs none /var/spool/cron; cd /var/spool/cron
mkdir -m 1770 atjobs atspool; touch atjobs/.SEQ; chown -R daemon:daemon atjobs atspool
atd -f & until [ -s /run/atd.pid ]; do sleep .1; done
at -f "$0/a/job" now 2>"$0/said"; at -f "$0/b/job" now 2>>"$0/said"
until [ -z "$(find atjobs atspool -type f ! -name .SEQ)" ]; do sleep .1; done; kill $!; wait""", w], start_new_session=True)
    try:
        p.wait(testing.PATIENCE)
    finally:
        if p.poll() is None:  # the shell and its atd
            os.killpg(p.pid, signal.SIGKILL)
    check("at: both jobs have a number", len(re.findall(r"^job (\d+) at", text(w + "/said"), re.M)) == 2, text(w + "/said"))
    SAID["at"] = {"a": ("at", ""), "b": ("at", "")}
    return [], None


# ---- Slurm -----------------------------------------------------------------------------------------------------------

def slurm(w):
    """An array: one element requeues itself, one runs a step, one leaves a daemon, one fails. No element runs for the 5 s until
    the requeued one begins."""
    step, cluster = make_step(w), Cluster.get(os.path.join(top, "cluster"))
    for run in ("a", "b"):
        write("%s/%s/job.sh" % (w, run), """#!/bin/bash
if [ $SLURM_ARRAY_TASK_ID = 0 ]; then
	{step} {run} 0.${{SLURM_RESTART_COUNT:-0}}
	[ -n "${{SLURM_RESTART_COUNT:-}}" ] || {{ scontrol requeue $SLURM_JOB_ID; sleep 60; }}
	exit 0
fi
case $SLURM_ARRAY_TASK_ID in
1) {step} {run} 1; srun --quiet -n 2 {step} {run} 1.srun ;;
2) {step} {run} 2 daemon ;;
3) {step} {run} 3; exit 3 ;;
*) {step} {run} $SLURM_ARRAY_TASK_ID ;;
esac
""".format(step=step, run=run))
    run_pair(w, "sbatch --wait -J align --array=0-%d --cpus-per-task=2 --mem=10 --time=5 job.sh; :" % max(5, JOBS // 4))
    tasks = []
    for c in cluster.completions():
        if not c["WorkDir"].startswith(w + "/"):
            continue
        run, key, again = os.path.basename(c["WorkDir"]), c["ArrayTaskId"], c["JobState"] == "PENDING"
        fields = {"job": "%s_%s" % (c["ArrayJobId"], key), "sample": key}
        tres = dict(t.split("=") for t in c["Tres"].split(","))
        if key == "0":
            key = "0.%d" % (not again)
        tasks.append(Task(run, key, c["Name"], code=None if again else int(c["ExitCode"].split(":")[0]),
                          requested_cpus=int(tres["cpu"]), requested_memory_bytes=int(tres["mem"].rstrip("M")) << 20,
                          **({"attempt": 2} if key == "0.1" else {}), **fields))
        for number in re.findall(r"launch task StepId=%s\.(\d+) " % c["JobId"], text(cluster.w + "/slurmd.log")):
            for rank in "0", "1":  # srun -n 2
                tasks.append(Task(run, "1.srun", job="%s.%s" % (fields["job"], number), sample="%s.%s.%s" % (key, number, rank)))
    return tasks, None


def snakemake_slurm(w):
    """Snakemake submits its jobs: one run of Snakemake, whose tasks have Slurm's ids."""
    step, cluster = make_step(w), Cluster.get(os.path.join(top, "cluster"))
    for run in ("a", "b"):
        write("%s/%s/Snakefile" % (w, run), """
rule all:
    input: expand("out/{{s}}", s=range(3)), "out/flaky", "out/second"
rule sort:
    output: "out/{{s}}"
    resources: mem_mb=20
    shell: "{step} {run} sort.{{wildcards.s}} $([ {{wildcards.s}} != 0 ] || echo daemon) && touch {{output}}"
rule flaky:
    output: "out/flaky"
    retries: 1
    resources: mem_mb=20
    shell: "{step} {run} flaky.{{resources.mem_mb}} fail-first && touch {{output}}"
rule first:
    output: "out/first"
    group: "pair"
    resources: mem_mb=20
    shell: "{step} {run} pair && touch {{output}}"
rule second:
    input: "out/first"
    output: "out/second"
    group: "pair"
    resources: mem_mb=20
    shell: "{step} {run} pair && touch {{output}}"
""".format(step=step, run=run))
        write("%s/%s/status" % (w, run), """#!/bin/sh
case $(scontrol show job $1 | sed -n 's/.*JobState=\\([A-Z]*\\).*/\\1/p') in
COMPLETED) echo success ;;
FAILED|CANCELLED|TIMEOUT) echo failed ;;
*) echo running ;;
esac
""", 0o755)
    run_pair(w, "snakemake -j 4 --latency-wait 10 --cluster 'sbatch --parsable --mem={resources.mem_mb}' --cluster-status ./status")
    tasks = []
    for c in cluster.completions():
        if not c["WorkDir"].startswith(w + "/"):
            continue
        run = os.path.basename(c["WorkDir"])
        rule = re.fullmatch(r"snakejob\.(\w+)\.[\w-]+\.sh", c["Name"]).group(1)
        log = text(glob.glob("%s/%s/.snakemake/log/*.log" % (w, run))[0])
        # The engine's log says which wildcard each job has.
        wildcard = re.search(r"Submitted job (\d+) with external jobid '%s'" % c["JobId"], log)
        of = wildcard and re.search(r"rule %s:\n(?:    .*\n)*?    jobid: %s\n(?:    .*\n)*?    wildcards: s=(\d+)" % (rule, wildcard.group(1)), log)
        key = "sort." + of.group(1) if of else {"flaky": "flaky.20"}.get(rule, rule)
        tasks.append(Task(run, key, rule, job=c["JobId"], code=int(c["ExitCode"].split(":")[0]),
                          attempt=1 + sum((t.run, t.key) == (run, key) for t in tasks), requested_memory_bytes=20 << 20,
                          granted_memory_bytes=20 << 20, granted_source="job", **({"sample": "s=" + of.group(1)} if of else {})))
    return tasks, None


# ---- what skepd recorded ---------------------------------------------------------------------------------------------

def records(path):
    with open(path) as f:
        for line in f:
            yield json.loads(line)


def fields_of(record):
    return record.get("fields", record)


def seconds(t):
    """RFC 3339 with nanoseconds, or ns since 1970."""
    if isinstance(t, (int, float)):
        return t / 1e9
    head, _, rest = t.partition(".")
    return calendar.timegm(time.strptime(head.rstrip("Z"), "%Y-%m-%dT%H:%M:%S")) + float("0." + (rest.rstrip("Z") or "0"))


def image_of(images, w, run, key):
    """The last image of the process that said so: another process may have had its pid."""
    keys = {key, "twin"} if key.startswith("twin.") else {key}
    said = [f["upid"] for f in images if run in (f["argv"] or []) and keys & set(f["argv"]) and any(w in word for word in f["argv"])]
    return ([f for f in images if f["upid"] in said] or images or [{}])[-1]


def root_of(task, images):
    """The image of the task's first process with which the task began."""
    upid, _, image = task["task_id"].rpartition(".")
    return next(f for f in images[int(upid.split("-")[0])] if f["upid"] == task["root_upid"] and f["image"] == int(image))


def wrong_by_trace(t, task, images):
    """The figures of .command.trace with which skep's disagree. Nextflow's wrapper measures around the script, from its own
    shell: at least what the script's process did, and at most what all processes of the task did."""
    def took(f):
        return seconds(f["end_ns"]) - seconds(f["start_ns"])

    whole = [f for of_pid in images.values() for f in of_pid if f.get("task_id") == task["task_id"]]
    script = [f for f in whole if (f["argv"] or [""])[-1] == t.cwd + "/.command.sh"]
    if len(script) != 1:
        return [(t.run, t.key, "processes of .command.sh", len(script))]
    bounds = [("realtime", took(script[0]) - 0.002, int(t.trace["realtime"]) / 1000, took(task) + 0.002)]  # date's milliseconds
    bounds += [(name, script[0][name + "_bytes"], int(t.trace[name]), sum(f[name + "_bytes"] for f in whole)) for name in ("rchar", "wchar")]
    bounds.append(("peak_rss", 0, int(t.trace["peak_rss"]) << 10, sum(f["rss_peak_bytes"] for f in whole)))
    return [(t.run, t.key, *bound) for bound in bounds if not bound[1] <= bound[2] <= bound[3]]


KEYED = ("slurm", "airflow", "jenkins")  # a run that a key joins may stay open after its last process, for the next one
NO_TASKS = ("cron", "at", "luigi", "systemd")  # no exec shows where a task begins


def judge(engine, w, truth, tolerance, out):
    runs, tasks, images = {}, [], {}
    name = "snakemake" if engine == "snakemake-slurm" else engine
    for record in records(out):
        stream, f = record.get("stream"), fields_of(record)
        if stream == "run" and f.get("engine") == name and (f["cwd"].startswith(w + "/") or engine == "at"):  # not another make on this host
            runs[f["run"]] = f
        elif stream == "task" and f.get("engine") == name:
            tasks.append(f)
        elif stream == "process.exit":
            images.setdefault(f["pid"], []).append(f)
    # skepd sends a task's record again when its name arrives late: the later record replaces the first
    tasks = list({f["task_id"]: f for f in tasks if f["run"] in runs}.values())
    folder = {r: os.path.basename(f["cwd"]) for r, f in runs.items()}
    said = [line.split() for line in text(w + "/pids").splitlines()]
    if engine == "at":  # starts each job in /: the run is that of its processes
        for pid, run, key in said:
            of = image_of(images.get(int(pid), []), w, run, key).get("run")
            folder[of] = "".join(sorted({run, folder.get(of, run)}))
    check("%s: two runs, each in its folder" % engine, sorted(folder.values()) == ["a", "b"], folder)
    if engine not in KEYED:
        check("%s: both runs have ended" % engine, all(f["state"] == "ended" for f in runs.values()))

    if engine in SAID:
        named = {folder[r]: (f["name"], f.get("pipeline", "")) for r, f in runs.items()}
        check("%s: the runs' names and pipelines" % engine, named == SAID[engine], (named, SAID[engine]))

    # which processes said that they belong to which task, and where skepd has them
    right_run = right_task = 0
    task_of, missed = {}, []
    for pid, run, key in said:
        mine = image_of(images.get(int(pid), []), w, run, key)
        in_run = folder.get(mine.get("run")) == run
        right_run += in_run
        if key == "none":  # what make's $(shell ...) starts belongs to no task
            good = not mine.get("task_id")
        else:
            of_attempt = task_of.setdefault((run, key), set())
            of_attempt.add(mine.get("task_id") or "?")
            good = bool(mine.get("task_id"))
        right_task += in_run and good
        if not (in_run and good):
            missed.append((pid, run, key, mine.get("run"), mine.get("task_id"), mine.get("tool")))
    attempts = {}
    for t in truth:
        attempts[(t.run, t.key)] = attempts.get((t.run, t.key), 0) + 1
    wrong = {k: v for k, v in task_of.items() if k in attempts and len(v) != attempts[k]}
    shared = len(task_of) - len({frozenset(v) for v in task_of.values()})
    check("%s: each task's processes are in one task of their own, %d attempts in all" % (engine, len(truth)),
          not wrong and not shared, "%s shared %d" % (list(wrong.items())[:5], shared))
    check("%s: processes in the right run: %d of %d" % (engine, right_run, len(said)), said and right_run == len(said), missed[:5])
    check("%s: processes in the right task: %d of %d" % (engine, right_task, len(said)), right_task == len(said), missed[:5])
    check("%s: each of its %d tasks has its record, and there are no others" % (engine, len(truth)),
          len(tasks) == len(truth) and (truth or engine in NO_TASKS),
          "%d records, beside: %s" % (len(tasks), [(f["task"], f.get("sample"), f["root_upid"]) for f in tasks
                                                   if not any(f["task_id"] in ids for ids in task_of.values())]))

    by_id = {f["task_id"]: f for f in tasks}
    if engine == "make":  # a ninja in a recipe
        edges = [image_of(images.get(int(pid), []), w, run, key) for pid, run, key in said if key == "ninja"]
        check("make: the edges of a ninja in a recipe are steps of the recipe's task", edges and all(f.get("step") == "ninja: step" for f in edges),
              [f.get("step") for f in edges])
    late, bad = 0, []
    misnamed, names, late_names, walls, traced = [], 0, 0, [], []
    # Beside other tests a process waits for a CPU between its action and its note of the time.
    busy = 1 + int(os.getloadavg()[0] / os.cpu_count())
    tolerance, slack = (tolerance or 0) * busy, 0.5 * busy
    for t in truth:
        mine = [by_id[i] for i in task_of.get((t.run, t.key), ()) if i in by_id]
        mine.sort(key=lambda f: seconds(f["start_ns"] if "start_ns" in f else f["start"]))
        if t.attempt and mine:
            mine = [mine[min(t.attempt, len(mine)) - 1]]
            bad += [(t.run, t.key, "attempt", mine[0].get("attempt"), t.attempt)] if mine[0].get("attempt") != t.attempt else []
        if t.name and mine:
            names += 1
            # a name that only a running job shows: a short job keeps that of its program
            short = {"in_a_script_file": "plot.py", "order": "step " + t.run}.get(t.name)
            misnamed += [] if any(f["task"] in (t.name, short) for f in mine) else [(t.run, t.key, t.name, [f["task"] for f in mine])]
            late_names += not any(f["task"] == t.name for f in mine)
        if t.code is not None and mine:
            bad += [(t.run, t.key, "exit code", mine[0].get("exit_code"), t.code)] if mine[0].get("exit_code") != t.code else []
        if t.begin and tolerance and mine:
            began, ended = seconds(mine[0]["start_ns"]), seconds(mine[0]["end_ns"])
            # a record begins at the fork, which on a busy machine is well before a script that writes down its begin
            late += not (-slack <= began - t.begin <= tolerance and -tolerance <= ended - t.end <= slack)
        if t.fields and mine:
            good = next((f for f in mine if all(f.get(k) == v for k, v in t.fields.items()) and t.name in (None, f["task"])), None)
            bad += [] if good else [(t.run, t.key, t.name, t.fields, [{k: f.get(k) for k in ("task", *t.fields)} for f in mine])]
        if t.pid:
            ids = [f["task_id"] for f in mine or tasks]
            bad += [] if any(i.startswith("%d-" % t.pid) for i in ids) else [(t.run, t.key, "pid", t.pid, ids)]
        if t.cwd and mine:
            cwd = root_of(mine[0], images)["cwd"]
            bad += [(t.run, t.key, "folder", cwd, t.cwd)] if cwd != t.cwd else []
        if t.wall is not None and mine:
            walls.append((t.wall, seconds(mine[0]["end_ns"]) - seconds(mine[0]["start_ns"]), t.run, t.key))
        if t.trace and mine:
            traced += wrong_by_trace(t, mine[0], images)
    check("%s: exit codes, attempts and pids are the engine's" % engine, not bad, bad[:5])
    # A task whose record waits while skepd is restarted keeps its first name.
    if names and not (engine == "snakemake" and int(os.environ.get("ENGINE_RESTARTS", "0"))):
        check("%s: tasks with their right name: %d of %d; by their program: %d" % (
            engine, names - len(misnamed) - late_names, names, late_names), not misnamed, misnamed[:5])
    if tolerance and not os.environ.get("SKEP_SANITIZE"):
        check("%s: tasks begin and end within %.2f s of the engine's record" % (engine, tolerance), late <= len(truth) // 10,
              "%d of %d" % (late, len(truth)))
    if walls and not os.environ.get("SKEP_SANITIZE"):
        wrong = [x for x in walls if abs(x[0] - x[1]) > slack]
        check("%s: tasks are as long as the engine's record says: %d of %d" % (engine, len(walls) - len(wrong), len(walls)),
              len(wrong) <= len(walls) // 10, wrong[:5])
    if any(t.trace for t in truth):
        check("%s: the figures of %d tasks agree with their .command.trace" % (engine, sum(bool(t.trace) for t in truth)), not traced, traced[:5])


def known(pid):
    """What skepd says about the process; None: it has not read the fork."""
    command = [os.environ["SKEP"], "recognize", "--json", "--socket", top + "/sock", str(pid)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(answer.stdout) if answer.returncode == 0 else None


def recognize():
    """skep recognize says why a process is where it is, and checks a table."""
    skep = os.environ["SKEP"]
    shell = subprocess.Popen(["sh", "-c", "echo 600 | xargs sleep"], cwd=top, stderr=subprocess.DEVNULL)

    def child(pid, name):
        return until(lambda: subprocess.run(["pgrep", "-P", pid, "-x", name], stdout=subprocess.PIPE, text=True).stdout.split(), name)

    found = child(str(shell.pid), "xargs")
    children = child(found[0], "sleep")

    def in_task():  # skepd has read the exec, too
        said = known(children[0])
        return said if said and said["task"] else None

    a = until(in_task, "skep recognize")
    check("skep recognize: run, task and the recognizer's place",
          a["run"]["engine"] == "xargs" and a["task"]["name"] == "sleep" and a["scopes"][-1]["begins_tasks"] and
          a["scopes"][-1]["file"].startswith("workflows.d/launcher.json") and a["scopes"][-1]["pid"] == int(found[0]), a)
    check("skep recognize: marks and rules", (a["scopes"][-1]["mark"], a["task"]["mark"], a["why_run"]["rule"], a["why_task"]["rule"]) ==
          ("run[0]", "task[0]", "R1", "R3"), a)
    mine = known(found[0])
    check("skep recognize: why a process is no task", mine["task"] is None and "process of xargs itself" in mine["why_task"]["text"], mine)
    check("skep recognize: without recognizers it is in another run", (a["without"] or {}).get("id") != a["run"]["id"], a)
    said = subprocess.run([skep, "recognize", "--socket", top + "/sock", children[0]], stdout=subprocess.PIPE, text=True).stdout
    check("skep recognize: for people", "xargs (launcher) process %s" % found[0] in said and "R3: at its exec held task[0] of xargs" in said, said)
    check("skep recognize: a process that is not there",
          subprocess.run([skep, "recognize", "--socket", top + "/sock", "999999999"], stderr=subprocess.DEVNULL).returncode == 1)
    os.kill(int(children[0]), signal.SIGTERM)
    shell.wait()
    check("skep recognize --check: the built-in tables hold",
          subprocess.run([skep, "recognize", "--check"], stdout=subprocess.DEVNULL).returncode == 0)
    write(top + "/bad.json", '{ "recognizers": [ { "engine": "x", "class": "launcher",\n'
          '"task": [ { "child": true } ], "tests": [ { "argv": ["a"], "child": true, "task": false } ] } ] }')
    bad = subprocess.run([skep, "recognize", "--check", top + "/bad.json"], stderr=subprocess.PIPE, text=True)
    check("skep recognize --check: a test that fails names its file and place",
          bad.returncode == 3 and "bad.json:1" in bad.stderr and "tests[0]: it begins a task, but should not" in bad.stderr,
          bad.stderr)


def named_while_it_runs(engine, command, user=None):
    """Waits until skepd has the name of a job that waits for a file `over`; returns its task."""
    w = top + "/waits-" + engine
    os.chmod(w, 0o777)
    with open(w + "/said", "w") as said:
        leader = subprocess.Popen(command, cwd=w, stdout=said, stderr=said, env={**os.environ, "HOME": w}, user=user, group=user,
                                  extra_groups=None if user is None else [])
    try:
        def task():
            for child in subprocess.run(["pgrep", "-P", str(leader.pid)], stdout=subprocess.PIPE, text=True).stdout.split():
                ask = [os.environ["SKEP"], "recognize", "--json", "--socket", top + "/sock", child]
                of = (json.loads(subprocess.run(ask, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout or b"null") or {}).get("task")
                if of and of["name_source"] == "file":
                    return of
        return until(task, "%s: a job's name from its file" % engine)
    finally:
        write(w + "/over", "")
        leader.wait()


def while_they_run():
    """Names that only a running job shows: of a rule with a command, of one with a script, of a step of a CWL workflow."""
    hold = "until [ -e over ]; do sleep 0.1; done"
    if "snakemake" in engines:
        w = top + "/waits-snakemake"
        for name, how in ("holds", 'shell: "%s; touch {output}"' % hold), ("plots", 'script: "plot.py"'):
            shutil.rmtree(w, ignore_errors=True)
            write(w + "/Snakefile", 'rule %s:\n    output: "out.{s}"\n    %s\n' % (name, how))
            write(w + "/plot.py", "import os, time\nwhile not os.path.exists('over'): time.sleep(0.1)\nopen(snakemake.output[0], 'w')\n")
            task = named_while_it_runs("snakemake", ["snakemake", "-j1", "out.7"])
            check("snakemake: a running job has its rule (%s)" % name, (task["name"], task["sample"]) == (name, "s=7"), task)
            check("snakemake: skep recognize shows the file that skepd read (%s)" % name, task["files"] == [w + "/.snakemake/log"], task)
    if "cwltool" in engines:
        w = top + "/waits-cwltool"
        write(w + "/hold", "#!/bin/sh\nuntil [ -e %s/over ]; do sleep 0.1; done\n" % w, 0o755)
        write(w + "/tool.cwl", json.dumps({"cwlVersion": "v1.2", "class": "CommandLineTool", "baseCommand": [w + "/hold"],
                                           "inputs": {}, "outputs": []}))
        write(w + "/wf.cwl", json.dumps({"cwlVersion": "v1.2", "class": "Workflow", "inputs": {}, "outputs": [],
                                         "steps": {"order": {"run": "tool.cwl", "in": {}, "out": []}}}))
        # As a user: the kernel lets no other process read where root's standard error goes, which has the names of the
        # jobs.
        task = named_while_it_runs("cwltool", ["cwltool", "wf.cwl"], NOBODY)
        check("cwltool: a running job has its step's name", task["name"] == "order", task)
        check("cwltool: skep recognize shows the file that skepd read", task["files"][0].startswith("standard error of process "), task)


def forge():
    """Another user's process shows the key of a job, of the jobs of a Snakemake run and of a DAG's run, while each of them runs."""
    w = top + "/forge"
    os.makedirs(w)
    os.chmod(top, 0o755)
    stepd = shutil.copy("/bin/bash", w + "/slurmstepd")
    stays = "bash -c 'until [ -e %s/over ]; do sleep 0.1; done'; :" % w
    job = "SLURM_JOB_ID=7077 SLURM_JOB_NAME=secret " + stays
    dag = "AIRFLOW_CTX_DAG_ID=secret AIRFLOW_CTX_TASK_ID=t AIRFLOW_CTX_DAG_RUN_ID=r1 " + stays
    commands = [[stepd, "-c", job],
                [shutil.copy("/bin/bash", w + "/snakemake"), "-c", stays, "-s", "secret.smk", "--target-jobs", "align:s=1", "--wait-for-files",
                 "/data/secret/.snakemake/tmp.ab12cd34"],
                [shutil.copy("/bin/bash", w + "/airflow"), "-c", dag]]
    started = [subprocess.Popen(c, cwd="/", start_new_session=True) for c in commands]
    until(lambda: all(known(p.pid) for p in started), "skep recognize")
    started += [subprocess.Popen(c, cwd="/", start_new_session=True, user=NOBODY, group=NOBODY, extra_groups=[]) for c in commands]
    until(lambda: all(known(p.pid) for p in started), "skep recognize")
    open(w + "/over", "w").close()
    return [p.wait() for p in started]


def forged(out):
    """Each user has a run of the job, of the Snakemake and of the DAG; none of them has processes of both users."""
    users, names = {}, {}
    for record in records(out):
        f = fields_of(record)
        if record.get("stream") == "process.exit":
            users.setdefault(f["run"], set()).add(f["uid"] == NOBODY)
        elif record.get("stream") == "run" and "secret" in (f.get("name"), f.get("pipeline")):
            names.setdefault(f["engine"], set()).add(f["run"])
    for engine in "slurm", "snakemake", "airflow":
        runs = names.get(engine, ())
        check("%s: a key of another user's run joins nothing" % engine, sorted(map(sorted, map(users.get, runs))) == [[False], [True]], runs)


POD, CONTAINER = "0a1b2c3d-1111-4222-8333-%012d", "%064x"


def pods():
    """Two pods of a Job, one in cgroups as the kubelet makes them, one in those of its systemd driver (cgroup_manager_linux.go of
    Kubernetes, the scope's name from containerd). Returns the container and the pid of each."""
    made, found = [], []
    for i, form in enumerate(("kubepods/burstable/pod{pod}/{container}",
                              "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{pod_}.slice/cri-containerd-{container}.scope")):
        pod, container = POD % i, CONTAINER % (77 + i)
        files, folders = drivers.make_cgroup(form.format(pod=pod, pod_=pod.replace("-", "_"), container=container))
        made += folders
        if not files:
            print("# kubernetes: not tested, no cgroup can be made here")
            return []
        # runc's init is in the container's cgroups before it executes the container's program.
        p = subprocess.Popen(["sh", "-c", 'for f; do echo 0 >"$f"; done; exec sh -c "sleep 0.2; :"', "init", *files], start_new_session=True)
        p.wait()
        found.append((container, p.pid))
    for path in reversed(made):
        os.rmdir(path)
    return found


def in_pods(out, found):
    """The process in each pod has the pod's container."""
    has = {f["ppid"]: f["container"] for f in (fields_of(r) for r in records(out) if r.get("stream") == "process.exit") if f["tool"] == "sleep"}
    check("kubernetes: the containers of both forms of a pod's cgroup", all(has.get(pid) == container for container, pid in found), (has, found))


def rules(w, truth, out):
    """skepd names tasks by the rules in Snakemake's log and metadata, in its records and in the lake, which it corrects."""
    def names(run, *options):
        shown = json.loads(subprocess.run([os.environ["SKEP"], "show", "--json", "--lake", top + "/lake", *options, run],
                                          stdout=subprocess.PIPE, check=True).stdout)
        return sorted((t["task"], t["name_source"]) for t in shown["tasks"])

    ids = {os.path.basename(f["cwd"]): f["run"] for f in (fields_of(r) for r in records(out) if r.get("stream") == "run")
           if f.get("engine") == "snakemake" and f["cwd"].startswith(w + "/")}
    last = {f["task_id"]: f for f in (fields_of(r) for r in records(out) if r.get("stream") == "task")}
    for run in ("a", "b"):
        either = {"plot.py": "in_a_script_file"}  # a job that ends before skepd has read its script keeps the script's name
        want = sorted(t.name for t in truth if t.run == run)
        of_run = [f for f in last.values() if f["run"] == ids[run]]
        check("snakemake: skepd names the %d tasks of run %s by their rules" % (len(want), run),
              sorted(either.get(f["task"], f["task"]) for f in of_run) == want, [(f["task"], f["name_source"]) for f in of_run])
        check("snakemake: the names of run %s are from its files" % run,
              all(f["name_source"] == ("argv" if f["task"] in ("in_a_script", "in_a_shadow", "plot.py") else "file") for f in of_run),
              [(f["task"], f["name_source"]) for f in of_run])
        check("snakemake: the samples and the requests of run %s are its log's" % run,
              sorted((f.get("sample"), f.get("requested_memory_bytes")) for f in of_run if f["task"] == "same") ==
              sorted(("s=%d" % i, 100 << 20) for i in range(JOBS)),
              [(f.get("sample"), f.get("requested_memory_bytes")) for f in of_run if f["task"] == "same"])
        check("snakemake: of jobs with one command none has another job's sample (run %s)" % run,
              all(f.get("sample") in (None, "", "n=%d" % (f["requested_cpus"] - 1)) for f in of_run if f["task"] == "twin"),
              [(f.get("sample"), f.get("requested_cpus")) for f in of_run if f["task"] == "twin"])
        check("skep show --no-files: the rules of run %s, from the lake" % run,
              sorted(either.get(n, n) for n, _ in names(ids[run], "--no-files")) == want, names(ids[run], "--no-files"))


def run_engine(engine):
    w = os.path.join(top, engine)
    if engine in drivers.DRIVERS:
        return drivers.DRIVERS[engine](w, make_step(w), 6, Task)
    return globals()[engine.replace("-", "_")](w)


def main():
    conf, log, out = (os.path.join(top, n) for n in ("skepd.conf", "log", "out.jsonl"))
    here = os.path.dirname(os.path.abspath(__file__))
    units = re.search(r"\n## Units of systemd\n.*?\n\n((?:    [^\n]*\n)+)", text(here + "/../../docs/reference/recognizers.md"), re.S).group(1)
    write(top + "/units.json", units)
    restarts = int(os.environ.get("ENGINE_RESTARTS", "0"))
    saves = {"spool": {"path": top + "/spool.db", "reserve": 0}, "pin_dir": top + "/bpf/skep"} if restarts else {}
    write(conf, json.dumps({
        "interval": "1s",
        "recognizers": [top + "/units.json"],
        **saves,
        "plugin_dirs": os.environ["SKEP_PLUGIN_DIRS"].split(":"),
        "probes": [{"plugin": "proc"}],
        "sinks": [{"plugin": "file", "path": out}, {"plugin": "lake", "min_free": "0", "path": top + "/lake"}],
        "control": {"socket": os.path.join(top, "sock")},
    }))
    daemon = start(conf, log)
    with concurrent.futures.ThreadPoolExecutor(len(engines)) as pool:  # all engines at once
        running = {e: pool.submit(run_engine, e) for e in engines}
        for _ in range(restarts):
            time.sleep(3)
            stop(daemon, log)
            time.sleep(1)
            daemon = start(conf, log)
        truths = {e: f.result() for e, f in running.items()}
    forge()
    in_pod = pods()
    recognize()
    while_they_run()
    said = {line.split()[0] for path in glob.glob(top + "/*/pids") for line in text(path).splitlines()}
    until(lambda: said <= {str(fields_of(r)["pid"]) for r in testing.records(out, "process.exit") if r["last"]})
    if "snakemake" in engines and not restarts:  # skepd reads a folder again until a minute after the task
        until(lambda: time.sleep(0.5) or "step" not in {f["task_id"]: f["task"] for f in map(fields_of, testing.records(out, "task"))
                                                        if f.get("engine") == "snakemake"}.values())
    stop(daemon, log)
    forged(out)
    in_pods(out, in_pod)
    if "snakemake" in engines and not restarts:  # a task whose record waits while skepd is restarted keeps its first name
        rules(os.path.join(top, "snakemake"), truths["snakemake"][0], out)
    for engine in engines:
        if truths[engine][0] is None:
            continue
        judge(engine, os.path.join(top, engine), *truths[engine], out)
    sys.exit(testing.failures > 0)


main()
