/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/recognizer_match.c - finds the mark that holds at an exec.
 *
 * Almost no exec begins a run, so most must cost next to nothing: which marks have `programs` and `parents` that match
 * a name is computed once for each name, and an exec intersects two bitmaps.  Only a mark that is left has its
 * condition evaluated.
 */
#include <errno.h>
#include <skep/hash.h>
#include <stdlib.h>
#include <string.h>

#include "core/identify/recognizer_table.h"
#include "filters/glob.h"

#define COMM_MOST 15u /* bytes of a thread's name, without its NUL (TASK_COMM_LEN, include/linux/sched.h) */

static void set_bit(uint64_t *bits, size_t i)
{
	bits[i / 64] |= (uint64_t)1 << (i % 64);
}

/* Whether a name matches, whole or by its first word: the tool may be "nextflow run". */
static bool matches(char **globs, const char *name, size_t len)
{
	const char *blank = memchr(name, ' ', len);

	for (; *globs; globs++)
		if (glob_match(*globs, name, len) ||
		    (blank && glob_match(*globs, name, (size_t)(blank - name))))
			return true;
	return false;
}

static void compute(const struct recognizers *r, const char *name, size_t len, struct recognizer_cached *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < r->n_marks; i++) {
		if (r->marks[i]->programs && matches(r->marks[i]->programs, name, len))
			set_bit(ret->programs, i);
		if (r->marks[i]->parents && matches(r->marks[i]->parents, name, len))
			set_bit(ret->parents, i);
	}
}

static struct filter_text last_part(const struct filter_text *path)
{
	const char *slash = path->ptr ? memrchr(path->ptr, '/', path->len) : NULL;
	struct filter_text part = *path;

	if (slash) {
		part.ptr = slash + 1;
		part.len -= (uint32_t)(part.ptr - path->ptr);
	}
	return part;
}

/*
 * The names by which a mark may know a program: the tool, unless the image only starts it (`timeout snakemake`: the
 * engine's own exec follows), the binary (of xargs the tool is the command that it runs), and the script.
 */
static unsigned names_of(const struct recognizer_image *image, struct filter_text ret[3])
{
	struct filter_text files[2] = { last_part(&image->exe), last_part(&image->filename) };
	unsigned n = 0;

	if (image->tool.ptr && !image->wrapper)
		ret[n++] = image->tool;
	for (unsigned i = 0; i < 2; i++)
		if (files[i].ptr && files[i].len &&
		    !(n > 0 && ret[n - 1].len == files[i].len &&
		      memcmp(ret[n - 1].ptr, files[i].ptr, files[i].len) == 0))
			ret[n++] = files[i];
	return n;
}

/* The marks for a name; room: where to compute them for a name that is too long for the cache. */
static const struct recognizer_cached *look_up(struct recognizers *r, const struct filter_text *name,
					       struct recognizer_cached *room)
{
	static const struct recognizer_cached nothing;
	struct recognizer_cached *at;

	if (!name->ptr || name->len == 0)
		return &nothing;
	if (name->len > sizeof(at->name)) {
		compute(r, name->ptr, name->len, room);
		return room;
	}
	at = &r->cache[skep_hash(&r->key, name->ptr, name->len) & (RECOGNIZER_CACHE - 1)];
	if (at->len != name->len || memcmp(at->name, name->ptr, name->len) != 0) {
		compute(r, name->ptr, name->len, at);
		memcpy(at->name, name->ptr, name->len);
		at->len = name->len;
	}
	return at;
}

static bool changed(const struct recognizer_mark *mark, const struct recognizer_subject *subject)
{
	struct recognizer_view view = { mark->entry->fields, subject };
	union filter_value value;

	if (!mark->changed)
		return true;
	for (size_t i = 0; subject->environ_read && i < mark->n_changed; i++)
		if (recognizer_field_get(&view, 0, FIELD_FIXED + 2 * mark->changed[i] + 1, &value) == FILTER_KNOWN &&
		    value.text.len > 0)
			return true;
	return false;
}

/* Collects the marks whose list of programs, or of parents, matches one of the image's names. */
static void collect(struct recognizers *r, const struct recognizer_image *image, bool parents,
		    uint64_t bits[RECOGNIZER_WORDS])
{
	struct recognizer_cached room;
	struct filter_text names[3];
	unsigned n = names_of(image, names);

	for (unsigned i = 0; i < n; i++) {
		const struct recognizer_cached *at = look_up(r, &names[i], &room);

		for (size_t w = 0; w < RECOGNIZER_WORDS; w++)
			bits[w] |= parents ? at->parents[w] : at->programs[w];
	}
}

/*
 * Where an engine stands among those of one exec, from the outside in.  A mark that names the program is further in
 * than one that says how the program was started: by which parent, with which environment.
 */
static unsigned depth(const struct recognizer_mark *mark)
{
	static const unsigned char order[RECOGNIZER_CLASSES] = {
		[RECOGNIZER_ORIGIN] = 0,
		[RECOGNIZER_SCHEDULER] = 1,
		[RECOGNIZER_WORKFLOW] = 2,
		[RECOGNIZER_LAUNCHER] = 3,
	};

	return order[mark->entry->class] + (mark->programs ? RECOGNIZER_CLASSES : 0);
}

static size_t sort_found(const struct recognizer_mark *const best[RECOGNIZER_CLASSES],
			 struct recognizer_found ret[RECOGNIZER_CLASSES])
{
	size_t n = 0;

	for (size_t class = 0; class < RECOGNIZER_CLASSES; class++) {
		size_t at = n;

		if (!best[class])
			continue;
		for (; at > 0 && depth(ret[at - 1].mark) > depth(best[class]); at--)
			ret[at] = ret[at - 1];
		ret[at] = (struct recognizer_found){ best[class]->entry, best[class] };
		n++;
	}
	return n;
}

size_t recognizers_run(struct recognizers *r, const struct recognizer_subject *subject,
		       struct recognizer_found ret[RECOGNIZER_CLASSES])
{
	const struct recognizer_mark *best[RECOGNIZER_CLASSES] = { NULL };
	uint64_t self[RECOGNIZER_WORDS], parent[RECOGNIZER_WORDS];

	memcpy(self, r->any_program, sizeof(self));
	memcpy(parent, r->any_parent, sizeof(parent));
	collect(r, &subject->self, false, self);
	collect(r, &subject->parent, true, parent);
	for (size_t w = 0; w < RECOGNIZER_WORDS; w++) {
		uint64_t left = self[w] & parent[w];

		if (!subject->environ_read)
			left &= ~r->needs_environ[w];
		for (; left; left &= left - 1) {
			const struct recognizer_mark *mark = r->marks[64 * w + (size_t)__builtin_ctzll(left)];
			const struct recognizer_mark **at = &best[mark->entry->class];

			/* Of equal priority the later entry: a site's file overrides ours. */
			if ((*at && mark->entry->priority < (*at)->entry->priority) || !changed(mark, subject) ||
			    !recognizer_holds(&r->fields, mark->when, subject))
				continue;
			*at = mark;
		}
	}
	return sort_found(best, ret);
}

uint32_t recognizer_mark_number(const struct recognizer_mark *mark)
{
	const struct recognizer *e = mark->entry;

	for (uint32_t i = 0; i < e->n_runs; i++)
		if (mark == &e->runs[i])
			return i + 1;
	for (uint32_t i = 0; i < e->n_tasks; i++)
		if (mark == &e->tasks[i])
			return i + 1;
	return 0;
}

static bool is_called(const struct recognizer_image *image, char **globs)
{
	struct filter_text names[3];
	unsigned n = names_of(image, names);

	for (unsigned i = 0; i < n; i++)
		if (matches(globs, names[i].ptr, names[i].len))
			return true;
	return false;
}

static bool applies(const struct recognizer_mark *mark, const struct recognizer_subject *subject)
{
	if ((mark->child && !subject->child) || mark->root != subject->root)
		return false;
	if ((mark->programs && !is_called(&subject->self, mark->programs)) ||
	    (mark->parents && !is_called(&subject->parent, mark->parents)))
		return false;
	return changed(mark, subject) && recognizer_holds(mark->entry->fields, mark->when, subject);
}

const struct recognizer_mark *recognizer_task(const struct recognizer *entry, const struct recognizer_subject *subject)
{
	const struct recognizer_mark *found = NULL;

	for (size_t i = 0; i < entry->n_tasks && !found; i++)
		if (applies(&entry->tasks[i], subject))
			found = &entry->tasks[i];
	for (size_t i = 0; i < entry->n_helpers && found; i++)
		if (recognizer_holds(entry->fields, entry->helpers[i], subject))
			found = NULL;
	return found;
}

const struct recognizer_mark *recognizer_learn(const struct recognizer *entry, const struct recognizer_subject *subject)
{
	for (size_t i = 0; i < entry->n_learns; i++)
		if (applies(&entry->learns[i], subject))
			return &entry->learns[i];
	return NULL;
}

/* Adds the literal names of a list, as the kernel cuts them. */
static int add_parents(struct recognizers *r, char **globs, size_t *n)
{
	for (; globs && *globs; globs++) {
		char *name, **list;

		if (!glob_literal(*globs))
			continue;
		name = strndup(*globs, COMM_MOST);
		list = name ? reallocarray(r->parents, *n + 2, sizeof(*list)) : NULL;
		if (!list) {
			free(name);
			return -ENOMEM;
		}
		r->parents = list;
		for (size_t i = 0; i < *n && name; i++)
			if (strcmp(list[i], name) == 0) {
				free(name);
				name = NULL;
			}
		if (name)
			list[(*n)++] = name;
		list[*n] = NULL;
	}
	return 0;
}

int recognizers_index(struct recognizers *r)
{
	size_t n = 0;
	int err = 0;

	r->key = skep_hash_key_new();
	r->cache = calloc(RECOGNIZER_CACHE, sizeof(*r->cache));
	r->parents = calloc(1, sizeof(*r->parents));
	if (!r->cache || !r->parents)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_marks; i++) {
		if (!r->marks[i]->programs)
			set_bit(r->any_program, i);
		if (!r->marks[i]->parents)
			set_bit(r->any_parent, i);
		if (r->marks[i]->changed)
			set_bit(r->needs_environ, i);
	}
	/* skep reads variables in the children of programs that begin a run, and of the parents that marks name. */
	for (size_t e = 0; e < r->n && !err; e++) {
		const struct recognizer *entry = r->entries[e];

		for (size_t i = 0; entry->reads && i < entry->n_runs && !err; i++) {
			err = add_parents(r, entry->runs[i].programs, &n);
			err = err ? err : add_parents(r, entry->runs[i].parents, &n);
		}
	}
	return err;
}
