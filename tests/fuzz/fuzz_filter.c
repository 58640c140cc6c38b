/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: an expression of any bytes, matched against a process made from the rest of the input, and the same
 * bytes as a file of rules. An accepted expression gives a reason exactly when it is false, and its errors lie within
 * the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/rules/rule_fields.h"
#include "core/rules/rules_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rule_subject *parent_of(const struct rule_subject *s)
{
	return s->owner;
}

/* Each text of the process is the second half of the input; the parent's texts are its tail. */
static void make(struct rule_subject *s, struct rule_subject *above, const char *text, size_t len)
{
	memset(s, 0, sizeof(*s));
	memset(above, 0, sizeof(*above));
	for (unsigned f = 0; f < RULE_FIELD_USER; f++) {
		if (len > f)
			rule_subject_set_text(s, f, text, len);
		rule_subject_set_text(above, f, text + len / 2, len - len / 2);
	}
	for (unsigned f = RULE_FIELD_UID; f < RULE_FIELD_WRAPPER; f++)
		rule_subject_set_number(s, f, len ? (uint8_t)text[0] : 0);
	rule_subject_set_wrapper(s, len & 1);
	s->parent = parent_of;
	s->owner = above;
}

static void expression(const char *text, size_t len, const struct rule_subject *s)
{
	struct filter_error error;
	struct filter_reason why;
	struct filter_expr *e = filter_expr_new(text, len, &rule_fields_schema, &error);
	char shown[200];

	if (!e) {
		if (error.line < 1 || error.column < 1 || error.length < 1 || error.at > len)
			abort();
		filter_error_show(&error, text, len, shown, sizeof(shown));
		return;
	}
	if (filter_expr_match(e, rule_field_get, s) == filter_expr_reason(e, rule_field_get, s, &why))
		abort();
	if (!filter_expr_match(e, rule_field_get, s) && (why.at > len || why.length > len - why.at || why.length == 0))
		abort();
	filter_expr_free(e);
}

static void file(const char *text, size_t len, const struct rule_subject *s)
{
	struct ruleset *set = ruleset_new(&rule_fields_schema, RULE_INCLUDE);
	struct rule_decision d;
	struct diag diag;
	int err;

	if (!set)
		return;
	diag_init(&diag);
	err = rules_parse(text, len, "rules", &diag, set);
	if ((err == 0) != (diag.n_errors == 0))
		abort();
	ruleset_evaluate(set, rule_field_get, s, 1, &d);
	diag_clear(&diag);
	ruleset_unref(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The expression ends at the first NUL; the process is behind it. */
	const char *text = (const char *)data, *nul = size ? memchr(text, '\0', size) : NULL;
	size_t len = nul ? (size_t)(nul - text) : size;
	struct rule_subject s, above;

	make(&s, &above, nul ? nul + 1 : text, nul ? size - len - 1 : size);
	expression(text, len, &s);
	file(text, len, &s);
	return 0;
}
