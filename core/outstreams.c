/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/outstreams.c - the field tables of the records that leave the core.  A field
 * is named after its struct member, which ends in its unit, so that one name serves
 * the lake's columns, JSON keys and every other sink.
 */
#include "core/outstreams.h"

#include <skep/plugin.h>

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

#define F(member, type, sem, unit, help) SKEP_FIELD(REC, member, #member, type, sem, unit, help)
#define STR(member, help) F(member, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", help)
#define STRV(member, help) F(member, SKEP_T_STRV, SKEP_S_ATTRIBUTE, "", help)
#define FLAG(member, help) F(member, SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "", help)
#define ID(member, help) F(member, SKEP_T_U64, SKEP_S_ATTRIBUTE, "", help)
#define UPID(member, help) F(member, SKEP_T_UPID, SKEP_S_ATTRIBUTE, "", help)
#define TIME(member, help) F(member, SKEP_T_TIME, SKEP_S_ATTRIBUTE, "ns", help)
#define SUM(member, unit, help) F(member, SKEP_T_U64, SKEP_S_DELTA, unit, help)
#define LEVEL(member, unit, help) F(member, SKEP_T_U64, SKEP_S_GAUGE, unit, help)

#define REC struct out_process
static const struct skep_field process_fields[] = {
	UPID(upid, "identity of the process"),
	UPID(parent_upid, "identity of its parent when it was last seen to have one"),
	ID(image, "0 for what the process began as, one more for each exec"),
	ID(pid, "process id in the initial pid namespace"),
	ID(ppid, "process id of the parent"),
	STR(run, "id of the run it belongs to"),
	STR(pipeline, "what is run again and again"),
	STR(task, "step of the run"),
	STR(tool, "the program, seen through interpreters and wrappers"),
	STR(container, "runtime id of its container"),
	STRV(labels, "name=value, set by the rule that includes it"),
	FLAG(wrapper, "the image only starts the tool that it is named after"),
	FLAG(execed, "begun by exec; otherwise a fork that runs its parent's program"),
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
	TIME(start_ns, "when the image began"),
	TIME(end_ns, "when it ended"),
	F(exit_code, SKEP_T_I64, SKEP_S_ATTRIBUTE, "1", "exit code; -1: killed by a signal or not ended"),
	ID(signal, "signal that ended it, 0: none"),
	ID(approx, "which figures are not exact (bits OUT_APPROX_*), 0: all are"),
	STR(oom_cgroup, "cgroup whose memory limit was hit"),
	LEVEL(oom_limit_bytes, "By", "memory limit that was hit, 0: the host's memory"),
	LEVEL(oom_usage_bytes, "By", "memory use of that cgroup at the kill"),
	LEVEL(oom_peak_bytes, "By", "largest memory use of that cgroup"),
	SUM(cpu_ns, "ns", "time on CPUs, all threads"),
	SUM(user_ns, "ns", "of that in user mode"),
	SUM(system_ns, "ns", "of that in the kernel"),
	SUM(run_delay_ns, "ns", "time that threads were runnable and waited for a CPU"),
	SUM(run_count, "1", "times that a thread was put on a CPU"),
	SUM(voluntary_switches, "1", "context switches because a thread waited"),
	SUM(involuntary_switches, "1", "context switches because another thread was let run"),
	SUM(minor_faults, "{fault}", "page faults without I/O"),
	SUM(major_faults, "{fault}", "page faults that waited for I/O"),
	LEVEL(rss_peak_bytes, "By", "largest resident memory of this image"),
	LEVEL(maxrss_bytes, "By", "largest resident memory of the process as wait4 reports it; last image only"),
	SUM(rchar_bytes, "By", "bytes that read calls returned, caches and pipes included"),
	SUM(wchar_bytes, "By", "bytes that write calls took"),
	SUM(read_calls, "1", "read-like system calls"),
	SUM(write_calls, "1", "write-like system calls"),
	SUM(read_bytes, "By", "bytes read from storage"),
	SUM(write_bytes, "By", "bytes dirtied for storage"),
	SUM(cancelled_write_bytes, "By", "dirtied bytes that were truncated before they were written"),
	LEVEL(threads_peak, "1", "largest number of threads seen, 0: not known"),
	STR(task_id, "which task of that name"),
	STR(traceparent, "trace context in its environment (W3C), where that is another than its task's or run's"),
	STRV(environ, "NAME=value: variables of its environment that the probe was told to read, but SKEP_TASK and TRACEPARENT"),
};
#undef REC

#define REC struct out_task
static const struct skep_field task_fields[] = {
	STR(task, "name"),
	STR(task_id, "which of that name: pid, start and image of its root"),
	STR(run, "id of the run it belongs to"),
	STR(pipeline, "what is run again and again"),
	STR(state, "how its root ended: exited, replaced (by a program of another task), lost, excluded; running: its run ended before it"),
	STR(traceparent, "trace context that it was started in (W3C), where that is another than its run's"),
	UPID(root_upid, "identity of its first process"),
	TIME(start_ns, "begin"),
	TIME(end_ns, "end"),
	F(exit_code, SKEP_T_I64, SKEP_S_ATTRIBUTE, "1", "exit code of its first process; -1: none"),
	ID(signal, "signal that ended that, 0: none"),
	SUM(processes, "1", "processes that belonged to it"),
	SUM(cpu_ns, "ns", "time on CPUs until its end"),
	SUM(run_delay_ns, "ns", "time runnable and waiting for a CPU"),
	LEVEL(rss_peak_bytes, "By", "largest resident memory of one process of it"),
	SUM(read_bytes, "By", "bytes read from storage"),
	SUM(write_bytes, "By", "bytes dirtied for storage"),
};
#undef REC

#define REC struct out_run
static const struct skep_field run_fields[] = {
	STR(run, "id"),
	STR(name, "name for people"),
	STR(pipeline, "what is run again and again"),
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
	LEVEL(rss_peak_bytes, "By", "largest sum of resident memory at one sample, at least the largest process"),
	SUM(processes_seen, "1", "processes that belonged to it"),
	SUM(rusage_cpu_ns, "ns", "CPU time that wait4 gave for the root and the children it waited for, 0: not known"),
	SUM(lost_kernel, "1", "records lost in the kernel while it ran"),
	SUM(lost_queue, "1", "records lost because queues were full while it ran"),
	SUM(lost_spool, "1", "records lost at the spool while it ran"),
	SUM(lost_sink, "1", "records that a sink refused while it ran"),
	STR(traceparent, "trace context that it was started in (W3C), empty: none"),
	STR(origin, "command: skep run began it; session: skepd found a session"),
};
#undef REC

#define REC struct out_process_sample
static const struct skep_field process_sample_fields[] = {
	UPID(upid, "identity of the process"),
	ID(image, "number of its image, as in process.exit"),
	ID(pid, "process id in the initial pid namespace"),
	STR(run, "id of the run it belongs to"),
	STR(tool, "the program"),
	FLAG(last, "the image has ended: its last part"),
	TIME(start_ns, "begin of the interval"),
	LEVEL(interval_ns, "ns", "length of the interval"),
	SUM(cpu_ns, "ns", "time on CPUs, all threads"),
	SUM(run_delay_ns, "ns", "time that threads were runnable and waited for a CPU"),
	SUM(run_count, "1", "times that a thread was put on a CPU"),
	SUM(voluntary_switches, "1", "context switches because a thread waited"),
	SUM(involuntary_switches, "1", "context switches because another thread was let run"),
	SUM(minor_faults, "{fault}", "page faults without I/O"),
	SUM(major_faults, "{fault}", "page faults that waited for I/O"),
	SUM(rchar_bytes, "By", "bytes that read calls returned, caches and pipes included"),
	SUM(wchar_bytes, "By", "bytes that write calls took"),
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

#define REC struct out_tool_sample
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

#define REC struct out_loss
static const struct skep_field loss_fields[] = {
	STR(instance, "instance that lost them"),
	STR(stream, "stream of the lost records"),
	STR(where, "kernel, queue, spool or sink"),
	SUM(count, "{record}", "records lost since the last such record"),
};
#undef REC

#define REC struct out_ledger
static const struct skep_field ledger_fields[] = {
	STR(run, "id of the run, empty: an interval of the host"),
	STR(account, "cpu (ns), disk.read, disk.write, net.rx, net.tx (bytes)"),
	STR(item, "what of it"),
	STR(kind, "reference, part of it, memo (within other parts) or unattributed (reference less parts)"),
	TIME(start_ns, "begin of the time it is about"),
	LEVEL(interval_ns, "ns", "length of that time"),
	F(amount, SKEP_T_I64, SKEP_S_DELTA, "1", "in it, in the account's unit"),
};
#undef REC

#define STREAM(symbol, name_, struct_, fields_, flags_, help_)                                                  \
	const struct skep_stream symbol = {                                                                     \
		.size = sizeof(struct skep_stream),                                                             \
		.field_size = sizeof(struct skep_field),                                                        \
		.name = name_,                                                                                  \
		.help = help_,                                                                                  \
		.role = SKEP_ROLE_NONE,                                                                         \
		.record_size = sizeof(struct_),                                                                 \
		.n_fields = N_OF(fields_),                                                                      \
		.flags = flags_,                                                                                \
		.fields = fields_,                                                                              \
	}

STREAM(out_stream_process, "process.exit", struct out_process, process_fields, 0, "one image of a process, ended");
STREAM(out_stream_run, "run", struct out_run, run_fields, 0, "one execution, at its begin and at its end");
STREAM(out_stream_task, "task", struct out_task, task_fields, 0, "a step of a run, at its end");
STREAM(out_stream_process_sample, "process.sample", struct out_process_sample, process_sample_fields, SKEP_STREAM_SAMPLE,
       "what a live process used since its last sample");
STREAM(out_stream_tool_sample, "tool.sample", struct out_tool_sample, tool_sample_fields, SKEP_STREAM_SAMPLE,
       "what the processes of a tool used in one interval");
STREAM(out_stream_ledger, "ledger", struct out_ledger, ledger_fields, SKEP_STREAM_SAMPLE,
       "the books of an interval or of a run: reference, parts, and what is unattributed");
STREAM(out_stream_loss, "loss", struct out_loss, loss_fields, 0, "records that were lost");
