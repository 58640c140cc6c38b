/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/text.h - writes the store as a page, in Prometheus' text format 0.0.4 or OpenMetrics 1.0.
 */
#ifndef SKEP_SINKS_PROMETHEUS_TEXT_H
#define SKEP_SINKS_PROMETHEUS_TEXT_H

#include <skep/sink/jsonw.h>

#include "sinks/prometheus/store.h"

struct text_format {
	bool openmetrics;
	bool created;     /* OpenMetrics: write "_created" for each counter and histogram */
	const char *host; /* a label of every series; NULL: none */
};

#define TEXT_TYPE_PLAIN "text/plain; version=0.0.4; charset=utf-8"
#define TEXT_TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

/*
 * Appends all metrics; the caller ends the page by text_end(), after metrics of its own. Sets w->err when no memory is
 * left.
 */
void text_store(struct jsonw *w, const struct store *, const struct text_format *);
/* Writes one metric with no label but the host. name: without "_total", which a counter gets. */
void text_figure(struct jsonw *w, const struct text_format *, const char *name, const char *help, bool counter,
		 double value);
void text_end(struct jsonw *w, const struct text_format *);

#endif
