/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/mock/life.c - calls a plugin's callbacks under the mock host, in the same order as core/plugin/instance.c in
 * skepd.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "sdk/mock/priv.h"

uint64_t mock_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void mock_enter(struct skep_mock *m, const char *callback)
{
	struct skep_mock_priv *p = m->priv;

	if (p->depth++ > 0)
		return;
	p->callback = callback;
	p->failed_with_reason = false;
	mock_process_before(m);
	p->entered_ns = mock_clock_ns();
}

void mock_leave(struct skep_mock *m, bool has_budget)
{
	struct skep_mock_priv *p = m->priv;
	uint64_t took;

	if (p->depth > 1) {
		p->depth--;
		return;
	}
	took = mock_clock_ns() - p->entered_ns;
	if (has_budget && took > m->worst_ns)
		m->worst_ns = took;
	mock_process_after(m);
	p->depth = 0;
	p->callback = NULL;
}

static void *mock_no_thread(void *arg)
{
	return arg;
}

void skep_mock_init(struct skep_mock *m, const struct skep_plugin *plugin)
{
	static const char *const nothing[] = { NULL };
	struct skep_mock_priv *p;
	pthread_t first;

	if (!plugin || !plugin->open || !plugin->start || !plugin->stop || !plugin->close)
		mock_misuse("skep_mock_init(): a plugin has open, start, stop and close");
	memset(m, 0, sizeof(*m));
	m->plugin = plugin;
	p = m->priv = mock_need(calloc(1, sizeof(*p)));
	m->instance = mock_need(calloc(1, sizeof(*m->instance)));
	m->instance->mock = m;
	p->loop = pthread_self();
	pthread_mutex_init(&p->lock, NULL);
	/*
	 * Start a thread now: a sanitizer's run-time may start a thread of its own at the first one, and must not do so
	 * within a callback.
	 */
	if (pthread_create(&first, NULL, mock_no_thread, NULL) == 0)
		pthread_join(first, NULL);
	p->records_end = &p->records;
	m->host.size = sizeof(m->host);
	m->host.abi_minor = SKEP_ABI_MINOR;
	m->host.boot_id = SKEP_MOCK_BOOT_ID;
	m->boundaries = (struct skep_boundaries){
		.size = sizeof(m->boundaries),
		.generation = 1,
		.names = nothing,
		.programs = nothing,
	};
	m->host.interval_ns = 1000000000;
	m->host.verdict_fd = -1;
	m->host.rules_fd = m->host.rules_programs_fd = m->host.rules_values_fd = -1;
	mock_host_fill(&m->host);
	m->state = mock_need(calloc(1, plugin->state_size ? plugin->state_size : 1));
	p->next_state = mock_need(calloc(1, plugin->state_size ? plugin->state_size : 1));
	p->lost = mock_need(calloc(plugin->n_streams ? plugin->n_streams : 1, sizeof(*p->lost)));
	p->emitted = mock_need(calloc(plugin->n_streams ? plugin->n_streams : 1, sizeof(*p->emitted)));
	mock_options_default(m);
}

/* Checks the result of open() or start(): an errno that the plugin host accepts, and a reason by host->fail(). */
static int mock_result(struct skep_mock *m, const char *callback, int err)
{
	if (err > 0 || err < -4095) {
		mock_defect(m, "%s() returned %d: 0 or a negative errno is expected", callback, err);
		return -EINVAL;
	}
	if (err < 0 && !m->priv->failed_with_reason)
		mock_defect(m, "%s() failed (%s) without saying why; return host->fail(inst, -errno, \"...\")",
			    callback, strerror(-err));
	return err;
}

static void mock_close(struct skep_mock *m)
{
	mock_enter(m, "close");
	m->plugin->close(m->instance, m->state);
	mock_leave(m, false);
	__atomic_store_n(&m->priv->life, MOCK_CLOSED, __ATOMIC_RELEASE);
	mock_close_leftovers(m);
	mock_process_fds_left(m);
}

int skep_mock_open(struct skep_mock *m)
{
	struct skep_option o;
	int err;

	if (m->priv->life != MOCK_NEW)
		mock_misuse("skep_mock_open(): it was opened before; begin again with skep_mock_init()");
	for (int i = 0; mock_option_get(m->plugin, i, &o); i++) {
		static const void *unset;

		if ((o.flags & SKEP_OPT_REQUIRED) && (o.type == SKEP_O_STR || o.type == SKEP_O_STRV) &&
		    memcmp((char *)m->state + o.offset, &unset, sizeof(unset)) == 0)
			return mock_refuse(m, -EINVAL, "option \"%s\" is required", o.name);
	}
	m->why[0] = '\0';
	mock_enter(m, "open");
	err = m->plugin->open(m->instance, m->state, &m->host);
	mock_leave(m, false);
	__atomic_store_n(&m->priv->life, MOCK_OPEN, __ATOMIC_RELEASE);
	err = mock_result(m, "open", err);
	if (err)
		mock_close(m);
	return err;
}

int skep_mock_start(struct skep_mock *m)
{
	int err = m->priv->life == MOCK_NEW ? skep_mock_open(m) : 0;

	if (err)
		return err;
	if (m->priv->life != MOCK_OPEN)
		mock_misuse("skep_mock_start(): it was started before, or has failed");
	mock_enter(m, "start");
	err = m->plugin->start(m->instance, m->state);
	mock_leave(m, false);
	__atomic_store_n(&m->priv->life, MOCK_RUNNING, __ATOMIC_RELEASE);
	err = mock_result(m, "start", err);
	if (err) {
		m->priv->ending = true;
		skep_mock_settle(m);
		mock_close(m);
	}
	return err;
}

static void mock_must_run(const struct skep_mock *m, const char *what)
{
	if (m->priv->life != MOCK_RUNNING)
		mock_misuse("%s: the plugin does not run", what);
}

void skep_mock_sample(struct skep_mock *m)
{
	mock_must_run(m, "skep_mock_sample()");
	if (!m->plugin->sample)
		return;
	mock_enter(m, "sample");
	m->plugin->sample(m->instance, m->state);
	mock_leave(m, true);
}

void skep_mock_flush(struct skep_mock *m)
{
	mock_must_run(m, "skep_mock_flush()");
	if (!m->plugin->flush)
		return;
	mock_enter(m, "flush");
	m->plugin->flush(m->instance, m->state);
	mock_leave(m, true);
}

int skep_mock_submit(struct skep_mock *m, const struct skep_batch *batch)
{
	struct skep_mock_priv *p = m->priv;
	int err;

	mock_must_run(m, "skep_mock_submit()");
	if (m->plugin->kind != SKEP_KIND_SINK || !m->plugin->sink)
		mock_misuse("skep_mock_submit(): %s is not a sink", m->plugin->name);
	p->in_flight = mock_need(realloc(p->in_flight, (p->n_in_flight + 1) * sizeof(*p->in_flight)));
	p->in_flight[p->n_in_flight++] = batch;
	mock_enter(m, "submit");
	err = m->plugin->sink->submit(m->instance, m->state, batch);
	mock_leave(m, true);
	if (err > 0 || err < -4095) {
		mock_defect(m, "submit() returned %d: 0 or a negative errno is expected", err);
		err = -EINVAL;
	}
	/* A refused batch is not in flight. */
	for (size_t i = 0; err && i < p->n_in_flight; i++)
		if (p->in_flight[i] == batch) {
			p->in_flight[i] = p->in_flight[--p->n_in_flight];
			break;
		}
	return err;
}

int skep_mock_reload(struct skep_mock *m)
{
	struct skep_mock_priv *p = m->priv;
	struct skep_option o;
	int err = 0;

	mock_must_run(m, "skep_mock_reload()");
	for (size_t i = 0; i < p->dirty.n; i++)
		if (mock_option_get(m->plugin, p->dirty.at[i], &o) && !(o.flags & SKEP_OPT_RELOADABLE))
			err = mock_refuse(m, -ENOTSUP, "option \"%s\" cannot change without a restart", o.name);
	if (!err && !m->plugin->reload)
		err = mock_refuse(m, -ENOTSUP, "%s has no reload()", m->plugin->name);
	if (!err) {
		skep_mock_settle(m); /* the plugin host never calls reload() during work() */
		mock_enter(m, "reload");
		err = m->plugin->reload(m->instance, m->state, p->next_state);
		mock_leave(m, false);
		if (err > 0 || err < -4095) {
			mock_defect(m, "reload() returned %d: 0 or a negative errno is expected", err);
			err = -EINVAL;
		}
	}
	for (size_t i = 0; i < p->dirty.n; i++) {
		char *state = m->state, *next = p->next_state;

		if (!mock_option_get(m->plugin, p->dirty.at[i], &o))
			continue;
		/* As the plugin host does, copies the options that the plugin applied, and discards the others. */
		if (err)
			memcpy(next + o.offset, state + o.offset, mock_option_size(o.type));
		else
			memcpy(state + o.offset, next + o.offset, mock_option_size(o.type));
	}
	p->dirty.n = 0;
	return err;
}

void skep_mock_stop(struct skep_mock *m)
{
	mock_must_run(m, "skep_mock_stop()");
	mock_details_end(m);
	m->priv->ending = true;
	skep_mock_settle(m);
	mock_enter(m, "stop");
	m->priv->ending = false; /* stop() may call work() a last time */
	m->plugin->stop(m->instance, m->state);
	m->priv->ending = true;
	mock_leave(m, false);
	skep_mock_settle(m);
	__atomic_store_n(&m->priv->life, MOCK_STOPPED, __ATOMIC_RELEASE);
	mock_close_leftovers(m);
	mock_process_threads_left(m);
}

void skep_mock_close(struct skep_mock *m)
{
	if (m->priv->life == MOCK_RUNNING)
		skep_mock_stop(m);
	if (m->priv->life == MOCK_OPEN || m->priv->life == MOCK_STOPPED)
		mock_close(m);
}

unsigned skep_mock_end(struct skep_mock *m)
{
	struct skep_mock_priv *p = m->priv;
	unsigned defects;

	if (!p)
		return 0;
	skep_mock_close(m);
	defects = (unsigned)p->n_defects;
	mock_records_free(p);
	mock_loop_free(p);
	mock_host_free(p);
	mock_details_free(p);
	mock_options_free(p);
	mock_process_free(p);
	for (size_t i = 0; i < p->n_defects; i++)
		free(p->defects[i]);
	free(p->defects);
	free(p->in_flight);
	free(p->known_cgroups.at);
	free(p->dirty.at);
	free(p->lost);
	free(p->emitted);
	pthread_mutex_destroy(&p->lock);
	free(p->next_state);
	free(p);
	free(m->state);
	free(m->instance);
	m->state = NULL;
	m->instance = NULL;
	m->priv = NULL;
	return defects;
}
