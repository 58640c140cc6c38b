/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip and zstd at their fastest levels: for telemetry the next ones save a few percent of
 * the bytes and cost several times the CPU.
 */
#include "sinks/common/http_body.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define GZIP_WINDOW (15 + 16) /* + 16: gzip's header instead of zlib's */
#define GZIP_MEMORY 8
#define LEVEL 1

static int reserve(struct http_body *b, size_t room)
{
	char *data;

	if (room <= b->room)
		return 0;
	data = realloc(b->data, room);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->room = room;
	return 0;
}

static int encode_gzip(struct http_body *b, const void *in, size_t n)
{
	z_stream *z = b->gzip;
	int err;

	if (!z) {
		z = calloc(1, sizeof(*z));
		if (!z)
			return -ENOMEM;
		if (deflateInit2(z, LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
			free(z);
			return -ENOMEM;
		}
		b->gzip = z;
	} else if (deflateReset(z) != Z_OK) {
		return -EIO;
	}
	err = reserve(b, deflateBound(z, (uLong)n));
	if (err)
		return err;
	z->next_in = (Bytef *)(uintptr_t)in; /* zlib's API is older than const */
	z->avail_in = (uInt)n;
	z->next_out = (Bytef *)b->data;
	z->avail_out = (uInt)b->room;
	if (deflate(z, Z_FINISH) != Z_STREAM_END)
		return -EIO;
	b->len = b->room - z->avail_out;
	return 0;
}

static int encode_zstd(struct http_body *b, const void *in, size_t n)
{
	size_t len;
	int err;

	if (!b->zstd)
		b->zstd = ZSTD_createCCtx();
	err = b->zstd ? reserve(b, ZSTD_compressBound(n)) : -ENOMEM;
	if (err)
		return err;
	len = ZSTD_compressCCtx(b->zstd, b->data, b->room, in, n, LEVEL);
	if (ZSTD_isError(len))
		return -EIO;
	b->len = len;
	return 0;
}

int http_body_encode(struct http_body *b, enum http_encoding encoding, const void *in, size_t n, const void **ret,
		     size_t *ret_len)
{
	int err;

	if (n > UINT32_MAX / 2) /* zlib counts in 32 bits; options allow 64 MiB */
		return -EFBIG;
	if (encoding == HTTP_PLAIN) {
		*ret = in;
		*ret_len = n;
		return 0;
	}
	err = encoding == HTTP_GZIP ? encode_gzip(b, in, n) : encode_zstd(b, in, n);
	if (err)
		return err;
	*ret = b->data;
	*ret_len = b->len;
	return 0;
}

void http_body_free(struct http_body *b)
{
	if (b->gzip)
		deflateEnd(b->gzip);
	free(b->gzip);
	ZSTD_freeCCtx(b->zstd);
	free(b->data);
	*b = (struct http_body){ 0 };
}
