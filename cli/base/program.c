/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/program.c - see cli/base/program.h.
 */
#include "cli/base/program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static char path[PATH_MAX];
static const char *name = "skep";
static bool wrapped;

void program_begin(const char *called)
{
	const char *wrapper = secure_getenv("SKEP_PROGRAM");

	wrapped = wrapper && wrapper[0] == '/';
	if (wrapped)
		snprintf(path, sizeof(path), "%s", wrapper);
	unsetenv("SKEP_PROGRAM");
	prctl(PR_SET_NAME, called);
	name = called;
}

const char *program_name(void)
{
	return name;
}

const char *program_path(void)
{
	ssize_t n;

	if (!path[0]) {
		n = readlink("/proc/self/exe", path, sizeof(path) - 1);
		path[n > 0 ? n : 0] = '\0';
	}
	return path;
}

bool program_wrapped(void)
{
	return wrapped;
}
