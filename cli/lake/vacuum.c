/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/vacuum.c - `skep lake vacuum`: checks the files of a lake and gives the space of removed rows back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/skep.h"
#include "cli/lake/options.h"
#include "lake/status.h"

static int print_one(const char *path, const struct lake_vacuum *v)
{
	char freed[HUMAN_SIZE], longest[HUMAN_SIZE];

	if (v->problem)
		return skep_fail("lake", SKEP_EXIT_RUNTIME, "%s", v->problem);
	printf("%s: in order; %s given back", v->name, human_bytes(v->given_back, 0, freed));
	if (v->longest_ns)
		printf(", a writer waited at most %s", human_time(v->longest_ns, 0, longest));
	puts("");
	if (v->whole)
		printf("  %s are free in it for new rows; PRAGMA auto_vacuum is off in this file, so it can only be written anew: "
		       "stop skepd, sqlite3 %s/%s VACUUM, start skepd\n",
		       human_bytes(v->free_bytes, 0, freed), path, v->name);
	return SKEP_EXIT_OK;
}

int lake_command_vacuum(const struct lake_options *o)
{
	struct lake *lake = NULL;
	char why[1024] = "", *path = NULL;
	int rc = 0, one, status = lake_command_open(o, &path, &lake);

	if (status)
		return status;
	for (size_t i = 0; rc == 0; i++) {
		struct lake_vacuum v = { 0 };

		rc = lake_vacuum(lake, i, &v, why, sizeof(why));
		if (rc)
			break;
		one = print_one(path, &v);
		status = one ? one : status;
		(void)fflush(stdout); /* a large file takes a while */
		free(v.name);
		free(v.problem);
	}
	if (rc != -ENODATA)
		status = skep_fail("lake", SKEP_EXIT_RUNTIME, "%s", why);
	lake_close(lake);
	free(path);
	return status;
}
