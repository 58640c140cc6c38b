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
#define NUMBER(name) { #name, #name, COL_NUMBER, IN_ROW }
#define TIME(name) { #name, #name, COL_TIME, IN_ROW }
#define TEXT(name) { #name, #name, COL_TEXT, IN_ROW }
#define DICT(name) { #name, #name, COL_DICT, IN_ROW }
#define CONTAINED \
	TEXT(container), TEXT(container_name), TEXT(container_image), TEXT(pod), TEXT(namespace), TEXT(unit)

/* Columns of proc_kind. */
#define KIND_NUMBER(name) { #name, #name, COL_NUMBER, IN_KIND }
#define KIND_DICT(name) { #name, #name, COL_DICT, IN_KIND }

static const struct column proc_columns[] = {
	[PROC_RUN] = { "run", "run", COL_RUN, IN_ROW },
	[PROC_KIND] = { "kind", NULL, COL_MADE, IN_ROW },
	[PROC_CLOCK] = { "clock_ns", NULL, COL_MADE, IN_KIND },
	[PROC_ARGV] = { "argv", "argv", COL_LIST, IN_ROW },
	[PROC_ARGV_TOTAL] = { "total", "argv", COL_TOTAL, IN_ARGV },
	[PROC_TASK] = KIND_DICT(task),
	[PROC_TASK_ID] = KIND_DICT(task_id),
	[PROC_STEP] = KIND_DICT(step),
	[PROC_SCOPES] = KIND_DICT(scopes),
	[PROC_TOOL] = KIND_DICT(tool),
	[PROC_BOOT] = { "boot", NULL, COL_BOOT, IN_KIND },
	[PROC_START_BOOT] = { "start_boot_ns", "upid", COL_RECORD_START, IN_ROW },
	[PROC_PARENT_START_BOOT] = { "parent_start_boot_ns", "parent_upid", COL_UPID_START, IN_ROW },
	[PROC_START] = TIME(start_ns),
	[PROC_END] = TIME(end_ns),
	[PROC_CPU] = NUMBER(cpu_ns),
	[PROC_USER] = NUMBER(user_ns),
	[PROC_SYSTEM] = NUMBER(system_ns),
	[PROC_RUN_COUNT] = NUMBER(run_count),
	[PROC_VOLUNTARY] = NUMBER(voluntary_switches),
	[PROC_INVOLUNTARY] = NUMBER(involuntary_switches),
	[PROC_RSS_PEAK] = NUMBER(rss_peak_bytes),
	[PROC_MAXRSS] = NUMBER(maxrss_bytes),
	[PROC_OTHERS] = { NULL, "pipeline", COL_NOWHERE, IN_ROW },
	{ "pid", "pid", COL_RECORD_PID, IN_ROW },
	KIND_NUMBER(image),
	NUMBER(ppid),
	KIND_NUMBER(exit_code),
	KIND_NUMBER(signal),
	KIND_DICT(state),
	KIND_DICT(comm),
	KIND_DICT(exe),
	KIND_DICT(filename),
	KIND_DICT(cwd),
	KIND_DICT(cgroup),
	KIND_DICT(container),
	KIND_DICT(oom_cgroup),
	KIND_NUMBER(wrapper),
	KIND_NUMBER(execed),
	KIND_NUMBER(last),
	KIND_NUMBER(core_dumped),
	KIND_NUMBER(oom_killed),
	KIND_NUMBER(uid),
	KIND_NUMBER(gid),
	KIND_NUMBER(session),
	KIND_NUMBER(approx),
	KIND_NUMBER(oom_limit_bytes),
	KIND_NUMBER(oom_usage_bytes),
	KIND_NUMBER(oom_peak_bytes),
	NUMBER(run_delay_ns),
	NUMBER(minor_faults),
	NUMBER(major_faults),
	NUMBER(rchar_bytes),
	NUMBER(wchar_bytes),
	NUMBER(read_calls),
	NUMBER(write_calls),
	NUMBER(read_bytes),
	NUMBER(write_bytes),
	NUMBER(cancelled_write_bytes),
	NUMBER(threads_peak),
	KIND_DICT(unit),
	KIND_NUMBER(exe_size_bytes),
	KIND_NUMBER(exe_modified_ns),
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
	{ "argv", "argv", COL_LIST, IN_ROW },
	{ "argv_total", "argv", COL_TOTAL, IN_ROW },
	TEXT(cwd),
	{ "root_pid", "root_upid", COL_UPID_PID, IN_ROW },
	{ "root_start_boot_ns", "root_upid", COL_UPID_START, IN_ROW },
	NUMBER(uid),
	TIME(start_ns),
	TIME(end_ns),
	NUMBER(exit_code),
	NUMBER(signal),
	NUMBER(cpus),
	NUMBER(interval_ns),
	NUMBER(memory_peak_bytes),
	TEXT(memory_source),
	NUMBER(processes_seen),
	NUMBER(rusage_cpu_ns),
	NUMBER(lost_kernel),
	NUMBER(lost_queue),
	NUMBER(lost_spool),
	NUMBER(lost_sink),
	TEXT(engine),
	TEXT(parent_run),
	TEXT(origin),
	TEXT(job),
	TEXT(account),
	CONTAINED,
};

static const struct column task_columns[] = {
	{ "run", "run", COL_RUN, IN_ROW },
	{ NULL, "pipeline", COL_NOWHERE, IN_ROW },
	TEXT(task_id),
	TEXT(task),
	TEXT(state),
	TEXT(engine),
	TEXT(scopes),
	TEXT(sample),
	TEXT(job),
	NUMBER(attempt),
	TEXT(name_source),
	TEXT(traceparent),
	{ "root_pid", "root_upid", COL_UPID_PID, IN_ROW },
	{ "root_start_boot_ns", "root_upid", COL_UPID_START, IN_ROW },
	TIME(start_ns),
	TIME(end_ns),
	NUMBER(exit_code),
	NUMBER(signal),
	NUMBER(processes),
	NUMBER(cpu_ns),
	NUMBER(run_delay_ns),
	NUMBER(rss_peak_bytes),
	NUMBER(read_bytes),
	NUMBER(write_bytes),
	NUMBER(requested_cpus),
	NUMBER(requested_memory_bytes),
	NUMBER(requested_walltime_ns),
	NUMBER(requested_gpus),
	TEXT(requested_source),
	NUMBER(granted_cpus),
	NUMBER(granted_memory_bytes),
	NUMBER(granted_gpus),
	TEXT(granted_source),
	NUMBER(inner_runs),
	CONTAINED,
};

static const struct column sample_columns[] = {
	{ "run", "run", COL_RUN, IN_ROW },
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
	{ "time_ns", NULL, COL_RECORD_TIME, IN_ROW },
	DICT(instance),
	DICT(stream),
	{ "place", "where", COL_DICT, IN_ROW },
	NUMBER(count),
};

const struct table tables[] = {
	{
		.stream = "process.exit",
		.name = "proc_row",
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
		.stream = "task",
		.name = "task",
		/*
		 * A later record completes the task; an earlier record that the spool sends again must not undo that.
		 * The record with the name from a file is the later one: both have the same end, but its realtime may
		 * differ by some ns.
		 */
		.after = "ON CONFLICT (run, task_id) DO UPDATE SET % "
			 "WHERE excluded.name_source = 'file' OR (task.name_source <> 'file' AND "
			 "coalesce(excluded.end_ns, 0) >= coalesce(task.end_ns, 0))",
		.statement = DB_TASK_PUT,
		.n = N_OF(task_columns),
		.columns = task_columns,
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
const struct table *const proc_table = &tables[0];

_Static_assert(N_OF(proc_columns) <= PROC_COLUMNS_MOST && N_OF(run_columns) <= COLUMNS_MOST, "raise COLUMNS_MOST");

/* True for the columns of the table itself: of process records, those of proc_row. */
static bool is_own(const struct column *c)
{
	return c->name && c->part == IN_ROW;
}

char *columns_insert_kind(void)
{
	sqlite3_str *s = sqlite3_str_new(NULL);
	const char *sep = "";

	sqlite3_str_appendall(s, "INSERT INTO proc_kind (");
	for (size_t i = 0; i < N_OF(proc_columns); i++) {
		if (proc_columns[i].part != IN_KIND)
			continue;
		sqlite3_str_appendf(s, "%s%s", sep, proc_columns[i].name);
		sep = ", ";
	}
	sqlite3_str_appendall(s, ") VALUES (");
	sep = "";
	for (size_t i = 0; i < N_OF(proc_columns); i++) {
		if (proc_columns[i].part != IN_KIND)
			continue;
		sqlite3_str_appendf(s, "%s?%d", sep, (int)i + 1);
		sep = ", ";
	}
	sqlite3_str_appendall(s, ")");
	return sqlite3_str_finish(s);
}

char *columns_insert(const struct table *t)
{
	sqlite3_str *s = sqlite3_str_new(NULL);
	const char *sep = "", *percent = strchr(t->after, '%');

	sqlite3_str_appendf(s, "INSERT INTO %s (", t->name);
	for (size_t i = 0; i < t->n; i++) {
		if (!is_own(&t->columns[i]))
			continue;
		sqlite3_str_appendf(s, "%s%s", sep, t->columns[i].name);
		sep = ", ";
	}
	sqlite3_str_appendall(s, ") VALUES (");
	sep = "";
	for (size_t i = 0; i < t->n; i++) {
		if (!is_own(&t->columns[i]))
			continue;
		sqlite3_str_appendf(s, "%s?%d", sep, (int)i + 1);
		sep = ", ";
	}
	sqlite3_str_appendall(s, ") ");
	if (percent) {
		sqlite3_str_append(s, t->after, (int)(percent - t->after));
		sep = "";
		for (size_t i = 0; i < t->n; i++) {
			if (!is_own(&t->columns[i]))
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
	case COL_RECORD_PID:
		return skep_field_is_number(f);
	case COL_RECORD_START:
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
	usage_bind(s, &b->usage);
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
