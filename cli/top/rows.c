/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/rows.c - rows of the model for a view: groups with their sums, unfolded ones with the rows below them.
 */
#include "cli/top/model_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"

/* ---- names of groups and columns ----------------------------------------------------------- */

static const char *const groups[TOP_GROUPS] = {
	[TOP_RUN] = "run",             [TOP_TASK] = "task", [TOP_TOOL] = "tool",
	[TOP_CONTAINER] = "container", [TOP_USER] = "user", [TOP_PROCESS] = "process",
};

static const enum top_group below[TOP_GROUPS] = {
	[TOP_RUN] = TOP_TASK,       [TOP_TASK] = TOP_TOOL, [TOP_TOOL] = TOP_PROCESS,
	[TOP_CONTAINER] = TOP_TOOL, [TOP_USER] = TOP_RUN,  [TOP_PROCESS] = TOP_GROUPS,
};

static const char *const columns[TOP_COLUMNS] = {
	[TOP_NAME] = "name",       [TOP_CORES] = "cores",     [TOP_CPU] = "cpu",       [TOP_QUEUED] = "queued",
	[TOP_BLOCKED] = "blocked", [TOP_RSS] = "rss",         [TOP_READ] = "read",     [TOP_WRITTEN] = "written",
	[TOP_NET] = "net",         [TOP_ALIVE] = "alive",     [TOP_ENDED] = "ended",   [TOP_FAILED] = "failed",
	[TOP_STATE] = "state",
};

enum top_group top_group_below(enum top_group group)
{
	return below[group];
}

const char *top_group_name(enum top_group group)
{
	return groups[group];
}

const char *top_column_name(enum top_column column)
{
	return columns[column];
}

int top_group_named(const char *name, enum top_group *ret)
{
	for (unsigned i = 0; i < TOP_GROUPS; i++)
		if (strcmp(groups[i], name) == 0) {
			*ret = (enum top_group)i;
			return 0;
		}
	return -ENOENT;
}

int top_column_named(const char *name, enum top_column *ret)
{
	for (unsigned i = 0; i < TOP_COLUMNS; i++)
		if (strcmp(columns[i], name) == 0) {
			*ret = (enum top_column)i;
			return 0;
		}
	return -ENOENT;
}

/* ---- labels -------------------------------------------------------------------------------- */

static const char *or_else(const char *text, const char *none)
{
	return *text ? text : none;
}

static const char *run_label(const struct top_model *m, const char *id)
{
	const struct top_run *run = top_model_run_of(m, id);

	return run && *run->name ? run->name : or_else(id, "(no run)");
}

/* The name without what only a whole label has. */
static const char *name_of(const struct top_model *m, enum top_group group, const struct top_item *i)
{
	switch (group) {
	case TOP_RUN:
		return run_label(m, i->names->run);
	case TOP_TASK:
		return or_else(i->names->task, "(no task)");
	case TOP_TOOL:
		return or_else(i->names->tool, or_else(i->names->comm, "(unknown)"));
	case TOP_CONTAINER:
		return or_else(i->names->container, "(host)");
	case TOP_USER:
		return or_else(i->names->user, "?");
	default:
		return or_else(i->names->tool, i->names->comm);
	}
}

/* The arguments as one line: the escaping for terminals comes later, so only NULs are replaced. */
static char *process_label(const struct top_item *i)
{
	const struct top_names *n = i->names;
	char *line = malloc(n->argv_len + 1), *text;

	if (!line)
		return NULL;
	memcpy(line, n->argv, n->argv_len);
	line[n->argv_len] = '\0';
	for (size_t k = 0; k + 1 < n->argv_len; k++)
		if (!line[k])
			line[k] = ' ';
	if (i->key.pid == 0)
		text = i->alive ? text_format("%llu processes that had not ended", (unsigned long long)i->alive)
				: text_format("%llu ended processes", (unsigned long long)i->ended);
	else if (i->signal)
		text = text_format("%u %s [signal %d]", i->key.pid, *line ? line : n->comm, i->signal);
	else if (i->exit_code > 0)
		text = text_format("%u %s [exit %d]", i->key.pid, *line ? line : n->comm, i->exit_code);
	else
		text = text_format("%u %s%s", i->key.pid, *line ? line : n->comm, n->cut ? " ..." : "");
	free(line);
	return text;
}

char *top_row_label(const struct top_model *m, const struct top_row *row)
{
	const struct top_names *n = row->item->names;
	const char *name = name_of(m, row->group, row->item);

	if (row->group == TOP_PROCESS)
		return process_label(row->item);
	/* Two runs of one command often have one name, so a run's label has its id, and a task's label its run. */
	if (row->group == TOP_RUN && *n->run && strcmp(name, n->run) != 0)
		return text_format("%s (%s)", name, n->run);
	if (row->group == TOP_TASK && *n->run)
		return text_format("%s (%s)", name, run_label(m, n->run));
	return strdup(name);
}

/* ---- groups -------------------------------------------------------------------------------- */

/* Rows of one level, found by their hash. */
struct level {
	struct top_row *rows;
	size_t n, room;
	size_t *slots; /* row + 1; 0: free */
	size_t n_slots;
};

static size_t *slot_of(const struct level *l, uint64_t hash)
{
	size_t at = (hash >> 7) & (l->n_slots - 1);

	while (l->slots[at] && l->rows[l->slots[at] - 1].id != hash)
		at = (at + 1) & (l->n_slots - 1);
	return &l->slots[at];
}

static int level_grow(struct level *l)
{
	size_t room = l->room ? 2 * l->room : 64;
	struct top_row *rows = realloc(l->rows, room * sizeof(*rows));
	size_t *slots = rows ? calloc(2 * room, sizeof(*slots)) : NULL;

	if (rows)
		l->rows = rows;
	if (!slots)
		return -ENOMEM;
	free(l->slots);
	l->slots = slots;
	l->n_slots = 2 * room;
	l->room = room;
	for (size_t i = 0; i < l->n; i++)
		*slot_of(l, l->rows[i].id) = i + 1;
	return 0;
}

static char more_urgent(char a, char b)
{
	static const char order[] = "RDS+Z-";
	const char *x = strchr(order, a), *y = strchr(order, b);

	return !a || (y && x && y < x) ? b : a;
}

static void row_add(struct top_row *row, const struct top_item *i, uint64_t interval_ns)
{
	top_figures_add(&row->figures, &i->figures);
	row->cores += interval_ns ? (double)i->recent_ns / (double)interval_ns : 0;
	row->alive += i->alive;
	row->ended += i->ended;
	row->failed += i->failed;
	row->state = more_urgent(row->state, i->state);
}

static int level_add(struct level *l, enum top_group group, const struct top_item *i, uint64_t interval_ns)
{
	size_t *slot;
	struct top_row *row;

	if (l->n == l->room && level_grow(l) < 0)
		return -ENOMEM;
	slot = slot_of(l, i->hashes[group]);
	if (!*slot) {
		l->rows[l->n] = (struct top_row){ .id = i->hashes[group], .group = group, .item = i };
		*slot = ++l->n;
	}
	row = &l->rows[*slot - 1];
	if (group == TOP_PROCESS && i->key.image > row->item->key.image)
		row->item = i; /* the newest image names the process */
	row_add(row, i, interval_ns);
	return 0;
}

/* ---- order --------------------------------------------------------------------------------- */

struct order {
	const struct top_model *model;
	enum top_column column;
	int sign;
};

static double value_of(const struct top_row *r, enum top_column column)
{
	const struct top_figures *f = &r->figures;

	switch (column) {
	case TOP_CORES:
		return r->cores;
	case TOP_CPU:
		return (double)f->cpu_ns;
	case TOP_QUEUED:
		return (double)f->run_delay_ns;
	case TOP_BLOCKED:
		return (double)f->block_delay_ns;
	case TOP_RSS:
		return (double)f->rss_bytes;
	case TOP_READ:
		return (double)f->read_bytes;
	case TOP_WRITTEN:
		return (double)f->write_bytes;
	case TOP_NET:
		return (double)f->net_bytes;
	case TOP_ALIVE:
		return (double)r->alive;
	case TOP_ENDED:
		return (double)r->ended;
	case TOP_FAILED:
		return (double)r->failed;
	case TOP_STATE:
		return r->state == 'R' ? 4 : r->state == 'D' ? 3 : r->state == 'Z' ? 1 : r->state == '-' ? 0 : 2;
	default:
		return 0;
	}
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct top_row *x = a, *y = b;
	const struct order *o = arg;
	double p = value_of(x, o->column), q = value_of(y, o->column);
	int by = (p > q) - (p < q);

	if (o->column == TOP_NAME)
		by = -strcmp(name_of(o->model, x->group, x->item), name_of(o->model, y->group, y->item));
	if (by)
		return by * o->sign;
	if (x->figures.cpu_ns != y->figures.cpu_ns)
		return x->figures.cpu_ns < y->figures.cpu_ns ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id); /* so that equal rows do not change places */
}

/* ---- rows ---------------------------------------------------------------------------------- */

static bool is_unfolded(const struct top_view *v, uint64_t id)
{
	for (size_t i = 0; i < v->n_unfolded; i++)
		if (v->unfolded[i] == id)
			return true;
	return false;
}

static int rows_append(struct top_rows *rows, const struct top_row *row)
{
	if (rows->n == rows->room) {
		size_t room = rows->room ? 2 * rows->room : 64;
		struct top_row *grown = realloc(rows->rows, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		rows->rows = grown;
		rows->room = room;
	}
	rows->rows[rows->n++] = *row;
	return 0;
}

struct build {
	struct top_rows *rows;
	const struct top_model *model;
	const struct top_view *view;
};

/* Appends the groups of these processes, and below each unfolded one those of its processes. */
static int build_level(const struct build *b, const struct top_item *const *items, size_t n, enum top_group group,
		       unsigned depth, uint64_t above)
{
	struct order order = { b->model, b->view->sort, b->view->ascending ? 1 : -1 };
	const struct top_item **own = NULL;
	struct level l = { 0 };
	int err = 0;

	for (size_t i = 0; i < n && err == 0; i++)
		err = level_add(&l, group, items[i], b->model->interval_ns);
	if (err == 0 && l.n)
		qsort_r(l.rows, l.n, sizeof(*l.rows), compare, &order);
	for (size_t i = 0; i < l.n && err == 0; i++) {
		struct top_row *row = &l.rows[i];
		uint64_t hash = row->id;
		size_t n_own = 0;

		row->hash = hash;
		row->id = depth ? top_mix(above, hash) : hash;
		row->depth = depth;
		row->unfolded = below[group] != TOP_GROUPS && depth < TOP_DEPTH && is_unfolded(b->view, row->id);
		err = rows_append(b->rows, row);
		if (err < 0 || !row->unfolded)
			continue;
		if (!own)
			own = malloc(n * sizeof(const struct top_item *));
		for (size_t k = 0; own && k < n; k++)
			if (items[k]->hashes[group] == hash)
				own[n_own++] = items[k];
		err = own ? build_level(b, own, n_own, below[group], depth + 1, row->id) : -ENOMEM;
	}
	free(own);
	free(l.rows);
	free(l.slots);
	return err;
}

int top_rows_build(struct top_rows *rows, const struct top_model *m, const struct top_view *view)
{
	const struct top_item **items = malloc((m->n + 1) * sizeof(const struct top_item *));
	struct build b = { rows, m, view };
	size_t n = 0;
	int err;

	if (!items)
		return -ENOMEM;
	rows->n = 0;
	rows->totals = (struct top_row){ 0 };
	for (size_t i = 0; i < m->n; i++) {
		const struct top_item *item = m->items[i];
		bool within = item->accepted;

		for (size_t k = 0; k < view->n_path && within; k++)
			within = item->hashes[view->path[k].group] == view->path[k].hash;
		if (!within)
			continue;
		items[n++] = item;
		row_add(&rows->totals, item, m->interval_ns);
	}
	err = build_level(&b, items, n, view->group, 0, 0);
	free(items);
	return err;
}

void top_rows_free(struct top_rows *rows)
{
	free(rows->rows);
	*rows = (struct top_rows){ 0 };
}

/* ---- the view ------------------------------------------------------------------------------ */

/* One of the row's processes.  row->item may be freed: the model changes while the screen shows older rows. */
static const struct top_item *process_of(const struct top_model *m, const struct top_row *row)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->items[i]->hashes[row->group] == row->hash)
			return m->items[i];
	return NULL;
}

static void enter(struct top_view *v, const struct top_model *m, const struct top_row *row)
{
	struct top_place *place = &v->path[v->n_path++];
	struct top_row now = *row;
	char *label;

	now.item = process_of(m, row);
	label = now.item ? top_row_label(m, &now) : NULL;
	place->group = row->group;
	place->hash = row->hash;
	snprintf(place->label, sizeof(place->label), "%s", label ? label : "");
	free(label);
}

bool top_view_enter(struct top_view *v, const struct top_model *m, const struct top_rows *rows, size_t at)
{
	const struct top_row *row = &rows->rows[at];

	if (below[row->group] == TOP_GROUPS || v->n_path + row->depth + 1 > TOP_DEPTH || !process_of(m, row))
		return false;
	for (unsigned depth = 0; depth <= row->depth; depth++) {
		size_t i = at;

		while (rows->rows[i].depth > depth) /* the row around it at this depth is the nearest one above */
			i--;
		enter(v, m, &rows->rows[i]);
	}
	v->group = below[row->group];
	return true;
}

bool top_view_leave(struct top_view *v)
{
	if (v->n_path == 0)
		return false;
	v->group = v->path[--v->n_path].group;
	return true;
}

int top_view_fold(struct top_view *v, const struct top_row *row)
{
	uint64_t *grown;

	if (below[row->group] == TOP_GROUPS)
		return 0;
	for (size_t i = 0; i < v->n_unfolded; i++)
		if (v->unfolded[i] == row->id) {
			v->unfolded[i] = v->unfolded[--v->n_unfolded];
			return 0;
		}
	grown = realloc(v->unfolded, (v->n_unfolded + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	v->unfolded = grown;
	v->unfolded[v->n_unfolded++] = row->id;
	return 0;
}

void top_view_free(struct top_view *v)
{
	free(v->unfolded);
	v->unfolded = NULL;
	v->n_unfolded = 0;
}
