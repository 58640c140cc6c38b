/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/json_out.c - see cli/base/json_out.h.
 */
#include "cli/base/json_out.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "core/control/control_record.h"

json_t *json_out_string(const char *s)
{
	return control_json_string(s);
}

json_t *json_out_time(uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	char text[64];
	struct tm tm;
	size_t n;

	if (realtime_ns == 0 || !gmtime_r(&seconds, &tm))
		return json_null();
	n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, sizeof(text) - n, ".%09" PRIu64 "Z", realtime_ns % 1000000000);
	return json_string(text);
}

struct indented {
	FILE *out;
	int spaces;
};

/* The only line feeds of jansson's text are those before its indentation: in strings it escapes them. */
static int write_indented(const char *text, size_t size, void *arg)
{
	const struct indented *to = arg;

	while (size > 0) {
		const char *feed = memchr(text, '\n', size);
		size_t n = feed ? (size_t)(feed - text) + 1 : size;

		if (fwrite(text, 1, n, to->out) != n || (feed && fprintf(to->out, "%*s", to->spaces, "") < 0))
			return -1;
		text += n;
		size -= n;
	}
	return 0;
}

int json_out_part(json_t *value, int spaces, FILE *out)
{
	struct indented to = { out, spaces };
	int rc = 0;

	if (!value)
		return -ENOMEM;
	errno = 0;
	if (json_dump_callback(value, write_indented, &to,
			       JSON_INDENT(2) | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY) != 0)
		rc = errno ? -errno : -EIO;
	json_decref(value);
	return rc;
}

int json_out_write(json_t *value, FILE *out)
{
	int rc = 0;

	if (!value)
		return -ENOMEM;
	errno = 0;
	if (json_dumpf(value, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) != 0 || fputc('\n', out) == EOF ||
	    fflush(out) != 0)
		rc = errno ? -errno : -EIO;
	json_decref(value);
	return rc;
}
