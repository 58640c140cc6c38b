/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collector_priv.h - between the collector's files: collector.c (its life),
 * collector_host.c (what plugins call), collector_out.c (runs, samples and losses as
 * records, figures), collector_end.c (the ends of runs and its own).
 */
#ifndef SKEP_CORE_COLLECTOR_PRIV_H
#define SKEP_CORE_COLLECTOR_PRIV_H

#include "core/clock.h"
#include "core/collector.h"
#include "core/judge.h"
#include "core/ledger.h"
#include "core/plugin.h"
#include "core/reader.h"
#include "core/redact.h"
#include "core/track.h"
#include "core/verdict.h"

/* What the collector keeps of an instance (skep_instance.extra). */
struct part {
	struct skep_instance *inst;
	struct out_sink *sink;   /* sinks */
	uint64_t serial;         /* larger for those made later; from 1 */
	bool probe, facet, lifecycle;
	bool sweeping;
	int *streams;            /* by the plugin's number: that in the way out, or -1: does not leave */
	uint64_t (*lost)[OUT_LOSSES]; /* by the plugin's stream number */
	uint64_t (*told)[OUT_LOSSES]; /* of that in loss records already */
	struct skep_instance *after; /* what that one has to tell comes first; NULL: nobody */
	uint64_t leave_ns;       /* in collector.leaving: stopped then at the latest */
	bool left_behind;        /* its work() does not return: nobody waits for it, and what it says is not heard */
	bool accounted;          /* in collector.leaving: its losses are the collector's now */
	struct batch **held;     /* left behind: batches that it may still read */
	size_t n_held;
	uint64_t drained_ns;
	uint64_t retry_ns;       /* FAILED: when to try again */
	unsigned retries;
};

/* A run whose end is under way. */
struct ending {
	struct ending *next;
	struct run *run;         /* a reference. NULL: there is no such run, or its record is out */
	uint64_t began_ns, asked_ns; /* asked: when a sweep was last asked for */
	uint64_t last_id;        /* batch that must be settled */
	bool sampled;            /* every probe has been asked for its last part */
	bool closed;             /* the record is out; the sinks are waited for */
	void (*done)(void *arg);
	void *arg;
};

/* A reading position on its way to the spool. */
struct marked {
	struct marked *next;
	uint64_t number; /* of the commit */
	uint64_t serial; /* of the part: the instance may be gone by then */
	struct skep_mark mark;
};

/* What the skepd before this one has left in the spool. */
struct left {
	char *lines;      /* as core/carry.h has it; NULL: nothing of this boot */
	size_t lines_size;
	void *samples;
	size_t samples_size;
	unsigned unread; /* pieces that could not be read */
	char why[256]; /* the spool could not be opened */
};

enum stop_phase { STOP_NOT, STOP_PROBES, STOP_DRAIN, STOP_SINKS, STOP_SPOOL, STOP_CLOSE };

struct collector {
	uv_loop_t *loop;
	const struct config *config; /* borrowed */
	struct collector_options options;
	uint64_t start_ns, interval_ns;
	char boot_id[CLOCK_BOOT_ID_SIZE];
	char *host_name, *kernel;
	uint64_t cpus;
	struct verdict verdict;
	struct pins pins;
	struct reader *reader;  /* NULL: nothing reads others' arguments */
	struct judge *judge;    /* NULL: with runs only */
	int64_t excluded_ns;    /* CPU time of excluded processes, as the probe has told it last */
	bool excluded_known;
	bool names_due;         /* names of users have come since the rules were applied last */
	bool names_late;        /* a look-up does not return, and the log says so */
	uint64_t names_next_ns, names_wait_ns;
	bool rejudging;         /* rules have changed: what was excluded by those before is still to be looked at */
	struct tools *tools;
	struct redact *redact;
	struct containers *containers;
	struct cgroups *cgroups;
	struct facets *facets;
	struct out *out;
	struct track *track; /* NULL until opened */
	struct skep_instance *instances; /* probes, then sinks */
	struct ledger *ledger;
	struct ledger_mark *ledger_first, *ledger_before, *ledger_last; /* since when; the last interval. NULL: not yet */
	int stream_process, stream_run, stream_task, stream_sample, stream_loss, stream_ledger, stream_process_sample;
	bool running;
	uv_timer_t pump;   /* what the way out waits for */
	uv_timer_t tick;   /* housekeeping, a few times a second */
	uv_timer_t sample; /* each interval */
	uv_timer_t fast;   /* while a run or the collector ends */
	unsigned handles;  /* not closed yet */
	uint64_t sampled_ns;
	uint64_t processes_sampled_ns; /* when process.sample records last went out */
	bool sample_due;   /* waits for a sweep's end */
	uint64_t told_missing; /* of the final records that never came */
	/* Of instances that were removed: losses that are not in the way out's books, from the kernel, of final records. */
	uint64_t gone_lost[OUT_LOSSES], gone_kernel, gone_finals;
	uint64_t parts;                /* that were made */
	struct reload *reload;         /* under way; NULL: none */
	struct skep_instance *leaving; /* removed, or replaced: until they have drained and stopped; those left behind stay for longer */
	uint64_t left_behind;          /* instances that were left behind since the start */
	uint64_t ticked_ns, lag_ns, lag_worst_ns; /* how much later than due the last tick came, and the latest one */
	struct ending *endings;
	struct attachment *attachments;
	uint64_t last_attachment; /* the id */
	uint64_t groups;          /* bits: the groups of the verdict map that runs have */
	struct left left;
	struct marked *marked;
	bool samples_due;     /* a sample has been taken since the last commit */
	bool whole_due;       /* the next commit has everything */
	unsigned spool_replaced; /* as of the latest commit: how often its file has been made anew */
	enum stop_phase stop;
	uint64_t stop_ns, drain_ns; /* stop_ns: when the phase began */
	bool spool_left_behind;     /* at the end its disk did not answer */
	void (*stop_done)(void *arg);
	void *stop_arg;
};

/* collector_host.c */
void collector_process_text(void *instance, skep_process_cb, void *arg, const struct skep_process_text *); /* calls it back */

/* collector.c */
void collector_sweep(struct collector *); /* asks the life-cycle probes for a pass over all that lives */
bool collector_sweeping(const struct collector *); /* one is under way */
void collector_sample_now(struct collector *); /* all probes; the records follow at once, or with the sweep's end */
void collector_swept(struct collector *);      /* the sweep that a sample waits for has ended */

uint64_t collector_interval(const struct config *);
int collector_instance_new(struct collector *, const struct config *, const struct config_plugin *, uint32_t kind, struct diag *,
			   struct skep_instance **ret);
/* With its part; after instance_stopped, or never started. */
void collector_instance_free(struct skep_instance *);
/* Its streams become known to the way out and to the process record. 0 or -errno; before it starts. */
int collector_streams_add(struct collector *, struct skep_instance *, struct diag *);
int collector_sink_add(struct collector *, struct skep_instance *);
/* It has failed to open or to start. Returns err when that is fatal; else it is tried again later. */
int collector_failed(struct collector *, struct skep_instance *, const char *doing, int err, struct diag *);
void collector_sample_timer(struct collector *); /* begins an interval anew */

/* collector_reload.c */
/* Goes on with a reload; collector.fast calls it. */
void collector_reload_step(struct collector *);
void collector_reload_abort(struct collector *); /* the collector stops */
void collector_reload_removed(struct collector *, const struct skep_instance *, uint64_t lost); /* it is gone */

/* collector_leave.c */
/* Out of the list that it is in, if any, into that of those that leave; drain_ns: how long what it has may still be taken. */
void collector_leave(struct collector *, struct skep_instance *, uint64_t drain_ns);
bool collector_leaving(struct collector *); /* goes on with it; false: all are gone, or left behind */
/* Its work() does not return.  Nobody waits for it any more; its memory, and the batches that it has, stay until it returns. */
void collector_leave_behind(struct collector *, struct skep_instance *);
/* What its losses were goes over to another, or (NULL) to the collector's sums. */
void collector_part_fold(struct collector *, struct part *from, struct part *to);

/* collector_host.c */
extern const struct instance_ops collector_ops;
void collector_facets_drained(struct collector *); /* some probe has come to another time, or state */
int collector_submit(void *inst, const struct skep_batch *);

/* collector_ledger.c */
void collector_ledger_cut(struct collector *);                    /* at each sample: the interval's lines out */
void collector_ledger_post(struct collector *, const struct skep_instance *, const struct skep_ledger_post *); /* a probe's */
void collector_run_ledger_out(struct collector *, const struct run *); /* from its first cut to the last one */

/* collector_out.c */
void collector_run_context(const struct run *, struct skep_context *ret);
void collector_run_out(struct collector *, struct run *); /* its record, as it is now */
void collector_sample_out(struct collector *);            /* all tools, losses; begins the next interval */
void collector_run_sample_out(struct collector *, struct run *); /* the last, partial interval of a run */
void collector_loss_out(struct collector *);
void collector_part_loss_out(struct collector *, struct part *);
void collector_lost_now(const struct collector *, uint64_t ret[OUT_LOSSES]);
void collector_run_found(void *c, struct run *);
void collector_run_over(void *c, struct run *);

/* collector_detail.c */
void collector_detail_record(struct collector *, struct skep_instance *, const struct skep_stream *, int out_stream,
			     const struct skep_upid *, uint64_t time_ns, const void *rec);
void collector_detail_over(struct collector *, uint64_t id, const char *why);
void collector_details_tick(struct collector *, uint64_t now_ns); /* ends those whose time has come */
void collector_details_members(struct collector *);               /* at each sample: processes that joined their run otherwise than by fork */
void collector_details_end(struct collector *, const struct run *, const char *why); /* all of that run; NULL: all */
void collector_details_end_of(struct collector *, const struct skep_instance *, const char *why);

/* collector_spool.c */
int collector_spool_open(struct collector *); /* 0 also where there is to be none, or none could be had; -ENOMEM */
/* What it has of live processes goes into the tracker. false: it has nothing. After probes are there, before they start. */
bool collector_spool_restore(struct collector *);
void collector_spool_mark(struct collector *, struct skep_instance *); /* its last mark, before it starts */
void collector_spool_free(struct collector *);

/* collector_end.c */
void collector_on_fast(uv_timer_t *);
void collector_fast(struct collector *); /* from now on, until nothing ends any more */

#endif
