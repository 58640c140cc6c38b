/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/spool/spool_mend.c - `skep spool check`, `recover` and `drop`.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/human.h"
#include "cli/base/skep.h"
#include "cli/spool/spool.h"
#include "core/delivery/delivery_commit.h"

struct mending {
	struct spool_db *from, *into;
	struct spool_code *read, *write;
	struct commit_streams *streams;
	uint64_t batches, records, bad;
};

static void mending_end(struct mending *m)
{
	spool_db_close(m->from);
	spool_db_close(m->into);
	spool_code_free(m->read);
	spool_code_free(m->write);
	commit_streams_free(m->streams);
}

static int mending_begin(struct mending *m, const char *path)
{
	char why[256];
	int err;

	m->read = spool_code_new();
	m->write = spool_code_new();
	m->streams = commit_streams_new();
	if (!m->read || !m->write || !m->streams)
		return skep_fail("spool", SKEP_EXIT_RUNTIME, "out of memory");
	err = spool_db_open_read(path, &m->from, why, sizeof(why));
	if (err < 0)
		return skep_fail("spool", err == -EACCES ? SKEP_EXIT_PRIVILEGE : SKEP_EXIT_RUNTIME, "%s: %s", path,
				 why);
	return SKEP_EXIT_OK;
}

static int put(struct mending *m, struct batch *b)
{
	const void *body;
	size_t size;
	char *counts;
	int err;

	b->pub.id = spool_last_id(m->into) + 1;
	err = spool_encode(m->write, &b->pub, &body, &size, NULL);
	if (err < 0)
		return err;
	counts = commit_counts(&b->pub);
	if (!counts)
		return -ENOMEM;
	err = spool_append(m->into, b->pub.id, SPOOL_LIFE, b->pub.n, counts, body, size);
	free(counts);
	return err;
}

/*
 * Finds the first readable batch after id, behind an unreadable page: tries ids in growing steps, then goes back to the
 * first.  row.id 0: there is none.
 */
static int beyond(struct mending *m, uint64_t id, struct spool_row *row)
{
	uint64_t last = spool_last_id(m->from), readable = id, unreadable = id;
	int err = -EBADMSG;

	for (uint64_t step = 1; err == -EBADMSG && readable < last; step *= 2) {
		unreadable = readable;
		readable = last - readable > step ? readable + step : last;
		err = spool_next(m->from, readable, row);
	}
	while (err == 0 && readable - unreadable > 1) {
		uint64_t middle = unreadable + (readable - unreadable) / 2;

		err = spool_next(m->from, middle, row);
		if (err == 0) {
			readable = middle;
		} else if (err == -EBADMSG) {
			unreadable = middle;
			err = 0;
		}
	}
	if (err == 0)
		return spool_next(m->from, readable, row);
	*row = (struct spool_row){ 0 };
	return err == -EBADMSG ? 0 : err;
}

/* Reads every batch, and reports unreadable batches. A negative errno is of a write. */
static int each_batch(struct mending *m, const char *path)
{
	struct spool_row row;
	uint64_t id = 0;
	struct batch *b;
	char why[256];
	int err;

	for (;; id = row.id) {
		err = spool_next(m->from, id, &row);
		if (err == -EBADMSG) {
			snprintf(why, sizeof(why), "%s", spool_why(m->from));
			err = beyond(m, id, &row);
			printf("%s: batch %llu%s: %s\n", path, (unsigned long long)id + 1,
			       row.id > 0 ? " and others up to the next" : " and all others", why);
			m->bad++;
		}
		if (err < 0 || row.id == 0)
			return err;
		err = commit_read(m->read, m->streams, row.body, row.size, &b, why, sizeof(why));
		if (err == -ENOMEM)
			return err;
		if (err < 0) {
			printf("%s: batch %llu: %s\n", path, (unsigned long long)row.id, why);
			m->bad++;
			continue;
		}
		m->batches++;
		m->records += b->pub.n;
		err = m->into ? put(m, b) : 0;
		batch_unref(b);
		if (err < 0)
			return err;
	}
}

static void say_finding(void *arg, const char *finding)
{
	printf("%s: %s\n", (const char *)arg, finding);
}

int spool_check_all(const char *path)
{
	struct mending m = { 0 };
	char batches[HUMAN_SIZE], records[HUMAN_SIZE];
	int status = spool_exists(path), err;

	if (status == SKEP_EXIT_OK)
		status = mending_begin(&m, path);
	if (status != SKEP_EXIT_OK)
		goto out;
	err = spool_check(m.from, say_finding, (void *)(uintptr_t)path);
	if (err == 0 || err == -EBADMSG) {
		m.bad += err != 0;
		err = each_batch(&m, path);
	}
	if (err < 0) {
		status = skep_fail("spool", SKEP_EXIT_RUNTIME, "%s: %s", path, spool_why(m.from));
		goto out;
	}
	printf("%s: %s batches of %s records can be read%s\n", path, human_count(m.batches, batches),
	       human_count(m.records, records), m.bad ? "; not all of it is sound" : "; all of it is sound");
	status = m.bad ? SKEP_EXIT_RUNTIME : SKEP_EXIT_OK;
out:
	mending_end(&m);
	return status;
}

/* Locks the spool; fails while a skepd uses it. */
static int take_lock(const char *path, int *ret_fd)
{
	int err = spool_db_lock(path, ret_fd);

	if (err == -EBUSY)
		return skep_fail("spool", SKEP_EXIT_RUNTIME, "%s is in use by a running skepd; stop it first", path);
	if (err < 0)
		return skep_fail("spool", err == -EACCES ? SKEP_EXIT_PRIVILEGE : SKEP_EXIT_RUNTIME, "%s.lock: %s", path,
				 strerror(-err));
	return SKEP_EXIT_OK;
}

int spool_recover(const char *from, const char *into)
{
	struct spool_limits limits = { 0 };
	struct mending m = { 0 };
	char why[256], batches[HUMAN_SIZE], records[HUMAN_SIZE];
	int lock_fd = -1, status = take_lock(into, &lock_fd), err;

	if (status == SKEP_EXIT_OK)
		status = mending_begin(&m, from);
	if (status != SKEP_EXIT_OK)
		goto out;
	err = spool_db_open(into, &limits, &m.into, why, sizeof(why));
	if (err < 0) {
		status = skep_fail("spool", SKEP_EXIT_RUNTIME, "%s: %s", into, why);
		goto out;
	}
	err = spool_begin(m.into);
	if (err == 0)
		err = each_batch(&m, from);
	if (err == 0)
		err = spool_commit(m.into);
	else
		spool_rollback(m.into);
	if (err < 0) {
		status = skep_fail("spool", SKEP_EXIT_RUNTIME, "%s: %s", into,
				   spool_why(m.into)[0] ? spool_why(m.into) : strerror(-err));
		goto out;
	}
	printf("copied %s records in %s batches into %s%s\n", human_count(m.records, records),
	       human_count(m.batches, batches), into, m.bad ? "; some of it could not be read" : "");
	status = m.bad ? SKEP_EXIT_RUNTIME : SKEP_EXIT_OK;
out:
	mending_end(&m);
	if (lock_fd >= 0)
		close(lock_fd);
	return status;
}

int spool_drop(const char *path, const char *sink, bool dead)
{
	struct spool_limits limits = { 0 };
	struct spool_db *db = NULL;
	char why[256], records[HUMAN_SIZE];
	uint64_t n = 0;
	int lock_fd = -1, status = spool_exists(path), err;

	if (status == SKEP_EXIT_OK)
		status = take_lock(path, &lock_fd);
	if (status != SKEP_EXIT_OK)
		return status;
	err = spool_db_open(path, &limits, &db, why, sizeof(why));
	if (err < 0) {
		status = skep_fail("spool", SKEP_EXIT_RUNTIME, "%s: %s", path, why);
		goto out;
	}
	err = dead ? spool_dead_drop(db, sink, &n) : spool_sink_forget(db, sink);
	if (err < 0)
		status = skep_fail("spool", SKEP_EXIT_RUNTIME, "%s: %s", path, spool_why(db));
	else if (dead)
		printf("deleted %s batches that receivers had refused for good\n", human_count(n, records));
	else
		printf("forgot sink %s\n", sink);
out:
	spool_db_close(db);
	close(lock_fd);
	return status;
}
