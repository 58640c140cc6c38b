/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/asker.c - the thread.
 */
#include "asker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <skep/values.h>
#include <stdlib.h>
#include <time.h>

#define STACK (64u * 1024)

struct asker {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	asker_call call;
	/* under the lock; the questions too, but for the one that is being asked */
	bool busy, leave, left_behind;
	uint32_t n, answered;
	uint64_t since_ns;
	struct question question[MOUNT_MOST];
};

static void asker_free(struct asker *a)
{
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* With the lock held, given up while it asks. */
static void round_of(struct asker *a)
{
	while (a->answered < a->n && !a->leave) {
		struct question *q = &a->question[a->answered];
		int err;

		a->since_ns = skep_boot_ns();
		pthread_mutex_unlock(&a->lock);
		err = a->call(q->path, &q->space) ? -errno : 0;
		pthread_mutex_lock(&a->lock);
		q->err = err;
		q->at_ns = skep_boot_ns();
		a->answered++;
	}
	a->busy = false;
}

static void *thread(void *arg)
{
	struct asker *a = arg;
	bool left_behind;

	pthread_mutex_lock(&a->lock);
	while (!a->leave) {
		if (a->busy)
			round_of(a);
		else
			pthread_cond_wait(&a->wake, &a->lock);
	}
	a->busy = false;
	left_behind = a->left_behind;
	pthread_mutex_unlock(&a->lock);
	if (left_behind) /* nobody else has it any more */
		asker_free(a);
	return NULL;
}

int asker_new(asker_call call, struct asker **ret)
{
	struct asker *a = calloc(1, sizeof(*a));
	pthread_attr_t attr;
	sigset_t all, before;
	int err;

	if (!a)
		return -ENOMEM;
	a->call = call;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->wake, NULL);
	err = -pthread_attr_init(&attr);
	if (err)
		goto out;
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* the host's signals are for its own threads */
	err = -pthread_create(&a->thread, &attr, thread, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (err)
		goto out;
	*ret = a;
	return 0;
out:
	asker_free(a);
	return err;
}

struct question *asker_questions(struct asker *a)
{
	return a->question;
}

void asker_go(struct asker *a, uint32_t n)
{
	pthread_mutex_lock(&a->lock);
	a->n = n;
	a->answered = 0;
	a->since_ns = skep_boot_ns();
	a->busy = n > 0;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
}

bool asker_busy(struct asker *a, uint32_t *ret_answered, uint64_t *ret_since_ns)
{
	bool busy;

	pthread_mutex_lock(&a->lock);
	busy = a->busy;
	*ret_answered = a->answered;
	*ret_since_ns = a->since_ns;
	pthread_mutex_unlock(&a->lock);
	return busy;
}

void asker_give_up(struct asker *a)
{
	pthread_mutex_lock(&a->lock);
	a->leave = true;
	pthread_mutex_unlock(&a->lock);
}

void asker_leave(struct asker *a)
{
	pthread_t id;
	bool asking;

	if (!a)
		return;
	id = a->thread; /* once it is left behind it may be gone at any time */
	pthread_mutex_lock(&a->lock);
	asking = a->busy;
	a->leave = true;
	a->left_behind = asking;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
	if (asking) {
		pthread_detach(id);
		return;
	}
	pthread_join(id, NULL);
	asker_free(a);
}
