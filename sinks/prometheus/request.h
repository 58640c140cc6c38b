/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/request.h - the head of an HTTP request, as far as a scrape needs it.
 */
#ifndef SKEP_SINKS_PROMETHEUS_REQUEST_H
#define SKEP_SINKS_PROMETHEUS_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct request {
	const char *path; /* within the bytes given, path_len of them, without a query */
	size_t path_len;
	bool head;        /* HEAD: no body is wanted */
	bool openmetrics; /* the client takes application/openmetrics-text */
};

/* 0: the head is not whole yet. 200: *ret is filled. Else the status to refuse it with. */
int request_parse(const char *bytes, size_t n, struct request *ret);

#endif
