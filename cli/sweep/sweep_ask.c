/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/sweep/sweep_ask.c - the questions behind a sweep.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/sweep/sweep_print.h"

#define PULSES_NS (6 * LAKE_HOUR_NS) /* how far back skep follows a run that does nothing */

struct asks {
	struct lake *lake;
	char *why;
	size_t why_size;
};

static int last_process(void *arg, const struct lake_span *run, uint64_t until_ns, struct lake_seen_list **ret)
{
	struct asks *a = arg;

	return lake_last_process(a->lake, run->id, run->boot_id, until_ns, ret, a->why, a->why_size);
}

static int gpu_processes(void *arg, const char *boot_id, uint64_t from_ns, uint64_t to_ns, struct lake_seen_list **ret)
{
	struct asks *a = arg;

	return lake_gpu_processes(a->lake, boot_id, from_ns, to_ns, ret, a->why, a->why_size);
}

int sweep_look_at(struct lake *lake, const char *host, const struct analysis_setting *settings, size_t n_settings,
		  struct sweep_look *look, char *why, size_t why_size)
{
	const struct lake_usage_query query = { .host = host, .since_ns = look->since_ns, .until_ns = look->until_ns };
	struct asks arg = { lake, why, why_size };
	const struct sweep_asks asks = { &arg, last_process, gpu_processes };
	struct sweep_input in;
	uint64_t last_ns = 0;
	int rc = lake_usage(lake, &query, &look->usage, why, why_size);

	if (rc)
		return rc;
	if (host && !look->usage->n_hosts)
		return question_no_host(lake, host, why, why_size);
	for (size_t i = 0; i < look->usage->n_hosts; i++) {
		const uint64_t of_host = look->usage->hosts[i].last_ns;

		if (of_host > last_ns && of_host <= look->until_ns)
			last_ns = of_host;
	}
	if (last_ns)
		rc = lake_pulses(lake, host, last_ns > PULSES_NS ? last_ns - PULSES_NS : 0, last_ns, &look->pulses, why,
				 why_size);
	if (rc == 0 && look->prices) {
		const struct lake_claims_query now = { .since_ns = look->until_ns - 1, .until_ns = look->until_ns };

		rc = lake_claims(lake, &now, &look->claims, why, why_size);
	}
	if (rc)
		return rc;
	in = (struct sweep_input) { .usage = look->usage,
				    .pulses = look->pulses,
				    .prices = look->prices,
				    .claims = look->claims,
				    .asks = &asks };
	snprintf(why, why_size, "out of memory");
	rc = sweep_new(&in, settings, n_settings, &look->sweep);
	sweep_doubts(look->usage, look->until_ns, &look->doubts);
	return rc;
}

void sweep_look_free(struct sweep_look *look)
{
	sweep_free(look->sweep);
	lake_pulses_free(look->pulses);
	lake_claims_free(look->claims);
	lake_usage_free(look->usage);
	*look = (struct sweep_look){ 0 };
}

void sweep_say_doubts(const struct sweep_look *look)
{
	const struct sweep_doubts *d = &look->doubts;
	const struct lake_usage *u = look->usage;
	char buf[HUMAN_SIZE];

	if (!u->n_hosts)
		skep_say("sweep", "the lake has no record of a host in that time; try another --since");
	else if (d->hosts_without_hours == u->n_hosts)
		skep_say(
			"sweep",
			"partial answer: no host has records of its use in that time, so only what runs left behind is "
			"found; run skepd with the probes host, proc and gpu (`skep status`)");
	else if (d->hosts_without_hours)
		skep_say(
			"sweep",
			"partial answer: %zu of %zu hosts have runs and no records of their use: skepd does not run there, "
			"or its probe host does not",
			d->hosts_without_hours, u->n_hosts);
	if (d->hours_shared)
		skep_say(
			"sweep",
			"partial answer: %s and perhaps others are names of several machines: %zu hours are left out; give "
			"each machine a name of its own",
			d->shared, d->hours_shared);
	if (d->hosts_ahead)
		skep_say(
			"sweep",
			"the clock of %s is %s ahead of this machine's%s; lengths of its windows are right, their dates are not",
			d->ahead, human_time((uint64_t)(d->ahead_s * 1e9), 0, buf),
			d->hosts_ahead > 1 ? ", as those of others" : "");
	if (d->hosts_silent)
		skep_say(
			"sweep",
			"%zu of %zu hosts (%s%s) sent nothing in the last hour before the end of that time: what is said of "
			"them is of their last record",
			d->hosts_silent, u->n_hosts, d->silent, d->hosts_silent > 1 ? ", ..." : "");
}
