/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/recognized.c - which engine began each task of a recorded run, and which engines were around each process.
 */
#include "cli/report/recognized.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json_out.h"
#include "cli/base/table.h"
#include "cli/base/text.h"

#define ROWS_MOST 500u

/* An image that an exec replaced at once is no program of its own. */
static bool is_shown(const struct lake_process *p)
{
	return p->kind->execed || strcmp(p->kind->state, "replaced") != 0;
}

/* ---- JSON ------------------------------------------------------------------------- */

static json_t *task_json(const struct lake_task *t)
{
	return json_pack("{s:o, s:s, s:o, s:s, s:s, s:o, s:s, s:I}", "name", json_out_string(t->task), "id", t->task_id,
			 "sample", json_out_string(t->sample), "engine", t->engine, "scopes", t->scopes, "step",
			 json_out_string(t->step), "name_source", t->name_source, "attempt", (json_int_t)t->attempt);
}

static json_t *process_json(const struct lake_process *p)
{
	return json_pack("{s:I, s:I, s:o, s:o, s:s, s:o, s:s}", "pid", (json_int_t)p->pid, "image",
			 (json_int_t)p->image, "tool", json_out_string(p->kind->tool), "task", json_out_string(p->task),
			 "task_id", p->kind->task_id, "step", json_out_string(p->kind->step), "scopes",
			 p->kind->scopes);
}

json_t *recognized_json(const struct lake_report *r)
{
	json_t *tasks = json_array(), *processes = json_array();

	for (size_t i = 0; i < r->n_tasks && tasks; i++)
		json_array_append_new(tasks, task_json(&r->tasks[i]));
	for (size_t i = 0; i < r->n_processes && processes; i++)
		if (is_shown(&r->processes[i]))
			json_array_append_new(processes, process_json(&r->processes[i]));
	return json_pack("{s:{s:s, s:o, s:o, s:s, s:s, s:s, s:s}, s:o, s:o}", "run", "id", r->run.id, "name",
			 json_out_string(r->run.name), "pipeline", json_out_string(r->run.pipeline), "engine",
			 r->run.engine, "origin", r->run.origin, "parent_run", r->run.parent_run, "state", r->run.state,
			 "tasks", tasks, "processes", processes);
}

/* ---- text ------------------------------------------------------------------------- */

static void cell(struct table *table, const struct paint *p, enum ink ink, const char *text)
{
	char *safe = text_safe(text, p->unicode);

	table_cell(table, ink, "%s", safe ? safe : "?");
	free(safe);
}

/* Prints and frees the table of n rows. */
static int print_take(struct table *table, const struct paint *p, size_t n, const char *what)
{
	int err;

	if (!table)
		return -ENOMEM;
	fputc('\n', p->out);
	err = table_print(table, p, 0, 2);
	if (n > ROWS_MOST)
		fprintf(p->out, "%zu %s more: skep recognize --json\n", n - ROWS_MOST, what);
	table_free(table);
	return err;
}

static int print_tasks(const struct paint *p, const struct lake_report *r)
{
	static const struct table_column columns[] = {
		{ .title = "task", .left = true },      { .title = "try" },
		{ .title = "begun by", .left = true },  { .title = "name from", .left = true },
		{ .title = "engines around it", .left = true, .flex = true },
	};
	struct table *table = r->n_tasks ? table_new(columns, sizeof(columns) / sizeof(*columns)) : NULL;

	for (size_t i = 0; i < r->n_tasks && i < ROWS_MOST && table; i++) {
		const struct lake_task *t = &r->tasks[i];
		char *name = text_format("%s%s%s", t->task, *t->sample ? " " : "", t->sample);

		cell(table, p, INK_BOLD, name ? name : t->task);
		free(name);
		if (t->attempt)
			table_cell(table, INK_NONE, "%llu", (unsigned long long)t->attempt);
		else
			table_cell(table, INK_NONE, "%s", "");
		/* without a state the lake has no record of the task */
		cell(table, p, INK_NONE, *t->engine ? t->engine : *t->state ? "SKEP_TASK" : "?");
		cell(table, p, INK_NONE, *t->name_source ? t->name_source : "?");
		cell(table, p, INK_NONE, *t->scopes ? t->scopes : "none");
	}
	return r->n_tasks ? print_take(table, p, r->n_tasks, "tasks") : 0;
}

static int print_processes(const struct paint *p, const struct lake_report *r)
{
	static const struct table_column columns[] = {
		{ .title = "process" },             { .title = "tool", .left = true },
		{ .title = "task", .left = true },  { .title = "step", .left = true },
		{ .title = "engines around it", .left = true, .flex = true },
	};
	struct table *table = r->n_processes ? table_new(columns, sizeof(columns) / sizeof(*columns)) : NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->n_processes && table; i++) {
		const struct lake_process *q = &r->processes[i];

		if (!is_shown(q) || ++n > ROWS_MOST)
			continue;
		table_cell(table, INK_NONE, "%llu", (unsigned long long)q->pid);
		cell(table, p, INK_BOLD, q->kind->tool);
		cell(table, p, INK_NONE, *q->task ? q->task : "none");
		cell(table, p, INK_NONE, q->kind->step);
		cell(table, p, INK_NONE, *q->kind->scopes ? q->kind->scopes : "none");
	}
	return r->n_processes ? print_take(table, p, n, "processes") : 0;
}

int recognized_print(const struct lake_report *r, FILE *out, const struct paint_style *style)
{
	struct paint p;
	int err;

	paint_init(&p, out, style);
	err = print_tasks(&p, r);
	if (!err)
		err = print_processes(&p, r);
	if (err)
		return err;
	fputs("\nThe tables come from the lake, which has the names of the engines, the outermost first.  skepd knows the "
	      "facts\nthat it read, and the run without the engines, only while a process lives.  skep recognize --list "
	      "prints the\nfiles that describe the engines.\n",
	      out);
	return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}
