/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/sink/opening.c - opens a sink's file or store on a thread, and bounds how long start() waits for it.
 */

#include <skep/sink/opening.h>
#include <stdio.h>
#include <time.h>

#define SLEEP_FIRST_NS 50000
#define SLEEP_MOST_NS  10000000

static void opening_work(void *arg)
{
	struct opening *o = arg;

	o->err = o->open(o->arg);
	__atomic_store_n(&o->over, true, __ATOMIC_RELEASE);
}

static void opening_done(struct skep_instance *i, void *arg)
{
	struct opening *o = arg;

	if (!o->late)
		return;
	o->late = false;
	if (o->err)
		o->host->log(i, SKEP_LOG_WARNING, "%s; it is opened again with the next batch", o->why);
	else
		o->host->log(i, SKEP_LOG_NOTICE, "%s answers now; records go on", o->path);
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Sleeps in short pieces: an open takes a millisecond or two when the file system answers. */
static bool is_over_in_time(struct opening *o)
{
	struct timespec piece = { .tv_nsec = SLEEP_FIRST_NS };
	uint64_t until = monotonic_ns() + OPENING_WAIT_NS;

	while (!__atomic_load_n(&o->over, __ATOMIC_ACQUIRE)) {
		if (monotonic_ns() >= until)
			return false;
		nanosleep(&piece, NULL);
		if (piece.tv_nsec < SLEEP_MOST_NS)
			piece.tv_nsec *= 2;
	}
	return true;
}

int skep_opening_start(struct opening *o, struct skep_instance *i)
{
	int err = o->host->work(i, opening_work, opening_done, o);

	if (err)
		return o->host->fail(i, err, "cannot open %s: no worker thread starts", o->path);
	if (is_over_in_time(o))
		return o->err ? o->host->fail(i, o->err, "%s", o->why) : 0;
	o->late = true;
	o->host->log(i, SKEP_LOG_NOTICE, "%s does not answer: the server of its file system may be gone; records wait",
		     o->path);
	return 0;
}

bool skep_opening_holds(const struct opening *o, struct skep_instance *i, const struct skep_batch *batch)
{
	char why[512];

	if (!o->late)
		return false;
	snprintf(why, sizeof(why), "%s does not answer: check the mount and its server", o->path);
	o->host->batch_done(i, batch, SKEP_BATCH_HOLD, why);
	return true;
}
