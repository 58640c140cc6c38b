/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/regex.c - the operator `matches`: PCRE2 over bytes, compiled once.
 *
 * Whoever is judged chooses the text, so no text may cost much: its length, the steps from each
 * place in it and the depth are limited, and what meets a limit is no match.  Matching takes no
 * memory: compiled code (JIT) works on the stack; where there is none (MemoryDenyWriteExecute=,
 * a processor that PCRE2 has none for), the interpreter's frames come from two blocks made here.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>

#include "filters/expr_priv.h"

#define STEPS 5000u    /* from one place of the text */
#define DEPTH 500u     /* of the interpreter's backtracking */
#define FRAMES_KIB 64u /* for it */
#define NESTED 32u     /* parentheses in each other */

struct regex {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *limits;
	pcre2_general_context *memory;
	bool built;
	/* pcre2_match grows its frames into a second block before it lets the first one go. */
	char *block[2];
	bool taken[2];
};

static void *memory_take(size_t size, void *arg)
{
	struct regex *r = arg;

	if (!r->built)
		return malloc(size);
	for (int i = 0; i < 2; i++) {
		if (!r->block[i] || r->taken[i] || size > FRAMES_KIB * 1024u)
			continue;
		r->taken[i] = true;
		return r->block[i];
	}
	return NULL; /* PCRE2_ERROR_NOMEMORY: no match */
}

static void memory_give(void *at, void *arg)
{
	struct regex *r = arg;

	for (int i = 0; i < 2; i++) {
		if (at && at == r->block[i]) {
			r->taken[i] = false;
			return;
		}
	}
	free(at);
}

struct regex *regex_free(struct regex *r)
{
	if (!r)
		return NULL;
	pcre2_match_data_free(r->data);
	pcre2_match_context_free(r->limits);
	pcre2_code_free(r->code);
	pcre2_general_context_free(r->memory);
	free(r->block[0]);
	free(r->block[1]);
	free(r);
	return NULL;
}

static bool no_memory(const struct lexer *l, const struct token *t)
{
	lex_error(l, t->at, t->length, "no memory for this regular expression");
	errno = ENOMEM;
	return false;
}

static bool compile(struct regex *r, const struct lexer *l, const struct token *t)
{
	pcre2_compile_context *context = pcre2_compile_context_create(r->memory);
	PCRE2_UCHAR why[128];
	PCRE2_SIZE offset = 0;
	int err = 0;

	if (!context)
		return no_memory(l, t);
	pcre2_set_parens_nest_limit(context, NESTED);
	r->code = pcre2_compile((PCRE2_SPTR)t->ptr, t->len, PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_DOLLAR_ENDONLY, &err, &offset, context);
	pcre2_compile_context_free(context);
	if (r->code)
		return true;
	if (pcre2_get_error_message(err, why, sizeof(why)) < 0)
		why[0] = '\0';
	return lex_error(l, t->at, t->length, "this is no regular expression: %s (after %zu bytes of it)", (const char *)why, (size_t)offset);
}

struct regex *regex_new(const struct lexer *l, const struct token *t)
{
	struct regex *r;
	size_t jit = 0;

	if (t->len > FILTER_REGEX_MAX) {
		lex_error(l, t->at, t->length, "a regular expression of %u bytes; at most %u: list several", t->len, FILTER_REGEX_MAX);
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		no_memory(l, t);
		return NULL;
	}
	r->memory = pcre2_general_context_create(memory_take, memory_give, r);
	if (!r->memory) {
		no_memory(l, t);
		return regex_free(r);
	}
	if (!compile(r, l, t))
		return regex_free(r);
	r->limits = pcre2_match_context_create(r->memory);
	/* One pair of offsets: whether it matches is all that is asked. */
	r->data = pcre2_match_data_create(1, r->memory);
	if (!r->limits || !r->data) {
		no_memory(l, t);
		return regex_free(r);
	}
	pcre2_set_match_limit(r->limits, STEPS);
	pcre2_set_depth_limit(r->limits, DEPTH);
	pcre2_set_heap_limit(r->limits, FRAMES_KIB);
	/* Asked for by its result: a pattern that begins with (*NO_JIT) is no error of the compiler. */
	pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE);
	if (pcre2_pattern_info(r->code, PCRE2_INFO_JITSIZE, &jit) != 0 || jit == 0) {
		for (int i = 0; i < 2; i++) {
			r->block[i] = malloc(FRAMES_KIB * 1024u);
			if (!r->block[i]) {
				no_memory(l, t);
				return regex_free(r);
			}
		}
	}
	r->built = true;
	return r;
}

bool regex_match(const struct regex *r, const char *text, size_t len, bool *ret_gave_up)
{
	uint32_t options = 0;
	int n;

	if (len > FILTER_REGEX_SUBJECT) {
		len = FILTER_REGEX_SUBJECT;
		options = PCRE2_NOTEOL;
	}
	n = pcre2_match(r->code, (PCRE2_SPTR)(len ? text : ""), len, 0, options, r->data, r->limits);
	*ret_gave_up = n < PCRE2_ERROR_NOMATCH;
	return n >= 0;
}
