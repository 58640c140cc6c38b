/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/hierarchy.c - reads /proc/cgroups.
 */
#include "sdk/probe/hierarchy.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

unsigned skep_hierarchy_v1(const char *root, const char *controller)
{
	char path[PATH_MAX], line[256], name[64];
	unsigned hierarchy, cgroups, enabled, found = 0;
	FILE *f;

	if ((size_t)snprintf(path, sizeof(path), "%s/proc/cgroups", root) >= sizeof(path))
		return 0;
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %u %u %u", name, &hierarchy, &cgroups, &enabled) == 4 &&
		    strcmp(name, controller) == 0 && enabled)
			found = hierarchy;
	if (f)
		fclose(f);
	return found;
}
