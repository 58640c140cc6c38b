/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/number.c - parses the numbers of expressions, with units: 5s, 64MiB.
 */
#include <string.h>

#include "filters/expr_priv.h"

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit times[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", 1000000000 },
	{ "m", UINT64_C(60) * 1000000000 },
	{ "h", UINT64_C(3600) * 1000000000 },
	{ "d", UINT64_C(86400) * 1000000000 },
	{ NULL, 0 },
};
static const struct unit sizes[] = {
	{ "B", 1 },
	{ "kB", 1000 },
	{ "MB", 1000000 },
	{ "GB", 1000000000 },
	{ "TB", UINT64_C(1000000000000) },
	{ "KiB", 1 << 10 },
	{ "MiB", 1 << 20 },
	{ "GiB", 1 << 30 },
	{ "TiB", UINT64_C(1) << 40 },
	{ NULL, 0 },
};

/* 0: no unit has that name. */
static uint64_t factor_of(const struct unit *units, const char *name, size_t len)
{
	for (; units->name; units++)
		if (strlen(units->name) == len && memcmp(units->name, name, len) == 0)
			return units->factor;
	return 0;
}

static bool bad_unit(const struct lexer *l, const struct token *t, const struct filter_field *f)
{
	int len = (int)(t->len > 40 ? 40 : t->len);

	switch (f->unit) {
	case FILTER_NS:
		return lex_error(l, t->at, t->length,
				 "%s is a time: \"%.*s\" wants one of the units ns, us, ms, s, m, h, d, as in 5s",
				 f->name, len, t->ptr);
	case FILTER_BYTES:
		return lex_error(
			l, t->at, t->length,
			"%s is a size: \"%.*s\" may have one of the units B, kB, MB, GB, TB, KiB, MiB, GiB, TiB",
			f->name, len, t->ptr);
	default:
		return lex_error(l, t->at, t->length, "%s is a number without a unit: \"%.*s\" is none", f->name, len,
				 t->ptr);
	}
}

bool number_of(const struct lexer *l, const struct token *t, const struct filter_field *f, union filter_value *ret)
{
	bool minus = t->ptr[0] == '-';
	uint32_t i = minus;
	uint64_t v = 0, factor = 1, most;

	for (; i < t->len && t->ptr[i] >= '0' && t->ptr[i] <= '9'; i++)
		if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(t->ptr[i] - '0'), &v))
			goto large;
	if (i < t->len && t->ptr[i] == '.')
		return lex_error(l, t->at, t->length, "\"%.*s\": numbers are whole; take a smaller unit",
				 (int)(t->len > 40 ? 40 : t->len), t->ptr);
	if (f->unit == FILTER_PLAIN && i < t->len)
		return bad_unit(l, t, f);
	if (f->unit == FILTER_NS && (i < t->len || v != 0)) /* zero needs no unit */
		factor = factor_of(times, t->ptr + i, t->len - i);
	if (f->unit == FILTER_BYTES && i < t->len)
		factor = factor_of(sizes, t->ptr + i, t->len - i);
	if (factor == 0)
		return bad_unit(l, t, f);
	if (__builtin_mul_overflow(v, factor, &v))
		goto large;
	if (f->type == FILTER_UINT) {
		if (minus && v)
			return lex_error(l, t->at, t->length, "%s is never negative", f->name);
		ret->u = v;
		return true;
	}
	most = minus ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
	if (v > most)
		goto large;
	ret->i = minus ? (int64_t)(0 - v) : (int64_t)v;
	return true;
large:
	return lex_error(l, t->at, t->length, "\"%.*s\" is larger than %s can be", (int)(t->len > 40 ? 40 : t->len),
			 t->ptr, f->name);
}
