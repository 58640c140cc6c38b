/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/flame.c - adds up the time of a run's processes by the chain of tools that led to them.
 */
#include "cli/report/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "analysis/family.h"
#include "cli/report/reason.h"

#define DEEPEST 128 /* a deeper process is a frame beside its parent: a chain of forks can have any length */

struct node {
	struct node *parent;
	const char *name; /* borrowed from the report */
	size_t depth;
	uint64_t ns;
};

struct flame {
	struct node *nodes; /* by creation */
	size_t n;
	void *index; /* of tsearch(), by parent and name */
};

static const char *const names[] = { [FLAME_CPU] = "cpu", [FLAME_QUEUED] = "queued", [FLAME_BLOCKED] = "blocked" };

int flame_of_name(const char *name, enum flame_of *ret)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum flame_of)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int compare(const void *a_, const void *b_)
{
	const struct node *a = a_, *b = b_;

	if (a->parent != b->parent)
		return (uintptr_t)a->parent < (uintptr_t)b->parent ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Finds or adds the frame. NULL when memory runs out. */
static struct node *frame(struct flame *f, struct node *parent, const char *name)
{
	struct node *new = &f->nodes[f->n], **found;

	if (parent && parent->depth >= DEEPEST)
		parent = parent->parent;
	*new = (struct node){ .parent = parent, .name = name, .depth = parent ? parent->depth + 1 : 0 };
	found = tsearch(new, &f->index, compare);
	if (!found)
		return NULL;
	f->n += *found == new;
	return *found;
}

/* The image of the parent that was running when the process began. */
static size_t image_of_parent(const struct family *f, const struct family_member *m)
{
	const struct lake_process *processes = f->report->processes;
	size_t image = f->members[m->parent].first, next;

	while ((next = f->next_image[image]) != FAMILY_NONE && processes[next].start_ns <= processes[m->first].start_ns)
		image = next;
	return image;
}

static uint64_t own_ns(const struct lake_process *p, enum flame_of of)
{
	switch (of) {
	case FLAME_QUEUED:
		return p->totals.run_delay_ns;
	case FLAME_BLOCKED:
		return p->totals.block_delay_ns;
	case FLAME_CPU:
	default:
		return p->totals.cpu_ns;
	}
}

/* Adds all images; of: by image, its frame. */
static int add_all(struct flame *f, const struct family *family, enum flame_of what, struct node **of)
{
	const struct lake_report *r = family->report;
	struct node *root = frame(f, NULL, *r->run.name ? r->run.name : r->run.id);

	for (size_t m = 0; m < family->n && root; m++) {
		const struct family_member *member = &family->members[m];
		size_t above = member->parent == FAMILY_NONE ? FAMILY_NONE : image_of_parent(family, member);

		for (size_t i = member->first; i != FAMILY_NONE; i = family->next_image[i]) {
			const struct lake_process *p = &r->processes[i];
			struct node *under = root;

			if (above != FAMILY_NONE && strcmp(r->processes[above].kind->task_id, p->kind->task_id) == 0)
				under = of[above];
			else if (*p->task)
				under = frame(f, root, p->task);
			of[i] = under ? frame(f, under, reason_name(p)) : NULL;
			if (!of[i])
				return -ENOMEM;
			of[i]->ns += own_ns(p, what);
		}
	}
	return root ? 0 : -ENOMEM;
}

/* A semicolon separates frames. */
static int print_name(const char *name, FILE *out)
{
	char *safe = text_safe(name, true);
	int rc = safe ? 0 : -ENOMEM;

	for (char *c = safe ? strchr(safe, ';') : NULL; c; c = strchr(c, ';'))
		*c = ':';
	if (safe && fputs(safe, out) == EOF)
		rc = errno ? -errno : -EIO;
	free(safe);
	return rc;
}

static int print(const struct flame *f, FILE *out)
{
	const struct node *chain[DEEPEST + 1];
	int rc = 0;

	for (size_t i = 0; i < f->n && rc == 0; i++) {
		size_t depth = 0;

		if (!f->nodes[i].ns)
			continue;
		for (const struct node *n = &f->nodes[i]; n; n = n->parent)
			chain[depth++] = n;
		while (depth-- > 0 && rc == 0) {
			rc = print_name(chain[depth]->name, out);
			if (rc == 0 && depth && fputc(';', out) == EOF)
				rc = errno ? -errno : -EIO;
		}
		if (rc == 0 && fprintf(out, " %" PRIu64 "\n", f->nodes[i].ns) < 0)
			rc = errno ? -errno : -EIO;
	}
	if (rc == 0 && fflush(out) != 0)
		rc = errno ? -errno : -EIO;
	return rc;
}

static void keep_node(void *node)
{
	(void)node; /* the array owns it */
}

int flame_print(const struct lake_report *r, enum flame_of what, FILE *out)
{
	struct flame f = { .nodes = calloc(2 * r->n_processes + 3, sizeof(*f.nodes)) };
	struct node **of = calloc(r->n_processes + 1, sizeof(struct node *));
	struct family *family = NULL;
	int rc = f.nodes && of ? family_new(r, &family) : -ENOMEM;

	errno = 0;
	if (rc == 0)
		rc = add_all(&f, family, what, of);
	if (rc == 0)
		rc = print(&f, out);
	tdestroy(f.index, keep_node);
	family_free(family);
	free(of);
	free(f.nodes);
	return rc;
}
