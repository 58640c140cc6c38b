/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/cgroup/parse.c - parses the files of a cgroup (Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/), each
 * a whole file's text.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "state.h"

/* Digits only: strtoull accepts a sign and spaces, and needs errno. A number too large for 64 bits is refused. */
static const char *digits(const char *s, uint64_t *ret)
{
	uint64_t n = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return NULL;
	*ret = n;
	return s;
}

static bool ends(const char *s)
{
	return *s == '\0' || *s == '\n' || *s == ' ';
}

int cgroup_number(const char *text, uint64_t *ret)
{
	uint64_t n;
	const char *end;

	if ((strncmp(text, "max", 3) == 0 && ends(text + 3)) || (strncmp(text, "-1", 2) == 0 && ends(text + 2))) {
		*ret = UINT64_MAX;
		return 0;
	}
	end = digits(text, &n);
	if (!end || !ends(end))
		return -EBADMSG;
	*ret = n;
	return 0;
}

static const char *next_line(const char *line)
{
	const char *newline = strchr(line, '\n');

	return newline && newline[1] ? newline + 1 : NULL;
}

int cgroup_key(const char *text, const char *key, uint64_t *ret)
{
	size_t len = strlen(key);

	for (const char *line = *text ? text : NULL; line; line = next_line(line)) {
		const char *end;
		uint64_t n;

		if (strncmp(line, key, len) != 0 || line[len] != ' ')
			continue;
		end = digits(line + len + 1, &n);
		if (!end || !ends(end))
			return -EBADMSG;
		*ret = n;
		return 0;
	}
	return -EBADMSG;
}

int cgroup_cpu_max(const char *text, double *ret_cpus)
{
	uint64_t quota, period;
	const char *at;

	if (cgroup_number(text, &quota))
		return -EBADMSG;
	at = strchr(text, ' ');
	if (!at || cgroup_number(at + 1, &period) || period == 0)
		return -EBADMSG;
	*ret_cpus = quota == UINT64_MAX ? 0 : (double)quota / (double)period;
	return 0;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" */
static int total_of(const char *line, uint64_t *ret)
{
	size_t len = strcspn(line, "\n");
	const char *total = memmem(line, len, "total=", 6);

	return total && digits(total + 6, ret) ? 0 : -EBADMSG;
}

int cgroup_pressure(const char *text, uint64_t *ret_some_us, uint64_t *ret_full_us)
{
	uint64_t some = 0, full = 0;
	bool found = false;

	for (const char *line = *text ? text : NULL; line; line = next_line(line)) {
		if (strncmp(line, "some ", 5) == 0) {
			if (total_of(line, &some))
				return -EBADMSG;
			found = true;
		} else if (strncmp(line, "full ", 5) == 0 && total_of(line, &full)) { /* for cpu since 5.13 only */
			return -EBADMSG;
		}
	}
	if (!found)
		return -EBADMSG;
	*ret_some_us = some;
	*ret_full_us = full;
	return 0;
}

/* Matches "8:16 ": returns the text behind it, or NULL. */
static const char *device(const char *line, unsigned *ret_major, unsigned *ret_minor)
{
	uint64_t major, minor;

	line = digits(line, &major);
	if (!line || *line != ':' || major > UINT32_MAX)
		return NULL;
	line = digits(line + 1, &minor);
	if (!line || *line != ' ' || minor > UINT32_MAX)
		return NULL;
	*ret_major = (unsigned)major;
	*ret_minor = (unsigned)minor;
	return line + 1;
}

static int add_member(const char *words, const char *end, const char *key, uint64_t *sum)
{
	size_t len = strlen(key);
	const char *at = words;
	uint64_t n;

	while (at < end) {
		size_t word = strcspn(at, " \n");

		if (word > len && strncmp(at, key, len) == 0) {
			if (!digits(at + len, &n))
				return -EBADMSG;
			*sum += n;
			return 0;
		}
		at += word + 1;
	}
	return 0; /* a controller adds its members with their first values */
}

int cgroup_io_stat(const char *text, cgroup_counts_fn counts, void *arg, struct cgroup_io *ret)
{
	struct cgroup_io io = { 0 };

	for (const char *line = *text ? text : NULL; line; line = next_line(line)) {
		unsigned major, minor;
		const char *words = device(line, &major, &minor), *end = line + strcspn(line, "\n");

		if (!words) /* "(unknown)": a device that is gone (blkg_dev_name) */
			continue;
		if (!counts(arg, major, minor))
			continue;
		if (add_member(words, end, "rbytes=", &io.read_bytes) ||
		    add_member(words, end, "wbytes=", &io.write_bytes) ||
		    add_member(words, end, "rios=", &io.read_calls) || add_member(words, end, "wios=", &io.write_calls))
			return -EBADMSG;
	}
	*ret = io;
	return 0;
}

int cgroup_blkio(const char *text, cgroup_counts_fn counts, void *arg, uint64_t *ret_read, uint64_t *ret_write)
{
	uint64_t read = 0, write = 0;
	bool found = false;

	for (const char *line = *text ? text : NULL; line; line = next_line(line)) {
		unsigned major, minor;
		const char *words = device(line, &major, &minor);
		uint64_t n;

		if (!words)
			continue;
		found = true;
		if (!counts(arg, major, minor))
			continue;
		if (strncmp(words, "Read ", 5) == 0) {
			if (!digits(words + 5, &n))
				return -EBADMSG;
			read += n;
		} else if (strncmp(words, "Write ", 6) == 0) {
			if (!digits(words + 6, &n))
				return -EBADMSG;
			write += n;
		}
	}
	if (!found)
		return -ENODATA;
	*ret_read = read;
	*ret_write = write;
	return 0;
}

/* "4:cpu,cpuacct:/path" and, of v2, "0::/path" */
int cgroup_of_process(const char *text, const char *controller, struct skep_str *ret)
{
	size_t len = strlen(controller);

	for (const char *line = *text ? text : NULL; line; line = next_line(line)) {
		const char *end = line + strcspn(line, "\n"), *names = memchr(line, ':', (size_t)(end - line)), *path;

		path = names ? memchr(names + 1, ':', (size_t)(end - names - 1)) : NULL;
		if (!path)
			continue;
		names++;
		while (names <= path) {
			size_t n = strcspn(names, ",:");

			if (n == len && memcmp(names, controller, len) == 0) {
				ret->ptr = path + 1;
				ret->len = ret->total = (uint32_t)(end - path - 1);
				return 0;
			}
			names += n + 1;
		}
	}
	return -ENOENT;
}
