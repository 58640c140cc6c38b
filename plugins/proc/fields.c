/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/fields.c - the probe's streams, field by field.
 */
#include "state.h"

#define ATTR(s_, m_, n_, t_, h_) SKEP_FIELD(s_, m_, n_, t_, SKEP_S_ATTRIBUTE, "", h_)
#define SUM(s_, m_, n_, u_, h_) SKEP_FIELD(s_, counters.m_, n_, SKEP_T_U64, SKEP_S_CUMULATIVE, u_, h_)

#define COUNTERS(s_)                                                                                                \
	SUM(s_, cpu_ns, "cpu_ns", "ns", "time on a CPU, exact"),                                                    \
	SUM(s_, utime_ns, "utime_ns", "ns", "of it in user mode, as the kernel samples it"),                        \
	SUM(s_, stime_ns, "stime_ns", "ns", "of it in the kernel, as the kernel samples it"),                       \
	SUM(s_, run_delay_ns, "run_delay_ns", "ns", "runnable but waiting for a CPU"),                              \
	SUM(s_, run_count, "run_count", "1", "times put on a CPU"),                                                 \
	SUM(s_, voluntary_switches, "voluntary_switches", "1", "context switches because it waited"),               \
	SUM(s_, involuntary_switches, "involuntary_switches", "1", "preemptions"),                                  \
	SUM(s_, minor_faults, "minor_faults", "{fault}", "page faults without I/O"),                                \
	SUM(s_, major_faults, "major_faults", "{fault}", "page faults that waited for I/O"),                        \
	SUM(s_, rchar_bytes, "rchar_bytes", "By", "returned by read-like calls, also from caches and pipes"),       \
	SUM(s_, wchar_bytes, "wchar_bytes", "By", "given to write-like calls"),                                     \
	SUM(s_, read_calls, "read_calls", "1", "read-like system calls"),                                           \
	SUM(s_, write_calls, "write_calls", "1", "write-like system calls"),                                        \
	SUM(s_, read_bytes, "read_bytes", "By", "read from storage"),                                               \
	SUM(s_, write_bytes, "write_bytes", "By", "to be written to storage, charged to the process that dirtied it"), \
	SUM(s_, cancelled_write_bytes, "cancelled_write_bytes", "By", "of it never written: truncated first")

static const struct skep_field fork_fields[] = {
	ATTR(struct skep_process_fork, parent, "parent_upid", SKEP_T_UPID, "the real parent"),
	ATTR(struct skep_process_fork, cgroup_id, "cgroup_id", SKEP_T_U64, "id of its cgroup"),
	ATTR(struct skep_process_fork, comm, "comm", SKEP_T_STR, "the thread's name"),
};
static const struct skep_stream fork_stream =
	SKEP_STREAM(struct skep_process_fork, fork_fields, "process.fork", SKEP_ROLE_PROC_FORK, 0,
		    "a new process; threads are not reported");

static const struct skep_field excluded_fields[] = {
	COUNTERS(struct skep_process_excluded),
};
static const struct skep_stream excluded_stream =
	SKEP_STREAM(struct skep_process_excluded, excluded_fields, "process.excluded", SKEP_ROLE_PROC_EXCLUDED, 0,
		    "an exec that excludes a process by a rule");

static const struct skep_field exec_fields[] = {
	ATTR(struct skep_process_exec, parent, "parent_upid", SKEP_T_UPID, "the real parent"),
	ATTR(struct skep_process_exec, comm, "comm", SKEP_T_STR, "the thread's name"),
	ATTR(struct skep_process_exec, filename, "filename", SKEP_T_STR, "path given to execve; of a script its own"),
	ATTR(struct skep_process_exec, exe, "exe", SKEP_T_STR, "path of the binary that runs"),
	SKEP_FIELD(struct skep_process_exec, exe_size_bytes, "exe_size_bytes", SKEP_T_U64, SKEP_S_ATTRIBUTE, "By",
		   "size of that file"),
	SKEP_FIELD(struct skep_process_exec, exe_modified_ns, "exe_modified_ns", SKEP_T_U64, SKEP_S_ATTRIBUTE, "ns",
		   "when its contents last changed, since 1970"),
	ATTR(struct skep_process_exec, cwd, "cwd", SKEP_T_STR, "working directory"),
	ATTR(struct skep_process_exec, cgroup, "cgroup", SKEP_T_STR, "cgroup path"),
	ATTR(struct skep_process_exec, cgroup_id, "cgroup_id", SKEP_T_U64, "id of its cgroup"),
	ATTR(struct skep_process_exec, argv, "argv", SKEP_T_STRV, "arguments, secrets blanked, up to 32 KiB in total"),
	ATTR(struct skep_process_exec, environ, "environ", SKEP_T_STRV,
	     "the variables that the option environ names"),
	COUNTERS(struct skep_process_exec),
};
static const struct skep_stream exec_stream =
	SKEP_STREAM(struct skep_process_exec, exec_fields, "process.exec", SKEP_ROLE_PROC_EXEC, 0,
		    "a successful exec");

static const struct skep_field exit_fields[] = {
	SKEP_FIELD(
		struct skep_process_exit, rss_peak_bytes, "rss_peak_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By",
		"peak resident memory of the last image; 0 if the kernel has freed the memory already (before 6.16)"),
	SKEP_FIELD(struct skep_process_exit, maxrss_bytes, "maxrss_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By",
		   "peak resident memory of the process, as in getrusage"),
};
static const struct skep_stream exit_stream =
	SKEP_STREAM(struct skep_process_exit, exit_fields, "process.exit_event", SKEP_ROLE_PROC_EXIT, 0,
		    "the last thread of a process ended");

static const struct skep_field final_fields[] = {
	COUNTERS(struct skep_process_final),
	SKEP_FIELD(struct skep_process_final, maxrss_bytes, "maxrss_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By",
		   "peak resident memory of the process, as in wait4"),
	SKEP_FIELD(struct skep_process_final, threads, "threads", SKEP_T_U64, SKEP_S_GAUGE, "1",
		   "number of its threads, the first included"),
};
static const struct skep_stream final_stream =
	SKEP_STREAM(struct skep_process_final, final_fields, "process.final", SKEP_ROLE_PROC_FINAL, 0,
		    "the kernel freed the process: exact totals");

static const struct skep_field live_fields[] = {
	ATTR(struct skep_process_live, parent, "parent_upid", SKEP_T_UPID, "the real parent"),
	ATTR(struct skep_process_live, comm, "comm", SKEP_T_STR, "the thread's name"),
	COUNTERS(struct skep_process_live),
	SKEP_FIELD(struct skep_process_live, rss_bytes, "rss_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By", "resident memory"),
};
static const struct skep_stream live_stream =
	SKEP_STREAM(struct skep_process_live, live_fields, "process.live", SKEP_ROLE_PROC_LIVE, SKEP_STREAM_SAMPLE,
		    "a live process, each interval");

static const struct skep_field oom_fields[] = {
	ATTR(struct skep_process_oom, cgroup, "cgroup", SKEP_T_STR, "the cgroup whose limit was hit; empty: the machine has no memory left"),
	SKEP_FIELD(struct skep_process_oom, limit_bytes, "limit_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By", "its limit"),
	SKEP_FIELD(struct skep_process_oom, usage_bytes, "usage_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By",
		   "its usage at that time"),
	SKEP_FIELD(struct skep_process_oom, peak_bytes, "peak_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By",
		   "its highest usage"),
};
static const struct skep_stream oom_stream =
	SKEP_STREAM(struct skep_process_oom, oom_fields, "process.oom", SKEP_ROLE_PROC_OOM, 0,
		    "a victim of the out-of-memory killer");

static const struct skep_field ledger_fields[] = {
	ATTR(struct skep_ledger_post, account, "account", SKEP_T_STR, "cpu"),
	ATTR(struct skep_ledger_post, item, "item", SKEP_T_STR, "kernel (its threads) or excluded (processes by rule)"),
	ATTR(struct skep_ledger_post, amount, "amount", SKEP_T_I64, "time on CPUs, ns"),
};
static const struct skep_stream ledger_stream =
	SKEP_STREAM(struct skep_ledger_post, ledger_fields, "proc.ledger", SKEP_ROLE_LEDGER, 0,
		    "CPU time of kernel threads and excluded processes");

const struct skep_stream *const proc_streams[N_STREAMS] = {
	[STREAM_FORK] = &fork_stream,
	[STREAM_EXEC] = &exec_stream,
	[STREAM_EXIT] = &exit_stream,
	[STREAM_FINAL] = &final_stream,
	[STREAM_LIVE] = &live_stream,
	[STREAM_OOM] = &oom_stream,
	[STREAM_EXCLUDED] = &excluded_stream,
	[STREAM_LEDGER] = &ledger_stream,
};
