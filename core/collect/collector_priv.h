/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_priv.h - internals that the collector's files share: collector.c (its life), collector_host.c
 * (calls of plugins), collector_out.c (emits runs, samples and losses; figures), collector_end.c (the ends of runs and
 * of the collector).
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

/* The collector's data of an instance (skep_instance.extra). */
struct instance_data {
	struct skep_instance *inst;
	struct delivery_sink *sink;   /* of a sink; else NULL */
	uint64_t serial;         /* from 1; larger for later instances */
	bool probe, facet, lifecycle;
	unsigned attachments;    /* number of its attached details */
	bool sweeping;
	/* by the plugin's stream number: the stream's number in delivery; -1: never delivered */
	int *streams;
	uint64_t (*lost)[DELIVERY_LOSSES]; /* losses, by the plugin's stream number */
	uint64_t (*reported)[DELIVERY_LOSSES]; /* the part of `lost` that loss records have reported */
	struct skep_instance *after; /* the instance that this one replaces, and whose records come first; NULL: none */
	uint64_t leave_ns;       /* in collector.leaving: the collector stops it then at the latest */
	bool left_behind;        /* its work() does not return: the collector has abandoned it, and ignores it */
	bool accounted;          /* in collector.leaving: its losses are in the collector's sums */
	struct batch **held;     /* abandoned: batches that its thread may still read */
	size_t n_held;
	uint64_t drained_ns;
	uint64_t retry_ns;       /* FAILED: when to try again */
	unsigned retries;
};

/* A run whose end is under way. */
struct ending {
	struct ending *next;
	struct run *run;         /* a reference; NULL: no such run, or its record has left */
	uint64_t began_ns, asked_ns; /* asked: when the collector last requested a sweep */
	bool flushed;            /* false: the next turn flushes every probe */
	uint64_t last_id;        /* the sinks must acknowledge batches up to this one */
	bool sampled;            /* the collector has requested the last sample of every probe */
	bool closed;             /* the record has left; the collector waits for the sinks */
	char *sink;              /* the collector waits for this sink only; NULL: for all */
	void (*done)(void *arg);
	void *arg;
};

/* A probe's reading position on its way to the spool. */
struct marked {
	struct marked *next;
	uint64_t number; /* number of the commit */
	uint64_t serial; /* of its instance_data, as the instance may have gone by then */
	struct skep_mark mark;
};

/* A chunk, as the spool stores it. */
struct left_chunk {
	struct left_chunk *next;
	size_t size;
	unsigned char body[];
};

/* What the previous skepd saved in the spool. */
struct left {
	struct left_chunk *chunks, *last; /* of the state (core/process/saved.h); NULL: nothing of this boot */
	struct spool_code *code; /* unpacks them */
	void *samples;
	size_t samples_size;
	void *facets;
	size_t facets_size;
	unsigned unread; /* pieces that this skepd could not read */
	char why[256]; /* why the spool could not be opened; "": no error */
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
	char host_name[HOST_NAME_MAX + 1]; /* follows the host's: each tick looks */
	char *kernel;
	struct verdict verdict;
	struct pins pins;
	struct reader *reader;  /* NULL: skepd cannot read other processes' arguments */
	struct measurement *measurements; /* of PSS, under way */
	struct reader *file_reader; /* NULL: it reads no files of engines */
	struct rule_eval *rule_eval;    /* NULL: with runs only */
	int64_t excluded_ns;    /* CPU time of excluded processes, as the probe last reported it */
	bool excluded_known;
	bool names_due;         /* names of users have arrived since the collector last applied the rules */
	bool names_late;        /* a look-up does not return, and the collector has logged that */
	uint64_t names_next_ns, names_wait_ns;
	/* rules have changed; the collector has yet to evaluate processes that the old rules excluded */
	bool reevaluating;
	struct tools *tools;
	struct redact *redact;
	struct pods *pods; /* NULL: option pod_logs is empty */
	struct container_states *container_states; /* NULL: without file_reader */
	struct containers *containers;
	struct recognizers *recognizers;
	struct skep_boundaries boundaries; /* lists for probes */
	struct skep_kernel_types *types;   /* NULL: no probe has asked since the last tick */
	bool types_refused;                /* they cannot be read */
	struct cgroups *cgroups;
	struct facets *facets;
	struct delivery *delivery;
	struct track *track; /* NULL before collector_open() */
	struct skep_instance *instances; /* probes, then sinks */
	struct ledger *ledger;
	/* levels at the first cut, and at the last two cuts; NULL: no cut yet */
	struct ledger_mark *ledger_first, *ledger_before, *ledger_last;
	int stream_process, stream_run, stream_task, stream_sample, stream_loss, stream_ledger, stream_process_sample;
	int stream_audit, stream_finding, stream_findings;
	bool running;
	uv_timer_t pump;   /* calls delivery_tick() when a batch is due */
	uv_timer_t tick;   /* housekeeping, a few times a second */
	uv_timer_t sample; /* each interval */
	uv_timer_t late;   /* when tasks want their names from files */
	uv_timer_t fast;   /* while a run or the collector ends, or a reload is under way */
	void (*on_fast)(uv_timer_t *); /* callback of `fast` */
	unsigned handles;  /* timers that are not closed yet */
	uint64_t sampled_ns;
	uint64_t processes_sampled_ns; /* when the collector last emitted process.sample records */
	bool sample_due;   /* a sample waits for the end of a sweep */
	uint64_t reported_missing; /* missing final records that loss records have reported */
	/*
	 * Losses of removed instances: losses that delivery does not count, losses in the kernel, lost final records.
	 */
	uint64_t gone_lost[DELIVERY_LOSSES], gone_kernel, gone_finals;
	uint64_t parts;                /* instances made so far: the last serial */
	struct reload *reload;         /* the reload under way; NULL: none */
	/* removed or replaced instances, until they have drained and stopped; abandoned ones stay for longer */
	struct skep_instance *leaving;
	uint64_t left_behind;          /* instances that the collector has abandoned since its start */
	uint64_t ticked_ns, lag_ns, lag_worst_ns; /* when the last tick began, its delay, and the longest delay */
	struct ending *endings;
	struct attachment *attachments;
	uint64_t last_attachment; /* its id */
	const struct collector_watch *watch; /* borrowed; NULL: none */
	uint64_t groups;          /* bits: groups of the verdict map that runs use */
	struct left left;
	struct marked *marked;
	bool samples_due;     /* the next commit stores the sampled counters: a sample came after the last commit */
	bool whole_due;       /* the next commit stores the state of all processes */
	unsigned spool_replaced; /* how often the spool had replaced its file, as of the latest commit */
	enum stop_phase stop;
	uint64_t stop_ns, drain_ns; /* stop_ns: when the phase began */
	bool spool_left_behind;     /* the disk of the spool did not answer at the end */
	void (*stop_done)(void *arg);
	void *stop_arg;
};

/* collector_host.c */
/* calls the plugin's callback with the text */
void collector_process_text(void *instance, skep_process_cb, void *arg, const struct skep_process_text *);

/* collector_sample.c */
void collector_sweep(struct collector *); /* asks the life-cycle probes for a pass over all live processes */
/* samples all probes; the records follow at once, or at the end of the sweep */
void collector_sample_now(struct collector *);
void collector_swept(struct collector *);      /* the sweep that a sample waits for has ended */
uint64_t collector_interval(const struct config *);
void collector_sample_timer(struct collector *); /* begins an interval anew */
/* calls collector_on_fast() often from now on, until no end and no reload is under way */
void collector_fast(struct collector *);

/* collector_tick.c */
/* a queue has changed: offers batches from the loop, never from inside a probe's callback */
void collector_wake(void *collector);
void collector_tick_start(struct collector *);

/* collector_rules.c */
int collector_first_rules(struct collector *, struct diag *);
void collector_names_came(void *collector); /* late names of users or groups have arrived */
void collector_rules_tick(struct collector *, uint64_t now_ns);

/* collector_boundaries.c */
/* fetches the lists again, and raises their generation if one has changed */
void collector_boundaries(struct collector *);

/* collector_types.c */
/* the kernel's types, for a callback of a probe; NULL: they cannot be read */
const struct skep_kernel_types *collector_types(struct collector *);
void collector_types_free(struct collector *);

/* collector_instance.c */
int collector_instance_new(struct collector *, const struct config *, const struct config_plugin *, uint32_t kind,
			   struct diag *, struct skep_instance **ret);
/* Frees an instance and its data.  Only after instance_stopped(), or if it never started. */
void collector_instance_free(struct skep_instance *);
const char *collector_instance_kind(const struct skep_instance *); /* "probe" "sink" */
void collector_data_let_go(struct instance_data *); /* drops the references to batches that its thread may have read */
/* Adds its streams to delivery and its facets to the process record, before it starts.  0 or -errno. */
int collector_streams_add(struct collector *, struct skep_instance *, struct diag *);
int collector_sink_add(struct collector *, struct skep_instance *);
/*
 * The instance has failed to open or to start.  Returns err if that is fatal; else the collector tries it again later.
 */
int collector_failed(struct collector *, struct skep_instance *, const char *doing, int err, struct diag *);
void collector_retry_later(struct instance_data *);
void collector_retry(struct collector *, struct instance_data *);

/* collector_reload.c */
/* Goes on with a reload; collector.fast calls it. */
void collector_reload_step(struct collector *);
void collector_reload_abort(struct collector *); /* the collector stops */

/* collector_leave.c */
/*
 * Moves the instance from its list, if it is in one, to the list of leaving instances.  drain_ns: how long the
 * collector still offers the batches of its queue.
 */
void collector_leave(struct collector *, struct skep_instance *, uint64_t drain_ns);
bool collector_leaving(struct collector *); /* one step; false: all have gone, or the collector has abandoned them */
/*
 * Abandons an instance whose work() does not return: the collector no longer waits for it.  Its memory and its batches
 * stay until work() returns.
 */
void collector_leave_behind(struct collector *, struct skep_instance *);
/* Adds its losses to another instance's, or (NULL) to the collector's sums. */
void collector_data_fold(struct collector *, struct instance_data *from, struct instance_data *to);

/* collector_host.c */
extern const struct instance_ops collector_ops;
/* Reports to the process table that the drained time or the state of a probe has changed. */
void collector_facets_drained(struct collector *);
int collector_submit(void *inst, const struct skep_batch *);

/* collector_ledger.c */
void collector_ledger_cut(struct collector *);                    /* at each sample: emits the interval's lines */
/* a probe posts a level */
void collector_ledger_post(struct collector *, const struct skep_instance *, const struct skep_ledger_post *);
/* emits its ledger, from its first cut to the last one */
void collector_run_ledger_out(struct collector *, const struct run *);

/* collector_out.c */
void collector_run_out(struct collector *, struct run *); /* emits its record, as it is now */
/* emits samples of all tools, and losses; begins the next interval */
/* Begins to measure the PSS of a run, if it is due.  The answers come later. */
void collector_pss(struct collector *, struct run *, uint64_t now_ns);
void collector_sample_out(struct collector *);
/* collector_pss.c: measures a run's PSS, if that is due; the answers come later.  The end drops them. */
void collector_pss(struct collector *, struct run *, uint64_t now_ns);
void collector_pss_end(struct collector *);
/* emits the samples of a run's last, partial interval */
void collector_run_sample_out(struct collector *, struct run *);
void collector_loss_out(struct collector *);
void collector_data_loss_out(struct collector *, struct instance_data *);
void collector_run_found(void *c, struct run *);
void collector_run_changed(void *c, struct run *);
void collector_run_over(void *c, struct run *);

/* collector_detail.c */
void collector_detail_record(struct collector *, struct skep_instance *, const struct skep_stream *, int out_stream,
			     const struct skep_upid *, uint64_t time_ns, const void *rec);
void collector_detail_over(struct collector *, uint64_t id, const char *why);
void collector_drain(struct collector *); /* lets the records of ended processes leave */
void collector_flush_lifecycle(struct collector *); /* drains the life-cycle probes now */
void collector_flush_probes(struct collector *);    /* flushes all probes */
void collector_details_tick(struct collector *, uint64_t now_ns); /* ends the details whose time or run is over */
/* at each sample: marks processes that joined their run otherwise than by fork */
void collector_details_members(struct collector *);
/* ends the details of that run; NULL: all */
void collector_details_end(struct collector *, const struct run *, const char *why);
void collector_details_end_of(struct collector *, const struct skep_instance *, const char *why);

/* collector_spool.c */
int collector_spool_open(struct collector *); /* 0 also without a spool, or if it cannot be opened; -ENOMEM */
/*
 * Gives the saved state of live processes to the tracker, after probes have opened and before they start.  false: there
 * is no saved state.
 */
bool collector_spool_restore(struct collector *);
/* gives the instance its last mark, before it starts */
void collector_spool_mark(struct collector *, struct skep_instance *);
void collector_spool_free(struct collector *);

/* collector_end.c */
void collector_on_fast(uv_timer_t *);

#endif
