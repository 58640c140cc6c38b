/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the fields of each stream to the columns of its table, and builds the INSERT statements.
 */
#include "sinks/lake/columns.h"

#include <errno.h>
#include <skep/sink/fields.h>
#include <stdlib.h>
#include <string.h>

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))
#define NUMBER(name) { #name, #name, COL_NUMBER }
#define TIME(name) { #name, #name, COL_TIME }
#define TEXT(name) { #name, #name, COL_TEXT }
#define DICT(name) { #name, #name, COL_DICT }

static const struct column proc_columns[] = {
	{ "run", "run", COL_RUN },
	{ NULL, "pipeline", COL_NOWHERE },
	{ NULL, "upid", COL_NOWHERE },
	DICT(task),
	DICT(tool),
	{ "boot", NULL, COL_BOOT },
	{ "pid", NULL, COL_RECORD_PID },
	{ NULL, "pid", COL_NOWHERE },
	{ "start_boot_ns", NULL, COL_RECORD_START },
	NUMBER(image),
	NUMBER(ppid),
	{ "parent_start_boot_ns", "parent_upid", COL_UPID_START },
	TIME(start_ns),
	TIME(end_ns),
	NUMBER(exit_code),
	NUMBER(signal),
	DICT(state),
	DICT(comm),
	DICT(exe),
	DICT(filename),
	DICT(cwd),
	DICT(cgroup),
	DICT(container),
	DICT(oom_cgroup),
	{ "argv", "argv", COL_LIST },
	{ "argv_total", "argv", COL_TOTAL },
	NUMBER(wrapper),
	NUMBER(execed),
	NUMBER(last),
	NUMBER(core_dumped),
	NUMBER(oom_killed),
	NUMBER(uid),
	NUMBER(gid),
	NUMBER(session),
	NUMBER(approx),
	NUMBER(oom_limit_bytes),
	NUMBER(oom_usage_bytes),
	NUMBER(oom_peak_bytes),
	NUMBER(cpu_ns),
	NUMBER(user_ns),
	NUMBER(system_ns),
	NUMBER(run_delay_ns),
	NUMBER(run_count),
	NUMBER(voluntary_switches),
	NUMBER(involuntary_switches),
	NUMBER(minor_faults),
	NUMBER(major_faults),
	NUMBER(rss_peak_bytes),
	NUMBER(maxrss_bytes),
	NUMBER(rchar_bytes),
	NUMBER(wchar_bytes),
	NUMBER(read_calls),
	NUMBER(write_calls),
	NUMBER(read_bytes),
	NUMBER(write_bytes),
	NUMBER(cancelled_write_bytes),
	NUMBER(threads_peak),
};

static const struct column run_columns[] = {
	TEXT(run),
	TEXT(name),
	TEXT(pipeline),
	TEXT(host),
	TEXT(boot_id),
	TEXT(kernel),
	TEXT(version),
	TEXT(state),
	{ "argv", "argv", COL_LIST },
	{ "argv_total", "argv", COL_TOTAL },
	TEXT(cwd),
	{ "root_pid", "root_upid", COL_UPID_PID },
	{ "root_start_boot_ns", "root_upid", COL_UPID_START },
	NUMBER(uid),
	TIME(start_ns),
	TIME(end_ns),
	NUMBER(exit_code),
	NUMBER(signal),
	NUMBER(cpus),
	NUMBER(interval_ns),
	NUMBER(rss_peak_bytes),
	NUMBER(processes_seen),
	NUMBER(rusage_cpu_ns),
	NUMBER(lost_kernel),
	NUMBER(lost_queue),
	NUMBER(lost_spool),
	NUMBER(lost_sink),
};

static const struct column sample_columns[] = {
	{ "run", "run", COL_RUN },
	DICT(tool),
	TIME(start_ns),
	NUMBER(interval_ns),
	NUMBER(cpu_ns),
	NUMBER(run_delay_ns),
	NUMBER(read_bytes),
	NUMBER(write_bytes),
	NUMBER(rss_bytes),
	NUMBER(processes),
	NUMBER(started),
};

static const struct column loss_columns[] = {
	{ "time_ns", NULL, COL_RECORD_TIME },
	DICT(instance),
	DICT(stream),
	{ "place", "where", COL_DICT },
	NUMBER(count),
};

const struct table tables[] = {
	{
		.stream = "process.exit",
		.name = "proc",
		.after = "",
		.statement = DB_PROC_ADD,
		.n = N_OF(proc_columns),
		.columns = proc_columns,
	},
	{
		.stream = "run",
		.name = "run",
		/* a begin record that the sink receives again after the end record must not reopen the run */
		.after = "ON CONFLICT (run) DO UPDATE SET % WHERE run.state <> 'ended' OR excluded.state = 'ended'",
		.statement = DB_RUN_PUT,
		.n = N_OF(run_columns),
		.columns = run_columns,
	},
	{
		.stream = "tool.sample",
		.name = "sample",
		.after = "",
		.statement = DB_SAMPLE_ADD,
		.n = N_OF(sample_columns),
		.columns = sample_columns,
	},
	{
		.stream = "loss",
		.name = "loss",
		.after = "",
		.statement = DB_LOSS_ADD,
		.n = N_OF(loss_columns),
		.columns = loss_columns,
	},
};
const size_t tables_n = N_OF(tables);

_Static_assert(N_OF(proc_columns) <= COLUMNS_MOST && N_OF(run_columns) <= COLUMNS_MOST, "raise COLUMNS_MOST");

char *columns_insert(const struct table *t)
{
	sqlite3_str *s = sqlite3_str_new(NULL);
	const char *sep = "", *percent = strchr(t->after, '%');

	sqlite3_str_appendf(s, "INSERT INTO %s (", t->name);
	for (size_t i = 0; i < t->n; i++) {
		if (!t->columns[i].name)
			continue;
		sqlite3_str_appendf(s, "%s%s", sep, t->columns[i].name);
		sep = ", ";
	}
	sqlite3_str_appendall(s, ") VALUES (");
	sep = "";
	for (size_t i = 0; i < t->n; i++) {
		if (!t->columns[i].name)
			continue;
		sqlite3_str_appendf(s, "%s?%d", sep, (int)i + 1);
		sep = ", ";
	}
	sqlite3_str_appendall(s, ") ");
	if (percent) {
		sqlite3_str_append(s, t->after, (int)(percent - t->after));
		sep = "";
		for (size_t i = 0; i < t->n; i++) {
			if (!t->columns[i].name)
				continue;
			sqlite3_str_appendf(s, "%s%s = excluded.%s", sep, t->columns[i].name, t->columns[i].name);
			sep = ", ";
		}
		sqlite3_str_appendall(s, percent + 1);
	}
	return sqlite3_str_finish(s);
}

static bool fits(const struct skep_field *f, enum column_how how)
{
	switch (how) {
	case COL_NUMBER:
		return skep_field_is_number(f) && f->type != SKEP_T_TIME;
	case COL_TIME:
		return f->type == SKEP_T_TIME;
	case COL_TEXT:
	case COL_DICT:
	case COL_RUN:
		return f->type == SKEP_T_STR;
	case COL_LIST:
		return f->type == SKEP_T_STRV;
	case COL_TOTAL:
		return f->type == SKEP_T_STR || f->type == SKEP_T_STRV;
	case COL_UPID_PID:
	case COL_UPID_START:
		return f->type == SKEP_T_UPID;
	case COL_NOWHERE:
		return true;
	default:
		return false;
	}
}

static const char *const rolled_name[ROLLED_NUMBERS] = {
	[ROLLED_WRAPPER] = "wrapper",
	[ROLLED_EXECED] = "execed",
	[ROLLED_LAST] = "last",
	[ROLLED_START] = "start_ns",
	[ROLLED_END] = "end_ns",
	[ROLLED_EXIT_CODE] = "exit_code",
	[ROLLED_SIGNAL] = "signal",
	[ROLLED_CPU] = "cpu_ns",
	[ROLLED_RUN_DELAY] = "run_delay_ns",
	[ROLLED_RCHAR] = "rchar_bytes",
	[ROLLED_WCHAR] = "wchar_bytes",
	[ROLLED_READ] = "read_bytes",
	[ROLLED_WRITE] = "write_bytes",
	[ROLLED_RSS_PEAK] = "rss_peak_bytes",
};

static void bind_rolled(struct binding *b, const struct skep_field *f)
{
	if (f->type == SKEP_T_STR && strcmp(f->name, "state") == 0)
		b->state = f;
	if (f->type == SKEP_T_STR && strcmp(f->name, "pipeline") == 0)
		b->pipeline = f;
	if (skep_field_is_number(f) && strcmp(f->name, "uid") == 0)
		b->uid = f;
	if (f->type == SKEP_T_STR && strcmp(f->name, "origin") == 0)
		b->origin = f;
	if (skep_field_is_number(f) && strcmp(f->name, "image") == 0)
		b->image = f;
	for (size_t i = 0; i < ROLLED_NUMBERS; i++)
		if (skep_field_is_number(f) && strcmp(f->name, rolled_name[i]) == 0)
			b->rolled[i] = f;
}

/* Binds the field to every column that accepts it. Returns false when no column does. */
static bool bind_field(struct binding *b, const struct skep_field *f)
{
	bool taken = false;

	for (size_t i = 0; b->table && i < b->table->n; i++) {
		const struct column *c = &b->table->columns[i];

		if (!c->field || strcmp(c->field, f->name) != 0 || !fits(f, c->how) || b->field[i])
			continue;
		b->field[i] = f;
		taken = true;
	}
	return taken;
}

int binding_new(const struct skep_stream *s, struct binding **ret)
{
	struct binding *b = calloc(1, sizeof(*b));
	uint32_t n = skep_fields_count(s);

	if (!b)
		return -ENOMEM;
	b->stream = s;
	for (size_t i = 0; s->name && i < tables_n; i++)
		if (strcmp(tables[i].stream, s->name) == 0)
			b->table = &tables[i];
	b->extra = calloc(n ? n : 1, sizeof(const struct skep_field *));
	if (!b->extra) {
		free(b);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct skep_field *f = skep_fields_at(s, i);

		if (!f)
			continue;
		if (strcmp(f->name, "run") == 0 && f->type == SKEP_T_STR)
			b->run = f;
		if (strcmp(f->name, "start_ns") == 0 && f->type == SKEP_T_TIME)
			b->start = f;
		bind_rolled(b, f);
		if (!bind_field(b, f))
			b->extra[b->n_extra++] = f;
	}
	*ret = b;
	return 0;
}

struct binding *binding_free(struct binding *b)
{
	if (b)
		free(b->extra);
	free(b);
	return NULL;
}
