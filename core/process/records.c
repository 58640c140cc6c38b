/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/records.c - the field tables of the records that the core emits.  A field is named after its struct
 * member, which ends in its unit, so that one name serves the lake's columns, JSON keys and every other sink.
 */
#include "core/process/records.h"

#include <skep/plugin.h>

#define F(member, type, sem, unit, help) SKEP_FIELD(REC, member, #member, type, sem, unit, help)
#define STR(member, help) F(member, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", help)
#define STRV(member, help) F(member, SKEP_T_STRV, SKEP_S_ATTRIBUTE, "", help)
#define FLAG(member, help) F(member, SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "", help)
#define ID(member, help) F(member, SKEP_T_U64, SKEP_S_ATTRIBUTE, "", help)
#define UPID(member, help) F(member, SKEP_T_UPID, SKEP_S_ATTRIBUTE, "", help)
#define TIME(member, help) F(member, SKEP_T_TIME, SKEP_S_ATTRIBUTE, "ns", help)
#define SUM(member, unit, help) F(member, SKEP_T_U64, SKEP_S_DELTA, unit, help)
#define LEVEL(member, unit, help) F(member, SKEP_T_U64, SKEP_S_GAUGE, unit, help)

#define REC struct record_process
static const struct skep_field process_fields[] = {
	UPID(upid, "identity of the process"),
	UPID(parent_upid, "identity of its last known parent"),
	ID(image, "0 for the process's first program, one more for each exec; fold_forks leaves out most records of 0"),
	ID(pid, "process id in the initial pid namespace"),
	ID(ppid, "process id of the parent"),
	STR(run, "id of the run it belongs to"),
	STR(pipeline, "name of what you run again and again"),
	STR(task, "step of the run"),
	STR(tool, "the program, seen through interpreters and wrappers"),
	STR(container, "runtime id of its container"),
	STRV(labels, "name=value, set by the rule that includes it"),
	FLAG(wrapper, "the image only starts the tool that it is named after"),
	FLAG(execed, "true: an exec began it; false: a fork that runs its parent's program"),
	FLAG(last, "the last image of its process"),
	FLAG(core_dumped, "a core was dumped"),
	FLAG(oom_killed, "chosen by the out-of-memory killer"),
	STR(state, "exited, replaced (by another exec), running, zombie or lost"),
	STR(comm, "name of the main thread"),
	STR(exe, "resolved path of the binary"),
	STR(filename, "path as given to exec"),
	STRV(argv, "arguments, secrets blanked"),
	STR(cwd, "working directory when the image began"),
	STR(cgroup, "path of its cgroup"),
	ID(uid, "user id"),
	ID(gid, "group id"),
	ID(session, "session id"),
	TIME(start_ns, "when the image began: at its exec, or at the fork directly before (fold_forks)"),
	TIME(end_ns, "when it ended"),
	F(exit_code, SKEP_T_I64, SKEP_S_ATTRIBUTE, "1", "exit code; -1: killed by a signal or not ended"),
	ID(signal, "signal that ended it, 0: none"),
	ID(approx, "which figures are not exact, a sum of bits; 0: all are exact"),
	STR(oom_cgroup, "cgroup whose memory limit was hit"),
	LEVEL(oom_limit_bytes, "By", "memory limit that was hit, 0: the host's memory"),
	LEVEL(oom_usage_bytes, "By", "memory use of that cgroup at the kill"),
	LEVEL(oom_peak_bytes, "By", "largest memory use of that cgroup"),
	SUM(cpu_ns, "ns", "time on CPUs, all threads"),
	SUM(user_ns, "ns", "CPU time in user mode"),
	SUM(system_ns, "ns", "CPU time in the kernel"),
	SUM(run_delay_ns, "ns", "time that threads were runnable and waited for a CPU"),
	SUM(run_count, "1", "times that a thread was put on a CPU"),
	SUM(voluntary_switches, "1", "context switches because a thread waited"),
	SUM(involuntary_switches, "1", "context switches because the scheduler ran another thread"),
	SUM(minor_faults, "{fault}", "page faults without I/O"),
	SUM(major_faults, "{fault}", "page faults that waited for I/O"),
	LEVEL(rss_peak_bytes, "By", "largest resident memory of this image"),
	LEVEL(maxrss_bytes, "By", "largest resident memory of the process as wait4 reports it; last image only"),
	SUM(rchar_bytes, "By", "bytes that read calls returned, caches and pipes included"),
	SUM(wchar_bytes, "By", "bytes that write calls accepted"),
	SUM(read_calls, "1", "read-like system calls"),
	SUM(write_calls, "1", "write-like system calls"),
	SUM(read_bytes, "By", "bytes read from storage"),
	SUM(write_bytes, "By", "bytes dirtied for storage"),
	SUM(cancelled_write_bytes, "By", "dirtied bytes that were truncated before they were written"),
	LEVEL(threads_peak, "1", "largest number of threads seen, 0: not known"),
	STR(task_id, "the task among those of that name"),
	STR(traceparent, "trace context in its environment (W3C), if it differs from its task's or run's"),
	STRV(environ,
	     "NAME=value: the variables that the probe's option environ names, except SKEP_TASK and TRACEPARENT, and "
	     "where a run or a task can begin those of the recognizers"),
	STR(container_name, "name of its container, where its runtime's arguments or state file, its cgroup or the kubelet's logs say it"),
	STR(container_image, "image of its container, as its runtime's arguments or state file name it"),
	STR(pod, "name of its Kubernetes pod"),
	SKEP_FIELD(REC, name_space, "namespace", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "Kubernetes namespace of its pod"),
	STR(step, "path within the task of engines further in, as \"make: a.o\""),
	STR(scopes, "engines around it, the outermost first, as \"cron > make > snakemake\"; empty: none"),
	STR(unit, "systemd unit (service or scope) in which it ran; not the scope that a runtime makes for a container"),
	F(exe_size_bytes, SKEP_T_U64, SKEP_S_ATTRIBUTE, "By", "size of the file exe when it was executed; 0: not known"),
	F(exe_modified_ns, SKEP_T_U64, SKEP_S_ATTRIBUTE, "ns",
	  "when the contents of that file last changed, since 1970: another time is another binary; 0: not known"),
};
#undef REC

#define CONTAINED(of_)                                                                 \
	STR(container, "runtime id of the container of " of_),                         \
		STR(container_name, "name of the container of " of_),                  \
		STR(container_image, "image of the container of " of_),                \
		STR(pod, "name of the Kubernetes pod of " of_),                        \
		SKEP_FIELD(REC, name_space, "namespace", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", \
			   "Kubernetes namespace of the pod of " of_),                 \
		STR(unit, "systemd unit of " of_)

#define REC struct record_task
static const struct skep_field task_fields[] = {
	STR(task, "name"),
	STR(task_id, "the task among those of its name: pid, start and image of its root"),
	STR(run, "id of the run it belongs to"),
	STR(pipeline, "name of what you run again and again"),
	STR(state,
	    "how its root ended: exited, replaced (by a program of another task), lost, excluded; running: its run ended before it"),
	STR(traceparent, "trace context in which it was started (W3C), if it differs from its run's"),
	UPID(root_upid, "identity of its first process"),
	TIME(start_ns, "begin"),
	TIME(end_ns, "end"),
	F(exit_code, SKEP_T_I64, SKEP_S_ATTRIBUTE, "1", "exit code of its first process; -1: none"),
	ID(signal, "signal that ended its first process, 0: none"),
	SUM(processes, "1", "processes that belonged to it"),
	SUM(cpu_ns, "ns", "time on CPUs until its end"),
	SUM(run_delay_ns, "ns", "time runnable and waiting for a CPU"),
	LEVEL(rss_peak_bytes, "By", "largest resident memory of one process of it"),
	SUM(read_bytes, "By", "bytes read from storage"),
	SUM(write_bytes, "By", "bytes dirtied for storage"),
	STR(engine, "the engine that began it; empty: SKEP_TASK in its environment did"),
	STR(scopes, "engines around its first process when it began, the outermost first, as \"cron > make\""),
	STR(sample, "its input: wildcard values, a file, an index"),
	STR(job, "id of its scheduler's job"),
	ID(attempt, "1: the first; 0: not known"),
	STR(name_source, "where its name came from: argv, environ, cwd, program, cgroup, file"),
	F(requested_cpus, SKEP_T_F64, SKEP_S_GAUGE, "{cpu}", "CPUs that were requested for it, 0: not known"),
	LEVEL(requested_memory_bytes, "By", "memory that was requested for it, 0: not known"),
	LEVEL(requested_walltime_ns, "ns", "time that was requested for it, 0: not known"),
	LEVEL(requested_gpus, "{gpu}", "GPUs that were requested for it, 0: not known"),
	STR(requested_source, "where the request, or its first part, came from: argv, environ, file"),
	F(granted_cpus, SKEP_T_F64, SKEP_S_GAUGE, "{cpu}", "CPUs that it could use, 0: not known"),
	LEVEL(granted_memory_bytes, "By", "memory that it could use, 0: not known"),
	LEVEL(granted_gpus, "{gpu}", "GPUs that it could use, 0: not known"),
	STR(granted_source,
	    "where the grant, or its first part, came from: job (the scheduler's job around it), cgroup (its limits)"),
	SUM(inner_runs, "1", "runs of engines and of skep run that its processes began or joined; what these do is not in its figures"),
	CONTAINED("its first process, else of the others if they share it"),
};
#undef REC

#define REC struct record_run
static const struct skep_field run_fields[] = {
	STR(run, "id"),
	STR(name, "readable name"),
	STR(pipeline, "name of what you run again and again"),
	STR(host, "host name"),
	STR(boot_id, "boot id of the host"),
	STR(kernel, "kernel release"),
	STR(version, "version of skep"),
	STR(state, "running or ended"),
	STRV(argv, "command, secrets blanked"),
	STR(cwd, "working directory at its begin"),
	UPID(root_upid, "identity of its first process"),
	ID(uid, "user id of its first process"),
	TIME(start_ns, "begin"),
	TIME(end_ns, "end"),
	F(exit_code, SKEP_T_I64, SKEP_S_ATTRIBUTE, "1", "exit code of the root; -1: none"),
	ID(signal, "signal that ended the root, 0: none"),
	LEVEL(cpus, "1", "CPUs of the host"),
	LEVEL(interval_ns, "ns", "how often it was sampled"),
	LEVEL(memory_peak_bytes, "By", "most memory that its processes held together, of memory_source"),
	STR(memory_source, "process: peak of its largest process, more than any sample's sum; pss: largest sum at a sample, each page divided among the processes that map it; rss: the same, each page counted in every process that maps it"),
	SUM(processes_seen, "1", "processes that belonged to it"),
	SUM(rusage_cpu_ns, "ns", "CPU time that wait4 gave for the root and the children it waited for, 0: not known"),
	SUM(lost_kernel, "1", "records lost in the kernel while it ran"),
	SUM(lost_queue, "1", "records lost because queues were full while it ran"),
	SUM(lost_spool, "1", "records lost at the spool while it ran"),
	SUM(lost_sink, "1", "records that a sink refused while it ran"),
	STR(traceparent, "trace context in which it was started (W3C), empty: none"),
	STR(origin, "command: skep run began it; workflow, scheduler, launcher, origin: its engine did; shell: a job of an interactive shell; session: another session"),
	STR(engine, "workflow engine, scheduler or launcher that leads it"),
	STR(parent_run, "id of the run in which it began"),
	STR(job, "id of the scheduler's job that it is, or runs in; for an array's element the array's id"),
	CONTAINED("its first process"),
	STR(account, "account that the scheduler charges for its job; empty: none known"),
	STR(join_key, "runs of one engine, uid and key on several hosts are parts of one run; empty: none"),
};
#undef REC

#define REC struct record_process_sample
static const struct skep_field process_sample_fields[] = {
	UPID(upid, "identity of the process"),
	ID(image, "number of its image, as in process.exit"),
	ID(pid, "process id in the initial pid namespace"),
	STR(run, "id of the run it belongs to"),
	STR(tool, "the program"),
	FLAG(last, "the image has ended: its last sample"),
	TIME(start_ns, "begin of the interval"),
	LEVEL(interval_ns, "ns", "length of the interval"),
	LEVEL(quiet_ns, "ns", "time just before the interval, since the last sample, in which it used nothing"),
	SUM(cpu_ns, "ns", "time on CPUs, all threads"),
	SUM(run_delay_ns, "ns", "time that threads were runnable and waited for a CPU"),
	SUM(run_count, "1", "times that a thread was put on a CPU"),
	SUM(voluntary_switches, "1", "context switches because a thread waited"),
	SUM(involuntary_switches, "1", "context switches because the scheduler ran another thread"),
	SUM(minor_faults, "{fault}", "page faults without I/O"),
	SUM(major_faults, "{fault}", "page faults that waited for I/O"),
	SUM(rchar_bytes, "By", "bytes that read calls returned, caches and pipes included"),
	SUM(wchar_bytes, "By", "bytes that write calls accepted"),
	SUM(read_calls, "1", "read-like system calls"),
	SUM(write_calls, "1", "write-like system calls"),
	SUM(read_bytes, "By", "bytes read from storage"),
	SUM(write_bytes, "By", "bytes dirtied for storage"),
	SUM(cancelled_write_bytes, "By", "dirtied bytes that were truncated before they were written"),
	LEVEL(rss_bytes, "By", "resident memory now"),
	LEVEL(rss_peak_bytes, "By", "largest resident memory of this image so far"),
	LEVEL(threads_peak, "1", "largest number of threads seen in this image so far"),
};
#undef REC

#define REC struct record_tool_sample
static const struct skep_field tool_sample_fields[] = {
	STR(run, "id of the run, empty outside of any"),
	STR(tool, "the program"),
	TIME(start_ns, "begin of the interval"),
	LEVEL(interval_ns, "ns", "length of the interval"),
	SUM(cpu_ns, "ns", "time on CPUs"),
	SUM(run_delay_ns, "ns", "time runnable and waiting for a CPU"),
	SUM(read_bytes, "By", "bytes read from storage"),
	SUM(write_bytes, "By", "bytes dirtied for storage"),
	LEVEL(rss_bytes, "By", "resident memory of its live processes at the end of the interval"),
	LEVEL(processes, "1", "processes alive at the end of the interval"),
	SUM(started, "1", "images begun in the interval"),
};
#undef REC

#define REC struct record_loss
static const struct skep_field loss_fields[] = {
	STR(instance, "plugin instance that lost them"),
	STR(stream, "stream of the lost records"),
	STR(where, "kernel, queue, spool or sink"),
	SUM(count, "{record}", "records lost since the last such record"),
};
#undef REC

#define REC struct record_ledger
static const struct skep_field ledger_fields[] = {
	STR(run, "id of the run, empty: an interval of the host"),
	STR(account, "cpu (ns), disk.read, disk.write, net.rx, net.tx (bytes)"),
	STR(item, "item of the account"),
	STR(kind, "reference, part of it, memo (within other parts) or unattributed (reference less parts)"),
	TIME(start_ns, "begin of the interval"),
	LEVEL(interval_ns, "ns", "length of the interval"),
	F(amount, SKEP_T_I64, SKEP_S_DELTA, "1", "amount in the account's unit"),
};
#undef REC

#define REC struct record_audit
static const struct skep_field audit_fields[] = {
	STR(run, "id of the run"),
	STR(head, "SHA-256 of the last line of its audit"),
	LEVEL(entries, "1", "entries of the audit, its header and its end left out"),
	ID(uid, "user id of the user who published it"),
};
#undef REC

#define FIGURE(member, help) F(member, SKEP_T_F64, SKEP_S_ATTRIBUTE, "1", help)

#define REC struct record_finding
static const struct skep_field finding_fields[] = {
	STR(id, "the finding's id, equal in the record that opens it and in the record that closes it"),
	STR(kind, "stall, leftover-process, orphan-container, gpu-held-idle or oom-kill"),
	STR(severity, "warn or error"),
	STR(state, "open: skepd has found it; closed: it is over, and window_ns is how long it lasted"),
	STR(host, "host name"),
	STR(run, "id of the run it belongs to; empty: none"),
	STR(pipeline, "name of what you run again and again"),
	STR(task, "step of the run"),
	STR(task_id, "the task among those of that name"),
	STR(tool, "the program of the process"),
	STR(container, "runtime id of the container"),
	STR(cgroup, "path of the cgroup: of an oom-kill the one whose limit was hit"),
	UPID(upid, "the process to look at first"),
	ID(pid, "its process id in the initial pid namespace, 0: none"),
	TIME(started_ns, "since when it is so"),
	F(window_ns, SKEP_T_U64, SKEP_S_ATTRIBUTE, "ns", "from then to this record"),
	FIGURE(value, "the measured value, in unit"),
	FIGURE(threshold, "above which value is a finding, in unit; 0: the host's memory, of an oom-kill"),
	STR(unit, "of value and threshold (UCUM): s or By"),
	STR(evidence, "what skepd saw, a sentence"),
	STR(advice, "what to do, a sentence"),
};
#undef REC

#define REC struct record_findings
static const struct skep_field findings_fields[] = {
	STR(kind, "kind of finding"),
	LEVEL(open, "{finding}", "findings of this kind that are open now"),
};
#undef REC

#define STREAM(symbol, name_, struct_, fields_, flags_, help_) \
	const struct skep_stream symbol = SKEP_STREAM(struct_, fields_, name_, SKEP_ROLE_NONE, flags_, help_)

STREAM(record_stream_process, "process.exit", struct record_process, process_fields, 0,
       "one image of a process, ended");
STREAM(record_stream_run, "run", struct record_run, run_fields, 0, "one execution, at its begin and at its end");
STREAM(record_stream_task, "task", struct record_task, task_fields, 0, "a step of a run, at its end");
STREAM(record_stream_process_sample, "process.sample", struct record_process_sample, process_sample_fields,
       SKEP_STREAM_SAMPLE, "use of a live process since its last sample");
STREAM(record_stream_tool_sample, "tool.sample", struct record_tool_sample, tool_sample_fields, SKEP_STREAM_SAMPLE,
       "use of a tool's processes in one interval");
STREAM(record_stream_ledger, "ledger", struct record_ledger, ledger_fields, SKEP_STREAM_SAMPLE,
       "the ledger of an interval or of a run: reference, parts and the unattributed rest");
STREAM(record_stream_finding, "finding", struct record_finding, finding_fields, 0,
       "something to look at, when skepd finds it and when it is over");
STREAM(record_stream_findings, "findings", struct record_findings, findings_fields, SKEP_STREAM_SAMPLE,
       "how many findings of a kind are open: at each change, and every minute while there are any");
STREAM(record_stream_loss, "loss", struct record_loss, loss_fields, 0, "records that were lost");
STREAM(record_stream_audit, "audit", struct record_audit, audit_fields, 0,
       "the head of a run's audit, which a user published");
