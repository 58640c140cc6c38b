/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/settings.h - the options that the sinks prometheus and remote_write share.  A sink embeds the struct
 * in its state and the macro in its option table:
 *
 *  static const struct skep_option options[] = {
 *    SETTINGS_OPTIONS(struct my_sink, settings, "vanish"),
 *    { 0 },
 *  };
 */
#ifndef SKEP_SINKS_PROMETHEUS_SETTINGS_H
#define SKEP_SINKS_PROMETHEUS_SETTINGS_H

#include <skep/plugin.h>
#include <time.h>

struct settings {
	const char *host_label;
	const char **streams;
	bool with_run;
	int64_t max_series;
	uint64_t expire_ns;
};

/* expired_: what happens to series without records, as the end of a sentence. */
#define SETTINGS_OPTIONS(struct_, member_, expired_) \
	{ \
		.name = "host", \
		.type = SKEP_O_STR, \
		.offset = offsetof(struct_, member_.host_label), \
		.help = "the label \"host\" of every series; \"\": no such label; not set: the host's name", \
	}, \
		{ \
			.name = "streams", \
			.type = SKEP_O_STRV, \
			.flags = SKEP_OPT_RELOADABLE, \
			.offset = offsetof(struct_, member_.streams), \
			.help = "names of the streams to add up, for example [\"tool.sample\", \"process.exit\"]; not set: all", \
		}, \
		{ \
			.name = "run_label", \
			.type = SKEP_O_BOOL, \
			.offset = offsetof(struct_, member_.with_run), \
			.default_value = "false", \
			.help = "series for each run, by the label \"run\": each new run begins new series", \
		}, \
		{ \
			.name = "max_series", \
			.type = SKEP_O_INT, \
			.flags = SKEP_OPT_RELOADABLE, \
			.offset = offsetof(struct_, member_.max_series), \
			.default_value = "20000", \
			.min = 100, \
			.max = 10000000, \
			.help = "most time series at a time; the sink sums further ones in one series a metric, labelled overflow=\"true\"", \
		}, \
	{ \
		.name = "expire", .type = SKEP_O_TIME, .flags = SKEP_OPT_RELOADABLE, \
		.offset = offsetof(struct_, member_.expire_ns), .default_value = "5m", .min = 1000000000, \
		.max = INT64_MAX, .help = "series without a record in this time " expired_, \
	}

/* The text of the label "host", by default the name that the host had when the records were made; NULL: no label. */
static inline const char *settings_host(const struct settings *s, const char *host_name)
{
	const char *text = s->host_label ? s->host_label : host_name;

	return *text ? text : NULL;
}

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
