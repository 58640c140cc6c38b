/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/out_priv.h - between out.c (records, batches, the books) and out_sink.c (sinks that
 * come, change and go).
 */
#ifndef SKEP_CORE_OUT_PRIV_H
#define SKEP_CORE_OUT_PRIV_H

#include "core/batch.h"
#include "core/out.h"
#include "core/sinkq.h"

struct out_sink {
	struct out *out;
	const char *name;
	struct sinkq queue;
	bool retired;             /* nothing new for it */
	struct out_count *counts; /* by stream number */
	uint64_t (*told)[OUT_LOSSES]; /* the same: of its losses, by out_losses */
	struct out_sink *next;
};

struct out {
	char *key_prefix;
	uint64_t age_ns;
	size_t max_bytes, bytes; /* of closed batches, each counted once however many queues have it */
	void (*wake)(void *);
	void *arg;
	const struct skep_stream **streams;
	int n_streams;
	struct out_sink *sinks, **last_sink;
	struct batch *open;
	uint64_t next_id;
	uint64_t gone_lost[OUT_LOSSES]; /* of sinks that were removed */
};

void out_sink_free(struct out_sink *); /* its memory only */

#endif
