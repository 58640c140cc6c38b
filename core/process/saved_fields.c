/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_fields.c - which members of programs, runs, scopes, tasks, processes and findings the saved state
 * has.
 */
#include <stddef.h>
#include <string.h>

#include "core/process/saved_priv.h"
#include "core/scope/scope.h"

struct saved_field {
	enum { U64, U32, INT, I64, DOUBLE, BOOL, TEXT, STATE, SOURCE } type;
	size_t offset, n; /* n: members of an array, or of a struct of such */
};

#define M(type_, struct_, member_) { type_, offsetof(struct struct_, member_), 1 }
#define ALL(type_, struct_, member_, n_) { type_, offsetof(struct struct_, member_), n_ }
#define CONTAINED(struct_) \
	ALL(TEXT, struct_, contained.in, CONTAINED_BY), ALL(U32, struct_, contained.from, CONTAINED_BY)
#define REQUEST(member_) ALL(U64, task, member_.milli_cpus, 4), M(SOURCE, task, member_.source)

/* Static texts. */
static const char *const states[] = { "running", "exited", "replaced", "lost", "excluded", "zombie", NULL };
static const char *const sources[] = { "argv", "environ", "cwd", "cgroup", "program", "table", "file", "job", NULL };

static const struct saved_field program_fields[] = {
	M(TEXT, program, exe), M(TEXT, program, filename), M(TEXT, program, tool), M(BOOL, program, wrapper),
	M(U64, program, exe_size_bytes), M(U64, program, exe_modified_ns),
};

static const struct saved_field run_fields[] = {
	M(U32, run, root.pid), M(U64, run, root.start_ns), M(U64, run, start_ns), M(U64, run, seen), M(U32, run, uid),
	M(U32, run, payer),
	M(U32, run, gid), M(U32, run, owner), M(BOOL, run, stranger), M(U64, run, rss_peak_bytes),
	M(U64, run, largest_bytes), M(U64, run, pss_peak_bytes),
	M(U32, run, argv_total), M(BOOL, run, found), M(I64, run, realtime_offset_ns),
	M(BOOL, run, ended), M(BOOL, run, peers), M(BOOL, run, tasked), M(U32, run, class), M(U32, run, key_uid),
	M(U64, run, quiet_ns), M(U64, run, end_ns), M(INT, run, status), M(U64, run, status_of_ns),
	M(U32, run, job_group), M(U32, run, job_session), CONTAINED(run),
};

static const struct saved_field scope_fields[] = {
	M(U32, scope, root.pid), M(U64, scope, root.start_ns), M(TEXT, scope, engine), M(U32, scope, class),
	M(BOOL, scope, nests), M(BOOL, scope, whole), M(U32, scope, uid), M(U32, scope, payer), M(TEXT, scope, cwd),
	M(U32, scope, mark),
};

/* A task's sums cover the images whose records have left; its members are in the state, too. */
static const struct saved_field task_fields[] = {
	M(U32, task, root.pid), M(U64, task, root.start_ns), M(U64, task, image), M(U64, task, start_ns),
	M(TEXT, task, name), M(TEXT, task, traceparent), M(TEXT, task, scopes), M(TEXT, task, engine),
	M(TEXT, task, sample), M(TEXT, task, again), M(TEXT, task, key), M(TEXT, task, job),
	M(SOURCE, task, name_source),
	M(U32, task, attempt), M(U64, task, end_ns), M(U64, task, over_ns), M(STATE, task, state), M(I64, task, status),
	M(BOOL, task, ended), M(BOOL, task, kept), M(BOOL, task, counted), M(U64, task, processes),
	M(U64, task, inner_runs),
	M(U64, task, cpu_ns), M(U64, task, run_delay_ns), M(U64, task, rss_peak_bytes), M(U64, task, read_bytes),
	M(U64, task, write_bytes),
	M(U64, task, starter_cgroup), REQUEST(requested), REQUEST(granted), M(BOOL, task, cpus_limit),
	M(BOOL, task, memory_limit), CONTAINED(task), M(U32, task, mark), M(TEXT, task, files),
};

static const struct saved_field process_fields[] = {
	M(U32, proc, parent.pid), M(U64, proc, parent.start_ns), M(U64, proc, cgroup_id), M(U32, proc, uid),
	M(U32, proc, payer),
	M(U32, proc, gid), M(U32, proc, session), M(TEXT, proc, comm), M(TEXT, proc, cwd), M(TEXT, proc, cgroup),
	M(TEXT, proc, labels), M(TEXT, proc, task_name), M(TEXT, proc, traceparent), M(TEXT, proc, environ),
	M(TEXT, proc, step), M(TEXT, proc, boundary), M(TEXT, proc, container), M(U32, proc, image),
	M(U32, proc, approx), M(U32, proc, threads_peak), M(U64, proc, rss_peak_bytes),
	M(U64, proc, maxrss_base_bytes), M(U64, proc, maxrss_bytes), M(U32, proc, status), M(U64, proc, end_ns),
	ALL(U64, proc, base, SAVED_COUNTERS),
};

static const struct saved_field finding_fields[] = {
	M(U32, finding, kind), M(U32, finding, payer), M(U64, finding, key), M(U32, finding, upid.pid),
	M(U64, finding, upid.start_ns), M(U64, finding, started_ns), M(I64, finding, realtime_offset_ns),
	M(DOUBLE, finding, value), M(DOUBLE, finding, threshold), M(TEXT, finding, run),
	M(TEXT, finding, pipeline), M(TEXT, finding, task), M(TEXT, finding, task_id), M(TEXT, finding, tool),
	M(TEXT, finding, container), M(TEXT, finding, cgroup),
};

#define LIST(fields_, own_, more_) \
	{ fields_, sizeof(fields_) / sizeof(fields_[0]), own_, own_ + sizeof(fields_) / sizeof(fields_[0]) + more_ }
#define IN_CONTAINED (2 * (CONTAINED_BY - 1))

const struct saved_fields saved_program = LIST(program_fields, PROGRAM_FIELDS, 0);
const struct saved_fields saved_run = LIST(run_fields, RUN_FIELDS, IN_CONTAINED);
const struct saved_fields saved_scope = LIST(scope_fields, SCOPE_FIELDS, 0);
const struct saved_fields saved_task = LIST(task_fields, TASK_FIELDS, IN_CONTAINED + 2 * 3);
const struct saved_fields saved_process = LIST(process_fields, PROCESS_FIELDS, SAVED_COUNTERS - 1);
const struct saved_fields saved_finding = LIST(finding_fields, FINDING_FIELDS, 0);
_Static_assert(PROCESS_FIELDS + sizeof(process_fields) / sizeof(process_fields[0]) + SAVED_COUNTERS <= SAVED_NUMBERS &&
		       TASK_FIELDS + sizeof(task_fields) / sizeof(task_fields[0]) + IN_CONTAINED + 6 <= SAVED_NUMBERS,
	       "SAVED_NUMBERS");

static uint64_t place_of(const char *const *texts, const char *text)
{
	for (size_t i = 0; text && texts[i]; i++)
		if (strcmp(texts[i], text) == 0)
			return i + 1;
	return 0;
}

static const char *text_of_place(const char *const *texts, uint64_t place)
{
	for (uint64_t i = 0; texts[i]; i++)
		if (i + 1 == place)
			return texts[i];
	return NULL;
}

static size_t size_of(const struct saved_field *f)
{
	static const size_t sizes[] = { [U64] = 8, [U32] = 4, [INT] = sizeof(int), [I64] = 8, [DOUBLE] = 8,
					[BOOL] = sizeof(bool), [TEXT] = sizeof(void *), [STATE] = sizeof(void *),
					[SOURCE] = sizeof(void *) };

	return sizes[f->type];
}

union member {
	uint64_t u64;
	uint32_t u32;
	int i;
	int64_t i64;
	bool b;
	const struct interned *text;
	const char *word;
};

/* A signed number is stored as its zigzag. */
static uint64_t take(struct saver *s, const struct saved_field *f, const void *from)
{
	union member m;

	memcpy(&m, from, size_of(f));
	switch (f->type) {
	case U32:
		return m.u32;
	case INT:
		return bytes_zigzag(m.i);
	case I64:
		return bytes_zigzag(m.i64);
	case BOOL:
		return m.b;
	case TEXT:
		return saved_number_of_text(s, m.text);
	case STATE:
		return place_of(states, m.word);
	case SOURCE:
		return place_of(sources, m.word);
	default:
		return m.u64;
	}
}

static void give(const struct saved *c, const struct saved_field *f, uint64_t number, void *to)
{
	union member m = { .u64 = number };

	if (f->type == U32)
		m.u32 = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
	else if (f->type == INT)
		m.i = (int)bytes_unzigzag(number);
	else if (f->type == I64)
		m.i64 = bytes_unzigzag(number);
	else if (f->type == BOOL)
		m.b = number != 0;
	else if (f->type == TEXT)
		m.text = intern_ref(saved_text_at(c, number));
	else if (f->type == STATE || f->type == SOURCE)
		m.word = text_of_place(f->type == STATE ? states : sources, number);
	memcpy(to, &m, size_of(f));
}

void saved_take(struct saver *s, const struct saved_fields *list, const void *object, uint64_t *numbers)
{
	uint64_t *to = numbers + list->own;

	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < list->fields[i].n; k++)
			*to++ = take(s, &list->fields[i],
				     (const char *)object + list->fields[i].offset + k * size_of(&list->fields[i]));
}

void saved_give(const struct saved *c, const struct saved_fields *list, const uint64_t *numbers, void *object)
{
	const uint64_t *from = numbers + list->own;

	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < list->fields[i].n; k++)
			give(c, &list->fields[i], *from++,
			     (char *)object + list->fields[i].offset + k * size_of(&list->fields[i]));
}
