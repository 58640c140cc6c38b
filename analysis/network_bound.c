/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/network_bound.c - finds tasks and tools that sleep until the network brings their data, and a full link.
 */
#include <math.h>
#include <string.h>

#include "analysis/finding.h"

enum { ASLEEP, BYTES, LINK };

struct sums {
	double lifetime_s, network_s, bytes, most_s;
	const struct lake_process *most; /* waits longest */
};

/* The time of these samples of a process in which it slept while bytes came or went. */
static double network_s(const struct lake_progress *p, size_t n, double rate)
{
	double s = 0;

	for (size_t i = 0; i < n; i++) {
		const double interval = (double)p[i].interval_ns, cpu = (double)p[i].cpu_ns;
		const bool moved = (double)p[i].net_bytes * 1e9 >= rate * interval && p[i].read_bytes < p[i].net_bytes;

		s += moved && cpu < 0.5 * interval ? (interval - cpu) / 1e9 : 0;
	}
	return s;
}

static void add_process(const struct analysis *a, size_t i, double rate, struct sums *s)
{
	const struct lake_report *r = a->report;
	const struct lake_process *p = &r->processes[i];
	const uint64_t end = p->end_ns ? p->end_ns : a->end_ns;
	const double alive = p->start_ns && end > p->start_ns ? (double)(end - p->start_ns) / 1e9 : 0;
	const double busy = (double)(p->totals.cpu_ns + p->totals.run_delay_ns + p->totals.block_delay_ns) / 1e9;
	const double bytes = (double)(p->totals.net_rx_bytes + p->totals.net_tx_bytes) -
			     analysis_facet(p, "net.loopback_rx_bytes") - analysis_facet(p, "net.loopback_tx_bytes");
	const struct lake_progress *progress;
	const size_t n = analysis_progress(r, i, &progress);
	double waited;

	s->lifetime_s += fmax(alive, busy);
	if (bytes <= 0 || analysis_facet(p, "net.accepts") > 0)
		return;
	if (n)
		waited = network_s(progress, n, rate);
	else
		waited = (double)p->totals.read_bytes < bytes && bytes >= rate * (alive - busy) ? fmax(0, alive - busy)
												: 0;
	s->network_s += waited;
	s->bytes += bytes;
	if (waited > s->most_s) {
		s->most_s = waited;
		s->most = p;
	}
}

/* Adds the images without children of a task or a tool. */
static void add_images(const struct analysis *a, const uint32_t *images, size_t n, double rate, struct sums *s)
{
	for (size_t i = 0; i < n; i++)
		if (a->leaf[images[i]])
			add_process(a, images[i], rate, s);
}

static int add(struct analysis *a, const struct finding_kind *kind, const double *thresholds, enum finding_subject of,
	       const char *name, size_t n, struct sums s)
{
	struct finding f = { .kind = kind, .of = of, .name = name, .n = n, .severity = FINDING_NOTE,
			     .confidence = FINDING_MEDIUM, .threshold = thresholds[ASLEEP] };
	char waited[FINDING_NUMBER], alive[FINDING_NUMBER], bytes[FINDING_NUMBER];

	f.value = s.lifetime_s > 0 ? s.network_s / s.lifetime_s : 0;
	if (s.network_s <= 0 || f.value < thresholds[ASLEEP] || s.network_s < a->gate_share * a->wall_s)
		return 0;
	f.saving.wall_s = fmin(s.network_s, a->wall_s);
	f.process = s.most;
	f.evidence = finding_text("its processes were asleep for %s of their %s (%.0f %%) while the network brought or took data: "
				  "%s in all, %s a second", finding_seconds(s.network_s, waited),
				  finding_seconds(s.lifetime_s, alive), f.value * 100, finding_bytes(s.bytes, bytes),
				  finding_bytes(s.bytes / s.network_s, (char[FINDING_NUMBER]){ 0 }));
	f.advice = finding_text("fetch several at a time, or while something else computes, or from a nearer place; if the other "
				"side limits the rate, ask there");
	return finding_add_take(a, &f);
}

/* ---- the link --------------------------------------------------------------------- */

static int find_full_link(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_report *r = a->report;
	const struct lake_totals *t = &r->run.totals;
	struct finding f = { .kind = kind, .of = FINDING_OF_RUN, .name = "", .n = 1, .severity = FINDING_NOTE,
			     .confidence = FINDING_MEDIUM, .threshold = thresholds[LINK] };
	char full[FINDING_NUMBER], speed[FINDING_NUMBER];

	for (size_t i = 0, end; i < r->n_links; i = end) {
		double full_s = 0, all_s = 0, bytes = 0, used = 0;

		for (end = i; end < r->n_links && strcmp(r->links[end].name, r->links[i].name) == 0; end++) {
			const struct lake_link *l = &r->links[end];
			const double interval = (double)l->interval_ns / 1e9;
			const double most = (double)(l->rx_bytes > l->tx_bytes ? l->rx_bytes : l->tx_bytes);
			const double use = interval > 0 ? most / interval / (double)l->bytes_per_s : 0;

			all_s += interval;
			bytes += interval > 0 ? (double)(l->rx_bytes + l->tx_bytes) : 0;
			full_s += use >= thresholds[LINK] ? interval : 0;
			used += use >= thresholds[LINK] ? use * interval : 0;
		}
		/* most of the time, and most of the bytes are the run's: not a neighbour's */
		if (all_s <= 0 || full_s < 0.5 * all_s || (double)(t->net_rx_bytes + t->net_tx_bytes) < 0.5 * bytes)
			continue;
		f.value = used / full_s;
		f.evidence = finding_text("for %s the link %s carried %.0f %% of its %s a second", finding_seconds(full_s, full),
					  r->links[i].name, f.value * 100,
					  finding_bytes((double)r->links[i].bytes_per_s, speed));
		f.advice = finding_text("run it where its data is, move less of it (compressed, only the part that is needed), or use a "
					"machine with a faster link");
		return finding_add_take(a, &f);
	}
	return 0;
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const size_t before = a->n_findings;
	int rc = 0;

	for (size_t i = 0; i < a->n_groups && rc == 0; i++) {
		const struct analysis_group *g = a->groups[i];
		struct sums s = { 0 };

		for (size_t k = 0; k < g->n; k++)
			add_images(a, g->tasks[k]->images, g->tasks[k]->n_images, thresholds[BYTES], &s);
		rc = add(a, kind, thresholds, FINDING_OF_TASK, g->name, g->n, s);
	}
	for (size_t i = 0; i < a->report->n_tools && rc == 0 && !a->n_groups; i++) {
		const struct lake_tool *t = &a->report->tools[i];
		struct sums s = { 0 };

		add_images(a, t->images, t->n_images, thresholds[BYTES], &s);
		rc = add(a, kind, thresholds, FINDING_OF_TOOL, t->tool, t->calls, s);
	}
	return rc || a->n_findings > before ? rc : find_full_link(a, kind, thresholds);
}

const struct finding_kind finding_network_bound = {
	.id = "network-bound",
	.title = "waits for the network",
	.measures = "time asleep in which only the network brought or took data, by the lifetime of processes without children; or "
		    "the use of a link of the machine",
	.unit = "1",
	.guards = "servers (processes that accepted a connection); traffic inside the machine; links of which skep does not know the "
		  "speed, or that mostly others use",
	.advice = "several transfers at a time, beside other work, from a nearer place",
	.saving = "that time, at most the run's duration: an upper bound",
	.source = ANALYSIS_SAMPLED,
	.thresholds = {
		[ASLEEP] = { "asleep", 0.50, "1", "own: half of the time" },
		[BYTES] = { "bytes", 100000, "By/s", "own: less are signs of life, not data" },
		[LINK] = { "link", 0.70, "1", "own: a link has waits from 70 % on" },
	},
	.find = find,
};
