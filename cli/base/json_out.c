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
