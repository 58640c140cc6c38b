/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/interact.h - `skep top` on a terminal: reads the source, acts on keys, draws.
 */
#ifndef SKEP_CLI_TOP_INTERACT_H
#define SKEP_CLI_TOP_INTERACT_H

#include "cli/top/filter.h"
#include "cli/top/source.h"

/* What the command's options have made. */
struct top {
	struct top_model *model;
	struct top_filter *filter;
	struct top_view view;
	struct top_rows rows;
	struct source_live *live; /* NULL: a replay */
	struct source_lake *lake;
	uint64_t interval_ns;     /* between two frames; of a replay: one step, and the time of `cores` */
	uint64_t at_ns;           /* of a replay: the moment, realtime */
};

/* Until the user ends it: the exit status, after a message if it is not 0. */
int top_interact(struct top *);

#endif
