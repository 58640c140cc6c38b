/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/limits.c - see cli/run/limits.h.
 *
 * A caller chooses limits for CMD: 20 files, files of 10 KiB, 5 s of CPU time.  skep has the same limits, and needs
 * hundreds of files for its BPF programs, and a lake that grows.  A limit that stops skep would lose the run, or
 * stop CMD from starting.  Where the hard limit is too low as well, CMD runs without a record.
 */
#include "cli/run/limits.h"

#include <stddef.h>

#define FILES_ENOUGH 4096
#define STACK_ENOUGH (8u << 20) /* also of each thread: libuv takes it from this limit */

static const struct {
	int resource;
	rlim_t enough;
} needs[] = {
	{ RLIMIT_NOFILE, FILES_ENOUGH }, /* never "infinity": the kernel refuses more than fs.nr_open */
	{ RLIMIT_STACK, STACK_ENOUGH },  /* "infinity" would change where the kernel places mappings */
	{ RLIMIT_FSIZE, RLIM_INFINITY }, /* the lake and the report */
	{ RLIMIT_AS, RLIM_INFINITY },
	{ RLIMIT_DATA, RLIM_INFINITY },
	{ RLIMIT_CPU, RLIM_INFINITY },   /* the kernel would kill skep while CMD still runs */
	{ RLIMIT_NPROC, RLIM_INFINITY }, /* skep's threads count */
};

void limits_inherit(struct limits *ret)
{
	for (int i = 0; i < (int)RLIM_NLIMITS; i++)
		if (getrlimit((__rlimit_resource_t)i, &ret->at[i]) < 0)
			ret->at[i] = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
}

void limits_raise(const struct limits *inherited)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const struct rlimit now = inherited->at[needs[i].resource];
		const rlim_t enough = needs[i].enough;
		const struct rlimit best = { enough, now.rlim_max < enough ? enough : now.rlim_max };
		const struct rlimit allowed = { now.rlim_max < enough ? now.rlim_max : enough, now.rlim_max };

		if (now.rlim_cur >= enough)
			continue;
		/* a hard limit goes up with CAP_SYS_RESOURCE only */
		if (setrlimit((__rlimit_resource_t)needs[i].resource, &best) < 0)
			(void)setrlimit((__rlimit_resource_t)needs[i].resource, &allowed);
	}
}

const char *limits_short(void)
{
	static const struct {
		int resource;
		rlim_t least;
		const char *text;
	} shortest[] = {
		{ RLIMIT_NOFILE, 256, "ulimit -n is below 256 files" },
		{ RLIMIT_FSIZE, 64u << 20, "ulimit -f is below 64 MiB" },
		{ RLIMIT_AS, 512u << 20, "ulimit -v is below 512 MiB" },
		{ RLIMIT_DATA, 256u << 20, "ulimit -d is below 256 MiB" },
	};
	struct rlimit now;

	for (size_t i = 0; i < sizeof(shortest) / sizeof(shortest[0]); i++)
		if (getrlimit((__rlimit_resource_t)shortest[i].resource, &now) == 0 &&
		    now.rlim_cur < shortest[i].least)
			return shortest[i].text;
	return NULL;
}

void limits_give_back(const struct limits *limits)
{
	for (int i = 0; i < (int)RLIM_NLIMITS; i++)
		(void)setrlimit((__rlimit_resource_t)i, &limits->at[i]);
}
