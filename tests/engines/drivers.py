# SPDX-License-Identifier: Apache-2.0
"""Engines that Debian lacks, by a stand-in: stand_in.c under the engine's name, with its arguments, starts what the engine starts.

Each function says where its layout comes from. The truth is the stand-in's record, written as the engine writes its own.
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import time
import uuid

from testing import PATIENCE

STEP_HOW = {0: "daemon", 1: "fail-first"}  # of task 0 a daemon outlives its task, task 1 fails and is tried again


class Stand:
    def __init__(self, w, step):
        self.w, self.step, self.plans = w, step, {}

    def install(self, name, text=None, interpreter=False):
        """A program of this name: the stand-in, or a script; a script with interpreter is run by a stand-in python3."""
        path = "%s/bin/%s" % (self.w, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if interpreter:
            text = "#!%s\n" % self.install("python3")
        if text is None:
            shutil.copy(os.environ["STAND_IN_PROGRAM"], path)
        else:
            with open(path, "w") as f:
                f.write(text)
            os.chmod(path, 0o755)
        return path

    def attempt(self, plan, key, cwd, argv, code="", stdin="", **variables):
        """A line of the plan of this folder."""
        os.makedirs(cwd, exist_ok=True)
        self.plans.setdefault(plan, []).append("\t".join((
            key, cwd, code, stdin, "\x1f".join("%s=%s" % v for v in variables.items()), "\x1f".join(argv))) + "\n")

    def file(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        return path

    def write_plans(self):
        for plan, lines in self.plans.items():
            self.file(plan + "/plan", "".join(lines))

    def run_pair(self, command):
        """Both runs at once from one shell; {run} is the name of one, and its folder."""
        self.write_plans()
        script = "\n".join("(cd %s/%s && export STAND_IN=$PWD && exec >../%s.out 2>&1; %s) &" %
                           (self.w, run, run, command.replace("{run}", run)) for run in ("a", "b"))
        subprocess.run(["bash", "-c", script + "\nwait"], check=True)

    def record(self, folder):
        with open(folder + "/record") as f:
            for line in f:
                key, number, pid, begin, end, code = line.split("\t")
                yield key, int(number), int(pid), float(begin), float(end), int(code)


def make_cgroup(path):
    """In all hierarchies. Returns their cgroup.procs and the folders that it made, [] where no cgroup can be made."""
    roots = [r for r in glob.glob("/sys/fs/cgroup/*/") if os.path.exists(r + "cgroup.procs") and "cpuset" not in r]
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):  # v2 alone
        roots = ["/sys/fs/cgroup/"]
    made, files = [], []
    if not all(os.access(r, os.W_OK) for r in roots):
        return [], []
    for root in roots:
        folder = root.rstrip("/")
        for part in path.split("/"):
            folder += "/" + part
            if not os.path.isdir(folder):
                os.mkdir(folder)
                made.append(folder)
        files.append(folder + "/cgroup.procs")
    return files, made


# What Nextflow's wrapper does, in words of our own: see nextflow(). @NAME@ is the task, @DIR@ its work directory.
WRAPPER = r"""#!/bin/bash
### ---
### name: '@NAME@'
### ...
# NEXTFLOW TASK: @NAME@
set -e
set -u
NXF_ENTRY=${1:-nxf_main}

nxf_date() { date +%s%3N; }

nxf_below() { # the process and all below it
	ps -e -o pid= -o ppid= | awk -v root="$1" '{ up[$1] = $2 }
		END { for (p in up) for (q = p; q in up; q = up[q]) if (q == root) { print p; break } }'
}

nxf_memory() { # sums of what /proc/PID/status says about them
	local pid
	for pid in $(nxf_below "$1"); do cat /proc/$pid/status 2>/dev/null || true; done |
		awk -v total="$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)" '
			/^VmPeak:/ { vmem_peak += $2 } /^VmSize:/ { vmem += $2 }
			/^VmHWM:/ { rss_peak += $2 } /^VmRSS:/ { rss += $2 }
			/^voluntary_ctxt/ { vol += $2 } /^nonvoluntary_ctxt/ { inv += $2 }
			END { printf "%.0f %d %d %d %d %d %d", 1000 * rss / total, vmem, rss, vmem_peak, rss_peak, vol, inv }'
}

nxf_mem_watch() {
	local names=(%mem vmem rss peak_vmem peak_rss vol_ctxt inv_ctxt) most=(0 0 0 0 0 0 0) now i got=142
	while [ $got -gt 128 ]; do # until a line comes
		now=($(nxf_memory $1))
		for i in "${!most[@]}"; do [ "${now[i]}" -le "${most[i]}" ] || most[i]=${now[i]}; done
		got=0
		read -t 1 -r || got=$?
	done
	for i in "${!most[@]}"; do echo "${names[i]}=${most[i]}"; done >>.command.trace
}

nxf_ticks() { awk '/^cpu / { for (i = 2; i <= 9; i++) sum += $i; printf "%.0f", sum }' /proc/stat; }
nxf_cpu() { awk '{ printf "%.0f", 10 * ($16 + $17) }' /proc/$$/stat; }
nxf_io() { awk 'NR <= 6 { print $2 }' /proc/$$/io; }

nxf_trace() {
	local cpus start ticks cpu io io_now names=(rchar wchar syscr syscw read_bytes write_bytes) i task end
	touch .command.trace
	cpus=$(grep -c ^processor /proc/cpuinfo)
	ticks=$(nxf_ticks)
	cpu=$(nxf_cpu)
	io=($(nxf_io))
	start=$(nxf_date)
	trap 'kill $mem_proc' ERR # of a task that fails the trace stays empty
	/bin/bash -ue @DIR@/.command.sh &
	task=$!
	exec 11> >(nxf_mem_watch $task)
	mem_proc=$!
	wait $task
	end=$(nxf_date)
	cpu=$(awk -v cpu=$(($(nxf_cpu) - cpu)) -v ticks=$(($(nxf_ticks) - ticks)) -v n=$cpus 'BEGIN { printf "%.0f", ticks ? 100 * n * cpu / ticks : 0 }')
	io_now=($(nxf_io))
	printf '%s\n' nextflow.trace/v2 realtime=$((end - start)) %cpu=$cpu >.command.trace
	for i in {0..5}; do echo "${names[i]}=$((io_now[i] - io[i]))"; done >>.command.trace
	echo DONE >&11
	wait $mem_proc || true
}

nxf_launch() { /bin/bash @DIR@/.command.run nxf_trace; }
on_exit() {
	exit_status=${nxf_main_ret:=$?}
	printf -- $exit_status > @DIR@/.exitcode
	exit $exit_status
}
nxf_main() {
	trap on_exit EXIT
	touch @DIR@/.command.begin
	set +e
	(set -o pipefail; (nxf_launch | tee .command.out) 3>&1 1>&2 2>&3 | tee .command.err) &
	pid=$!
	wait $pid || nxf_main_ret=$?
}
$NXF_ENTRY
"""


def twin_in(w, run, cwd):
    """The key of the task that ran in this directory, of those with one command: see make_step() of engines.py."""
    return next(os.path.basename(os.path.dirname(path)).replace("twin.%s." % run, "twin.") for path in glob.glob("%s/twin.%s.*/cwd" % (w, run))
                if open(path).read().strip() == cwd)


def nextflow(w, step, jobs, Task):
    """Local executor. Tree and files: command-run.txt and command-trace.txt in modules/nextflow/src/main/resources/
    nextflow/executor of nextflow 05d79d1 and b4b269f, and LocalTaskHandler; with tracing, so .command.run starts itself
    a second time. A retry has a work directory of its own, and the same name; so have the tasks 2 and 3, which nobody
    tried again. The last three have one name and one script.

    The truth is in the files of the wrapper: .command.begin, .exitcode, .command.trace, the header of .command.run.
    Only the pid is the stand-in's, as Nextflow's native_id."""
    s = Stand(w, step)
    java = s.install("java")
    s.install("nextflow", '#!/bin/bash\nexec -a java %s -cp %s/nextflow-all.jar nextflow.cli.Launcher "$@"\n' % (java, w))

    def folder_of(run, i, attempt):
        digest = hashlib.md5(("%s %d %d" % (run, i, attempt)).encode()).hexdigest()
        return "%s/%s/work/%s/%s" % (w, run, digest[:2], digest[2:])

    for run in ("a", "b"):
        for i in range(jobs + 3):
            name = "ALIGN (S%d)" % (2 if i == 3 else i) if i < jobs else "TWIN"
            for attempt in range(1 + (i == 1)):
                folder = folder_of(run, i, attempt + 1)
                how = "twin twin" if i >= jobs else "%d %s" % (i, STEP_HOW.get(i, "").replace("fail-first", "fail" if not attempt else ""))
                s.file(folder + "/.command.sh", "#!/bin/bash -ue\n%s %s %s\n" % (step, run, how))
                s.file(folder + "/.command.run", WRAPPER.replace("@NAME@", name).replace("@DIR@", folder))
                s.attempt("%s/%s" % (w, run), str(i), folder, ["/bin/bash", "-ue", ".command.run"])
    s.run_pair("%s/bin/nextflow run main.nf -name happy_{run}" % w)
    tasks = []
    for run in ("a", "b"):
        for key, number, pid, *_ in s.record("%s/%s" % (w, run)):
            folder = folder_of(run, int(key), number)
            with open(folder + "/.command.run") as f:
                name, sample = re.search(r"^### name: '(\w+)(?: \((\w+)\))?'$", f.read(), re.M).groups()
            with open(folder + "/.exitcode") as f:
                code = int(f.read())
            with open(folder + "/.command.trace") as f:
                trace = dict(line.split("=") for line in f.read().splitlines()[1:])
            tasks.append(Task(run, twin_in(w, run, folder) if name == "TWIN" else key, name, os.stat(folder + "/.command.begin").st_mtime,
                              os.stat(folder + "/.exitcode").st_mtime, code, pid, number, cwd=folder, trace=trace,
                              **({"sample": sample} if sample else {})))
    return tasks, 1


def cromwell(w, step, jobs, Task):
    """The Local backend of Cromwell c805f3c: JobPaths, BackgroundAsyncJobExecutionActor (script.background, script.submit) and
    StandardAsyncExecutionActor (the script's last lines). The script writes its command's exit code to the file rc and ends with
    0, and Cromwell reads rc."""
    s = Stand(w, step)
    java = s.install("java")
    for run in ("a", "b"):
        root = "%s/%s/cromwell-executions/hello/%s" % (w, run, uuid.uuid5(uuid.NAMESPACE_OID, w + run))
        for i in range(jobs):
            for attempt in range(1, 2 + (i == 1)):
                call = "%s/call-greet/shard-%d%s" % (root, i, "/attempt-%d" % attempt if attempt > 1 else "")
                e = call + "/execution"
                s.file(e + "/script", """#!/bin/bash
cd {e}
(
cd {e}
{step} {run} {i}.{attempt} {how} && sleep 2.5
)  > {e}/stdout 2> {e}/stderr
echo $? > {e}/rc.tmp
(
cd {e}
find . -type d -exec sh -c '[ -z "$(ls -A '"'"'{{}}'"'"')" ] && touch '"'"'{{}}'"'"'/.file' \\;
)
mv {e}/rc.tmp {e}/rc
""".format(e=e, step=step, run=run, i=i, attempt=attempt,
           how="fail" if (i, attempt) == (1, 1) else STEP_HOW.get(i, "") if i == 0 else ""))
                s.file(e + "/script.submit", "#!/bin/bash\n/usr/bin/env bash %s/script\n" % e)
                s.file(e + "/script.background", "#!/bin/bash\n'/bin/bash' '%s/script.submit' >%s/stdout.background 2>%s/stderr.background &\n"
                       "echo $!\n" % (e, e, e))
                s.attempt("%s/%s" % (w, run), str(i), call, ["/bin/bash", e + "/script.background"], code=e + "/rc")
    s.run_pair("exec -a java %s -jar /opt/cromwell-86.jar run hello.wdl" % java)
    return [Task(run, "%s.%d" % (key, number), "greet", begin, end, sample=key, attempt=number)
            for run in ("a", "b") for key, number, pid, begin, end, code in s.record("%s/%s" % (w, run))], 2  # below the 2.5 s: a task that ended with script.background would be found


def miniwdl(w, step, jobs, Task):
    """The singularity backend of miniwdl 00a78df: WDL/runtime/backend/singularity.py and cli_subprocess.py; a retry has work2."""
    s = Stand(w, step)
    s.install("miniwdl", interpreter=True)
    # The stand-in of the container's client executes the command of the container.
    client = s.install("singularity", '#!/bin/bash\nwhile [ "$1" != /bin/bash ]; do shift; done\n"$@"\n')
    for run in ("a", "b"):
        for i in range(jobs):
            folder = "%s/%s/20261101_101010_align/call-sort-%d" % (w, run, i)
            for attempt in range(1, 2 + (i == 1)):
                work = folder + "/work" + (str(attempt) if attempt > 1 else "")
                how = "fail" if (i, attempt) == (1, 1) else STEP_HOW[0] if i == 0 else ""
                s.attempt("%s/%s" % (w, run), str(i), folder,
                          [client, "exec", "--pwd", "/mnt/miniwdl_task_container/work", "--bind", work + ":/mnt/miniwdl_task_container/work",
                           "/cache/ubuntu.sif", "/bin/bash", "-c", "cd %s 2>/dev/null; %s %s %d.%d %s" % (folder, step, run, i, attempt, how)])
    s.run_pair("%s/bin/miniwdl run wf/align.wdl x=1" % w)
    return [Task(run, "%s.%d" % (key, number), "sort", begin, end, code, pid, sample=key, attempt=number)
            for run in ("a", "b") for key, number, pid, begin, end, code in s.record("%s/%s" % (w, run))], 1


def airflow(w, step, jobs, Task):
    """Airflow 2's LocalExecutor: the scheduler starts `airflow tasks run DAG TASK RUN --local`, which forks, sets AIRFLOW_CTX_* and
    starts the BashOperator's bash (airflow/utils/operator_helpers.py, executors/local_executor.py, hooks/subprocess.py). A try is a
    process of its own. Both DAG runs have one scheduler."""
    s = Stand(w, step)
    command = s.install("airflow", interpreter=True)
    for run in ("a", "b"):
        for i in range(jobs):
            for attempt in range(1, 2 + (i == 1)):
                plan = "%s/%s/try-%d-%d" % (w, run, i, attempt)
                s.attempt("%s/scheduler" % w, "%s %d" % (run, i), "%s/%s" % (w, run),
                          [command, "tasks", "run", "etl", "t%d" % i, "manual__" + run, "--local", "--subdir", "DAGS_FOLDER/etl.py"],
                          STAND_IN=plan)
                how = "fail" if (i, attempt) == (1, 1) else STEP_HOW[0] if i == 0 else ""
                s.attempt(plan, "x", "%s/%s" % (w, run), ["/usr/bin/bash", "-c", "%s %s %d.%d %s" % (step, run, i, attempt, how)],
                          AIRFLOW_CTX_DAG_ID="etl", AIRFLOW_CTX_TASK_ID="t%d" % i, AIRFLOW_CTX_DAG_RUN_ID="manual__" + run,
                          AIRFLOW_CTX_TRY_NUMBER=str(attempt))
    s.write_plans()
    subprocess.run([command, "scheduler"], env={**os.environ, "STAND_IN": w + "/scheduler"}, stdout=subprocess.DEVNULL)
    return [Task(*key.split()[:1], "%s.%d" % (key.split()[1], number), "t" + key.split()[1], begin, end, code, pid, attempt=number)
            for key, number, pid, begin, end, code in s.record(w + "/scheduler")], 1


def torchrun(w, step, jobs, Task):
    """torch/distributed/elastic/agent/server/local_elastic_agent.py: the variables of a rank. All ranks start again when one
    fails, and TORCHELASTIC_RESTART_COUNT counts."""
    s = Stand(w, step)
    command = s.install("torchrun", interpreter=True)
    train = s.install("train.py", '#!/bin/bash\nexec %s "$1" "$RANK.$TORCHELASTIC_RESTART_COUNT" "$2"\n' % step)
    for run in ("a", "b"):
        for rank in range(4):
            for restart in range(2):
                s.attempt("%s/%s" % (w, run), str(rank), "%s/%s" % (w, run), [train, run, "fail" if not restart else STEP_HOW[0] if rank == 0 else ""],
                          RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="4", GROUP_RANK="0", TORCHELASTIC_RUN_ID="none",
                          TORCHELASTIC_RESTART_COUNT=str(restart))
    s.run_pair("%s --nproc-per-node 4 --max-restarts 3 train.py" % command)
    return [Task(run, "%s.%d" % (key, number - 1), "train.py", begin, end, code, pid, sample=key, attempt=number)
            for run in ("a", "b") for key, number, pid, begin, end, code in s.record("%s/%s" % (w, run))], 1


def gitlab_runner(w, step, jobs, Task):
    """executors/shell and shells/bash.go of gitlab-runner: one runner serves all jobs. For each stage of a job it starts a login
    shell and feeds it a script, which exports CI_* in a pipeline's subshell. What the shell's profile starts is no task. One stage
    here: skep takes each stage of a job for a run."""
    s = Stand(w, step)
    command = s.install("gitlab-runner")
    for number, run in enumerate(("a", "b")):
        for stage in ("step_script",):
            script = s.file("%s/%s.%s" % (w, run, stage), "set -o errexit\ncd %s/builds/t/0/g/p\n: | eval $'export CI_JOB_ID=%d\\nexport CI_JOB_NAME=test-%s\\n"
                            "export CI_PROJECT_PATH=lab/%s\\n%s %s %s %s\\n:'\nexit 0\n" % (
                                "%s/%s" % (w, run), 70 + number, run, run, step, run, stage, "daemon"))
            os.makedirs("%s/%s/builds/t/0/g/p" % (w, run))
            s.attempt(w + "/runner", "%s %s" % (run, stage), "%s/%s" % (w, run), ["bash", "--login"], stdin=script)
    s.write_plans()
    subprocess.run([command, "run"], env={**os.environ, "STAND_IN": w + "/runner"}, stdout=subprocess.DEVNULL)
    return [Task(*key.split(), "step " + key[0]) for key, *_ in s.record(w + "/runner")], None


def github_actions(w, step, jobs, Task):
    """src/Runner.Listener and src/Runner.Worker of actions/runner: the listener starts a worker for each job, whose steps are
    scripts in _temp. Only the steps have GITHUB_*."""
    s = Stand(w, step)
    listener, worker = s.install("Runner.Listener"), s.install("Runner.Worker")
    for number, run in enumerate(("a", "b")):
        plan = "%s/%s/worker" % (w, run)
        s.attempt(w + "/listener", run, "%s/%s" % (w, run), [worker, "spawnclient", "110", "113"], STAND_IN=plan)
        for i in range(3):
            script = s.file("%s/%s/_work/_temp/%s.sh" % (w, run, uuid.uuid5(uuid.NAMESPACE_OID, "%s%d" % (run, i))),
                            "%s %s %d %s\n:\n" % (step, run, i, STEP_HOW[0] if i == 0 else "fail" if i == 2 else ""))
            s.attempt(plan, str(i), "%s/%s" % (w, run), ["/usr/bin/bash", "-e", script], GITHUB_RUN_ID=str(90 + number), GITHUB_JOB="build",
                      GITHUB_WORKFLOW="CI", RUNNER_TRACKING_ID="github_%s" % uuid.uuid5(uuid.NAMESPACE_OID, run))
    s.write_plans()
    subprocess.run([listener, "run"], env={**os.environ, "STAND_IN": w + "/listener"}, stdout=subprocess.DEVNULL)
    return [Task(run, key, None, begin, end, code, pid)
            for run in ("a", "b") for key, number, pid, begin, end, code in s.record("%s/%s/worker" % (w, run))], 1


def jenkins(w, step, jobs, Task):
    """An sh step of a pipeline: BourneShellScript.java of the durable-task plugin (012fb61, launchWithCookie and scriptLauncherCmd;
    nohup as in older ones). One agent, a java, serves both builds. The wrapper ends with 0; the command's exit code is in
    jenkins-result.txt. retry() starts the step anew."""
    s = Stand(w, step)
    agent = s.install("java")
    for number, run in enumerate(("a", "b")):
        folder = "%s/%s" % (w, run)
        for i in range(4):
            for attempt in range(1, 2 + (i == 1)):
                control = "%s@tmp/durable-%08x" % (folder, 16 * i + attempt)
                how = "fail" if (i, attempt) == (1, 1) else STEP_HOW[0] if i == 0 else ""
                s.file(control + "/script.sh", "%s %s %d.%d %s\n:\n" % (step, run, i, attempt, how))
                s.attempt(w + "/agent", "%s %d" % (run, i), folder, ["nohup", "sh", "-c", (
                    "pid=$$; {{ while [ \\( -d /proc/$pid -o \\! -d /proc/$$ \\) -a -d '{c}' -a \\! -f '{c}/jenkins-result.txt' ]; do "
                    "touch '{c}/jenkins-log.txt'; sleep 0.3; done }} & jsc=durable-0a1b; JENKINS_SERVER_COOKIE=$jsc 'sh' -xe '{c}/script.sh' "
                    "> '{c}/jenkins-log.txt' 2>&1; echo $? > '{c}/jenkins-result.txt.tmp'; mv '{c}/jenkins-result.txt.tmp' "
                    "'{c}/jenkins-result.txt'; wait").format(c=control)], code=control + "/jenkins-result.txt",
                    JOB_NAME="lab/" + run, BUILD_NUMBER=str(7 + number), STAGE_NAME="stage %d" % i)
    s.write_plans()
    subprocess.run([agent, "-jar", "agent.jar"], env={**os.environ, "STAND_IN": w + "/agent"}, stdout=subprocess.DEVNULL)
    return [Task(*key.split()[:1], "%s.%d" % (key.split()[1], number), "stage " + key.split()[1], begin, end, 0, pid, engine="jenkins")
            for key, number, pid, begin, end, _ in s.record(w + "/agent")], 1


def buildkite(w, step, jobs, Task):
    """agent/job_runner.go and internal/job/executor.go of buildkite/agent: the agent starts `buildkite-agent bootstrap` for a job,
    which starts a wrapper around each hook (internal/job/hook/wrapper.go 17a0dd7) and a shell for the job's command. A retry is a
    job of its own."""
    s = Stand(w, step)
    agent = s.install("buildkite-agent")
    for number, run in enumerate(("a", "b")):
        plan, folder = "%s/%s/bootstrap" % (w, run), "%s/%s" % (w, run)
        s.attempt(w + "/agent", run, folder, [agent, "bootstrap"], STAND_IN=plan, BUILDKITE_JOB_ID="0a1b-%d" % number, BUILDKITE_LABEL="test " + run,
                  BUILDKITE_PIPELINE_SLUG="lab")
        hook = s.file("%s/hooks/pre-command" % folder, "%s %s hook\n" % (step, run))
        wrapper = s.file("%s/tmp/buildkite-agent-hook-wrapper12/hook-script-wrapper34" % folder,
                         '"{a}" env dump >"{f}/before" 2>&1\n. "{h}"\nexport BUILDKITE_HOOK_EXIT_STATUS=$?\n'
                         '"{a}" env dump >"{f}/after" 2>&1\nexit $BUILDKITE_HOOK_EXIT_STATUS\n'.format(a=agent, f=folder, h=hook))
        s.attempt(plan, "hook", folder, ["/bin/bash", wrapper])
        s.attempt(plan, "command", folder, ["/bin/bash", "-e", "-c", "%s %s command %s" % (step, run, (STEP_HOW[0], "fail")[number])])
    s.write_plans()
    subprocess.run([agent, "start"], env={**os.environ, "STAND_IN": w + "/agent"}, stdout=subprocess.DEVNULL)
    return [Task(run, key, {"hook": "hook", "command": "step " + run}[key], begin, end, code, pid, engine="buildkite")
            for run in ("a", "b") for key, _, pid, begin, end, code in s.record("%s/%s/bootstrap" % (w, run))], 1


def agent(w, step, jobs, Task):
    """Two sessions of agents: claude, a program for node that runs a command as `bash -c -l "source SNAPSHOT && eval 'COMMAND' ..."`, and
    codex, which runs `bash -lc COMMAND`. What an agent starts without a shell is no task."""
    s = Stand(w, step)
    node, codex = s.install("node"), s.install("codex")
    claude = s.install("claude", "#!%s\n" % node)
    for run in ("a", "b"):
        folder = "%s/%s" % (w, run)
        snapshot = s.file(folder + "/snapshot.sh", ":\n")
        for i in range(jobs):
            command = "%s %s %d %s" % (step, run, i, STEP_HOW[0] if i == 0 else "fail" if i == 2 else "")
            s.attempt(folder, str(i), folder, ["/bin/bash", "-c", "-l", "source %s && eval '%s' < /dev/null && pwd -P >| %s/cwd" % (
                snapshot, command, folder)] if run == "a" else ["/bin/bash", "-lc", "cd %s && %s" % (folder, command)])
        s.attempt(folder, "none", folder, [step, run, "none"])
    s.run_pair("if [ {run} = a ]; then %s -p fix; else %s exec fix; fi" % (claude, codex))
    return [Task(run, key, "step", begin, end, code, pid, engine="agent")
            for run in ("a", "b") for key, _, pid, begin, end, code in s.record("%s/%s" % (w, run)) if key != "none"], 1


def luigi(w, step, jobs, Task):
    """luigi/worker.py: with several workers TaskProcess is a fork that executes nothing, so skep knows the run alone."""
    s = Stand(w, step)
    command = s.install("luigi", """#!/usr/bin/python3
import os, subprocess
for i in range(6):
    if os.fork() == 0:
        os._exit(subprocess.call([os.environ["STEP"], os.environ["RUN"], "none", ("daemon", "fail", "")[min(i, 2)]]))
for i in range(6):
    os.wait()
""")
    for run in ("a", "b"):
        os.makedirs("%s/%s" % (w, run))
    s.run_pair("STEP=%s RUN={run} %s --module tasks Top --workers 6" % (step, command))
    return [], None


def systemd(w, step, jobs, Task):
    """The main processes of two units: systemd moves its child into the unit's cgroup, and then the child executes the unit's program
    (src/core/exec-invoke.c). docs/reference/recognizers.md has the recognizer."""
    s = Stand(w, step)
    manager, folders = s.install("systemd"), []
    for run, unit in (("a", "backup"), ("b", "nightly-import")):
        files, made = make_cgroup("skep-engines-%d/%s.service" % (os.getpid(), unit))
        folders += made
        s.attempt(w + "/manager", run, "%s/%s" % (w, run), ["sh", "-c", 'for f; do echo 0 >"$f"; done; exec sh -c "%s %s none daemon; :"' % (step, run),
                                                            "sh", *files])
    if not folders:
        print("# systemd: not tested, no cgroup can be made here")
        return None, None
    s.write_plans()
    subprocess.run([manager], env={**os.environ, "STAND_IN": w + "/manager"})
    deadline = time.monotonic() + PATIENCE
    for folder in sorted(folders, key=len, reverse=True):
        while open(folder + "/cgroup.procs").read() and time.monotonic() < deadline:  # the units' daemons
            time.sleep(0.1)
        os.rmdir(folder)
    return [], None


DRIVERS = {"nextflow": nextflow, "cromwell": cromwell, "miniwdl": miniwdl, "airflow": airflow, "torchrun": torchrun,
           "gitlab-runner": gitlab_runner, "github-actions": github_actions, "jenkins": jenkins, "buildkite": buildkite,
           "agent": agent, "luigi": luigi, "systemd": systemd}
