/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/pattern.c - PCRE2 with named groups, over bytes.  See filters/regex.c for the operator `matches`, which has
 * no groups and searches a text from every place.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "filters/expr_priv.h"
#include "filters/pattern.h"

#include <errno.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS (PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_ANCHORED)
#define DEPTH 500u    /* of the interpreter's backtracking */
#define HEAP_KIB 64u  /* for the interpreter's frames */
#define NESTED 32u    /* nested parentheses */
#define MATCH_COST 512u /* bytes of a budget: each match looks at the clock, because it may take all of its steps */

struct pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *limits;
	const char *names[PATTERN_GROUPS + 1]; /* borrowed from the code */
	uint32_t number[PATTERN_GROUPS];       /* of the group, as PCRE2 counts */
};

struct pattern *pattern_free(struct pattern *p)
{
	if (!p)
		return NULL;
	pcre2_match_data_free(p->data);
	pcre2_match_context_free(p->limits);
	pcre2_code_free(p->code);
	free(p);
	return NULL;
}

static int compile(struct pattern *p, const char *text, char *why)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	PCRE2_UCHAR message[128];
	PCRE2_SIZE offset = 0;
	int err = 0;

	if (!context)
		return -ENOMEM;
	pcre2_set_parens_nest_limit(context, NESTED);
	p->code = pcre2_compile((PCRE2_SPTR)text, strlen(text), OPTIONS, &err, &offset, context);
	pcre2_compile_context_free(context);
	if (p->code)
		return 0;
	if (pcre2_get_error_message(err, message, sizeof(message)) < 0)
		message[0] = '\0';
	snprintf(why, PATTERN_ERROR_SIZE, "invalid regular expression: %s (after %zu bytes of it)",
		 (const char *)message, (size_t)offset);
	return -EINVAL;
}

/* Reads the table of names: entries of `size` bytes, two for the group's number, then its name and a NUL. */
static int read_names(struct pattern *p, char *why)
{
	uint32_t n = 0, size = 0;
	PCRE2_SPTR at = NULL;

	pcre2_pattern_info(p->code, PCRE2_INFO_NAMECOUNT, &n);
	pcre2_pattern_info(p->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
	pcre2_pattern_info(p->code, PCRE2_INFO_NAMETABLE, &at);
	if (n > PATTERN_GROUPS) {
		snprintf(why, PATTERN_ERROR_SIZE, "%u named groups; at most %u", n, PATTERN_GROUPS);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < n; i++, at += size) {
		p->number[i] = (uint32_t)at[0] << 8 | at[1];
		p->names[i] = (const char *)at + 2;
	}
	return 0;
}

int pattern_new(const char *text, struct pattern **ret, char *why)
{
	struct pattern *p;
	int err;

	if (strlen(text) > FILTER_REGEX_MAX) {
		snprintf(why, PATTERN_ERROR_SIZE, "a regular expression of %zu bytes; at most %u", strlen(text),
			 FILTER_REGEX_MAX);
		return -EINVAL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	err = compile(p, text, why);
	if (!err)
		err = read_names(p, why);
	if (!err) {
		p->data = pcre2_match_data_create_from_pattern(p->code, NULL);
		p->limits = pcre2_match_context_create(NULL);
		err = p->data && p->limits ? 0 : -ENOMEM;
	}
	if (err) {
		pattern_free(p);
		return err;
	}
	pcre2_set_match_limit(p->limits, PATTERN_STEPS);
	pcre2_set_depth_limit(p->limits, DEPTH);
	pcre2_set_heap_limit(p->limits, HEAP_KIB);
	*ret = p;
	return 0;
}

const char *const *pattern_names(const struct pattern *p)
{
	return p->names;
}

bool pattern_match(const struct pattern *p, const struct filter_text *text, struct filter_text *groups,
		   struct filter_budget *budget)
{
	uint32_t len = text->len < FILTER_REGEX_SUBJECT ? text->len : FILTER_REGEX_SUBJECT;
	const char *subject = text->len ? text->ptr : "";
	const PCRE2_SIZE *at;

	if (budget && (budget->spent || filter_budget_spent(budget, len + MATCH_COST)))
		return false;
	if (pcre2_match(p->code, (PCRE2_SPTR)subject, len, 0, 0, p->data, p->limits) < 0)
		return false;
	at = pcre2_get_ovector_pointer(p->data);
	for (uint32_t i = 0; i < PATTERN_GROUPS; i++) {
		const PCRE2_SIZE *group = p->names[i] ? at + 2 * p->number[i] : NULL;

		groups[i] = (struct filter_text){ NULL, 0 };
		if (group && group[0] != PCRE2_UNSET && group[0] <= group[1])
			groups[i] = (struct filter_text){ subject + group[0], (uint32_t)(group[1] - group[0]) };
	}
	return true;
}
