/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved.h - the state of live processes that one skepd saves for the next on the same boot: each process's
 * image and its begin, its sampled figures, its run and task.  Without this state a restart would count the time before
 * it twice, or not at all.
 *
 * Each commit of the spool stores a chunk, the changes since the chunk before.  When the chunks together are twice as
 * large as the whole state, the next one has the whole state, and takes their place.  After a reboot no skepd uses it.
 *
 * A user chooses how large the state of the user's processes is, by their number and their arguments.  So all of it has
 * at most SAVED_MOST bytes: beyond, the state of the user who has most is left out.  These processes begin anew after
 * a restart, as if skepd had started the first time, and stats.unsaved counts them.
 */
#ifndef SKEP_CORE_SAVED_H
#define SKEP_CORE_SAVED_H

#include "core/process/track.h"

#define SAVED_MOST (64u << 20) /* bytes of a whole state; of the changes behind it, as many again */

struct saved_chunk {
	const void *bytes; /* borrowed until the next call for this tracker */
	size_t size;       /* 0: nothing has changed */
	bool whole;        /* it takes the place of all chunks before */
};

/*
 * Gives the changes since the last call; whole: everything.  samples: findings and idle times, too, which change with
 * each sample.  Without memory it counts a failure (track_unsaved), and the next call gives the whole state.
 */
void saved_chunk(struct track *, const char *boot_id, bool whole, bool samples, struct saved_chunk *ret);
void saved_stored(struct track *, bool durable); /* false: the next chunk has this one's changes as well */
void saved_most(struct track *, size_t most); /* another limit than SAVED_MOST, for tests */
struct saver *saver_free(struct saver *); /* NULL is fine; returns NULL */
bool saved_worth(const struct proc *); /* whether the saved state has the process */
/*
 * Packs the newest counters and the sampled counters of all live processes apart from the chunks, because each sweep
 * changes them.  The caller frees *ret.  0 or -ENOMEM.  saved_sampled() adds them to the processes that wait to be
 * claimed.
 */
int saved_samples(const struct track *, void **ret, size_t *ret_size);
void saved_sampled(struct track *, const void *samples, size_t size);
/* The same with the facets of all processes (saved_facets.c). */
int saved_facets(struct track *, void **ret, size_t *ret_size);
void saved_facets_read(struct track *, const void *facets, size_t size);
/* Whether a chunk begins the state of this boot. */
bool saved_of_boot(const void *chunk, size_t size, const char *boot_id);
/*
 * Reads a chunk; the first one must have a whole state, the others come in their order.  0; -EBADMSG: why has the
 * place, and nothing that was read so far is kept; -ENOMEM: likewise.
 */
int saved_read(struct track *, const void *chunk, size_t size, char *why, size_t why_size);
/*
 * After the last chunk: adds runs, scopes and tasks to the tracker.  A process waits for saved_restore(), or for its
 * first record.  0; -ENOMEM: not all of them.
 */
int saved_read_end(struct track *);
/*
 * Makes a table entry for each waiting process, and opens the saved findings.  A process that has ended meanwhile gets
 * a record like any process that a sweep does not see, from its saved state and the events that the ring still holds.
 */
void saved_restore(struct track *, uint64_t now_ns);
bool saved_waits(const struct track *);  /* from saved_read_end() until saved_settle() */
size_t saved_left(const struct track *); /* processes not claimed yet */
/*
 * After the first complete sweep: drops the processes that no entry has claimed, and ends restored tasks and runs
 * without members.
 */
void saved_settle(struct track *, uint64_t now_ns);

#endif
