/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/spooler.c - the spool's thread, with a queue of jobs to run and a queue of jobs that are done.
 */
#include "core/delivery/spooler.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/magic.h"
#include "core/base/log.h"

struct queue {
	struct spooler_job *first, **last;
};

#define MAGIC_spooler 0x59001e20u
struct spooler {
	uint32_t magic;
	char *path;
	int lock_fd;
	struct spool_limits limits;
	struct spool_db *db;     /* the thread's */
	struct spool_code *code; /* the thread's */
	atomic_uint replaced;
	uv_thread_t thread;
	uv_mutex_t lock;
	uv_cond_t wake;
	uv_async_t async;
	struct queue there, back; /* under lock */
	bool ending;              /* under lock */
	bool started;
	size_t under_way;
	void (*closed)(void *);
	void *arg;
};

static void put(struct queue *q, struct spooler_job *job)
{
	job->next = NULL;
	*q->last = job;
	q->last = &job->next;
}

static struct spooler_job *take(struct queue *q)
{
	struct spooler_job *job = q->first;

	if (job) {
		q->first = job->next;
		if (!q->first)
			q->last = &q->first;
	}
	return job;
}

static void run(void *arg)
{
	struct spooler *s = MAGIC_OBJECT(spooler, arg);

	uv_mutex_lock(&s->lock);
	for (;;) {
		struct spooler_job *job = take(&s->there);

		if (job) {
			uv_mutex_unlock(&s->lock);
			job->work(job, s->db, s->code);
			uv_mutex_lock(&s->lock);
			put(&s->back, job);
			uv_async_send(&s->async);
		} else if (s->ending) {
			break;
		} else {
			uv_cond_wait(&s->wake, &s->lock);
		}
	}
	uv_mutex_unlock(&s->lock);
	s->db = spool_db_close(s->db); /* SQLite copies the write-ahead log into the file */
}

static void on_back(uv_async_t *async)
{
	struct spooler *s = MAGIC_OBJECT(spooler, async->data);

	for (;;) {
		struct spooler_job *job;

		uv_mutex_lock(&s->lock);
		job = take(&s->back);
		uv_mutex_unlock(&s->lock);
		if (!job)
			return;
		s->under_way--;
		job->done(job);
	}
}

static void spooler_free(struct spooler *s)
{
	uv_mutex_destroy(&s->lock);
	uv_cond_destroy(&s->wake);
	spool_db_close(s->db);
	spool_code_free(s->code);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	free(s->path);
	free(s);
}

static void on_closed(uv_handle_t *handle)
{
	struct spooler *s = MAGIC_OBJECT(spooler, handle->data);
	void (*closed)(void *) = s->closed;
	void *arg = s->arg;

	spooler_free(s);
	if (closed)
		closed(arg);
}

/* Renames a file that is damaged, or of another version, and creates a new one.  why: the cause. */
static int anew(struct spooler *s, char *why, size_t why_size)
{
	char aside[4096], cause[256];
	int err = spool_db_quarantine(s->path, aside, sizeof(aside));

	snprintf(cause, sizeof(cause), "%s", why);
	if (err < 0) {
		snprintf(why, why_size, "it cannot be read (%s) and cannot be renamed: %s", cause, strerror(-err));
		return err;
	}
	err = spool_db_open(s->path, &s->limits, &s->db, why, why_size);
	if (err == 0)
		log_error(
			"spool %s cannot be read (%s): renamed it to %s and began a new one; "
			"`skep spool recover` reads the intact batches",
			s->path, cause, aside);
	return err;
}

int spooler_new(uv_loop_t *loop, const char *path, const struct spool_limits *limits, struct spooler **ret, char *why,
		size_t why_size)
{
	struct spooler *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	*ret = NULL;
	snprintf(why, why_size, "no memory");
	if (!s)
		return -ENOMEM;
	s->magic = MAGIC_spooler;
	s->lock_fd = -1;
	s->limits = *limits;
	s->there.last = &s->there.first;
	s->back.last = &s->back.first;
	if (uv_mutex_init(&s->lock) != 0) {
		free(s);
		return -ENOMEM;
	}
	if (uv_cond_init(&s->wake) != 0) {
		uv_mutex_destroy(&s->lock);
		free(s);
		return -ENOMEM;
	}
	s->path = strdup(path);
	s->code = spool_code_new();
	if (s->path && s->code) {
		err = spool_db_lock(path, &s->lock_fd);
		snprintf(why, why_size, "%s", err == -EBUSY ? "it is in use by another skepd" : strerror(-err));
	}
	if (err == 0)
		err = spool_db_open(path, limits, &s->db, why, why_size);
	if (err == -EBADMSG)
		err = anew(s, why, why_size);
	if (err == 0)
		err = uv_async_init(loop, &s->async, on_back);
	if (err < 0) {
		spooler_free(s);
		return err;
	}
	s->async.data = s;
	*ret = s;
	return 0;
}

struct spool_db *spooler_db(struct spooler *s)
{
	return s->db;
}

int spooler_start(struct spooler *s)
{
	sigset_t all, before;
	int err;

	/* The new thread inherits a mask that blocks all signals: the loop handles them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = uv_thread_create(&s->thread, run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	s->started = err == 0;
	return err;
}

void spooler_post(struct spooler *s, struct spooler_job *job)
{
	s->under_way++;
	uv_mutex_lock(&s->lock);
	put(&s->there, job);
	uv_cond_signal(&s->wake);
	uv_mutex_unlock(&s->lock);
}

size_t spooler_under_way(const struct spooler *s)
{
	return s->under_way;
}

struct spool_db *spooler_replace(struct spooler *s)
{
	uint64_t last = s->db ? spool_last_id(s->db) : 0;
	char why[256];
	int err;

	snprintf(why, sizeof(why), "%s", s->db && spool_why(s->db)[0] ? spool_why(s->db) : "it is damaged");
	s->db = spool_db_close(s->db);
	atomic_fetch_add(&s->replaced, 1); /* also when anew() fails: sinks have lost the old file's batches */
	err = anew(s, why, sizeof(why));
	if (err < 0) {
		log_error("spool %s: %s; "
			  "until the next start, skepd keeps batches that sinks cannot accept at once in memory only",
			  s->path, why);
		return NULL;
	}
	spool_ids_after(s->db, last);
	return s->db;
}

unsigned spooler_replaced(const struct spooler *s)
{
	return atomic_load(&s->replaced);
}

void spooler_close(struct spooler *s, void (*done)(void *arg), void *arg)
{
	s->closed = done;
	s->arg = arg;
	if (s->started) {
		uv_mutex_lock(&s->lock);
		s->ending = true;
		uv_cond_signal(&s->wake);
		uv_mutex_unlock(&s->lock);
		uv_thread_join(&s->thread);
	}
	uv_close((uv_handle_t *)&s->async, on_closed);
}
