/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/procfs.c - exe, cwd, cgroup and argv of a process that was there before
 * the probe (or whose exec was lost), from /proc.
 *
 * Never on the way of events: only for processes that a sweep finds and the table does
 * not know.  /proc goes by pid, so the start time is compared after all reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

#define ENVIRON_READ 65536u

bool proc_alive(uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return access(path, F_OK) == 0;
}

static ssize_t slurp(uint32_t pid, const char *what, char *ret, size_t room)
{
	char path[64];
	size_t have = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (have < room) {
		ssize_t n = read(fd, ret + have, room - have);

		if (n <= 0)
			break;
		have += (size_t)n;
	}
	close(fd);
	return (ssize_t)have;
}

static struct skep_str link_of(uint32_t pid, const char *what, char *ret, size_t room)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, what);
	n = readlink(path, ret, room - 1);
	if (n < 0)
		n = 0;
	ret[n] = '\0';
	return (struct skep_str){ .ptr = ret, .len = (uint32_t)n, .total = (uint32_t)n };
}

/* Field 22 of stat: start time in USER_HZ ticks, rounded down from start_boottime (fs/proc/array.c). */
static bool same_process(uint32_t pid, uint64_t start_ns)
{
	char stat[1024], *at;
	ssize_t n = slurp(pid, "stat", stat, sizeof(stat) - 1);
	unsigned long long ticks;

	if (n <= 0)
		return false;
	stat[n] = '\0';
	at = strrchr(stat, ')'); /* the name may hold anything */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return false;
	ticks = strtoull(at, NULL, 10);
	return ticks == start_ns / (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The line of the memory controller in hybrid and v1, else "0::". */
static struct skep_str cgroup_of(uint32_t pid, char *ret, size_t room)
{
	struct skep_str found = { 0 };
	ssize_t n = slurp(pid, "cgroup", ret, room - 1);
	char *line, *next;

	if (n <= 0)
		return found;
	ret[n] = '\0';
	for (line = ret; line && *line; line = next) {
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		bool memory;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!path)
			continue;
		*path++ = '\0';
		memory = strstr(controllers + 1, "memory") != NULL;
		if (memory || (!found.ptr && controllers[1] == '\0'))
			found = (struct skep_str){ .ptr = path, .len = (uint32_t)strlen(path), .total = (uint32_t)strlen(path) };
		if (memory)
			break;
	}
	return found;
}

/* What it was begun with; whatever the program has put into that place since (setproctitle) is not of those names. */
static size_t environ_of(struct proc_state *st, uint32_t pid)
{
	static char block[ENVIRON_READ]; /* loop thread only */
	size_t len;
	ssize_t n;

	if (!st->opt_environ || !st->opt_environ[0])
		return 0;
	n = slurp(pid, "environ", block, sizeof(block));
	len = n > 0 ? proc_environ_pick(st, block, (size_t)n, st->scratch.environ, sizeof(st->scratch.environ)) : 0;
	explicit_bzero(block, sizeof(block));
	return len;
}

void proc_details(struct skep_instance *inst, struct proc_state *st, uint32_t pid, uint64_t start_ns,
		  struct skep_process_live *rec)
{
	struct scratch *s = &st->scratch;
	ssize_t n = slurp(pid, "cmdline", s->argv, PROC_ARGV_MAX);
	struct skep_str exe = link_of(pid, "exe", s->exe, sizeof(s->exe));
	struct skep_str cwd = link_of(pid, "cwd", s->cwd, sizeof(s->cwd));
	struct skep_str cgroup = cgroup_of(pid, s->cgroup, sizeof(s->cgroup));
	size_t environ_len = environ_of(st, pid);

	if (!same_process(pid, start_ns))
		return;
	rec->exe = exe;
	rec->cwd = cwd;
	rec->cgroup = cgroup;
	rec->environ = (struct skep_str){ .ptr = s->environ, .len = (uint32_t)environ_len, .total = (uint32_t)environ_len };
	if (cgroup.len)
		st->host->cgroup_known(inst, rec->cgroup_id, &cgroup);
	if (n > 0) {
		rec->argv = (struct skep_str){ .ptr = s->argv, .len = (uint32_t)n, .total = (uint32_t)n };
		if (n == PROC_ARGV_MAX)
			rec->argv.total++; /* how much more is not known */
		s->argv[n] = '\0';
		st->host->redact(inst, s->exe, s->argv, &rec->argv.len);
		if (n < PROC_ARGV_MAX)
			rec->argv.total = rec->argv.len;
	}
}
