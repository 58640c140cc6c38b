/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/namespaces.c - compares the links in /proc/self/ns with the fixed numbers of the initial namespaces
 * (include/linux/proc_ns.h).
 */
#include <skep/namespaces.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name, *initial;
} kinds[SKEP_NAMESPACES] = {
	[SKEP_NAMESPACE_CGROUP] = { "cgroup", "cgroup:[4026531835]" }, /* PROC_CGROUP_INIT_INO */
	[SKEP_NAMESPACE_TIME] = { "time", "time:[4026531834]" },       /* PROC_TIME_INIT_INO */
	[SKEP_NAMESPACE_USER] = { "user", "user:[4026531837]" },       /* PROC_USER_INIT_INO */
};

bool skep_namespace_is_initial(enum skep_namespace kind)
{
	enum { UNKNOWN, INITIAL, ANOTHER };
	static atomic_int known[SKEP_NAMESPACES];
	char path[32], link[64];
	int answer = atomic_load(&known[kind]);
	ssize_t n;

	if (answer == UNKNOWN) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[kind].name);
		n = readlink(path, link, sizeof(link) - 1);
		link[n < 0 ? 0 : n] = '\0';
		answer = n < 0 || strcmp(link, kinds[kind].initial) == 0 ? INITIAL : ANOTHER;
		atomic_store(&known[kind], answer);
	}
	return answer == INITIAL;
}
