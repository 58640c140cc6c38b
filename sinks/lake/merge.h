/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/merge.h - one row for one image of a process, whichever collectors record it.
 *
 * `skep run` beside skepd records processes that skepd records too.  The second record of an image does not add a row:
 * the row keeps the figures of the record that saw the image's end, and the run that a user named.  The roll-ups
 * subtract the old figures of the row and add the new ones.
 */
#ifndef SKEP_SINKS_LAKE_MERGE_H
#define SKEP_SINKS_LAKE_MERGE_H

#include "sinks/lake/columns.h"
#include "sinks/lake/rollup.h"

/* How much a record knows of its image's end; the record with the larger value has the better figures. */
enum image_state {
	IMAGE_RUNNING, IMAGE_LOST, IMAGE_ENDED, IMAGE_REPLACED, IMAGE_EXCLUDED };

/* A row of proc, as far as roll-ups need it. */
struct image {
	int64_t id; /* 0: no row */
	int64_t run, task, tool, pipeline, day;
	enum image_state state;
	int64_t value[ROLLED_NUMBERS];
};

enum image_state image_state(struct skep_str);
int64_t image_day(int64_t realtime_ns);
/* The row of that image; id 0: there is none. */
int image_find(struct db *, const struct skep_upid *, int64_t number, int64_t boot, struct image *ret);
/* Adds the image to the roll-ups (sign 1), or takes it out of them (-1). */
int image_roll_up(struct rollup *by_run, struct rollup *by_day, struct db *, const struct image *, int sign);
/*
 * Decides what the row is from now on, and keeps the roll-ups in step: *next becomes that.  *ret_insert: the record's
 * row has to be added, for image_merged() to put in place of the stored one.
 */
int image_merge(struct rollup *by_run, struct rollup *by_day, struct db *, const struct image *stored,
		struct image *next, bool *ret_insert);
int image_merged(struct db *, const struct image *stored, const struct image *next);

#endif
