/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/fake_sink.c - the plugin "fakesink": writes every record as a line of JSON,
 * by its field table alone, and answers batches as its options say.
 *
 * A line: {"stream":…,"batch":KEY,"upid":…,"time_ns":…,"context":{…},"fields":{…}}; upid and
 * context only where there are some.  Types: numbers as they are (a double that JSON cannot
 * say is null), lists of strings as arrays, identities as "<boot>-<pid>-<start>", hashes in hex,
 * addresses as inet_ntop writes them (IPv4 without ::ffff:), strings that were cut with "…" at
 * their end, bytes that are no UTF-8 as U+FFFD.
 *
 * mode   ack      written, acknowledged (after `delay`, if there is one)
 *        retry_n  the first `n` offers of anything are answered with RETRY, nothing is written
 *        reject   nothing is written, REJECT
 *        slow     as ack, but `delay` is 50 ms where it was not given
 *        work     as ack, but by work(), which first opens PATH.gate where that exists: a FIFO without a writer holds
 * it for ever
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <skep/plugin.h>
#include <skep/upid.h>
#include <skep/utf8.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum mode { MODE_ACK, MODE_RETRY_N, MODE_REJECT, MODE_SLOW, MODE_WORK };

struct pending {
	struct fakesink *sink;
	const struct skep_batch *batch;
	struct skep_timer *timer;
	struct pending *next, **link;
};

struct fakesink {
	/* options */
	const char *path;
	const char *mode_name;
	uint64_t delay_ns;
	int64_t n;
	const char *token; /* a secret, for tests that skep does not print it */
	/* state */
	const struct skep_host *host;
	enum mode mode;
	FILE *out;
	struct pending *pending;
	struct skep_counter *records, *worked;
};

static const struct skep_option fakesink_options[] = {
	{ .name = "path",
	  .type = SKEP_O_STR,
	  .flags = SKEP_OPT_REQUIRED,
	  .offset = offsetof(struct fakesink, path),
	  .help = "file to append to" },
	{ .name = "mode",
	  .type = SKEP_O_STR,
	  .offset = offsetof(struct fakesink, mode_name),
	  .default_value = "ack",
	  .help = "ack, retry_n, reject, slow or work" },
	{ .name = "token",
	  .type = SKEP_O_STR,
	  .flags = SKEP_OPT_SECRET,
	  .offset = offsetof(struct fakesink, token),
	  .help = "a secret" },
	{ .name = "delay",
	  .type = SKEP_O_TIME,
	  .offset = offsetof(struct fakesink, delay_ns),
	  .default_value = "0s",
	  .help = "before a batch is answered" },
	{ .name = "n",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct fakesink, n),
	  .default_value = "1",
	  .min = 0,
	  .max = 1000000,
	  .help = "retry_n: offers that are put off" },
	{ .name = NULL },
};

static void json_bytes(FILE *out, const char *bytes, size_t len, bool cut)
{
	const unsigned char *p = (const unsigned char *)bytes;

	putc('"', out);
	for (size_t i = 0, n; i < len; i += n) {
		int valid = skep_utf8_length(bytes + i, len - i);

		n = (size_t)(valid < 0 ? -valid : valid);
		if (valid < 0) {
			fputs("\xef\xbf\xbd", out);
		} else if (p[i] == '"' || p[i] == '\\') {
			fprintf(out, "\\%c", p[i]);
		} else if (p[i] < 0x20 || p[i] == 0x7f) {
			fprintf(out, "\\u%04x", p[i]);
		} else {
			fwrite(p + i, 1, n, out);
		}
	}
	fprintf(out, "%s\"", cut ? "…" : "");
}

static void json_text(FILE *out, const char *text)
{
	json_bytes(out, text, strlen(text), false);
}

static void json_list(FILE *out, const struct skep_str *list)
{
	const char *p = list->ptr, *end = list->ptr ? list->ptr + list->len : NULL;

	putc('[', out);
	while (p < end) {
		size_t len = strnlen(p, (size_t)(end - p));

		if (p != list->ptr)
			putc(',', out);
		json_bytes(out, p, len, p + len + 1 >= end && list->total > list->len);
		p += len + 1;
	}
	putc(']', out);
}

static void json_address(FILE *out, const unsigned char *bytes)
{
	static const unsigned char mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	char text[INET6_ADDRSTRLEN] = "";

	if (memcmp(bytes, mapped, sizeof(mapped)) == 0)
		inet_ntop(AF_INET, bytes + sizeof(mapped), text, sizeof(text));
	else
		inet_ntop(AF_INET6, bytes, text, sizeof(text));
	json_text(out, text);
}

static void json_upid(FILE *out, const struct fakesink *sink, const struct skep_upid *upid)
{
	char text[SKEP_UPID_TEXT];

	skep_upid_text(sink->host->boot_id ? sink->host->boot_id : "", upid, text);
	json_text(out, text);
}

static void json_value(FILE *out, const struct fakesink *sink, const struct skep_field *field, const void *data)
{
	const char *at = (const char *)data + field->offset;
	const struct skep_str *str = (const void *)at;
	uint64_t u;
	int64_t i;
	double f;

	switch (field->type) {
	case SKEP_T_U64:
	case SKEP_T_TIME:
		memcpy(&u, at, sizeof(u));
		fprintf(out, "%llu", (unsigned long long)u);
		break;
	case SKEP_T_I64:
		memcpy(&i, at, sizeof(i));
		fprintf(out, "%lld", (long long)i);
		break;
	case SKEP_T_F64:
		memcpy(&f, at, sizeof(f));
		if (isfinite(f))
			fprintf(out, "%.17g", f);
		else
			fputs("null", out);
		break;
	case SKEP_T_BOOL:
		fputs(*at ? "true" : "false", out);
		break;
	case SKEP_T_STR:
		json_bytes(out, str->ptr, str->len, str->total > str->len);
		break;
	case SKEP_T_STRV:
		json_list(out, str);
		break;
	case SKEP_T_UPID:
		json_upid(out, sink, (const void *)at);
		break;
	case SKEP_T_HASH:
		putc('"', out);
		for (size_t k = 0; k < 16; k++)
			fprintf(out, "%02x", (unsigned char)at[k]);
		putc('"', out);
		break;
	case SKEP_T_IP:
		json_address(out, (const unsigned char *)at);
		break;
	default:
		fputs("null", out); /* a type of a later minor version */
		break;
	}
}

static void json_context(FILE *out, const struct skep_context *context)
{
	static const struct {
		const char *name;
		size_t offset;
	} parts[] = {
		{ "run", offsetof(struct skep_context, run) },
		{ "pipeline", offsetof(struct skep_context, pipeline) },
		{ "task", offsetof(struct skep_context, task) },
		{ "tool", offsetof(struct skep_context, tool) },
		{ "container", offsetof(struct skep_context, container) },
	};

	fputs(",\"context\":{", out);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct skep_str *str = (const void *)((const char *)context + parts[i].offset);

		fprintf(out, "%s\"%s\":", i > 0 ? "," : "", parts[i].name);
		json_bytes(out, str->ptr, str->len, str->total > str->len);
	}
	putc('}', out);
}

static void json_record(FILE *out, const struct fakesink *sink, const struct skep_batch *batch,
			const struct skep_record *record)
{
	const struct skep_stream *stream = record->stream;

	fputs("{\"stream\":", out);
	json_text(out, stream->name);
	fputs(",\"batch\":", out);
	json_text(out, batch->key ? batch->key : "");
	if (record->upid.pid != 0) {
		fputs(",\"upid\":", out);
		json_upid(out, sink, &record->upid);
	}
	fprintf(out, ",\"time_ns\":%llu", (unsigned long long)record->time_ns);
	if (record->context)
		json_context(out, record->context);
	fputs(",\"fields\":{", out);
	for (uint32_t i = 0; i < stream->n_fields; i++) {
		const struct skep_field *field =
			(const void *)((const char *)stream->fields + (size_t)i * stream->field_size);

		if (i > 0)
			putc(',', out);
		json_text(out, field->name);
		putc(':', out);
		json_value(out, sink, field, record->data);
	}
	fputs("}}\n", out);
}

/* 0, or -EIO: then the sink must not acknowledge the batch. */
static int fakesink_write(struct fakesink *sink, const struct skep_batch *batch)
{
	for (uint32_t i = 0; i < batch->n; i++)
		json_record(sink->out, sink, batch, batch->records[i]);
	if (fflush(sink->out) != 0 || ferror(sink->out)) {
		clearerr(sink->out);
		return -EIO;
	}
	sink->host->counter_add(sink->records, batch->n);
	return 0;
}

static void fakesink_finish(struct skep_instance *inst, struct fakesink *sink, const struct skep_batch *batch)
{
	switch (sink->mode) {
	case MODE_RETRY_N:
		if (sink->n > 0) {
			sink->n--;
			sink->host->batch_done(inst, batch, SKEP_BATCH_RETRY, "ordered to be busy");
			return;
		}
		break;
	case MODE_REJECT:
		sink->host->batch_done(inst, batch, SKEP_BATCH_REJECT, "ordered to refuse");
		return;
	default:
		break;
	}
	if (fakesink_write(sink, batch) < 0)
		sink->host->batch_done(inst, batch, SKEP_BATCH_RETRY, "cannot write");
	else
		sink->host->batch_done(inst, batch, SKEP_BATCH_ACK, NULL);
}

static void pending_free(struct pending *pending)
{
	*pending->link = pending->next;
	if (pending->next)
		pending->next->link = pending->link;
	pending->sink->host->timer_close(pending->timer);
	free(pending);
}

static void fakesink_due(struct skep_instance *inst, void *arg)
{
	struct pending *pending = arg;
	struct fakesink *sink = pending->sink;
	const struct skep_batch *batch = pending->batch;

	pending_free(pending);
	fakesink_finish(inst, sink, batch);
}

/* Reads the batch afterwards: ASan finds a host that freed it meanwhile. */
static void fakesink_work(void *arg)
{
	const struct pending *pending = arg;
	char *gate = NULL;
	int fd;

	if (asprintf(&gate, "%s.gate", pending->sink->path) < 0)
		return;
	fd = open(gate, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	free(gate);
	for (uint32_t i = 0; i < pending->batch->n; i++)
		pending->sink->host->counter_add(pending->sink->worked,
						 pending->batch->records[i]->stream->name[0] != '\0');
}

static void fakesink_worked(struct skep_instance *inst, void *arg)
{
	struct pending *pending = arg;

	fakesink_finish(inst, pending->sink, pending->batch);
	free(pending);
}

static int fakesink_submit(struct skep_instance *inst, void *state, const struct skep_batch *batch)
{
	struct fakesink *sink = state;
	struct pending *pending;
	int err;

	if (sink->mode == MODE_WORK) {
		pending = calloc(1, sizeof(*pending));
		if (!pending)
			return sink->host->fail(inst, -ENOMEM, "out of memory");
		pending->sink = sink;
		pending->batch = batch;
		err = sink->host->work(inst, fakesink_work, fakesink_worked, pending);
		if (err < 0) {
			free(pending);
			return sink->host->fail(inst, err, "no thread: %s", strerror(-err));
		}
		return 0;
	}
	if (sink->delay_ns == 0) {
		fakesink_finish(inst, sink, batch);
		return 0;
	}
	pending = calloc(1, sizeof(*pending));
	if (!pending)
		return sink->host->fail(inst, -ENOMEM, "out of memory");
	err = sink->host->timer(inst, sink->delay_ns / 1000000, 0, fakesink_due, pending, &pending->timer);
	if (err < 0) {
		free(pending);
		return sink->host->fail(inst, err, "no timer: %s", strerror(-err));
	}
	pending->sink = sink;
	pending->batch = batch;
	pending->next = sink->pending;
	pending->link = &sink->pending;
	if (pending->next)
		pending->next->link = &pending->next;
	sink->pending = pending;
	return 0;
}

static int fakesink_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	static const char *const modes[] = { "ack", "retry_n", "reject", "slow", "work" };
	struct fakesink *sink = state;
	size_t i;

	sink->host = host;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i], sink->mode_name) == 0)
			break;
	if (i == sizeof(modes) / sizeof(modes[0]))
		return host->fail(inst, -EINVAL, "mode \"%s\": ack, retry_n, reject, slow or work", sink->mode_name);
	sink->mode = (enum mode)i;
	if (sink->mode == MODE_SLOW && sink->delay_ns == 0)
		sink->delay_ns = 50000000;
	sink->worked = host->counter(inst, "fakesink.worked", "records that work() has seen");
	sink->records = host->counter(inst, "fakesink.records", "records written");
	return 0;
}

static int fakesink_start(struct skep_instance *inst, void *state)
{
	struct fakesink *sink = state;

	sink->out = fopen(sink->path, "ae");
	if (!sink->out)
		return sink->host->fail(inst, -errno, "%s: cannot be opened: %s", sink->path, strerror(errno));
	return 0;
}

/* The host owns the batches again that were not answered. */
static void fakesink_stop(struct skep_instance *inst, void *state)
{
	struct fakesink *sink = state;

	(void)inst;
	while (sink->pending)
		pending_free(sink->pending);
}

static void fakesink_close(struct skep_instance *inst, void *state)
{
	struct fakesink *sink = state;

	(void)inst;
	if (sink->out)
		fclose(sink->out);
	sink->out = NULL;
}

static const struct skep_sink_ops fakesink_ops = {
	.size = sizeof(struct skep_sink_ops),
	.max_in_flight = 2,
	.submit = fakesink_submit,
};

static const struct skep_plugin fakesink_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_SINK,
	.name = "fakesink",
	.version = "1.0",
	.summary = "writes lines of JSON and can be slow or unwilling, for tests",
	.license = "Apache-2.0",
	.options = fakesink_options,
	.option_size = sizeof(struct skep_option),
	.state_size = sizeof(struct fakesink),
	.open = fakesink_open,
	.start = fakesink_start,
	.stop = fakesink_stop,
	.close = fakesink_close,
	.sink = &fakesink_ops,
};

SKEP_PLUGIN(fakesink_plugin, SKEP_KIND_SINK, "fakesink", "1.0")
