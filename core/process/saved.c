/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved.c - writes the state for the next skepd: lines about runs, tasks and processes, and the sampled
 * counters.
 */
#include "core/process/saved.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <skep/hash.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/process/saved_scope.h"
#include "core/process/saved_text.h"
#include "core/base/counters.h"
#include "core/base/log.h"
#include "core/process/track_priv.h"
#include "spool/bytes.h"

/* ---- written ---------------------------------------------------------------------- */

/* jansson's integers are signed: stores the same bits. */
static json_t *number(uint64_t u)
{
	return json_integer((json_int_t)u);
}

static json_t *counters_json(const struct skep_counters *c)
{
	uint64_t v[N_COUNTERS];
	json_t *list = json_array();

	memcpy(v, c, sizeof(v));
	for (size_t i = 0; i < N_COUNTERS; i++)
		json_array_append_new(list, number(v[i]));
	return list;
}

struct facets_json {
	const struct facets *facets;
	json_t *columns;
};

static void facet_json(void *arg, uint32_t column, const uint64_t bits[FACET_KEPT])
{
	struct facets_json *to = arg;
	json_t *list = json_array();

	for (int i = 0; i < FACET_KEPT; i++)
		json_array_append_new(list, number(bits[i]));
	json_object_set_new(to->columns, facets_column(to->facets, column), list);
}

/* Writes a line.  Counts a line for which there is no memory, and returns 0.  -EIO: cannot write the file. */
static int write_line(struct track *t, FILE *file, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	int err = 0;

	json_decref(line);
	if (!text)
		track_unsaved(t, 1);
	else if (fputs(text, file) == EOF || putc('\n', file) == EOF)
		err = -EIO;
	free(text);
	return err;
}

static json_t *text(const char *s)
{
	return saved_text(s, strlen(s));
}

static int write_run(struct track *t, FILE *file, const struct run *run)
{
	return write_line(t, file, saved_scope_run_json(run,
			  json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:o}",
				    "run", text(run->id), "name", text(run->name), "pipeline", text(run->pipeline),
				    "cwd", text(run->cwd), "root", number(run->root.pid), "root_start",
				    number(run->root.start_ns), "start", number(run->start_ns), "seen",
				    number(run->seen), "uid", number(run->uid), "rss_peak", number(run->rss_peak_bytes),
				    "found", run->found, "ended", run->ended, "owner", number(run->owner), "argv",
				    saved_text(run->argv, run->argv_len), "argv_total", number(run->argv_total),
				    "traceparent", text(run->traceparent))));
}

/* The task's sums cover the images whose records have left.  The task's members have lines of their own. */
static int write_task(struct track *t, FILE *file, const struct task *task)
{
	return write_line(
		t, file,
		saved_scope_task_json(task, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o}",
			  "task", task->id, "name", saved_text(task->name->text, task->name->len), "run",
			  text(task->run ? task->run->id : ""), "traceparent",
			  text(task->traceparent ? task->traceparent->text : ""), "root", number(task->root.pid),
			  "root_start", number(task->root.start_ns), "start", number(task->start_ns), "end",
			  number(task->end_ns), "over", number(task->over_ns), "ended", task->ended, "state",
			  task->state, "status", (json_int_t)task->status, "processes", number(task->processes), "cpu",
			  number(task->cpu_ns), "run_delay", number(task->run_delay_ns), "rss_peak",
			  number(task->rss_peak_bytes), "read", number(task->read_bytes), "write",
			  number(task->write_bytes))));
}

/* NULL: no memory. */
static json_t *process_json(const struct track *t, const struct proc *p)
{
	json_t *line = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pid", number(p->upid.pid), "start",
		number(p->upid.start_ns), "image", number(p->image), "image_start", number(p->image_start_ns), "flags",
		number(p->flags & SAVED_FLAGS), "approx", number(p->approx), "threads_peak", number(p->threads_peak),
		"rss_peak", number(p->rss_peak_bytes), "maxrss_base", number(p->maxrss_base_bytes), "maxrss",
		number(p->maxrss_bytes), "base", counters_json(&p->base), "last", counters_json(&p->last));
	struct facets_json facets = { t->env.facets, json_object() };

	if (p->sampled) {
		json_object_set_new(line, "sampled", counters_json(&p->sampled->counters));
		json_object_set_new(line, "sampled_time", number(p->sampled->time_ns));
	}
	if (p->flags & PROC_EXITED) {
		json_object_set_new(line, "status", number(p->status));
		json_object_set_new(line, "end", number(p->end_ns));
	}
	if (p->run)
		json_object_set_new(line, "run", text(p->run->id));
	if (p->task)
		json_object_set_new(line, "task", json_string(p->task->id));
	if (p->scope)
		json_object_set_new(line, "scope", number(p->scope->id));
	facets_kept(p->facets, facet_json, &facets);
	if (json_object_size(facets.columns) > 0) {
		json_object_set(line, "facets", facets.columns);
		json_object_set_new(line, SAVED_FACETS_BEFORE, number(t->facets_saved_ns));
	}
	json_decref(facets.columns);
	if (!line || saved_who_write(line, p) == 0)
		return line;
	json_decref(line);
	return NULL;
}

int saved_line(const struct track *t, const struct proc *p, char **ret)
{
	json_t *line = process_json(t, p);

	*ret = line ? json_dumps(line, JSON_COMPACT) : NULL;
	json_decref(line);
	return *ret ? 0 : -ENOMEM;
}

bool saved_worth(const struct proc *p)
{
	/* Zombies have a line too: only their final counters are missing. */
	return ((p->flags & PROC_CONFIRMED) || p->facets) && !(p->flags & PROC_MUTED) && p->upid.start_ns != 0;
}

int saved_head(struct track *t, FILE *file, const char *boot_id)
{
	int err = write_line(t, file, json_pack("{s:i, s:s}", "skep_carry", SAVED_VERSION, "boot_id", boot_id));

	for (const struct run *run = t->runs.first; run && err == 0; run = run->next)
		/* a process that outlives its run's end still belongs to the run */
		if ((!run->ended || run->members > 0) && run->root.pid != 0)
			err = write_run(t, file, run);
	/* The oldest first: a scope is younger than those further out, and the next skepd reads the lines in order. */
	for (const struct scope *s = scopes_oldest(&t->scopes); s && err == 0; s = s->prev)
		err = write_line(t, file, saved_scope_json(s));
	for (const struct task *task = t->tasks.first; task && err == 0; task = task->next)
		err = write_task(t, file, task);
	return err;
}

/* The run's tasks whose counts the next skepd needs. */
static size_t counted(const struct run *run)
{
	return run->ended ? 0 : attempts_count(run->attempts);
}

int saved_attempts(struct track *t, FILE *file, bool all, bool few, bool *ret_any)
{
	size_t left = SAVED_ATTEMPTS_MOST, sum = 0;
	int err = 0;

	for (const struct run *run = t->runs.first; run; run = run->next)
		sum += counted(run);
	if ((!t->attempts_changed && !all) || (few && sum > SAVED_ATTEMPTS_FEW)) {
		*ret_any = false;
		return 0;
	}
	for (const struct run *run = t->runs.first; run && left > 0 && err == 0; run = run->next) {
		size_t n = counted(run);
		char *word;

		if (n == 0)
			continue;
		err = attempts_word(run->attempts, left, &word);
		if (err < 0)
			break;
		err = write_line(t, file, json_pack("{s:o, s:s}", "attempts", text(run->id), "counts", word));
		free(word);
		left -= n < left ? n : left;
	}
	if (err < 0)
		return err;
	t->attempts_changed = false;
	*ret_any = true;
	return 0;
}

static void put_counters(struct bytes_out *b, const struct skep_counters *c)
{
	uint64_t v[N_COUNTERS];

	memcpy(v, c, sizeof(v));
	for (size_t i = 0; i < N_COUNTERS; i++)
		bytes_number(b, v[i]);
}

int saved_samples(const struct track *t, void **ret, size_t *ret_size)
{
	struct bytes_out b = { 0 };

	for (const struct proc *p = proctab_first(t->table); p; p = p->next) {
		if (!saved_worth(p) || (p->flags & (PROC_EXITED | PROC_FINAL)) || !(p->flags & PROC_CONFIRMED))
			continue;
		bytes_number(&b, p->upid.pid);
		bytes_number(&b, p->upid.start_ns);
		put_counters(&b, &p->last);
		bytes_number(&b, p->sampled ? p->sampled->time_ns : 0);
		if (p->sampled)
			put_counters(&b, &p->sampled->counters);
	}
	*ret = b.at;
	*ret_size = b.len;
	if (b.err)
		free(b.at);
	return b.err;
}
