/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/run.h - runs: their identity, counts and record.  The tracker (track_place.c) decides
 * which process belongs to which run.
 */
#ifndef SKEP_CORE_RUN_H
#define SKEP_CORE_RUN_H

#include <skep/hash.h>
#include <sys/types.h>

#include "core/base/intern.h"
#include "core/base/saved_as.h"
#include "core/identify/recognizer.h"
#include "core/process/attempts.h"
#include "core/process/containment.h"
#include "core/process/findings.h"
#include "core/process/records.h"
#include "core/process/run_spec.h"

struct run {
	struct run *next;
	struct run *id_next; /* next in its bucket of runs.by_id */
	struct cell *cells; /* its cells in the sampler; each holds a reference */
	struct proc *procs; /* its members, by run_next */
	uint64_t refs;      /* see run_ref */
	char *id, *name, *pipeline, *cwd, *traceparent;
	char *engine; /* the workflow engine, scheduler or launcher that leads it; "": none known */
	enum recognizer_class class; /* of the engine */
	char *parent; /* id of the run in which it began; "": none */
	char *job;    /* id of the scheduler's job that it is, or runs in; "": none known */
	char *account; /* that the scheduler charges for that job; "": none known */
	struct containment contained; /* of its root */
	/*
	 * Processes of this user whose recognizer says the same key belong to this run (track_scope.c).  "": no key.
	 */
	char *key;
	uint32_t key_uid;
	/* each process that said the key is a root, or each first one of a shell's job: the run ends with the last */
	bool peers;
	/* since when no root is left, and the run waits for another one, or for its `skep run`; 0: a root is left */
	uint64_t quiet_ns;
	uint32_t job_group, job_session; /* of a shell's job: its process group and session; 0: it is none */
	/* a shell's job that a sweep found before its first exec, which names it */
	bool of_fork;
	struct attempts *attempts; /* of its tasks; NULL: none counted yet */
	char *argv; /* "a\0b\0" */
	uint32_t argv_len;
	uint32_t argv_total; /* bytes of all arguments, where argv has only the first of them; 0: argv has all */
	bool restored; /* a previous skepd began it */
	struct saved_as saved, saved_texts;
	bool found; /* skepd found it by its engine or session; collector_run_begin() did not begin it */
	bool alone; /* no caller will call collector_run_end: the run ends when its root does */
	bool ended; /* its end has been emitted */
	pid_t root_pid;
	uint64_t root_ticks; /* its start as in /proc/PID/stat; 0: not known */
	struct skep_upid root; /* pid 0 until the root's first record */
	uint32_t uid;
	uint32_t payer; /* the user who answers for its root: skep/record.h, struct skep_process_fork */
	uint32_t gid;   /* the root's group when the run began */
	uint32_t owner; /* the user who began it by name */
	bool stranger;  /* of the owner: see run_spec.h */
	uint64_t start_ns, end_ns;
	/* CLOCK_REALTIME minus boot time when it began, or when the run around it began: struct skep_context */
	int64_t realtime_offset_ns;
	int status; /* of the root, as waitpid gives it; -1: not known */
	uint64_t status_of_ns; /* a shell's job without an engine: the begin of the root that has this status */
	uint64_t rusage_cpu_ns;
	uint64_t seen;    /* number of processes that belonged to it */
	uint64_t members; /* entries of the table that point here */
	uint64_t alive;
	/* the sum over its processes now; its largest value at a sample, at least the largest process */
	uint64_t rss_bytes, rss_peak_bytes;
	uint64_t largest_bytes; /* peak of its largest process */
	/* of core/collect/collector_pss.c: the largest sum; when the next may begin, the last began, and at what RSS */
	uint64_t pss_peak_bytes, pss_next_ns, pss_asked_ns, pss_rss_bytes;
	bool measuring;
	struct watch watch;
	bool tasked;      /* it has, or had, tasks */
	struct ledger_mark *books; /* the ledger's levels at the first cut after its begin; NULL: none yet */
	uint8_t group;        /* its byte in the verdict map, 0: none: see collector_detail.c */
	unsigned group_users; /* number of details attached to the run */
	uint64_t lost_begin[5];             /* by enum skep_loss: the collector's totals when it began */
	/* of the last sample, for the live line */
	uint64_t sample_interval_ns, sample_cpu_ns, sample_read_bytes, sample_write_bytes;
	uint64_t busiest_cpu_ns;
	char busiest[128];
};

struct runs {
	struct run *first;
	size_t n;
	struct run **by_id; /* NULL: there is no run */
	size_t n_buckets;   /* a power of two */
	struct skep_hash_key key;
	struct intern *intern; /* has the texts of run.contained; NULL: no run has any */
	struct saved_forgotten *forgotten; /* NULL: nobody saves runs */
};

/* Adds a run with copies of the spec's texts.  0, -EEXIST (a run has this id), -EINVAL (no id), -ENOMEM. */
int run_new(struct runs *, const struct run_spec *, uint64_t now_ns, struct run **ret);
int run_argv(struct run *, const char *argv, size_t len); /* "a\0b\0", copied. 0 or -ENOMEM */
/* "command", "session", "shell" (a job of an interactive shell), or the class of its engine. */
const char *run_origin(const struct run *);
int run_set(char **text, const struct skep_str *to); /* replaces one of its texts. 0 or -ENOMEM */
int run_engine(struct run *, const char *engine, enum recognizer_class); /* 0 or -ENOMEM */
void run_free(struct runs *, struct run *); /* removes and frees a run that nothing refers to */
/*
 * Each pointer to a run that outlives a call holds a reference: an entry of the process table, a task, a sampler cell,
 * an attached detail, an end under way, a process in the saved state.  run_unref() frees nothing: a run that a caller
 * holds stays until runs_reap(), which the collector calls at each sample.
 */
struct run *run_ref(struct run *); /* NULL is fine; returns its argument */
void run_unref(struct run *);      /* the same */
void runs_reap(struct runs *);     /* frees the runs that have ended and that nothing refers to */
struct run *run_find(const struct runs *, const char *id);
/* The run of that engine, key and user that has not ended; NULL: none. */
struct run *run_of_key(const struct runs *, const char *engine, const struct skep_str *key, uint32_t uid);
/* The run of that job of a shell that has not ended; NULL: none. */
struct run *run_of_job(const struct runs *, uint32_t group, uint32_t session);
/* The run that has not ended, if there is exactly one; else NULL. */
struct run *run_only(const struct runs *);
/*
 * Fills all fields but host, boot_id, kernel, version, cpus, interval and losses.  The strings are borrowed from the
 * run.
 */
void run_record(const struct run *, struct record_run *ret);
/* The context of records about the run as a whole.  Borrowed from the run. */
void run_context(const struct run *, struct skep_context *ret);
/* A process of it had at most so much resident memory. */
void run_largest(struct run *, uint64_t peak_bytes);
/* At each sample: updates the peak of the run's resident memory. */
void run_sampled(struct run *);

/* wait status -> exit code (-1: none), signal, core. */
void run_decode_status(uint32_t status, int64_t *ret_code, uint64_t *ret_signal, bool *ret_core);

#endif
