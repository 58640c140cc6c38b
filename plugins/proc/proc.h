/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/proc.h - structs that the kernel side and user space share: records in the ring, records of the
 * iterator, counters.
 *
 * Every record is 8-byte aligned and begins with struct proc_head. Both sides come from one build, but pinned.c also
 * reads the kernel side of a previous skepd. So a change of any struct that is in the ring or in a map raises
 * PROC_LAYOUT. A record's type keeps its place.
 */
#ifndef SKEP_PROC_H
#define SKEP_PROC_H

#include <linux/types.h>

#include "environ.h"

#define PROC_LAYOUT 1u

/*
 * Bounds of an exec record. It has all of argv up to PROC_ARGV_MAX bytes, and the length before a cut. With 32 KiB the
 * buffer of each CPU stays below 64 KiB.
 */
#define PROC_ARGV_MAX 32768u
#define PROC_ARGV_SPARE 1024u /* the bound while half of the ring is full */
#define PROC_PATH_MAX 4096u
#define PROC_CGROUP_DEPTH 24
#define PROC_NAME_MAX 256u   /* one component, NUL included (NAME_MAX is 255) */
#define PROC_COMM 16
#define PROC_BUFFERS 2u      /* of each CPU: exec_buffer.bpf.h */
#define PROC_ENVIRON_ENTRY 160u /* of one variable: name, '=', value and a NUL; cuts longer ones */
/*
 * Of all variables: a power of two, with room for 64 of 61 bytes each. A variable beyond it is left out and counted
 * (environ_full).
 */
#define PROC_ENVIRON_MAX 4096u

enum proc_type {
	PROC_FORK = 0,
	PROC_EXEC,
	PROC_EXIT,
	PROC_FINAL,
	PROC_OOM,
	PROC_EXCLUDED,
	PROC_TYPES,
	/* iterator only */
	PROC_LEADER = 16,
	PROC_THREAD,
};

struct proc_head {
	__u32 type;
	__u32 pid;      /* tgid */
	__u64 start_ns; /* of the leader; for PROC_THREAD of the thread */
	__u64 time_ns;
};

struct proc_sums { /* as struct skep_counters, same order */
	__u64 cpu_ns, utime_ns, stime_ns, run_delay_ns, run_count;
	__u64 nvcsw, nivcsw, min_flt, maj_flt;
	__u64 rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled_write_bytes;
};

struct proc_fork {
	struct proc_head h;
	__u64 parent_start_ns;
	__u64 cgroup_id;
	__u32 parent_pid;
	__u32 uid, gid;
	__u32 session;
	__u32 ns_pid;
	__u32 payer;
	char comm[PROC_COMM];
};

#define PROC_EXEC_ARGV_FAULT 1u
#define PROC_EXEC_EXE_CUT 2u
#define PROC_EXEC_CWD_CUT 4u
#define PROC_EXEC_JUDGED 8u
#define PROC_EXEC_WAS_EXCLUDED 16u
#define PROC_EXEC_ENVIRON_FAULT 32u /* the kernel side could not search the environment to its end */
#define PROC_EXEC_BOUNDARY 64u      /* a boundary: it searched for the host's names too (environ.h) */
#define PROC_EXEC_CGROUP_CUT 128u
#define PROC_EXEC_UNKNOWN_SHIFT 8 /* from here to 15: dimensions of rules that the kernel cannot decide */

/* What started the program of an exec record. */
struct proc_origin {
	__u32 tty;   /* 1: the session has a controlling terminal */
	__u32 group; /* then the pid of the process group's leader; else 0 */
	char parent_comm[PROC_COMM]; /* of a parent that rules exclude; else empty */
};

/* Size and time of the binary: they differ when another file has taken its place. */
struct proc_file {
	__u64 size_bytes;
	__u64 modified_ns; /* CLOCK_REALTIME */
};

struct proc_exec {
	struct proc_head h;
	__u64 parent_start_ns;
	__u64 cgroup_id;
	struct proc_sums sums;
	__u64 maxrss_pages;
	__u32 mount_ns, pid_ns;
	__u32 parent_pid;
	__u32 uid, gid;
	__u32 session;
	__u32 tid;
	__u32 ns_pid;
	__u32 flags;
	__u32 payer, reserved;
	__u32 argv_total;
	/* lengths of what follows the record, in this order; paths as components, leaf first, each NUL-terminated */
	__u32 exe_len, filename_len, cwd_len, cgroup_len, argv_len, environ_len;
	char comm[PROC_COMM];
	struct proc_origin origin;
	struct proc_file file;
};

/* An exec that excludes a process that skep collected before: the last record of the process. */
struct proc_excluded {
	struct proc_head h;
	struct proc_sums sums; /* at the exec */
	__u64 maxrss_pages;
	__u32 byte;       /* its verdict (skep/rules.h) */
	__u32 generation; /* of the rules */
};

struct proc_exit {
	struct proc_head h;
	struct proc_sums sums; /* as far as the kernel has accounted them */
	__u64 rss_peak_pages; /* 0: the kernel has freed the mm (before 6.16) */
	__u64 maxrss_pages;
	__u64 cgroup_id;
	__u32 status;
	__u32 reserved;
};

#define PROC_FINAL_DELAYED 1u /* from the map `unsent` */
#define PROC_FINAL_PARTIAL 4u /* set by user space: the frees of some threads are missing */
#define PROC_FINAL_THREADS 2u /* the kernel may not have freed all threads yet: user space reads `threads` later */

struct proc_final {
	struct proc_head h;
	struct proc_sums sums; /* CPU, run delay and I/O of the leader alone; `threads` has the others' */
	__u64 signal_cpu_ns;   /* CPU by signal_struct: at least this */
	__u64 switches, faults; /* of all threads but the leader, by signal_struct */
	__u64 maxrss_pages;
	__u64 cgroup_id;
	__u64 signal; /* key into `threads` */
	__u64 threads; /* set by user space: number of its threads */
	__u32 status;
	__u32 flags;
};

struct proc_oom {
	struct proc_head h;
	__u64 cgroup_id;
	__u64 limit_pages; /* 0: no cgroup on the way up is at its limit: the machine has no memory left */
	__u64 usage_pages;
	__u64 peak_pages;
	__u32 cgroup_len;
	__u32 cgroup_cut; /* 1: components are missing above those that it has */
};

#define PROC_LIVE_ZOMBIE 1u
#define PROC_LIVE_RUNNING 2u
#define PROC_LIVE_BLOCKED 4u
#define PROC_LIVE_TTY 8u /* its session has a controlling terminal */

struct proc_thread {
	struct proc_head h; /* pid: the tgid it belongs to */
	struct proc_sums sums;
	__u32 flags;
	__u32 reserved;
};

struct proc_leader {
	struct proc_head h;
	struct proc_sums sums; /* own plus all ended threads */
	__u64 parent_start_ns;
	__u64 cgroup_id;
	__u64 rss_pages, rss_peak_pages, maxrss_pages;
	__u32 parent_pid;
	__u32 uid, gid;
	__u32 session;
	__u32 ns_pid;
	__u32 threads;
	__u32 flags;
	__u32 group; /* with PROC_LIVE_TTY the pid of the process group's leader; else 0 */
	__u32 payer, reserved;
	char comm[PROC_COMM];
};

/*
 * Sums over the freed threads of a process, for counters that signal_struct lacks or defines differently:
 *   run-queue delay   signal_struct has none;
 *   I/O               signal_struct includes the I/O of every waited-for child (kernel/exit.c, wait_task_zombie), so
 *                     skep would count it twice;
 *   CPU               signal_struct gets it when a thread releases itself, before its last switch: the time since the
 *                     last tick is missing there (and in wait4's rusage, but not in the cgroup's usage).
 */
struct proc_threads_key {
	__u64 signal;
	__u32 pid;
	__u32 reserved;
};
struct proc_threads {
	__u64 n; /* freed threads */
	__u64 cpu_ns, run_delay_ns, run_count;
	__u64 switches, faults; /* to find out whether the kernel has freed all threads */
	__u64 rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled_write_bytes;
};

struct proc_unsent_key {
	__u64 start_ns;
	__u32 pid;
	__u32 reserved;
};

/* One element for each CPU; user space maps them. */
struct proc_counters {
	__u64 sent[PROC_TYPES];
	__u64 dropped[PROC_TYPES];  /* the ring was full */
	__u64 delayed;              /* finals put into `unsent` */
	__u64 unsent_full;          /* finals lost: `unsent` was full too */
	__u64 threads_full;         /* a thread's run delay and I/O lost: `threads` was full */
	__u64 argv_faults;          /* argument pages not readable */
	__u64 argv_spared;          /* arguments cut to PROC_ARGV_SPARE, because half of the ring was full */
	__u64 no_buffer;            /* cannot happen */
	__u64 recovered[PROC_TYPES]; /* only the second program of a hook saw it */
	__u64 environ_faults;       /* environments not searched to their end: not readable, or too long */
	__u64 exits_delayed;        /* ends put into `unsent_exits` */
	__u64 exits_full;           /* ends lost: `unsent_exits` was full too */
	__u64 environ_full;         /* environments with more named variables than a record holds */
};

/* A fork whose record waits for the exec, as rules may exclude the process: pending_forks.bpf.h. */
struct proc_pending_fork {
	/* parent of an excluded process: the nearest collected ancestor, as far as known */
	struct proc_fork fork;
	__u32 excluded;
	__u32 reserved;
};
#define PROC_FORKS_SENT 4096u
struct proc_fork_sent {
	__u32 pid; /* another program than the process's own hooks sent this pending fork */
	__u32 n;
};

/* The one value of the map "reported": the counters that user space has reported as lost. */
struct proc_reported {
	struct proc_counters counters;
	__u64 misses[4];
};

/*
 * CPU time of tasks without records, for the ledger: kernel threads and excluded processes. seen: the iterator adds the
 * whole time of each live task, so the sum of one scan is the difference over that scan. gone: a program adds the time
 * once, when the kernel frees the task.
 */
struct proc_others {
	__u64 kernel_seen_ns, kernel_gone_ns;
	__u64 excluded_seen_ns; /* gone: by rule, struct skep_rules */
};

#endif
