/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/question.c - opens the lake for a command that queries it.
 */
#include "cli/base/question.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/human.h"
#include "cli/base/lakepath.h"
#include "cli/base/own_runs.h"
#include "cli/base/skep.h"
#include "core/base/clock.h"
#include "core/config/config.h"
#include "core/control/control.h"
#include "filters/suggest.h"
#include "lake/usage.h"

#define CLOCK_AHEAD_NS UINT64_C(60000000000) /* two machines' clocks may differ by so much without a word */
#define CLOCK_GRAIN_NS UINT64_C(1000000000)  /* NTP moves a clock by less within a run */

/* Does a skepd run whose lake this user may not read? Then it answers at the socket for all users. */
static bool service_is_closed(void)
{
	return access(LAKE_OF_SERVICE, R_OK) < 0 && errno == EACCES &&
	       access(CONTROL_SOCKET_DEFAULT CONTROL_OPEN_ENDING, W_OK) == 0;
}

static int fail(const char *command, int rc, const char *why, bool found)
{
	if (rc != -ENOENT)
		return skep_fail(command, SKEP_EXIT_RUNTIME, "%s", why);
	return skep_fail(command, SKEP_EXIT_RUNTIME, "%s; `skep run -- CMD` makes one, --lake PATH names another%s", why,
			 found && access(LAKE_OF_SERVICE, R_OK) < 0 && errno == EACCES
				 ? "; members of group skep may read skepd's lake, " LAKE_OF_SERVICE
				 : "");
}

int question_path(const char *command, const char *option, char **ret, bool *ret_named, bool *ret_both)
{
	const char *variable = getenv("SKEP_LAKE"), *named = option ? option : variable && *variable ? variable : NULL;
	char why[1024] = "", *path = named ? strdup(named) : NULL;
	int rc = named && !path ? -ENOMEM : 0;

	*ret_both = false;
	if (!named && lake_configured(&path, why, sizeof(why)) < 0)
		return skep_fail(command, SKEP_EXIT_CONFIG, "%s", why);
	*ret_named = path && *path;
	if (!rc && !path)
		rc = lake_reading_path(&path, ret_both);
	if (rc)
		return skep_fail(command, SKEP_EXIT_RUNTIME,
				 "cannot locate the lake: %s; set SKEP_LAKE, or use --lake PATH",
				 rc == -ENOENT ? "HOME is not set" : strerror(-rc));
	*ret = path;
	return SKEP_EXIT_OK;
}

int question_open(const char *command, const char *option, const char *run, uint64_t since_ns, struct lake **ret)
{
	static bool said; /* a command that asks twice has said once which lake it reads */
	char why[1024] = "", own_why[512] = "", *path = NULL;
	bool both = false, named = false;
	int rc, own, status = question_path(command, option, &path, &named, &both);

	if (status != SKEP_EXIT_OK)
		return status;
	rc = lake_open(path, ret, why, sizeof(why));
	if (rc && lake_is_address(path)) {
		status = skep_fail(command, SKEP_EXIT_RUNTIME, "%s", why);
		goto out;
	}
	if (!said && (both || (rc == 0 && !named && service_is_closed())))
		skep_say(command, "reading your own lake, %s; for skepd's lake: --lake %s", path, LAKE_OF_SERVICE);
	if (rc == -EACCES || (rc == -ENOENT && !named)) {
		own = own_runs_open(said ? NULL : command, run, since_ns, named ? path : NULL, ret, own_why,
				    sizeof(own_why));
		if (own == 0)
			rc = 0;
		else if (own != -ENOTSUP)
			status = skep_fail(command, SKEP_EXIT_RUNTIME, "%s", own_why);
	}
	said = true;
	if (rc && status == SKEP_EXIT_OK)
		status = fail(command, rc, why, !option);
out:
	free(path);
	return status;
}

/* The records of a run take the clock's setting when they are sent: a change within the run moves some of them. */
static bool clock_was_set(const struct lake_report *r)
{
	if (r->run.end_ns && r->run.end_ns < r->run.start_ns)
		return true;
	for (size_t i = 0; i < r->n_processes; i++)
		if (r->processes[i].end_ns && r->processes[i].end_ns + CLOCK_GRAIN_NS < r->run.start_ns)
			return true;
	return false;
}

static void say_clock(const char *command, const struct lake_report *r)
{
	const struct lake_run *run = &r->run;
	const uint64_t now_ns = clock_realtime_ns();
	char ahead[HUMAN_SIZE];

	if (run->start_ns > now_ns + CLOCK_AHEAD_NS)
		skep_say(command,
			 "run %s begins %s from now: the clock of %s was wrong, or this machine's clock is; durations are right",
			 run->id, human_time(run->start_ns - now_ns, 0, ahead), *run->host ? run->host : "its host");
	if (clock_was_set(r))
		skep_say(command,
			 "the clock of %s was set during run %s: how long a process or a task took is right, its place in "
			 "the time line and the order of tasks may be wrong",
			 *run->host ? run->host : "its host", run->id);
}

int question_partial(const char *command, const struct lake *lake, const struct lake_report *report)
{
	const char *const *texts;
	size_t n = lake_unread(lake, &texts);

	if (report)
		say_clock(command, report);
	if (lake_is_saturated(lake, report))
		skep_say(command,
			 "a number of 9223372036854775807 is too large to be true, or a sum with such numbers: "
			 "a record has a value that no process can have");
	for (size_t i = 0; i < n; i++)
		skep_say(command, "partial answer, without what this file holds: %s", texts[i]);
	return n ? SKEP_EXIT_RUNTIME : SKEP_EXIT_OK;
}

int question_no_host(struct lake *lake, const char *host, char *why, size_t why_size)
{
	const struct lake_usage_query query = { .hosts_only = true };
	struct lake_usage *all = NULL;
	const char *names[1025] = { 0 }, *near = NULL;
	size_t n = 0;
	bool known = false;
	int rc = lake_usage(lake, &query, &all, why, why_size);

	if (rc)
		return rc;
	for (size_t i = 0; i < all->n_hosts; i++) {
		known |= strcmp(all->hosts[i].name, host) == 0;
		if (n < 1024 && *all->hosts[i].name)
			names[n++] = all->hosts[i].name;
	}
	if (!known)
		near = suggest_nearest(host, names);
	snprintf(why, why_size, "the lake has no record of a host '%s'%s%s%s%s", host,
		 known ? " in that time; try another --since" : "", near ? "; did you mean '" : "", near ? near : "",
		 near ? "'?" : "");
	lake_usage_free(all);
	return -ENOENT;
}
