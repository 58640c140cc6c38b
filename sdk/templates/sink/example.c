/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example - a sink: appends each record as a line of text to a file.
 *
 *	TIME STREAM PID name=value name=value ...
 *
 * Replace print_record() and write_lines() by what your receiver wants.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <skep/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct example {
	/* options: filled in by the host before open() */
	const char *path;
	const char **streams;

	const struct skep_host *host;
	struct skep_counter *lines;
	int fd; /* plus 1: a state is zeroed before open(), and 0 is an fd */
	/* the batch under way; a pool thread's from work() on, until done */
	const struct skep_batch *batch;
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

/* Control characters, blanks and backslashes as \xHH: a line stays one line. */
static void print_text(FILE *out, const char *s, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c <= ' ' || c == '\\' || c == 0x7f)
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
}

static void print_value(FILE *out, const struct skep_field *f, const void *at)
{
	const struct skep_str *s = at;
	const struct skep_upid *u = at;

	switch (f->type) {
	case SKEP_T_U64:
	case SKEP_T_TIME:
		fprintf(out, " %s=%" PRIu64, f->name, *(const uint64_t *)at);
		break;
	case SKEP_T_I64:
		fprintf(out, " %s=%" PRId64, f->name, *(const int64_t *)at);
		break;
	case SKEP_T_F64:
		fprintf(out, " %s=%.17g", f->name, *(const double *)at);
		break;
	case SKEP_T_BOOL:
		fprintf(out, " %s=%s", f->name, *(const uint8_t *)at ? "true" : "false");
		break;
	case SKEP_T_STR:
	case SKEP_T_STRV:
		fprintf(out, " %s=", f->name);
		print_text(out, s->ptr, s->len);
		break;
	case SKEP_T_UPID:
		fprintf(out, " %s=%" PRIu32 "-%" PRIx64, f->name, u->pid, u->start_ns);
		break;
	default:
		break; /* types of later minors, and those that this format has no use for, are left out */
	}
}

static void print_record(FILE *out, const struct skep_record *r, int64_t realtime_offset_ns)
{
	const struct skep_stream *s = r->stream;
	uint64_t ns = r->time_ns + (uint64_t)realtime_offset_ns;

	fprintf(out, "%" PRIu64 ".%09" PRIu64 " %s %" PRIu32, ns / 1000000000u, ns % 1000000000u, s->name, r->upid.pid);
	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct skep_field *f = skep_stream_field(s, i);

		print_value(out, f, (const char *)r->data + f->offset);
	}
	fputc('\n', out);
}

static bool is_wanted(const struct example *e, const struct skep_record *r)
{
	if (!e->streams)
		return true;
	for (const char **s = e->streams; *s; s++)
		if (strcmp(*s, r->stream->name) == 0)
			return true;
	return false;
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
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	e->n = 0;
	if (!out) {
		e->err = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < b->n; i++) {
		if (!is_wanted(e, b->records[i]))
			continue;
		print_record(out, b->records[i], b->realtime_offset_ns);
		e->n++;
	}
	e->err = fclose(out) == 0 ? write_all(e->fd - 1, text, len) : -ENOMEM;
	free(text);
	/* The batch comes again, as a whole: what was written of it goes. */
	if (e->err && before >= 0 && ftruncate(e->fd - 1, before) < 0)
		e->n = 0;
}

static void written(struct skep_instance *inst, void *arg)
{
	struct example *e = arg;
	const struct skep_batch *batch = e->batch;

	e->batch = NULL; /* first: batch_done() may submit the next one */
	if (!e->err)
		e->host->counter_add(e->lines, e->n);
	/* RETRY: the host comes again, for as long as it takes. REJECT is for what the receiver will never take. */
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
		return e->host->fail(inst, err, "no thread to be had: %s", strerror(-err));
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
		return e->host->fail(inst, -errno, "%s: %s; its folder must exist and be writable", e->path, strerror(errno));
	return 0;
}

/* Not called while a batch is written; is_wanted() looks at `streams` anew for each record. */
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
	if (e->fd)
		close(e->fd - 1);
}

static const struct skep_sink_ops sink = {
	.size = sizeof(struct skep_sink_ops),
	.max_in_flight = 1, /* one after the other */
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
