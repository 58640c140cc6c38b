/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the fields of each stream to the columns of its table.
 */
#include "sinks/clickhouse/columns.h"

#include <errno.h>
#include <skep/sink/fields.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))
#define FIELD(name, type) { #name, #name, type, FROM_FIELD }
#define U8(name) FIELD(name, CH_U8)
#define U32(name) FIELD(name, CH_U32)
#define U64(name) FIELD(name, CH_U64)
#define I32(name) FIELD(name, CH_I32)
#define TEXT(name) FIELD(name, CH_TEXT)
#define LIST(name) FIELD(name, CH_LIST)
#define HEAD                                              \
	{ "uid", NULL, CH_UUID, FROM_IDENTITY },          \
		{ "host", NULL, CH_TEXT, FROM_HOST },     \
	{                                                 \
		"boot_id", NULL, CH_TEXT, FROM_BOOT       \
	}
#define NAMES TEXT(container_name), TEXT(container_image), TEXT(pod), TEXT(namespace), TEXT(unit)
#define EXTRA { "extra", NULL, CH_TEXT, FROM_EXTRA }

static const struct column proc_columns[] = {
	HEAD,
	TEXT(run),
	TEXT(pipeline),
	TEXT(task),
	TEXT(tool),
	TEXT(container),
	{ "pid", NULL, CH_U32, FROM_RECORD_PID },
	{ "start_boot_ns", NULL, CH_U64, FROM_RECORD_START },
	U32(image),
	U32(ppid),
	{ "parent_start_boot_ns", "parent_upid", CH_U64, FROM_UPID_START },
	U64(start_ns),
	U64(end_ns),
	I32(exit_code),
	U8(signal),
	TEXT(state),
	TEXT(comm),
	TEXT(exe),
	TEXT(filename),
	TEXT(cwd),
	TEXT(cgroup),
	TEXT(oom_cgroup),
	LIST(argv),
	{ "argv_total", "argv", CH_U32, FROM_TOTAL },
	LIST(labels),
	U8(wrapper),
	U8(execed),
	U8(last),
	U8(core_dumped),
	U8(oom_killed),
	{ "uid_user", "uid", CH_U32, FROM_FIELD },
	U32(gid),
	U32(session),
	U32(approx),
	U64(oom_limit_bytes),
	U64(oom_usage_bytes),
	U64(oom_peak_bytes),
	U64(cpu_ns),
	U64(user_ns),
	U64(system_ns),
	U64(run_delay_ns),
	U64(run_count),
	U64(voluntary_switches),
	U64(involuntary_switches),
	U64(minor_faults),
	U64(major_faults),
	U64(rss_peak_bytes),
	U64(maxrss_bytes),
	U64(rchar_bytes),
	U64(wchar_bytes),
	U64(read_calls),
	U64(write_calls),
	U64(read_bytes),
	U64(write_bytes),
	U64(cancelled_write_bytes),
	U32(threads_peak),
	TEXT(task_id),
	TEXT(step),
	TEXT(scopes),
	NAMES,
	U64(exe_size_bytes),
	U64(exe_modified_ns),
	EXTRA,
};
static const char *const proc_nowhere[] = { "upid", "pid", NULL };

static const struct column run_columns[] = {
	HEAD,
	TEXT(run),
	TEXT(name),
	TEXT(pipeline),
	TEXT(kernel),
	TEXT(version),
	TEXT(state),
	LIST(argv),
	{ "argv_total", "argv", CH_U32, FROM_TOTAL },
	TEXT(cwd),
	{ "root_pid", "root_upid", CH_U32, FROM_UPID_PID },
	{ "root_start_boot_ns", "root_upid", CH_U64, FROM_UPID_START },
	{ "uid_user", "uid", CH_U32, FROM_FIELD },
	U64(start_ns),
	U64(end_ns),
	I32(exit_code),
	U8(signal),
	U32(cpus),
	U64(interval_ns),
	U64(memory_peak_bytes),
	TEXT(memory_source),
	U64(processes_seen),
	U64(rusage_cpu_ns),
	U64(lost_kernel),
	U64(lost_queue),
	U64(lost_spool),
	U64(lost_sink),
	TEXT(engine),
	TEXT(parent_run),
	TEXT(origin),
	TEXT(job),
	TEXT(account),
	TEXT(container),
	NAMES,
	TEXT(join_key),
	EXTRA,
	{ "rev", NULL, CH_U64, FROM_REV },
};
static const char *const run_nowhere[] = { "host", "boot_id", NULL };

static const struct column task_columns[] = {
	HEAD,
	TEXT(run),
	TEXT(pipeline),
	TEXT(task),
	TEXT(task_id),
	TEXT(state),
	TEXT(engine),
	TEXT(scopes),
	TEXT(sample),
	TEXT(job),
	U32(attempt),
	TEXT(name_source),
	TEXT(traceparent),
	{ "root_pid", "root_upid", CH_U32, FROM_UPID_PID },
	{ "root_start_boot_ns", "root_upid", CH_U64, FROM_UPID_START },
	U64(start_ns),
	U64(end_ns),
	I32(exit_code),
	U8(signal),
	U64(processes),
	U64(cpu_ns),
	U64(run_delay_ns),
	U64(rss_peak_bytes),
	U64(read_bytes),
	U64(write_bytes),
	FIELD(requested_cpus, CH_F64),
	U64(requested_memory_bytes),
	U64(requested_walltime_ns),
	U32(requested_gpus),
	TEXT(requested_source),
	FIELD(granted_cpus, CH_F64),
	U64(granted_memory_bytes),
	U32(granted_gpus),
	TEXT(granted_source),
	U32(inner_runs),
	TEXT(container),
	NAMES,
	EXTRA,
	{ "rev", NULL, CH_U64, FROM_RECORD_TIME },
};

static const struct column sample_columns[] = {
	HEAD,
	TEXT(run),
	TEXT(tool),
	U64(start_ns),
	U64(interval_ns),
	U64(cpu_ns),
	U64(run_delay_ns),
	U64(read_bytes),
	U64(write_bytes),
	U64(rss_bytes),
	U32(processes),
	U32(started),
	EXTRA,
};

static const struct column loss_columns[] = {
	HEAD,
	{ "time_ns", NULL, CH_U64, FROM_RECORD_TIME },
	TEXT(instance),
	TEXT(stream),
	{ "place", "where", CH_TEXT, FROM_FIELD },
	U64(count),
	EXTRA,
};

static const struct column record_columns[] = {
	HEAD,
	{ "stream", NULL, CH_TEXT, FROM_STREAM },
	{ "time_ns", NULL, CH_U64, FROM_RECORD_TIME },
	TEXT(run),
	{ "upid", NULL, CH_TEXT, FROM_RECORD_UPID },
	TEXT(container),
	{ "fields", NULL, CH_TEXT, FROM_JSON },
};

const struct table tables[TABLES] = {
	{ .stream = "process.exit",
	  .name = "proc",
	  .identity = IDENTITY_IMAGE,
	  .n = N_OF(proc_columns),
	  .columns = proc_columns,
	  .nowhere = proc_nowhere },
	{ .stream = "run",
	  .name = "run",
	  .identity = IDENTITY_RUN,
	  .n = N_OF(run_columns),
	  .columns = run_columns,
	  .nowhere = run_nowhere },
	{ .stream = "task",
	  .name = "task",
	  .identity = IDENTITY_TASK,
	  .n = N_OF(task_columns),
	  .columns = task_columns },
	{ .stream = "tool.sample", .name = "sample", .n = N_OF(sample_columns), .columns = sample_columns },
	{ .stream = "loss", .name = "loss", .n = N_OF(loss_columns), .columns = loss_columns },
	{ .stream = NULL, .name = "record", .n = N_OF(record_columns), .columns = record_columns },
};

_Static_assert(N_OF(proc_columns) <= COLUMNS_MOST && N_OF(run_columns) <= COLUMNS_MOST, "raise COLUMNS_MOST");

static bool fits(const struct skep_field *f, const struct column *c)
{
	switch (c->from) {
	case FROM_TOTAL:
		return f->type == SKEP_T_STR || f->type == SKEP_T_STRV;
	case FROM_UPID_PID:
	case FROM_UPID_START:
		return f->type == SKEP_T_UPID;
	default:
		break;
	}
	switch (c->type) {
	case CH_TEXT:
		return f->type == SKEP_T_STR;
	case CH_LIST:
		return f->type == SKEP_T_STRV;
	default:
		return skep_field_is_number(f);
	}
}

static bool is_nowhere(const struct table *t, const char *name)
{
	for (const char *const *n = t->nowhere; n && *n; n++)
		if (strcmp(*n, name) == 0)
			return true;
	return false;
}

/* Binds the field to every column that accepts it. Returns false when no column does. */
static bool bind_field(struct binding *b, const struct skep_field *f)
{
	const struct table *t = &tables[b->table];
	bool taken = is_nowhere(t, f->name);

	for (size_t i = 0; i < t->n; i++) {
		const struct column *c = &t->columns[i];

		if (!c->field || strcmp(c->field, f->name) != 0 || !fits(f, c) || b->field[i])
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
	b->table = TABLES - 1;
	for (unsigned i = 0; s->name && i < TABLES - 1; i++)
		if (strcmp(tables[i].stream, s->name) == 0)
			b->table = i;
	b->extra = calloc(n ? n : 1, sizeof(const struct skep_field *));
	if (!b->extra) {
		free(b);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct skep_field *f = skep_fields_at(s, i);

		if (!f)
			continue;
		if (strcmp(f->name, "image") == 0 && skep_field_is_number(f))
			b->image = f;
		if (strcmp(f->name, "run") == 0 && f->type == SKEP_T_STR)
			b->run = f;
		if (strcmp(f->name, "task_id") == 0 && f->type == SKEP_T_STR)
			b->task_id = f;
		if (strcmp(f->name, "end_ns") == 0 && f->type == SKEP_T_TIME)
			b->end = f;
		if (!bind_field(b, f))
			b->extra[b->n_extra++] = f;
	}
	*ret = b;
	return 0;
}

struct binding *binding_free(struct binding *b)
{
	while (b) {
		struct binding *next = b->next;

		free(b->extra);
		free(b);
		b = next;
	}
	return NULL;
}

char *table_target(const struct table *t, const char *database)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return NULL;
	fprintf(out, "%s.%s (", database, t->name);
	for (size_t i = 0; i < t->n; i++)
		fprintf(out, "%s%s", i ? ", " : "", t->columns[i].name);
	fputc(')', out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
