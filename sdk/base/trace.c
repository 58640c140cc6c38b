/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/trace.c - computes ids of traces and spans, and reads and writes the traceparent header.
 */
#include <errno.h>
#include <skep/trace.h>
#include <skep/upid.h>
#include <stdio.h>
#include <string.h>

#include "sdk/base/sha256.h"

/* Returns n bytes of a hash of a label and up to two texts, never all 0, as 0 means "none". */
static void skep_trace_hash(const char *label, const void *a, size_t a_len, const void *b, size_t b_len, uint8_t *ret,
			    size_t n)
{
	uint8_t text[256], whole[2][SKEP_SHA256_SIZE], hash[SKEP_SHA256_SIZE];
	size_t at = strlen(label) + 1;

	/*
	 * Replaces a long text by its hash, as the buffer has a fixed size.  The length before each text makes "a","bc"
	 * differ from "ab","c".
	 */
	if (a_len > 64) {
		skep_sha256(a, a_len, whole[0]);
		a = whole[0];
		a_len = SKEP_SHA256_SIZE;
	}
	if (b_len > 64) {
		skep_sha256(b, b_len, whole[1]);
		b = whole[1];
		b_len = SKEP_SHA256_SIZE;
	}
	if (at > 64)
		at = 64;
	memcpy(text, label, at);
	text[at++] = (uint8_t)a_len;
	if (a_len)
		memcpy(text + at, a, a_len);
	at += a_len;
	text[at++] = (uint8_t)b_len;
	if (b_len)
		memcpy(text + at, b, b_len);
	at += b_len;
	skep_sha256(text, at, hash);
	memcpy(ret, hash, n);
	for (size_t i = 0; i < n; i++)
		if (ret[i])
			return;
	ret[n - 1] = 1;
}

void skep_trace_of_run(const char *boot_id, const char *run, size_t run_len, struct skep_trace *ret)
{
	memset(ret, 0, sizeof(*ret));
	skep_trace_hash("skep.run", boot_id, strlen(boot_id), run, run_len, ret->trace, SKEP_TRACE_ID);
	ret->flags = 3; /* sampled, and with a random trace id (level 2 of the recommendation) */
}

void skep_trace_run_span(const uint8_t *trace, const char *run, size_t run_len, uint8_t *ret)
{
	skep_trace_hash("skep.span.run", trace, SKEP_TRACE_ID, run, run_len, ret, SKEP_SPAN_ID);
}

void skep_trace_process_span(const uint8_t *trace, const char *boot_id, const struct skep_upid *upid, uint64_t image,
					   uint8_t *ret)
{
	char text[SKEP_UPID_TEXT + 24], digits[20];
	size_t n = 0, at;

	skep_upid_text(boot_id, upid, text);
	at = strlen(text);
	text[at++] = '.';
	do
		digits[n++] = (char)('0' + image % 10);
	while (image /= 10);
	while (n > 0 && at < sizeof(text))
		text[at++] = digits[--n];
	skep_trace_hash("skep.span.process", trace, SKEP_TRACE_ID, text, at, ret, SKEP_SPAN_ID);
}

void skep_trace_task_span(const uint8_t *trace, const char *boot_id, const char *id, size_t id_len, uint8_t *ret)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "%.36s-%.*s", boot_id, (int)(id_len < 80 ? id_len : 80), id);

	skep_trace_hash("skep.span.task", trace, SKEP_TRACE_ID, text, (size_t)n, ret, SKEP_SPAN_ID);
}

int skep_trace_hex(const char *text, uint8_t *ret, size_t n)
{
	uint8_t any = 0;

	for (size_t i = 0; i < 2 * n; i++) {
		char c = text[i];
		int v = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

		if (v < 0)
			return -EINVAL;
		ret[i / 2] = (uint8_t)(i % 2 ? ret[i / 2] << 4 | v : v);
		any |= ret[i / 2];
	}
	return any ? 1 : 0;
}

bool skep_traceparent_read(const char *text, size_t len, struct skep_trace *ret)
{
	struct skep_trace t;

	memset(&t, 0, sizeof(t));
	if (len != SKEP_TRACEPARENT_SIZE - 1 || text[0] != '0' || text[1] != '0' || text[2] != '-' || text[35] != '-' ||
	    text[52] != '-' || skep_trace_hex(text + 3, t.trace, SKEP_TRACE_ID) != 1 ||
	    skep_trace_hex(text + 36, t.parent, SKEP_SPAN_ID) != 1 || skep_trace_hex(text + 53, &t.flags, 1) < 0)
		return false;
	*ret = t;
	return true;
}

void skep_traceparent_write(const uint8_t *trace, const uint8_t *span, uint8_t flags, char ret[SKEP_TRACEPARENT_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	char *at = ret;

	memcpy(at, "00-", 3);
	at += 3;
	for (unsigned i = 0; i < SKEP_TRACE_ID; i++) {
		*at++ = hex[trace[i] >> 4];
		*at++ = hex[trace[i] & 15];
	}
	*at++ = '-';
	for (unsigned i = 0; i < SKEP_SPAN_ID; i++) {
		*at++ = hex[span[i] >> 4];
		*at++ = hex[span[i] & 15];
	}
	*at++ = '-';
	*at++ = hex[flags >> 4];
	*at++ = hex[flags & 15];
	*at = '\0';
}
