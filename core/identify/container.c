/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/container.c - reads the table of patterns over cgroup paths, and finds what a path names.
 *
 * Of each kind the innermost match wins: for a container within a container the inner one. Of two matches that
 * reach equally deep the later entry wins, so a site's file overrides the built-in table.
 */
#include "core/identify/container.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/identify/capture.h"
#include "core/config/config.h"
#include "core/identify/containers_json.h"
#include "core/config/datafile.h"

struct entry {
	enum container_kind kind;
	bool named; /* the id is a name */
	struct container_state state; /* path NULL: none */
	char *by;
	struct capture **patterns;
	size_t n_patterns;
};

struct containers {
	struct entry *entries;
	size_t n, room;
};

enum capture_name { CAPTURE_ID, CAPTURE_STEP, CAPTURE_TASK, CAPTURE_USER, N_CAPTURES };

static const char *const capture_names[N_CAPTURES + 1] = {
	[CAPTURE_ID] = "id",
	[CAPTURE_STEP] = "step",
	[CAPTURE_TASK] = "task",
	[CAPTURE_USER] = "user",
};

static const char *const kind_names[CONTAINER_KINDS] = {
	[CONTAINER_CONTAINER] = "container",
	[CONTAINER_POD] = "pod",
	[CONTAINER_JOB] = "job",
	[CONTAINER_UNIT] = "unit",
	[CONTAINER_SLICE] = "slice",
};

static const char *const root_keys[] = { "cgroups", NULL };
static const char *const entry_keys[] = { "container", "pod", "job", "unit", "slice", "match", "named", "state", NULL };
static const char *const state_keys[] = { "path", "name", "image", "pod", "namespace", NULL };
static const char *const name_keys[CONTAINER_NAMES] = {
	[CONTAINER_NAME] = "name",
	[CONTAINER_IMAGE] = "image",
	[CONTAINER_POD_NAME] = "pod",
	[CONTAINER_POD_NAMESPACE] = "namespace",
};

const char *container_kind_name(enum container_kind kind)
{
	return kind_names[kind];
}

/* ---- the table -------------------------------------------------------------------- */

static void entry_clear(struct entry *e)
{
	for (size_t i = 0; i < e->n_patterns; i++)
		capture_free(e->patterns[i]);
	free(e->patterns);
	for (size_t i = 0; i < ENGINE_FILE_VALUES; i++)
		free(e->state.values[i]);
	free(e->state.path);
	free(e->by);
}

static int read_kind(const struct datanode *node, struct entry *e)
{
	struct datanode value;
	unsigned found = 0;
	const char *by;

	for (unsigned k = 0; k < CONTAINER_KINDS; k++) {
		if (!datanode_key(node, kind_names[k], &value))
			continue;
		if (found++ > 0) {
			datanode_error(
				&value,
				"an entry has one kind, and this one already names a %s: split it in two",
				kind_names[e->kind]);
			continue;
		}
		e->kind = (enum container_kind)k;
		by = datanode_string(&value);
		if (!by)
			continue;
		e->by = strdup(by);
		if (!e->by)
			return -ENOMEM;
	}
	if (found == 0)
		datanode_error(
			node,
			"has no kind: give one of container, pod, job, unit, slice, as \"container\": \"docker\"");
	return 0;
}

static int read_pattern(const struct datanode *node, struct entry *e)
{
	const char *s = datanode_string(node);
	char quoted[CONFIG_QUOTE_SIZE], why[CAPTURE_ERROR_SIZE];
	struct capture *c;
	int err;

	if (!s)
		return 0;
	err = capture_new(s, capture_names, &c, why);
	if (err == -ENOMEM)
		return err;
	config_quote(s, quoted, sizeof(quoted));
	if (err) {
		datanode_error(node, "%s: %s", quoted, why);
		return 0;
	}
	if (!capture_has(c, CAPTURE_ID)) {
		datanode_error(node, "%s: has no capture {id}: add one, such as {id:hex64}", quoted);
		capture_free(c);
		return 0;
	}
	e->patterns[e->n_patterns++] = c;
	return 0;
}

/* An absolute path with one {id} and without "..": the worker that reads the file follows no other. */
static int read_state_path(const struct datanode *node, struct container_state *state)
{
	const char *s = datanode_string(node), *id = s ? strstr(s, CONTAINER_STATE_ID) : NULL;

	if (!s)
		return 0;
	if (*s != '/' || !id || strstr(id + 1, CONTAINER_STATE_ID) || strstr(s, "..")) {
		datanode_error(node, "give an absolute path with one " CONTAINER_STATE_ID " and without \"..\", "
				     "as \"/run/runtime/" CONTAINER_STATE_ID "/config.json\"");
		return 0;
	}
	state->path = strdup(s);
	return state->path ? 0 : -ENOMEM;
}

static int read_state_value(const struct datanode *node, unsigned name, size_t *n, struct container_state *state)
{
	const char *s = datanode_string(node), *wrong = s ? engine_file_pointer_error(s) : NULL;

	if (!s)
		return 0;
	if (wrong || *n == ENGINE_FILE_VALUES) {
		datanode_error(node, "%s", wrong ? wrong : "a state has at most 8 JSON pointers: leave some out");
		return 0;
	}
	state->of[*n] = (unsigned char)name;
	state->values[*n] = strdup(s);
	return state->values[(*n)++] ? 0 : -ENOMEM;
}

static int read_state(const struct datanode *node, struct entry *e)
{
	struct datanode value, one;
	size_t n = 0;
	int err = 0;

	if (!datanode_object(node, state_keys))
		return 0;
	if (e->kind != CONTAINER_CONTAINER || e->named) {
		datanode_error(node, "only a container whose id is no name has a state");
		return 0;
	}
	if (!datanode_key(node, "path", &value)) {
		datanode_error(node, "has no \"path\": give the state file, with " CONTAINER_STATE_ID " in it");
		return 0;
	}
	err = read_state_path(&value, &e->state);
	for (unsigned name = 0; err == 0 && name < CONTAINER_NAMES; name++) {
		if (!datanode_key(node, name_keys[name], &value) || !datanode_array(&value))
			continue;
		for (size_t i = 0; err == 0 && i < json_array_size(value.json); i++) {
			datanode_at(&value, i, &one);
			err = read_state_value(&one, name, &n, &e->state);
		}
	}
	if (err == 0 && n == 0)
		datanode_error(node, "names nothing: give a list of JSON pointers, as \"name\": [\"/Name\"]");
	return err;
}

static int read_entry(const struct datanode *node, struct containers *table)
{
	struct datanode list, pattern;
	struct entry *e;
	int err;

	if (!datanode_object(node, entry_keys))
		return 0;
	if (table->n == table->room) {
		size_t room = table->room ? table->room * 2 : 32;
		struct entry *p = reallocarray(table->entries, room, sizeof(*p));

		if (!p)
			return -ENOMEM;
		table->entries = p;
		table->room = room;
	}
	e = &table->entries[table->n++];
	memset(e, 0, sizeof(*e));
	err = read_kind(node, e);
	if (err)
		return err;
	if (datanode_key(node, "named", &list))
		datanode_bool(&list, &e->named);
	if (datanode_key(node, "state", &list))
		err = read_state(&list, e);
	if (err)
		return err;
	if (!datanode_key(node, "match", &list)) {
		datanode_error(node, "has no \"match\": give a list of patterns, as [\"docker-{id:hex64}.scope\"]");
		return 0;
	}
	if (!datanode_array(&list))
		return 0;
	e->patterns = calloc(json_array_size(list.json) + 1, sizeof(struct capture *));
	if (!e->patterns)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < json_array_size(list.json); i++) {
		datanode_at(&list, i, &pattern);
		err = read_pattern(&pattern, e);
	}
	return err;
}

static int read_table(const struct datanode *root, void *arg)
{
	struct datanode list, entry;
	int err = 0;

	if (!datanode_object(root, root_keys) || !datanode_key(root, "cgroups", &list) || !datanode_array(&list))
		return 0;
	for (size_t i = 0; err == 0 && i < json_array_size(list.json); i++) {
		datanode_at(&list, i, &entry);
		err = read_entry(&entry, arg);
	}
	return err;
}

struct containers *containers_new(const char *const *more, struct diag *diag)
{
	struct containers *table = calloc(1, sizeof(*table));
	int err = table ? 0 : -ENOMEM;

	if (!err)
		err = datafile_read(containers_json, containers_json_len, "containers.json (built in)", more,
				    read_table, table, diag);
	if (err) {
		if (err == -ENOMEM)
			diag_add(diag, DIAG_ERROR, NULL, 0, 0, "out of memory for the table of containers");
		return containers_free(table);
	}
	return table;
}

size_t containers_count(const struct containers *table)
{
	return table->n;
}

const struct container_state *containers_state(const struct containers *table, size_t entry)
{
	return table->entries[entry].state.path ? &table->entries[entry].state : NULL;
}

struct containers *containers_free(struct containers *table)
{
	if (!table)
		return NULL;
	for (size_t i = 0; i < table->n; i++)
		entry_clear(&table->entries[i]);
	free(table->entries);
	free(table);
	return NULL;
}

/* ---- search ----------------------------------------------------------------------- */

struct found {
	const struct entry *entry; /* NULL: no match */
	struct capture_match match;
};

static bool search(const struct containers *table, const char *path, size_t len, struct found *ret)
{
	struct capture_match m;
	bool any = false;

	for (size_t i = 0; i < table->n; i++) {
		const struct entry *e = &table->entries[i];
		struct found *f = &ret[e->kind];

		for (size_t p = 0; p < e->n_patterns; p++)
			if (capture_find(e->patterns[p], path, len, &m) && (!f->entry || m.end >= f->match.end)) {
				f->entry = e;
				f->match = m;
				any = true;
			}
	}
	return any;
}

static struct skep_str put_text(char **at, const char *text, size_t len)
{
	struct skep_str s = { *at, (uint32_t)len, (uint32_t)len };

	memcpy(*at, text, len);
	(*at)[len] = '\0';
	*at += len + 1;
	return s;
}

static struct skep_str put_span(char **at, const struct capture_span *span)
{
	struct skep_str s = { "", 0, 0 };

	if (span->ptr) {
		s.ptr = *at;
		s.len = s.total = (uint32_t)capture_copy(span, *at);
		*at += s.len + 1;
	}
	return s;
}

static void put_layer(const struct found *f, const char *path, size_t len, char **at, struct container_layer *ret)
{
	const char *id = f->match.spans[CAPTURE_ID].ptr, *slash = memchr(id, '/', (size_t)(path + len - id));

	*ret = (struct container_layer){
		.by = put_text(at, f->entry->by, strlen(f->entry->by)),
		.id = put_span(at, &f->match.spans[CAPTURE_ID]),
		.step = put_span(at, &f->match.spans[CAPTURE_STEP]),
		.task = put_span(at, &f->match.spans[CAPTURE_TASK]),
		.user = put_span(at, &f->match.spans[CAPTURE_USER]),
		.named = f->entry->named,
		.state = f->entry->state.path ? &f->entry->state : NULL,
		.end = (uint32_t)((slash ? slash : path + len) - path),
	};
}

int containers_find(const struct containers *table, const char *path, size_t len, struct container **ret)
{
	static const struct skep_str none = { "", 0, 0 };
	struct found found[CONTAINER_KINDS] = { 0 };
	struct container *c;
	size_t room = 0;
	char *at;

	*ret = NULL;
	if (!search(table, path, len, found))
		return 0;
	for (unsigned k = 0; k < CONTAINER_KINDS; k++) {
		if (!found[k].entry)
			continue;
		room += strlen(found[k].entry->by) + 1;
		for (unsigned i = 0; i < N_CAPTURES; i++)
			room += found[k].match.spans[i].len + 1;
	}
	c = malloc(sizeof(*c) + room);
	if (!c)
		return -ENOMEM;
	at = c->text;
	for (unsigned k = 0; k < CONTAINER_KINDS; k++) {
		c->of[k] = (struct container_layer){ none, none, none, none, none, false, NULL, 0 };
		if (found[k].entry)
			put_layer(&found[k], path, len, &at, &c->of[k]);
	}
	*ret = c;
	return 0;
}

struct container *container_free(struct container *c)
{
	free(c);
	return NULL;
}
