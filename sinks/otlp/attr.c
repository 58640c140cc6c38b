/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes OTLP attributes.  opentelemetry/proto/common/v1: KeyValue { key = 1, value = 2 }, AnyValue { string_value = 1,
 * bool_value = 2, int_value = 3, double_value = 4, array_value = 5 }, ArrayValue { values = 1 }.
 */
#include "sinks/otlp/attr.h"

static void key_close(struct pb *p, uint32_t field, const char *key, size_t whole, size_t value)
{
	pb_close(p, 2, value);
	pb_text(p, 1, key);
	pb_close(p, field, whole);
}

void attr_str(struct pb *p, uint32_t field, const char *key, struct skep_str s)
{
	size_t whole = pb_open(p), value = pb_open(p);

	if (!s.ptr || !s.len)
		return;
	pb_string(p, 1, s.ptr, s.len);
	key_close(p, field, key, whole, value);
}

void attr_text(struct pb *p, uint32_t field, const char *key, const char *text)
{
	uint32_t n = (uint32_t)strlen(text);

	attr_str(p, field, key, (struct skep_str){ text, n, n });
}

void attr_int(struct pb *p, uint32_t field, const char *key, int64_t v)
{
	size_t whole = pb_open(p), value = pb_open(p);

	pb_i64(p, 3, v);
	key_close(p, field, key, whole, value);
}

void attr_double(struct pb *p, uint32_t field, const char *key, double v)
{
	size_t whole = pb_open(p), value = pb_open(p);

	pb_double(p, 4, v);
	key_close(p, field, key, whole, value);
}

void attr_bool(struct pb *p, uint32_t field, const char *key, bool v)
{
	size_t whole = pb_open(p), value = pb_open(p);

	pb_u64(p, 2, v);
	key_close(p, field, key, whole, value);
}

/* Writes the list from its last text to its first, because the writer works backwards (pb.h). */
void attr_list(struct pb *p, uint32_t field, const char *key, struct skep_str list)
{
	size_t whole = pb_open(p), value = pb_open(p), array = pb_open(p);
	uint32_t end = list.ptr ? list.len : 0;

	if (!end)
		return;
	if (list.ptr[end - 1] == '\0')
		end--; /* the NUL that ends the last text; a list without it was cut */
	for (;;) {
		size_t one = pb_open(p);
		uint32_t begin = end;

		while (begin > 0 && list.ptr[begin - 1] != '\0')
			begin--;
		pb_string(p, 1, list.ptr + begin, end - begin);
		pb_close(p, 1, one);
		if (begin == 0)
			break;
		end = begin - 1;
	}
	pb_close(p, 5, array);
	key_close(p, field, key, whole, value);
}
