/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/record.h - records, for plugins: value types, field tables, streams, and the
 * process life-cycle records that the process table reads.
 *
 * A plugin describes its own C struct by a table of fields and gives the host
 * pointers to that struct.  Records stay structs until a sink encodes them.
 * plugin.h includes this file; BPF code does not.
 *
 * Times are CLOCK_BOOTTIME nanoseconds (the clock of task_struct.start_boottime
 * and bpf_ktime_get_boot_ns), 0 for an unknown time.
 */
#ifndef SKEP_RECORD_H
#define SKEP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Identity of a process.  (boot, pid, start) is unique: the kernel cannot reuse
 * a pid within one nanosecond of start time.  The boot id is the host's
 * (skep_host.boot_id) and is not repeated in every record.  exec keeps it, also
 * from a thread that is not the leader: de_thread() hands the leader's pid and
 * start_boottime to the thread that execs.  pid == 0: no process.
 */
struct skep_upid {
	uint64_t start_ns; /* task_struct.start_boottime of the leader */
	uint32_t pid;      /* tgid in the initial pid namespace */
	uint32_t reserved; /* 0 */
};

/*
 * A string or, for SKEP_T_STRV, a list of NUL-terminated strings back to back.
 * ptr need not be NUL-terminated for SKEP_T_STR.  total is the length before the
 * cut: total > len means "cut".  ptr may be NULL when len is 0.
 */
struct skep_str {
	const char *ptr;
	uint32_t len;
	uint32_t total;
};

enum skep_type {
	SKEP_T_U64 = 1, /* uint64_t */
	SKEP_T_I64,     /* int64_t */
	SKEP_T_F64,     /* double */
	SKEP_T_BOOL,    /* uint8_t, 0 or 1 */
	SKEP_T_TIME,    /* uint64_t, boot time in ns, 0 = not known */
	SKEP_T_STR,     /* struct skep_str */
	SKEP_T_STRV,    /* struct skep_str holding "a\0b\0" */
	SKEP_T_UPID,    /* struct skep_upid */
	SKEP_T_HASH,    /* uint8_t[16] */
	SKEP_T_IP,      /* uint8_t[16], IPv4 as ::ffff:a.b.c.d */
	SKEP_T_HIST,    /* struct skep_hist */
};

/*
 * A distribution of whole numbers (ns, By): an OpenTelemetry exponential histogram of
 * scale 2, four buckets to each doubling.  slots[0]: zeros; slots[1]: ones; slots[k],
 * k >= 2: values in (2^((k-2)/4), 2^((k-1)/4)], which is that histogram's bucket k-2;
 * the last of SKEP_HIST_SLOTS also counts all larger values.  skep/bpf/hist.bpf.h finds the
 * slot in the kernel, skep/hist.h reads it.  n: slots in the array; the slots after them are zero.
 */
struct skep_hist {
	const uint64_t *slots;
	uint32_t n;
	uint32_t reserved; /* 0 */
	uint64_t sum;      /* of all values */
};
#define SKEP_HIST_SLOTS 192u
#define SKEP_HIST_SCALE 2

enum skep_semantics {
	SKEP_S_ATTRIBUTE = 1, /* describes; never added up */
	SKEP_S_GAUGE,         /* a level at one time; facets keep the largest */
	SKEP_S_DELTA,         /* since the previous record; facets add up */
	SKEP_S_CUMULATIVE,    /* since the process started; facets keep the last */
};

struct skep_field {
	const char *name;  /* OpenTelemetry semantic convention where there is one */
	const char *unit;  /* UCUM: "ns" "By" "1" "{fault}"; "" for attributes */
	uint32_t type;     /* enum skep_type */
	uint32_t semantics; /* enum skep_semantics */
	uint32_t offset;   /* in the record */
	uint32_t reserved; /* 0 */
	const char *help;  /* one line */
};

/* What the host does with a stream's records besides sending them to sinks. */
enum skep_role {
	SKEP_ROLE_NONE = 0,   /* sent to sinks, with the process's context if it has a upid */
	SKEP_ROLE_FACET,      /* numbers about a process: joined by upid into its record, not sent by themselves */
	SKEP_ROLE_PROC_FORK,  /* struct skep_process_fork */
	SKEP_ROLE_PROC_EXEC,  /* struct skep_process_exec */
	SKEP_ROLE_PROC_EXIT,  /* struct skep_process_exit */
	SKEP_ROLE_PROC_FINAL, /* struct skep_process_final */
	SKEP_ROLE_PROC_LIVE,  /* struct skep_process_live */
	SKEP_ROLE_PROC_OOM,   /* struct skep_process_oom */
	/* about a cgroup, whose id (uint64_t) is the record's first member: sent to sinks with its context */
	SKEP_ROLE_CGROUP,
	SKEP_ROLE_LEDGER,     /* struct skep_ledger_post: for the ledger, not sent by itself */
	/* result of a detail, whose id (uint64_t) is the record's first member: for sinks and the detail's reader */
	SKEP_ROLE_DETAIL,
	SKEP_ROLE_PROC_EXCLUDED, /* struct skep_process_excluded */
};

struct skep_stream {
	uint32_t size;        /* sizeof(struct skep_stream) where the plugin was built */
	uint32_t field_size;  /* sizeof(struct skep_field) there: the table's stride */
	const char *name;     /* "process.exec" */
	const char *help;
	uint32_t role;        /* enum skep_role */
	uint32_t record_size; /* sizeof the plugin's struct; for PROC roles at least the size of the struct below */
	uint32_t n_fields;
	uint32_t flags;       /* SKEP_STREAM_* */
	const struct skep_field *fields;
};
#define SKEP_STREAM_SAMPLE 1u /* the spool may drop these records first when space runs out */

/*
 * Field i (i < n_fields), borrowed from the stream; any thread.  Uses the table's own stride: a plugin of another build
 * may have a larger struct skep_field than its reader.
 */
static inline const struct skep_field *skep_stream_field(const struct skep_stream *s, uint32_t i)
{
	return (const struct skep_field *)(const void *)((const char *)s->fields + (size_t)i * s->field_size);
}

/*
 * The kernel's counters of a process since its start: all threads, dead ones
 * included, from signal_struct and task_struct.  Cumulative over all images of
 * the process.
 *
 * utime/stime are the kernel's raw halves (sampled by the tick on
 * CONFIG_TICK_CPU_ACCOUNTING); cpu is exact.  The host scales the halves to cpu
 * as the kernel does for getrusage (cputime_adjust, kernel/sched/cputime.c).
 */
struct skep_counters {
	uint64_t cpu_ns;
	uint64_t utime_ns;
	uint64_t stime_ns;
	uint64_t run_delay_ns; /* runnable but waiting for a CPU */
	uint64_t run_count;    /* times put on a CPU */
	uint64_t voluntary_switches;
	uint64_t involuntary_switches;
	uint64_t minor_faults;
	uint64_t major_faults;
	uint64_t rchar_bytes; /* by read-like system calls, caches and pipes included */
	uint64_t wchar_bytes;
	uint64_t read_calls;
	uint64_t write_calls;
	uint64_t read_bytes; /* from storage */
	uint64_t write_bytes; /* to storage, charged to the process that dirtied the page */
	uint64_t cancelled_write_bytes;
};

/* A new process (never a thread). */
struct skep_process_fork {
	struct skep_upid parent; /* the real parent at the fork */
	uint64_t cgroup_id;
	uint32_t uid, gid;
	uint32_t session; /* sid, initial pid namespace */
	uint32_t ns_pid;  /* its pid in its own pid namespace */
	struct skep_str comm;
	/*
	 * The user who answers for it: uid; in a user namespace the uid of the user who made the outermost one (below
	 * root's), since a user has a whole range of subordinate uids (subuid(5)).
	 */
	uint32_t payer;
	uint32_t reserved; /* 0 */
};

#define SKEP_EXEC_ARGV_UNREADABLE 1u /* the argument pages could not be read: argv is empty, not "no arguments" */

#define SKEP_EXEC_JUDGED 2u       /* the kernel has decided to collect the process */
#define SKEP_EXEC_WAS_EXCLUDED 4u /* the process was excluded until this exec */
/*
 * The probe searched the whole environment for all names of skep_host.boundaries, so a name that `environ`
 * lacks is not set.  Without the flag it may be set: no boundary can be here, or the environment was too long.
 */
#define SKEP_EXEC_BOUNDARY 8u
#define SKEP_EXEC_TTY 16u /* its session has a controlling terminal */
/*
 * From this bit on: the dimensions (enum skep_rules_dimension) of rules for which the kernel
 * had no answer: the host adds the answers.
 */
#define SKEP_EXEC_UNKNOWN_SHIFT 8

/*
 * A successful exec: a new image begins, the previous one ends.  Where the parent is excluded,
 * `parent` is the nearest known ancestor that is not.
 */
struct skep_process_exec {
	struct skep_upid parent;
	/* at the exec; without the running time slice, which the scheduler has not booked yet */
	struct skep_counters counters;
	uint64_t rss_peak_bytes;       /* of the image that ends; 0 = not known */
	uint64_t maxrss_bytes;         /* signal->maxrss after the exec, with which getrusage continues */
	uint64_t cgroup_id;
	uint64_t mount_ns, pid_ns;     /* inode numbers */
	uint32_t uid, gid;
	uint32_t session;
	uint32_t tid;    /* the thread that called exec */
	uint32_t ns_pid;
	uint32_t flags;  /* SKEP_EXEC_* */
	struct skep_str comm;
	struct skep_str filename; /* as given to execve: the script for a script */
	struct skep_str exe;      /* resolved path of the binary: the interpreter for a script */
	struct skep_str cwd;
	struct skep_str cgroup;   /* path in its hierarchy; empty when the host has it by id (cgroup_known) */
	struct skep_str argv;     /* list; secrets already redacted */
	/*
	 * list, "NAME=value": the variables of its environment that the probe's options name, and at a boundary those
	 * of skep_host.boundaries; secrets already redacted. A probe may cut an entry: SKEP_ENVIRON_CUT.
	 * total > len: the probe did not search the environment to its end, so variables may be missing
	 */
	struct skep_str environ;
	/*
	 * Name (comm) of the process that started it, where that process is excluded: then `parent` is another process.
	 * Else empty.
	 */
	struct skep_str parent_comm;
	/*
	 * With SKEP_EXEC_TTY: pid of the leader of its process group (OpenTelemetry: process.group_leader.pid), in the
	 * initial pid namespace; 0 = not known
	 */
	uint32_t group_leader;
	uint32_t payer; /* as in struct skep_process_fork */
	/*
	 * Of the file `exe`: its size, and when its contents last changed (CLOCK_REALTIME). They tell whether another
	 * binary took its place. 0 = not known
	 */
	uint64_t exe_size_bytes, exe_modified_ns;
};

/*
 * A probe cuts entries of `environ` to this many bytes, name and '=' included.  Treat an entry of this
 * length as cut: show it, and do not compare it with others.
 */
#define SKEP_ENVIRON_CUT 159u

/*
 * An exec at which the kernel excluded the process, in place of the exec record: the probe sends no further
 * record of the process.  Only of a process that was collected before.
 */
struct skep_process_excluded {
	struct skep_counters counters; /* as in struct skep_process_exec */
	uint64_t maxrss_bytes;
	uint32_t byte;       /* its verdict (skep/rules.h) */
	uint32_t generation; /* of the rules that excluded it */
};

/* The last thread is gone; the process may stay a zombie for long. */
struct skep_process_exit {
	uint32_t status; /* as of waitpid: signal in the low 7 bits, 0x80 core, exit code << 8 */
	uint32_t threads_peak;   /* 0 = not known */
	/* of the last image, from its mm; 0 = not known (mm already gone, kernels before 6.16) */
	uint64_t rss_peak_bytes;
	uint64_t maxrss_bytes;   /* signal->maxrss at that time */
	uint64_t cgroup_id;
	/*
	 * At the exit: cpu_ns lacks the running time slice.  The final record supersedes them; the
	 * host uses them when it gets no final record.  All zero: not given.
	 */
	struct skep_counters counters;
};

#define SKEP_FINAL_NO_EXIT    1u /* the probe knows that the exit record was lost */
#define SKEP_FINAL_DELAYED    2u /* read from the kernel map for records that found the ring full */
#define SKEP_FINAL_THREADS_PARTIAL 4u /* run delay and I/O of some dead threads are missing */

/* The kernel has released the process (its parent reaped it): the counters are final and exact. */
struct skep_process_final {
	struct skep_counters counters;
	uint64_t maxrss_bytes; /* what wait4 reports as ru_maxrss */
	uint32_t status;
	uint32_t flags; /* SKEP_FINAL_* */
	uint64_t cgroup_id;
	uint64_t threads; /* number over its whole life, the leader included; 0 = not known */
};

#define SKEP_LIVE_ZOMBIE 1u /* counters are final, the parent has not reaped it */
#define SKEP_LIVE_STATE_RUNNING 2u /* some thread is on a CPU or waits for one */
#define SKEP_LIVE_STATE_BLOCKED 4u /* some thread is in uninterruptible sleep */
#define SKEP_LIVE_BOUNDARY 8u /* as SKEP_EXEC_BOUNDARY */
#define SKEP_LIVE_TTY 16u     /* as SKEP_EXEC_TTY */

/* A live process, seen by an iterator: start-up snapshot, samples, resync. */
struct skep_process_live {
	struct skep_upid parent;
	struct skep_counters counters;
	uint64_t rss_bytes;
	uint64_t rss_peak_bytes; /* of the current image */
	uint64_t maxrss_bytes;
	uint64_t cgroup_id;
	uint32_t uid, gid;
	uint32_t session;
	uint32_t ns_pid;
	uint32_t threads;
	uint32_t flags; /* SKEP_LIVE_* */
	struct skep_str comm;
	/* empty unless the host wants them (skep_host.live_wants_details) */
	struct skep_str exe;
	struct skep_str cwd;
	struct skep_str cgroup;
	struct skep_str argv;
	struct skep_str environ; /* as in struct skep_process_exec */
	uint32_t group_leader; /* as in struct skep_process_exec */
	uint32_t payer;        /* as in struct skep_process_fork */
};

/*
 * The out-of-memory killer has chosen this process (the victim, not the allocator).
 * A start time of 0 in the upid means the process that has the pid now: kernels before 6.9 report only the pid.
 */
struct skep_process_oom {
	uint64_t cgroup_id;   /* the cgroup at its limit; 0 = the host itself ran out */
	uint64_t limit_bytes; /* 0 = no cgroup limit */
	uint64_t usage_bytes;
	uint64_t peak_bytes;
	struct skep_str cgroup;
};

/*
 * An entry in one of the host's accounts.  Amounts are cumulative from post to post
 * (since boot, or since the probe began): the host subtracts the previous one, and reports
 *   unattributed = reference - the sum of the parts
 * for each account, interval and run.  The host's accounts:
 *   "cpu"        ns   reference: CPUs x time; parts: idle, steal, irq, kernel, excluded (processes: the host itself)
 *   "disk.read"  By   reference: the block devices' own counters; "disk.write" likewise
 *   "net.rx"     By   reference: the interfaces' counters, loopback apart; "net.tx" likewise
 * A part may shrink (a rule no longer excludes a process): amounts are signed.
 */
struct skep_ledger_post {
	struct skep_str account;
	struct skep_str item;  /* "capacity", "idle", "kernel" ... one word */
	int64_t amount;
	uint64_t flags;        /* SKEP_LEDGER_* */
};
#define SKEP_LEDGER_REFERENCE 1u /* the total of all parts; otherwise a part */
#define SKEP_LEDGER_MEMO \
	2u /* shown beside the account, neither reference nor part: time within other parts (irq within tasks) */

#define SKEP_NOBODY UINT32_MAX /* no user id: setuid(2) refuses it */

/* The context that the host adds to a record of a process; an unknown string is empty. */
struct skep_context {
	uint32_t size; /* sizeof(struct skep_context) in this host */
	/*
	 * The user who answers for the record (struct skep_process_fork): the record counts against the room that a
	 * sink gives this user. SKEP_NOBODY: no user does, or the host does not know.
	 */
	uint32_t payer;
	struct skep_str run;
	struct skep_str pipeline;
	struct skep_str task;
	struct skep_str tool;
	struct skep_str container;
	/*
	 * Of a record of a run: CLOCK_REALTIME minus boot time when the run began.  With it, the times of one run agree
	 * with each other after the wall clock was set.  0: the batch's number holds (skep_record_realtime_offset()).
	 */
	int64_t realtime_offset_ns;
};

/* One record as a sink gets it.  Borrowed: valid until the sink has answered the batch. */
struct skep_record {
	uint32_t size; /* sizeof(struct skep_record) in this host */
	uint32_t reserved;
	const struct skep_stream *stream; /* the same pointer for every record of a stream while the host runs */
	struct skep_upid upid;            /* pid 0: not about a process */
	uint64_t time_ns;
	const void *data;                 /* stream->record_size bytes, strings point into the batch */
	const struct skep_context *context; /* NULL: none */
};

/*
 * A batch: the host fixes its boundaries once, so that key (host, epoch, id) names
 * the same records on every retry: with it receivers make delivery exactly-once.
 */
struct skep_batch {
	uint32_t size; /* sizeof(struct skep_batch) in this host */
	uint32_t n;
	uint64_t id;
	const char *key;
	int64_t realtime_offset_ns; /* CLOCK_REALTIME = boot time + this, when the host closed the batch */
	const struct skep_record *const *records;

	/* The host at the time of the records, as a batch may wait in the spool across a reboot. */
	const char *boot_id;   /* 36 characters: boot_id and upid name one process, for ever and on every host */
	const char *host_name; /* uname -n */
	const char *kernel;    /* uname -r */
};

/* What a sink adds to the times of a record, its fields' too, to give them as CLOCK_REALTIME.  Any thread. */
static inline int64_t skep_record_realtime_offset(const struct skep_batch *b, const struct skep_record *r)
{
	return r->context && r->context->realtime_offset_ns ? r->context->realtime_offset_ns : b->realtime_offset_ns;
}

#endif
