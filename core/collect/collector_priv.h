/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_priv.h - between the collector's files: collector.c (its life),
 * collector_host.c (what plugins call), collector_out.c (runs, samples and losses as
 * records, figures), collector_end.c (the ends of runs and its own).
 */
#ifndef SKEP_CORE_COLLECTOR_PRIV_H
#define SKEP_CORE_COLLECTOR_PRIV_H

#include "core/base/magic.h"
#include "core/base/clock.h"
#include "core/collect/collector.h"
#include "core/rules/rule_eval.h"
#include "core/process/ledger.h"
#include "core/plugin/plugin.h"
#include "core/identify/reader.h"
#include "core/identify/redact.h"
#include "core/process/track.h"
#include "core/plugin/verdict.h"

/* What the collector keeps of an instance (skep_instance.extra). */
struct instance_data {
	struct skep_instance *inst;
	struct delivery_sink *sink;   /* sinks */
	uint64_t serial;         /* larger for those made later; from 1 */
	bool probe, facet, lifecycle;
	unsigned attachments;    /* of its details */
	bool sweeping;
	int *streams;            /* by the plugin's number: that in the way out, or -1: does not leave */
	uint64_t (*lost)[DELIVERY_LOSSES]; /* by the plugin's stream number */
	uint64_t (*told)[DELIVERY_LOSSES]; /* the part of `lost` that loss records have reported */
	struct skep_instance *after; /* the records of that instance come first; NULL: none */
	uint64_t leave_ns;       /* in collector.leaving: stopped then at the latest */
	bool left_behind;        /* its work() does not return: the collector ignores it from then on */
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
	char *sink;              /* only that one is waited for; NULL: all */
	void (*done)(void *arg);
	void *arg;
};

/* A reading position on its way to the spool. */
struct marked {
	struct marked *next;
	uint64_t number; /* of the commit */
	uint64_t serial; /* of its instance_data: the instance may be gone by then */
	struct skep_mark mark;
};

/* What the skepd before this one has left in the spool. */
struct left {
	char *lines;      /* as core/process/saved.h has it; NULL: nothing of this boot */
	size_t lines_size;
	void *samples;
	size_t samples_size;
	unsigned unread; /* pieces that could not be read */
	char why[256]; /* the spool could not be opened */
};

#define MS_NS 1000000u

enum stop_phase { STOP_NOT, STOP_PROBES, STOP_DRAIN, STOP_SINKS, STOP_SPOOL, STOP_CLOSE };

#define MAGIC_collector 0xc011ec70u
struct collector {
	uint32_t magic;
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
	struct rule_eval *rule_eval;    /* NULL: with runs only */
	int64_t excluded_ns;    /* CPU time of excluded processes, as the probe reported it last */
	bool excluded_known;
	bool names_due;         /* names of users have come since the rules were applied last */
	bool names_late;        /* a look-up does not return, and the log says so */
	uint64_t names_next_ns, names_wait_ns;
	bool reevaluating;         /* rules have changed; processes that the old ones excluded are not evaluated yet */
	struct tools *tools;
	struct redact *redact;
	struct containers *containers;
	struct cgroups *cgroups;
	struct facets *facets;
	struct delivery *delivery;
	struct track *track; /* NULL until opened */
	struct skep_instance *instances; /* probes, then sinks */
	struct ledger *ledger;
	/* since when; the last interval. NULL: not yet */
	struct ledger_mark *ledger_first, *ledger_before, *ledger_last;
	int stream_process, stream_run, stream_task, stream_sample, stream_loss, stream_ledger, stream_process_sample;
	bool running;
	uv_timer_t pump;   /* what the way out waits for */
	uv_timer_t tick;   /* housekeeping, a few times a second */
	uv_timer_t sample; /* each interval */
	uv_timer_t fast;   /* while a run or the collector ends */
	void (*on_fast)(uv_timer_t *); /* its callback */
	unsigned handles;  /* not closed yet */
	uint64_t sampled_ns;
	uint64_t processes_sampled_ns; /* when process.sample records last went out */
	bool sample_due;   /* waits for a sweep's end */
	uint64_t told_missing; /* of the final records that never came */
	/*
	 * Of instances that were removed: losses that are not in the way out's books, from the kernel, of final
	 * records.
	 */
	uint64_t gone_lost[DELIVERY_LOSSES], gone_kernel, gone_finals;
	uint64_t parts;                /* that were made */
	struct reload *reload;         /* under way; NULL: none */
	/* removed, or replaced: until they have drained and stopped; those left behind stay for longer */
	struct skep_instance *leaving;
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
/* calls it back */
void collector_process_text(void *instance, skep_process_cb, void *arg, const struct skep_process_text *);

/* collector_sample.c */
void collector_sweep(struct collector *); /* asks the life-cycle probes for a pass over all that lives */
bool collector_sweeping(const struct collector *); /* one is under way */
void collector_sample_now(struct collector *); /* all probes; the records follow at once, or with the sweep's end */
void collector_swept(struct collector *);      /* the sweep that a sample waits for has ended */
uint64_t collector_interval(const struct config *);
void collector_sample_timer(struct collector *); /* begins an interval anew */
void collector_fast(struct collector *); /* calls collector_on_fast often from now on, until nothing ends any more */

/* collector_tick.c */
/* something changed on the way to sinks: goes on from the loop, never from inside a probe's callback */
void collector_wake(void *collector);
void collector_tick_start(struct collector *);

/* collector_rules.c */
int collector_first_rules(struct collector *, struct diag *);
void collector_names_came(void *collector); /* names of users or groups are known now that were not */
void collector_rules_tick(struct collector *, uint64_t now_ns);

/* collector_instance.c */
int collector_instance_new(struct collector *, const struct config *, const struct config_plugin *, uint32_t kind,
			   struct diag *, struct skep_instance **ret);
/* With its data; after instance_stopped, or never started. */
void collector_instance_free(struct skep_instance *);
const char *collector_instance_kind(const struct skep_instance *); /* "probe" "sink" */
void collector_data_let_go(struct instance_data *); /* of the batches that it may still read */
/* Its streams become known to the way out and to the process record. 0 or -errno; before it starts. */
int collector_streams_add(struct collector *, struct skep_instance *, struct diag *);
int collector_sink_add(struct collector *, struct skep_instance *);
/* It has failed to open or to start. Returns err when that is fatal; else it is tried again later. */
int collector_failed(struct collector *, struct skep_instance *, const char *doing, int err, struct diag *);
void collector_retry_later(struct instance_data *);
void collector_retry(struct collector *, struct instance_data *);

/* collector_reload.c */
/* Goes on with a reload; collector.fast calls it. */
void collector_reload_step(struct collector *);
void collector_reload_abort(struct collector *); /* the collector stops */

/* collector_leave.c */
/*
 * Moves the instance from its list, if it is in one, to the list of instances that leave.  drain_ns: how long the
 * collector still offers its batches.
 */
void collector_leave(struct collector *, struct skep_instance *, uint64_t drain_ns);
bool collector_leaving(struct collector *); /* one step; false: all have gone, or are left behind */
/*
 * Its work() does not return: the collector waits for it no longer.  Its memory and its batches stay until work()
 * returns.
 */
void collector_leave_behind(struct collector *, struct skep_instance *);
/* Adds its losses to another instance's, or (NULL) to the collector's sums. */
void collector_data_fold(struct collector *, struct instance_data *from, struct instance_data *to);

/* collector_host.c */
extern const struct instance_ops collector_ops;
void collector_facets_drained(struct collector *); /* some probe has come to another time, or state */
int collector_submit(void *inst, const struct skep_batch *);

/* collector_ledger.c */
void collector_ledger_cut(struct collector *);                    /* at each sample: the interval's lines out */
/* a probe's */
void collector_ledger_post(struct collector *, const struct skep_instance *, const struct skep_ledger_post *);
void collector_run_ledger_out(struct collector *, const struct run *); /* from its first cut to the last one */

/* collector_out.c */
void collector_run_out(struct collector *, struct run *); /* its record, as it is now */
void collector_sample_out(struct collector *);            /* all tools, losses; begins the next interval */
void collector_run_sample_out(struct collector *, struct run *); /* the last, partial interval of a run */
void collector_loss_out(struct collector *);
void collector_data_loss_out(struct collector *, struct instance_data *);
void collector_run_found(void *c, struct run *);
void collector_run_over(void *c, struct run *);

/* collector_detail.c */
void collector_detail_record(struct collector *, struct skep_instance *, const struct skep_stream *, int out_stream,
			     const struct skep_upid *, uint64_t time_ns, const void *rec);
void collector_detail_over(struct collector *, uint64_t id, const char *why);
void collector_flush_lifecycle(struct collector *); /* life-cycle probes drain now */
void collector_details_tick(struct collector *, uint64_t now_ns); /* ends those whose time has come */
/* at each sample: processes that joined their run otherwise than by fork */
void collector_details_members(struct collector *);
void collector_details_end(struct collector *, const struct run *, const char *why); /* all of that run; NULL: all */
void collector_details_end_of(struct collector *, const struct skep_instance *, const char *why);

/* collector_spool.c */
int collector_spool_open(struct collector *); /* 0 also without a spool, or where it cannot be opened; -ENOMEM */
/* Gives saved state of live processes to the tracker. false: none is saved. After probes open, before they start. */
bool collector_spool_restore(struct collector *);
void collector_spool_mark(struct collector *, struct skep_instance *); /* its last mark, before it starts */
void collector_spool_free(struct collector *);

/* collector_end.c */
void collector_on_fast(uv_timer_t *);

#endif
