/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/settings.h - the configuration, and each signal's endpoint and headers: from the options, else from the
 * variables OTEL_EXPORTER_OTLP_* of the environment, else defaults.
 */
#ifndef SKEP_SINKS_OTLP_SETTINGS_H
#define SKEP_SINKS_OTLP_SETTINGS_H

#include <skep/sink/http.h>

#include "sinks/otlp/request.h"

struct settings {
	struct http_options http; /* url: the endpoint of all signals; the sink appends a path */
	const char *endpoints[SIGNALS]; /* whole URLs */
	const char **signals;
	const char *service;
	const char **resource;
	uint64_t span_threshold;
	int64_t spans_per_run;
	int64_t max_series;
	bool run_attribute;
};

/* The settings of one signal, which owns its texts. */
struct signal_settings {
	struct http_options http;
	char **headers; /* as http.headers */
	char *texts[12];
	unsigned n_texts;
};

#define SETTINGS_TIMEOUT UINT64_C(30000000000) /* the option's default value: with it, the environment's value wins */

/* Returns 0, or -EINVAL or -ENOMEM with the reason in why. */
int settings_signal(const struct settings *, enum signal, struct signal_settings *ret, char *why, size_t room);
void settings_signal_clear(struct signal_settings *);
/* Returns which signals the configuration wants. 0 or -EINVAL. */
int settings_wanted(const struct settings *, bool ret[SIGNALS], char *why, size_t room);
/*
 * Builds the resource attributes: the batch's host, then OTEL_RESOURCE_ATTRIBUTES, then the option `resource`.  Returns
 * 0, -EINVAL or -ENOMEM.
 */
int settings_resource(const struct settings *, const struct skep_batch *, struct pb *ret, char *why, size_t room);
/* Returns the service.name of records without a pipeline; the caller frees it. NULL: no memory. */
char *settings_service(const struct settings *);
/* Calls cb for each pair of a list "a=1,b=2", with its value decoded. Returns 0, or what cb returned. */
int settings_each_pair(const char *list, int (*cb)(void *arg, const char *name, const char *value), void *arg);

#endif
