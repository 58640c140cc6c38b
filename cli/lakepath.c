/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lakepath.c - where the lake is when nobody says.
 */
#include "cli/lakepath.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An empty variable counts as not set; XDG says that a relative XDG_DATA_HOME is to be ignored. */
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
		n = asprintf(&path, "/var/lib/skep/lake");
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
