/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compresses request bodies with gzip and zstd at their fastest levels: for telemetry the next levels save a few
 * percent of the bytes and cost several times the CPU.
 */

#include <errno.h>
#include <libdeflate.h>
#include <skep/sink/http_body.h>
#include <stdlib.h>
#include <zstd.h>

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

/* Uses libdeflate, which compresses a whole body at once: zlib takes twice the time for the same bytes. */
static int encode_gzip(struct http_body *b, const void *in, size_t n)
{
	int err;

	if (!b->gzip)
		b->gzip = libdeflate_alloc_compressor(LEVEL);
	err = b->gzip ? reserve(b, libdeflate_gzip_compress_bound(b->gzip, n)) : -ENOMEM;
	if (err)
		return err;
	b->len = libdeflate_gzip_compress(b->gzip, in, n, b->data, b->room);
	return b->len > 0 ? 0 : -EIO;
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

int skep_http_body_encode(struct http_body *b, enum http_encoding encoding, const void *in, size_t n, const void **ret,
			  size_t *ret_len)
{
	int err;

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

void skep_http_body_free(struct http_body *b)
{
	if (b->gzip)
		libdeflate_free_compressor(b->gzip);
	ZSTD_freeCCtx(b->zstd);
	free(b->data);
	*b = (struct http_body){ 0 };
}
