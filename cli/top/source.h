/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/source.h - where the model's processes come from: a running skepd (source_live.c), or the lake for a moment
 * (source_lake.c).
 */
#ifndef SKEP_CLI_TOP_SOURCE_H
#define SKEP_CLI_TOP_SOURCE_H

#include "cli/top/model.h"
#include "lake/lake.h"

#define TOP_NOTE_SIZE 256

/* ---- a running skepd ------------------------------------------------------------------------- */

struct source_live;

/*
 * Connects.  socket, lake: of the options; NULL: the default, and the lake that skepd writes.  0; or the exit status
 * after a message on stderr.
 */
int source_live_open(const char *socket, const char *lake, struct source_live **ret);
struct source_live *source_live_close(struct source_live *);
int source_live_fd(const struct source_live *); /* to poll; -1: not connected */
/*
 * Reads skepd's rows that have arrived.  1: the model has all processes as of a new sample; 0: not yet; -EPIPE: skepd
 * has ended, and a later call connects again, at most once a second; -errno.
 */
int source_live_read(struct source_live *, struct top_model *);
/*
 * hold: rows that arrive from now on wait in memory, and the model stays as it is; false: the next reads add them to
 * the model.  When too many wait, the source drops them and asks skepd for all processes anew.
 */
void source_live_hold(struct source_live *, bool hold);
/* The model has all processes that ended before the watch, or no lake has them. */
bool source_live_whole(const struct source_live *);
/* Which figures are missing, or why all are: a text for the screen, not safe; "". */
const char *source_live_note(const struct source_live *);
int64_t source_live_offset_ns(const struct source_live *); /* realtime minus boot time */

/* ---- the lake -------------------------------------------------------------------------------- */

struct source_lake;

/* 0; or the exit status after a message on stderr. */
int source_lake_open(const char *lake, struct source_lake **ret);
struct source_lake *source_lake_close(struct source_lake *);
/*
 * Replaces the model's contents by the runs at that moment (realtime), with the sums of their processes until then.
 * CPU now is the CPU time of the interval before.  0; -ENOENT: no run at that time; -errno; the reason in why.
 */
int source_lake_at(struct source_lake *, uint64_t at_ns, uint64_t interval_ns, struct top_model *, char *why,
		   size_t why_size);
int source_lake_partial(const struct source_lake *); /* question_partial(): the exit status */

/* ---- shared by both -------------------------------------------------------------------------- */

struct users;

/* Room for what a row's texts need beside the row. */
struct source_room {
	struct users *users;
	char uid[24];
	char *argv;
	size_t size;
};
int source_room_grow(struct source_room *, size_t size); /* 0 or -ENOMEM */
const char *source_user(struct source_room *, uint32_t uid); /* borrowed until the next call; a number without a name */
/* A row of the lake, whole, as the model takes it: texts are borrowed from the row and the room.  0 or -ENOMEM. */
int source_lake_process(const struct lake_process *, const struct lake_run *, struct source_room *, struct top_names *,
			struct top_process *ret);

#endif
