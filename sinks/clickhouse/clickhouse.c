/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clickhouse - the sink that inserts records into ClickHouse, over its HTTP interface.
 * This file holds the plugin's descriptor.  lake/clickhouse.sql creates the tables.
 */
#include <skep/plugin.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/clickhouse/batch.h"

static const struct skep_option options[] = {
	HTTP_OPTION_URL(struct clickhouse, http, "url",
			"ClickHouse's HTTP interface, http://host:8123 or https://host:8443"),
	{
		.name = "database",
		.type = SKEP_O_STR,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct clickhouse, database),
		.default_value = "skep",
		.help = "database whose tables `skep lake init --clickhouse URL` has made",
	},
	{
		.name = "streams",
		.type = SKEP_O_STRV,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct clickhouse, streams),
		.help = "names of the streams to insert, for example [\"process.exit\", \"run\"]; not set: all",
	},
	{
		.name = "async_insert",
		.type = SKEP_O_BOOL,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct clickhouse, async_insert),
		.default_value = "false",
		.help = "the server gathers inserts of many hosts into one (from 21.11 on), and answers when they are "
			"in the table",
	},
	{
		.name = "gather",
		.type = SKEP_O_STR,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct clickhouse, gather),
		.default_value = "auto",
		.help = "several batches in one INSERT while others are under way: auto (where the server knows no "
			"tokens, before 22.2), always, never",
	},
	HTTP_OPTIONS(struct clickhouse, http, "gzip"),
	{ 0 },
};

static int check_database(const struct clickhouse *c, struct skep_instance *i, const char *name)
{
	for (const char *s = name; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return c->host->fail(i, -EINVAL, "database \"%s\": letters, digits and _ are expected", name);
	return *name ? 0 : c->host->fail(i, -EINVAL, "database is empty");
}

static int check_gather(const struct clickhouse *c, struct skep_instance *i, const char *gather)
{
	if (strcmp(gather, "auto") == 0 || strcmp(gather, "always") == 0 || strcmp(gather, "never") == 0)
		return 0;
	return c->host->fail(i, -EINVAL, "gather \"%s\": expected auto, always or never", gather);
}

static int clickhouse_open(struct skep_instance *i, void *state, const struct skep_host *host)
{
	struct clickhouse *c = state;
	int err;

	c->host = host;
	c->inst = i;
	for (unsigned k = 0; k < IN_FLIGHT; k++)
		c->slots[k].sink = c;
	for (unsigned k = 0; k < LOADS; k++) {
		c->loads[k].sink = c;
		for (unsigned t = 0; t < TABLES; t++)
			c->loads[k].part[t].load = &c->loads[k];
	}
	err = check_database(c, i, c->database);
	if (!err)
		err = check_gather(c, i, c->gather);
	if (!err)
		err = skep_http_new(i, host, &c->http, "url", &c->layer);
	if (!err && batch_urls(c) != 0)
		err = host->fail(i, -ENOMEM, "out of memory");
	return err;
}

static int clickhouse_start(struct skep_instance *i, void *state)
{
	struct clickhouse *c = state;

	c->rows = c->host->counter(i, "rows", "rows that the server has acknowledged");
	c->inserts = c->host->counter(i, "inserts", "INSERTs begun: one for each table of a batch");
	return skep_http_start(c->layer);
}

static int clickhouse_reload(struct skep_instance *i, void *state, const void *next)
{
	const struct clickhouse *wanted = next;
	struct clickhouse *c = state, made = { .http = wanted->http,
					       .database = wanted->database,
					       .async_insert = wanted->async_insert };
	int err = check_database(c, i, wanted->database);

	if (!err)
		err = check_gather(c, i, wanted->gather);
	if (!err)
		err = skep_http_reload(c->layer, &wanted->http);
	if (!err && batch_urls(&made) != 0)
		err = c->host->fail(i, -ENOMEM, "out of memory");
	for (unsigned t = 0; !err && t < TABLES; t++) {
		free(c->url[t]);
		c->url[t] = made.url[t];
	}
	memset(c->unknown, 0, sizeof(c->unknown)); /* the new URL may be another server */
	inserted_forget(&c->inserted);
	return err;
}

static int clickhouse_submit(struct skep_instance *i, void *state, const struct skep_batch *batch)
{
	struct clickhouse *c = state;
	struct slot *slot = c->slots;
	int err;

	while (slot < c->slots + IN_FLIGHT && slot->state != SLOT_FREE)
		slot++;
	if (slot == c->slots + IN_FLIGHT)
		return c->host->fail(i, -EAGAIN, "%d batches are in flight already", IN_FLIGHT);
	err = batch_begin(slot, batch);
	return err ? c->host->fail(i, err, "cannot start a worker thread") : 0;
}

static void clickhouse_stop(struct skep_instance *i, void *state)
{
	struct clickhouse *c = state;

	(void)i;
	skep_http_stop(c->layer);
	for (unsigned k = 0; k < IN_FLIGHT; k++)
		c->slots[k].state = SLOT_FREE;
	for (unsigned k = 0; k < LOADS; k++)
		c->loads[k].n = 0;
}

static void clickhouse_close(struct skep_instance *i, void *state)
{
	struct clickhouse *c = state;

	(void)i;
	c->layer = skep_http_free(c->layer);
	batch_slots_free(c);
}

static const struct skep_sink_ops sink_ops = {
	.size = sizeof(struct skep_sink_ops),
	.max_in_flight = IN_FLIGHT,
	.submit = clickhouse_submit,
	.flags = SKEP_SINK_ANY_ORDER, /* a row's key and version (rev of a run) do not depend on the order of arrival */
};

static const struct skep_plugin clickhouse_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_SINK,
	.name = "clickhouse",
	.version = "1.0",
	.summary = "inserts records into ClickHouse",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.state_size = sizeof(struct clickhouse),
	.open = clickhouse_open,
	.start = clickhouse_start,
	.reload = clickhouse_reload,
	.stop = clickhouse_stop,
	.close = clickhouse_close,
	.sink = &sink_ops,
};

SKEP_PLUGIN(clickhouse_plugin, SKEP_KIND_SINK, "clickhouse", "1.0")
