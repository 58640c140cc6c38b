/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/state.h - the probe's state in user space, and the functions that its files share.
 */
#ifndef SKEP_PROC_STATE_H
#define SKEP_PROC_STATE_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <skep/path.h>
#include <skep/pins.h>
#include <skep/plugin.h>
#include <skep/ring.h>
#include <skep/rules.h>

#include "proc.h"

/* Index in the plugin's table of streams. */
enum { STREAM_FORK, STREAM_EXEC, STREAM_EXIT, STREAM_FINAL, STREAM_LIVE, STREAM_OOM, STREAM_LEDGER,
	STREAM_EXCLUDED, N_STREAMS };
extern const struct skep_stream *const proc_streams[N_STREAMS];
extern const unsigned proc_stream_of[PROC_TYPES];
extern const char *const proc_program_names[4]; /* as prog_fds */

#define PAGE_BYTES(pages_) ((uint64_t)(pages_)*st->page_size)

/* Scratch for the strings of one record; the ring's pages are read-only. */
struct scratch {
	char argv[PROC_ARGV_MAX + 1];
	char filename[PROC_PATH_MAX + 1];
	char exe[PROC_PATH_MAX * 2];
	char cwd[PROC_PATH_MAX * 2];
	char cgroup[PROC_PATH_MAX * 2];
	char comm[PROC_COMM + 1], parent_comm[PROC_COMM + 1];
	char environ[PROC_ENVIRON_MAX + 1];
};

/* Totals that wait until RCU has freed all threads of their process. */
struct pending {
	struct pending *next;
	struct proc_final final;
};

/* An entry of `threads` that totals include: durable.c deletes it once mark number `mark` is durable. */
struct used_threads {
	struct used_threads *next;
	struct proc_threads_key key;
	uint64_t mark;
};

/* Sums over the threads of one process during a scan; only processes with more than one thread need it. */
struct group {
	uint32_t pid;
	bool has_leader;
	struct proc_leader leader;
	struct proc_sums threads;
	uint32_t thread_flags;
};

/* A live process whose record waits for its arguments, which the host reads. */
struct live_wait {
	struct live_wait *next;
	struct proc_state *st;
	struct proc_leader leader;
	struct proc_sums sums;
	uint32_t flags;
	bool sent; /* the record went out without them, as an event of the process came meanwhile */
};
#define WAIT_SLOTS 256u /* a power of two */
#define WAIT_MOST  2048u /* a scan pauses while so many records wait */

struct proc_state {
	/* options */
	uint64_t opt_ring_bytes;
	uint64_t opt_drain_ns;
	const char **opt_environ;

	const struct skep_host *host;
	struct skep_instance *inst; /* for the ring's callback */
	struct proc_bpf *bpf;
	struct skep_pins pins;
	int prog_fds[4]; /* of the hooks, to read their misses; -1: not loaded */
	struct skep_ring ring;
	struct skep_watch *ring_watch;
	struct skep_timer *drain_timer;
	struct skep_timer *more_timer; /* one callback did not empty the ring */
	uint64_t drain_until_ns;       /* the drain under way ends here; 0: never */
	unsigned drained;              /* records of it */
	uint64_t page_size;
	unsigned n_cpus; /* entries of arrays by CPU number: skep/cpus.h */
	const struct proc_others *others; /* the kernel side's, mapped */
	const struct skep_rules *rules;   /* the same, or the host's */
	struct proc_environ_table environ; /* names of the option and of the host */
	uint32_t environ_names;            /* their number */
	uint32_t boundaries_generation;    /* of the host's lists that the kernel side has; 0: none */

	const struct proc_counters *counters; /* mmap of the counters map */
	size_t counters_size;
	struct proc_counters seen;            /* the part that is reported */
	uint64_t seen_misses[4];
	struct skep_counter *c_misses, *c_threads_lost, *c_argv_faults, *c_argv_spared, *c_environ_faults,
		*c_environ_full, *c_bad;
	bool resync;                          /* the kernel side dropped a record: scan as soon as possible */

	struct pending *pending, **pending_end;
	struct used_threads *used;
	uint64_t marks;             /* number of marks that the host requested */
	char *mark_extra;           /* of the last one */
	struct proc_counters marked; /* `seen` and `seen_misses` as they were then */
	uint64_t marked_misses[4];
	uint64_t cleaned_ns; /* proc_threads_clean last ran */

	/* a scan under way */
	int iter_fd; /* -1: none */
	struct skep_timer *scan_timer;
	char *scan_buffer;
	uint32_t pending_forks_at; /* where proc_pending_forks_clean() continues; 0: at the begin */
	size_t scan_part; /* bytes of a record cut by the end of a read */
	bool scan_waits; /* the scan has ended, but records still wait for arguments */
	struct live_wait *waits[WAIT_SLOTS]; /* by pid; an entry stays until the host answers */
	size_t n_waiting;                    /* entries whose record is not sent */
	struct group *groups; /* open addressing by pid */
	size_t n_groups, groups_room;
	struct proc_others others_begin;
	struct scratch scratch;

};

/* decode.c */
/* Emits the record in these bytes of the ring, whose lengths it checks. 0 or -EBADMSG. */
int proc_decode_ring(struct skep_instance *, struct proc_state *st, const void *data, size_t size);
void proc_emit_final(struct skep_instance *, struct proc_state *st, const struct proc_final *);
void proc_emit_live(struct skep_instance *, struct proc_state *st, const struct proc_leader *, const struct proc_sums *,
		    uint32_t flags);
/* details: NULL: none. */
void proc_live_record(struct skep_instance *, struct proc_state *st, const struct proc_leader *,
		      const struct proc_sums *, uint32_t flags, const struct skep_process_text *details);

/* pending_finals.c: totals that wait for their threads, or in a map because the ring was full */
int proc_pending_add(struct skep_instance *, struct proc_state *st, const struct proc_final *);
/* Emits the totals that have waited for at least min_age_ns. */
void proc_pending_run(struct skep_instance *, struct proc_state *st, uint64_t min_age_ns);
void proc_pending_free(struct proc_state *st);
/* Drains a map of ends or totals that found the ring full. */
void proc_unsent_drain(struct skep_instance *, struct proc_state *st, int fd);
/* Removes entries of processes that are gone, a few with each call. */
void proc_pending_forks_clean(struct skep_instance *, struct proc_state *st);
/* Emits and removes all pending forks of that map, whose kernel side is detached. */
void proc_pending_forks_drain(struct skep_instance *, struct proc_state *st, int fd);

/* durable.c: keeps records in the kernel until their reports are durable */
void proc_mark(struct skep_instance *, void *state, struct skep_mark *);
void proc_settled(struct skep_instance *, void *state, const struct skep_mark *);
/* Restores the totals that waited when the previous skepd ended. */
void proc_mark_resume(struct skep_instance *, struct proc_state *st);
/* Totals include this entry of `threads`. */
void proc_threads_used(struct proc_state *st, const struct proc_threads_key *);
void proc_threads_used_free(struct proc_state *st);
/* In stop(): takes all reports as durable. */
void proc_mark_end(struct proc_state *st);

/* proc.c */
/* Reports the losses in `now` beyond `seen`. true: there were some. */
bool proc_report_losses(struct skep_instance *, struct proc_state *st, const struct proc_counters *now,
			const struct proc_counters *seen);
/* The same for events whose program the kernel skipped; fds as prog_fds; raises seen. */
bool proc_report_misses(struct skep_instance *, struct proc_state *st, const int fds[4],
			const struct proc_counters *now, uint64_t seen[4]);

/* pinned.c: across a restart of skepd */
void proc_pinned_begin(struct skep_instance *, struct proc_state *st);
/* Lets the kernel side record on, and saves there the counters reported up to now. */
void proc_pinned_touch(struct proc_state *st);
void proc_pinned_reported(const struct proc_state *st, const struct proc_counters *counters, const uint64_t misses[4]);
/* Drains and removes the pinned state of other builds, once our kernel side is attached. */
void proc_pinned_others(struct skep_instance *, struct proc_state *st);
/* Deletes entries of `threads` that no totals will include, as the kernel freed the threads too late. */
void proc_threads_clean(struct proc_state *st);

/* scan.c */
int proc_scan_begin(struct skep_instance *, struct proc_state *st);
/* Runs one slice of at most budget_ns (0: to the end). true: the scan has not ended. */
bool proc_scan_step(struct skep_instance *, struct proc_state *st, uint64_t budget_ns);
void proc_scan_end(struct skep_instance *, struct proc_state *st, bool complete);
/* No record waits any more: finishes a scan that only waited for them. */
void proc_scan_answered(struct skep_instance *, struct proc_state *st);

/* ledger.c: posts CPU time of kernel threads and excluded processes when a scan is complete */
void proc_ledger_begin(struct proc_state *st);
void proc_ledger_post(struct skep_instance *, struct proc_state *st);

/* signals.c */
void proc_signals(struct skep_instance *, struct proc_state *st);

/* procfs.c: what the iterator lacks, for a process older than the probe */
bool proc_alive(uint32_t pid); /* a process has that pid */
/* Fills in what /proc and text have; text->error: why the arguments are unknown. */
void proc_details(struct skep_instance *, struct proc_state *st, const struct skep_upid *,
		  const struct skep_process_text *text, struct skep_process_live *);
/* Asks the host for the arguments; the record follows with them, or with a mark that they are missing. */
void proc_details_ask(struct skep_instance *, struct proc_state *st, const struct proc_leader *,
		      const struct proc_sums *, uint32_t flags);
/*
 * Before an event of that process: sends its record without arguments; before an exec, also without what /proc has.
 */
void proc_details_skip(struct skep_instance *, struct proc_state *st, uint32_t pid, bool exec);
/* In stop(): sends the waiting records without arguments. */
void proc_details_end(struct skep_instance *, struct proc_state *st);

/* environ.c: variables of environments, by the option `environ` and by the host's names */
/* Checks the option's names. 0, or what host->fail returned. */
int proc_environ_check(struct skep_instance *, const struct proc_state *st);
/* The option's names as a table. Returns their number. */
uint32_t proc_environ_option(const struct proc_state *st, struct proc_environ_table *ret);
/* Adds names to a table that has n. Returns the new number; ret_refused: a name that the table cannot have. */
uint32_t proc_environ_add(struct proc_environ_table *, uint32_t n, const char *const *names, const char **ret_refused);
/*
 * Picks the table's variables from a block "A=1\0B=2\0...", each cut to PROC_ENVIRON_ENTRY bytes, as the kernel side
 * does.
 */
size_t proc_environ_pick(const struct proc_environ_table *, const char *block, size_t len, char *ret, size_t room);
/* The variables of a record: picked from that block, secrets blanked, in the scratch. */
struct skep_str proc_environ_text(struct skep_instance *, struct proc_state *st, const char *block, size_t len);

/* boundary.c */
/* Gives the names and the host's programs to the kernel side, if the host's lists have changed. 0 or -errno. */
int proc_boundaries_set(struct skep_instance *, struct proc_state *st);

/* load.c */
struct bpf_program;
/* 0, or what host->fail returned; then it has unloaded everything */
int proc_load(struct skep_instance *, struct proc_state *st);
/* Detaches the hooks and keeps the maps. true: all stays attached, for the next skepd. */
bool proc_detach(struct skep_instance *, struct proc_state *st);
void proc_unload(struct proc_state *st);

/* proc.c */
/* Emits what the ring has now, for a caller that must know all events before this moment. */
void proc_catch_up(struct proc_state *st);
/* Drains the ring, for at most budget_ns (0: to the end). false: records are left. */
bool proc_drain(struct skep_instance *, struct proc_state *st, uint64_t budget_ns);

#endif
