/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake - the sink that stores records in the local lake: a folder with SQLite files for each month.
 * This file holds the plugin's descriptor and the queue between the loop and the worker.
 */
#include <skep/plugin.h>
#include <skep/sink/opening.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/lake/store.h"

/*
 * One batch waits while the worker writes another, so that the worker continues without a round trip through the plugin
 * host.  More batches would gain nothing: one worker writes at a time, a batch in milliseconds (README.md).
 */
#define IN_FLIGHT 2

struct job {
	const struct skep_batch *batch;
	int err;
	uint32_t refused;
	struct db_why why;
};

struct lake_sink {
	const char *path;
	const char *synchronous;
	uint64_t busy_timeout;
	uint64_t max_bytes, min_free, max_age;
	int64_t max_share;

	const struct skep_host *host;
	struct opening opening;
	struct store_options store_options;
	struct store *store; /* NULL: not open yet */
	struct skep_instance *instance;
	const struct skep_batch *queue[IN_FLIGHT]; /* only the loop uses it */
	unsigned queued;
	bool working;
	struct skep_counter *bytes, *bound;
	uint64_t shown_bytes; /* size of the lake that `skep status` shows */
	bool shown_full, shown_held;
	struct job job; /* only the worker uses it while `working` is true */
};

static const struct skep_option options[] = {
	{
		.name = "path",
		.type = SKEP_O_STR,
		.flags = SKEP_OPT_REQUIRED,
		.offset = offsetof(struct lake_sink, path),
		.help = "folder of the lake; the sink makes it if it is missing",
	},
	{
		.name = "synchronous",
		.type = SKEP_O_STR,
		.offset = offsetof(struct lake_sink, synchronous),
		.default_value = "normal",
		.help = "normal: safe against crashes, a power cut may take the last batches; full: against power cuts "
			"too, slower",
	},
	{
		.name = "busy_timeout",
		.type = SKEP_O_TIME,
		.offset = offsetof(struct lake_sink, busy_timeout),
		.default_value = "5s",
		.min = 0,
		.max = 600000000000,
		.help = "how long to wait for another program that locks the lake before the batch is tried again "
			"later",
	},
	{
		.name = "max_bytes",
		.type = SKEP_O_SIZE,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct lake_sink, max_bytes),
		.default_value = "10GiB",
		.help = "largest size of the lake, at least \"64MiB\": beyond it the sink removes the oldest files; 0: "
			"no bound",
	},
	{
		.name = "max_share",
		.type = SKEP_O_INT,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct lake_sink, max_share),
		.default_value = "25",
		.min = 0,
		.max = 100,
		.help = "percent of its file system that the lake may have, where that is less than max_bytes; 0: "
			"max_bytes alone counts",
	},
	{
		.name = "min_free",
		.type = SKEP_O_SIZE,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct lake_sink, min_free),
		.default_value = "1GiB",
		.help = "while the lake's file system has less free, the sink stores nothing, and its records wait; 0: "
			"it stores until the disk is full",
	},
	{
		.name = "max_age",
		.type = SKEP_O_TIME,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct lake_sink, max_age),
		.default_value = "400d",
		.help = "the sink removes a month's files when the month has been over for this time; 0: never",
	},
	{ 0 },
};

static struct retain_bounds bounds_of(const struct lake_sink *l)
{
	return (struct retain_bounds){ .max_bytes = l->max_bytes, .max_share = (uint64_t)l->max_share,
				       .max_age_ns = l->max_age, .min_free = l->min_free };
}

static int check_bounds(struct skep_instance *i, const struct skep_host *host, const struct lake_sink *l)
{
	if (l->max_bytes && l->max_bytes < RETAIN_LEAST)
		return host->fail(i, -EINVAL, "max_bytes is less than 64MiB; give it 64MiB or more, or 0 for no bound");
	return 0;
}

static int lake_open(struct skep_instance *i, void *state, const struct skep_host *host)
{
	struct lake_sink *l = state;

	l->host = host;
	l->instance = i;
	if (!l->path || !*l->path)
		return host->fail(i, -EINVAL, "path is empty; give it a folder, for example /var/lib/skep/lake");
	if (l->synchronous && strcmp(l->synchronous, "normal") != 0 && strcmp(l->synchronous, "full") != 0)
		return host->fail(i, -EINVAL, "synchronous is \"%s\"; it can be \"normal\" or \"full\"",
				  l->synchronous);
	return check_bounds(i, host, l);
}

/* Runs on a worker thread. */
static int open_store(void *arg)
{
	struct lake_sink *l = arg;

	l->store_options.bounds = bounds_of(l);
	return store_open(&l->store_options, &l->job.why, &l->store);
}

static int lake_start(struct skep_instance *i, void *state)
{
	struct lake_sink *l = state;

	l->store_options = (struct store_options){
		.path = l->path,
		.db = {
			.full_sync = l->synchronous && strcmp(l->synchronous, "full") == 0,
			.busy_ms = (int)(l->busy_timeout / 1000000),
		},
		.instance = i,
		.host = l->host,
		.rows = l->host->counter(i, "rows", "records written to the lake"),
		.again = l->host->counter(i, "batches_seen", "batches that came again and were in the lake already"),
		.aside = l->host->counter(i, "files_set_aside", "damaged lake files that were renamed"),
		.cut = l->host->counter(i, "rows_cut", "rows with a text cut, because their user had written its share of the lake"),
		.removed = l->host->counter(i, "files_removed", "lake files removed to keep its bounds"),
		.held = l->host->counter(i, "holds", "batches put off because the file system had less than min_free"),
	};
	l->bytes = l->host->counter(i, "bytes", "size of the lake with its -wal files and files set aside");
	l->bound = l->host->counter(i, "bound_bytes", "bound of that size now; 0: none");
	l->opening.host = l->host;
	l->opening.path = l->path;
	l->opening.open = open_store;
	l->opening.arg = l;
	l->opening.why = l->job.why.text;
	return skep_opening_start(&l->opening, i);
}

static void lake_work(void *arg)
{
	struct lake_sink *l = arg;

	l->job.refused = 0;
	l->job.err = l->store ? 0 : open_store(l); /* start() did not wait for the open, and the open failed */
	if (!l->job.err)
		l->job.err = store_apply(l->store, l->job.batch, &l->job.why, &l->job.refused);
}

static int lake_next(struct lake_sink *l);

/* Formats a size as skep prints sizes: "7.2 GiB". */
static const char *size_text(uint64_t bytes, char ret[32])
{
	static const char units[] = " KMGTPE";
	double value = (double)bytes;
	int unit = 0;

	while (value >= 1024 && unit < 6) {
		value /= 1024;
		unit++;
	}
	if (unit)
		snprintf(ret, 32, "%.1f %ciB", value, units[unit]);
	else
		snprintf(ret, 32, "%d B", (int)bytes);
	return ret;
}

/* Reports the size for `skep status` when it has changed by more than a hundredth. */
static void show_size(struct lake_sink *l)
{
	const struct retain_state *s = store_state(l->store);
	uint64_t moved = s->bytes > l->shown_bytes ? s->bytes - l->shown_bytes : l->shown_bytes - s->bytes;
	char a[32], b[32], c[32], text[256];
	int n;

	if (moved <= l->shown_bytes / 100 && s->full == l->shown_full && s->held == l->shown_held)
		return;
	l->shown_bytes = s->bytes;
	l->shown_full = s->full;
	l->shown_held = s->held;
	n = s->bound ? snprintf(text, sizeof(text), "%s of %s", size_text(s->bytes, a), size_text(s->bound, b))
		     : snprintf(text, sizeof(text), "%s, no bound", size_text(s->bytes, a));
	if (s->next[0])
		snprintf(text + n, sizeof(text) - (size_t)n, "; oldest is %s (%s), which goes next", s->next,
			 size_text(s->next_bytes, c));
	l->host->signal(l->instance, "retention", s->full || s->held ? SKEP_SIGNAL_PARTIAL : SKEP_SIGNAL_OK, text,
			s->held	  ? "its file system has less free than min_free: records wait"
			: s->full ? "over its bound and nothing can be removed: rows are summed, not stored"
				  : NULL);
	if (l->bytes)
		l->host->counter_set(l->bytes, s->bytes);
	if (l->bound)
		l->host->counter_set(l->bound, s->bound);
}

static void lake_done(struct skep_instance *i, void *arg)
{
	struct lake_sink *l = arg;
	struct job *job = &l->job;
	const struct skep_batch *batch = job->batch;
	enum skep_batch_result result = SKEP_BATCH_ACK;

	if (job->err)
		result = job->err == -EDQUOT		    ? SKEP_BATCH_HOLD
			 : l->store && job->err == -EINVAL ? SKEP_BATCH_REJECT
							    : SKEP_BATCH_RETRY;
	/* `working` stays true here: a submit from inside batch_done() only queues its batch and leaves job alone */
	if (!job->err && job->refused) {
		struct skep_batch_answer answer = {
			.size = sizeof(answer),
			.result = SKEP_BATCH_ACK,
			.rejected = job->refused,
			.why = "their users have written their share of the lake (a quarter of max_bytes a day), or the lake is full: "
			       "rows are in the sums only; see skep-lake(7)",
		};

		l->host->batch_answer(i, batch, &answer);
	} else {
		l->host->batch_done(i, batch, result, job->err ? job->why.text : NULL);
	}
	if (l->store)
		show_size(l);
	l->working = false;
	lake_next(l);
}

/* Gives the oldest queued batch to a worker. When no worker starts, the plugin host offers the batch again later. */
static int lake_next(struct lake_sink *l)
{
	int err;

	while (l->queued && !l->working) {
		l->job.batch = l->queue[0];
		l->queued--;
		memmove(&l->queue[0], &l->queue[1], l->queued * sizeof(l->queue[0]));
		l->working = true;
		err = l->host->work(l->instance, lake_work, lake_done, l);
		if (err) {
			l->working = false;
			l->host->batch_done(l->instance, l->job.batch, SKEP_BATCH_RETRY, "cannot start a worker thread");
		}
	}
	return 0;
}

static int lake_submit(struct skep_instance *i, void *state, const struct skep_batch *batch)
{
	struct lake_sink *l = state;

	if (skep_opening_holds(&l->opening, i, batch))
		return 0;
	if (l->queued == IN_FLIGHT)
		return l->host->fail(i, -EAGAIN, "%d batches are in flight already", IN_FLIGHT);
	l->queue[l->queued++] = batch;
	return lake_next(l);
}

static int lake_reload(struct skep_instance *i, void *state, const void *next)
{
	struct retain_bounds bounds = bounds_of(next);
	struct lake_sink *l = state;
	int err = check_bounds(i, l->host, next);

	if (!err && l->store)
		store_bound(l->store, &bounds);
	return err;
}

static void close_store(void *arg)
{
	struct lake_sink *l = arg;

	l->store = store_close(l->store);
}

/*
 * Closes the store on a worker, because the close writes out the -wal file and may wait for the file system.  When no
 * worker starts, lake_close() closes the store.
 */
static void lake_stop(struct skep_instance *i, void *state)
{
	struct lake_sink *l = state;

	while (l->queued)
		l->host->batch_done(i, l->queue[--l->queued], SKEP_BATCH_RETRY, "stopping");
	if (l->store)
		(void)l->host->work(i, close_store, NULL, l);
}

static void lake_close(struct skep_instance *i, void *state)
{
	struct lake_sink *l = state;

	(void)i;
	l->store = store_close(l->store);
}

static const struct skep_sink_ops sink_ops = {
	.size = sizeof(struct skep_sink_ops),
	.max_in_flight = IN_FLIGHT,
	.submit = lake_submit,
};

static const struct skep_plugin lake_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_SINK,
	.name = "lake",
	.version = "1.0",
	.summary = "keeps every record in a local lake of SQLite files, one a month",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.state_size = sizeof(struct lake_sink),
	.open = lake_open,
	.start = lake_start,
	.reload = lake_reload,
	.stop = lake_stop,
	.close = lake_close,
	.sink = &sink_ops,
};

SKEP_PLUGIN(lake_plugin, SKEP_KIND_SINK, "lake", "1.0")
