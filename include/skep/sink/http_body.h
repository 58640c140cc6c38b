/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/sink/http_body.h - a request's body, compressed.  For worker threads: each body
 * belongs to one thread at a time and keeps its memory from one batch to the next.
 */
#ifndef SKEP_SINK_HTTP_BODY_H
#define SKEP_SINK_HTTP_BODY_H

#include <skep/sink/http_options.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct http_body {
	char *data;
	size_t len, room;
	void *gzip, *zstd; /* compressors (libdeflate's, zstd's), made when first wanted */
};

/*
 * Encodes these n bytes.  *ret and *ret_len point into `in` (HTTP_PLAIN) or into the body, until the next call.  0,
 * -ENOMEM or -EIO.
 */
int skep_http_body_encode(struct http_body *, enum http_encoding, const void *in, size_t n, const void **ret,
			  size_t *ret_len);
void skep_http_body_free(struct http_body *); /* frees the buffers; the struct may be used again */

#ifdef __cplusplus
}
#endif

#endif
