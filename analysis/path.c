/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/path.c - the observed path: the chain of tasks, or of processes, of which the run's duration consists.
 *
 * skep does not know for which task an engine waits. It only sees that a task begins after another task has ended.
 * So it follows the path backwards: from the task that ended last to its predecessor, the task that ended latest before
 * this one began, and so on. In a run without tasks the path leads through the processes: back from the end, and at
 * each moment into the child that ended last (CRISP, ATC '22); if several ended together, into the child with the most
 * CPU time.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"

/* A replay looks at every task; the other names on the path have taken less time. */
#define REPLAYS_MOST 40
#define NONE         SIZE_MAX
#define PIPE_NS      UINT64_C(100000000)

const char *analysis_link_text(enum analysis_link l)
{
	static const char *const texts[] = { "start", "data", "slot", "order" };

	return texts[l];
}

static uint64_t end_of(const struct analysis *a, uint64_t end_ns)
{
	return end_ns ? end_ns : a->end_ns;
}

/* Makes room for one more element. NULL: no memory. */
static void *grow(void *list, size_t n, size_t size)
{
	return n & (n - 1) ? list : reallocarray(list, n ? 2 * n : 1, size); /* full at 0, 1, 2, 4, 8 ... */
}

/* Adds a part, which parts_sum() adds to others of its name; until then its n is its place on the path. */
static int part_add(struct analysis_path *path, const char *name, double seconds)
{
	struct analysis_part *grown = grow(path->parts, path->n_parts, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	path->parts = grown;
	path->parts[path->n_parts] = (struct analysis_part){ .name = name, .n = path->n_parts, .seconds = seconds };
	path->n_parts++;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct analysis_part *x = a, *y = b;
	const int order = strcmp(x->name, y->name);

	return order ? order : (x->n > y->n) - (x->n < y->n);
}

static int longest_first(const void *a, const void *b)
{
	const struct analysis_part *x = a, *y = b;

	if (x->seconds < y->seconds || x->seconds > y->seconds)
		return x->seconds > y->seconds ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* One part for each name, the longest first.  A path may lead through 100,000 names. */
static void parts_sum(struct analysis_path *path)
{
	struct analysis_part *parts = path->parts;
	size_t n = 0;

	if (!path->n_parts)
		return;
	qsort(parts, path->n_parts, sizeof(*parts), by_name);
	for (size_t i = 0; i < path->n_parts; i++) {
		if (n && strcmp(parts[n - 1].name, parts[i].name) == 0) {
			parts[n - 1].n++;
			parts[n - 1].seconds += parts[i].seconds;
			continue;
		}
		parts[n] = parts[i];
		parts[n++].n = 1;
	}
	path->n_parts = n;
	qsort(parts, n, sizeof(*parts), longest_first);
}

/* ---- tasks ----------------------------------------------------------------------- */

struct schedule {
	struct lake_order *starts, *ends; /* tasks by time */
	size_t *before;              /* of a task: its predecessor on the path; NONE */
	double *ended;               /* in a replay */
	double most;                 /* tasks at once */
	const struct lake_open **opens; /* by task, then path; those for writing first */
};

/* So many of them are before that time. */
static size_t before_time(const struct lake_order *o, size_t n, uint64_t ns)
{
	size_t low = 0, high = n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (o[middle].key < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int open_order(const struct lake_process *p, const struct lake_open *x, const struct lake_open *y)
{
	const int order = strcmp(p[x->process].kind->task_id, p[y->process].kind->task_id);

	return order ? order : strcmp(x->path, y->path);
}

static int open_by_task(const void *a, const void *b, void *arg)
{
	const struct lake_open *x = *(const struct lake_open *const *)a, *y = *(const struct lake_open *const *)b;
	const int order = open_order(arg, x, y);

	return order ? order : (x->writes < y->writes) - (x->writes > y->writes);
}

/* The first open of that task, of that path or one after it. */
static size_t first_open(const struct lake_report *r, const struct schedule *s, const char *task_id, const char *path)
{
	size_t low = 0, high = r->n_opens;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = strcmp(r->processes[s->opens[middle]->process].kind->task_id, task_id);

		if (order < 0 || (order == 0 && strcmp(s->opens[middle]->path, path) < 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* One wrote a file that the other opened. */
static bool is_data(const struct lake_report *r, const struct schedule *s, const struct lake_task *from,
		    const struct lake_task *to)
{
	for (size_t i = first_open(r, s, to->task_id, ""); i < r->n_opens; i++) {
		const struct lake_open *o = s->opens[i], *w;
		size_t written;

		if (strcmp(r->processes[o->process].kind->task_id, to->task_id) != 0)
			return false;
		written = first_open(r, s, from->task_id, o->path);
		w = written < r->n_opens ? s->opens[written] : o;
		if (w->writes && strcmp(w->path, o->path) == 0 &&
		    strcmp(r->processes[w->process].kind->task_id, from->task_id) == 0)
			return true;
	}
	return false;
}

static double gap_of(const struct analysis *a, const struct schedule *s, size_t task)
{
	const struct lake_report *r = a->report;
	const size_t before = s->before[task];
	const uint64_t since = before == NONE ? r->run.start_ns : end_of(a, r->tasks[before].end_ns);
	const uint64_t start = r->tasks[task].start_ns;

	return start > since ? (double)(start - since) / 1e9 : 0;
}

/* When the last task ends if those of that name take no time, and each follows its predecessor after the same gap. */
static double replay(const struct analysis *a, struct schedule *s, const char *without)
{
	const struct lake_report *r = a->report;
	double last = 0;

	for (size_t i = 0; i < r->n_tasks; i++) { /* in the order of their ends: a predecessor comes first */
		const size_t task = s->ends[i].at;
		const struct lake_task *t = &r->tasks[task];
		const double took = strcmp(t->task, without) == 0 ? 0 : analysis_task_wall_s(a, t);

		s->ended[task] = (s->before[task] == NONE ? 0 : s->ended[s->before[task]]) + gap_of(a, s, task) + took;
		last = fmax(last, s->ended[task]);
	}
	return last;
}

static enum analysis_link link_of(const struct analysis *a, const struct schedule *s, size_t task)
{
	const struct lake_report *r = a->report;
	const struct lake_task *from = s->before[task] == NONE ? NULL : &r->tasks[s->before[task]];
	size_t running;

	if (!from)
		return ANALYSIS_LINK_START;
	if (is_data(r, s, from, &r->tasks[task]))
		return ANALYSIS_LINK_DATA;
	running = before_time(s->starts, r->n_tasks, end_of(a, from->end_ns)) -
		  before_time(s->ends, r->n_tasks, end_of(a, from->end_ns));
	return s->most > 1 && (double)running >= s->most ? ANALYSIS_LINK_SLOT : ANALYSIS_LINK_ORDER;
}

static int walk_tasks(const struct analysis *a, struct schedule *s, struct analysis_path *path)
{
	const struct lake_report *r = a->report;
	double whole;
	int rc = 0;

	for (size_t task = s->ends[r->n_tasks - 1].at; task != NONE && rc == 0; task = s->before[task]) {
		const struct lake_task *t = &r->tasks[task];
		struct analysis_step *grown = grow(path->steps, path->n_steps, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		path->steps = grown;
		path->steps[path->n_steps++] = (struct analysis_step){ t, gap_of(a, s, task), link_of(a, s, task) };
		path->gaps_s += gap_of(a, s, task);
		rc = part_add(path, t->task, analysis_task_wall_s(a, t));
	}
	for (size_t i = 0; i < path->n_steps / 2; i++) {
		const struct analysis_step swapped = path->steps[i];

		path->steps[i] = path->steps[path->n_steps - 1 - i];
		path->steps[path->n_steps - 1 - i] = swapped;
	}
	parts_sum(path);
	whole = replay(a, s, "");
	for (size_t i = 0; i < path->n_parts && i < REPLAYS_MOST; i++)
		path->parts[i].saving_s = whole - replay(a, s, path->parts[i].name);
	return rc;
}

/* The most tasks that ran at one time. */
static double most_at_once(const struct schedule *s, size_t n)
{
	size_t most = 0, ended = 0;

	for (size_t i = 0; i < n; i++) {
		while (ended < n && s->ends[ended].key <= s->starts[i].key)
			ended++;
		if (i + 1 > ended + most)
			most = i + 1 - ended;
	}
	return (double)most;
}

static void schedule_fill(const struct analysis *a, struct schedule *s, struct lake_order *scratch)
{
	const struct lake_report *r = a->report;

	for (size_t i = 0; i < r->n_tasks; i++) {
		const struct lake_task *t = &r->tasks[i];
		const uint64_t end = end_of(a, t->end_ns);

		s->starts[i] = (struct lake_order){ t->start_ns, i };
		s->ends[i] = (struct lake_order){ end > t->start_ns ? end : t->start_ns, i };
	}
	lake_order_sort(s->starts, r->n_tasks, scratch);
	lake_order_sort(s->ends, r->n_tasks, scratch);
	s->most = most_at_once(s, r->n_tasks);
	for (size_t i = 0; i < r->n_tasks; i++) {
		/* only tasks before it in this order: two that took no time must not follow each other */
		const uint64_t start = r->tasks[s->ends[i].at].start_ns;
		const size_t n = start < UINT64_MAX ? before_time(s->ends, i, start + 1) : i;

		s->before[s->ends[i].at] = n ? s->ends[n - 1].at : NONE;
	}
	for (size_t i = 0; i < r->n_opens; i++)
		s->opens[i] = &r->opens[i];
	if (r->n_opens)
		qsort_r(s->opens, r->n_opens, sizeof(*s->opens), open_by_task, r->processes);
}

static int path_of_tasks(const struct analysis *a, struct analysis_path *path)
{
	const struct lake_report *r = a->report;
	struct schedule s = {
		.starts = calloc(r->n_tasks, sizeof(*s.starts)),
		.ends = calloc(r->n_tasks, sizeof(*s.ends)),
		.before = calloc(r->n_tasks, sizeof(*s.before)),
		.ended = calloc(r->n_tasks, sizeof(*s.ended)),
		.opens = calloc(r->n_opens + 1, sizeof(const struct lake_open *)),
	};
	struct lake_order *scratch = calloc(r->n_tasks, sizeof(*scratch));
	int rc = -ENOMEM;

	if (s.starts && s.ends && s.before && s.ended && s.opens && scratch) {
		schedule_fill(a, &s, scratch);
		rc = walk_tasks(a, &s, path);
	}
	free(s.starts);
	free(s.ends);
	free(s.before);
	free(s.ended);
	free(s.opens);
	free(scratch);
	return rc;
}

/* ---- processes --------------------------------------------------------------------- */

static const char *parent_of(const struct lake_process *p)
{
	return p->parent_upid ? p->parent_upid : "";
}

static int by_parent(const void *a, const void *b)
{
	const struct lake_process *x = *(const struct lake_process *const *)a;
	const struct lake_process *y = *(const struct lake_process *const *)b;
	const int order = strcmp(parent_of(x), parent_of(y));

	return order ? order : (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int by_upid(const void *a, const void *b)
{
	const struct lake_process *x = *(const struct lake_process *const *)a;
	const struct lake_process *y = *(const struct lake_process *const *)b;
	const int order = strcmp(x->upid, y->upid);

	return order ? order : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

struct images {
	const struct lake_process **by_parent; /* then end */
	const struct lake_process **by_upid;   /* then start */
	size_t n;
	double *cpu_ns;                        /* by the report's index: with its children and theirs */
	const struct lake_process *report;
};

/* The child's image that ended latest, but not after that time; NULL: none did since the parent's image began. */
static const struct lake_process *last_child(const struct images *all, const struct lake_process *of, uint64_t ns)
{
	const struct lake_process *latest, *last;
	size_t low = 0, high = all->n;
	uint64_t lived, near;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = strcmp(parent_of(all->by_parent[middle]), of->upid);

		if (order < 0 || (order == 0 && all->by_parent[middle]->end_ns <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || strcmp(parent_of(all->by_parent[low - 1]), of->upid) != 0 ||
	    all->by_parent[low - 1]->end_ns <= of->start_ns)
		return NULL;
	last = latest = all->by_parent[low - 1];
	lived = latest->end_ns - of->start_ns;
	near = lived < 10 * PIPE_NS ? lived / 10 : PIPE_NS;
	/* The reader of a pipe ends just after the writer that it waited for. */
	for (size_t i = low - 1; i > 0; i--) {
		const struct lake_process *p = all->by_parent[i - 1];

		if (strcmp(parent_of(p), of->upid) != 0 || p->end_ns <= of->start_ns ||
		    latest->end_ns - p->end_ns > near)
			break;
		if (p->end_ns > latest->start_ns && all->cpu_ns[p - all->report] > all->cpu_ns[last - all->report])
			last = p;
	}
	return last;
}

/* The image of the process that ran before that time; NULL: the run has no such process. */
static const struct lake_process *image_at(const struct images *all, const char *upid, uint64_t ns)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = strcmp(all->by_upid[middle]->upid, upid);

		if (order < 0 || (order == 0 && all->by_upid[middle]->start_ns < ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && strcmp(all->by_upid[low - 1]->upid, upid) == 0 ? all->by_upid[low - 1] : NULL;
}

/* The report has the images by start: a child comes after its parent. */
static void sum_cpu(const struct images *all, size_t n)
{
	for (size_t i = n; i-- > 0;) {
		const struct lake_process *p = &all->report[i], *parent = image_at(all, parent_of(p), p->start_ns);

		all->cpu_ns[i] += (double)p->totals.cpu_ns;
		if (parent && parent < p)
			all->cpu_ns[parent - all->report] += all->cpu_ns[i];
	}
}

static int walk_processes(const struct analysis *a, const struct images *all, struct analysis_path *path)
{
	const char *root = a->report->run.root_upid;
	const struct lake_process *now = image_at(all, root, a->end_ns);
	uint64_t ns = a->end_ns;
	int rc = 0;

	/* The path enters an image once and leaves it once; a damaged lake may have parents in a circle. */
	for (size_t moves = 0; now && rc == 0 && moves < 2 * all->n + 2; moves++) {
		const struct lake_process *child = last_child(all, now, ns);
		const uint64_t since = child ? child->end_ns : now->start_ns;

		if (ns > since)
			rc = part_add(path, now->kind->tool, (double)(ns - since) / 1e9);
		ns = since < ns ? since : ns;
		if (!child && (strcmp(now->upid, root) != 0 || now->image > 0)) {
			const bool is_root = strcmp(now->upid, root) == 0;

			/* a process whose parent has ended was the last in a chain that the root began */
			child = is_root ? NULL : image_at(all, parent_of(now), ns);
			child = child ? child : image_at(all, root, ns);
			child = child && child->start_ns < ns ? child : NULL;
		}
		now = child;
	}
	return rc;
}

static int path_of_processes(const struct analysis *a, struct analysis_path *path)
{
	const struct lake_report *r = a->report;
	struct images all = {
		.by_parent = calloc(r->n_processes + 1, sizeof(const struct lake_process *)),
		.by_upid = calloc(r->n_processes + 1, sizeof(const struct lake_process *)),
		.cpu_ns = calloc(r->n_processes + 1, sizeof(double)),
		.report = r->processes,
	};
	int rc = -ENOMEM;

	if (all.by_parent && all.by_upid && all.cpu_ns) {
		for (size_t i = 0; i < r->n_processes; i++)
			if (r->processes[i].start_ns && r->processes[i].end_ns > r->processes[i].start_ns)
				all.by_parent[all.n] = all.by_upid[all.n] = &r->processes[i], all.n++;
		qsort(all.by_parent, all.n, sizeof(*all.by_parent), by_parent);
		qsort(all.by_upid, all.n, sizeof(*all.by_upid), by_upid);
		sum_cpu(&all, r->n_processes);
		rc = walk_processes(a, &all, path);
	}
	free(all.by_parent);
	free(all.by_upid);
	free(all.cpu_ns);
	parts_sum(path);
	for (size_t i = 0; i < path->n_parts; i++)
		path->parts[i].saving_s = path->parts[i].seconds;
	return rc;
}

int analysis_path_new(const struct analysis *a, struct analysis_path **ret)
{
	struct analysis_path *path = calloc(1, sizeof(*path));
	int rc = -ENOMEM;

	if (path)
		rc = a->report->n_tasks ? path_of_tasks(a, path) : path_of_processes(a, path);
	if (rc) {
		analysis_path_free(path);
		return rc;
	}
	*ret = path;
	return 0;
}

struct analysis_path *analysis_path_free(struct analysis_path *path)
{
	if (!path)
		return NULL;
	free(path->steps);
	free(path->parts);
	free(path);
	return NULL;
}
