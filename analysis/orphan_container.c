/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/orphan_container.c - finds containers that outlive the run for which they were made.
 */
#include <string.h>

#include "analysis/waste.h"

enum { IDLE, CORES };

#define BEFORE_NS (600 * UINT64_C(1000000000)) /* a container that is older than its run by more is no part of it */

/* The run of that container that ended last. NULL: it has none, one still runs, or the container is older than all. */
static const struct lake_span *run_of(const struct lake_usage *u, const struct lake_host *h, const char *container,
				      uint64_t first_ns, const char **ret_name)
{
	const struct lake_span *last = NULL;
	size_t low = 0, high = u->n_contained;
	bool is_own = false;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(u->contained[middle].container, container) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_name = "";
	for (; low < u->n_contained && strcmp(u->contained[low].container, container) == 0; low++) {
		const struct lake_span *run = &u->runs[u->contained[low].run];

		if (&u->hosts[run->host] != h)
			continue;
		if (!run->end_ns)
			return NULL;
		is_own |= first_ns + BEFORE_NS >= run->start_ns;
		if (!last || run->end_ns > last->end_ns)
			last = run;
		if (*u->contained[low].name)
			*ret_name = u->contained[low].name;
	}
	return is_own ? last : NULL;
}

/* A manager of services keeps the container: systemd by a unit, but not by the runtime's own. */
static bool is_service(const struct lake_span *run)
{
	static const char *const runtimes[] = { "docker.service", "containerd.service", "crio.service",
						"podman.service", "kubelet.service",    NULL };
	const char *dot = strrchr(run->unit, '.');

	return dot && strcmp(dot, ".service") == 0 && !waste_is_one_of(run->unit, runtimes);
}

static int look_at(struct sweep *s, const struct finding_kind *kind, const double *thresholds,
		   const struct lake_host *h, const struct lake_hour *hours, size_t n)
{
	const char *container = hours[0].item + strlen("container/"), *name;
	const struct lake_span *run = run_of(s->in->usage, h, container, hours[0].first_ns, &name);
	struct sweep_finding f = {
		.kind = kind, .severity = FINDING_WARN, .host = h, .run = run, .threshold = thresholds[CORES]
	};
	double used_s = 0, memory = 0;
	char time[FINDING_NUMBER], bytes[FINDING_NUMBER];

	if (!run || is_service(run))
		return 0;
	/* the last hours in a row; one that began before the run's end has the run's work in it */
	for (size_t i = n; i-- > 0;) {
		if (hours[i].start_ns + LAKE_HOUR_NS <= run->end_ns ||
		    (i + 1 < n && !waste_is_next(&hours[i], &hours[i + 1])))
			break;
		if (hours[i].first_ns < run->end_ns)
			break;
		if (!waste_is_known(&hours[i]) || waste_cores(&hours[i], true) > thresholds[CORES])
			break;
		f.from_ns = hours[i].first_ns;
		f.to_ns = f.to_ns ? f.to_ns : hours[i].last_ns;
		f.seconds += (double)hours[i].known_ns / 1e9;
		used_s += (double)hours[i].busy_ns / 1e9;
		memory = (double)hours[i].memory_bytes > memory ? (double)hours[i].memory_bytes : memory;
		f.amount.byte_s += (double)hours[i].memory_bytes * (double)hours[i].known_ns / 1e9;
	}
	if (f.seconds <= 0 || f.seconds < thresholds[IDLE])
		return 0;
	f.n = 1;
	f.value = used_s / f.seconds;
	f.amount.core_s = used_s;
	f.is_open = waste_is_open(h, f.to_ns);
	f.subject = finding_text("%s", *name ? name : container);
	f.evidence = finding_text(
		"container %.12s of run %s %s after the run's end for %s, with %.4f cores and %s of memory", container,
		run->id, f.is_open ? "has lived on" : "lived on",
		finding_seconds((double)(f.to_ns - run->end_ns) / 1e9, time), f.value, finding_bytes(memory, bytes));
	f.advice = finding_text("remove it (`docker rm -f %.12s`), and start such containers with --rm", container);
	return waste_add_take(s, &f);
}

static int sweep_containers(struct sweep *s, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_usage *u = s->in->usage;
	int rc = 0;

	for (size_t i = 0; i < u->n_hosts && rc == 0; i++) {
		const struct lake_hour *hours;
		size_t at = 0, n;

		while (rc == 0 && waste_next_item(s, &u->hosts[i], "container/", &at, &hours, &n))
			rc = look_at(s, kind, thresholds, &u->hosts[i], hours, n);
	}
	return rc;
}

const struct finding_kind waste_orphan_container = {
	.id = "orphan-container",
	.title = "a container that outlives its run",
	.measures = "cores that it used in whole hours after the end of its last run",
	.unit = "{cpu}",
	.guards = "containers in which a run lives, that are older than their runs, that systemd keeps as a service, that were in no "
		  "run, or that still work",
	.advice = "its removal; --rm where it is started",
	.saving = "the memory that it holds",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[IDLE] = { "idle", 3600, "s", "own: an hour" },
		[CORES] = { "cores", 0.01, "{cpu}", "own: a timer that looks whether something has come" },
	},
	.sweep = sweep_containers,
};
