/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rules_find.c - finds the files that rules come from, and orders them.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config/config.h"
#include "core/config/config_pos.h"
#include "core/rules/rule_fields.h"
#include "core/rules/rules_file.h"
#include "filters/suggest.h"

#define RULES_FILE_MAX (4u << 20)

struct source {
	char *path;
	const char *name; /* the part of path to sort by */
	size_t folder;
};

struct sources {
	struct source *at;
	size_t n, room;
	struct diag *diag;
};

static void sources_free(struct sources *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->at[i].path);
	free(s->at);
}

/* folder NULL: name is a path. */
static int add(struct sources *s, const char *folder, const char *name, size_t number)
{
	char *path;

	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 16;
		struct source *at = realloc(s->at, room * sizeof(*at));

		if (!at)
			return -ENOMEM;
		s->at = at;
		s->room = room;
	}
	if (asprintf(&path, "%s%s%s", folder ? folder : "", folder ? "/" : "", name) < 0)
		return -ENOMEM;
	s->at[s->n++] = (struct source){ path, path + strlen(path) - strlen(name), number };
	return 0;
}

static bool is_rules(const char *name)
{
	size_t len = strlen(name);

	return name[0] != '.' && len > 5 && strcmp(name + len - 5, ".json") == 0;
}

static int add_folder(struct sources *s, const char *folder, size_t number)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	int err = 0;

	if (!dir) {
		diag_add(s->diag, DIAG_ERROR, folder, 0, 0, "cannot read this folder of rules: %s", strerror(errno));
		return 0;
	}
	while (err == 0 && (errno = 0, entry = readdir(dir)))
		if (is_rules(entry->d_name))
			err = add(s, folder, entry->d_name, number);
	if (err == 0 && errno)
		diag_add(s->diag, DIAG_ERROR, folder, 0, 0, "cannot read this folder of rules: %s", strerror(errno));
	closedir(dir);
	return err;
}

/*
 * Sorts by the bytes of the files' names, not by the locale, because the order decides verdicts. Of two equal
 * names, the file of the earlier folder is first.
 */
static int by_name(const void *a, const void *b)
{
	const struct source *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->folder > y->folder) - (x->folder < y->folder);
}

/* The pack that the user probably meant, for a message; NULL: no name is near. The caller frees it. */
static char *nearest_pack(const struct config *config, const char *name)
{
	struct diag nothing;
	struct sources all = { .diag = &nothing };
	const char **names;
	const char *near;
	char *found = NULL;

	diag_init(&nothing);
	for (size_t i = 0; config->filters.pack_dirs[i]; i++)
		if (add_folder(&all, config->filters.pack_dirs[i], i))
			break;
	names = calloc(all.n + 1, sizeof(*names));
	for (size_t i = 0; names && i < all.n; i++) {
		all.at[i].path[strlen(all.at[i].path) - 5] = '\0';
		names[i] = all.at[i].name;
	}
	near = names ? suggest_nearest(name, names) : NULL;
	if (near)
		found = strdup(near);
	free(names);
	sources_free(&all);
	diag_clear(&nothing);
	return found;
}

static int add_pack(struct sources *s, const struct config *config, size_t number)
{
	const char *name = config->filters.packs[number];
	const struct config_pos *pos =
		config_pos_at(config_pos_key(config_pos_key(config->positions, "filters"), "packs"), number);
	char file[300], *near;

	snprintf(file, sizeof(file), "%s.json", name);
	for (const char **dir = config->filters.pack_dirs; *dir; dir++) {
		char *path;
		bool there;

		if (asprintf(&path, "%s/%s", *dir, file) < 0)
			return -ENOMEM;
		there = access(path, F_OK) == 0;
		free(path);
		if (there)
			return add(s, *dir, file, number);
	}
	near = nearest_pack(config, name);
	diag_add(s->diag, DIAG_ERROR, config->file, pos ? pos->line : 0, pos ? pos->column : 0,
		 "there is no pack \"%s\" in %s%s%s%s%s", name,
		 config->filters.pack_dirs[0] ? config->filters.pack_dirs[0] : "filters.pack_dirs, which is empty",
		 config->filters.pack_dirs[0] && config->filters.pack_dirs[1]
			 ? " or the other folders of filters.pack_dirs"
			 : "",
		 near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	free(near);
	return 0;
}

static int load(struct sources *s, enum rule_verdict otherwise, int err, size_t n_errors, struct ruleset **ret)
{
	struct ruleset *set = err ? NULL : ruleset_new(&rule_fields_schema, otherwise);

	if (!set)
		err = -ENOMEM;
	for (size_t i = 0; err == 0 && i < s->n; i++) {
		char *text;
		size_t len;

		if (config_read_file(s->at[i].path, RULES_FILE_MAX, s->diag, &text, &len))
			continue; /* read_file has added the error; the loop also reports the other files' errors */
		err = rules_parse(text, len, s->at[i].path, s->diag, set);
		if (err == -EINVAL)
			err = 0;
		free(text);
	}
	if (err == -ENOMEM)
		diag_add(s->diag, DIAG_ERROR, NULL, 0, 0, "no memory for the rules");
	else if (s->diag->n_errors > n_errors)
		err = -EINVAL;
	sources_free(s);
	if (err) {
		ruleset_unref(set);
		return err;
	}
	*ret = set;
	return 0;
}

int rules_load(const struct config *config, struct diag *diag, struct ruleset **ret)
{
	struct sources s = { .diag = diag };
	size_t n_errors = diag->n_errors;
	int err = 0;

	for (size_t i = 0; err == 0 && config->filters.dirs[i]; i++)
		err = add_folder(&s, config->filters.dirs[i], i);
	if (s.n)
		qsort(s.at, s.n, sizeof(*s.at), by_name);
	for (size_t i = 0; err == 0 && config->filters.packs[i]; i++)
		err = add_pack(&s, config, i);
	return load(&s, config->filters.exclude ? RULE_EXCLUDE : RULE_INCLUDE, err, n_errors, ret);
}

int rules_load_files(const char *const *paths, enum rule_verdict otherwise, struct diag *diag, struct ruleset **ret)
{
	struct sources s = { .diag = diag };
	size_t n_errors = diag->n_errors;
	struct stat st;
	int err = 0;

	for (size_t i = 0; err == 0 && paths[i]; i++) {
		size_t from = s.n;

		if (stat(paths[i], &st) < 0 || !S_ISDIR(st.st_mode)) {
			err = add(&s, NULL, paths[i], i); /* reading the file reports why it cannot be read */
			continue;
		}
		err = add_folder(&s, paths[i], i);
		if (s.n > from)
			qsort(s.at + from, s.n - from, sizeof(*s.at), by_name);
	}
	return load(&s, otherwise, err, n_errors, ret);
}
