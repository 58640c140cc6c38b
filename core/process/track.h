/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track.h - the tracker: life-cycle records in, one record per image of a process out.
 * Keeps the process table, decides which run a process belongs to, and survives records
 * that are missing, doubled, late or absurd.  Knows no plugin and no loop; the caller says
 * what time it is.
 */
#ifndef SKEP_CORE_TRACK_H
#define SKEP_CORE_TRACK_H

#include "core/identify/cgroup.h"
#include "core/process/proctab.h"
#include "core/identify/tool.h"

#define TRACK_PATIENCE_MOST_NS 10000000000u /* with a life-cycle probe that says that it still holds some back */
#define TRACK_PATIENCE_NS 2000000000u /* for facets, and for the final record of a process that sweeps miss */

struct delivery;

/* What the tracker works with; all borrowed. */
struct track_env {
	const struct tools *tools;
	const struct facets *facets;
	struct cgroups *cgroups;
	/*
	 * Delivers a record: delivery_emit(). The process table must not depend on delivery, so it calls through a
	 * pointer.
	 */
	void (*emit)(struct delivery *, int stream, const struct skep_upid *, uint64_t time_ns, const void *rec,
		     const struct skep_context *);
	struct delivery *out;
	int process_stream;        /* its number there */
	uint32_t process_size;     /* its record's size, facets included */
	int task_stream;           /* number of "task"; -1: none are wanted */
	int sample_stream;         /* the same of process.sample; -1: none are wanted */
	uint32_t sample_size;
	bool runs_only;
	uint64_t start_ns;         /* the collector's */
	struct rule_eval *rule_eval; /* NULL: everything is collected */
	/* A run was found by its session; its root has come to its end (status, end_ns are set). */
	void (*run_found)(void *arg, struct run *);
	void (*run_over)(void *arg, struct run *);
	void *arg;
};

struct track_stats {
	uint64_t records;     /* taken */
	uint64_t invalid;     /* about no process */
	uint64_t late;        /* about a process that was closed already, or told twice */
	uint64_t clamped;     /* counters that would have gone backwards */
	uint64_t lost;        /* processes closed without final counters */
	uint64_t facet_late;  /* closed without waiting longer for a facet probe */
	uint64_t no_memory;   /* records dropped: out of memory */
	uint64_t unsaved;     /* state of processes, runs, tasks and probes that could not be saved */
	uint64_t unrestored;  /* saved state that could not be used */
	uint64_t excluded;    /* processes that rules have taken out, as far as user space was told of them */
	uint64_t unborn;      /* ends of processes that were excluded when the rules changed, and had no name yet */
};

struct track;

/* 0 or -ENOMEM */
int track_new(const struct track_env *, struct track **ret);
/*
 * The rule evaluation evaluates rules on the processes of this table. Before the first record; track_new() calls it for
 * env.rule_eval. 0 or -ENOMEM.
 */
int track_rules(struct track *, struct rule_eval *);
struct track *track_free(struct track *);

/* What it works with, borrowed as long as it lives. */
struct runs *track_runs(struct track *);
const struct proctab *track_table(const struct track *);
struct sampler *track_sampler(struct track *);
const struct track_stats *track_stats(const struct track *);
void track_tools(struct track *, const struct tools *); /* others from now on */
uint32_t track_process_size(const struct track *); /* of the records: see track_layout */
uint32_t track_sample_size(const struct track *);
uint64_t track_swept_ns(const struct track *); /* begin of the last complete sweep; 0: none yet */
/* CPU time of all processes since the tracker began, as far as it is known: the ledger's part. */
int64_t track_cpu_ns(const struct track *);
/* Of it what the kernel's sum of excluded processes has as well. */
int64_t track_reevaluated_ns(const struct track *);

/* Records may become that large; they are what they were until track_layout. 0 or -ENOMEM. */
int track_reserve(struct track *, uint32_t process_size, uint32_t sample_size);
/* From now on they are; not more than was reserved. */
void track_layout(struct track *, uint32_t process_size, uint32_t sample_size);

/* role: any SKEP_ROLE_PROC_*. The record is read only during the call. */
void track_record(struct track *, enum skep_role, const struct skep_upid *, uint64_t time_ns, const void *rec,
		  uint64_t now_ns);
void track_facet(struct track *, const struct skep_stream *, const struct skep_upid *, const void *rec,
		 uint64_t now_ns);
void track_sweep_begin(struct track *, uint64_t time_ns, uint64_t now_ns);
void track_sweep_end(struct track *, bool complete, uint64_t now_ns);
/* All facet probes have emitted everything up to that time. UINT64_MAX: there is none to wait for. */
void track_drained(struct track *, uint64_t time_ns, uint64_t now_ns);
/*
 * No final record comes any more, also not for a later skepd: ended processes that wait for theirs get their record
 * without it.
 */
void track_finals_over(struct track *, uint64_t now_ns);
/* All life-cycle probes have emitted everything up to that time. UINT64_MAX: none of them ever says. */
void track_told(struct track *, uint64_t time_ns);
void track_tick(struct track *, uint64_t now_ns); /* a few times a second: those that waited long enough */

/*
 * A sample of each live process that has done anything since its last one and that is at
 * least min_age_ns old; when is the caller's business.
 */
void track_samples_out(struct track *, uint64_t min_age_ns, uint64_t now_ns);

/* What is known of a process, for records that are passed on. Borrowed until the next call. */
void track_context(const struct track *, const struct skep_upid *, struct skep_context *ret);

/* The same for a cgroup: its container. */
void track_cgroup_context(const struct track *, uint64_t cgroup_id, struct skep_context *ret);
/* Call back once for each cgroup that live processes are in. 0 or -ENOMEM. */
int track_cgroups_live(struct track *, uint64_t now_ns,
		       void (*cb)(void *arg, uint64_t cgroup_id, const struct skep_str *path), void *arg);

/* Is it in the table, with what it runs? If not an iterator's details are welcome. */
bool track_known(const struct track *, const struct skep_upid *);

/* This live process is the root of the run. 0, -ENOMEM, and as collector_run_begin has it -EBUSY, -EINVAL. */
int track_run_root(struct track *, struct run *, uint64_t now_ns);
bool track_run_rooted(const struct run *); /* the root is in the table: its end is still to come */
/*
 * How many members are still to be waited for: dead without final counters (zombies not
 * counted when zombies_ok), held for facets, or not seen by a complete sweep since `since`.
 */
size_t track_run_pending(const struct track *, const struct run *, bool zombies_ok, uint64_t since_ns);
/* Emit what is known of the members that are left and let go of them. status: the root's, as waitpid gave it. */
void track_run_close(struct track *, struct run *, uint64_t now_ns);
/* A life-cycle probe has told all that it had: verdicts are written now. */
void track_verdicts_out(struct track *);
/*
 * The rules have changed: all that is known is evaluated anew, at once; what was excluded until now comes
 * with the next sweep, which the caller asks for.
 */
void track_reevaluate(struct track *, uint64_t now_ns);
bool track_keeps(const struct track *); /* track_keep has been called */
void track_keep(struct track *, bool all); /* from now on; all: everything counts as changed, and nothing as stored */
/* State of n processes, runs or tasks could not be saved: counts that and logs it. */
void track_unsaved(struct track *, uint64_t n);
/* n pieces of saved state could not be used. */
void track_unrestored(struct track *, uint64_t n);

#endif
