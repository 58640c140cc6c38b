/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/statvfs_thread.c - a thread that calls statvfs(), and that its owner can abandon.
 */
#include "statvfs_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <skep/clock.h>
#include <stdlib.h>

#define STACK (64u * 1024)

struct statvfs_thread {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	statvfs_call call;
	/* under the lock, as is request[], except the request whose call is running */
	bool busy, leave, abandoned;
	uint32_t n, answered;
	uint64_t since_ns;
	struct statvfs_request request[MOUNT_MOST];
};

static void statvfs_thread_free(struct statvfs_thread *t)
{
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* Called with the lock held; drops the lock during each call. */
static void round_of(struct statvfs_thread *t)
{
	while (t->answered < t->n && !t->leave) {
		struct statvfs_request *r = &t->request[t->answered];
		int err;

		t->since_ns = skep_boot_ns();
		pthread_mutex_unlock(&t->lock);
		err = t->call(r->path, &r->space) ? -errno : 0;
		pthread_mutex_lock(&t->lock);
		r->err = err;
		r->at_ns = skep_boot_ns();
		t->answered++;
	}
	t->busy = false;
}

static void *thread(void *arg)
{
	struct statvfs_thread *t = arg;
	bool abandoned;

	pthread_mutex_lock(&t->lock);
	while (!t->leave) {
		if (t->busy)
			round_of(t);
		else
			pthread_cond_wait(&t->wake, &t->lock);
	}
	t->busy = false;
	abandoned = t->abandoned;
	pthread_mutex_unlock(&t->lock);
	if (abandoned) /* this thread is the last owner */
		statvfs_thread_free(t);
	return NULL;
}

int statvfs_thread_new(statvfs_call call, struct statvfs_thread **ret)
{
	struct statvfs_thread *t = calloc(1, sizeof(*t));
	pthread_attr_t attr;
	sigset_t all, before;
	int err;

	if (!t)
		return -ENOMEM;
	t->call = call;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->wake, NULL);
	err = -pthread_attr_init(&attr);
	if (err)
		goto out;
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* the plugin host's signals are for its own threads */
	err = -pthread_create(&t->thread, &attr, thread, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (err)
		goto out;
	*ret = t;
	return 0;
out:
	statvfs_thread_free(t);
	return err;
}

struct statvfs_request *statvfs_thread_requests(struct statvfs_thread *t)
{
	return t->request;
}

void statvfs_thread_begin(struct statvfs_thread *t, uint32_t n)
{
	pthread_mutex_lock(&t->lock);
	t->n = n;
	t->answered = 0;
	t->since_ns = skep_boot_ns();
	t->busy = n > 0;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

bool statvfs_thread_busy(struct statvfs_thread *t, uint32_t *ret_answered, uint64_t *ret_since_ns)
{
	bool busy;

	pthread_mutex_lock(&t->lock);
	busy = t->busy;
	*ret_answered = t->answered;
	*ret_since_ns = t->since_ns;
	pthread_mutex_unlock(&t->lock);
	return busy;
}

void statvfs_thread_abandon(struct statvfs_thread *t)
{
	pthread_mutex_lock(&t->lock);
	t->leave = true;
	pthread_mutex_unlock(&t->lock);
}

void statvfs_thread_end(struct statvfs_thread *t)
{
	pthread_t id;
	bool asking;

	if (!t)
		return;
	id = t->thread; /* an abandoned thread may free *t at any time */
	pthread_mutex_lock(&t->lock);
	asking = t->busy;
	t->leave = true;
	t->abandoned = asking;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	if (asking) {
		pthread_detach(id);
		return;
	}
	pthread_join(id, NULL);
	statvfs_thread_free(t);
}
