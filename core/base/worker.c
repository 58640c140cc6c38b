/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/worker.c - the threads, a queue of jobs to them and a queue of results back.
 */
#include "core/base/magic.h"
#include "core/base/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define IDLE_NS 20000000000ull

struct queue {
	struct worker_job *first, **last;
};

#define MAGIC_workers 0x30248e45u
struct workers {
	uint32_t magic;
	char name[16];
	atomic_uint refs; /* one reference of the loop, and one of each thread */
	uv_async_t async;
	size_t under_way; /* jobs posted and not done; loop thread */
	uv_mutex_t lock;
	uv_cond_t wake;
	/* under lock */
	struct queue there, running, back; /* running: in the order in which they began */
	unsigned threads, idle, queued;
	bool closing;
};

static void put(struct queue *q, struct worker_job *job)
{
	job->next = NULL;
	*q->last = job;
	q->last = &job->next;
}

static void take_out(struct queue *q, struct worker_job *job)
{
	struct worker_job **at = &q->first;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	if (q->last == &job->next)
		q->last = at;
}

static void unref(struct workers *w)
{
	if (atomic_fetch_sub(&w->refs, 1) > 1)
		return;
	uv_cond_destroy(&w->wake);
	uv_mutex_destroy(&w->lock);
	free(w);
}

/* Runs a job.  The caller holds the lock; the thread releases it during the call. */
static void run_one(struct workers *w, struct worker_job *job)
{
	take_out(&w->there, job);
	w->queued--;
	job->began_ns = uv_hrtime();
	put(&w->running, job);
	uv_mutex_unlock(&w->lock);
	job->work(job);
	uv_mutex_lock(&w->lock);
	take_out(&w->running, job);
	if (w->closing) { /* the loop accepts no more results */
		job->gone(job);
		return;
	}
	put(&w->back, job);
	uv_async_send(&w->async);
}

static void *thread(void *arg)
{
	struct workers *w = MAGIC_OBJECT(workers, arg);
	bool idled = false;

	pthread_setname_np(pthread_self(), w->name);
	uv_mutex_lock(&w->lock);
	for (;;) {
		if (w->there.first) {
			run_one(w, w->there.first);
			idled = false;
			continue;
		}
		if (w->closing || idled)
			break;
		w->idle++;
		idled = uv_cond_timedwait(&w->wake, &w->lock, IDLE_NS) == UV_ETIMEDOUT;
		w->idle--;
	}
	w->threads--;
	uv_mutex_unlock(&w->lock);
	unref(w);
	return NULL;
}

static void on_back(uv_async_t *async)
{
	struct workers *w = MAGIC_OBJECT(workers, async->data);
	struct worker_job *job, *next;

	uv_mutex_lock(&w->lock);
	job = w->back.first;
	w->back = (struct queue){ .last = &w->back.first };
	uv_mutex_unlock(&w->lock);
	for (; job; job = next) {
		next = job->next;
		/* An idle instance must not keep the loop alive.  A done callback may post again. */
		if (--w->under_way == 0)
			uv_unref((uv_handle_t *)async);
		job->done(job);
	}
}

int workers_new(uv_loop_t *loop, const char *name, struct workers **ret)
{
	struct workers *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->magic = MAGIC_workers;
	snprintf(w->name, sizeof(w->name), "%s", name);
	atomic_init(&w->refs, 1);
	w->there.last = &w->there.first;
	w->running.last = &w->running.first;
	w->back.last = &w->back.first;
	err = uv_mutex_init(&w->lock);
	if (err < 0)
		goto delivery_free;
	err = uv_cond_init(&w->wake);
	if (err < 0)
		goto out_lock;
	err = uv_async_init(loop, &w->async, on_back);
	if (err < 0)
		goto out_wake;
	w->async.data = w;
	uv_unref((uv_handle_t *)&w->async);
	*ret = w;
	return 0;
out_wake:
	uv_cond_destroy(&w->wake);
out_lock:
	uv_mutex_destroy(&w->lock);
delivery_free:
	free(w);
	return err;
}

/* Detached: a thread whose call never returns cannot be joined. */
static int start_thread(struct workers *w)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t id;
	int err;

	err = -pthread_attr_init(&attr);
	if (err < 0)
		return err;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	atomic_fetch_add(&w->refs, 1);
	/* Only the loop's thread receives signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&id, &attr, thread, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (err < 0)
		atomic_fetch_sub(&w->refs, 1);
	return err;
}

int workers_post(struct workers *w, struct worker_job *job)
{
	int err = 0;

	uv_mutex_lock(&w->lock);
	put(&w->there, job);
	w->queued++;
	if (w->queued <= w->idle) {
		uv_cond_signal(&w->wake);
	} else if (w->threads < WORKER_THREADS) {
		err = start_thread(w);
		if (err == 0)
			w->threads++;
		else if (w->threads > 0)
			err = 0; /* a thread that works now runs it later */
	}
	if (err < 0) {
		take_out(&w->there, job);
		w->queued--;
	}
	uv_mutex_unlock(&w->lock);
	if (err == 0 && w->under_way++ == 0)
		uv_ref((uv_handle_t *)&w->async);
	return err;
}

uint64_t workers_oldest_ns(struct workers *w)
{
	uint64_t age = 0;

	uv_mutex_lock(&w->lock);
	if (w->running.first) {
		age = uv_hrtime() - w->running.first->began_ns;
		age += age == 0;
	}
	uv_mutex_unlock(&w->lock);
	return age;
}

static void on_closed(uv_handle_t *handle)
{
	unref(handle->data);
}

static void drop(struct queue *q)
{
	while (q->first) {
		struct worker_job *job = q->first;

		take_out(q, job);
		job->gone(job);
	}
}

struct workers *workers_close(struct workers *w)
{
	if (!w)
		return NULL;
	uv_mutex_lock(&w->lock);
	w->closing = true;
	drop(&w->there);
	drop(&w->back);
	w->queued = 0;
	uv_cond_broadcast(&w->wake);
	uv_mutex_unlock(&w->lock);
	uv_close((uv_handle_t *)&w->async, on_closed);
	return NULL;
}
