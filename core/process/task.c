/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/task.c - the list of tasks, and how skep reads variables of an environment.
 */
#include "core/process/task.h"

#include <inttypes.h>
#include <skep/utf8.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/process/run.h"

void task_set_id(struct task *task)
{
	snprintf(task->id, sizeof(task->id), "%" PRIu32 "-%" PRIx64 ".%" PRIu64, task->root.pid, task->root.start_ns,
		 task->image);
}

struct task *task_new(struct tasks *tasks, struct intern *intern, const struct interned *name,
		      const struct interned *traceparent, const struct skep_upid *root, uint64_t image,
		      uint64_t start_ns)
{
	struct task *task = calloc(1, sizeof(*task));

	if (!task) {
		intern_unref(intern, name);
		intern_unref(intern, traceparent);
		return NULL;
	}
	task->name = name;
	task->traceparent = traceparent;
	task->root = *root;
	task->image = image;
	task->start_ns = start_ns;
	task->status = -1;
	task->state = "running";
	task->name_source = "environ";
	task_set_id(task);
	task->next = tasks->first;
	if (tasks->first)
		tasks->first->prev = task;
	tasks->first = task;
	tasks->n++;
	return task;
}

void task_set_run(struct task *task, struct run *run)
{
	struct run *old = task->run;

	task->run = run_ref(run);
	if (run)
		run->tasked = true;
	run_unref(old);
}

void task_free(struct tasks *tasks, struct intern *intern, struct task *task)
{
	if (task->prev)
		task->prev->next = task->next;
	else
		tasks->first = task->next;
	if (task->next)
		task->next->prev = task->prev;
	tasks->n--;
	saved_forget(tasks->forgotten, &task->saved);
	task_set_run(task, NULL);
	intern_unref(intern, task->name);
	intern_unref(intern, task->traceparent);
	intern_unref(intern, task->engine);
	intern_unref(intern, task->scopes);
	intern_unref(intern, task->sample);
	intern_unref(intern, task->again);
	intern_unref(intern, task->key);
	intern_unref(intern, task->job);
	intern_unref(intern, task->files);
	containment_clear(&task->contained, intern);
	free(task);
}

bool task_began_with(const struct task *task, const struct skep_upid *upid)
{
	return task->root.pid == upid->pid && task->root.start_ns == upid->start_ns;
}

void task_record(const struct task *task, struct record_task *ret)
{
	struct contained in;
	bool core;

	*ret = (struct record_task){
		.task = intern_str(task->name),
		.task_id = text_str(task->id),
		.state = text_str(task->state),
		.traceparent = intern_str(task->traceparent),
		.root_upid = task->root,
		.start_ns = task->start_ns,
		.end_ns = task->end_ns,
		.exit_code = -1,
		.processes = task->processes,
		.cpu_ns = task->cpu_ns,
		.run_delay_ns = task->run_delay_ns,
		.rss_peak_bytes = task->rss_peak_bytes,
		.read_bytes = task->read_bytes,
		.write_bytes = task->write_bytes,
		.engine = intern_str(task->engine),
		.scopes = intern_str(task->scopes),
		.sample = intern_str(task->sample),
		.job = intern_str(task->job),
		.attempt = task->attempt,
		.name_source = text_str(task->name_source),
		.requested_cpus = (double)task->requested.milli_cpus / 1000,
		.requested_memory_bytes = task->requested.memory_bytes,
		.requested_walltime_ns = task->requested.walltime_ns,
		.requested_gpus = task->requested.gpus,
		.requested_source = text_str(task->requested.source ? task->requested.source : ""),
		.granted_cpus = (double)task->granted.milli_cpus / 1000,
		.granted_memory_bytes = task->granted.memory_bytes,
		.granted_gpus = task->granted.gpus,
		.granted_source = text_str(task->granted.source ? task->granted.source : ""),
		.inner_runs = task->inner_runs,
	};
	containment_read(&task->contained, &in);
	CONTAINED_FIELDS(&in, ret);
	if (task->status >= 0)
		run_decode_status((uint32_t)task->status, &ret->exit_code, &ret->signal, &core);
}

struct skep_str task_variable(const struct skep_str *environ, const char *name)
{
	const char *at = environ->ptr, *end = at ? at + environ->len : NULL;
	size_t n = strlen(name);

	while (at < end) {
		size_t len = strnlen(at, (size_t)(end - at));

		if (len > n && at[n] == '=' && memcmp(at, name, n) == 0)
			return (struct skep_str){ at + n + 1, (uint32_t)(len - n - 1), (uint32_t)(len - n - 1) };
		at += len + 1;
	}
	return (struct skep_str){ 0 };
}

struct skep_str task_name(const struct skep_str *value, char room[TASK_NAME_MOST])
{
	uint32_t len = (uint32_t)skep_utf8_cut(value->ptr, value->len, TASK_NAME_MOST);

	for (uint32_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value->ptr[i];

		room[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	return (struct skep_str){ room, len, len };
}
