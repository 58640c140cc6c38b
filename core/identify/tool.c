/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/tool.c - names the tool that a command line runs. One step takes a program and its arguments,
 * looks the program up in the table and walks its options. The step then has the name, or finds the next
 * program: the script behind an interpreter, the command behind a wrapper. It works on the words in place; it
 * copies only a shell's -c text, at most SCRATCH_SIZE bytes. All names of programs are in the table.
 */
#include "core/identify/tool.h"

#include <skep/utf8.h>
#include <string.h>

#include "core/identify/tool_table.h"

#define STEPS_MAX 16 /* bounds "nice nice nice ..." */
#define SCRATCH_SIZE 4096 /* for a shell's command line; names and options come first */
#define SUBCOMMAND_MAX 40 /* picard's longest has 35 */

/* The remaining words of an argument list. */
struct words {
	const char *p, *end;
};

struct word {
	const char *ptr;
	size_t len;
};

/* The state of one recognition. */
struct walk {
	const struct tools *tools;
	struct words words; /* behind the program's name */
	struct word program; /* as it was called: the last part of the path is its name */
	struct word called;  /* argv[0] of the image itself, without a login shell's '-' */
	bool from_shell; /* the words come from a shell's command line: the shell will replace '$' in them */
	bool cut; /* the kernel's list was longer than the recorded one */
	struct tool_name *ret;
	size_t name_len;
	size_t scratch_len;
	char scratch[SCRATCH_SIZE];
};

enum step { STEP_DONE, STEP_NEXT };

static bool words_next(struct words *words, struct word *ret)
{
	const char *nul;

	if (words->p >= words->end)
		return false;
	nul = memchr(words->p, '\0', (size_t)(words->end - words->p));
	ret->ptr = words->p;
	ret->len = (size_t)((nul ? nul : words->end) - words->p);
	words->p = nul ? nul + 1 : words->end;
	return true;
}

static struct word word_of(const char *ptr, size_t len)
{
	return (struct word){ ptr ? ptr : "", ptr ? len : 0 };
}

static bool starts(const struct word *word, const char *prefix)
{
	size_t len = strlen(prefix);

	return word->len >= len && memcmp(word->ptr, prefix, len) == 0;
}

static bool is_text(const struct word *word, const char *text)
{
	return word->len == strlen(text) && starts(word, text);
}

static bool in_list(char **list, const struct word *word)
{
	for (; list && *list; list++)
		if (is_text(word, *list))
			return true;
	return false;
}

/* The last part of a path, without trailing slashes. */
static struct word basename_of(struct word path)
{
	const char *slash;

	while (path.len > 1 && path.ptr[path.len - 1] == '/')
		path.len--;
	slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
	if (slash && path.len > 1) {
		path.len -= (size_t)(slash + 1 - path.ptr);
		path.ptr = slash + 1;
	}
	return path;
}

/* true: the path's last part does not name a program. */
static bool says_nothing(const struct word *path)
{
	struct word base = basename_of(*path);

	return base.len == 0 || (starts(path, "/dev/") && !starts(path, "/dev/shm/")) || starts(path, "/proc/") ||
	       (base.len == 1 && base.ptr[0] == '/') || (base.len <= 2 && memcmp(base.ptr, "..", base.len) == 0);
}

/* ---- the name ------------------------------------------------------------- */

static void name_set(struct walk *walk, struct word text)
{
	walk->name_len = 0;
	walk->ret->name[0] = '\0';
	for (size_t i = 0; i < text.len && walk->name_len < sizeof(walk->ret->name) - 1; i++)
		walk->ret->name[walk->name_len++] = text.ptr[i];
	walk->ret->name[walk->name_len] = '\0';
}

static void name_add(struct walk *walk, struct word text)
{
	size_t room = sizeof(walk->ret->name) - 1 - walk->name_len;

	if (room < 2)
		return;
	walk->ret->name[walk->name_len++] = ' ';
	room--;
	if (text.len < room)
		room = text.len;
	memcpy(walk->ret->name + walk->name_len, text.ptr, room);
	walk->name_len += room;
	walk->ret->name[walk->name_len] = '\0';
}

static void name_add_string(struct walk *walk, const char *text)
{
	name_add(walk, word_of(text, strlen(text)));
}

/* Truncates between characters, and replaces characters that could control a terminal. */
static void name_clean(struct tool_name *ret)
{
	unsigned char *name = (unsigned char *)ret->name;
	size_t len = strlen(ret->name), tail = len;
	int n;

	if (len == 0) {
		memcpy(ret->name, "?", 2);
		return;
	}
	/* Removes an incomplete last character. Only a full name was truncated. */
	if (len == sizeof(ret->name) - 1) {
		while (tail > 0 && len - tail < 3 && (name[tail - 1] & 0xc0) == 0x80)
			tail--;
		n = tail > 0 ? skep_utf8_length(ret->name + tail - 1, len - (tail - 1)) : 1;
		if (n < 0 && tail - 1 + (size_t)-n == len)
			len = tail - 1;
		name[len] = '\0';
	}
	for (size_t i = 0; i < len; i++) {
		if (name[i] < 0x20 || name[i] == 0x7f)
			name[i] = '?';
		/* C1 controls in UTF-8: some terminals read 0xc2 0x9b as the start of an escape sequence. */
		if (name[i] == 0xc2 && i + 1 < len && name[i + 1] >= 0x80 && name[i + 1] < 0xa0)
			name[i] = name[i + 1] = '?';
	}
}

/* The name to show for the entry's program alone. */
static struct word shown(const struct tool_entry *entry, struct word name)
{
	if (entry->name)
		return word_of(entry->name, strlen(entry->name));
	if (!entry->trim_version)
		return name;
	for (size_t i = 1; i + 1 < name.len; i++)
		if (name.ptr[i] == '.' && name.ptr[i + 1] >= '0' && name.ptr[i + 1] <= '9') {
			name.len = i;
			break;
		}
	return name;
}

/* ---- a shell's command line -------------------------------------------------- */

/* Unquotes one character or quoted part at *p. out may be in the same memory, but never ahead of *p. */
static bool unquote(const char **p, const char *end, char *out, const char *out_end, size_t *n)
{
	char quote = **p, c;

	if (quote == '\\') {
		if (++*p >= end)
			return false;
		if (out + *n < out_end)
			out[(*n)++] = **p;
		++*p;
		return true;
	}
	if (quote != '\'' && quote != '"') {
		if (out + *n < out_end)
			out[(*n)++] = quote;
		++*p;
		return true;
	}
	for (++*p; *p < end && **p != quote; ++*p) {
		c = **p;
		if (quote == '"' && (c == '`' || (c == '$' && *p + 1 < end && (*p)[1] == '(')))
			return false;
		if (quote == '"' && c == '\\' && *p + 1 < end)
			c = *++*p;
		if (out + *n < out_end)
			out[(*n)++] = c;
	}
	if (*p >= end)
		return false; /* no closing quote */
	++*p;
	return true;
}

/*
 * Splits one simple command into "a\0b\0" in the scratch memory (which may already hold the code). false: the
 * code has several commands, or none.
 */
static bool split(struct walk *walk, struct word code)
{
	const char *p = code.ptr, *end = code.ptr + code.len;
	char *out = walk->scratch;
	const char *out_end = walk->scratch + sizeof(walk->scratch) - 1;
	size_t n = 0, words = 0;

	/* Splits in place: the text in front of the code has already been read. */
	if (code.ptr >= walk->scratch && code.ptr < walk->scratch + sizeof(walk->scratch))
		out = walk->scratch + (code.ptr - walk->scratch);
	while (p < end && strchr(" \t\r\n", end[-1]) && end[-1])
		end--;
	while (p < end && strchr(" \t\r\n", *p) && *p)
		p++;
	while (p < end) {
		if (*p == ' ' || *p == '\t') {
			p++;
			continue;
		}
		if (*p == '#' || (words == 0 && (*p == '!' || *p == '{')))
			return false; /* a comment, a negation, a group */
		while (p < end && *p != ' ' && *p != '\t') {
			if (strchr(";|&<>()`\n", *p) || (*p == '$' && p + 1 < end && p[1] == '('))
				return false;
			if (!unquote(&p, end, out, out_end, &n))
				return false;
		}
		words++;
		if (p < end)
			p++; /* skips the blank, which the NUL overwrites when splitting in place */
		if (out + n < out_end)
			out[n++] = '\0';
	}
	walk->cut = out + n >= out_end; /* the last word is truncated */
	walk->words = (struct words){ out, out + n };
	walk->scratch_len = (size_t)(out - walk->scratch) + n;
	return words > 0;
}

/* Puts the words of the text in front of the remaining words. */
static bool split_before_rest(struct walk *walk, struct word text)
{
	struct words rest = walk->words;
	bool cut = walk->cut;
	size_t room, n;

	if (!split(walk, text))
		return false;
	n = (size_t)(rest.end - rest.p);
	room = sizeof(walk->scratch) - walk->scratch_len;
	walk->cut |= cut || n > room;
	if (n > room)
		n = room;
	memmove(walk->scratch + walk->scratch_len, rest.p, n);
	walk->scratch_len += n;
	walk->words.end += n;
	return true;
}

/* ---- the next program ------------------------------------------------------ */

/* NAME=value */
static bool is_assignment(const struct word *word)
{
	for (size_t i = 0; i < word->len; i++) {
		char c = word->ptr[i];

		if (c == '=')
			return i > 0;
		if (c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return false;
}

static bool is_subcommand(const struct word *word)
{
	if (word->len == 0 || word->len > SUBCOMMAND_MAX)
		return false;
	for (size_t i = 0; i < word->len; i++) {
		char c = word->ptr[i];
		bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');

		if (!letter && (i == 0 || (c != '_' && c != '-' && (c < '0' || c > '9'))))
			return false;
	}
	return true;
}

/* Makes the word the next program. A word that names no program ends the walk and keeps the name so far. */
static enum step next_program(struct walk *walk, struct word program)
{
	if (says_nothing(&program) || (walk->from_shell && memchr(program.ptr, '$', program.len)))
		return STEP_DONE;
	walk->program = program;
	return STEP_NEXT;
}

static enum step next_command(struct walk *walk, struct word program)
{
	enum step step = next_program(walk, program);

	if (step == STEP_NEXT)
		walk->ret->wrapper = true;
	return step;
}

static enum step next_shell(struct walk *walk, struct word code)
{
	struct word word;

	if (walk->cut && walk->words.p >= walk->words.end)
		return STEP_DONE; /* the list is truncated: more text may follow */
	if (!split(walk, code))
		return STEP_DONE;
	walk->from_shell = true;
	while (words_next(&walk->words, &word))
		if (!is_assignment(&word))
			return next_command(walk, word);
	return STEP_DONE;
}

static enum step next_jar(struct walk *walk, struct word path)
{
	struct word base = basename_of(path);

	if (base.len > 4 && memcmp(base.ptr + base.len - 4, ".jar", 4) == 0)
		base.len -= 4;
	return next_program(walk, base);
}

/* The table may have org.broad.Main by its full name or by its last part; Main.java is a script. */
static enum step next_class(struct walk *walk, struct word name)
{
	const char *dot;

	if (memchr(name.ptr, '/', name.len) || (name.len > 5 && memcmp(name.ptr + name.len - 5, ".java", 5) == 0) ||
	    tool_table_find(walk->tools, name.ptr, name.len))
		return next_program(walk, name);
	dot = name.len ? memrchr(name.ptr, '.', name.len) : NULL;
	if (dot && dot + 1 < name.ptr + name.len) {
		name.len -= (size_t)(dot + 1 - name.ptr);
		name.ptr = dot + 1;
	}
	return next_program(walk, name);
}

/* Adds subcommands to the name: "git gc". */
static enum step subcommand(struct walk *walk, const struct tool_entry *entry, struct word word)
{
	struct word option;

	for (uint32_t depth = entry->depth; is_subcommand(&word); depth--) {
		const char *name;

		name_add(walk, word);
		if (depth <= 1 && !in_list(entry->groups, &word))
			break;
		if (depth <= 1)
			depth = 2;
		do { /* skips the options between a group and its command */
			if (!words_next(&walk->words, &word))
				return STEP_DONE;
			option = word;
			if (word.len > 1 && word.ptr[0] == '-' &&
			    tool_table_option(entry, option.ptr, option.len, &name) == TOOL_VALUE &&
			    !words_next(&walk->words, &option))
				return STEP_DONE;
		} while (word.len > 1 && word.ptr[0] == '-');
	}
	return STEP_DONE;
}

/* ---- one program's command line ---------------------------------------------- */

/* The state of one step. */
struct state {
	const struct tool_entry *entry;
	const char *shell_flag; /* the option seen, such as "-c" */
	uint32_t skip;
	bool verb; /* one of the entry's verbs was seen */
};

/* Applies an option. true: the step ends with *ret. */
static bool take_option(struct walk *walk, enum tool_action action, const char *name, const struct word *attached,
			struct state *state, enum step *ret)
{
	struct word value = word_of(NULL, 0);
	bool have = false;

	*ret = STEP_DONE;
	switch (action) {
	case TOOL_FLAG:
	case TOOL_ATTACHED:
		return false;
	case TOOL_PLAIN:
		return true;
	case TOOL_SHELL_FLAG:
		state->shell_flag = name;
		return false;
	case TOOL_CODE:
		name_add_string(walk, name);
		return true;
	case TOOL_VALUE_2:
		if (!attached)
			words_next(&walk->words, &value);
		words_next(&walk->words, &value);
		return false;
	default:
		break;
	}
	if (attached) {
		value = *attached;
		have = true;
	} else {
		have = words_next(&walk->words, &value);
	}
	if (action == TOOL_VALUE)
		return false;
	if (!have)
		return true;
	switch (action) {
	case TOOL_SHELL:
		name_add_string(walk, name);
		*ret = next_shell(walk, value);
		break;
	case TOOL_MODULE:
	case TOOL_SCRIPT:
		*ret = next_program(walk, value);
		break;
	case TOOL_JAR:
		*ret = next_jar(walk, value);
		break;
	case TOOL_SPLIT:
		if (!split_before_rest(walk, value))
			break;
		/* The words now stand in front of the list, and may begin with options of this same program. */
		return false;
	case TOOL_SUBCOMMAND:
		*ret = subcommand(walk, state->entry, value);
		break;
	default:
		break;
	}
	return true;
}

/* Handles a word that begins with '-' or '+'. true: the step ends with *ret. */
static bool walk_option(struct walk *walk, struct word word, struct state *state, enum step *ret)
{
	const char *equals = memchr(word.ptr, '=', word.len), *name = NULL;
	struct word attached;
	enum tool_action action;
	char letter[2];

	action = tool_table_option(state->entry, word.ptr, word.len, &name);
	if (action != TOOL_FLAG)
		return take_option(walk, action, name, NULL, state, ret);
	if (equals) {
		action = tool_table_option(state->entry, word.ptr, (size_t)(equals - word.ptr), &name);
		attached = word_of(equals + 1, (size_t)(word.ptr + word.len - equals - 1));
		if (action != TOOL_FLAG)
			return take_option(walk, action, name, &attached, state, ret);
	}
	if (state->entry->single_dash_long || (word.ptr[0] == '-' && word.len > 1 && word.ptr[1] == '-'))
		return false;
	letter[0] = word.ptr[0];
	for (size_t i = 1; i < word.len; i++) {
		letter[1] = word.ptr[i];
		action = tool_table_option(state->entry, letter, 2, &name);
		if (action == TOOL_FLAG)
			continue;
		if (action == TOOL_ATTACHED)
			return false;
		attached = word_of(word.ptr + i + 1, word.len - i - 1);
		if (take_option(walk, action, name, attached.len && action != TOOL_SHELL_FLAG ? &attached : NULL, state,
				ret))
			return true;
		if (action != TOOL_SHELL_FLAG)
			return false; /* the rest of the word was the option's value */
	}
	return false;
}

/* Handles a word that is not an option. true: the step ends with *ret. */
static bool walk_operand(struct walk *walk, struct word word, struct state *state, enum step *ret)
{
	const struct tool_entry *entry = state->entry;

	*ret = STEP_DONE;
	if (state->shell_flag) {
		name_add_string(walk, state->shell_flag);
		*ret = next_shell(walk, word);
		return true;
	}
	if (entry->assignments && is_assignment(&word))
		return false;
	if (entry->verbs && !state->verb) {
		if (!in_list(entry->verbs, &word)) {
			*ret = subcommand(walk, entry, word);
			return true;
		}
		name_add(walk, word);
		state->verb = true;
		return false;
	}
	if (state->skip > 0) {
		state->skip--;
		return false;
	}
	switch (entry->operand) {
	case TOOL_OPERAND_NONE:
		return !entry->permute;
	case TOOL_OPERAND_CODE:
		return true;
	case TOOL_OPERAND_SCRIPT:
		*ret = next_program(walk, word);
		return true;
	case TOOL_OPERAND_CLASS:
		*ret = next_class(walk, word);
		return true;
	case TOOL_OPERAND_COMMAND:
		*ret = next_command(walk, word);
		return true;
	case TOOL_OPERAND_SHELL:
		*ret = next_shell(walk, word);
		return true;
	case TOOL_OPERAND_SUBCOMMAND:
		*ret = subcommand(walk, entry, word);
		return true;
	case TOOL_OPERAND_EITHER:
		*ret = is_subcommand(&word) ? subcommand(walk, entry, word) : next_program(walk, word);
		return true;
	case TOOL_OPERAND_APPLET:
		*ret = next_program(walk, word);
		return true;
	}
	return true;
}

/* The first program of an image may have been called by a name other than its file's. */
static struct word called_as(const struct walk *walk, const struct tool_entry *entry, struct word name)
{
	struct word called = basename_of(walk->called);

	if (called.len && tool_table_find(walk->tools, called.ptr, called.len) == entry)
		return called;
	return name;
}

static enum step step(struct walk *walk, bool first)
{
	struct word name = basename_of(walk->program), word;
	struct state state = { .entry = NULL };
	bool options = true;
	enum step ret;

	name_set(walk, name);
	state.entry = name.len ? tool_table_find(walk->tools, name.ptr, name.len) : NULL;
	if (!state.entry)
		return STEP_DONE;
	if (first && state.entry->operand == TOOL_OPERAND_APPLET) {
		struct word called = basename_of(walk->called);

		/* Called by an applet's name: the applet is the program. */
		if (called.len && tool_table_find(walk->tools, called.ptr, called.len) != state.entry)
			return next_program(walk, called);
	}
	if (first)
		name = called_as(walk, state.entry, name);
	name_set(walk, shown(state.entry, name));
	state.skip = state.entry->skip;
	while (words_next(&walk->words, &word)) {
		if (options && word.len == 2 && memcmp(word.ptr, "--", 2) == 0) {
			options = false;
		} else if (word.len == 1 && word.ptr[0] == '-' && options) {
			/*
			 * "-": programs that run scripts read standard input. For the others "-" is an old form
			 * of an option, or an argument.
			 */
			if (!state.shell_flag && state.entry->operand != TOOL_OPERAND_COMMAND && !state.entry->permute)
				return STEP_DONE;
		} else if (options && word.len > 1 &&
			   (word.ptr[0] == '-' || (word.ptr[0] == '+' && state.entry->plus_options))) {
			if (walk_option(walk, word, &state, &ret))
				return ret;
		} else if (walk_operand(walk, word, &state, &ret)) {
			return ret;
		}
	}
	return STEP_DONE;
}

/* ---- the image ---------------------------------------------------------------- */

static struct word image_path(const struct skep_str *exe)
{
	static const char deleted[] = " (deleted)"; /* d_path() appends it for a file without a name */
	const size_t n = sizeof(deleted) - 1;
	struct word path = word_of(exe->ptr, exe->len);

	if (path.len > n && memcmp(path.ptr + path.len - n, deleted, n) == 0)
		path.len -= n;
	return path;
}

/* Reads the name of "/memfd:NAME". The program chooses the text behind it, slashes included. */
static bool image_in_memory(struct word path, struct word *ret)
{
	size_t n;

	if (!starts(&path, "/memfd:"))
		return false;
	for (n = 7; n < path.len && path.ptr[n] != ':' && path.ptr[n] != '/'; n++)
		;
	*ret = word_of(path.ptr + 1, n - 1);
	return true;
}

/*
 * Finds a script whose interpreter the table lacks: load_script() (fs/binfmt_script.c) puts the script's name
 * behind the interpreter and its one optional argument.
 */
static bool script_behind(struct walk *walk, const struct word *filename)
{
	struct words words = walk->words;
	struct word word;

	for (int i = 0; i < 2 && words_next(&words, &word); i++) {
		if (word.len == filename->len && memcmp(word.ptr, filename->ptr, word.len) == 0) {
			walk->words = words;
			return true;
		}
	}
	return false;
}

static void begin(struct walk *walk, struct word exe, struct word filename, struct word argv0)
{
	struct word base = basename_of(exe), script = basename_of(filename), memory;
	const struct tool_entry *entry = NULL, *other = NULL;

	if (image_in_memory(exe, &memory)) {
		walk->program = memory;
		return;
	}
	if (base.len == 0 || is_text(&base, "/") || is_text(&base, "...")) {
		/* No path: uses the path given to exec, then argv[0], which may be any text. */
		if (!says_nothing(&filename))
			walk->program = filename;
		else if (!memchr(argv0.ptr, ' ', argv0.len))
			walk->program = argv0;
		return;
	}
	walk->program = exe;
	entry = tool_table_find(walk->tools, base.ptr, base.len);
	if (script.len == 0 || (script.len == base.len && memcmp(script.ptr, base.ptr, base.len) == 0) ||
	    says_nothing(&filename))
		return;
	if (!entry) {
		if (script_behind(walk, &filename))
			walk->program = filename;
		return;
	}
	/* No arguments, and an interpreter that was not called by one of its own names: it runs a script. */
	if (walk->words.p < walk->words.end || argv0.len)
		return;
	other = tool_table_find(walk->tools, script.ptr, script.len);
	if (other != entry && (entry->operand == TOOL_OPERAND_SCRIPT || entry->operand == TOOL_OPERAND_CODE))
		walk->program = filename;
}

void tools_recognize(const struct tools *tools, const struct skep_str *exe, const struct skep_str *filename,
		     const struct skep_str *argv, const struct skep_str *comm, struct tool_name *ret)
{
	struct walk walk;
	struct word argv0 = word_of(NULL, 0), script = word_of(filename->ptr, filename->len);

	/* Not "= {}", which would clear the scratch memory at each call. */
	walk.tools = tools;
	walk.words = (struct words){ argv->ptr, argv->ptr ? argv->ptr + argv->len : NULL };
	walk.program = word_of(NULL, 0);
	walk.from_shell = false;
	walk.cut = argv->total > argv->len;
	walk.ret = ret;
	walk.name_len = 0;
	walk.scratch_len = 0;
	ret->wrapper = false;
	ret->name[0] = '\0';

	words_next(&walk.words, &argv0);
	if (argv0.len > 1 && argv0.ptr[0] == '-') {
		argv0.ptr++;
		argv0.len--;
	}
	walk.called = argv0.len ? argv0 : script;
	begin(&walk, image_path(exe), script, argv0);
	if (walk.program.len == 0) {
		name_set(&walk, word_of(comm->ptr, comm->len));
	} else {
		for (int i = 0; i < STEPS_MAX && step(&walk, i == 0) == STEP_NEXT; i++)
			;
	}
	if (ret->name[0] == '\0')
		name_set(&walk, word_of(comm->ptr, comm->len));
	name_clean(ret);
}

bool tools_shell(const struct tools *tools, const char *name, size_t len)
{
	const struct tool_entry *entry = tool_table_find(tools, name, len);

	for (size_t i = 0; entry && entry->operand == TOOL_OPERAND_SCRIPT && i < entry->n_options; i++)
		if (entry->options[i].action == TOOL_SHELL || entry->options[i].action == TOOL_SHELL_FLAG)
			return true;
	return false;
}

bool tools_fixed(const struct tools *tools, const struct skep_str *exe, const struct skep_str *comm)
{
	struct word path = image_path(exe), memory, base = basename_of(path);

	if (base.len == 0 || image_in_memory(path, &memory))
		return false;
	/*
	 * exec names the thread after the file, up to 15 bytes (begin_new_exec()). A name of that length may be
	 * truncated; a different name may be a script's.
	 */
	if (base.len >= 15 || base.len != comm->len || memcmp(base.ptr, comm->ptr, base.len) != 0)
		return false;
	return !tool_table_find(tools, base.ptr, base.len);
}
