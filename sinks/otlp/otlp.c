/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp - the sink that sends OpenTelemetry data over HTTP: runs and processes as traces, numbers as metrics, failures
 * and losses as logs.
 * This file holds the plugin's descriptor, options and callbacks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "sinks/otlp/state.h"

#define OF(m_) offsetof(struct otlp, settings.m_)

static const struct skep_option options[] = {
	HTTP_OPTION_URL_FLAGS(
		struct otlp, settings.http, "endpoint", SKEP_OPT_RELOADABLE, NULL,
		"base URL of the receiver, to which the sink adds /v1/traces and so on; not set: "
		"OTEL_EXPORTER_OTLP_ENDPOINT, else http://localhost:4318"),
	{ .name = "traces_endpoint",
	  .type = SKEP_O_STR,
	  .flags = SKEP_OPT_RELOADABLE,
	  .offset = OF(endpoints[SIGNAL_TRACES]),
	  .help = "whole URL for traces, if it is another one" },
	{ .name = "metrics_endpoint",
	  .type = SKEP_O_STR,
	  .flags = SKEP_OPT_RELOADABLE,
	  .offset = OF(endpoints[SIGNAL_METRICS]),
	  .help = "whole URL for metrics, if it is another one" },
	{ .name = "logs_endpoint",
	  .type = SKEP_O_STR,
	  .flags = SKEP_OPT_RELOADABLE,
	  .offset = OF(endpoints[SIGNAL_LOGS]),
	  .help = "whole URL for logs, if it is another one" },
	{ .name = "signals",
	  .type = SKEP_O_STRV,
	  .offset = OF(signals),
	  .help = "signals to send: [\"traces\", \"metrics\", \"logs\"]; not set: all three" },
	{ .name = "service",
	  .type = SKEP_O_STR,
	  .offset = OF(service),
	  .help = "service.name for records without a pipeline; not set: OTEL_SERVICE_NAME, else skep" },
	{ .name = "resource",
	  .type = SKEP_O_STRV,
	  .offset = OF(resource),
	  .help = "further attributes of the resource, [\"deployment.environment.name=prod\"]" },
	{ .name = "span_threshold",
	  .type = SKEP_O_TIME,
	  .offset = OF(span_threshold),
	  .default_value = "100ms",
	  .help = "a process that lives at least this long has a span; failed processes and known tools always "
		  "have one" },
	{ .name = "spans_per_run",
	  .type = SKEP_O_INT,
	  .offset = OF(spans_per_run),
	  .default_value = "10000",
	  .min = 1,
	  .max = 10000000,
	  .help = "most processes of a run with a span; further processes are only in the run's figures" },
	{ .name = "max_series",
	  .type = SKEP_O_INT,
	  .offset = OF(max_series),
	  .default_value = "10000",
	  .min = 16,
	  .max = 10000000,
	  .help = "most sets of attributes with metrics of their own; the sink sums further sets in one with "
		  "otel.metric.overflow" },
	{ .name = "run_attribute",
	  .type = SKEP_O_BOOL,
	  .offset = OF(run_attribute),
	  .default_value = "false",
	  .help = "metrics have the run's id as an attribute: as many series as runs" },
	HTTP_OPTIONS(struct otlp, settings.http, NULL),
	{ 0 },
};

static int look(const struct settings *s, struct signal_settings ret[SIGNALS], char *why, size_t room)
{
	int err = 0;

	for (int k = 0; k < SIGNALS && !err; k++)
		err = settings_signal(s, (enum signal)k, &ret[k], why, room);
	return err;
}

static uint64_t realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static int otlp_open(struct skep_instance *i, void *state, const struct skep_host *host)
{
	struct otlp *o = state;
	struct utsname now;
	const struct skep_batch as_now = { .boot_id = host->boot_id, .host_name = now.nodename, .kernel = now.release };
	char why[512] = "uname failed";
	int err;

	o->host = host;
	o->inst = i;
	for (size_t k = 0; k < FLIGHTS; k++)
		o->flights[k].sink = o;
	err = settings_wanted(&o->settings, o->wanted, why, sizeof(why));
	if (!err)
		err = look(&o->settings, o->of, why, sizeof(why));
	if (!err)
		err = uname(&now) < 0 ? -errno
				      : settings_resource(&o->settings, &as_now, &o->encoder.writer, why, sizeof(why));
	if (err)
		return host->fail(i, err, "%s", why);
	for (int k = 0; k < SIGNALS && !err; k++)
		err = skep_http_new(i, host, &o->of[k].http, "endpoint", &o->http[k]);
	if (err)
		return err;
	o->encoder.span_least_ns = o->settings.span_threshold;
	o->encoder.spans_most = (uint64_t)o->settings.spans_per_run;
	o->service = settings_service(&o->settings);
	if (!o->service)
		return host->fail(i, -ENOMEM, "out of memory");
	o->encoder.service = o->service;
	err = encoder_init(&o->encoder, (uint32_t)o->settings.max_series, o->settings.run_attribute, host->interval_ns);
	o->encoder.metrics.groups.floor_ns = realtime();
	return err ? host->fail(i, err, "out of memory") : 0;
}

static int otlp_start(struct skep_instance *i, void *state)
{
	static const char *const names[SIGNALS] = {
		[SIGNAL_TRACES] = "spans", [SIGNAL_METRICS] = "points", [SIGNAL_LOGS] = "events"
	};
	static const char *const helps[SIGNALS] = {
		[SIGNAL_TRACES] = "spans that the receiver has taken",
		[SIGNAL_METRICS] = "points of metrics that the receiver has taken",
		[SIGNAL_LOGS] = "log records that the receiver has taken",
	};
	struct otlp *o = state;
	int err = 0;

	for (int k = 0; k < SIGNALS && !err; k++) {
		o->items[k] = o->host->counter(i, names[k], helps[k]);
		if (o->wanted[k])
			err = skep_http_start(o->http[k]);
	}
	o->refused = o->host->counter(i, "refused", "spans, points and log records that the receiver refused for good");
	o->left_out = o->host->counter(i, "spans_left_out",
				       "processes without a span because their run has spans_per_run already");
	o->overflowed =
		o->host->counter(i, "series_overflow", "records counted in the overflow series, beyond max_series");
	return err;
}

static int otlp_reload(struct skep_instance *i, void *state, const void *next)
{
	const struct otlp *wanted = next;
	struct signal_settings of[SIGNALS] = { 0 };
	struct otlp *o = state;
	char why[512];
	int err = look(&wanted->settings, of, why, sizeof(why));

	if (err)
		err = o->host->fail(i, err, "%s", why);
	for (int k = 0; k < SIGNALS && !err; k++)
		if (o->wanted[k])
			err = skep_http_reload(o->http[k], &of[k].http);
	for (int k = 0; k < SIGNALS; k++) {
		/* The HTTP layer points to o->of, so the new settings move into o->of. */
		if (!err) {
			struct signal_settings old = o->of[k];

			o->of[k] = of[k];
			of[k] = old;
		}
		settings_signal_clear(&of[k]);
	}
	return err;
}

static int otlp_submit(struct skep_instance *i, void *state, const struct skep_batch *batch)
{
	(void)i;
	return flight_submit(state, batch);
}

static void otlp_stop(struct skep_instance *i, void *state)
{
	struct otlp *o = state;

	(void)i;
	for (int k = 0; k < SIGNALS; k++)
		skep_http_stop(o->http[k]);
	flights_clear(o);
}

static void otlp_close(struct skep_instance *i, void *state)
{
	struct otlp *o = state;

	(void)i;
	for (int k = 0; k < SIGNALS; k++) {
		o->http[k] = skep_http_free(o->http[k]);
		settings_signal_clear(&o->of[k]);
	}
	flights_clear(o);
	encoder_free(&o->encoder);
	free(o->resource_of);
	free(o->service);
	skep_http_body_free(&o->body);
}

static const struct skep_sink_ops sink_ops = {
	.size = sizeof(struct skep_sink_ops),
	.max_in_flight = IN_FLIGHT,
	.submit = otlp_submit,
};

static const struct skep_plugin otlp_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_SINK,
	.name = "otlp",
	.version = "1.0",
	.summary = "sends traces, metrics and logs by OpenTelemetry's protocol (OTLP over HTTP)",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.state_size = sizeof(struct otlp),
	.open = otlp_open,
	.start = otlp_start,
	.reload = otlp_reload,
	.stop = otlp_stop,
	.close = otlp_close,
	.sink = &sink_ops,
};

SKEP_PLUGIN(otlp_plugin, SKEP_KIND_SINK, "otlp", "1.0")
