/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/series.h - sums of a detail's records, for `skep attach` and `skep run --detail`.  Records with the same
 * subject (same attributes, same process) are added up by the semantics of their fields.
 */
#ifndef SKEP_CLI_SERIES_H
#define SKEP_CLI_SERIES_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/base/paint.h"

struct series_set;

/* stream: of the answer to "attach"; borrowed while the set lives. NULL: no memory. */
struct series_set *series_new(const json_t *stream);
struct series_set *series_free(struct series_set *);
/* 0 or -ENOMEM. Leaves out values of an unknown form. */
int series_add(struct series_set *, const json_t *record);
/* Prints one record as one line: time, subject, figures. 0 or -ENOMEM. */
int series_line(const struct series_set *, const json_t *record, const struct paint *);
/* Have the records many subjects, such as files?  Then the sums are a table, and single records too many to read. */
bool series_many(const struct series_set *);
/* Prints all sums: figures and bars for each subject, or a table, the largest first. 0 or -ENOMEM. */
int series_print(const struct series_set *, const struct paint *);

#endif
