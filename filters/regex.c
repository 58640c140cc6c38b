/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/regex.c - the operator `matches`: PCRE2 over bytes, compiled once.
 *
 * The user of a process chooses its arguments, so no text may cost much CPU time. skep limits the text's
 * length, the steps from each start position and the depth. A text that meets a limit does not match. PCRE2
 * limits only the steps from one start position, so skep searches a long text a few positions at a time and
 * checks the evaluation's budget in between. Matching allocates no memory. JIT code works on the stack. Without
 * JIT (MemoryDenyWriteExecute=, or a processor that PCRE2's JIT does not support) the interpreter's frames use
 * two blocks that regex_new allocates.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "filters/expr_priv.h"

#define OPTIONS (PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_USE_OFFSET_LIMIT)
#define STEPS 5000u    /* from one start position in the text */
#define DEPTH 500u     /* of the interpreter's backtracking */
#define FRAMES_KIB 64u /* for the interpreter's frames */
#define NESTED 32u     /* nested parentheses */
/*
 * One step can cost as much as the text is long: the `\s+` in `a.*?\s+b` skips all spaces uncounted (PCRE2
 * 10.42). A text of LONG bytes takes at most 50 ms and is searched at once. skep searches a longer text PLACES
 * positions at a time with FEW_STEPS each (100 ms at most). A position that needs more steps is searched alone.
 */
#define LONG 141u
#define FEW_STEPS 64u
#define PLACES 512u

struct regex {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *limits, *places; /* for a search of the whole text; for a search from some positions */
	pcre2_general_context *memory;
	bool built;
	/* search in one call: a search from within the text would differ, or only one position can match */
	bool at_once;
	/* pcre2_match copies its frames into a second block before it frees the first. */
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
	return NULL; /* pcre2_match returns PCRE2_ERROR_NOMEMORY: no match */
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
	pcre2_match_context_free(r->places);
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
	r->code = pcre2_compile((PCRE2_SPTR)t->ptr, t->len, OPTIONS, &err, &offset, context);
	pcre2_compile_context_free(context);
	if (r->code)
		return true;
	if (pcre2_get_error_message(err, why, sizeof(why)) < 0)
		why[0] = '\0';
	return lex_error(l, t->at, t->length, "invalid regular expression: %s (after %zu bytes of it)",
			 (const char *)why, (size_t)offset);
}

/* \G depends on where a search begins; (*COMMIT) and (*SKIP) decide where the next search may begin. */
static bool at_once(const struct regex *r, const struct token *t)
{
	static const char *const words[] = { "\\G", "(*COMMIT", "(*SKIP" };
	uint32_t options = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (memmem(t->ptr, t->len, words[i], strlen(words[i])))
			return true;
	return pcre2_pattern_info(r->code, PCRE2_INFO_ALLOPTIONS, &options) == 0 && options & PCRE2_ANCHORED;
}

struct regex *regex_new(const struct lexer *l, const struct token *t)
{
	struct regex *r;
	size_t jit = 0;

	if (t->len > FILTER_REGEX_MAX) {
		lex_error(l, t->at, t->length, "a regular expression of %u bytes; at most %u: list several", t->len,
			  FILTER_REGEX_MAX);
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
	r->at_once = at_once(r, t);
	r->limits = pcre2_match_context_create(r->memory);
	/* One pair of offsets is enough: skep only needs to know whether the text matches. */
	r->data = pcre2_match_data_create(1, r->memory);
	if (r->limits) {
		pcre2_set_match_limit(r->limits, STEPS);
		pcre2_set_depth_limit(r->limits, DEPTH);
		pcre2_set_heap_limit(r->limits, FRAMES_KIB);
		r->places = pcre2_match_context_copy(r->limits);
	}
	if (!r->places || !r->data) {
		no_memory(l, t);
		return regex_free(r);
	}
	/*
	 * Checks the size of the compiled code, not the return value: a pattern that begins with (*NO_JIT) stays
	 * without compiled code, and that is no error.
	 */
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

/* Searches from each of `places` positions, from `at` on. */
static int search(const struct regex *r, const struct filter_text *t, size_t at, size_t places, uint32_t steps,
		  uint32_t options)
{
	pcre2_set_match_limit(r->places, steps);
	pcre2_set_offset_limit(r->places, at + places - 1);
	return pcre2_match(r->code, (PCRE2_SPTR)t->ptr, t->len, at, options, r->data, r->places);
}

static int search_long(const struct regex *r, const struct filter_text *t, uint32_t options,
		       struct filter_budget *budget)
{
	size_t at = 0, places = PLACES;
	int n = PCRE2_ERROR_NOMATCH;

	while (at <= t->len && n == PCRE2_ERROR_NOMATCH) {
		n = search(r, t, at, places, FEW_STEPS, options);
		if (n == PCRE2_ERROR_MATCHLIMIT && places > 1) {
			places = 1;
			n = PCRE2_ERROR_NOMATCH;
			continue;
		}
		if (n == PCRE2_ERROR_MATCHLIMIT)
			n = search(r, t, at, 1, STEPS, options);
		at += places;
		places = places < PLACES ? 2 * places : PLACES;
		if (filter_budget_spent(budget, (uint32_t)places))
			return n >= 0 ? n : PCRE2_ERROR_MATCHLIMIT;
	}
	return n;
}

bool regex_match(const struct regex *r, const struct filter_text *text, struct filter_budget *budget, bool *ret_gave_up)
{
	struct filter_text t = *text;
	uint32_t options = 0;
	int n;

	if (t.len > FILTER_REGEX_SUBJECT) {
		t.len = FILTER_REGEX_SUBJECT;
		options = PCRE2_NOTEOL;
	}
	if (t.len > LONG && !r->at_once)
		n = search_long(r, &t, options, budget);
	else
		n = pcre2_match(r->code, (PCRE2_SPTR)(t.len ? t.ptr : ""), t.len, 0, options, r->data, r->limits);
	*ret_gave_up = n < PCRE2_ERROR_NOMATCH;
	return n >= 0;
}
