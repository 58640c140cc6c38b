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

/* An empty variable counts as not set; the XDG specification says to ignore a relative XDG_DATA_HOME. */
static const char *env(const char *name, int absolute)
{
	const char *value = getenv(name);

	if (!value || !*value || (absolute && *value != '/'))
		return NULL;
	return value;
}

int lake_default_path(char **ret)
{
	const char *dir;
	char *path;
	int n;

	if ((dir = env("SKEP_LAKE", 0)))
		n = asprintf(&path, "%s", dir);
	else if (geteuid() == 0)
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
	if ((err && err != -ENOENT) || env("SKEP_LAKE", 0) || geteuid() == 0)
		goto out;
	chosen = lake_choose(path, LAKE_OF_SERVICE, ret_both);
	if (chosen != path) {
		copy = strdup(chosen);
		if (!copy)
			goto out; /* the user's own, which is not there, and says so */
		free(path);
		path = copy;
		err = 0;
	}
out:
	if (!err)
		*ret = path;
	return err;
}
