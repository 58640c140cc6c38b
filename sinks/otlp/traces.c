/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes spans (opentelemetry/proto/trace/v1): a run is a trace, and the run's end makes the root span.  Of its
 * processes only the interesting ones become spans.
 */
#include <skep/upid.h>
#include <skep/utf8.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/otlp/attr.h"
#include "sinks/otlp/request.h"

enum { KIND_INTERNAL = 1, KIND_SERVER = 2, STATUS_ERROR = 2 };
#define FLAG_REMOTE_KNOWN 0x100u
#define FLAG_REMOTE 0x200u
#define NAME_MOST 255 /* most bytes of a run's name in its span's name */

static struct skep_str basename_of(struct skep_str path)
{
	uint32_t at = path.len;

	if (!path.len)
		return path;
	while (at > 0 && path.ptr[at - 1] != '/')
		at--;
	return (struct skep_str){ path.ptr + at, path.len - at, path.len - at };
}

/* True when a table has named the tool differently from its binary: "samtools sort", "train.py". */
static bool is_recognized(const struct view *v)
{
	struct skep_str exe = basename_of(v->exe.len ? v->exe : v->comm);

	return v->tool.len && !v->wrapper && !(v->tool.len == exe.len && memcmp(v->tool.ptr, exe.ptr, exe.len) == 0);
}

bool traces_want(const struct encoder *e, const struct view *v)
{
	if (v->kind == VIEW_RUN)
		return str_is(v->state, "ended");
	if (v->kind == VIEW_TASK)
		return v->task_id.len && v->start_ns && v->end_ns >= v->start_ns;
	if (v->kind != VIEW_PROCESS || !v->execed || !v->start_ns || v->end_ns < v->start_ns)
		return false;
	if (v->exit_code > 0 || v->signal || v->oom_killed)
		return true;
	return is_recognized(v) || v->end_ns - v->start_ns >= e->span_least_ns;
}

/* Span { trace_id = 1, span_id = 2, parent_span_id = 4, name = 5, kind = 6, start = 7, end = 8, attributes = 9,
 * links = 13, status = 15, flags = 16 }, Link { trace_id = 1, span_id = 2, flags = 6 } */
#define ATTRIBUTES 9

static void write_status(struct pb *p, const char *error_type)
{
	size_t opened = pb_open(p);

	if (!*error_type)
		return;
	pb_u64(p, 3, STATUS_ERROR);
	pb_text(p, 2, error_type);
	pb_close(p, 15, opened);
}

static const char *result_of(const struct view *v)
{
	if (v->signal == 2 || v->signal == 15) /* SIGINT, SIGTERM: a user or the service manager ended the process */
		return "cancellation";
	if (v->signal)
		return "error";
	return v->exit_code == 0 ? "success" : v->exit_code > 0 ? "failure" : "error";
}

/* Cuts a text to NAME_MOST bytes, between characters. */
static int name_length(struct skep_str s)
{
	return (int)skep_utf8_cut(s.ptr, s.len, NAME_MOST);
}

static void write_run(struct pb *p, const struct item *item, int64_t offset)
{
	const struct view *v = &item->view;
	bool adopted = false;
	size_t opened = pb_open(p);
	struct skep_str called = v->pipeline.len ? v->pipeline : v->name;
	char error_type[24], name[4 + NAME_MOST + 1];
	int n;

	for (unsigned i = 0; i < SKEP_SPAN_ID; i++)
		adopted = adopted || item->run_parent[i];
	request_error_type(v, error_type);
	pb_fixed32(p, 16, item->flags | FLAG_REMOTE_KNOWN | (adopted ? FLAG_REMOTE : 0));
	write_status(p, error_type);
	view_attributes(p, ATTRIBUTES, v);
	attr_int(p, ATTRIBUTES, "skep.run.memory.peak", (int64_t)v->memory_peak_bytes);
	attr_int(p, ATTRIBUTES, "skep.run.processes", (int64_t)v->processes_seen);
	attr_str(p, ATTRIBUTES, NAME_CWD, v->cwd);
	attr_list(p, ATTRIBUTES, NAME_ARGS, v->argv);
	attr_int(p, ATTRIBUTES, NAME_USER, (int64_t)v->uid);
	if (v->exit_code >= 0)
		attr_int(p, ATTRIBUTES, NAME_EXIT_CODE, v->exit_code);
	if (*error_type)
		attr_text(p, ATTRIBUTES, NAME_ERROR_TYPE, error_type);
	attr_str(p, ATTRIBUTES, "skep.run.name", v->name);
	attr_str(p, ATTRIBUTES, NAME_RUN_ID, v->run);
	attr_str(p, ATTRIBUTES, NAME_PIPELINE, v->pipeline);
	attr_text(p, ATTRIBUTES, NAME_RESULT, result_of(v));
	attr_text(p, ATTRIBUTES, NAME_ACTION, "RUN");
	pb_fixed64(p, 8, request_time(v->end_ns, offset));
	pb_fixed64(p, 7, request_time(v->start_ns, offset));
	pb_u64(p, 6, KIND_SERVER);
	n = snprintf(name, sizeof(name), "RUN %.*s", name_length(called), called.len ? called.ptr : "");
	pb_string(p, 5, name, (size_t)n);
	if (adopted)
		pb_bytes(p, 4, item->run_parent, SKEP_SPAN_ID);
	pb_bytes(p, 2, item->run_span, SKEP_SPAN_ID);
	pb_bytes(p, 1, item->trace, SKEP_TRACE_ID);
	pb_close(p, 2, opened);
}

/* Writes a link to the trace that the process's TRACEPARENT names, when it is another trace than the run's. */
static void write_link(struct pb *p, const struct item *item)
{
	size_t opened = pb_open(p);

	if (!item->linked)
		return;
	pb_fixed32(p, 6, item->link.flags | FLAG_REMOTE_KNOWN | FLAG_REMOTE);
	pb_bytes(p, 2, item->link.parent, SKEP_SPAN_ID);
	pb_bytes(p, 1, item->link.trace, SKEP_TRACE_ID);
	pb_close(p, 13, opened);
}

static void write_figures(struct pb *p, const struct view *v)
{
	const struct {
		const char *name;
		uint64_t value;
	} figures[] = {
		{ "skep.process.threads.peak", v->threads_peak },     { "skep.process.memory.peak", v->rss_peak_bytes },
		{ "skep.process.disk.write", v->write_bytes },        { "skep.process.disk.read", v->read_bytes },
		{ "skep.process.run_delay", v->run_delay_ns },        { "skep.process.cpu.time", v->cpu_ns },
	};

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (figures[i].value)
			attr_int(p, ATTRIBUTES, figures[i].name, (int64_t)figures[i].value);
}

static void write_task(const struct encoder *e, struct pb *p, const struct item *item, int64_t offset)
{
	const struct view *v = &item->view;
	bool ended = str_is(v->state, "exited");
	size_t opened = pb_open(p);
	uint8_t span[SKEP_SPAN_ID];
	char error_type[24];

	request_error_type(v, error_type);
	skep_trace_task_span(item->trace, e->boot_id, v->task_id.ptr, v->task_id.len, span);
	pb_fixed32(p, 16, item->flags | FLAG_REMOTE_KNOWN);
	write_status(p, error_type);
	write_link(p, item);
	write_figures(p, v);
	view_attributes(p, ATTRIBUTES, v);
	attr_int(p, ATTRIBUTES, "skep.task.processes", (int64_t)v->processes);
	if (v->exit_code >= 0)
		attr_int(p, ATTRIBUTES, NAME_EXIT_CODE, v->exit_code);
	if (*error_type)
		attr_text(p, ATTRIBUTES, NAME_ERROR_TYPE, error_type);
	/*
	 * A task has no result when its root process executed another program, or when the run ended before the task.
	 */
	if (ended)
		attr_text(p, ATTRIBUTES, NAME_TASK_RESULT, result_of(v));
	attr_str(p, ATTRIBUTES, NAME_TASK, v->task);
	pb_fixed64(p, 8, request_time(v->end_ns, offset));
	pb_fixed64(p, 7, request_time(v->start_ns, offset));
	pb_u64(p, 6, KIND_INTERNAL);
	pb_string(p, 5, v->task.ptr, v->task.len);
	pb_bytes(p, 4, item->parent, SKEP_SPAN_ID);
	pb_bytes(p, 2, span, SKEP_SPAN_ID);
	pb_bytes(p, 1, item->trace, SKEP_TRACE_ID);
	pb_close(p, 2, opened);
}

static void write_process(const struct encoder *e, struct pb *p, const struct item *item, int64_t offset)
{
	const struct view *v = &item->view;
	const struct skep_upid *upid = &item->record->upid;
	struct skep_str exe = basename_of(v->exe);
	size_t opened = pb_open(p);
	char error_type[24], text[SKEP_UPID_TEXT];
	uint8_t span[SKEP_SPAN_ID];

	request_error_type(v, error_type);
	skep_upid_text(e->boot_id, upid, text);
	skep_trace_process_span(item->trace, e->boot_id, upid, v->image, span);
	pb_fixed32(p, 16, item->flags | FLAG_REMOTE_KNOWN);
	write_status(p, error_type);
	write_link(p, item);
	write_figures(p, v);
	attr_text(p, ATTRIBUTES, NAME_UPID, text);
	view_attributes(p, ATTRIBUTES, v);
	attr_str(p, ATTRIBUTES, NAME_CGROUP, v->cgroup);
	attr_str(p, ATTRIBUTES, NAME_CWD, v->cwd);
	attr_str(p, ATTRIBUTES, NAME_TASK, v->task);
	attr_str(p, ATTRIBUTES, NAME_TOOL, v->tool);
	attr_list(p, ATTRIBUTES, NAME_ARGS, v->argv);
	attr_int(p, ATTRIBUTES, NAME_USER, (int64_t)v->uid);
	if (v->exit_code >= 0)
		attr_int(p, ATTRIBUTES, NAME_EXIT_CODE, v->exit_code);
	if (*error_type)
		attr_text(p, ATTRIBUTES, NAME_ERROR_TYPE, error_type);
	attr_str(p, ATTRIBUTES, NAME_EXE_PATH, v->exe);
	attr_str(p, ATTRIBUTES, NAME_EXE_NAME, exe);
	attr_int(p, ATTRIBUTES, NAME_PPID, (int64_t)v->ppid);
	attr_int(p, ATTRIBUTES, NAME_PID, upid->pid);
	pb_fixed64(p, 8, request_time(v->end_ns, offset));
	pb_fixed64(p, 7, request_time(v->start_ns, offset));
	pb_u64(p, 6, KIND_INTERNAL);
	if (v->tool.len)
		pb_string(p, 5, v->tool.ptr, v->tool.len);
	else
		pb_string(p, 5, exe.len ? exe.ptr : v->comm.ptr, exe.len ? exe.len : v->comm.len);
	pb_bytes(p, 4, item->parent, SKEP_SPAN_ID);
	pb_bytes(p, 2, span, SKEP_SPAN_ID);
	pb_bytes(p, 1, item->trace, SKEP_TRACE_ID);
	pb_close(p, 2, opened);
}

static int compare_text(struct skep_str a, struct skep_str b)
{
	uint32_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

static int compare(const void *pa, const void *pb)
{
	const struct item *a = pa, *b = pb;
	int c = a->span - b->span;

	if (!c)
		c = compare_text(a->view.run, b->view.run);
	if (!c)
		c = compare_text(a->view.pipeline, b->view.pipeline);
	return c ? c : (a->order > b->order) - (a->order < b->order);
}

static bool same_resource(const struct item *a, const struct item *b)
{
	return b->span && compare_text(a->view.run, b->view.run) == 0 &&
	       compare_text(a->view.pipeline, b->view.pipeline) == 0;
}

void traces_write(struct encoder *e, const struct skep_batch *b)
{
	struct pb *p = &e->out[SIGNAL_TRACES];
	size_t i = e->n_items;

	if (i == 0)
		return;
	qsort(e->items, e->n_items, sizeof(e->items[0]), compare);
	while (i > 0 && e->items[i - 1].span) {
		const struct item *first = &e->items[i - 1];
		struct request_frame frame = request_open(p);

		for (; i > 0 && same_resource(first, &e->items[i - 1]); i--) {
			const struct item *item = &e->items[i - 1];
			int64_t offset = skep_record_realtime_offset(b, item->record);

			if (item->view.kind == VIEW_RUN)
				write_run(p, item, offset);
			else if (item->view.kind == VIEW_TASK)
				write_task(e, p, item, offset);
			else
				write_process(e, p, item, offset);
			e->n_out[SIGNAL_TRACES]++;
		}
		request_close(e, p, &frame, first->view.pipeline, first->view.run);
	}
}
