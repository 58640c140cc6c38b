/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/lakepath.c - finds the path of the lake when no option gives it.
 */
#include "cli/base/lakepath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/diag.h"
#include "core/config/datafile.h"
#include "lake/lake.h"

/* An empty variable counts as not set; the XDG specification says to ignore a relative XDG_DATA_HOME. */
static const char *env(const char *name, int absolute)
{
	const char *value = getenv(name);

	if (!value || !*value || (absolute && *value != '/'))
		return NULL;
	return value;
}

/* ---- skep.conf ------------------------------------------------------------------- */

struct conf {
	char *lake, *prices;
	bool (*known)(const char *, char near[ANALYSIS_SETTING_NAME]); /* NULL: nobody asks for thresholds */
	struct conf_threshold *thresholds;
	size_t n_thresholds;
};

static void thresholds_free(struct conf *c)
{
	for (size_t i = 0; i < c->n_thresholds; i++)
		free(c->thresholds[i].name);
	free(c->thresholds);
}

static int read_thresholds(const struct datanode *all, struct conf *ret)
{
	char near[ANALYSIS_SETTING_NAME];
	struct datanode node;
	const char *name;
	json_t *value;

	if (!json_is_object(all->json)) {
		datanode_error(all, "is no object: give thresholds as { \"gate.wall\": 10 }; skep tune --list has their names");
		return 0;
	}
	ret->thresholds = calloc(json_object_size(all->json) + 1, sizeof(*ret->thresholds));
	if (!ret->thresholds)
		return -ENOMEM;
	json_object_foreach(all->json, name, value) {
		struct conf_threshold *t = &ret->thresholds[ret->n_thresholds];

		datanode_key(all, name, &node);
		if (!ret->known(name, near)) {
			datanode_error(&node, "there is no threshold '%s'%s%s%s; skep tune --list and skep sweep --list have all of them",
				       name, *near ? "; did you mean '" : "", near, *near ? "'?" : "");
		} else if (!json_is_number(value) || json_number_value(value) < 0) {
			datanode_error(&node, "is no number of 0 or more");
		} else {
			t->value = json_number_value(value);
			t->name = strdup(name);
			if (!t->name)
				return -ENOMEM;
			ret->n_thresholds++;
		}
	}
	return 0;
}

static int read_conf(const struct datanode *root, void *arg)
{
	static const char *const known[] = { "lake", "prices", "thresholds", NULL };
	struct conf *ret = arg;
	struct datanode node;
	const char *text;

	if (!datanode_object(root, known))
		return 0;
	if (datanode_key(root, "lake", &node) && (text = datanode_string(&node))) {
		if (*text != '/' && !lake_is_address(text))
			datanode_error(&node, "'%s' is neither an absolute path nor clickhouse://HOST/DATABASE", text);
		else if (!(ret->lake = strdup(text)))
			return -ENOMEM;
	}
	if (datanode_key(root, "prices", &node) && (text = datanode_string(&node))) {
		if (*text != '/')
			datanode_error(&node, "'%s' is no absolute path of a file of prices", text);
		else if (!(ret->prices = strdup(text)))
			return -ENOMEM;
	}
	return ret->known && datanode_key(root, "thresholds", &node) ? read_thresholds(&node, ret) : 0;
}

/* The file that SKEP_CONF names; else the user's; if it does not exist, the site's. */
static int conf_file(char **ret)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
	const char *named = secure_getenv("SKEP_CONF");
	int n = 0;

	*ret = NULL;
	if (named && *named == '/')
		return (*ret = strdup(named)) ? 0 : -ENOMEM;
	if (config && *config == '/')
		n = asprintf(ret, "%s/skep/skep.conf", config);
	else if (home && *home == '/')
		n = asprintf(ret, "%s/.config/skep/skep.conf", home);
	if (n < 0)
		return -ENOMEM;
	if (*ret && access(*ret, F_OK) == 0)
		return 0;
	free(*ret);
	*ret = strdup(SKEP_SYSCONF_DIR "/skep.conf");
	return *ret ? 0 : -ENOMEM;
}

static int conf_read(struct conf *ret, char *why, size_t room)
{
	char *file = NULL, *text = NULL;
	struct diag diag;
	size_t size = 0;
	FILE *out;
	int err = conf_file(&file);

	if (err || access(file, F_OK) != 0) {
		snprintf(why, room, "out of memory");
		free(file);
		return err;
	}
	diag_init(&diag);
	err = datafile_read(NULL, 0, NULL, (const char *const[]){ file, NULL }, read_conf, ret, &diag);
	if (err) {
		out = open_memstream(&text, &size);
		if (out) {
			diag_print(&diag, out);
			fclose(out);
		}
		snprintf(why, room, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
		free(text);
	}
	diag_clear(&diag);
	free(file);
	return err;
}

int lake_configured(char **ret, char *why, size_t room)
{
	struct conf conf = { 0 };
	int err = conf_read(&conf, why, room);

	free(conf.prices);
	if (err)
		free(conf.lake);
	*ret = err ? NULL : conf.lake;
	return err;
}

int thresholds_configured(bool (*known)(const char *, char near[ANALYSIS_SETTING_NAME]), struct conf_threshold **ret,
			  size_t *ret_n, char *why, size_t room)
{
	struct conf conf = { .known = known };
	int err = conf_read(&conf, why, room);

	free(conf.lake);
	free(conf.prices);
	if (err)
		thresholds_free(&conf);
	*ret = err ? NULL : conf.thresholds;
	*ret_n = err ? 0 : conf.n_thresholds;
	return err;
}

int prices_configured(char **ret, char *why, size_t room)
{
	struct conf conf = { 0 };
	int err = conf_read(&conf, why, room);

	free(conf.lake);
	if (err)
		free(conf.prices);
	*ret = err ? NULL : conf.prices;
	return err;
}

/* ---- the path -------------------------------------------------------------------- */

int lake_default_path(char **ret)
{
	const char *dir;
	char *path, why[512];
	int n;

	if ((dir = env("SKEP_LAKE", 0)) && !lake_is_address(dir)) {
		n = asprintf(ret, "%s", dir);
		return n < 0 ? -ENOMEM : 0;
	}
	n = lake_configured(&path, why, sizeof(why));
	if (n)
		return n;
	if (path && !lake_is_address(path)) {
		*ret = path;
		return 0;
	}
	free(path);
	if (geteuid() == 0)
		n = asprintf(&path, "%s", LAKE_OF_SERVICE);
	else if ((dir = env("XDG_DATA_HOME", 1)))
		n = asprintf(&path, "%s/skep/lake", dir);
	else if ((dir = env("HOME", 0)))
		n = asprintf(&path, "%s/.local/share/skep/lake", dir);
	else
		return -ENOENT;
	if (n < 0)
		return -ENOMEM;
	*ret = path;
	return 0;
}

static bool readable(const char *path)
{
	return path && faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) == 0;
}

const char *lake_choose(const char *own, const char *service, bool *ret_both)
{
	*ret_both = readable(own) && readable(service);
	return readable(own) || !readable(service) ? own : service;
}

int lake_reading_path(char **ret, bool *ret_both)
{
	const char *chosen;
	char *path = NULL, *copy;
	int err = lake_default_path(&path);

	*ret_both = false;
	if ((err && err != -ENOENT) || geteuid() == 0)
		goto out;
	chosen = lake_choose(path, LAKE_OF_SERVICE, ret_both);
	if (chosen != path) {
		copy = strdup(chosen);
		if (!copy)
			goto out; /* returns the user's own lake, which does not exist: the caller reports this */
		free(path);
		path = copy;
		err = 0;
	}
out:
	if (!err)
		*ret = path;
	return err;
}
