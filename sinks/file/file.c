/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file - the sink that writes every record as a line of JSON, to a file or to stdout.
 * This file holds the plugin's descriptor and writes a batch as lines.
 */
#include <skep/plugin.h>
#include <skep/sink/fields.h>
#include <skep/sink/opening.h>
#include <skep/sink/record_json.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/file/output.h"

struct file_sink {
	const char *path;
	const char **streams;
	bool fsync;
	uint64_t rotate_bytes, rotate_age_ns;
	int64_t keep;

	const struct skep_host *host;
	struct opening opening;
	struct skep_counter *lines, *rotations;
	char *reported; /* reason of the last failed rotation, so that the sink logs each reason once */
	const struct skep_batch *batch; /* in flight */
	int err;
	struct jsonw json;    /* only the worker uses it while a batch is in flight */
	struct output output; /* only the worker uses it while a batch is in flight */
};

static const struct skep_option options[] = {
	{
		.name = "path",
		.type = SKEP_O_STR,
		.flags = SKEP_OPT_REQUIRED,
		.offset = offsetof(struct file_sink, path),
		.help = "file that lines are appended to, or \"-\" for standard output",
	},
	{
		.name = "streams",
		.type = SKEP_O_STRV,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct file_sink, streams),
		.help = "names of the streams to write, for example [\"process.exit\", \"run\"]; not set: all",
	},
	{
		.name = "fsync",
		.type = SKEP_O_BOOL,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct file_sink, fsync),
		.default_value = "false",
		.help = "wait after each batch until the disk has it",
	},
	{
		.name = "rotate_bytes",
		.type = SKEP_O_SIZE,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct file_sink, rotate_bytes),
		.default_value = "0",
		.help = "before the file becomes larger, the sink renames it to PATH.1 and begins a new one; 0: never",
	},
	{
		.name = "rotate_age",
		.type = SKEP_O_TIME,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct file_sink, rotate_age_ns),
		.default_value = "0s",
		.help = "the same when the file is this old; 0: never",
	},
	{
		.name = "keep",
		.type = SKEP_O_INT,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct file_sink, keep),
		.default_value = "5",
		.min = 1,
		.max = 1000,
		.help = "number of renamed files to keep: PATH.1, the youngest, to PATH.N",
	},
	{ 0 },
};

static struct rotate rotate_of(const struct file_sink *f)
{
	return (struct rotate){ .bytes = f->rotate_bytes, .age_ns = f->rotate_age_ns, .keep = (unsigned)f->keep };
}

static int file_open(struct skep_instance *i, void *state, const struct skep_host *host)
{
	struct file_sink *f = state;

	f->host = host;
	output_init(&f->output, f->path, f->fsync);
	f->output.rotate = rotate_of(f);
	if (!f->path || !*f->path)
		return host->fail(i, -EINVAL, "path is empty; give it a file, or \"-\" for standard output");
	return 0;
}

/* Runs on a worker thread. */
static int open_output(void *arg)
{
	return output_open(arg);
}

static int file_start(struct skep_instance *i, void *state)
{
	struct file_sink *f = state;

	f->lines = f->host->counter(i, "lines", "records written as lines");
	f->rotations = f->host->counter(i, "rotations", "times that the file was renamed and a new one begun");
	f->opening.host = f->host;
	f->opening.path = f->path;
	f->opening.open = open_output;
	f->opening.arg = &f->output;
	f->opening.why = f->output.why;
	return skep_opening_start(&f->opening, i);
}

static void file_work(void *arg)
{
	struct file_sink *f = arg;
	const struct skep_batch *b = f->batch;
	uint64_t lines = 0;

	skep_jsonw_reset(&f->json);
	for (uint32_t i = 0; i < b->n; i++) {
		if (!skep_fields_wanted(f->streams, b->records[i]))
			continue;
		skep_record_json(&f->json, b->records[i], b->boot_id,
				 skep_record_realtime_offset(b, b->records[i]), RECORD_JSON_ENVELOPE);
		jsonw_lit(&f->json, "\n");
		lines++;
	}
	f->err = f->json.err;
	if (f->err)
		strcpy(f->output.why, "out of memory");
	else
		f->err = output_write(&f->output, b->id, f->json.buf, f->json.len);
	if (!f->err && f->lines)
		f->host->counter_add(f->lines, lines);
	if (f->rotations)
		f->host->counter_set(f->rotations, f->output.rotations);
}

static void file_done(struct skep_instance *i, void *arg)
{
	struct file_sink *f = arg;
	const struct skep_batch *b = f->batch;
	int err = f->err;

	if (*f->output.rotate_why && (!f->reported || strcmp(f->reported, f->output.rotate_why) != 0)) {
		free(f->reported);
		f->reported = strdup(f->output.rotate_why);
		f->host->log(i, SKEP_LOG_WARNING, "the file grows beyond its bounds: %s", f->output.rotate_why);
	}
	f->batch = NULL; /* before the answer: the plugin host may submit the next batch inside batch_done() */
	f->host->batch_done(i, b, err ? SKEP_BATCH_RETRY : SKEP_BATCH_ACK, err ? f->output.why : NULL);
}

static int file_submit(struct skep_instance *i, void *state, const struct skep_batch *batch)
{
	struct file_sink *f = state;
	int err;

	if (skep_opening_holds(&f->opening, i, batch))
		return 0;
	if (f->batch)
		return f->host->fail(i, -EAGAIN, "a batch is in flight already");
	f->batch = batch;
	err = f->host->work(i, file_work, file_done, f);
	if (err) {
		f->batch = NULL;
		return f->host->fail(i, err, "cannot start a worker thread");
	}
	return 0;
}

/* Takes the new options over. No worker runs now, and the next record reads `streams` anew. */
static int file_reload(struct skep_instance *i, void *state, const void *next)
{
	const struct file_sink *wanted = next;
	struct file_sink *f = state;

	(void)i;
	f->output.fsync = wanted->fsync;
	f->output.rotate = rotate_of(wanted);
	return 0;
}

static void close_output(void *arg)
{
	output_close(arg);
}

/*
 * Closes the file on a worker, because close() of a file on NFS sends unwritten data.  When no worker starts,
 * file_close() closes it.
 */
static void file_stop(struct skep_instance *i, void *state)
{
	struct file_sink *f = state;

	(void)f->host->work(i, close_output, NULL, &f->output);
}

static void file_close(struct skep_instance *i, void *state)
{
	struct file_sink *f = state;

	(void)i;
	if (f->host) /* without a host open() was never called, and fd 0 belongs to another owner */
		output_close(&f->output);
	skep_jsonw_free(&f->json);
	free(f->reported);
}

static const struct skep_sink_ops sink_ops = {
	.size = sizeof(struct skep_sink_ops),
	.max_in_flight = 1, /* lines stay in the order of the batches */
	.submit = file_submit,
};

static const struct skep_plugin file_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_SINK,
	.name = "file",
	.version = "1.0",
	.summary = "writes every record as a line of JSON, to a file or to standard output",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.state_size = sizeof(struct file_sink),
	.open = file_open,
	.start = file_start,
	.reload = file_reload,
	.stop = file_stop,
	.close = file_close,
	.sink = &sink_ops,
};

SKEP_PLUGIN(file_plugin, SKEP_KIND_SINK, "file", "1.0")
