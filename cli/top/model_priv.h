/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/model_priv.h - internals that model.c (processes) and rows.c (rows of them) share.
 */
#ifndef SKEP_CLI_TOP_MODEL_PRIV_H
#define SKEP_CLI_TOP_MODEL_PRIV_H

#include <skep/hash.h>

#include "cli/top/model.h"

struct top_model {
	struct skep_hash_key key;
	struct top_item **items; /* in no order */
	size_t n, room;
	struct top_item **buckets; /* by process; n_buckets: a power of two */
	size_t n_buckets;
	struct top_item *oldest, *newest; /* ended ones that are not merged */
	size_t n_ended, ended_most, n_merged;
	struct top_run *runs; /* by id */
	size_t n_runs;
	size_t forget_at; /* so many merged items and runs */
	uint64_t sampled_ns, before_ns, interval_ns; /* of the last pass, the one before, and between them */
	uint64_t passes;
	top_accept accept;
	void *accept_arg;
};

uint64_t top_mix(uint64_t a, uint64_t b);
void top_figures_add(struct top_figures *to, const struct top_figures *);

#endif
