/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/moment.c - see cli/base/moment.h.
 */
#include "cli/base/moment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/base/skep.h"
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

int moment_option(const char *command, const char *option, const char *text, uint64_t *ret_ns)
{
	if (text && moment(text, ret_ns) != 0)
		return skep_usage(command,
				  "%s '%s' is no time; give one like 2026-11-21T03:48:15Z, or 2h or 3d for a time ago",
				  option, text);
	return SKEP_EXIT_OK;
}

int moment_span(const char *command, const char *since, const char *until, uint64_t default_ns, uint64_t now_ns,
		uint64_t *ret_since_ns, uint64_t *ret_until_ns)
{
	int status;

	*ret_until_ns = now_ns;
	status = moment_option(command, "--until", until, ret_until_ns);
	if (*ret_until_ns > now_ns)
		*ret_until_ns = now_ns;
	*ret_since_ns = *ret_until_ns > default_ns ? *ret_until_ns - default_ns : 1;
	if (status == SKEP_EXIT_OK)
		status = moment_option(command, "--since", since, ret_since_ns);
	if (status == SKEP_EXIT_OK && *ret_since_ns >= *ret_until_ns)
		status = skep_usage(command, "--since is not before --until: no time is between them");
	return status;
}
