/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/series_priv.h - the sums that series.c computes and series_table.c prints as a table.
 */
#ifndef SKEP_CLI_SERIES_PRIV_H
#define SKEP_CLI_SERIES_PRIV_H

#include <skep/hash.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/base/paint.h"
#include "cli/live/histogram.h"
#include "cli/live/series.h"

#define SERIES_FIELDS_MOST 64u

enum field_kind { FIELD_SKIP, FIELD_LABEL, FIELD_NUMBER, FIELD_HIST };

struct field {
	const char *name, *unit;
	enum field_kind kind;
	bool add; /* a delta, added up; else the last value counts */
};

struct series {
	struct series *next, *chain; /* next in order; next of the same hash bucket */
	/* one text; in a table the texts of the cells, each NUL-terminated: process, then each FIELD_LABEL */
	char *label;
	size_t label_len;
	bool others; /* the sum of all subjects beyond SERIES_MOST */
	struct series_value {
		double number;
		struct histogram *hist;
	} values[]; /* by field */
};

#define SERIES_BUCKETS 4096u

struct series_set {
	struct field fields[SERIES_FIELDS_MOST];
	size_t n_fields, n;
	bool table;
	struct series *first, **last;
	struct skep_hash_key key;
	struct series *buckets[SERIES_BUCKETS];
};

/* 0 or -ENOMEM */
int series_table_print(const struct series_set *, const struct paint *);

#endif
