/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/proc.h - what the kernel side and the user side of the probe share:
 * records in the ring, records of the iterator, counters.
 *
 * Every record is 8-byte aligned and begins with struct proc_head.  The two sides are built
 * together; but a kernel side may have been left behind by another skepd (pinned.c), so whoever
 * changes anything here that is in the ring or in a map counts PROC_LAYOUT up.  A record's type stays where it is.
 */
#ifndef SKEP_PROC_H
#define SKEP_PROC_H

#include <linux/types.h>

#define PROC_LAYOUT 2u

/*
 * Bounds of what one exec may carry.  argv is whole up to PROC_ARGV_MAX bytes in
 * total; the length before the cut travels along.  32 KiB keeps the buffer that each
 * CPU needs under 64 KiB.
 */
#define PROC_ARGV_MAX 32768u
#define PROC_ARGV_SPARE 1024u /* the bound while half of the ring is full */
#define PROC_PATH_MAX 4096u
#define PROC_CGROUP_DEPTH 24
#define PROC_NAME_MAX 256u   /* one component, NUL included (NAME_MAX is 255) */
#define PROC_COMM 16
#define PROC_BUFFERS 2u      /* for each CPU, to put exec records together */
#define PROC_ENVIRON_NAMES 8u   /* variables that can be asked for */
#define PROC_ENVIRON_WORDS 4u   /* a name and its '=' in words of 8 bytes */
#define PROC_ENVIRON_ENTRY 160u /* of one variable: name, '=', value and a NUL; a longer one is cut */
#define PROC_ENVIRON_MAX 2048u  /* a power of two; at least so much that the kernel side has room for each once */

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
	__u32 reserved;
	char comm[PROC_COMM];
};

#define PROC_EXEC_ARGV_FAULT 1u
#define PROC_EXEC_EXE_CUT 2u
#define PROC_EXEC_CWD_CUT 4u
#define PROC_EXEC_JUDGED 8u
#define PROC_EXEC_WAS_EXCLUDED 16u
#define PROC_EXEC_ENVIRON_FAULT 32u /* the environment could not be read to its end */
#define PROC_EXEC_UNKNOWN_SHIFT 8 /* above it: dimensions of rules that the kernel has no answer for */

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
	__u32 argv_total;
	/* lengths of what follows the struct, in this order; paths as components, leaf first, each NUL-terminated */
	__u32 exe_len, filename_len, cwd_len, cgroup_len, argv_len;
	__u32 environ_len; /* was always 0 in a kernel side that did not read it: no other layout */
	char comm[PROC_COMM];
};

/* "NAME=" of a variable that is asked for, as words, and which bits of them are its. */
struct proc_environ_name {
	__u64 words[PROC_ENVIRON_WORDS], masks[PROC_ENVIRON_WORDS];
};

/* An exec of a process that was collected, which excludes it: nothing more will come of it. */
struct proc_excluded {
	struct proc_head h;
	struct proc_sums sums; /* at the exec */
	__u64 maxrss_pages;
	__u32 byte;       /* its verdict (skep/rules.h) */
	__u32 generation; /* of the rules */
};

struct proc_exit {
	struct proc_head h;
	struct proc_sums sums; /* as far as booked */
	__u64 rss_peak_pages; /* 0: the mm has gone (before 6.16) */
	__u64 maxrss_pages;
	__u64 cgroup_id;
	__u32 status;
	__u32 reserved;
};

#define PROC_FINAL_DELAYED 1u /* came by the map `unsent` */
#define PROC_FINAL_PARTIAL 4u /* user space: some of its threads never came */
#define PROC_FINAL_THREADS 2u /* some threads of it may not have been let go yet: look into `threads` later */

struct proc_final {
	struct proc_head h;
	struct proc_sums sums; /* CPU, run delay and I/O of the leader alone; its threads' are in `threads` */
	__u64 signal_cpu_ns;   /* CPU by signal_struct: at least this */
	__u64 switches, faults; /* of all threads but the leader, by signal_struct */
	__u64 maxrss_pages;
	__u64 cgroup_id;
	__u64 signal; /* key into `threads` */
	__u64 threads; /* set by user space: threads it has had */
	__u32 status;
	__u32 flags;
};

struct proc_oom {
	struct proc_head h;
	__u64 cgroup_id;
	__u64 limit_pages; /* 0: no cgroup on the way up is at its limit: the host ran out */
	__u64 usage_pages;
	__u64 peak_pages;
	__u32 cgroup_len;
	__u32 reserved;
};

#define PROC_LIVE_ZOMBIE 1u
#define PROC_LIVE_RUNNING 2u
#define PROC_LIVE_BLOCKED 4u

struct proc_thread {
	struct proc_head h; /* pid: the tgid it belongs to */
	struct proc_sums sums;
	__u32 flags;
	__u32 reserved;
};

struct proc_leader {
	struct proc_head h;
	struct proc_sums sums; /* own plus all dead threads */
	__u64 parent_start_ns;
	__u64 cgroup_id;
	__u64 rss_pages, rss_peak_pages, maxrss_pages;
	__u32 parent_pid;
	__u32 uid, gid;
	__u32 session;
	__u32 ns_pid;
	__u32 threads;
	__u32 flags;
	__u32 reserved;
	char comm[PROC_COMM];
};

/*
 * What threads that are gone used, read when each is freed, for what signal_struct does
 * not have, or has wrong for this purpose:
 *   run-queue delay   is not added up there;
 *   I/O               is, but together with that of every child that was waited for
 *                     (kernel/exit.c, wait_task_zombie), so it would count twice;
 *   CPU               is added up when a thread releases itself, which it does before its
 *                     last switch: what it ran since the last tick is missing (and is from
 *                     wait4's rusage too, but not from the cgroup's usage).
 */
struct proc_threads_key {
	__u64 signal;
	__u32 pid;
	__u32 reserved;
};
struct proc_threads {
	__u64 n; /* threads let go */
	__u64 cpu_ns, run_delay_ns, run_count;
	__u64 switches, faults; /* to see whether all have come */
	__u64 rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled_write_bytes;
};

struct proc_unsent_key {
	__u64 start_ns;
	__u32 pid;
	__u32 reserved;
};

/* One element a CPU, read through mmap. */
struct proc_counters {
	__u64 sent[PROC_TYPES];
	__u64 dropped[PROC_TYPES];  /* the ring was full */
	__u64 delayed;              /* finals put into `unsent` */
	__u64 unsent_full;          /* finals lost: `unsent` was full too */
	__u64 threads_full;         /* a thread's run delay lost: `threads` was full */
	__u64 argv_faults;          /* argument pages not readable */
	__u64 argv_spared;          /* arguments cut to PROC_ARGV_SPARE, because half of the ring was full */
	__u64 no_buffer;            /* cannot happen; counted all the same */
	__u64 recovered[PROC_TYPES]; /* seen by the second program of a hook, not by the first */
	__u64 environ_faults;       /* environments not readable to their end */
	__u64 exits_delayed;        /* ends put into `unsent_exits` */
	__u64 exits_full;           /* ends lost: that was full too */
	__u64 pad[1];
};

/* What the kernel side keeps of a fork while there are rules: pending_forks.bpf.h. */
struct proc_pending_fork {
	/* of an excluded process: as its parent the nearest ancestor that is collected, as far as known */
	struct proc_fork fork;
	__u32 excluded;
	__u32 reserved;
};
#define PROC_FORKS_SENT 4096u
struct proc_fork_sent {
	__u32 pid; /* a fork that was held back, and told by another than itself */
	__u32 n;
};

/* The one value of the map "reported", user space's own: what of the counters was reported as lost. */
struct proc_reported {
	struct proc_counters counters;
	__u64 misses[4];
};

/*
 * CPU time of what is not reported as processes, for the ledger: kernel threads and excluded
 * processes.  seen: the iterator adds what each live one has had since it began, so a pass's
 * sum is the difference over that pass.  gone: added once, when the kernel frees the task.
 */
struct proc_others {
	__u64 kernel_seen_ns, kernel_gone_ns;
	__u64 excluded_seen_ns; /* gone: by rule, struct skep_rules */
};

#endif
