/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_words.c - keys and values in a message: bounded, one line, no control characters (a message may
 * reach a terminal).
 */
#include <stdio.h>
#include <string.h>

#include "core/config/config.h"

void config_quote(const char *text, char *ret, size_t size)
{
	size_t room = size - sizeof("\"...\"");
	size_t n = 0;

	ret[n++] = '"';
	while (*text) {
		unsigned char c = (unsigned char)*text;
		/* C1 controls are U+0080..U+009F: c2 80..9f in UTF-8. */
		bool c1 = c == 0xc2 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] <= 0x9f;
		char piece[8];
		size_t length = 1;

		if (c1) {
			length = (size_t)snprintf(piece, sizeof(piece), "\\u%04x", (unsigned char)text[1]);
			text += 2;
		} else if (c < 0x20 || c == 0x7f) {
			length = (size_t)snprintf(piece, sizeof(piece), "\\u%04x", c);
			text++;
		} else if (c == '"' || c == '\\') {
			piece[0] = '\\';
			piece[1] = (char)c;
			length = 2;
			text++;
		} else {
			/* A whole character, or a stray byte of one. */
			for (length = 0; length == 0 || (length < 4 && ((unsigned char)*text & 0xc0) == 0x80);)
				piece[length++] = *text++;
		}
		if (n + length > room) {
			memcpy(ret + n, "...", 3);
			n += 3;
			break;
		}
		memcpy(ret + n, piece, length);
		n += length;
	}
	ret[n++] = '"';
	ret[n] = '\0';
}

void config_describe(const json_t *value, char *ret, size_t size)
{
	static const char the_string[] = "the string ";

	switch (json_typeof(value)) {
	case JSON_STRING:
		memcpy(ret, the_string, sizeof(the_string));
		config_quote(json_string_value(value), ret + sizeof(the_string) - 1, size - (sizeof(the_string) - 1));
		break;
	case JSON_INTEGER:
		snprintf(ret, size, "the integer %" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_REAL:
		snprintf(ret, size, "the number %g", json_real_value(value));
		break;
	case JSON_OBJECT:
		snprintf(ret, size, "an object");
		break;
	case JSON_ARRAY:
		snprintf(ret, size, "an array");
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		snprintf(ret, size, "%s", json_is_true(value) ? "true" : "false");
		break;
	case JSON_NULL:
		snprintf(ret, size, "null");
		break;
	}
}
