/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/question.c - opens the lake for a command that queries it.
 */
#include "cli/base/question.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/lakepath.h"
#include "cli/base/skep.h"

int question_open(const char *command, const char *path, struct lake **ret)
{
	char why[512] = "", *found = NULL;
	bool both = false;
	int rc, status = SKEP_EXIT_OK;

	if (!path) {
		rc = lake_reading_path(&found, &both);
		if (rc)
			return skep_fail(command, SKEP_EXIT_RUNTIME,
					 "cannot locate the lake: %s; set SKEP_LAKE, or use --lake PATH",
					 rc == -ENOENT ? "HOME is not set" : strerror(-rc));
		path = found;
	}
	if (both)
		skep_say(command, "reading your own lake, %s; for skepd's lake: --lake %s", path, LAKE_OF_SERVICE);
	rc = lake_open(path, ret, why, sizeof(why));
	if (rc == -ENOENT)
		status = skep_fail(command, SKEP_EXIT_RUNTIME,
				   "%s; `skep run -- CMD` makes one, --lake PATH names another%s", why,
				   found && access(LAKE_OF_SERVICE, R_OK) < 0 && errno == EACCES
					   ? "; members of group skep may read skepd's lake, " LAKE_OF_SERVICE
					   : "");
	else if (rc)
		status = skep_fail(command, SKEP_EXIT_RUNTIME, "%s", why);
	free(found);
	return status;
}
