/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/run.c - the list of runs, a table by id, and their record.
 */
#include "core/process/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/process/ledger.h"
#include "core/base/clock.h"
#include "core/base/unique.h"

void run_id_new(char ret[RUN_ID_SIZE])
{
	time_t now = time(NULL);
	struct tm tm;

	if (!gmtime_r(&now, &tm))
		memset(&tm, 0, sizeof(tm));
	if (strftime(ret, RUN_ID_SIZE, "%Y%m%dT%H%M%S", &tm) != 15) /* the year has not four digits */
		memcpy(ret, "00000000T000000", 16);
	/* cron begins sessions on all hosts in the same second: 64 random bits keep their ids apart. */
	snprintf(ret + 15, RUN_ID_SIZE - 15, "-%016" PRIx64, unique_u64());
}

static int copy_argv(struct run *r, const char *const *argv, size_t total)
{
	size_t len = 0;

	for (size_t i = 0; argv && argv[i]; i++)
		len += strlen(argv[i]) + 1;
	if (len > UINT32_MAX)
		return -E2BIG;
	r->argv = malloc(len + 1);
	if (!r->argv)
		return -ENOMEM;
	len = 0;
	for (size_t i = 0; argv && argv[i]; i++) {
		size_t n = strlen(argv[i]) + 1;

		memcpy(r->argv + len, argv[i], n);
		len += n;
	}
	r->argv_len = (uint32_t)len;
	r->argv_total = total > len && total <= UINT32_MAX ? (uint32_t)total : 0;
	return 0;
}

int run_argv(struct run *r, const char *argv, size_t len)
{
	char *copy = len <= UINT32_MAX ? malloc(len) : NULL;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, argv, len);
	free(r->argv);
	r->argv = copy;
	r->argv_len = (uint32_t)len;
	return 0;
}

int run_set(char **text, const struct skep_str *to)
{
	char *copy = strndup(to->ptr, to->len);

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

int run_engine(struct run *r, const char *engine, enum recognizer_class class)
{
	struct skep_str text = text_str(engine);

	r->class = class;
	return run_set(&r->engine, &text);
}

static struct run **bucket(struct run **by_id, size_t n, const struct skep_hash_key *key, const char *id)
{
	return &by_id[skep_hash(key, id, strlen(id)) & (n - 1)];
}

/* 0 or -ENOMEM.  A table that cannot grow works with longer chains. */
static int make_room(struct runs *runs)
{
	size_t n = runs->by_id ? runs->n_buckets * 2 : 64;
	struct run **by_id;

	if (runs->by_id && runs->n < runs->n_buckets)
		return 0;
	by_id = calloc(n, sizeof(struct run *));
	if (!by_id)
		return runs->by_id ? 0 : -ENOMEM;
	if (!runs->by_id)
		runs->key = skep_hash_key_new();
	for (struct run *r = runs->first; r; r = r->next) {
		struct run **at = bucket(by_id, n, &runs->key, r->id);

		r->id_next = *at;
		*at = r;
	}
	free(runs->by_id);
	runs->by_id = by_id;
	runs->n_buckets = n;
	return 0;
}

static void out_of_table(struct runs *runs, const struct run *r)
{
	struct run **at = bucket(runs->by_id, runs->n_buckets, &runs->key, r->id);

	while (*at != r)
		at = &(*at)->id_next;
	*at = r->id_next;
	if (--runs->n > 0)
		return;
	free(runs->by_id);
	runs->by_id = NULL;
}

static void destroy(struct runs *runs, struct run *r)
{
	saved_forget(runs->forgotten, &r->saved);
	containment_clear(&r->contained, runs->intern);
	ledger_mark_free(r->books);
	free(r->id);
	free(r->name);
	free(r->pipeline);
	free(r->cwd);
	free(r->traceparent);
	free(r->engine);
	free(r->parent);
	free(r->job);
	free(r->account);
	free(r->key);
	attempts_free(r->attempts);
	free(r->argv);
	free(r);
}

int run_new(struct runs *runs, const struct run_spec *spec, uint64_t now_ns, struct run **ret)
{
	struct run *r, **at;
	const struct run *around;
	int err;

	if (!spec->id || !*spec->id)
		return -EINVAL;
	if (run_find(runs, spec->id))
		return -EEXIST;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->id = strdup(spec->id);
	r->name = strdup(spec->name ? spec->name : "");
	r->pipeline = strdup(spec->pipeline ? spec->pipeline : "");
	r->cwd = strdup(spec->cwd ? spec->cwd : "");
	r->traceparent = strdup(spec->traceparent ? spec->traceparent : "");
	r->engine = strdup("");
	r->parent = strdup(spec->parent ? spec->parent : "");
	r->job = strdup("");
	r->account = strdup("");
	r->key = strdup("");
	err = copy_argv(r, spec->argv, spec->argv_total);
	if (err == 0 && !(r->id && r->name && r->pipeline && r->cwd && r->traceparent && r->engine && r->parent &&
			  r->job && r->account && r->key))
		err = -ENOMEM;
	if (err == 0)
		err = make_room(runs);
	if (err < 0) {
		destroy(runs, r);
		return err;
	}
	r->root_pid = spec->root;
	r->root_ticks = spec->root_ticks;
	r->uid = r->payer = r->owner = spec->uid;
	r->gid = spec->gid;
	r->stranger = spec->stranger;
	r->start_ns = now_ns;
	around = run_find(runs, r->parent);
	r->realtime_offset_ns = around ? around->realtime_offset_ns : clock_realtime_offset_ns();
	r->status = -1;
	r->next = runs->first;
	runs->first = r;
	at = bucket(runs->by_id, runs->n_buckets, &runs->key, r->id);
	r->id_next = *at;
	*at = r;
	runs->n++;
	*ret = r;
	return 0;
}

void run_free(struct runs *runs, struct run *r)
{
	for (struct run **at = &runs->first; *at; at = &(*at)->next)
		if (*at == r) {
			*at = r->next;
			out_of_table(runs, r);
			break;
		}
	destroy(runs, r);
}

struct run *run_ref(struct run *r)
{
	if (r)
		r->refs++;
	return r;
}

void run_unref(struct run *r)
{
	if (r)
		r->refs--;
}

void runs_reap(struct runs *runs)
{
	struct run **at = &runs->first;

	while (*at) {
		struct run *r = *at;

		if (!r->ended || r->refs > 0) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		out_of_table(runs, r);
		destroy(runs, r);
	}
}

struct run *run_find(const struct runs *runs, const char *id)
{
	struct run *r = runs->by_id ? *bucket(runs->by_id, runs->n_buckets, &runs->key, id) : NULL;

	while (r && strcmp(r->id, id) != 0)
		r = r->id_next;
	return r;
}

struct run *run_of_key(const struct runs *runs, const char *engine, const struct skep_str *key, uint32_t uid)
{
	for (struct run *r = runs->first; r && key->len > 0; r = r->next)
		if (!r->ended && r->key_uid == uid && strlen(r->key) == key->len &&
		    memcmp(r->key, key->ptr, key->len) == 0 && strcmp(r->engine, engine) == 0)
			return r;
	return NULL;
}

struct run *run_of_job(const struct runs *runs, uint32_t group, uint32_t session)
{
	for (struct run *r = runs->first; r; r = r->next)
		if (!r->ended && r->job_group == group && r->job_session == session)
			return r;
	return NULL;
}

struct run *run_only(const struct runs *runs)
{
	struct run *only = NULL;

	for (struct run *r = runs->first; r; r = r->next) {
		if (r->ended)
			continue;
		if (only)
			return NULL;
		only = r;
	}
	return only;
}

void run_decode_status(uint32_t status, int64_t *ret_code, uint64_t *ret_signal, bool *ret_core)
{
	*ret_signal = status & 0x7f;
	*ret_core = (status & 0x80) != 0;
	*ret_code = *ret_signal ? -1 : (int64_t)(status >> 8 & 0xff);
}

const char *run_origin(const struct run *r)
{
	if (!r->found)
		return "command";
	return r->engine[0] ? recognizer_class_name(r->class) : r->job_group ? "shell" : "session";
}

void run_record(const struct run *r, struct record_run *ret)
{
	uint64_t memory = r->pss_peak_bytes ? r->pss_peak_bytes : r->rss_peak_bytes;
	struct contained in;
	bool core;

	if (r->largest_bytes > memory)
		memory = r->largest_bytes;
	*ret = (struct record_run){
		.run = text_str(r->id),
		.name = text_str(r->name),
		.pipeline = text_str(r->pipeline),
		.state = text_str(r->ended ? "ended" : "running"),
		.argv = { r->argv, r->argv_len, r->argv_total > r->argv_len ? r->argv_total : r->argv_len },
		.cwd = text_str(r->cwd),
		.root_upid = r->root,
		.uid = r->uid,
		.start_ns = r->start_ns,
		.end_ns = r->ended ? r->end_ns : 0,
		.exit_code = -1,
		.memory_peak_bytes = memory,
		.memory_source = text_str(!memory                      ? ""
						  : memory == r->largest_bytes ? "process"
						  : r->pss_peak_bytes	       ? "pss"
									       : "rss"),
		.processes_seen = r->seen,
		.rusage_cpu_ns = r->rusage_cpu_ns,
		.traceparent = text_str(r->traceparent),
		.origin = text_str(run_origin(r)),
		.engine = text_str(r->engine),
		.parent_run = text_str(r->parent),
		.job = text_str(r->job),
		.account = text_str(r->account),
		.join_key = text_str(r->key),
	};
	containment_read(&r->contained, &in);
	CONTAINED_FIELDS(&in, ret);
	if (r->status >= 0)
		run_decode_status((uint32_t)r->status, &ret->exit_code, &ret->signal, &core);
}

void run_largest(struct run *r, uint64_t peak_bytes)
{
	if (peak_bytes > r->largest_bytes)
		r->largest_bytes = peak_bytes;
	if (peak_bytes > r->rss_peak_bytes)
		r->rss_peak_bytes = peak_bytes;
}

void run_sampled(struct run *r)
{
	if (r->rss_bytes > r->rss_peak_bytes)
		r->rss_peak_bytes = r->rss_bytes;
}

void run_context(const struct run *run, struct skep_context *ret)
{
	*ret = (struct skep_context) { .size = sizeof(*ret),
				       .payer = run->payer,
				       .run = text_str(run->id),
				       .pipeline = text_str(run->pipeline),
				       .realtime_offset_ns = run->realtime_offset_ns };
}
