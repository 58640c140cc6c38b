/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example - a sink that appends each record as a line of text to a file:
 *
 *  TIME STREAM PID name=value name=value ...
 *
 * Replace print_record() and write_lines() by what your receiver wants.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <skep/plugin.h>
#include <skep/sink/fields.h>
#include <skep/sink/record_json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct example {
	/* options: the plugin host fills them in before open() */
	const char *path;
	const char **streams;

	const struct skep_host *host;
	struct skep_counter *lines;
	int fd; /* fd + 1, as 0 is a valid fd and the plugin host zeroes the state before open() */
	/* the batch in flight; from work() until done, only the pool thread uses it */
	const struct skep_batch *batch;
	struct jsonw text;
	uint64_t n;
	int err;
};

static const struct skep_option options[] = {
	{
		.name = "path",
		.type = SKEP_O_STR,
		.flags = SKEP_OPT_REQUIRED,
		.offset = offsetof(struct example, path),
		.help = "file that lines are appended to",
	},
	{
		.name = "streams",
		.type = SKEP_O_STRV,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct example, streams),
		.help = "names of the streams to write, such as [\"process.exit\"]; not set: all",
	},
	{ .name = NULL },
};

/* ---- encoding: any record of any plugin, by its field table --------------------- */

static void print_text(struct jsonw *out, const char *text)
{
	skep_jsonw_raw(out, text, strlen(text));
}

/* Writes values as in JSON: quotes and escapes a text, so that a record stays one line. */
static void print_record(struct jsonw *out, const struct skep_record *r, const struct skep_batch *b)
{
	uint64_t ns = r->time_ns + (uint64_t)b->realtime_offset_ns;
	char begin[64];

	snprintf(begin, sizeof(begin), "%" PRIu64 ".%09" PRIu64 " ", ns / 1000000000u, ns % 1000000000u);
	print_text(out, begin);
	print_text(out, r->stream->name);
	jsonw_lit(out, " ");
	skep_jsonw_u64(out, r->upid.pid);
	for (uint32_t i = 0; i < skep_fields_count(r->stream); i++) {
		const struct skep_field *f = skep_fields_at(r->stream, i);

		if (!f) /* the field has a type of a later minor version */
			continue;
		jsonw_lit(out, " ");
		print_text(out, f->name);
		jsonw_lit(out, "=");
		skep_record_json_value(out, f, r->data, b->boot_id, b->realtime_offset_ns);
	}
	jsonw_lit(out, "\n");
}

/* ---- a batch: on a pool thread, because files block ----------------------------- */

static int write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static void write_lines(void *arg)
{
	struct example *e = arg;
	const struct skep_batch *b = e->batch;
	off_t before = lseek(e->fd - 1, 0, SEEK_END);

	e->n = 0;
	skep_jsonw_reset(&e->text);
	for (uint32_t i = 0; i < b->n; i++) {
		if (!skep_fields_wanted((const char *const *)e->streams, b->records[i]))
			continue;
		print_record(&e->text, b->records[i], b);
		e->n++;
	}
	/* The buffer remembers a failed allocation, so one check at the end is enough. */
	e->err = e->text.err ? e->text.err : write_all(e->fd - 1, e->text.buf, e->text.len);
	/* The plugin host offers the whole batch again, so drop the part that was written. */
	if (e->err && before >= 0 && ftruncate(e->fd - 1, before) < 0)
		e->n = 0;
}

static void written(struct skep_instance *inst, void *arg)
{
	struct example *e = arg;
	const struct skep_batch *batch = e->batch;

	e->batch = NULL; /* before the answer: the plugin host may submit the next batch inside batch_done() */
	if (!e->err)
		e->host->counter_add(e->lines, e->n);
	/*
	 * RETRY: the plugin host offers the batch again, without limit. REJECT: the receiver will never accept the
	 * batch.
	 */
	e->host->batch_done(inst, batch, e->err ? SKEP_BATCH_RETRY : SKEP_BATCH_ACK, e->err ? strerror(-e->err) : NULL);
}

static int example_submit(struct skep_instance *inst, void *state, const struct skep_batch *batch)
{
	struct example *e = state;
	int err;

	if (e->batch)
		return e->host->fail(inst, -EAGAIN, "a batch is under way already");
	e->batch = batch;
	err = e->host->work(inst, write_lines, written, e);
	if (err) {
		e->batch = NULL;
		return e->host->fail(inst, err, "cannot start a worker thread: %s", strerror(-err));
	}
	return 0;
}

/* ---- life ------------------------------------------------------------------------ */

static int example_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct example *e = state;

	e->host = host;
	e->lines = host->counter(inst, "lines", "records that were written");
	if (e->path[0] != '/')
		return host->fail(inst, -EINVAL, "path is \"%s\"; give an absolute path", e->path);
	return 0;
}

static int example_start(struct skep_instance *inst, void *state)
{
	struct example *e = state;

	e->fd = open(e->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640) + 1;
	if (e->fd == 0)
		return e->host->fail(inst, -errno, "%s: %s; its folder must exist and be writable", e->path,
				     strerror(errno));
	return 0;
}

/*
 * The plugin host calls it while no batch is being written; skep_fields_wanted() reads `streams` anew for each record.
 */
static int example_reload(struct skep_instance *inst, void *state, const void *next)
{
	(void)inst;
	(void)state;
	(void)next;
	return 0;
}

static void example_stop(struct skep_instance *inst, void *state)
{
	(void)inst;
	(void)state;
}

static void example_close(struct skep_instance *inst, void *state)
{
	struct example *e = state;

	(void)inst;
	skep_jsonw_free(&e->text);
	if (e->fd)
		close(e->fd - 1);
}

static const struct skep_sink_ops sink = {
	.size = sizeof(struct skep_sink_ops),
	.max_in_flight = 1, /* one batch at a time */
	.submit = example_submit,
};

static const struct skep_plugin example_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_SINK,
	.name = "example",
	.version = "1.0",
	.summary = "appends records as lines of text to a file",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.state_size = sizeof(struct example),
	.open = example_open,
	.start = example_start,
	.reload = example_reload,
	.stop = example_stop,
	.close = example_close,
	.sink = &sink,
};

SKEP_PLUGIN(example_plugin, SKEP_KIND_SINK, "example", "1.0")
