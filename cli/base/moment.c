/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/moment.c - see cli/base/moment.h.
 */
#include "cli/base/moment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/config/config.h"

int moment(const char *text, uint64_t *ret_ns)
{
	struct tm tm = { 0 };
	uint64_t ago, fraction = 0, scale = 100000000;
	int hours = 0, minutes = 0, end = 0;
	int64_t seconds;
	const char *at;

	if (config_time(text, &ago) == 0) {
		uint64_t ns = clock_realtime_ns();

		*ret_ns = ago < ns ? ns - ago : 1;
		return 0;
	}
	at = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!at)
		return -EINVAL;
	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9'; at++, scale /= 10)
			fraction += (uint64_t)(*at - '0') * scale;
	if ((*at == '+' || *at == '-') && sscanf(at + 1, "%2d:%2d%n", &hours, &minutes, &end) == 2 && !at[1 + end])
		minutes += 60 * hours;
	else if (strcmp(at, "Z") != 0)
		return -EINVAL;
	seconds = timegm(&tm) - (*at == '-' ? -60 : 60) * minutes;
	if (seconds <= 0)
		return -EINVAL;
	*ret_ns = (uint64_t)seconds * 1000000000 + fraction;
	return 0;
}
