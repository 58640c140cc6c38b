/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/print.c - what `skep top` writes where there is no terminal, and for programs.
 */
#include "cli/top/print.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/base/json_stream.h"
#include "cli/base/paint.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/top/cells.h"

/* ---- the table ----------------------------------------------------------------------------- */

static int add_row(struct table *t, const struct paint *p, const struct top_model *m, const struct top_row *row)
{
	char buf[HUMAN_SIZE], *label = top_row_label(m, row), *safe = label ? text_safe(label, p->unicode) : NULL;
	int err = safe ? 0 : -ENOMEM;

	for (unsigned i = 0; i < TOP_COLUMNS && !err; i++) {
		enum top_column c = top_cells_order[i];

		if (c == TOP_NAME)
			table_cell(t, row->failed ? INK_RED : INK_NONE, "%*s%s", (int)row->depth * 2, "", safe);
		else
			table_cell(t, INK_NONE, "%s", top_cell_text(row, c, buf));
	}
	free(label);
	free(safe);
	return err;
}

int top_print_table(const struct top_model *m, const struct top_view *v, const struct top_rows *rows,
		    const struct top_shown *shown, FILE *out)
{
	struct table_column columns[TOP_COLUMNS];
	char clock[HUMAN_SIZE], cores[HUMAN_SIZE];
	struct table *t;
	struct paint p;
	int err = 0;

	paint_init(&p, out, NULL);
	for (unsigned i = 0; i < TOP_COLUMNS; i++) {
		enum top_column c = top_cells_order[i];

		columns[i] = (struct table_column){
			.title = c == TOP_NAME ? top_group_name(v->group) : top_cell_title(c),
			.left = c == TOP_NAME || c == TOP_STATE,
			.flex = c == TOP_NAME,
		};
	}
	t = table_new(columns, TOP_COLUMNS);
	for (size_t i = 0; t && i < rows->n && !err; i++)
		err = add_row(t, &p, m, &rows->rows[i]);
	if (!t || err) {
		table_free(t);
		return -ENOMEM;
	}
	fprintf(out, "%s  %llu processes alive, %llu ended, %s cores busy\n",
		human_date(shown->time_ns, HUMAN_DATE | HUMAN_CLOCK, clock), (unsigned long long)rows->totals.alive,
		(unsigned long long)rows->totals.ended, human_cores(rows->totals.cores, cores));
	if (*shown->note)
		paint_taken(&p, INK_YELLOW, "", 0, text_safe(shown->note, p.unicode));
	if (rows->n == 0)
		fputs("no process\n", out);
	else
		err = table_print(t, &p, 0, 1);
	table_free(t);
	if (!err && (fflush(out) != 0 || ferror(out)))
		err = errno ? -errno : -EIO;
	return err;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void optional(struct json_stream *j, const char *key, bool known, uint64_t value)
{
	if (known)
		json_stream_number(j, key, value);
	else
		json_stream_null(j, key);
}

static void figures(struct json_stream *j, const struct top_row *r)
{
	const struct top_figures *f = &r->figures;
	const char state[2] = { r->state ? r->state : '-', '\0' };

	json_stream_real(j, "cores", r->cores);
	json_stream_number(j, "cpu_ns", f->cpu_ns);
	json_stream_number(j, "run_delay_ns", f->run_delay_ns);
	optional(j, "block_delay_ns", f->block_known, f->block_delay_ns);
	json_stream_number(j, "rss_bytes", f->rss_bytes);
	json_stream_number(j, "rss_peak_bytes", f->rss_peak_bytes);
	json_stream_number(j, "read_bytes", f->read_bytes);
	json_stream_number(j, "write_bytes", f->write_bytes);
	optional(j, "net_bytes", f->net_known, f->net_bytes);
	json_stream_number(j, "processes_alive", r->alive);
	json_stream_number(j, "processes_ended", r->ended);
	json_stream_number(j, "failures", r->failed);
	json_stream_string(j, "state", state);
}

/* The keys that name the row. */
static void names(struct json_stream *j, const struct top_model *m, const struct top_row *r)
{
	const struct top_names *n = r->item->names;
	const struct top_run *run = *n->run ? top_model_run_of(m, n->run) : NULL;
	bool process = r->group == TOP_PROCESS;
	char *label = top_row_label(m, r);

	json_stream_string(j, "label", label ? label : "");
	free(label);
	if (r->group == TOP_RUN || r->group == TOP_TASK || process) {
		json_stream_string(j, "run", *n->run ? n->run : NULL);
		json_stream_string(j, "name", run ? run->name : NULL);
	}
	if (r->group == TOP_TASK || process)
		json_stream_string(j, "task", *n->task ? n->task : NULL);
	if (r->group == TOP_TOOL || process)
		json_stream_string(j, "tool", n->tool);
	if (r->group == TOP_CONTAINER || process)
		json_stream_string(j, "container", *n->container ? n->container : NULL);
	if (r->group == TOP_USER || process) {
		json_stream_string(j, "user", n->user);
		json_stream_number(j, "uid", n->uid);
	}
	if (process)
		optional(j, "pid", r->item->key.pid != 0, r->item->key.pid);
}

int top_print_json(const struct top_model *m, const struct top_view *v, const struct top_rows *rows,
		   const struct top_shown *shown, FILE *out)
{
	struct json_stream j = { .out = out };

	json_stream_open(&j, NULL, '{');
	json_stream_time(&j, "time", shown->time_ns);
	json_stream_string(&j, "source", shown->source);
	json_stream_string(&j, "by", top_group_name(v->group));
	json_stream_string(&j, "sort", top_column_name(v->sort));
	json_stream_string(&j, "filter", *shown->filter ? shown->filter : NULL);
	json_stream_number(&j, "interval_ns", shown->interval_ns);
	json_stream_string(&j, "note", *shown->note ? shown->note : NULL);
	json_stream_open(&j, "totals", '{');
	figures(&j, &rows->totals);
	json_stream_close(&j, '}');
	json_stream_open(&j, "rows", '[');
	for (size_t i = 0; i < rows->n; i++) {
		json_stream_open(&j, NULL, '{');
		names(&j, m, &rows->rows[i]);
		figures(&j, &rows->rows[i]);
		json_stream_close(&j, '}');
	}
	json_stream_close(&j, ']');
	json_stream_close(&j, '}');
	return json_stream_end(&j);
}
