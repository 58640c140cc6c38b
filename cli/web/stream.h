/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/stream.h - an answer as server-sent events: skep computes it again when the lake has changed, and sends it
 * when it is another one.  A page then asks nothing while nothing happens.  One thread per stream.
 */
#ifndef SKEP_CLI_WEB_STREAM_H
#define SKEP_CLI_WEB_STREAM_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/web/request.h"

#define STREAM_EVERY_MOST 3600 /* seconds */

struct stream_options {
	const char *folder; /* of the lake, borrowed; NULL, or it cannot be listed: skep computes each answer */
	int client;         /* the stream ends when the peer of this socket has closed it */
	unsigned every_s;   /* from the end of one answer to the next one, at least */
	const char *had;    /* the tag of the answer that the page has; NULL: none */
	bool packed;        /* compresses it with zstd: the answer of a large run shrinks to a twentieth and less */
};

struct stream;
/* As request_route(); -ENOMEM. */
int stream_new(const char *path, const struct request_value *, size_t n, const char *lake,
	       const struct stream_options *, struct stream **ret, char *why, size_t room);
/* Waits for the next bytes: SERVER_IDLE_S / 2 at most, or as long as an answer takes. -1: the stream has ended. */
ssize_t stream_read(struct stream *, char *buf, size_t room);
void stream_free(struct stream *);
/* From the end of one answer to the next question. err, took_ms: of worker_run(). Public for a test. */
int64_t stream_pause_ms(int err, int64_t took_ms, unsigned every_s);

#endif
