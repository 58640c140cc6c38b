/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/mock/host.c - implements the functions of struct skep_host that concern neither the loop nor records.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "sdk/mock/priv.h"

bool mock_may(struct skep_mock *m, const char *function, bool any_thread)
{
	if (__atomic_load_n(&m->priv->life, __ATOMIC_ACQUIRE) == MOCK_CLOSED) {
		mock_defect(m, "%s() was called after close()", function);
		return false;
	}
	if (!any_thread && !pthread_equal(pthread_self(), m->priv->loop)) {
		mock_defect(
			m,
			"%s() was called from a thread that is not the loop's; only log, counter_add and counter_set may be",
			function);
		return false;
	}
	return true;
}

static void host_log(struct skep_instance *i, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void host_log(struct skep_instance *i, int level, const char *fmt, ...)
{
	struct skep_mock *m = i->mock;
	size_t len;
	va_list ap;

	if (!mock_may(m, "log", true))
		return;
	pthread_mutex_lock(&m->priv->lock);
	va_start(ap, fmt);
	vsnprintf(m->logged, sizeof(m->logged), fmt, ap);
	va_end(ap);
	if (level <= SKEP_LOG_ERROR)
		m->errors_logged++;
	len = strlen(m->logged);
	if (!m->quiet)
		fprintf(stderr, "skep mock: log %d: %s\n", level, m->logged);
	pthread_mutex_unlock(&m->priv->lock);
	if (level < SKEP_LOG_ERROR || level > SKEP_LOG_DEBUG)
		mock_defect(m, "log(): there is no level %d", level);
	if (len > 0 && m->logged[len - 1] == '\n')
		mock_defect(m, "log(): a line does not end in a newline: the host adds it");
}

static int host_fail(struct skep_instance *i, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int host_fail(struct skep_instance *i, int err, const char *fmt, ...)
{
	struct skep_mock *m = i->mock;
	va_list ap;

	if (!mock_may(m, "fail", false))
		return err;
	va_start(ap, fmt);
	vsnprintf(m->why, sizeof(m->why), fmt, ap);
	va_end(ap);
	m->priv->failed_with_reason = true;
	if (err >= 0) {
		mock_defect(m, "fail() was given %d: it takes a negative errno", err);
		return -EINVAL;
	}
	return err;
}

static struct skep_counter *host_counter(struct skep_instance *i, const char *name, const char *help)
{
	struct skep_mock *m = i->mock;
	struct skep_counter *c;

	if (!mock_may(m, "counter", false))
		return NULL;
	if (!name || !*name || !help || !*help)
		mock_defect(m, "counter(): a counter has a name and a help text");
	if (m->fail_counter || !name)
		return NULL;
	for (c = m->priv->counters; c; c = c->next)
		if (strcmp(c->name, name) == 0)
			return c;
	c = mock_need(calloc(1, sizeof(*c)));
	c->name = mock_need(strdup(name));
	c->next = m->priv->counters;
	m->priv->counters = c;
	return c;
}

static void host_counter_add(struct skep_counter *c, uint64_t n)
{
	if (c)
		__atomic_fetch_add(&c->value, n, __ATOMIC_RELAXED);
}

static void host_counter_set(struct skep_counter *c, uint64_t n)
{
	if (c)
		__atomic_store_n(&c->value, n, __ATOMIC_RELAXED);
}

uint64_t skep_mock_counter(const struct skep_mock *m, const char *name)
{
	for (struct skep_counter *c = m->priv->counters; c; c = c->next)
		if (strcmp(c->name, name) == 0)
			return __atomic_load_n(&c->value, __ATOMIC_RELAXED);
	return 0;
}

static void host_drained(struct skep_instance *i, uint64_t time_ns)
{
	if (mock_may(i->mock, "drained", false))
		i->mock->drained_ns = time_ns;
}

static void host_sweep_begin(struct skep_instance *i, uint64_t time_ns)
{
	(void)time_ns;
	mock_may(i->mock, "sweep_begin", false);
}

static void host_sweep_end(struct skep_instance *i, bool complete)
{
	(void)complete;
	mock_may(i->mock, "sweep_end", false);
}

/* Redacts nothing, like the plugin host without its tables: no output of the mock leaves the test. */
static unsigned host_redact(struct skep_instance *i, const char *exe, char *argv, uint32_t *len)
{
	if (!mock_may(i->mock, "redact", false))
		return 0;
	if (!exe || !len || (*len > 0 && !argv))
		mock_defect(i->mock, "redact(): exe, argv and len must be given");
	else if (*len > 0 && argv[*len - 1] != '\0')
		mock_defect(i->mock, "redact(): an argument list ends in a NUL");
	return 0;
}

static bool host_cgroup_known(struct skep_instance *i, uint64_t id, const struct skep_str *path)
{
	struct mock_set *known = &i->mock->priv->known_cgroups;
	bool was;

	if (!mock_may(i->mock, "cgroup_known", false))
		return false;
	was = mock_set_has(known, (int)id);
	if (!was && path)
		mock_set_add(known, (int)id);
	return was;
}

/* Ends a batch's flight. false: the plugin has no such batch. */
static bool batch_back(struct skep_mock *m, const struct skep_batch *batch)
{
	struct skep_mock_priv *p = m->priv;
	size_t at = 0;

	while (at < p->n_in_flight && p->in_flight[at] != batch)
		at++;
	if (at == p->n_in_flight) {
		mock_defect(m, "an answer for a batch that is not out: answered twice, or after submit() had failed");
		return false;
	}
	p->in_flight[at] = p->in_flight[--p->n_in_flight];
	return true;
}

static void host_batch_answer(struct skep_instance *i, const struct skep_batch *batch,
			      const struct skep_batch_answer *answer)
{
	struct skep_mock *m = i->mock;
	uint32_t n = batch ? batch->n : 0;

	if (!mock_may(m, "batch_answer", false))
		return;
	if (!answer || answer->size < sizeof(*answer)) {
		mock_defect(m, "batch_answer(): the answer's size is not set");
		return;
	}
	if (!batch_back(m, batch))
		return;
	snprintf(m->why, sizeof(m->why), "%s", answer->why ? answer->why : "");
	m->answer = *answer;
	m->answer.why = m->why;
	if (!answer->why && (answer->result != SKEP_BATCH_ACK || answer->rejected > 0))
		mock_defect(m, "batch_answer(): anything but a whole ACK needs a reason");
	if (answer->rejected > n)
		mock_defect(m, "batch_answer(): %u of %u records are rejected", answer->rejected, n);
	switch ((enum skep_batch_result)answer->result) {
	case SKEP_BATCH_ACK:
		m->acks++;
		return;
	case SKEP_BATCH_RETRY:
		m->retries++;
		return;
	case SKEP_BATCH_REJECT:
		m->rejects++;
		return;
	case SKEP_BATCH_HOLD:
		m->holds++;
		return;
	case SKEP_BATCH_SPLIT:
		m->splits++;
		return;
	case SKEP_BATCH_SUSPECT:
		m->suspects++;
		return;
	}
	mock_defect(m, "batch_answer(): there is no result %u", answer->result);
}

static void host_batch_done(struct skep_instance *i, const struct skep_batch *batch, enum skep_batch_result result,
			    const char *why)
{
	struct skep_batch_answer answer = { .size = sizeof(answer), .result = result, .why = why };

	if (!why && result == SKEP_BATCH_RETRY)
		answer.why = ""; /* the ABI allows it */
	host_batch_answer(i, batch, &answer);
}

static void host_settle_soon(struct skep_instance *i)
{
	mock_may(i->mock, "settle_soon", false);
}

static bool host_process_known(struct skep_instance *i, const struct skep_upid *who)
{
	(void)who;
	mock_may(i->mock, "process_known", false);
	return false;
}

static void host_signal(struct skep_instance *i, const char *name, enum skep_signal_state state, const char *how,
			const char *why)
{
	struct skep_mock *m = i->mock;
	struct mock_signal *s;

	if (!mock_may(m, "signal", false))
		return;
	if (!name || !*name || !how || state < SKEP_SIGNAL_OK || state > SKEP_SIGNAL_OFF) {
		mock_defect(m, "signal(): needs a name, a hook or file (\"\": none) and a state of enum skep_signal_state");
		return;
	}
	if (state != SKEP_SIGNAL_OK && (!why || !*why))
		mock_defect(m, "signal(\"%s\"): why it is not OK must be said", name);
	for (s = m->priv->signals; s; s = s->next)
		if (strcmp(s->name, name) == 0)
			break;
	if (!s) {
		s = mock_need(calloc(1, sizeof(*s)));
		s->name = mock_need(strdup(name));
		s->next = m->priv->signals;
		m->priv->signals = s;
	}
	free(s->how);
	free(s->why);
	s->state = state;
	s->how = mock_need(strdup(how));
	s->why = mock_need(strdup(why ? why : ""));
}

enum skep_signal_state skep_mock_signal(const struct skep_mock *m, const char *name, const char **how, const char **why)
{
	for (struct mock_signal *s = m->priv->signals; s; s = s->next) {
		if (strcmp(s->name, name) != 0)
			continue;
		if (how)
			*how = s->how;
		if (why)
			*why = s->why;
		return s->state;
	}
	return (enum skep_signal_state)0;
}

static bool host_cgroup_path(struct skep_instance *i, uint64_t id, struct skep_str *ret)
{
	(void)id;
	(void)ret;
	mock_may(i->mock, "cgroup_path", false);
	return false;
}

static void host_cgroups_live(struct skep_instance *i, void (*cb)(void *arg, uint64_t id, const struct skep_str *path),
			      void *arg)
{
	(void)cb;
	(void)arg;
	mock_may(i->mock, "cgroups_live", false);
}

static bool host_process_by_pid(struct skep_instance *i, uint32_t pid, struct skep_upid *ret)
{
	(void)pid;
	(void)ret;
	mock_may(i->mock, "process_by_pid", false);
	return false;
}

/* The mock reads no process: a test that wants an answer sets host.process_read to its own function. */
static int host_process_read(struct skep_instance *i, const struct skep_upid *who, uint32_t uid, uint32_t what,
			     skep_process_cb cb, void *arg)
{
	(void)uid;
	(void)arg;
	if (mock_may(i->mock, "process_read", false) && (!who || !cb || !what))
		mock_defect(i->mock, "process_read(): whose, what, and a callback");
	return -EPIPE;
}

static const struct skep_boundaries *host_boundaries(struct skep_instance *i)
{
	mock_may(i->mock, "boundaries", false);
	return &i->mock->boundaries;
}

void mock_host_fill(struct skep_host *host)
{
	host->log = host_log;
	host->fail = host_fail;
	host->watch_fd = mock_watch_fd;
	host->watch_close = mock_watch_close;
	host->timer = mock_timer;
	host->timer_close = mock_timer_close;
	host->work = mock_work;
	host->emit = mock_emit;
	host->drained = host_drained;
	host->sweep_begin = host_sweep_begin;
	host->sweep_end = host_sweep_end;
	host->lost = mock_lost;
	host->counter = host_counter;
	host->counter_add = host_counter_add;
	host->counter_set = host_counter_set;
	host->redact = host_redact;
	host->cgroup_known = host_cgroup_known;
	host->batch_done = host_batch_done;
	host->batch_answer = host_batch_answer;
	host->settle_soon = host_settle_soon;
	host->process_known = host_process_known;
	host->signal = host_signal;
	host->cgroup_path = host_cgroup_path;
	host->cgroups_live = host_cgroups_live;
	host->process_by_pid = host_process_by_pid;
	host->detail_over = mock_detail_over;
	host->process_read = host_process_read;
	host->boundaries = host_boundaries;
}

void mock_host_free(struct skep_mock_priv *p)
{
	while (p->counters) {
		struct skep_counter *c = p->counters;

		p->counters = c->next;
		free(c->name);
		free(c);
	}
	while (p->signals) {
		struct mock_signal *s = p->signals;

		p->signals = s->next;
		free(s->name);
		free(s->how);
		free(s->why);
		free(s);
	}
}
