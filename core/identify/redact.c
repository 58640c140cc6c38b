/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/redact.c - blanks secrets in argument lists. It evaluates each argument by its position (behind
 * which option of which program), by its name (NAME=value), and by its text (core/identify/redact_text.c). It
 * parses an argument that holds a command line as a command line.
 */
#include "core/identify/redact.h"

#include <string.h>

#include "filters/glob.h"
#include "core/identify/redact_text.h"

#define DEPTH_MAX 4 /* nested command lines */
#define PASSES_GENTLE 4
#define PASSES_MAX 32

enum pending {
	PENDING_NOTHING,
	PENDING_VALUE,    /* the next word is a secret */
	PENDING_MAYBE,    /* the next word is a secret, unless it is an option */
	PENDING_USERPASS, /* the next word is user:secret */
	PENDING_CODE,     /* the next word that is not an option is a command line */
	PENDING_SKIP,     /* the next word is an option's value, but no secret */
};

static bool has_blank(const char *begin, const char *end)
{
	while (begin < end && !redact_blank(*begin))
		begin++;
	return begin < end;
}

/* What the words read so far say about the next word. */
struct command {
	const struct redact *redact;
	const struct redact_program *program; /* NULL: the table does not know it */
	enum pending pending;
	bool first;       /* no operand yet */
	bool armed;       /* the program's options apply */
	bool code;        /* certainly a command line: ';' ends a command. Otherwise ';' may belong to a secret. */
	unsigned depth;
	char *end;        /* of the text that holds the command; NULL: a list of arguments */
	uint32_t operands; /* number of operands behind the program's name */
	uint64_t letters;  /* single-letter options, bit (c & 63) */
	unsigned n;
};

static void command_line(struct command *outer, char *begin, char *end, bool code);
static bool assignment(struct command *command, char *begin, char *end);

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* Marks a value up to its end: within its quotes, or up to the next blank where the text may not be a shell's. */
static void mark_value(struct command *command, char *begin, char *end)
{
	if (begin >= end)
		return;
	if (command->end) {
		if (is_quote(*begin) && end - begin >= 2 && end[-1] == *begin) {
			begin++;
			end--;
		} else if (!command->code) {
			while (end < command->end && !redact_blank(*end) && !is_quote(*end))
				end++;
		}
	}
	command->n += redact_mark(begin, end);
}

/* Marks the secret of user:secret. */
static void mark_userpass(struct command *command, char *begin, char *end)
{
	char separator = command->program ? command->program->separator : ':';
	char *p = memchr(begin, separator, (size_t)(end - begin));

	if (!p)
		return;
	if (command->end && is_quote(*begin) && end - begin >= 2 && end[-1] == *begin)
		end--;
	else if (command->end && !command->code)
		mark_value(command, p + 1, end);
	command->n += redact_mark(p + 1, end);
}

/* ---- programs ---------------------------------------------------------------- */

static void program_set(struct command *command, const struct redact_program *program)
{
	command->program = program;
	command->armed = program && !program->only_after;
	command->operands = 0;
	command->letters = 0;
}

static bool program_find(struct command *command, const char *path, size_t len, bool any_path)
{
	const char *slash = memrchr(path, '/', len);
	const struct redact_program *program;

	if (slash) {
		/* "/usr/bin/mysql" is a program; "/var/lib/mysql" is not. */
		if (!any_path && (slash - path < 3 || memcmp(slash - 3, "bin", 3) != 0))
			return false;
		len -= (size_t)(slash + 1 - path);
		path = slash + 1;
	}
	program = len ? redact_table_program(command->redact, path, len) : NULL;
	if (!program)
		return false;
	program_set(command, program);
	return true;
}

static bool in_globs(char **globs, const char *begin, const char *end)
{
	for (; globs && *globs; globs++)
		if (glob_match(*globs, begin, (size_t)(end - begin)))
			return true;
	return false;
}

/* Applies an option to its own value, [value, end), or to the next word when value is NULL. */
static bool act(struct command *command, enum redact_action action, char *value, char *end)
{
	switch (action) {
	case REDACT_VALUE:
		if (value)
			mark_value(command, value, end);
		else
			command->pending = PENDING_VALUE;
		return true;
	case REDACT_ATTACHED:
		if (value)
			mark_value(command, value, end);
		return true;
	case REDACT_USERPASS:
		if (value)
			mark_userpass(command, value, end);
		else
			command->pending = PENDING_USERPASS;
		return true;
	case REDACT_SKIP:
		if (value)
			assignment(command, value, end);
		else
			command->pending = PENDING_SKIP;
		return true;
	case REDACT_CODE:
		command->pending = PENDING_CODE;
		return false;
	case REDACT_NOTHING:
		break;
	}
	return false;
}

/* Handles an option of a known program. true: only the text of the word remains to be checked. */
static bool program_option(struct command *command, char *begin, char *end)
{
	const struct redact_program *program = command->program;
	char *equals = memchr(begin, '=', (size_t)(end - begin)), letter[2] = { '-', '\0' };
	enum redact_action action;

	for (char *p = begin + 1; p < end && begin[1] != '-' && p < begin + 8; p++)
		if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'))
			command->letters |= 1ull << (*p & 63);
	action = redact_table_option(program, begin, (size_t)(end - begin));
	if (action != REDACT_NOTHING)
		return act(command, action, NULL, end);
	if (equals) {
		action = redact_table_option(program, begin, (size_t)(equals - begin));
		/* "-p=X" with a single letter is an attached value that begins with '='. */
		if (action != REDACT_NOTHING && equals - begin > 2)
			return act(command, action, equals + 1, end);
	}
	if (begin[1] == '-' || program->single_dash_long)
		return false;
	for (char *p = begin + 1; p < end; p++) {
		letter[1] = *p;
		action = redact_table_option(program, letter, 2);
		if (action == REDACT_NOTHING)
			continue;
		if (act(command, action, p + 1 < end ? p + 1 : NULL, end))
			/*
			 * The letter may belong to another program's word, as in -Ddb.password=x. The word is
			 * done only when its value is gone.
			 */
			return p + 1 >= end || action == REDACT_VALUE || action == REDACT_ATTACHED;
	}
	return false;
}

/* ---- words --------------------------------------------------------------------- */

/* Blanks the value of NAME=value. true: it was a secret. */
static bool assignment(struct command *command, char *begin, char *end)
{
	char *equals = memchr(begin, '=', (size_t)(end - begin));
	size_t len = equals ? (size_t)(equals - begin) : 0;

	if (len == 0)
		return false;
	for (char *p = begin; p < equals; p++)
		if (redact_blank(*p) || *p == '?' || *p == '&')
			return false;
	if (!redact_table_secret(command->redact, REDACT_NAMES, begin, len) &&
	    (begin[0] != '-' || len < 3 || !redact_table_secret(command->redact, REDACT_NAMES, begin + 2, len - 2)))
		return false;
	mark_value(command, equals + 1, end);
	return true;
}

/* Handles --option, --option=value and --option=NAME=value. true: the option or the name is secret. */
static bool general_option(struct command *command, char *begin, char *end)
{
	char *equals = memchr(begin, '=', (size_t)(end - begin));
	size_t len = (size_t)((equals ? equals : end) - begin);

	if (redact_table_secret(command->redact, REDACT_OPTIONS, begin, len)) {
		if (equals)
			mark_value(command, equals + 1, end);
		else
			command->pending = PENDING_MAYBE;
		return true;
	}
	if (begin[1] != '-' && assignment(command, begin, end))
		return true;
	return equals && equals + 1 < end && assignment(command, equals + 1, end);
}

static void operand(struct command *command, char *begin, char *end)
{
	const struct redact_program *program;
	bool first = command->first;

	command->first = false;
	if (program_find(command, begin, (size_t)(end - begin), first))
		return;
	if (first && command->end)
		program_set(command, NULL);
	program = command->program;
	if (!program || first)
		return;
	if (program->before_operand) {
		program_set(command, NULL);
		return;
	}
	for (char **word = program->only_after; word && *word; word++)
		if (strlen(*word) == (size_t)(end - begin) && memcmp(*word, begin, (size_t)(end - begin)) == 0)
			command->armed = true;
	if (!command->armed)
		return;
	command->operands++;
	for (size_t i = 0; i < program->n_operands; i++) {
		const struct redact_operand *rule = &program->operands[i];

		if ((rule->letters & ~command->letters) != 0)
			continue;
		if (rule->index == command->operands)
			mark_value(command, begin, end);
		break; /* only the first rule whose options are given applies */
	}
	for (char **prefix = program->prefixes; prefix && *prefix; prefix++) {
		size_t len = strlen(*prefix);

		if ((size_t)(end - begin) > len && memcmp(begin, *prefix, len) == 0)
			mark_value(command, begin + len, end);
	}
	if (program->userpass_operands && *begin != program->separator)
		mark_userpass(command, begin, end);
	if (in_globs(program->after_words, begin, end))
		command->pending = PENDING_MAYBE;
}

/* Handles a word that the previous word announced. true: the word is done. */
static bool word_pending(struct command *command, char *begin, char *end)
{
	enum pending pending = command->pending;
	bool option = end - begin > 1 && *begin == '-';

	if (pending == PENDING_CODE) {
		if (option)
			return false; /* sh -c -e CODE */
		command->pending = PENDING_NOTHING;
		command->first = false;
		command_line(command, begin, end, true);
		return true;
	}
	command->pending = PENDING_NOTHING;
	switch (pending) {
	case PENDING_VALUE:
		mark_value(command, begin, end);
		return true;
	case PENDING_MAYBE:
		if (option)
			return false;
		mark_value(command, begin, end);
		return true;
	case PENDING_USERPASS:
		mark_userpass(command, begin, end);
		return true;
	case PENDING_SKIP:
		if (!assignment(command, begin, end) && command->depth < DEPTH_MAX && has_blank(begin, end))
			command_line(command, begin, end, false);
		return true;
	default:
		return false;
	}
}

static void word(struct command *command, char *begin, char *end)
{
	if (begin >= end) {
		command->pending = PENDING_NOTHING; /* an empty value */
		return;
	}
	if (command->pending != PENDING_NOTHING && word_pending(command, begin, end))
		return;
	if (end - begin > 1 && *begin == '-') {
		if (command->program && command->armed && program_option(command, begin, end))
			return;
		if (general_option(command, begin, end))
			return;
	} else if (assignment(command, begin, end)) {
		return;
	} else {
		operand(command, begin, end);
	}
	if (command->depth < DEPTH_MAX && has_blank(begin, end))
		command_line(command, begin, end, false);
}

/* ---- a command line in an argument ---------------------------------------------- */

/* Returns the end of the word that begins at p. A quote without a partner is an ordinary character. */
static char *word_end(char *p, char *end, char *no_quote[2])
{
	while (p < end) {
		if (redact_blank(*p) || strchr(";|&()<>`", *p)) {
			if (*p != '\0')
				break;
		} else if (*p == '\\' && p + 1 < end) {
			p++;
		} else if (is_quote(*p)) {
			char **none = &no_quote[*p == '"'], *q;

			q = p < *none ? memchr(p + 1, *p, (size_t)(end - p - 1)) : NULL;
			if (q)
				p = q;
			else if (p < *none)
				*none = p;
		}
		p++;
	}
	return p < end ? p : end;
}

static void command_line(struct command *outer, char *begin, char *end, bool code)
{
	char *no_quote[2] = { end, end };
	struct command inner = {
		.redact = outer->redact,
		.first = true,
		.code = code,
		.depth = outer->depth + 1,
		.end = end,
	};

	for (char *p = begin; p < end;) {
		char *to, c = *p;

		if (c == '\0' || redact_blank(c)) {
			if (c == '\n') {
				program_set(&inner, NULL);
				inner.pending = PENDING_NOTHING;
				inner.first = true;
			}
			p++;
			continue;
		}
		if (strchr(";|&()<>`", c)) {
			/* A redirection does not end a command: x >f 2>&1 -psecret */
			if (c != '<' && c != '>' && !(c == '&' && p > begin && (p[-1] == '>' || p[-1] == '<'))) {
				program_set(&inner, NULL);
				inner.pending = PENDING_NOTHING;
				inner.first = true;
			}
			p++;
			continue;
		}
		to = word_end(p, end, no_quote);
		if (is_quote(c) && to - p >= 2 && to[-1] == c && !memchr(p + 1, c, (size_t)(to - p - 2)))
			word(&inner, p + 1, to - 1);
		else
			word(&inner, p, to);
		p = to;
	}
	outer->n += inner.n;
}

/* ---- the list ------------------------------------------------------------------- */

static char *squeeze(char *to, const char *from, size_t len)
{
	const char *end = from + len;

	/* Marks are rare: moves whole stretches between them. */
	while (from < end) {
		const char *nul = memchr(from, '\0', (size_t)(end - from));
		size_t n = (size_t)((nul ? nul : end) - from);

		if (to != from)
			memmove(to, from, n);
		to += n;
		from += n;
		while (from < end && *from == '\0')
			from++;
	}
	return to;
}

static unsigned pass(const struct redact *redact, const char *exe, bool whole, char *argv, uint32_t *len)
{
	struct command command = { .redact = redact, .first = true };
	char *p = argv, *end = argv + *len, *to = argv;

	if (exe && *exe)
		program_find(&command, exe, strlen(exe), true);
	while (p < end) {
		char *nul = memchr(p, '\0', (size_t)(end - p)), *stop = nul ? nul : end;
		unsigned n = command.n;

		word(&command, p, stop);
		command.n += redact_text(redact, p, stop);
		if (whole && command.n > n)
			redact_mark(p, stop);
		if (command.n > n || to != p)
			to = squeeze(to, p, (size_t)(stop - p));
		else
			to = stop;
		if (nul)
			*to++ = '\0';
		p = nul ? nul + 1 : end;
	}
	*len = (uint32_t)(to - argv);
	return command.n;
}

unsigned redact_argv(const struct redact *redact, const char *exe, char *argv, uint32_t *len)
{
	unsigned total = 0, n;

	/*
	 * A secret may hold quotes and separators, so the rest may read differently after blanking. Repeats
	 * until nothing changes, so that a second redaction leaves the list alone. After PASSES_GENTLE passes
	 * it blanks whole arguments: a hostile list must not keep skepd busy.
	 */
	for (int i = 0; i < PASSES_MAX; i++) {
		n = argv && *len ? pass(redact, exe, i >= PASSES_GENTLE, argv, len) : 0;
		total += n;
		if (n == 0)
			break;
	}
	return total;
}
