/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/series.h - the records of a detail put together: what belongs to the same thing (same
 * attributes, same process) is added up by the semantics of its fields.
 */
#ifndef SKEP_CLI_SERIES_H
#define SKEP_CLI_SERIES_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/base/paint.h"

struct series_set;

/* stream: as the answer to "attach" has it; borrowed while the set lives. NULL: no memory. */
struct series_set *series_new(const json_t *stream);
struct series_set *series_free(struct series_set *);
/* 0 or -ENOMEM. Leaves out values of an unknown form. */
int series_add(struct series_set *, const json_t *record);
/* One record as one line: time, subject, figures. 0 or -ENOMEM. */
int series_line(const struct series_set *, const json_t *record, const struct paint *);
/* Its records are about many things, files for one: all of them are a table, and single ones too many to read. */
bool series_many(const struct series_set *);
/* All of it: figures and bars for each thing, or a table, those with the most first. 0 or -ENOMEM. */
int series_print(const struct series_set *, const struct paint *);

#endif
