/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/procfile.c - reads files of /proc/PID.
 */
#include <errno.h>
#include <fcntl.h>
#include <skep/procfile.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

ssize_t skep_procfile_read(uint32_t pid, const char *name, char *ret, size_t room)
{
	char path[64];
	size_t have = 0;
	int fd, err = 0;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	else
		snprintf(path, sizeof(path), "/proc/self/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (have < room) {
		ssize_t n = read(fd, ret + have, room - have);

		if (n < 0 && have == 0)
			err = -errno; /* an unreadable file is not an empty one */
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	close(fd);
	return err ? err : (ssize_t)have;
}

const char *skep_procfile_stat(uint32_t pid, int n, char room[SKEP_PROCFILE_STAT])
{
	ssize_t len = skep_procfile_read(pid, "stat", room, SKEP_PROCFILE_STAT - 1);
	const char *at;

	if (len <= 0)
		return NULL;
	room[len] = '\0';
	at = strrchr(room, ')'); /* the name may contain ')' itself */
	for (int field = 2; at && field < n; field++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : NULL;
}
