/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/users.c - looks up and stores the names of uids and gids. It also stores that an id has no
 * name: hosts with user namespaces have thousands of such ids.
 */
#include "core/identify/users.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/worker.h"

#define BUCKETS 1024u
#define MOST 16384u      /* stored ids; a full table starts empty again */
#define ASKED_MOST \
	64u /* look-ups at a time; an id beyond this limit waits until a rule needs it again */
#define AGAIN_NS 60000000000ull /* after a failed look-up; a look-up that finds no name has not failed */
#define POLL_NS 100000u
#define WAIT_EACH_SECOND_NS 50000000u
#define ROOM_FIRST 1024u
#define ROOM_MOST (1u << 20) /* for groups, which list their members */

struct entry {
	struct entry *next;
	char *name; /* NULL: no name, or not known yet */
	uint64_t again_ns; /* earliest repetition after a failed look-up; 0: the look-up did not fail */
	uint32_t id;
	bool group, asking, stale;
};

/* A look-up. Its thread uses only this struct: the thread may return after the rest is freed. */
struct ask {
	struct worker_job job;
	struct users *users;
	int (*source)(uint32_t id, bool group, char **ret);
	uint32_t id;
	bool group;
	char *name; /* owned by the thread until `ready` is set */
	int err;
	bool taken; /* the caller has waited for the answer and has it; `asking` no longer counts this look-up */
	atomic_bool ready;
};

struct users {
	struct entry *buckets[BUCKETS];
	size_t n;
	uv_loop_t *loop; /* NULL: look-ups block */
	struct workers *workers;
	bool stopped;
	unsigned asking;
	bool refused; /* a look-up exceeded ASKED_MOST */
	uint64_t second_ns, waited_ns; /* since second_ns callers have waited for waited_ns */
	void (*changed)(void *arg);
	void *arg;
};

static int host_source(uint32_t id, bool group, char **ret);
int (*users_source)(uint32_t id, bool group, char **ret) = host_source;

struct users *users_new(uv_loop_t *loop, void (*changed)(void *arg), void *arg)
{
	struct users *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->loop = loop;
	u->changed = changed;
	u->arg = arg;
	return u;
}

static void clear(struct users *u)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		while (u->buckets[i]) {
			struct entry *next = u->buckets[i]->next;

			free(u->buckets[i]->name);
			free(u->buckets[i]);
			u->buckets[i] = next;
		}
	u->n = 0;
}

void users_stop(struct users *u)
{
	u->stopped = true;
	u->workers = workers_close(u->workers);
}

struct users *users_free(struct users *u)
{
	if (!u)
		return NULL;
	users_stop(u);
	clear(u);
	free(u);
	return NULL;
}

void users_forget(struct users *u)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct entry *e = u->buckets[i]; e; e = e->next)
			e->stale = true;
}

uint64_t users_late_ns(struct users *u)
{
	return u->workers ? workers_oldest_ns(u->workers) : 0;
}

/* ---- look-ups ---------------------------------------------------------------------- */

/* 0 with *ret NULL: the id has no name. */
static int ask_host(uint32_t id, bool group, char *room, size_t size, const char **ret)
{
	struct passwd pw, *user = NULL;
	struct group gr, *found = NULL;
	int err = group ? getgrgid_r(id, &gr, room, size, &found) : getpwuid_r(id, &pw, room, size, &user);

	*ret = found ? gr.gr_name : user ? pw.pw_name : NULL;
	/* Some modules return these for an id that they lack, getpwnam(3). */
	return err == ENOENT || err == ESRCH ? 0 : err;
}

static int host_source(uint32_t id, bool group, char **ret)
{
	int err = ERANGE;

	*ret = NULL;
	for (size_t size = ROOM_FIRST; size <= ROOM_MOST && err == ERANGE; size *= 4) {
		const char *found = NULL;
		char *room = malloc(size);

		if (!room)
			return -ENOMEM;
		err = ask_host(id, group, room, size, &found);
		if (err == 0 && found) {
			*ret = strdup(found);
			err = *ret ? 0 : ENOMEM;
		}
		free(room);
	}
	return -err;
}

static uint64_t now(void)
{
	return uv_hrtime();
}

/* Takes ownership of the name. */
static void answered(struct users *u, struct entry *e, char *name, int err)
{
	bool differs = err == 0 && name && (!e->name || strcmp(name, e->name) != 0);

	e->asking = e->stale = false;
	e->again_ns = err < 0 ? now() + AGAIN_NS : 0;
	if (err < 0 && e->name) { /* keeps the last known name */
		free(name);
		return;
	}
	free(e->name);
	e->name = name;
	if (differs && u->changed)
		u->changed(u->arg);
}

static struct entry *lookup(struct users *u, uint32_t id, bool group)
{
	struct entry *e = u->buckets[id * 2654435761u >> 22];

	while (e && (e->id != id || e->group != group))
		e = e->next;
	return e;
}

static void ask_free(struct worker_job *job)
{
	struct ask *a = (struct ask *)job;

	free(a->name);
	free(a);
}

static void ask_work(struct worker_job *job)
{
	struct ask *a = (struct ask *)job;

	a->err = a->source(a->id, a->group, &a->name);
	atomic_store(&a->ready, true);
}

static void ask_done(struct worker_job *job)
{
	struct ask *a = (struct ask *)job;
	struct entry *e = lookup(a->users, a->id, a->group);

	/* The entry may already have another look-up, whose answer is still to come. */
	if (a->taken) {
		ask_free(job);
		return;
	}
	a->users->asking--;
	if (e && e->asking) {
		answered(a->users, e, a->name, a->err);
		a->name = NULL;
	}
	if (a->users->refused && a->users->asking == 0) {
		a->users->refused = false;
		if (a->users->changed)
			a->users->changed(a->users->arg);
	}
	ask_free(job);
}

/* Waits briefly for the answer. Does not call `changed`: the caller itself gets the new name. */
static void wait_for(struct users *u, struct entry *e, struct ask *a)
{
	const struct timespec moment = { .tv_nsec = POLL_NS };
	uint64_t begin = now(), at = begin;

	if (begin - u->second_ns >= 1000000000u) {
		u->second_ns = begin;
		u->waited_ns = 0;
	}
	if (u->asking > 1 || u->waited_ns >= WAIT_EACH_SECOND_NS)
		return; /* the source is slow */
	for (; !atomic_load(&a->ready) && at - begin < USERS_WAIT_NS; at = now())
		nanosleep(&moment, NULL);
	u->waited_ns += at - begin;
	if (!atomic_load(&a->ready))
		return;
	a->taken = true;
	u->asking--;
	e->asking = e->stale = false;
	e->again_ns = a->err < 0 ? now() + AGAIN_NS : 0;
	if (a->err == 0 || !e->name) {
		free(e->name);
		e->name = a->name;
		a->name = NULL;
	}
}

static void ask(struct users *u, struct entry *e)
{
	struct ask *a;

	if (!u->loop) {
		char *name = NULL;
		int err = users_source(e->id, e->group, &name);

		answered(u, e, name, err);
		return;
	}
	if (u->asking >= ASKED_MOST)
		u->refused = true;
	if (u->stopped || u->asking >= ASKED_MOST || (!u->workers && workers_new(u->loop, "names", &u->workers) < 0))
		return;
	a = calloc(1, sizeof(*a));
	if (!a)
		return;
	a->job = (struct worker_job){ .work = ask_work, .done = ask_done, .gone = ask_free };
	a->users = u;
	a->source = users_source;
	a->id = e->id;
	a->group = e->group;
	if (workers_post(u->workers, &a->job) < 0) {
		free(a);
		return;
	}
	e->asking = true;
	u->asking++;
	wait_for(u, e, a);
}

static const char *find(struct users *u, uint32_t id, bool group)
{
	struct entry *e = lookup(u, id, group), **at;

	if (!e) {
		if (u->n >= MOST)
			/*
			 * look-ups in progress then find no entry, and their answers are dropped
			 *
			 */
			clear(u);
		e = calloc(1, sizeof(*e));
		if (!e)
			return NULL;
		*e = (struct entry){ .id = id, .group = group, .stale = true };
		at = &u->buckets[id * 2654435761u >> 22];
		e->next = *at;
		*at = e;
		u->n++;
	}
	if (!e->asking && (e->stale || (e->again_ns && now() >= e->again_ns)))
		ask(u, e);
	return e->name;
}

const char *users_user(struct users *u, uint32_t uid)
{
	return find(u, uid, false);
}

const char *users_group(struct users *u, uint32_t gid)
{
	return find(u, gid, true);
}
