/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/expr.h - conditions of rules: `tool in ('bwa', 'samtools') and not user = 'root'`.
 *
 * An expression is parsed and checked once, against a table of fields, and then matched as often
 * as one likes: matching allocates nothing, takes no lock and ends after at most as many steps as
 * the expression has values (times the ancestors that `any parent` looks at).
 *
 *	expression   alternative { "or" alternative }
 *	alternative  condition { "and" condition }
 *	condition    "not" condition | "(" expression ")" | [ "any" ] FIELD [ OPERATOR value ]
 *	value        TEXT | NUMBER | "true" | "false" | "(" value { "," value } ")"
 *	OPERATOR     = != < <= > >= in prefix suffix glob contains matches cidr
 *
 * TEXT stands in '...' or "..." with \\, \', \", \n, \t and \xHH; NUMBER is whole, with a unit where the
 * field has one (5s, 10ms; 64MiB, 1kB).  Every operator but < <= > >= takes a list: any of them.
 * A field of type bool may stand alone.  `parent.FIELD` is that of the parent process;
 * `any parent.FIELD` is true when it is for any ancestor.  Of a field that is a list of texts
 * a condition is true when it is of any of them, and != when none of them equals.
 *
 * `matches` is a regular expression as Perl writes them, over bytes, anywhere in the text; it sees the
 * first FILTER_REGEX_SUBJECT bytes and gives up, which is no match, after a bounded number of steps.
 * One judgement has FILTER_BUDGET_NS of processor time for all of them.
 *
 * What is not known (a process whose parent was not seen) makes a condition false, whatever its
 * operator: `parent.tool != 'make'` is false there, and `not parent.tool = 'make'` is true.
 */
#ifndef SKEP_FILTERS_EXPR_H
#define SKEP_FILTERS_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum filter_type {
	FILTER_TEXT,
	FILTER_UINT,
	FILTER_INT,
	FILTER_BOOL,
	FILTER_IP,   /* 16 bytes; IPv4 as ::ffff:a.b.c.d */
	FILTER_LIST, /* of texts: value.text is "a\0b\0"; the last NUL may be missing */
};

enum filter_unit {
	FILTER_PLAIN,
	FILTER_NS,    /* numbers are written with a unit of time */
	FILTER_BYTES, /* and may be with one of size */
};

struct filter_field {
	const char *name; /* "tool"; lower-case letters, digits, '_' and '.' */
	enum filter_type type;
	enum filter_unit unit; /* of numbers */
	bool of_parent;        /* "parent.tool" may be asked for as well */
	const char *help;      /* one line, for people; may be NULL */
};

/* Fields by number, which is what filter_get is asked for.  Must outlive every expression. */
struct filter_schema {
	const struct filter_field *fields;
	uint32_t n;
};

struct filter_text {
	const char *ptr; /* need not end in a NUL */
	uint32_t len;
};

union filter_value {
	struct filter_text text;
	uint64_t u;
	int64_t i;
	bool b;
	uint8_t ip[16];
};

enum filter_known {
	FILTER_NOBODY, /* there is no such ancestor, or it was not seen */
	FILTER_UNKNOWN, /* there is, but that of it is not known */
	FILTER_KNOWN,
};

/* What a field is.  level: 0 the process itself, 1 its parent, and so on.  *ret only when it is known. */
typedef enum filter_known (*filter_get)(const void *subject, uint32_t level, uint32_t field, union filter_value *ret);

#define FILTER_TEXT_MAX 8192u  /* bytes of an expression */
#define FILTER_VALUES 4096u    /* in one expression */
#define FILTER_DEPTH 64u       /* parentheses and nots in each other */
#define FILTER_ANCESTORS 128u  /* that `any parent` looks at */
#define FILTER_REGEX_MAX 512u      /* bytes of a regular expression */
#define FILTER_REGEX_SUBJECT 4096u /* bytes of a text that one looks at */
#define FILTER_REGEX_LIST 16384u   /* of a list it looks at the texts that begin within its first so many bytes */

struct filter_error {
	uint32_t line, column; /* from 1, in bytes */
	uint32_t at;           /* bytes of the text before it */
	uint32_t length;       /* of what is wrong; 1 at the end of the text */
	char what[256];        /* one sentence, with the value and the remedy */
};

struct filter_expr;

/* NULL: *ret_error says why, errno is EINVAL or ENOMEM. */
struct filter_expr *filter_expr_new(const char *text, size_t len, const struct filter_schema *,
				    struct filter_error *ret_error);
struct filter_expr *filter_expr_free(struct filter_expr *);
/* One thread at a time for each expression: `matches` works in memory that was made with it. */
bool filter_expr_match(const struct filter_expr *, filter_get, const void *subject);

/*
 * The processor time that `matches` and `glob` may take for one subject in all its expressions
 * together.  A user chooses the arguments of all ancestors, and the limits of one text say nothing
 * about 128 ancestors times 16,384 bytes.  It is processor time, so that a busy machine spends none.
 * Zeroed to begin with.  Once it is spent, the result of a match is no longer of use.
 */
#define FILTER_BUDGET_NS 20000000u
struct filter_budget {
	uint64_t tick_ns, began_ns;
	uint32_t bytes; /* searched since the last look at the clock */
	bool spent;
};
bool filter_expr_match_within(const struct filter_expr *, filter_get, const void *subject, struct filter_budget *);

/* Why an expression is not true: the smallest part of its text that decides, from the left. */
struct filter_reason {
	uint32_t at, length; /* of that part, in bytes */
	/* Where the part is one condition (or `not` one), what it asked about; else field is UINT32_MAX. */
	uint32_t field;
	enum filter_type type;
	bool of_parent, of_any;
	bool negated; /* it stands below a `not`, and is true */
	enum filter_known known; /* of itself or the parent; KNOWN: value.  of_any: NOBODY, as many were asked */
	union filter_value value;
};
/* false: it is true.  Texts in *ret are those that filter_get gave. */
bool filter_expr_reason(const struct filter_expr *, filter_get, const void *subject, struct filter_reason *ret);

/*
 * The line of the text that the error is in and, below it, ^~~~ under what is wrong; tabs stay; of a
 * line longer than FILTER_SHOWN bytes the part around what is wrong, with ... where it was cut.
 * Into `to`, cut where it does not fit; returns its length as snprintf does.
 */
#define FILTER_SHOWN 110u
int filter_error_show(const struct filter_error *, const char *text, size_t len, char *to, size_t size);

#endif
