/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/history.c - keeps of earlier runs what sizes and regressions need. A run's report has hundreds of megabytes
 * where a history has some, so twenty runs fit into memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"

struct analysis_history *analysis_history_new(void)
{
	return calloc(1, sizeof(struct analysis_history));
}

static void past_free(struct analysis_past *p)
{
	for (size_t i = 0; i < p->n_groups; i++)
		analysis_group_free(p->groups[i]);
	analysis_group_free(p->whole);
	free(p->groups);
	free(p->id);
	free(p->host);
	free(p->kernel);
}

struct analysis_history *analysis_history_free(struct analysis_history *h)
{
	for (size_t i = 0; h && i < h->n; i++)
		past_free(&h->runs[i]);
	if (h)
		free(h->runs);
	free(h);
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct analysis_group *const *)a)->name, (*(struct analysis_group *const *)b)->name);
}

static int compare_name(const void *key, const void *member)
{
	return strcmp(key, (*(struct analysis_group *const *)member)->name);
}

const struct analysis_group *analysis_past_group(const struct analysis_past *p, const char *name)
{
	struct analysis_group **found = bsearch(name, p->groups, p->n_groups, sizeof(*p->groups), compare_name);

	return found ? *found : NULL;
}

/* What points into the report is not kept. */
static void forget_report(struct analysis_group *g)
{
	free(g->tasks);
	g->tasks = NULL;
	g->engine = "";
}

int analysis_history_add(struct analysis_history *h, const struct lake_report *r)
{
	struct analysis a = { .report = r };
	struct analysis_past p = { .start_ns = r->run.start_ns, .cpus = r->run.cpus, .n_tasks = r->n_tasks };
	int rc;

	if (h->n == h->room) {
		const size_t room = h->room ? 2 * h->room : 16;
		struct analysis_past *grown = reallocarray(h->runs, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		h->runs = grown;
		h->room = room;
	}
	analysis_set_times(&a);
	rc = analysis_group_all(&a);
	free(a.leaf);
	family_free(a.own_family);
	p.id = strdup(r->run.id);
	p.host = strdup(r->run.host);
	p.kernel = strdup(r->run.kernel);
	p.whole = a.whole;
	p.groups = a.groups;
	p.n_groups = a.n_groups;
	if (rc || !p.id || !p.host || !p.kernel) {
		past_free(&p);
		return -ENOMEM;
	}
	forget_report(p.whole);
	for (size_t i = 0; i < p.n_groups; i++)
		forget_report(p.groups[i]);
	if (p.n_groups)
		qsort(p.groups, p.n_groups, sizeof(*p.groups), by_name);
	h->runs[h->n++] = p;
	return 0;
}
