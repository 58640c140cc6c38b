/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prometheus - the sink that keeps running sums and levels of the records, for a Prometheus server to scrape.
 * This file holds the plugin's descriptor, adds batches to the store, and makes pages from it.
 *
 * A worker thread adds batches, and the HTTP server's thread makes pages; both hold `lock` meanwhile.  The loop thread
 * takes the lock only for a reload.
 */
#include <errno.h>
#include <pthread.h>
#include <skep/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sinks/prometheus/httpd.h"
#include "sinks/prometheus/ingest.h"
#include "sinks/prometheus/listen.h"
#include "sinks/prometheus/settings.h"
#include "sinks/prometheus/text.h"

struct prometheus {
	const char *listen;
	struct settings settings;
	bool created;

	const struct skep_host *host;
	struct skep_instance *inst;
	pthread_mutex_t lock;
	bool lock_made, store_made;
	struct store store;    /* `lock` protects it */
	struct ingest ingest;  /* `lock` protects it */
	uint64_t records, n_pages, expire_ns; /* `lock` protects them */
	bool with_created;                    /* `lock` protects it */
	const struct skep_batch *batch; /* the worker adds it */
	uint32_t failed;                /* records that were not added, because no memory was left */
	struct httpd httpd;
	char host_name[256]; /* as the last batch has it */
	struct skep_counter *series, *refused, *pages;
};

static const struct skep_option options[] = {
	{
		.name = "listen",
		.type = SKEP_O_STR,
		.offset = offsetof(struct prometheus, listen),
		.default_value = "127.0.0.1:9477",
		.help = "address and port of /metrics, \"ADDRESS:PORT\"; the sink has neither TLS nor a password",
	},
	SETTINGS_OPTIONS(struct prometheus, settings, "vanish"),
	{
		.name = "created",
		.type = SKEP_O_BOOL,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct prometheus, created),
		.default_value = "false",
		.help = "report when each counter began, as OpenMetrics defines it; servers before Prometheus 2.50 "
			"take these for series of their own",
	},
	{ 0 },
};

static int prometheus_open(struct skep_instance *i, void *state, const struct skep_host *host)
{
	struct prometheus *p = state;
	int err;

	p->host = host;
	p->inst = i;
	p->httpd.fd = -1;
	err = -pthread_mutex_init(&p->lock, NULL);
	if (err)
		return host->fail(i, err, "no lock: %s", strerror(-err));
	p->lock_made = true;
	if (gethostname(p->host_name, sizeof(p->host_name) - 1) != 0)
		return host->fail(i, -errno, "cannot read the host's name: %s", strerror(errno));
	err = store_init(&p->store, (uint64_t)p->settings.max_series);
	if (err)
		return host->fail(i, err, "out of memory");
	p->store_made = true;
	p->ingest.store = &p->store;
	p->ingest.boot_id = host->boot_id;
	p->ingest.with_run = p->settings.with_run;
	return listen_check(i, host, p->listen);
}

/* ---- pages --------------------------------------------------------------------- */

/* Makes a page, on the server's thread. */
static char *page_make(void *arg, bool openmetrics, size_t *ret_len)
{
	struct prometheus *p = arg;
	struct text_format f = { .openmetrics = openmetrics };
	struct jsonw page = { 0 };

	pthread_mutex_lock(&p->lock);
	f.host = settings_host(&p->settings, p->host_name);
	f.created = p->with_created;
	store_expire(&p->store, clock_ns(CLOCK_MONOTONIC), p->expire_ns);
	text_store(&page, &p->store, &f);
	text_figure(&page, &f, "skep_exporter_series", "time series that this sink keeps", false,
		    (double)p->store.n_series);
	text_figure(&page, &f, "skep_exporter_records", "records that were added up", true, (double)p->records);
	text_figure(&page, &f, "skep_exporter_overflow", "records whose series found no room (max_series)", true,
		    (double)p->store.refused);
	text_figure(&page, &f, "skep_exporter_expired", "sets of series that vanished (expire)", true,
		    (double)p->store.expired);
	text_figure(&page, &f, "skep_exporter_pages", "pages served before this one", true, (double)p->n_pages++);
	pthread_mutex_unlock(&p->lock);
	text_end(&page, &f);
	if (p->pages)
		p->host->counter_add(p->pages, 1);
	if (page.err)
		skep_jsonw_free(&page);
	*ret_len = page.len;
	return page.buf;
}

static int prometheus_start(struct skep_instance *i, void *state)
{
	struct prometheus *p = state;
	int err;

	p->series = p->host->counter(i, "series", "time series that it keeps");
	p->refused = p->host->counter(i, "overflow", "records whose series found no room (max_series)");
	p->pages = p->host->counter(i, "scrapes", "pages served");
	p->expire_ns = p->settings.expire_ns;
	p->with_created = p->created;
	err = httpd_start(&p->httpd, i, p->host, p->listen, page_make, p);
	if (err)
		return err;
	p->host->log(i, SKEP_LOG_INFO, "http://%s/metrics", p->httpd.name);
	return 0;
}

/* ---- batches ------------------------------------------------------------------- */

static void add_work(void *arg)
{
	struct prometheus *p = arg;
	const struct skep_batch *b = p->batch;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int64_t real = (int64_t)clock_ns(CLOCK_REALTIME);

	p->failed = 0;
	p->ingest.streams = (const char *const *)p->settings.streams; /* a reload may have changed them */
	pthread_mutex_lock(&p->lock);
	store_expire(&p->store, now, p->expire_ns); /* frees room for new series */
	snprintf(p->host_name, sizeof(p->host_name), "%s", b->host_name);
	ingest_batch(&p->ingest, b);
	for (uint32_t k = 0; k < b->n; k++) {
		int err = 0;

		if (ingest_record(&p->ingest, b->records[k], now, real, &err))
			p->records++;
		p->failed += err != 0;
	}
	if (p->series)
		p->host->counter_set(p->series, p->store.n_series);
	if (p->refused)
		p->host->counter_set(p->refused, p->store.refused);
	pthread_mutex_unlock(&p->lock);
}

static void add_done(struct skep_instance *i, void *arg)
{
	struct prometheus *p = arg;
	const struct skep_batch *b = p->batch;

	p->batch = NULL; /* before the answer: the plugin host may submit the next batch inside */
	p->host->batch_answer(i, b,
			      &(struct skep_batch_answer){
				      .size = sizeof(struct skep_batch_answer),
				      .result = SKEP_BATCH_ACK,
				      .rejected = p->failed,
				      .why = p->failed ? "out of memory" : NULL,
			      });
}

static int prometheus_submit(struct skep_instance *i, void *state, const struct skep_batch *batch)
{
	struct prometheus *p = state;
	int err;

	if (p->batch)
		return p->host->fail(i, -EAGAIN, "a batch is in flight already");
	p->batch = batch;
	err = p->host->work(i, add_work, add_done, p);
	if (err) {
		p->batch = NULL;
		return p->host->fail(i, err, "cannot start a worker thread");
	}
	return 0;
}

/*
 * Takes the new options over. The plugin host writes them after this call, while the server's thread may make a page:
 * that thread reads copies.
 */
static int prometheus_reload(struct skep_instance *i, void *state, const void *next)
{
	const struct prometheus *wanted = next;
	struct prometheus *p = state;

	(void)i;
	pthread_mutex_lock(&p->lock);
	p->store.max_series = (uint64_t)wanted->settings.max_series;
	p->expire_ns = wanted->settings.expire_ns;
	p->with_created = wanted->created;
	pthread_mutex_unlock(&p->lock);
	return 0;
}

static void prometheus_stop(struct skep_instance *i, void *state)
{
	(void)i;
	httpd_stop(&((struct prometheus *)state)->httpd);
}

static void prometheus_close(struct skep_instance *i, void *state)
{
	struct prometheus *p = state;

	(void)i;
	if (p->host)
		httpd_stop(&p->httpd);
	if (p->store_made)
		store_free(&p->store);
	if (p->lock_made)
		pthread_mutex_destroy(&p->lock);
	ingest_free(&p->ingest);
}

static const struct skep_sink_ops sink_ops = {
	.size = sizeof(struct skep_sink_ops),
	.max_in_flight = 1, /* a newer level replaces an older one, so the order of records counts */
	.submit = prometheus_submit,
};

static const struct skep_plugin prometheus_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_SINK,
	.name = "prometheus",
	.version = "1.0",
	.summary = "serves running sums and levels of the records to Prometheus",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.state_size = sizeof(struct prometheus),
	.open = prometheus_open,
	.start = prometheus_start,
	.reload = prometheus_reload,
	.stop = prometheus_stop,
	.close = prometheus_close,
	.sink = &sink_ops,
};

SKEP_PLUGIN(prometheus_plugin, SKEP_KIND_SINK, "prometheus", "1.0")
