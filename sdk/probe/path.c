/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/path.c - reverses a list of path components.
 */
#include <skep/path.h>
#include <string.h>

size_t skep_path_join(const char *components, size_t len, bool cut, char *ret, size_t room)
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
