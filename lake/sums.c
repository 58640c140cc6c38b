/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/sums.c - sums the processes of a run: its totals, and its tools.
 */
#include <stdlib.h>
#include <string.h>

#include "lake/answer.h"
#include "lake/order.h"
#include "lake/run.h"
#include "lake/saturate.h"

void lake_totals_add(struct lake_totals *to, const struct lake_totals *t)
{
	lake_add(&to->cpu_ns, t->cpu_ns);
	lake_add(&to->user_ns, t->user_ns);
	lake_add(&to->system_ns, t->system_ns);
	lake_add(&to->run_delay_ns, t->run_delay_ns);
	lake_add(&to->voluntary_switches, t->voluntary_switches);
	lake_add(&to->involuntary_switches, t->involuntary_switches);
	lake_add(&to->minor_faults, t->minor_faults);
	lake_add(&to->major_faults, t->major_faults);
	lake_add(&to->rchar_bytes, t->rchar_bytes);
	lake_add(&to->wchar_bytes, t->wchar_bytes);
	lake_add(&to->read_bytes, t->read_bytes);
	lake_add(&to->write_bytes, t->write_bytes);
	lake_add(&to->cancelled_write_bytes, t->cancelled_write_bytes);
	to->net_known |= t->net_known;
	lake_add(&to->net_rx_bytes, t->net_rx_bytes);
	lake_add(&to->net_tx_bytes, t->net_tx_bytes);
	lake_add(&to->block_delay_ns, t->block_delay_ns);
	for (int i = 0; i < LAKE_STATES; i++)
		lake_add(&to->states[i], t->states[i]);
	if (t->threads > to->threads)
		to->threads = t->threads;
	if (t->rss_peak_bytes > to->rss_peak_bytes)
		to->rss_peak_bytes = t->rss_peak_bytes;
}

/* The end time of processes without one: the run's end, or the last time in the run's records. */
static uint64_t last_known(const struct lake_report *r)
{
	/* an administrator or NTP set the clock back: the recorded end is before the start */
	bool ended = r->run.end_ns > r->run.start_ns;
	uint64_t last = ended ? r->run.end_ns : 0;

	for (size_t i = 0; !ended && i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];

		last = p->end_ns > last ? p->end_ns : p->start_ns > last ? p->start_ns : last;
	}
	for (size_t i = 0; !ended && i < r->n_samples; i++) {
		uint64_t end = r->samples[i].start_ns + r->samples[i].interval_ns;

		last = end > last ? end : last;
	}
	return last;
}

bool lake_is_image(const struct lake_process *p)
{
	/* a fork that execs is "replaced" and counts by its exec */
	return p->kind->execed || strcmp(p->kind->state, "replaced") != 0;
}

bool lake_has_failed(const struct lake_process *p)
{
	return p->kind->exit_code > 0 || p->kind->signal;
}

/* Adds a process to its tool. Call it in the order of start times: the union of intervals needs one pass. */
static void add_to_tool(struct lake_tool *t, struct span *span, const struct lake_process *p, uint64_t last)
{
	uint64_t start = p->start_ns, end = p->end_ns ? p->end_ns : last;
	bool image = lake_is_image(p);

	if (!start || end < start)
		end = start; /* start or end is unknown or wrong: count no time */
	t->totals.images += image;
	if (p->kind->execed && !p->kind->wrapper)
		t->calls++;
	else if (!p->kind->execed && image)
		span->forks++;
	if (!p->kind->wrapper && lake_has_failed(p))
		t->failures++;
	lake_totals_add(&t->totals, &p->totals);
	if (start && (!t->first_start_ns || start < t->first_start_ns))
		t->first_start_ns = start;
	if (end > t->last_end_ns)
		t->last_end_ns = end;
	if (end > span->end) {
		t->wall_ns += end - (start > span->end ? start : span->end);
		span->end = end;
	}
	if (!p->kind->wrapper) {
		t->wall_sum_ns += end - start;
		if (end - start > t->longest_ns)
			t->longest_ns = end - start;
	}
}

/* By process, then tool. */
static int by_upid(const void *a, const void *b, void *of)
{
	const struct extra *extra = of, *x = &extra[((const struct lake_order *)a)->at],
			   *y = &extra[((const struct lake_order *)b)->at];

	if (x->start_boot_ns != y->start_boot_ns)
		return x->start_boot_ns < y->start_boot_ns ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tool < y->tool ? -1 : x->tool > y->tool;
}

/* Counts the distinct upids of the run and of each tool.  order: by by_upid(). */
static int count_ordered(struct answer *a, const struct lake_order *order)
{
	struct lake_report *r = &a->report;
	struct extra last = { 0 };
	size_t tool = 0;
	int err = 0;

	for (size_t i = 0; !err && i < r->n_processes; i++) {
		const struct extra x = a->extra[order[i].at];
		const bool same = i && last.start_boot_ns == x.start_boot_ns && last.pid == x.pid;

		r->run.totals.processes += !same;
		if (!same || last.tool != x.tool) {
			err = answer_tool(a, x.tool, &tool);
			if (!err)
				r->tools[tool].totals.processes++;
		}
		last = x;
	}
	return err;
}

static int count_processes(struct answer *a)
{
	const size_t n = a->report.n_processes;
	struct lake_order *order = calloc(n + 1, 2 * sizeof(*order)); /* half of it for the sort */
	int err;

	if (!order)
		return lake_file_error(a->file, SQLITE_NOMEM);
	for (size_t i = 0; i < n; i++)
		order[i] = (struct lake_order){ a->extra[i].start_boot_ns, i };
	lake_order_sort(order, n, order + n);
	lake_order_ties(order, n, by_upid, a->extra);
	err = count_ordered(a, order);
	free(order);
	return err;
}

static int most_cpu_first(const void *a, const void *b)
{
	const struct lake_tool *x = a, *y = b;

	if (x->totals.cpu_ns != y->totals.cpu_ns)
		return x->totals.cpu_ns > y->totals.cpu_ns ? -1 : 1;
	return strcmp(x->tool, y->tool);
}

/* Lists the images of each tool. of: the tool of each process. */
static int list_images(struct answer *a, const size_t *of)
{
	struct lake_report *r = &a->report;
	size_t *first;

	if (answer_group(of, r->n_processes, r->n_tools, &a->by_tool, &first) != 0)
		return lake_file_error(a->file, SQLITE_NOMEM);
	for (size_t i = 0; i < r->n_tools; i++) {
		r->tools[i].images = a->by_tool + first[i];
		r->tools[i].n_images = first[i + 1] - first[i];
	}
	free(first);
	return 0;
}

int lake_sum_up(struct answer *a)
{
	struct lake_report *r = &a->report;
	uint64_t last = last_known(r);
	size_t *of = calloc(r->n_processes + 1, sizeof(*of));
	int err = 0;

	if (!of)
		return lake_file_error(a->file, SQLITE_NOMEM);
	for (size_t i = 0; !err && i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];

		r->run.totals.images += lake_is_image(p);
		r->run.failures += lake_has_failed(p);
		lake_totals_add(&r->run.totals, &p->totals);
		err = answer_tool(a, a->extra[i].tool, &of[i]);
		if (!err)
			add_to_tool(&r->tools[of[i]], &a->span[of[i]], p, last);
	}
	if (!err)
		err = list_images(a, of);
	free(of);
	if (!err)
		err = count_processes(a);
	if (err)
		return err;
	for (size_t i = 0; i < r->n_tools; i++) {
		struct lake_tool *t = &r->tools[i];

		if (!t->calls)
			t->calls = a->span[i].forks;
		t->cores_avg = t->wall_ns ? (double)t->totals.cpu_ns / (double)t->wall_ns : 0;
		t->cores_peak = a->span[i].cores_peak > t->cores_avg ? a->span[i].cores_peak : t->cores_avg;
	}
	lake_run_memory(&r->run);
	if (r->n_tools)
		qsort(r->tools, r->n_tools, sizeof(*r->tools), most_cpu_first);
	return 0;
}
