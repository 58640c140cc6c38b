/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/tasks.c - the tasks of a run: their records, with the figures of their processes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lake/answer.h"
#include "lake/idmap.h"
#include "lake/order.h"
#include "lake/run.h"

static int task_read(const struct lake_rows *s, struct arena *a, struct lake_task *ret)
{
	struct lake_task t = { .step = "" };
	const char **const text[] = { &t.task_id,     &t.task,        &t.state,           &t.engine, &t.sample, &t.job,
				      &t.name_source, &t.traceparent, &t.requested_source, &t.granted_source,
				      &t.scopes };
	uint64_t *const number[] = {
		&t.attempt,
		&t.start_ns,
		&t.end_ns,
		&t.signal,
		&t.totals.processes,
		&t.totals.cpu_ns,
		&t.totals.run_delay_ns,
		&t.totals.rss_peak_bytes,
		&t.totals.read_bytes,
		&t.totals.write_bytes,
		&t.requested_memory_bytes,
		&t.requested_walltime_ns,
		&t.requested_gpus,
		&t.granted_memory_bytes,
		&t.granted_gpus,
		&t.inner_runs,
	};
	int at = 0;

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		*text[i] = lake_rows_text(s, at++, a);
		if (!*text[i])
			return -ENOMEM;
	}
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		*number[i] = (uint64_t)lake_rows_number(s, at++);
	t.exit_code = lake_rows_number(s, at++);
	t.requested_cpus = lake_rows_real(s, at++);
	t.granted_cpus = lake_rows_real(s, at++);
	if (!lake_contained_read(s, at, a, &t.in))
		return -ENOMEM;
	*ret = t;
	return 0;
}

static int tasks_grow(struct lake_file *f, struct lake_report *r, size_t *room)
{
	struct lake_task *grown;

	if (r->n_tasks < *room)
		return 0;
	*room = *room ? 2 * *room : 64;
	grown = reallocarray(r->tasks, *room, sizeof(*grown));
	if (!grown)
		return lake_file_error(f, SQLITE_NOMEM);
	r->tasks = grown;
	return 0;
}

#define COLUMNS \
	"task_id, task, state, engine, sample, job, name_source, traceparent, requested_source, granted_source, " \
	"scopes, attempt, start_ns, end_ns, signal, processes, cpu_ns, run_delay_ns, rss_peak_bytes, read_bytes, " \
	"write_bytes, requested_memory_bytes, requested_walltime_ns, requested_gpus, granted_memory_bytes, " \
	"granted_gpus, inner_runs, coalesce(exit_code, -1), requested_cpus, granted_cpus, container, container_name, container_image, pod, namespace, unit"

static const struct lake_question of_run = {
	.sqlite = "SELECT " COLUMNS " FROM task WHERE run = ?1",
	LAKE_OF_RUN(COLUMNS, COLUMNS, "task"),
};

int lake_tasks_read(struct lake_file *f, const struct lake_key *run, struct arena *a, struct lake_report *r)
{
	struct lake_rows rows = { 0 };
	size_t room = 0;
	int err = lake_rows_of_run(f, &of_run, run, &rows);

	if (err)
		return err;
	while ((err = lake_rows_next(&rows)) > 0) {
		err = tasks_grow(f, r, &room);
		if (!err && task_read(&rows, a, &r->tasks[r->n_tasks]) != 0)
			err = lake_file_error(f, SQLITE_NOMEM);
		if (err)
			break;
		r->n_tasks++;
	}
	lake_rows_close(&rows);
	return err;
}

/* By id; the name counts only without one: a record may bring a better name than the rows of the processes have. */
static int order_of(const char *id, const char *name, const char *other_id, const char *other_name)
{
	const int order = strcmp(id, other_id);

	return order || *id ? order : strcmp(name, other_name);
}

static int by_id(const void *a, const void *b)
{
	const struct lake_task *x = a, *y = b;

	return order_of(x->task_id, x->task, y->task_id, y->task);
}

static int by_start(const void *a, const void *b)
{
	const struct lake_task *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return by_id(a, b);
}

/* The lake has no samples of a task, but its images overlap. edges: has room for four of each image. */
static double cores_peak(const struct lake_report *r, const uint32_t *images, size_t n, struct lake_edge *edges)
{
	size_t n_edges = 0;
	double most;

	for (size_t i = 0; i < n; i++) {
		const struct lake_process *p = &r->processes[images[i]];
		double cores;

		if (!p->start_ns || p->end_ns <= p->start_ns)
			continue;
		cores = (double)p->totals.cpu_ns / (double)(p->end_ns - p->start_ns);
		edges[n_edges++] = (struct lake_edge){ p->start_ns, cores };
		edges[n_edges++] = (struct lake_edge){ p->end_ns, -cores };
	}
	lake_edges_sort(edges, n_edges, edges + n_edges);
	most = lake_edges_most(edges, n_edges);
	/* an image that lives for some microseconds is charged whole ticks */
	return r->run.cpus && most > (double)r->run.cpus ? (double)r->run.cpus : most;
}

/*
 * Adds the images of one task to its figures.  The record of a task lacks the images that ended after its end; the
 * lake may lack rows of images, for a user who spent the budget.  So the larger figure is the better one.
 */
static void task_sum(struct lake_task *t, const struct lake_report *r, const uint32_t *images, size_t n,
		     struct lake_edge *edges)
{
	struct lake_totals of_record = t->totals, *sum = &t->totals;
	const struct lake_process *first = &r->processes[images[0]];
	uint64_t start = 0, end = 0;
	bool running = false, recorded = *t->state;

	*sum = (struct lake_totals){ 0 };
	for (size_t i = 0; i < n; i++) {
		const struct lake_process *p = &r->processes[images[i]];

		lake_totals_add(sum, &p->totals);
		sum->images += lake_is_image(p);
		sum->processes += p->kind->last;
		t->failures += lake_has_failed(p);
		start = !start || (p->start_ns && p->start_ns < start) ? p->start_ns : start;
		end = p->end_ns > end ? p->end_ns : end;
		running |= p->end_ns == 0;
		if (*p->kind->container && !recorded)
			t->in.container = p->kind->container;
	}
	t->step = first->kind->step;
	t->scopes = recorded ? t->scopes : first->kind->scopes;
	t->cores_peak = cores_peak(r, images, n, edges);
	if (!recorded) {
		t->start_ns = start;
		t->end_ns = running ? 0 : end;
	}
#define LARGER(member) sum->member = of_record.member > sum->member ? of_record.member : sum->member
	LARGER(processes);
	LARGER(cpu_ns);
	LARGER(run_delay_ns);
	LARGER(rss_peak_bytes);
	LARGER(read_bytes);
	LARGER(write_bytes);
#undef LARGER
}

/* Groups the processes by their tasks: one of an id, without an id one of a name. */
static int group_images(struct answer *a, size_t *ret_n, size_t **ret_first)
{
	struct lake_report *r = &a->report;
	size_t *of = calloc(r->n_processes + 1, sizeof(*of)), n = 0;
	struct idmap known = { 0 };
	int err = of ? 0 : -ENOMEM;

	for (size_t i = 0; i < r->n_processes && !err; i++) {
		const struct lake_process *p = &r->processes[i];
		/* texts of the dictionary are in memory once: their address says which; an id is no name */
		const char *id = p->kind->task_id;
		const int64_t key = 2 * (int64_t)(intptr_t)(*id ? id : p->task) + !*id;
		const size_t *group = *p->task ? idmap_get(&known, key) : NULL;

		of[i] = SIZE_MAX;
		if (!*p->task)
			continue;
		if (group) {
			of[i] = *group;
			continue;
		}
		of[i] = n++;
		err = idmap_put(&known, key, &of[i]);
	}
	idmap_free(&known);
	if (!err)
		err = answer_group(of, r->n_processes, n, &a->by_task, ret_first);
	free(of);
	*ret_n = err ? 0 : n;
	return err;
}

int lake_tasks_sum(struct answer *a)
{
	struct lake_report *r = &a->report;
	const size_t records = r->n_tasks;
	size_t *first = NULL, n = 0, room = records;
	struct lake_edge *edges = calloc(r->n_processes + 1, 4 * sizeof(*edges));
	int err = edges && group_images(a, &n, &first) == 0 ? 0 : lake_file_error(a->file, SQLITE_NOMEM);

	if (records)
		qsort(r->tasks, records, sizeof(*r->tasks), by_id);
	for (size_t i = 0; i < n && !err; i++) {
		const uint32_t *images = a->by_task + first[i];
		const size_t n_images = first[i + 1] - first[i];
		const struct lake_process *p = &r->processes[images[0]];
		struct lake_task key = { .task_id = p->kind->task_id, .task = p->task }, *t = NULL;

		if (records)
			t = bsearch(&key, r->tasks, records, sizeof(*r->tasks), by_id);
		if (!t) {
			err = tasks_grow(a->file, r, &room);
			if (err)
				break;
			t = &r->tasks[r->n_tasks++];
			*t = (struct lake_task){
				.task = p->task,
				.task_id = p->kind->task_id,
				.state = "",
				.engine = "",
				.sample = "",
				.job = "",
				.name_source = "",
				.traceparent = "",
				.step = "",
				.scopes = "",
				.in = { "", "", "", "", "", "" },
				.requested_source = "",
				.granted_source = "",
				.exit_code = -1,
			};
		}
		t->images = images;
		t->n_images = n_images;
		for (size_t k = 0; k < n_images; k++) {
			struct lake_process *image = &r->processes[images[k]];

			/* an image that left before its task's name came has the task's first name */
			image->task = t->task;
			image->outlived = t->end_ns && (!image->end_ns || image->end_ns > t->end_ns);
		}
		task_sum(t, r, images, n_images, edges);
	}
	free(first);
	free(edges);
	if (!err && r->n_tasks)
		qsort(r->tasks, r->n_tasks, sizeof(*r->tasks), by_start);
	return err;
}
