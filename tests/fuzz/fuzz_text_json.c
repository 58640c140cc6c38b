/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_text_json.c - any bytes as JSON (file, http, kafka; the control socket), and in what a skepd saves
 * for the next one: the spool's batches, and the lines of processes, runs and tasks.
 */
#include <jansson.h>
#include <skep/sink/record_json.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/process/saved.h"
#include "core/collect/collector.h"
#include "core/control/control_record.h"
#include "core/base/log.h"
#include "core/process/track_priv.h"
#include "spool/code.h"
#include "tests/fuzz/fuzz_text.h"
#include "tests/unit/track_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_json(const struct skep_record *r)
{
	struct jsonw j = { 0 };
	json_t *read, *answer;

	skep_record_json(&j, r, BOOT, 0, RECORD_JSON_ENVELOPE);
	must(j.err == 0, "no memory");
	read = json_loadb(j.buf, j.len, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
	must(json_is_object(read), "a record's JSON is refused");
	answer = control_record(r, BOOT, 0);
	must(json_equal(read, answer), "the control socket's record differs");
	json_decref(answer);
	json_decref(read);
	skep_jsonw_free(&j);
}

/* ---- the spool ------------------------------------------------------------------------ */

static int on_head(void *arg, const struct spool_head *head)
{
	(void)arg;
	(void)head;
	return 0;
}

static int on_stream(void *arg, const struct skep_stream *stored, const struct skep_stream **ret)
{
	(void)arg;
	*ret = stored;
	return 0;
}

static void must_be_same(struct skep_str a, struct skep_str b, const char *where)
{
	must(a.len == b.len && a.total == b.total && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0), where);
}

static int on_record(void *arg, const struct skep_stream *s, const struct skep_upid *who, uint64_t time_ns,
		     const void *data, const struct skep_context *context)
{
	const struct skep_record *r = arg;
	struct skep_str was, is;

	(void)who;
	(void)time_ns;
	for (uint32_t i = 0; i < 8; i++) {
		memcpy(&was, (const char *)r->data + any_fields[i].offset, sizeof(was));
		memcpy(&is, (const char *)data + s->fields[i].offset, sizeof(is));
		must_be_same(was, is, "the spool changes a text");
	}
	must_be_same(r->context->run, context->run, "the spool changes a run");
	must_be_same(r->context->task, context->task, "the spool changes a task");
	return 0;
}

static void through_the_spool(const struct skep_record *r)
{
	static const struct spool_taker taker = { on_head, on_stream, on_record };
	const struct skep_record *records[] = { r };
	const struct skep_batch batch = { .size = sizeof(batch), .id = 1, .n = 1, .key = "k", .records = records,
					  .boot_id = "b", .host_name = "h", .kernel = "k" };
	struct spool_code *code = spool_code_new();
	const void *body;
	size_t n = 0;
	char why[128];

	must(code && spool_encode(code, &batch, &body, &n, NULL) == 0, "the spool refuses a record");
	must(spool_decode(code, body, n, &taker, (void *)(uintptr_t)r, why, sizeof(why)) == 0,
	     "the spool cannot be read");
	spool_code_free(code);
}

/* ---- processes, runs, tasks ------------------------------------------------------------- */

/* A possible name: no NUL; "x" for an empty one. To be freed. */
static char *name_of(struct skep_str s)
{
	char *name = s.len && s.ptr[0] ? strndup(s.ptr, s.len) : strdup("x");

	must(name, "no memory");
	return name;
}

static void through_a_restart(struct texts *t)
{
	char *names[4], *text = NULL, environ[300];
	struct run_spec spec = { .id = names[0] = name_of(text_next(t)),
				 .name = names[1] = name_of(text_next(t)),
				 .pipeline = names[2] = name_of(text_next(t)),
				 .cwd = names[3] = name_of(text_next(t)),
				 .root = 30 };
	struct skep_process_exec rec = { .parent = { .pid = 9, .start_ns = 4 } };
	struct fixture f, next;
	struct run *run;
	struct proc *was, *is;
	size_t size = 0;

	rec.comm = text_next(t);
	rec.exe = text_next(t);
	rec.cwd = text_next(t);
	rec.argv = text_next(t);
	snprintf(environ, sizeof(environ), "SKEP_TASK=%s", names[1]);
	rec.environ = (struct skep_str){ environ, (uint32_t)strlen(environ) + 1, (uint32_t)strlen(environ) + 1 };
	fixture_open(&f, false, 100 * SECOND);
	must(run_new(&f.track->runs, &spec, 1, &run) == 0, "no run");
	run->root = (struct skep_upid){ .pid = 30, .start_ns = 50 };
	tell_fork(&f, 100 * SECOND, 9, 4, 1, 3);
	tell_fork(&f, 100 * SECOND + 1, 30, 50, 9, 4);
	tell(&f, SKEP_ROLE_PROC_EXEC, 100 * SECOND + 2, 30, 50, &rec);
	track_sweep_begin(f.track, 100 * SECOND + 3, 100 * SECOND + 3);
	tell_live(&f, 100 * SECOND + 3, 1, 3, 0, 0, 0, 0);
	tell_live(&f, 100 * SECOND + 3, 9, 4, 1, 3, 0, 0);
	tell_live(&f, 100 * SECOND + 3, 30, 50, 9, 4, 0, 0);
	track_sweep_end(f.track, true, 100 * SECOND + 3);
	text = fixture_save(f.track, &size);
	must(f.track->stats.unsaved == 0, "something was not written");

	fixture_open(&next, false, 200 * SECOND);
	fixture_load(next.track, text, size);
	must(next.track->saved, "it cannot be read");
	saved_restore(next.track, 200 * SECOND);
	must(next.track->stats.unrestored == 0, "a line is not taken");
	run = run_find(&next.track->runs, spec.id);
	must(run && strcmp(run->name, spec.name) == 0 && strcmp(run->pipeline, spec.pipeline) == 0 &&
		     strcmp(run->cwd, spec.cwd) == 0,
	     "a run has changed");
	was = proctab_find(f.track->table, &(struct skep_upid){ .pid = 30, .start_ns = 50 });
	is = proctab_find(next.track->table, &(struct skep_upid){ .pid = 30, .start_ns = 50 });
	must(was && is, "a process has gone");
	must_be_same(intern_str(was->comm), intern_str(is->comm), "comm has changed");
	must_be_same(intern_str(was->cwd), intern_str(is->cwd), "cwd has changed");
	must_be_same(intern_str(was->program->exe), intern_str(is->program->exe), "exe has changed");
	must(was->program->argv_len == is->program->argv_len &&
		     memcmp(was->program->argv, is->program->argv, was->program->argv_len) == 0,
	     "argv has changed");
	must(!was->task == !is->task && (!was->task || strcmp(was->task->name->text, is->task->name->text) == 0),
	     "a task has changed");
	fixture_close(&next);
	fixture_close(&f);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		free(names[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct skep_upid who = { .pid = 5, .start_ns = 6 };
	struct skep_context context;
	struct any_record any;
	struct texts t;

	log_level(SKEP_LOG_ERROR - 1);
	texts_read(&t, data, size);
	for (size_t i = 0; i < N_STREAMS; i++) {
		struct skep_record r = { .size = sizeof(r),
					 .stream = &any_streams[i],
					 .upid = who,
					 .time_ns = 8,
					 .data = &any,
					 .context = &context };

		any_fill(&any, &context, &t);
		as_json(&r);
		through_the_spool(&r);
	}
	through_a_restart(&t);
	return 0;
}
