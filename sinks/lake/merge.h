/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/merge.h - stores one row for one image of a process, even when two collectors record the image.
 *
 * `skep run` beside skepd records processes that skepd records too.  The second record of an image adds no row: the row
 * keeps the values of the record that saw the image's end, and the run that a user named.  The rollups subtract the old
 * values of the row and add the new ones.
 */
#ifndef SKEP_SINKS_LAKE_MERGE_H
#define SKEP_SINKS_LAKE_MERGE_H

#include "sinks/lake/columns.h"
#include "sinks/lake/rollup.h"

/* State of a record's image; of two records of one image, the record with the larger state has the better values. */
enum image_state {
	IMAGE_RUNNING, IMAGE_LOST, IMAGE_ENDED, IMAGE_REPLACED, IMAGE_EXCLUDED };

/* The values of a proc row that the rollups need. */
struct image {
	int64_t id; /* 0: no row */
	int64_t run, task, task_id, step, scopes, tool, pipeline, day;
	enum image_state state;
	int64_t value[ROLLED_NUMBERS];
};

enum image_state image_state(struct skep_str);
int64_t image_day(int64_t realtime_ns);
/* Finds the row of an image; ret->id 0: no row. */
int image_find(struct db *, const struct skep_upid *, int64_t number, int64_t boot, struct image *ret);
/* Adds the image to the rollups (sign 1), or subtracts it (-1). */
int image_roll_up(struct rollup *by_run, struct rollup *by_day, struct db *, const struct image *, int sign);
/*
 * Merges the stored row and *next into *next, and updates the rollups.  *ret_insert: the caller adds the record's row,
 * with the run and task of *next; image_merged() then replaces the stored row with it.
 */
int image_merge(struct rollup *by_run, struct rollup *by_day, struct db *, const struct image *stored,
		struct image *next, bool *ret_insert);
int image_merged(struct db *, const struct image *stored, const struct image *next);

#endif
