/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/path.h - what skep/bpf/path.bpf.h has walked, turned round.  Pure functions.
 */
#ifndef SKEP_PATH_H
#define SKEP_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Turns "leaf\0dir\0" into "/dir/leaf"; cut: "..." leads.  Returns the length, or 0 when it does not fit or is no such list. */
static inline size_t skep_path_join(const char *components, size_t len, bool cut, char *ret, size_t room)
{
	size_t out = 0, end = len;

	if (room < 5)
		return 0;
	if (cut) {
		memcpy(ret, "...", 3);
		out = 3;
	}
	if (len && components[len - 1] != '\0')
		return 0;
	while (end > 0) {
		size_t begin = end - 1; /* on the component's NUL */

		while (begin > 0 && components[begin - 1] != '\0')
			begin--;
		if (room - out < end - begin + 1)
			return 0;
		ret[out++] = '/';
		memcpy(ret + out, components + begin, end - 1 - begin);
		out += end - 1 - begin;
		end = begin;
	}
	if (out == 0)
		ret[out++] = '/';
	ret[out] = '\0';
	return out;
}

#endif
