/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/redact_table.c - builds the redaction table from etc/redact.json and a site's files, and
 * answers whether a name is secret.
 */
#include "core/identify/redact_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/datafile.h"
#include "filters/glob.h"
#include "core/identify/redact_json.h"

#define SHAPE_MAX 65536

static const char *const list_keys[REDACT_LISTS] = {
	[REDACT_OPTIONS] = "options",
	[REDACT_NAMES] = "names",
	[REDACT_PARAMETERS] = "parameters",
	[REDACT_HEADERS] = "headers",
};

static const struct {
	const char *key;
	enum redact_action action;
} option_keys[] = {
	{ "value_options", REDACT_VALUE },
	{ "attached_options", REDACT_ATTACHED },
	{ "userpass_options", REDACT_USERPASS },
	{ "options_with_value", REDACT_SKIP },
	{ "shell_flags", REDACT_CODE },
};

static const char *const root_keys[] = { "options", "names", "parameters", "headers", "phrases", "shapes", "programs",
					 NULL };
static const char *const verdict_keys[] = { "secret", "public", NULL };
static const char *const shape_keys[] = { "prefixes", "chars", "needs", "min", "max", "keep_prefix", NULL };
static const char *const operand_keys[] = { "with", "index", NULL };
static const char *const program_keys[] = {
	"match",
	"value_options",
	"attached_options",
	"userpass_options",
	"options_with_value",
	"shell_flags",
	"separator",
	"userpass_operands",
	"secret_operands",
	"after_words",
	"only_after",
	"prefixes",
	"before_operand",
	"single_dash_long",
	NULL,
};

static int grow(void **array, size_t n, size_t *room, size_t size)
{
	size_t larger = *room ? *room * 2 : 8;
	void *p;

	if (n < *room)
		return 0;
	p = reallocarray(*array, larger, size);
	if (!p)
		return -ENOMEM;
	*array = p;
	*room = larger;
	return 0;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* ---- lists of names --------------------------------------------------------- */

/* Finds the longest run of plain characters: every matching name has this run, and so its last three characters. */
static void pattern_learn(struct redact_pattern *pattern)
{
	const char *best = NULL;
	size_t best_len = 0;

	if (!strchr(pattern->glob, '[') && !strchr(pattern->glob, '\\')) {
		for (const char *p = pattern->glob; *p;) {
			size_t n = strcspn(p, "*?");

			if (n > best_len) {
				best = p;
				best_len = n;
			}
			p += n;
			p += strspn(p, "*?");
		}
	}
	pattern->any = best_len < 3;
	if (!pattern->any)
		pattern->trigram = redact_trigram(best + best_len - 3);
}

static int list_add(struct redact_list *list, const struct datanode *words, bool secret)
{
	struct datanode word;
	int err;

	if (!datanode_array(words))
		return 0;
	for (size_t i = 0; i < json_array_size(words->json); i++) {
		struct redact_pattern *pattern;
		const char *s;
		char *glob;

		datanode_at(words, i, &word);
		s = datanode_glob(&word);
		if (!s)
			continue;
		if (strlen(s) >= REDACT_NAME_MAX) {
			datanode_error(&word, "longer than %d bytes: skepd compares no name of that length; shorten "
				"it", REDACT_NAME_MAX - 1);
			continue;
		}
		err = grow((void **)&list->patterns, list->n, &list->room, sizeof(*list->patterns));
		if (err)
			return err;
		glob = strdup(s);
		if (!glob)
			return -ENOMEM;
		for (char *p = glob; *p; p++)
			*p = lower(*p);
		pattern = &list->patterns[list->n++];
		*pattern = (struct redact_pattern){ .glob = glob, .secret = secret };
		pattern_learn(pattern);
		if (secret && pattern->any)
			list->always = true;
		else if (secret)
			list->trigrams[pattern->trigram >> 6] |= 1ull << (pattern->trigram & 63);
	}
	return 0;
}

/* Reads "public" after "secret": within one file it lists exceptions. */
static int read_list(const struct datanode *root, enum redact_list_kind kind, struct redact *redact)
{
	struct datanode node, words;
	int err = 0;

	if (!datanode_key(root, list_keys[kind], &node) || !datanode_object(&node, verdict_keys))
		return 0;
	if (datanode_key(&node, "secret", &words))
		err = list_add(&redact->lists[kind], &words, true);
	if (!err && datanode_key(&node, "public", &words))
		err = list_add(&redact->lists[kind], &words, false);
	return err;
}

bool redact_table_secret(const struct redact *redact, enum redact_list_kind kind, const char *name, size_t len)
{
	const struct redact_list *list = &redact->lists[kind];
	char folded[REDACT_NAME_MAX];
	uint64_t seen[4] = { 0 }; /* the name's own trigrams, by the low bits of their hash */
	bool maybe = list->always;

	if (len > sizeof(folded)) {
		name += len - sizeof(folded);
		len = sizeof(folded);
	}
	for (size_t i = 0; i < len; i++) {
		folded[i] = lower(name[i]);
		if (i >= 2) {
			unsigned bit = redact_trigram(folded + i - 2);

			maybe |= list->trigrams[bit >> 6] >> (bit & 63) & 1;
			seen[bit >> 6 & 3] |= 1ull << (bit & 63);
		}
	}
	if (!maybe)
		return false;
	for (size_t i = list->n; i-- > 0;) {
		const struct redact_pattern *p = &list->patterns[i];

		if ((p->any || seen[p->trigram >> 6 & 3] >> (p->trigram & 63) & 1) && glob_match(p->glob, folded, len))
			return p->secret;
	}
	return false;
}

static int read_phrases(const struct datanode *root, struct redact *redact)
{
	struct datanode list, word;
	int err;

	if (!datanode_key(root, "phrases", &list) || !datanode_array(&list))
		return 0;
	for (size_t i = 0; i < json_array_size(list.json); i++) {
		const char *s;
		char *phrase;

		datanode_at(&list, i, &word);
		s = datanode_string(&word);
		if (!s)
			continue;
		err = grow((void **)&redact->phrases, redact->n_phrases, &redact->phrases_room,
			   sizeof(*redact->phrases));
		if (err)
			return err;
		phrase = strdup(s);
		if (!phrase)
			return -ENOMEM;
		for (char *p = phrase; *p; p++)
			*p = lower(*p);
		redact->phrases[redact->n_phrases++] = phrase;
	}
	return 0;
}

/* ---- shapes ------------------------------------------------------------------ */

/* Reads a set such as "A-Za-z0-9_"; a literal '-' must be first or last. */
static bool read_chars(const struct datanode *node, const char *key, uint64_t ret[4])
{
	struct datanode value;
	const unsigned char *p;

	if (!datanode_key(node, key, &value))
		return false;
	p = (const unsigned char *)datanode_string(&value);
	if (!p)
		return false;
	while (*p) {
		unsigned from = *p++, to = from;

		if (*p == '-' && p[1]) {
			to = p[1];
			p += 2;
		}
		if (to < from) {
			datanode_error(&value, "the range %c-%c goes backwards: write %c-%c", (int)from, (int)to,
				       (int)to, (int)from);
			return false;
		}
		for (; from <= to; from++)
			ret[from >> 6] |= 1ull << (from & 63);
	}
	return true;
}

static int shape_add(struct redact *redact, const struct redact_shape *like, const char *prefix)
{
	struct redact_shape *shape;
	int err;

	err = grow((void **)&redact->shapes, redact->n_shapes, &redact->shapes_room, sizeof(*redact->shapes));
	if (err)
		return err;
	shape = &redact->shapes[redact->n_shapes];
	*shape = *like;
	shape->prefix = strdup(prefix);
	if (!shape->prefix)
		return -ENOMEM;
	shape->prefix_len = strlen(prefix);
	if (shape->prefix_len < 3) /* too short for a trigram: any text may follow */
		memset(redact->shape_trigrams, 0xff, sizeof(redact->shape_trigrams));
	else
		redact->shape_trigrams[redact_trigram(prefix) >> 6] |= 1ull << (redact_trigram(prefix) & 63);
	shape->next = redact->first_shape[(unsigned char)prefix[0]];
	redact->first_shape[(unsigned char)prefix[0]] = (uint32_t)++redact->n_shapes;
	return 0;
}

static int read_shape(const struct datanode *node, struct redact *redact)
{
	struct datanode value, prefix;
	struct redact_shape shape = { .min = 1, .group = (uint32_t)redact->n_shapes + 1 };
	size_t n_errors = node->diag->n_errors;
	long n;
	int err = 0;

	if (!datanode_object(node, shape_keys))
		return 0;
	if (!read_chars(node, "chars", shape.chars) && n_errors == node->diag->n_errors)
		datanode_error(node, "has no \"chars\": give the characters behind the prefix, as \"A-Za-z0-9\"");
	shape.has_needs = read_chars(node, "needs", shape.needs);
	if (datanode_key(node, "min", &value) && datanode_number(&value, 1, SHAPE_MAX, &n))
		shape.min = (size_t)n;
	if (datanode_key(node, "max", &value) && datanode_number(&value, (long)shape.min, SHAPE_MAX, &n))
		shape.max = (size_t)n;
	if (datanode_key(node, "keep_prefix", &value))
		datanode_bool(&value, &shape.keep_prefix);
	if (!datanode_key(node, "prefixes", &value)) {
		datanode_error(node, "has no \"prefixes\": give what the text begins with, as [\"ghp_\"]");
		return 0;
	}
	if (!datanode_array(&value))
		return 0;
	for (size_t i = 0; !err && i < json_array_size(value.json); i++) {
		const char *s;

		datanode_at(&value, i, &prefix);
		s = datanode_string(&prefix);
		/* Such a prefix would match the stars that replace a secret. */
		if (s && strlen(s) == strspn(s, "*"))
			datanode_error(&prefix, "a prefix of stars alone matches everything: give a letter");
		else if (s && n_errors == node->diag->n_errors)
			err = shape_add(redact, &shape, s);
	}
	return err;
}

/* ---- programs ---------------------------------------------------------------- */

static void strings_free(char **strings)
{
	for (char **s = strings; s && *s; s++)
		free(*s);
	free(strings);
}

static int read_strings(const struct datanode *node, const char *key, bool globs, char ***ret)
{
	struct datanode list, word;
	char **strings;
	size_t n = 0;

	if (!datanode_key(node, key, &list) || !datanode_array(&list))
		return 0;
	strings = calloc(json_array_size(list.json) + 1, sizeof(*strings));
	if (!strings)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(list.json); i++) {
		const char *s;

		datanode_at(&list, i, &word);
		s = globs ? datanode_glob(&word) : datanode_string(&word);
		if (!s)
			continue;
		strings[n] = strdup(s);
		if (!strings[n]) {
			strings_free(strings);
			return -ENOMEM;
		}
		n++;
	}
	*ret = strings;
	return 0;
}

static int read_options(const struct datanode *node, struct redact_program *program)
{
	struct datanode list, word;
	int err;

	for (size_t k = 0; k < sizeof(option_keys) / sizeof(option_keys[0]); k++) {
		if (!datanode_key(node, option_keys[k].key, &list) || !datanode_array(&list))
			continue;
		for (size_t i = 0; i < json_array_size(list.json); i++) {
			struct redact_option *option;
			const char *s;

			datanode_at(&list, i, &word);
			s = datanode_string(&word);
			if (!s)
				continue;
			if (s[0] != '-' || s[1] == '\0') {
				datanode_error(&word, "\"%s\" is not an option: write it with its dashes, as "
					"\"-%s\"", s,
					       s);
				continue;
			}
			/* An option may be listed once: "-p" with an attached value only, or with any value. */
			if (redact_table_option(program, s, strlen(s)) != REDACT_NOTHING) {
				datanode_error(&word, "this program names \"%s\" more than once: keep one", s);
				continue;
			}
			err = grow((void **)&program->options, program->n_options, &program->options_room,
				   sizeof(*program->options));
			if (err)
				return err;
			option = &program->options[program->n_options];
			option->action = option_keys[k].action;
			option->name = strdup(s);
			if (!option->name)
				return -ENOMEM;
			program->n_options++;
			if (s[2] == '\0' && (unsigned char)s[1] < sizeof(program->letters))
				program->letters[(unsigned char)s[1]] = (uint8_t)option->action;
		}
	}
	return 0;
}

static int read_operands(const struct datanode *node, struct redact_program *program)
{
	struct datanode list, rule, value;
	long n;

	if (!datanode_key(node, "secret_operands", &list) || !datanode_array(&list))
		return 0;
	program->operands = calloc(json_array_size(list.json) + 1, sizeof(*program->operands));
	if (!program->operands)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(list.json); i++) {
		struct redact_operand operand = { 0 };
		const char *s;

		datanode_at(&list, i, &rule);
		if (!datanode_object(&rule, operand_keys))
			continue;
		if (!datanode_key(&rule, "index", &value)) {
			datanode_error(&rule, "has no \"index\": say which operand is the secret, the first is 1");
			continue;
		}
		if (!datanode_number(&value, 1, 64, &n))
			continue;
		operand.index = (uint32_t)n;
		if (datanode_key(&rule, "with", &value)) {
			s = datanode_string(&value);
			for (; s && *s; s++) {
				if (lower(*s) >= 'a' && lower(*s) <= 'z')
					operand.letters |= 1ull << (*s & 63);
				else
					datanode_error(
						&value,
						"'%c' is not a letter: give those of single-letter options, as \"bn\"",
						*s);
			}
		}
		program->operands[program->n_operands++] = operand;
	}
	return 0;
}

static int read_program_match(const struct datanode *node, struct redact *redact, uint32_t program)
{
	struct datanode list, word;
	int err;

	if (!datanode_key(node, "match", &list)) {
		datanode_error(node, "has no \"match\": give the program's names, as \"match\": [\"mysql\"]");
		return 0;
	}
	if (!datanode_array(&list))
		return 0;
	for (size_t i = 0; i < json_array_size(list.json); i++) {
		struct redact_word *to;
		uint32_t *head;
		const char *s;

		datanode_at(&list, i, &word);
		s = datanode_glob(&word);
		if (!s)
			continue;
		if (strchr(s, '/')) {
			datanode_error(&word, "\"%s\" has a slash: programs are matched by the last part of their path",
				       s);
			continue;
		}
		err = grow((void **)&redact->words, redact->n_words, &redact->words_room, sizeof(*redact->words));
		if (err)
			return err;
		to = &redact->words[redact->n_words];
		to->program = program;
		to->glob = strdup(s);
		if (!to->glob)
			return -ENOMEM;
		head = &redact->last_word[strchr("*?[\\", *s) ? 0 : (unsigned char)*s];
		to->next = *head;
		*head = (uint32_t)++redact->n_words;
	}
	return 0;
}

static int read_program(const struct datanode *node, struct redact *redact)
{
	struct redact_program *program;
	struct datanode value;
	const char *s;
	int err;

	if (!datanode_object(node, program_keys))
		return 0;
	err = grow((void **)&redact->programs, redact->n_programs, &redact->programs_room, sizeof(*redact->programs));
	if (err)
		return err;
	program = &redact->programs[redact->n_programs++];
	*program = (struct redact_program){ .separator = ':' };
	if (datanode_key(node, "separator", &value)) {
		s = datanode_string(&value);
		if (s && s[1] == '\0' && *s != '*')
			program->separator = *s;
		else if (s)
			datanode_error(&value,
				       "\"%s\" is not one character between user and password: give one, as \":\"", s);
	}
	if (datanode_key(node, "userpass_operands", &value))
		datanode_bool(&value, &program->userpass_operands);
	if (datanode_key(node, "before_operand", &value))
		datanode_bool(&value, &program->before_operand);
	if (datanode_key(node, "single_dash_long", &value))
		datanode_bool(&value, &program->single_dash_long);
	err = read_options(node, program);
	if (!err)
		err = read_operands(node, program);
	if (!err)
		err = read_strings(node, "after_words", true, &program->after_words);
	if (!err)
		err = read_strings(node, "only_after", false, &program->only_after);
	if (!err)
		err = read_strings(node, "prefixes", false, &program->prefixes);
	if (!err)
		err = read_program_match(node, redact, (uint32_t)(redact->n_programs - 1));
	return err;
}

const struct redact_program *redact_table_program(const struct redact *redact, const char *name, size_t len)
{
	uint32_t best = len ? redact->last_word[(unsigned char)*name] : 0, any = redact->last_word[0];

	while (best && !glob_match(redact->words[best - 1].glob, name, len))
		best = redact->words[best - 1].next;
	while (any > best && !glob_match(redact->words[any - 1].glob, name, len))
		any = redact->words[any - 1].next;
	if (any > best)
		best = any;
	return best ? &redact->programs[redact->words[best - 1].program] : NULL;
}

enum redact_action redact_table_option(const struct redact_program *program, const char *name, size_t len)
{
	if (len == 2 && name[0] == '-' && (unsigned char)name[1] < sizeof(program->letters))
		return program->letters[(unsigned char)name[1]];
	for (size_t i = 0; i < program->n_options; i++)
		if (strlen(program->options[i].name) == len && memcmp(program->options[i].name, name, len) == 0)
			return program->options[i].action;
	return REDACT_NOTHING;
}

/* ---- the table ----------------------------------------------------------------- */

static int read_each(const struct datanode *root, const char *key,
		     int (*read)(const struct datanode *, struct redact *), struct redact *redact)
{
	struct datanode list, entry;
	int err = 0;

	if (!datanode_key(root, key, &list) || !datanode_array(&list))
		return 0;
	for (size_t i = 0; !err && i < json_array_size(list.json); i++) {
		datanode_at(&list, i, &entry);
		err = read(&entry, redact);
	}
	return err;
}

static int read_table(const struct datanode *root, void *arg)
{
	struct redact *redact = arg;
	int err = 0;

	if (!datanode_object(root, root_keys))
		return 0;
	for (int kind = 0; !err && kind < REDACT_LISTS; kind++)
		err = read_list(root, kind, redact);
	if (!err)
		err = read_phrases(root, redact);
	if (!err)
		err = read_each(root, "shapes", read_shape, redact);
	if (!err)
		err = read_each(root, "programs", read_program, redact);
	return err;
}

struct redact *redact_new(const char *const *more, struct diag *diag)
{
	struct redact *redact = calloc(1, sizeof(*redact));
	int err = redact ? 0 : -ENOMEM;

	if (!err)
		err = datafile_read(redact_json, redact_json_len, "redact.json (built in)", more, read_table, redact,
				    diag);
	if (!err)
		return redact;
	if (err == -ENOMEM)
		diag_add(diag, DIAG_ERROR, NULL, 0, 0, "out of memory for the redaction table");
	return redact_free(redact);
}

struct redact *redact_free(struct redact *redact)
{
	if (!redact)
		return NULL;
	for (size_t kind = 0; kind < REDACT_LISTS; kind++) {
		for (size_t i = 0; i < redact->lists[kind].n; i++)
			free(redact->lists[kind].patterns[i].glob);
		free(redact->lists[kind].patterns);
	}
	for (size_t i = 0; i < redact->n_phrases; i++)
		free(redact->phrases[i]);
	free(redact->phrases);
	for (size_t i = 0; i < redact->n_shapes; i++)
		free(redact->shapes[i].prefix);
	free(redact->shapes);
	for (size_t i = 0; i < redact->n_programs; i++) {
		struct redact_program *program = &redact->programs[i];

		for (size_t k = 0; k < program->n_options; k++)
			free(program->options[k].name);
		free(program->options);
		free(program->operands);
		strings_free(program->after_words);
		strings_free(program->only_after);
		strings_free(program->prefixes);
	}
	free(redact->programs);
	for (size_t i = 0; i < redact->n_words; i++)
		free(redact->words[i].glob);
	free(redact->words);
	free(redact);
	return NULL;
}
