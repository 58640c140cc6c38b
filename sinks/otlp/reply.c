/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the few messages that a receiver returns.
 */
#include "sinks/otlp/reply.h"

#include <errno.h>
#include <jansson.h>
#include <skep/utf8.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t varint(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (c->at == c->end)
			break;
		v |= (uint64_t)(*c->at & 0x7f) << shift;
		if (!(*c->at++ & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

struct value {
	uint32_t field, wire;
	uint64_t number;       /* wire 0 */
	const uint8_t *bytes;  /* wire 2 */
	size_t len;
};

/* Reads the next field. False: at the end, or when the message is invalid. */
static bool next(struct cursor *c, struct value *ret)
{
	uint64_t tag, n;

	if (c->bad || c->at == c->end)
		return false;
	tag = varint(c);
	*ret = (struct value){ .field = (uint32_t)(tag >> 3), .wire = (uint32_t)(tag & 7) };
	switch (ret->wire) {
	case 0:
		ret->number = varint(c);
		break;
	case 1:
	case 5:
		n = ret->wire == 1 ? 8 : 4;
		if ((size_t)(c->end - c->at) < n)
			c->bad = true;
		else
			c->at += n;
		break;
	case 2:
		n = varint(c);
		if (c->bad || n > (size_t)(c->end - c->at)) {
			c->bad = true;
			break;
		}
		ret->bytes = c->at;
		ret->len = (size_t)n;
		c->at += n;
		break;
	default:
		c->bad = true;
	}
	if (!ret->field)
		c->bad = true;
	return !c->bad;
}

/* Copies the text into ret->words as far as whole characters fit; a space replaces each control character. */
static void keep_words(const uint8_t *text, size_t n, struct reply *ret)
{
	char clean[3 * sizeof(ret->words)];
	size_t len;

	if (n > sizeof(ret->words) - 1)
		n = sizeof(ret->words) - 1;
	len = skep_utf8_clean((const char *)text, n, clean);
	if (len > sizeof(ret->words) - 1)
		len = skep_utf8_valid(clean, sizeof(ret->words) - 1);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)clean[i] < 0x20 || clean[i] == 0x7f)
			clean[i] = ' ';
	memcpy(ret->words, clean, len);
	ret->words[len] = '\0';
}

/* named: the content type says protobuf, so unknown fields may be of a later version; else any two letters are one. */
static bool read_protobuf(const void *data, size_t n, bool named, struct reply *ret)
{
	struct cursor c = { data, data ? (const uint8_t *)data + n : data, false };
	struct reply r = { 0 };
	struct value v;

	while (next(&c, &v)) {
		struct cursor inner;
		struct value part;

		if (v.field != 1 && named)
			continue;
		if (v.field != 1 || v.wire != 2)
			return false; /* such as google.rpc.Status { code = 1 }, a failure */
		inner = (struct cursor){ v.bytes, v.bytes + v.len, false };
		while (next(&inner, &part)) {
			if (part.field == 1 && part.wire == 0)
				r.rejected = (int64_t)part.number > 0 ? part.number : 0;
			else if (part.field == 2 && part.wire == 2)
				keep_words(part.bytes, part.len, &r);
		}
		c.bad = c.bad || inner.bad;
	}
	if (c.bad)
		return false;
	*ret = r;
	return true;
}

/* JSON of protobuf has a number of 64 bits as a text; some receivers send a number. */
static bool json_count(const json_t *value, uint64_t *ret)
{
	const char *text = json_string_value(value);
	long long n = json_integer_value(value);
	char *end = NULL;

	if (text) {
		errno = 0;
		n = strtoll(text, &end, 10);
		if (errno || end == text || *end)
			return false;
	} else if (!json_is_integer(value)) {
		return false;
	}
	*ret = n > 0 ? (uint64_t)n : 0;
	return true;
}

static bool json_partial(json_t *partial, struct reply *ret)
{
	const char *name;
	json_t *value;

	if (json_is_null(partial))
		return true;
	if (!json_is_object(partial))
		return false;
	json_object_foreach(partial, name, value) {
		if (strncmp(name, "rejected", strlen("rejected")) == 0) {
			if (!json_count(value, &ret->rejected))
				return false;
		} else if (json_is_string(value)) {
			keep_words((const uint8_t *)json_string_value(value), json_string_length(value), ret);
		}
	}
	return true;
}

/* A message with other members is another message, such as { "code": 16, "message": "..." } or { "error": "..." }. */
static bool read_json(const void *data, size_t n, struct reply *ret)
{
	json_t *root = json_loadb(data, n, 0, NULL), *value;
	struct reply r = { 0 };
	bool ok = json_is_object(root);
	const char *name;

	json_object_foreach(root, name, value)
		ok = ok && (strcmp(name, "partialSuccess") == 0 || strcmp(name, "partial_success") == 0) &&
		     json_partial(value, &r);
	json_decref(root);
	if (ok)
		*ret = r;
	return ok;
}

bool reply_read(const char *content_type, const void *data, size_t n, struct reply *ret)
{
	if (!n) {
		*ret = (struct reply){ 0 };
		return true;
	}
	if (strcasestr(content_type, "json"))
		return read_json(data, n, ret);
	return read_protobuf(data, n, strcasestr(content_type, "protobuf"), ret);
}

bool reply_read_status(const void *data, size_t n, struct reply *ret)
{
	struct cursor c = { data, data ? (const uint8_t *)data + n : data, false };
	struct reply r = { 0 };
	struct value v;

	while (next(&c, &v))
		if (v.field == 2 && v.wire == 2)
			keep_words(v.bytes, v.len, &r);
	if (c.bad || !r.words[0])
		return false;
	*ret = r;
	return true;
}
