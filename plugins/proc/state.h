/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/state.h - the probe's state in user space, and what its files offer each other.
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
	char comm[PROC_COMM + 1];
	char environ[PROC_ENVIRON_MAX + 1];
};

/* A final that waits until RCU has let all threads of its process go. */
struct pending {
	struct pending *next;
	struct proc_final final;
};

/* An entry of `threads` that has been added to a final: it goes when that is settled with mark number `mark`. */
struct taken {
	struct taken *next;
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

/* A live process whose arguments have been asked for; its record waits for them. */
struct live_wait {
	struct live_wait *next;
	struct proc_state *st;
	struct proc_leader leader;
	struct proc_sums sums;
	uint32_t flags;
	bool sent; /* the record went out without them: something happened to the process meanwhile */
};
#define WAIT_SLOTS 256u /* a power of two */
#define WAIT_MOST  2048u /* the pass over live processes pauses while so many wait */

struct proc_state {
	/* options */
	uint64_t opt_ring_bytes;
	uint64_t opt_drain_ns;
	const char **opt_environ;

	const struct skep_host *host;
	struct skep_instance *inst; /* for the ring's callback */
	struct proc_bpf *bpf;
	struct skep_pins pins;
	int prog_fds[4]; /* of the hooks, to ask for their misses; -1: not loaded */
	struct skep_ring ring;
	struct skep_watch *ring_watch;
	struct skep_timer *drain_timer;
	struct skep_timer *more_timer; /* the ring was not emptied in one go */
	uint64_t drain_until_ns;       /* the drain under way ends here; 0: never */
	unsigned drained;              /* records of it */
	uint64_t page_size;
	unsigned n_cpus; /* entries of arrays by CPU number: skep/cpus.h */
	const struct proc_others *others; /* the kernel side's, mapped */
	const struct skep_rules *rules;   /* the same, or the host's */

	const struct proc_counters *counters; /* mmap of the counters map */
	size_t counters_size;
	struct proc_counters seen;            /* what has been reported of them */
	uint64_t seen_misses[4];
	struct skep_counter *c_misses, *c_threads_lost, *c_argv_faults, *c_argv_spared, *c_environ_faults, *c_bad;
	bool resync;                          /* something was dropped: scan as soon as possible */

	struct pending *pending, **pending_end;
	struct taken *taken;
	uint64_t marks;             /* that were asked for */
	char *mark_extra;           /* of the last one */
	struct proc_counters marked; /* `seen` and `seen_misses` as they were then */
	uint64_t marked_misses[4];
	uint64_t cleaned_ns; /* proc_threads_clean last ran */

	/* a scan under way */
	int iter_fd; /* -1: none */
	struct skep_timer *scan_timer;
	char *scan_buffer;
	uint32_t pending_forks_at; /* where proc_pending_forks_clean() goes on; 0: at the begin */
	size_t scan_part; /* bytes of a record cut by the end of a read */
	bool scan_waits; /* it has come to its end; its last records wait for arguments */
	struct live_wait *waits[WAIT_SLOTS]; /* by pid; one stays until it is answered */
	size_t n_waiting;                    /* whose record has not been sent */
	struct group *groups; /* open addressing by pid */
	size_t n_groups, groups_room;
	struct proc_others others_begin;
	struct scratch scratch;

};

/* decode.c: bytes of the ring or of the iterator into records; never trusts a length. */
/* 0, or -EBADMSG with a reason. Emits through the host table in st. */
int proc_decode_ring(struct skep_instance *, struct proc_state *st, const void *data, size_t size);
void proc_emit_final(struct skep_instance *, struct proc_state *st, const struct proc_final *);
void proc_emit_live(struct skep_instance *, struct proc_state *st, const struct proc_leader *, const struct proc_sums *,
		    uint32_t flags);
/* details: NULL: none are wanted. */
void proc_live_record(struct skep_instance *, struct proc_state *st, const struct proc_leader *,
		      const struct proc_sums *, uint32_t flags, const struct skep_process_text *details);

/* pending_finals.c: finals that wait for their threads, and those that the ring could not take. */
int proc_pending_add(struct skep_instance *, struct proc_state *st, const struct proc_final *);
/* Emits those that are at least min_age_ns old. */
void proc_pending_run(struct skep_instance *, struct proc_state *st, uint64_t min_age_ns);
void proc_pending_free(struct proc_state *st);
/* What a map of ends or finals that the ring could not take holds. */
void proc_unsent_take(struct skep_instance *, struct proc_state *st, int fd);
/* Takes out some of those that are gone, the next ones each time. */
void proc_pending_forks_clean(struct skep_instance *, struct proc_state *st);
/* Tells of all forks that are held back in that map; the kernel side is detached. */
void proc_pending_forks_take(struct skep_instance *, struct proc_state *st, int fd);

/* durable.c: what was read stays in the kernel until it is durable */
void proc_mark(struct skep_instance *, void *state, struct skep_mark *);
void proc_settled(struct skep_instance *, void *state, const struct skep_mark *);
/* The finals that were waiting when a skepd before this one ended. */
void proc_mark_resume(struct skep_instance *, struct proc_state *st);
/* This entry of `threads` has been used. */
void proc_taken(struct proc_state *st, const struct proc_threads_key *);
void proc_taken_free(struct proc_state *st);
/* Nothing is settled any more: what is told counts as told. */
void proc_mark_end(struct proc_state *st);

/* proc.c */
/* Reports what `now` counts as lost beyond `seen`. true: something was. */
bool proc_report_losses(struct skep_instance *, struct proc_state *st, const struct proc_counters *now,
			const struct proc_counters *seen);
/* The same of events for which the kernel skipped a program; fds as prog_fds; raises seen. */
bool proc_report_misses(struct skep_instance *, struct proc_state *st, const int fds[4],
			const struct proc_counters *now, uint64_t seen[4]);

/* pinned.c: across a restart of skepd */
void proc_pinned_begin(struct skep_instance *, struct proc_state *st);
/* Lets the kernel side record on; saves there what was reported up to now. */
void proc_pinned_touch(struct proc_state *st);
void proc_pinned_reported(const struct proc_state *st, const struct proc_counters *counters, const uint64_t misses[4]);
/* What others have left is read and taken out; ours is attached already. */
void proc_pinned_others(struct skep_instance *, struct proc_state *st);
/* Entries of `threads` that nobody will ask for: threads that were let go after their process's final was closed. */
void proc_threads_clean(struct proc_state *st);

/* scan.c */
int proc_scan_begin(struct skep_instance *, struct proc_state *st);
/* One slice of at most budget_ns (0: to the end). true: more is to come. */
bool proc_scan_step(struct skep_instance *, struct proc_state *st, uint64_t budget_ns);
void proc_scan_end(struct skep_instance *, struct proc_state *st, bool complete);
/* No record waits any more: a scan that has come to its end ends. */
void proc_scan_answered(struct skep_instance *, struct proc_state *st);

/* ledger.c: CPU time of kernel threads and of excluded processes, posted when a scan is complete. */
void proc_ledger_begin(struct proc_state *st);
void proc_ledger_post(struct skep_instance *, struct proc_state *st);

/* signals.c */
void proc_signals(struct skep_instance *, struct proc_state *st);

/* procfs.c: what the iterator does not give, for a process that was there before us. */
bool proc_alive(uint32_t pid); /* somebody has that pid */
/* Fills in what /proc and text say; text->error: why its arguments are not known. */
void proc_details(struct skep_instance *, struct proc_state *st, const struct skep_upid *,
		  const struct skep_process_text *text, struct skep_process_live *);
/* Asks the host for the arguments; the record follows, with them or, where they cannot be read, marked. */
void proc_details_ask(struct skep_instance *, struct proc_state *st, const struct proc_leader *,
		      const struct proc_sums *, uint32_t flags);
/*
 * An event of that process comes: its record goes before, without arguments; before an exec, also without what /proc
 * has.
 */
void proc_details_skip(struct skep_instance *, struct proc_state *st, uint32_t pid, bool exec);
/* In stop(): the records that wait go out without arguments. */
void proc_details_end(struct skep_instance *, struct proc_state *st);

/* environ.c: variables of environments that are asked for by name */
/* Are they names, and not too many? Says why not, and returns what host->fail did. */
int proc_environ_check(struct skep_instance *, const struct proc_state *st);
/* As the kernel side has them. The number. */
uint32_t proc_environ_names(const struct proc_state *st, struct proc_environ_name ret[PROC_ENVIRON_NAMES]);
/*
 * Of a block "A=1\0B=2\0..." those that are asked for, each cut to PROC_ENVIRON_ENTRY bytes; as the kernel side does.
 */
size_t proc_environ_pick(const struct proc_state *st, const char *block, size_t len, char *ret, size_t room);

/* load.c */
struct bpf_program;
/* 0 or what host->fail returned; nothing is left behind then */
int proc_load(struct skep_instance *, struct proc_state *st);
/* Hooks off, maps stay. true: everything stays, attached, for the next skepd. */
bool proc_detach(struct skep_instance *, struct proc_state *st);
void proc_unload(struct proc_state *st);

/* proc.c */
/* What the ring has now; for who needs to know what happened before this moment, and nothing else of a drain. */
void proc_catch_up(struct proc_state *st);
/* Empties the ring; budget_ns 0: wholly. false: time was up, or a record is being written, and there is more. */
bool proc_drain(struct skep_instance *, struct proc_state *st, uint64_t budget_ns);

#endif
