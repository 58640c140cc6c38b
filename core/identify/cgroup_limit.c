/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/cgroup_limit.c - reads the files of a cgroup that limit its memory and CPU time. The kernel formats
 * them from variables: a read does no I/O and waits for no lock that a user can hold.
 */
#include "core/identify/cgroup_limit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define TEXT_SIZE 64 /* both numbers of cpu.max and a newline need 42 bytes */
#define NUMBER_MOST (UINT64_MAX / 1000) /* so that thousandths fit in 64 bits */

/* false: no such file, or none of that format */
static bool read_text(const char *folder, const char *name, char text[TEXT_SIZE])
{
	char path[4096];
	ssize_t n;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	n = read(fd, text, TEXT_SIZE - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

/* Returns the text behind the digits; NULL: there are none ("max", "-1"), or the number is too large. */
static const char *number(const char *s, uint64_t *ret)
{
	uint64_t n = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++) {
		n = n * 10 + (uint64_t)(*s - '0');
		if (n > NUMBER_MOST)
			return NULL;
	}
	*ret = n;
	return s;
}

uint64_t cgroup_limit_memory(const char *folder, bool unified)
{
	char text[TEXT_SIZE];
	uint64_t bytes = 0;

	if (!read_text(folder, unified ? "memory.max" : "memory.limit_in_bytes", text) || !number(text, &bytes))
		return 0;
	return bytes;
}

uint64_t cgroup_limit_cpu(const char *folder, bool unified)
{
	uint64_t quota = 0, period = 0;
	char text[TEXT_SIZE];
	const char *rest;

	if (!read_text(folder, unified ? "cpu.max" : "cpu.cfs_quota_us", text))
		return 0;
	rest = number(text, &quota);
	if (!rest)
		return 0;
	if (unified) {
		if (*rest != ' ' || !number(rest + 1, &period))
			return 0;
	} else if (!read_text(folder, "cpu.cfs_period_us", text) || !number(text, &period)) {
		return 0;
	}
	return period ? quota * 1000 / period : 0;
}
