/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of an HTTP request.  A body is not read: the connection is closed after the answer.
 */
#include "sinks/prometheus/request.h"

#include <string.h>
#include <strings.h>

/* The end of the line at `at`, or NULL; *ret_next: where the next one begins. */
static const char *line_end(const char *at, const char *end, const char **ret_next)
{
	const char *nl = memchr(at, '\n', (size_t)(end - at));

	if (!nl)
		return NULL;
	*ret_next = nl + 1;
	return nl > at && nl[-1] == '\r' ? nl - 1 : nl;
}

static int parse_line(const char *at, const char *end, struct request *ret)
{
	const char *space = memchr(at, ' ', (size_t)(end - at)), *version, *query;
	size_t method;

	if (!space)
		return 400;
	method = (size_t)(space - at);
	ret->path = space + 1;
	version = memchr(ret->path, ' ', (size_t)(end - ret->path));
	if (!version || end - version != 9 || memcmp(version, " HTTP/1.", 8) != 0)
		return 400;
	ret->path_len = (size_t)(version - ret->path);
	query = memchr(ret->path, '?', ret->path_len);
	if (query)
		ret->path_len = (size_t)(query - ret->path);
	if (!ret->path_len || *ret->path != '/')
		return 400;
	ret->head = method == 4 && memcmp(at, "HEAD", 4) == 0;
	return ret->head || (method == 3 && memcmp(at, "GET", 3) == 0) ? 200 : 405;
}

/* Weights are not looked at: who names OpenMetrics at all can read it, and prefers it in all clients that we know. */
static bool accepts_openmetrics(const char *at, const char *end)
{
	static const char name[] = "accept:", type[] = "application/openmetrics-text";

	if ((size_t)(end - at) < sizeof(name) - 1 || strncasecmp(at, name, sizeof(name) - 1) != 0)
		return false;
	for (; (size_t)(end - at) >= sizeof(type) - 1; at++)
		if (strncasecmp(at, type, sizeof(type) - 1) == 0)
			return true;
	return false;
}

int request_parse(const char *bytes, size_t n, struct request *ret)
{
	const char *end = bytes + n, *at = bytes, *next, *eol;
	struct request r = { 0 };
	int status;

	eol = n ? line_end(at, end, &next) : NULL;
	if (!eol)
		return 0;
	if (memchr(at, '\0', (size_t)(eol - at)))
		return 400;
	status = parse_line(at, eol, &r);
	for (at = next; at < end; at = next) {
		eol = line_end(at, end, &next);
		if (!eol)
			return 0;
		if (eol == at) {
			if (status == 200)
				*ret = r;
			return status;
		}
		r.openmetrics = r.openmetrics || accepts_openmetrics(at, eol);
	}
	return 0;
}
