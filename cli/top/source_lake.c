/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/source_lake.c - fills the model with the runs of the lake at a moment.  A process that had ended by then has
 * its final figures.  A process that lived has the figures of its samples; within a sample's interval, and for figures
 * that samples lack, skep assumes an even use.  A process that still lives when skep reads the lake has no row there:
 * the samples of its tool have its figures.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/top/source.h"
#include "core/identify/users.h"

#define AFTER_NS UINT64_C(60000000000) /* a run that has ended stays in sight for so long */

/* A run's report, read once. */
struct loaded {
	struct lake_report *report;
	const struct lake_run *run;
	bool used; /* at the last moment */
};

struct source_lake {
	char *path; /* NULL: not given */
	struct lake *lake;
	struct lake_runs *runs;
	struct loaded *loaded;
	size_t n_loaded;
	struct source_room room;
};

/* ---- shared ------------------------------------------------------------------------------ */

int source_room_grow(struct source_room *r, size_t size)
{
	char *grown;

	if (size <= r->size)
		return 0;
	grown = realloc(r->argv, 2 * size);
	if (!grown)
		return -ENOMEM;
	r->argv = grown;
	r->size = 2 * size;
	return 0;
}

const char *source_user(struct source_room *r, uint32_t uid)
{
	const char *name = users_user(r->users, uid);

	if (name)
		return name;
	snprintf(r->uid, sizeof(r->uid), "%u", uid);
	return r->uid;
}

static int copy_argv(const struct lake_process *p, struct source_room *r, struct top_names *names)
{
	size_t len = 0;

	for (size_t i = 0; p->argv[i]; i++) {
		size_t n = strlen(p->argv[i]) + 1;

		if (source_room_grow(r, len + n) < 0)
			return -ENOMEM;
		memcpy(r->argv + len, p->argv[i], n);
		len += n;
	}
	names->argv = r->argv;
	names->argv_len = len;
	return 0;
}

/* "BOOT-PID-START", the start in hexadecimal. */
static bool read_upid(const char *text, uint32_t *ret_pid, uint64_t *ret_start)
{
	unsigned long long start;
	unsigned pid;

	if (sscanf(text, "%*[^-]-%u-%llx", &pid, &start) != 2)
		return false;
	*ret_pid = pid;
	*ret_start = start;
	return true;
}

int source_lake_process(const struct lake_process *p, const struct lake_run *run, struct source_room *r,
			struct top_names *names, struct top_process *ret)
{
	const struct lake_totals *t = &p->totals;

	*names = (struct top_names){
		.run = run->id,
		.pipeline = run->pipeline,
		.task = p->task,
		.tool = p->kind->tool,
		.container = p->kind->container,
		.user = source_user(r, (uint32_t)p->kind->uid),
		.comm = p->kind->comm,
		.exe = p->kind->exe,
		.filename = p->kind->filename,
		.cwd = p->kind->cwd,
		.cgroup = p->kind->cgroup,
		.uid = (uint32_t)p->kind->uid,
		.gid = (uint32_t)p->kind->gid,
		.session = (uint32_t)p->kind->session,
		.wrapper = p->kind->wrapper,
		.cut = p->argv_cut,
	};
	*ret = (struct top_process){
		.key = { .image = (uint32_t)p->image },
		.figures = {
			.cpu_ns = t->cpu_ns,
			.run_delay_ns = t->run_delay_ns,
			.block_delay_ns = t->block_delay_ns,
			.rss_peak_bytes = t->rss_peak_bytes,
			.read_bytes = t->read_bytes,
			.write_bytes = t->write_bytes,
			.net_bytes = t->net_rx_bytes + t->net_tx_bytes,
			.net_known = t->net_known,
		},
		.names = names,
		.last = p->kind->last,
		.failed = p->kind->exit_code > 0 || p->kind->signal,
		.exit_code = (int)p->kind->exit_code,
		.signal = (int)p->kind->signal,
	};
	for (size_t i = 0; i < p->n_facets; i++)
		ret->figures.block_known |= strcmp(p->facets[i].name, "io.block_delay_ns") == 0;
	read_upid(p->upid, &ret->key.pid, &ret->key.start_boot_ns);
	read_upid(p->parent_upid, &names->ppid, &names->parent_start_boot_ns);
	return copy_argv(p, r, names);
}

/* ---- a moment ---------------------------------------------------------------------------- */

/* The samples of one process, by time. */
struct course {
	const struct lake_progress *at;
	size_t n;
};

/* How much of the interval that ends there lies before t: 0 to 1. */
static double part(uint64_t end_ns, uint64_t interval_ns, uint64_t t)
{
	if (t >= end_ns)
		return 1;
	return t + interval_ns <= end_ns || !interval_ns ? 0 : (double)(t + interval_ns - end_ns) / (double)interval_ns;
}

static uint64_t scaled(uint64_t value, double by)
{
	return (uint64_t)((double)value * by + 0.5);
}

/* What the process, which lives at t, had used by then. */
static struct top_figures used_at(const struct lake_process *p, const struct top_figures *all, const struct course *c,
				  uint64_t t)
{
	struct top_figures f = *all;
	double by = part(p->end_ns, p->end_ns - p->start_ns, t);

	f.rss_bytes = all->rss_peak_bytes; /* of a process without samples: an upper bound */
	if (c->n) {
		f.cpu_ns = f.run_delay_ns = f.read_bytes = f.write_bytes = f.rss_bytes = 0;
		for (size_t i = 0; i < c->n; i++) {
			const struct lake_progress *s = &c->at[i];
			double share = part(s->end_ns, s->interval_ns, t);

			f.cpu_ns += scaled(s->cpu_ns, share);
			f.run_delay_ns += scaled(s->run_delay_ns, share);
			f.read_bytes += scaled(s->read_bytes, share);
			f.write_bytes += scaled(s->write_bytes, share);
			if (share > 0 && s->rss_bytes)
				f.rss_bytes = s->rss_bytes;
		}
		if (all->cpu_ns)
			by = (double)f.cpu_ns / (double)all->cpu_ns;
	} else {
		f.cpu_ns = scaled(all->cpu_ns, by);
		f.run_delay_ns = scaled(all->run_delay_ns, by);
		f.read_bytes = scaled(all->read_bytes, by);
		f.write_bytes = scaled(all->write_bytes, by);
	}
	f.block_delay_ns = scaled(all->block_delay_ns, by);
	f.net_bytes = scaled(all->net_bytes, by);
	return f;
}

static uint64_t cpu_at(const struct lake_process *p, const struct top_figures *all, const struct course *c, uint64_t t)
{
	return t >= p->end_ns ? all->cpu_ns : t <= p->start_ns ? 0 : used_at(p, all, c, t).cpu_ns;
}

static int add_process(struct source_lake *s, struct top_model *m, const struct lake_report *r, size_t at,
		       const struct course *c, uint64_t t, uint64_t interval_ns)
{
	const struct lake_process *p = &r->processes[at];
	struct top_process process;
	struct top_figures all;
	struct top_names names;
	int err;

	if (p->start_ns > t)
		return 0;
	err = source_lake_process(p, &r->run, &s->room, &names, &process);
	all = process.figures;
	if (err == 0 && t >= p->end_ns) {
		err = top_model_ended(m, &process);
	} else if (err == 0) {
		process.figures = used_at(p, &all, c, t);
		process.state = '+';
		process.failed = false;
		process.exit_code = -1;
		process.signal = 0;
		err = top_model_live(m, &process);
	}
	if (err == 0)
		top_model_recent(m, &process.key, cpu_at(p, &all, c, t) - cpu_at(p, &all, c, t - interval_ns));
	return err;
}

/* ---- processes that have not ended ------------------------------------------------------- */

/* What the tool's samples have by t beyond the rows of its processes. */
static int add_rest(struct source_lake *own, struct top_model *m, const struct lake_report *r, const char *tool,
		    uint64_t t, uint64_t interval_ns, const struct top_row *rows)
{
	struct top_names names = { .run = r->run.id, .pipeline = r->run.pipeline, .tool = tool,
				   .user = source_user(&own->room, (uint32_t)r->run.uid),
				   .uid = (uint32_t)r->run.uid };
	struct top_process rest = { .key = { .image = 1 }, .names = &names, .state = '+' };
	struct top_figures *f = &rest.figures;
	uint64_t alive = 0, recent = 0;
	int err;

	for (size_t i = 0; i < r->n_samples; i++) {
		const struct lake_sample *s = &r->samples[i];
		double share = part(s->start_ns + s->interval_ns, s->interval_ns, t);
		double before = part(s->start_ns + s->interval_ns, s->interval_ns, t - interval_ns);

		if (strcmp(s->tool, tool) != 0 || share <= 0)
			continue;
		f->cpu_ns += scaled(s->cpu_ns, share);
		f->run_delay_ns += scaled(s->run_delay_ns, share);
		f->read_bytes += scaled(s->read_bytes, share);
		f->write_bytes += scaled(s->write_bytes, share);
		f->rss_bytes = s->rss_bytes;
		alive = s->processes;
		recent += scaled(s->cpu_ns, share - before);
	}
	if (alive <= rows->alive)
		return 0;
	rest.count = alive - rows->alive;
#define LESS(member_) f->member_ = f->member_ > rows->figures.member_ ? f->member_ - rows->figures.member_ : 0
	LESS(cpu_ns);
	LESS(run_delay_ns);
	LESS(read_bytes);
	LESS(write_bytes);
	LESS(rss_bytes);
#undef LESS
	/* No process starts at a moment that is a pointer of this program: the key is its own. */
	rest.key.start_boot_ns = (uint64_t)(uintptr_t)tool;
	err = top_model_live(m, &rest);
	if (err == 0)
		top_model_recent(m, &rest.key, recent < f->cpu_ns ? recent : f->cpu_ns);
	return err;
}

static int add_unended(struct source_lake *own, struct top_model *m, const struct lake_report *r, uint64_t t,
		       uint64_t interval_ns)
{
	struct top_view view = { .group = TOP_RUN };
	struct top_rows rows = { 0 };
	int err = top_rows_build(&rows, m, &view);

	for (size_t i = 0; i < rows.n && view.n_path == 0; i++)
		if (strcmp(rows.rows[i].item->names->run, r->run.id) == 0)
			top_view_enter(&view, m, &rows, i);
	view.group = TOP_TOOL;
	for (size_t i = 0; i < r->n_tools && err == 0; i++) {
		struct top_row have = { 0 };

		if (view.n_path)
			err = top_rows_build(&rows, m, &view);
		for (size_t k = 0; k < rows.n && view.n_path && err == 0; k++)
			if (strcmp(rows.rows[k].item->names->tool, r->tools[i].tool) == 0)
				have = rows.rows[k];
		if (err == 0)
			err = add_rest(own, m, r, r->tools[i].tool, t, interval_ns, &have);
	}
	top_rows_free(&rows);
	return err;
}

/* ---- runs -------------------------------------------------------------------------------- */

static int add_run(struct source_lake *s, struct top_model *m, const struct lake_report *r, uint64_t t,
		   uint64_t interval_ns)
{
	const struct top_run run = { .id = r->run.id, .name = r->run.name, .engine = r->run.engine,
				     .start_ns = r->run.start_ns, .ended = r->run.end_ns && t >= r->run.end_ns };
	size_t sample = 0;
	int err = top_model_run(m, &run);

	for (size_t i = 0; i < r->n_processes && err == 0; i++) {
		struct course c = { r->n_progress ? r->progress + sample : NULL, 0 };

		while (sample < r->n_progress && r->progress[sample].process <= i) {
			c.n += r->progress[sample].process == i;
			c.at += r->progress[sample].process < i;
			sample++;
		}
		err = add_process(s, m, r, i, &c, t, interval_ns);
	}
	return err;
}

static int load(struct source_lake *s, const struct lake_run *run, struct loaded **ret, char *why, size_t why_size)
{
	struct lake_report *report = NULL;
	struct lake *own = NULL;
	struct loaded *grown;
	int err;

	for (size_t i = 0; i < s->n_loaded; i++)
		if (s->loaded[i].run == run) {
			*ret = &s->loaded[i];
			return 0;
		}
	err = lake_report(s->lake, run->id, &report, why, why_size);
	if (err == 0 && !report->n_processes && run->totals.processes &&
	    question_open("top", s->path, run->id, 0, &own) == SKEP_EXIT_OK) {
		/* A copy of all runs of a user outside group skep has no processes: asks for this run alone. */
		lake_report_free(report);
		report = NULL;
		err = lake_report(own, run->id, &report, why, why_size);
	}
	lake_close(own);
	if (err < 0)
		return err;
	grown = realloc(s->loaded, (s->n_loaded + 1) * sizeof(*grown));
	if (!grown) {
		lake_report_free(report);
		return -ENOMEM;
	}
	s->loaded = grown;
	grown[s->n_loaded] = (struct loaded){ .report = report, .run = run };
	*ret = &grown[s->n_loaded++];
	return 0;
}

/* Frees reports of runs that are not in sight. */
static void forget(struct source_lake *s)
{
	for (size_t i = 0; i < s->n_loaded;) {
		if (s->loaded[i].used) {
			s->loaded[i++].used = false;
			continue;
		}
		lake_report_free(s->loaded[i].report);
		s->loaded[i] = s->loaded[--s->n_loaded];
	}
}

int source_lake_at(struct source_lake *s, uint64_t t, uint64_t interval_ns, struct top_model *m, char *why,
		   size_t why_size)
{
	size_t n = 0;
	int err = 0;

	top_model_clear(m);
	top_model_interval(m, interval_ns);
	for (size_t i = 0; i < s->runs->n && err == 0; i++) {
		const struct lake_run *run = &s->runs->runs[i];
		struct loaded *l = NULL;

		if (run->start_ns > t || (run->end_ns && run->end_ns + AFTER_NS < t))
			continue;
		err = load(s, run, &l, why, why_size);
		if (err < 0)
			break;
		l->used = true;
		n++;
		err = add_run(s, m, l->report, t, interval_ns);
		if (err == 0 && !run->end_ns)
			err = add_unended(s, m, l->report, t, interval_ns);
	}
	forget(s);
	if (err == -ENOMEM)
		snprintf(why, why_size, "out of memory");
	if (err < 0)
		return err;
	snprintf(why, why_size, "no run of the lake was there at this time");
	return n ? 0 : -ENOENT;
}

/* ---- opened ------------------------------------------------------------------------------ */

int source_lake_open(const char *path, struct source_lake **ret)
{
	const struct lake_runs_query query = { .sessions = true };
	struct source_lake *s = calloc(1, sizeof(*s));
	char why[1024] = "out of memory";
	int status;

	if (!s)
		return skep_fail("top", SKEP_EXIT_RUNTIME, "%s", why);
	s->room.users = users_new(NULL, NULL, NULL);
	s->path = path ? strdup(path) : NULL;
	status = s->room.users ? question_open("top", path, NULL, 0, &s->lake)
			       : skep_fail("top", SKEP_EXIT_RUNTIME, "%s", why);
	if (status == SKEP_EXIT_OK && lake_runs(s->lake, &query, &s->runs, why, sizeof(why)) < 0)
		status = skep_fail("top", SKEP_EXIT_RUNTIME, "%s", why);
	if (status == SKEP_EXIT_OK)
		*ret = s;
	else
		source_lake_close(s);
	return status;
}

struct source_lake *source_lake_close(struct source_lake *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n_loaded; i++)
		lake_report_free(s->loaded[i].report);
	free(s->loaded);
	lake_runs_free(s->runs);
	lake_close(s->lake);
	users_free(s->room.users);
	free(s->room.argv);
	free(s->path);
	free(s);
	return NULL;
}

int source_lake_partial(const struct source_lake *s)
{
	return question_partial("top", s->lake, NULL);
}
