/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/settings.h - the configuration, and the endpoint and headers of each signal that follow: from the options,
 * else the variables OTEL_EXPORTER_OTLP_* of the environment, else defaults.
 */
#ifndef SKEP_SINKS_OTLP_SETTINGS_H
#define SKEP_SINKS_OTLP_SETTINGS_H

#include <skep/sink/http.h>

#include "sinks/otlp/request.h"

struct settings {
	struct http_options http; /* url: the endpoint of all signals, a path is added */
	const char *endpoints[SIGNALS]; /* whole URLs */
	const char **signals;
	const char *service;
	const char **resource;
	uint64_t span_threshold;
	int64_t spans_per_run;
	int64_t max_series;
	bool run_attribute;
};

/* One signal's, with texts of its own. */
struct signal_settings {
	struct http_options http;
	char **headers; /* as http.headers */
	char *texts[12];
	unsigned n_texts;
};

#define SETTINGS_TIMEOUT UINT64_C(30000000000) /* the option's default: the environment's counts where it was left so */

/* 0 or -EINVAL, -ENOMEM with the reason. */
int settings_signal(const struct settings *, enum signal, struct signal_settings *ret, char *why, size_t room);
void settings_signal_clear(struct signal_settings *);
/* Which signals are wanted. 0 or -EINVAL. */
int settings_wanted(const struct settings *, bool ret[SIGNALS], char *why, size_t room);
/*
 * Attributes of the resource: the host's as the batch has it, OTEL_RESOURCE_ATTRIBUTES, the option `resource`. 0,
 * -EINVAL, -ENOMEM.
 */
int settings_resource(const struct settings *, const struct skep_batch *, struct pb *ret, char *why, size_t room);
/* service.name of records without a pipeline; the caller frees it. NULL: no memory. */
char *settings_service(const struct settings *);
/* "a=1,b=2", as the environment's lists are -> each pair, its value decoded. 0, or what the callback returned. */
int settings_each_pair(const char *list, int (*cb)(void *arg, const char *name, const char *value), void *arg);

#endif
