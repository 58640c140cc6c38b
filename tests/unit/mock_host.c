/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small host for tests of one plugin.
 */
#include "tests/unit/mock_host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *p)
{
	if (!p) {
		fputs("mock host: out of memory\n", stderr);
		abort();
	}
	return p;
}

static void mock_log(struct skep_instance *i, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void mock_log(struct skep_instance *i, int level, const char *fmt, ...)
{
	struct mock *m = i->mock;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->logged, sizeof(m->logged), fmt, ap);
	va_end(ap);
	if (level <= SKEP_LOG_ERROR)
		m->errors_logged++;
	if (!m->quiet)
		fprintf(stderr, "# log %d: %s\n", level, m->logged);
}

static int mock_fail(struct skep_instance *i, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int mock_fail(struct skep_instance *i, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(i->mock->why, sizeof(i->mock->why), fmt, ap);
	va_end(ap);
	return err;
}

static void *mock_thread(void *arg)
{
	struct mock *m = arg;

	m->work(m->work_arg);
	return NULL;
}

static int mock_work(struct skep_instance *i, skep_work_cb work, skep_done_cb done, void *arg)
{
	struct mock *m = i->mock;

	if (m->fail_work)
		return m->fail_work;
	if (!m->threads) {
		work(arg);
		done(i, arg);
		return 0;
	}
	if (m->busy)
		return -EBUSY; /* one at a time is what our sinks promise */
	m->work = work;
	m->done = done;
	m->work_arg = arg;
	if (pthread_create(&m->thread, NULL, mock_thread, m) != 0)
		return -EAGAIN;
	m->busy = true;
	return 0;
}

void mock_wait(struct mock *m)
{
	while (m->busy) {
		pthread_join(m->thread, NULL);
		m->busy = false;
		m->done(&m->instance, m->work_arg);
	}
}

static struct skep_counter *mock_new_counter(struct skep_instance *i, const char *name, const char *help)
{
	struct mock *m = i->mock;
	struct skep_counter *c;

	(void)help;
	if (m->n_counters == sizeof(m->counters) / sizeof(m->counters[0]))
		return NULL;
	c = &m->counters[m->n_counters++];
	snprintf(c->name, sizeof(c->name), "%s", name);
	return c;
}

static void mock_counter_add(struct skep_counter *c, uint64_t n)
{
	__atomic_fetch_add(&c->value, n, __ATOMIC_RELAXED);
}

static void mock_counter_set(struct skep_counter *c, uint64_t n)
{
	__atomic_store_n(&c->value, n, __ATOMIC_RELAXED);
}

uint64_t mock_counter(const struct mock *m, const char *name)
{
	for (unsigned i = 0; i < m->n_counters; i++)
		if (strcmp(m->counters[i].name, name) == 0)
			return __atomic_load_n(&m->counters[i].value, __ATOMIC_RELAXED);
	return 0;
}

static void mock_batch_done(struct skep_instance *i, const struct skep_batch *b, enum skep_batch_result r,
			    const char *why)
{
	struct mock *m = i->mock;

	(void)b;
	if (r == SKEP_BATCH_ACK)
		m->acks++;
	else if (r == SKEP_BATCH_RETRY)
		m->retries++;
	else
		m->rejects++;
	snprintf(m->why, sizeof(m->why), "%s", why ? why : "");
}

/* "5s" "250ms" "64MiB" "true" "12": enough for defaults and tests; the real parser is core/options.c. */
static bool parse(const char *text, const struct skep_option *o, void *at)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	switch (o->type) {
	case SKEP_O_BOOL:
		*(bool *)at = strcmp(text, "true") == 0;
		return true;
	case SKEP_O_INT:
		*(int64_t *)at = (int64_t)n;
		return true;
	case SKEP_O_SIZE:
		*(uint64_t *)at = n * (strcmp(end, "KiB") == 0 ? 1024 : strcmp(end, "MiB") == 0 ? 1048576 : 1);
		return true;
	case SKEP_O_TIME:
		*(uint64_t *)at = n * (strcmp(end, "ms") == 0 ? 1000000 : 1000000000);
		return true;
	case SKEP_O_STR:
		*(const char **)at = text;
		return true;
	default:
		return false;
	}
}

bool mock_option(struct mock *m, const char *name, const char *text)
{
	for (const struct skep_option *o = m->plugin->options; o && o->name; o++)
		if (strcmp(o->name, name) == 0)
			return parse(text, o, (char *)m->state + o->offset);
	return false;
}

void mock_option_strv(struct mock *m, const char *name, const char **list)
{
	for (const struct skep_option *o = m->plugin->options; o && o->name; o++)
		if (strcmp(o->name, name) == 0 && o->type == SKEP_O_STRV)
			*(const char ***)((char *)m->state + o->offset) = list;
}

void mock_init(struct mock *m, const struct skep_plugin *plugin)
{
	*m = (struct mock){
		.host = {
			.size = sizeof(struct skep_host),
			.abi_minor = SKEP_ABI_MINOR,
			.boot_id = MOCK_BOOT_ID,
			.interval_ns = 1000000000,
			.verdict_fd = -1,
			.log = mock_log,
			.fail = mock_fail,
			.work = mock_work,
			.counter = mock_new_counter,
			.counter_add = mock_counter_add,
			.counter_set = mock_counter_set,
			.batch_done = mock_batch_done,
		},
		.plugin = plugin,
	};
	m->instance.mock = m;
	m->state = need(calloc(1, plugin->state_size));
	for (const struct skep_option *o = plugin->options; o && o->name; o++)
		if (o->default_value)
			parse(o->default_value, o, (char *)m->state + o->offset);
}

int mock_open(struct mock *m)
{
	return m->plugin->open(&m->instance, m->state, &m->host);
}

int mock_start(struct mock *m)
{
	int err = mock_open(m);

	return err ? err : m->plugin->start(&m->instance, m->state);
}

int mock_submit(struct mock *m, const struct skep_batch *b)
{
	return m->plugin->sink->submit(&m->instance, m->state, b);
}

void mock_end(struct mock *m)
{
	mock_wait(m);
	if (m->plugin->stop)
		m->plugin->stop(&m->instance, m->state);
	if (m->plugin->close)
		m->plugin->close(&m->instance, m->state);
	free(m->state);
	m->state = NULL;
}

struct mock_batch *mock_batch_new(uint64_t id, int64_t offset)
{
	struct mock_batch *b = need(calloc(1, sizeof(*b)));

	snprintf(b->key, sizeof(b->key), "testhost:epoch:%llu", (unsigned long long)id);
	b->batch =
		(struct skep_batch){ .size = sizeof(b->batch), .id = id, .key = b->key, .realtime_offset_ns = offset };
	return b;
}

struct mock_batch *mock_batch_free(struct mock_batch *b)
{
	for (uint32_t i = 0; b && i < b->batch.n; i++) {
		free((void *)b->records[i]->data);
		free((void *)b->records[i]->context);
		free(b->records[i]);
	}
	if (b)
		free(b->records);
	free(b);
	return NULL;
}

static void *copy_of(const void *p, size_t n)
{
	void *copy = need(malloc(n ? n : 1));

	memcpy(copy, p, n);
	return copy;
}

void mock_batch_add(struct mock_batch *b, const struct skep_stream *s, const struct skep_upid *upid, uint64_t time_ns,
		    const void *data, const struct skep_context *context)
{
	struct skep_record r = {
		.size = sizeof(r),
		.stream = s,
		.time_ns = time_ns,
		.data = copy_of(data, s->record_size),
		.context = context ? copy_of(context, sizeof(*context)) : NULL,
	};

	if (upid)
		r.upid = *upid;
	if (b->batch.n == b->room) {
		b->room = b->room ? 2 * b->room : 64;
		b->records = need(realloc(b->records, b->room * sizeof(*b->records)));
	}
	b->records[b->batch.n++] = copy_of(&r, sizeof(r));
	b->batch.records = (const struct skep_record *const *)b->records;
}

struct skep_str mock_str(const char *s)
{
	return (struct skep_str){ .ptr = s, .len = (uint32_t)strlen(s), .total = (uint32_t)strlen(s) };
}
