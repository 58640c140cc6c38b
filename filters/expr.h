/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/expr.h - conditions of rules, for the rule engine and its callers: `tool in ('bwa', 'samtools') and
 * not user = 'root'`.
 *
 * filter_expr_new() parses an expression once and checks it against a table of fields. Matching allocates no
 * memory and takes no lock. A match ends after at most as many steps as the expression has values (times the
 * ancestors that `any parent` visits).
 *
 *	expression   alternative { "or" alternative }
 *	alternative  condition { "and" condition }
 *	condition    "not" condition | "(" expression ")" | [ "any" ] FIELD [ OPERATOR value ]
 *	value        TEXT | NUMBER | "true" | "false" | "(" value { "," value } ")"
 *	OPERATOR     = != < <= > >= in prefix suffix glob contains matches cidr
 *
 * TEXT is quoted, '...' or "...", with the escapes \\, \', \", \n, \t and \xHH. NUMBER is an integer, with a
 * unit where the field has a unit (5s, 10ms; 64MiB, 1kB). Every operator except < <= > >= accepts a list. A
 * condition then holds when it holds for any value of the list; != holds when no value is equal. A field of
 * type bool needs no operator. `parent.FIELD` is the field of the parent process. `any parent.FIELD` is true
 * when the condition holds for any ancestor. A condition on a list field is true when it holds for any text of
 * the list; != is true when no text of the list is equal.
 *
 * `matches` takes a Perl-compatible regular expression, over bytes, and finds a match anywhere in the text. It
 * searches the first FILTER_REGEX_SUBJECT bytes and gives up after a bounded number of steps; giving up counts
 * as no match. All searches of one evaluation share FILTER_BUDGET_NS of CPU time.
 *
 * An unknown field (of a parent that skepd never saw, for example) makes a condition false, with every
 * operator: `parent.tool != 'make'` is then false, and `not parent.tool = 'make'` is true.
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
	FILTER_LIST, /* a list of texts: value.text is "a\0b\0"; the last NUL may be missing */
};

enum filter_unit {
	FILTER_PLAIN,
	FILTER_NS,    /* numbers carry a unit of time */
	FILTER_BYTES, /* numbers may carry a unit of size */
};

struct filter_field {
	const char *name; /* "tool"; lower-case letters, digits, '_' and '.' */
	enum filter_type type;
	enum filter_unit unit; /* for numbers */
	bool of_parent;        /* rules may also use "parent.tool" */
	const char *help;      /* one line for the user; may be NULL */
	/* A user cannot choose it for a process; fixed_by_folder: a path, whose folder a user cannot choose. */
	bool fixed, fixed_by_folder;
};

/* The fields; a field's index is the number that filter_get receives. Must outlive every expression. */
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
	FILTER_NOBODY, /* the subject has no such ancestor, or skepd never saw it */
	FILTER_UNKNOWN, /* the process is known, its field is not */
	FILTER_KNOWN,
};

/*
 * Reads a field of the subject. level: 0 the process itself, 1 its parent, and so on. Sets *ret only for
 * FILTER_KNOWN.
 */
typedef enum filter_known (*filter_get)(const void *subject, uint32_t level, uint32_t field, union filter_value *ret);

#define FILTER_TEXT_MAX 8192u  /* bytes of an expression */
#define FILTER_VALUES 4096u    /* values in one expression */
#define FILTER_DEPTH 64u       /* nested parentheses and nots */
#define FILTER_ANCESTORS 128u  /* ancestors that `any parent` visits */
#define FILTER_REGEX_MAX 512u      /* bytes of a regular expression */
#define FILTER_REGEX_SUBJECT 4096u /* bytes of a text that `matches` searches */
#define FILTER_REGEX_LIST 16384u   /* `matches` searches a list's texts that begin within this many bytes */

struct filter_error {
	uint32_t line, column; /* from 1, in bytes */
	uint32_t at;           /* bytes of the text before it */
	uint32_t length;       /* of the wrong part; 1 at the end of the text */
	char what[256];        /* one sentence: the cause, the value and the remedy */
};

struct filter_expr;

/* NULL: *ret_error holds the cause, errno is EINVAL or ENOMEM. */
struct filter_expr *filter_expr_new(const char *text, size_t len, const struct filter_schema *,
				    struct filter_error *ret_error);
struct filter_expr *filter_expr_free(struct filter_expr *);
/* Only one thread at a time may match an expression: `matches` works in memory that the expression owns. */
bool filter_expr_match(const struct filter_expr *, filter_get, const void *subject);

/*
 * CPU time that `matches` and `glob` may use for one subject, in all of its expressions together. A user
 * chooses the arguments of every ancestor, and the limits of one text do not bound 128 ancestors times 16,384
 * bytes. CPU time, not wall time: a wait for a CPU does not count. The caller zeroes the struct before the
 * first match. When a match spends the budget, the caller must ignore its result.
 */
#define FILTER_BUDGET_NS 20000000u
struct filter_budget {
	uint64_t tick_ns, began_ns;
	uint32_t bytes; /* searched since the last read of the clock */
	bool spent;
};
bool filter_expr_match_within(const struct filter_expr *, filter_get, const void *subject, struct filter_budget *);

/*
 * Does the expression hold only where a condition holds on what the process's user cannot choose?  false: any user can
 * make it true of a process, by names, arguments or folders.  A `not` counts as such a condition never.
 */
bool filter_expr_is_fixed(const struct filter_expr *, const struct filter_schema *);

/* Why an expression is not true: the smallest part of its text that decides, searched from the left. */
struct filter_reason {
	uint32_t at, length; /* of the deciding part, in bytes */
	/* The field, where the part is one condition (or `not` and one condition); else UINT32_MAX. */
	uint32_t field;
	enum filter_type type;
	bool of_parent, of_any;
	bool negated; /* the condition is true, below a `not` */
	enum filter_known known; /* the field of the process or its parent; KNOWN: see value. of_any: always NOBODY */
	union filter_value value;
};
/* false: the expression is true. The texts in *ret are the ones that filter_get returned. */
bool filter_expr_reason(const struct filter_expr *, filter_get, const void *subject, struct filter_reason *ret);

/*
 * Writes the line of the text that has the error and, below it, ^~~~ under the wrong part. Tabs stay. Of a line
 * longer than FILTER_SHOWN bytes it writes the part around the error, with ... at each cut. Truncates to
 * `size`; returns the full length, as snprintf does.
 */
#define FILTER_SHOWN 110u
int filter_error_show(const struct filter_error *, const char *text, size_t len, char *to, size_t size);

#endif
