/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/code_priv.h - struct spool_code, shared by encode.c and decode.c.
 */
#ifndef SKEP_SPOOL_CODE_PRIV_H
#define SKEP_SPOOL_CODE_PRIV_H

#include <zstd.h>

#include "spool/bytes.h"
#include "spool/code.h"

#define CODE_VERSION 1u

struct spool_code {
	ZSTD_CCtx *compress;
	ZSTD_DCtx *decompress;
	struct bytes_out raw, records, frame;
	const struct skep_stream **streams; /* of the body under way */
	const void **lasts; /* encoding: the newest record of each stream; NULL: none */
	uint32_t n_streams, room_streams;
	const struct skep_context **contexts; /* encoding: the batch's; decoding: into own_contexts */
	struct skep_context *own_contexts;
	uint32_t n_contexts, room_contexts;
	char *scratch; /* decoding: a record of each stream */
	size_t scratch_room;
	uint64_t slots[SKEP_HIST_SLOTS];
};

/* Makes room for one more context. 0 or -ENOMEM. */
int code_context_room(struct spool_code *);

#endif
