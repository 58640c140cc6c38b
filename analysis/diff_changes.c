/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/diff_changes.c - what may explain the difference of two runs: another machine, kernel or command, other
 * binaries, images and options of a tool. Build ids are contents of files, which skep does not read: a file's time and
 * size, which the kernel has at hand at an exec, tell as well whether it is another one.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/diff.h"
#include "analysis/finding.h"

#define TEXT_MOST   40 /* bytes of an option or its value; longer ones are scripts */
#define FILE_SIZE   (2 * sizeof(uint64_t)) /* the value of a file: exe_size_bytes and exe_modified_ns of a process */
#define VALUES_MOST 3  /* a tool with more binaries, or an option with more values, has another one in each call */

const char *diff_what_text(enum diff_what what)
{
	static const char *const texts[] = {
		[DIFF_HOST] = "host",
		[DIFF_KERNEL] = "kernel",
		[DIFF_CPUS] = "CPUs",
		[DIFF_VERSION] = "skep",
		[DIFF_PIPELINE] = "pipeline",
		[DIFF_COMMAND] = "command",
		[DIFF_REQUEST] = "asks for",
		[DIFF_BINARY] = "binary",
		[DIFF_FILE] = "file",
		[DIFF_IMAGE] = "image",
		[DIFF_OPTION] = "option",
	};

	return texts[what];
}

int diff_change_take(struct diff_change_list *list, enum finding_subject of, const char *name, enum diff_what what,
		     char *a, char *b)
{
	if (list->n == list->room) {
		const size_t room = list->room ? 2 * list->room : 16;
		struct diff_change *grown = reallocarray(list->changes, room, sizeof(*grown));

		if (grown) {
			list->changes = grown;
			list->room = room;
		}
	}
	if (list->n == list->room || (!a && !b)) {
		free(a);
		free(b);
		return -ENOMEM;
	}
	list->changes[list->n++] = (struct diff_change){ of, name, what, a, b };
	return 0;
}

/* ---- the run -------------------------------------------------------------------- */

static int add_text(struct diff_change_list *list, enum diff_what what, const char *a, const char *b)
{
	if (strcmp(a, b) == 0)
		return 0;
	return diff_change_take(list, FINDING_OF_RUN, "", what, finding_text("%s", a), finding_text("%s", b));
}

static char *words(const char *const *argv)
{
	char *text = finding_text("%s", "");

	for (size_t i = 0; text && argv && argv[i]; i++) {
		const char *quote = argv[i][strcspn(argv[i], " \t\n")] ? "'" : "";
		char *longer = finding_text("%s%s%s%s%s", text, i ? " " : "", quote, argv[i], quote);

		free(text);
		text = longer;
	}
	return text;
}

static int run_changes(struct diff_change_list *list, const struct lake_run *a, const struct lake_run *b)
{
	char *command_a = words(a->argv), *command_b = words(b->argv);
	int rc = command_a && command_b ? 0 : -ENOMEM;

	if (rc == 0)
		rc = add_text(list, DIFF_PIPELINE, a->pipeline, b->pipeline);
	if (rc == 0)
		rc = add_text(list, DIFF_COMMAND, command_a, command_b);
	if (rc == 0)
		rc = add_text(list, DIFF_HOST, a->host, b->host);
	if (rc == 0 && a->cpus != b->cpus)
		rc = diff_change_take(list, FINDING_OF_RUN, "", DIFF_CPUS,
				      finding_text("%llu", (unsigned long long)a->cpus),
				      finding_text("%llu", (unsigned long long)b->cpus));
	if (rc == 0)
		rc = add_text(list, DIFF_KERNEL, a->kernel, b->kernel);
	if (rc == 0)
		rc = add_text(list, DIFF_VERSION, a->version, b->version);
	free(command_a);
	free(command_b);
	return rc;
}

/* ---- tools ------------------------------------------------------------------------ */

/* Something that images of a tool have: a binary, a container's image, an option with a value. Texts end by length. */
struct trait {
	const char *tool, *key, *value;
	size_t key_n, value_n;
	enum diff_what what;
	bool of_b, cut; /* cut: the lake does not have the rest of an argument list */
};

/* A hash set: images by the thousand have the same traits. */
struct traits {
	struct trait *slots; /* a free one has no tool */
	size_t n, room;      /* room: a power of two */
};

static uint64_t hash_bytes(uint64_t h, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * UINT64_C(1099511628211);
	return (h ^ n) * UINT64_C(1099511628211);
}

static uint64_t trait_hash(const struct trait *t)
{
	uint64_t h = hash_bytes(UINT64_C(14695981039346656037), t->tool, strlen(t->tool));

	h = hash_bytes(hash_bytes(h, t->key, t->key_n), t->value, t->value_n);
	return h ^ ((uint64_t)t->what << 2 | (uint64_t)t->of_b << 1 | t->cut);
}

static int bytes_order(const char *a, size_t n_a, const char *b, size_t n_b)
{
	const size_t n = n_a < n_b ? n_a : n_b;
	const int order = n ? memcmp(a, b, n) : 0;

	return order ? order : (n_a > n_b) - (n_a < n_b);
}

/* By tool, kind and key, then A before B: so the traits to compare are neighbours. */
static int trait_order(const void *x, const void *y)
{
	const struct trait *a = x, *b = y;
	int order = strcmp(a->tool, b->tool);

	if (!order)
		order = (a->what > b->what) - (a->what < b->what);
	if (!order)
		order = bytes_order(a->key, a->key_n, b->key, b->key_n);
	if (!order)
		order = a->of_b - b->of_b;
	if (!order)
		order = bytes_order(a->value, a->value_n, b->value, b->value_n);
	return order ? order : a->cut - b->cut;
}

static struct trait *slot_of(struct trait *slots, size_t room, const struct trait *t)
{
	size_t at = (size_t)trait_hash(t) & (room - 1);

	while (slots[at].tool && trait_order(&slots[at], t) != 0)
		at = (at + 1) & (room - 1);
	return &slots[at];
}

static int traits_add(struct traits *set, const struct trait *t)
{
	struct trait *slot;

	if (2 * set->n >= set->room) {
		const size_t room = set->room ? 2 * set->room : 1024;
		struct trait *slots = calloc(room, sizeof(*slots));

		if (!slots)
			return -ENOMEM;
		for (size_t i = 0; i < set->room; i++)
			if (set->slots[i].tool)
				*slot_of(slots, room, &set->slots[i]) = set->slots[i];
		free(set->slots);
		set->slots = slots;
		set->room = room;
	}
	slot = slot_of(set->slots, set->room, t);
	set->n += !slot->tool;
	*slot = *t;
	return 0;
}

static bool is_number(const char *s)
{
	char *end;

	strtod(s, &end);
	return end > s && (!*end || (strchr("kKmMgGtTs%", *end) && !end[1]));
}

/* "fast", "gzip,fast": a path or the name of a file would differ in each call. */
static bool is_word(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || (s[n] && n > 0 && strchr("_-,:+", s[n])))
		n++;
	return n > 0 && !s[n];
}

/*
 * Splits an option into name and value: "-t" "8", "--mode=fast", "-O2". An option that names a path has no value.
 * false: the argument is none.
 */
static bool option_of(const char *arg, const char *next, struct trait *ret)
{
	const char *equals = strchr(arg, '='), *slash = strchr(arg, '/');

	ret->key = arg;
	ret->key_n = equals ? (size_t)(equals - arg) : strlen(arg);
	ret->value = "";
	ret->value_n = 0;
	if (slash && (size_t)(slash - arg) < ret->key_n)
		ret->key_n = (size_t)(slash - arg); /* -I/usr/include */
	else if (equals && !slash)
		ret->value = equals + 1;
	else if (!equals && next && (is_number(next) || (arg[1] == '-' && is_word(next))))
		ret->value = next;
	ret->value_n = strlen(ret->value);
	if (ret->value_n > TEXT_MOST)
		ret->value_n = 0;
	for (size_t i = 0; i < ret->key_n; i++)
		if (isspace((unsigned char)arg[i]))
			return false;
	return arg[0] == '-' && ret->key_n > 1 && ret->key_n <= TEXT_MOST;
}

static int add_options(struct traits *set, const struct lake_process *p, bool of_b)
{
	struct trait t = { .tool = p->kind->tool, .what = DIFF_OPTION, .key = "", .value = "", .of_b = of_b };
	int rc = 0;

	if (p->argv_cut) {
		t.cut = true; /* a trait of the tool: its key is "" */
		rc = traits_add(set, &t);
		t.cut = false;
	}
	for (size_t i = 1; p->argv[0] && p->argv[i] && strcmp(p->argv[i], "--") != 0 && rc == 0; i++)
		if (option_of(p->argv[i], p->argv[i + 1], &t))
			rc = traits_add(set, &t);
	return rc;
}

/* A wrapper is not the tool whose name it has: `nice samtools sort`. */
static int add_image(struct traits *set, const struct lake_process *p, bool of_b)
{
	struct trait t = { .tool = p->kind->tool, .key = "", .of_b = of_b };
	int rc;

	if (!p->kind->execed || p->kind->wrapper || !p->argv)
		return 0;
	t.what = DIFF_BINARY;
	t.value = p->kind->exe;
	t.value_n = strlen(t.value);
	rc = traits_add(set, &t);
	if (rc == 0 && p->kind->exe_modified_ns) {
		t.what = DIFF_FILE;
		t.key = p->kind->exe;
		t.key_n = strlen(t.key);
		t.value = (const char *)&p->kind->exe_size_bytes;
		t.value_n = FILE_SIZE;
		rc = traits_add(set, &t);
		t.key = "";
		t.key_n = 0;
	}
	if (rc == 0) {
		t.what = DIFF_IMAGE;
		t.value = p->in->container_image ? p->in->container_image : "";
		t.value_n = strlen(t.value);
		rc = traits_add(set, &t);
	}
	return rc ? rc : add_options(set, p, of_b);
}

_Static_assert(offsetof(struct lake_kind, exe_modified_ns) ==
		       offsetof(struct lake_kind, exe_size_bytes) + sizeof(uint64_t),
	       "a trait points at both");

/* "/usr/bin/samtools of 2023-04-23 12:01:36 UTC, 1265648 B" */
static char *file_text(const struct trait *t, size_t n)
{
	char *text = finding_text("%.*s of", (int)t->key_n, t->key);

	for (size_t i = 0; text && i < n; i++) {
		uint64_t file[2];
		char when[32] = "?", *longer;
		struct tm tm;
		time_t seconds;

		memcpy(file, t[i].value, sizeof(file));
		seconds = (time_t)(file[1] / 1000000000);
		if (gmtime_r(&seconds, &tm))
			strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
		longer = finding_text("%s%s %s, %llu B", text, i ? " and" : "", when, (unsigned long long)file[0]);
		free(text);
		text = longer;
	}
	return text;
}

/* The same values on both sides? */
static bool same_values(const struct trait *a, size_t n_a, const struct trait *b, size_t n_b)
{
	for (size_t i = 0; i < n_a && i < n_b; i++)
		if (bytes_order(a[i].value, a[i].value_n, b[i].value, b[i].value_n) != 0)
			return false;
	return n_a == n_b;
}

/* "-t 4", "--seed=1"; of several values "-t 4, 8"; without a name the values alone. n 0: the name alone. */
static char *values_text(const struct trait *t, size_t n)
{
	char *text;

	if (t->what == DIFF_FILE)
		return file_text(t, n);
	text = finding_text("%.*s", (int)t->key_n, t->key);
	for (size_t i = 0; text && i < n; i++) {
		const char *name_end = t->key[t->key_n] == '=' ? "=" : " ";
		const char *between = i ? ", " : t->key_n && t->value_n ? name_end : "";
		char *longer = finding_text("%s%s%.*s", text, between, (int)t[i].value_n, t[i].value);

		free(text);
		text = longer;
	}
	return text;
}

/* traits: of one tool, kind and name, A first. cut_a, cut_b: the lake lacks arguments of this side's calls. */
static int compare(struct diff_change_list *list, const struct trait *traits, size_t n, bool cut_a, bool cut_b)
{
	const struct trait *b;
	char *text_a = NULL, *text_b = NULL;
	size_t n_a = 0, n_b;
	bool varies;

	while (n_a < n && !traits[n_a].of_b)
		n_a++;
	n_b = n - n_a;
	b = traits + n_a;
	varies = n_a > VALUES_MOST || n_b > VALUES_MOST;
	if (n_a && n_b && (varies || same_values(traits, n_a, b, n_b)))
		return 0;
	if (traits->what != DIFF_OPTION && (!n_a || !n_b || !traits->value_n || !b->value_n))
		return 0; /* not known, such as the path of another user's process; or a file of one side alone */
	if ((!n_a && cut_a) || (!n_b && cut_b))
		return 0;
	if (n_a)
		text_a = values_text(traits, varies ? 0 : n_a);
	if (n_b)
		text_b = values_text(b, varies ? 0 : n_b);
	if ((n_a && !text_a) || (n_b && !text_b)) {
		free(text_a);
		free(text_b);
		return -ENOMEM;
	}
	return diff_change_take(list, FINDING_OF_TOOL, traits->tool, traits->what, text_a, text_b);
}

/* traits: of one tool, in the order of trait_order. */
static int tool_changes(struct diff_change_list *list, const struct trait *traits, size_t n)
{
	bool of_a = false, of_b = false, cut_a = false, cut_b = false;
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		of_a |= !traits[i].of_b;
		of_b |= traits[i].of_b;
		cut_a |= traits[i].cut && !traits[i].of_b;
		cut_b |= traits[i].cut && traits[i].of_b;
	}
	for (size_t i = 0, end; of_a && of_b && i < n && rc == 0; i = end) {
		for (end = i + 1; end < n && traits[end].what == traits[i].what &&
				  bytes_order(traits[i].key, traits[i].key_n, traits[end].key, traits[end].key_n) == 0;)
			end++;
		if (traits[i].what != DIFF_OPTION || traits[i].key_n)
			rc = compare(list, traits + i, end - i, cut_a, cut_b);
	}
	return rc;
}

int diff_changes_find(struct diff_change_list *list, const struct lake_report *a, const struct lake_report *b)
{
	const struct lake_report *const reports[] = { a, b };
	struct traits set = { 0 };
	size_t n = 0;
	int rc = run_changes(list, &a->run, &b->run);

	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < reports[side]->n_processes && rc == 0; i++)
			rc = add_image(&set, &reports[side]->processes[i], side == 1);
	for (size_t i = 0; i < set.room; i++)
		if (set.slots[i].tool)
			set.slots[n++] = set.slots[i];
	if (n)
		qsort(set.slots, n, sizeof(*set.slots), trait_order);
	for (size_t i = 0, end; i < n && rc == 0; i = end) {
		for (end = i + 1; end < n && strcmp(set.slots[i].tool, set.slots[end].tool) == 0;)
			end++;
		rc = tool_changes(list, set.slots + i, end - i);
	}
	free(set.slots);
	return rc;
}
