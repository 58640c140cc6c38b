/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/accuracy.c - computes how accurate a report is.
 */
#include "cli/report/accuracy.h"

#include <string.h>

#include "core/process/records.h"

#define CPU_NOT_EXACT (APPROX_COUNTERS | APPROX_START)

static bool cpu_exact(const struct family *f, size_t member)
{
	const struct lake_process *last = family_last(f, member);

	for (size_t i = f->members[member].first; i != FAMILY_NONE; i = f->next_image[i]) {
		if (f->report->processes[i].kind->approx & CPU_NOT_EXACT)
			return false;
	}
	return strcmp(last->kind->state, "exited") == 0 || strcmp(last->kind->state, "zombie") == 0;
}

/*
 * wait4 on the root covers every descendant that an ancestor waited for, if that ancestor
 * was waited for in turn.  A process that outlived its parent went to init instead.
 */
static bool waited_for(const struct family *f, size_t member)
{
	const struct family_member *m = &f->members[member];

	if (strcmp(family_last(f, member)->kind->state, "exited") != 0)
		return false;
	if (member == f->root)
		return true;
	return m->parent != FAMILY_NONE && family_end_ns(f, member) <= family_end_ns(f, m->parent);
}

void accuracy_of(const struct family *f, struct accuracy *ret)
{
	const struct lake_run *run = &f->report->run;
	struct accuracy a = { .processes = f->n };
	uint64_t reported = lake_run_lost(run);
	bool all = f->root != FAMILY_NONE;

	for (size_t m = 0; m < f->n; m++) {
		bool exact = cpu_exact(f, m);

		a.cpu_exact += exact;
		all = all && exact && waited_for(f, m);
	}
	for (size_t i = 0; i < f->report->n_losses; i++)
		a.lost += f->report->losses[i].count;
	if (reported > a.lost)
		a.lost = reported;
	if (run->end_ns && run->processes_seen > f->n)
		a.missing = run->processes_seen - f->n;
	if (all && !a.lost && !a.missing && run->rusage_cpu_ns) {
		uint64_t ours = run->totals.cpu_ns;

		a.wait4_known = true;
		a.wait4_cpu_ns = run->rusage_cpu_ns;
		a.wait4_difference_ns =
			ours > run->rusage_cpu_ns ? ours - run->rusage_cpu_ns : run->rusage_cpu_ns - ours;
	}
	*ret = a;
}

uint64_t accuracy_end(const struct lake_report *report)
{
	uint64_t end = report->run.start_ns;

	if (report->run.end_ns > end)
		return report->run.end_ns;
	for (size_t i = 0; i < report->n_processes; i++) {
		const struct lake_process *p = &report->processes[i];

		end = p->end_ns > end ? p->end_ns : end;
		end = p->start_ns > end ? p->start_ns : end;
	}
	for (size_t i = 0; i < report->n_samples; i++) {
		const struct lake_sample *s = &report->samples[i];

		end = s->start_ns + s->interval_ns > end ? s->start_ns + s->interval_ns : end;
	}
	return end;
}
