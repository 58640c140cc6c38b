/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter_live.c - the processes that live here, as /proc tells of them.  What only the probe
 * sees is not known: the path that was given to exec, and to which run a process belongs.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/filter_people.h"
#include "cli/skep.h"
#include "core/container.h"
#include "core/reader.h"
#include "core/redact.h"
#include "core/tool.h"
#include "core/users.h"

#define ARGV_ROOM 32768u /* as the probe takes of it, and the reader gives */
#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD */

struct look {
	struct people *people;
	struct tools *tools;
	struct redact *redact;
	struct containers *containers;
	struct reader_process reader; /* a process may hold up who reads its arguments for ever */
	char room[ARGV_ROOM + 1];
};

/* Whole, or its begin; NUL-terminated. The length, or -1. */
static ssize_t read_small(int dir, const char *name, char *to, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -1;
	while (len < size - 1) {
		n = read(fd, to + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	to[len] = '\0';
	return (ssize_t)len;
}

/* false: it has gone, has ended, or is a thread of the kernel. */
static bool read_stat(int dir, struct look *l, struct person *p)
{
	unsigned ppid, pgrp, session, flags;
	char *at, state;

	if (read_small(dir, "stat", l->room, sizeof(l->room)) <= 0)
		return false;
	at = strrchr(l->room, ')'); /* a name may have one, too */
	if (!at || sscanf(at + 1, " %c %u %u %u %*d %*d %u", &state, &ppid, &pgrp, &session, &flags) != 5)
		return false;
	if (flags & KERNEL_THREAD || state == 'Z' || state == 'X')
		return false;
	p->ppid = ppid;
	judge_set_number(&p->subject, JUDGE_PID, p->pid);
	judge_set_number(&p->subject, JUDGE_PPID, ppid);
	judge_set_number(&p->subject, JUDGE_SESSION, session);
	return true;
}

static void read_ids(int dir, struct look *l, struct person *p)
{
	unsigned uid, gid;
	const char *at;

	if (read_small(dir, "status", l->room, sizeof(l->room)) <= 0)
		return;
	at = strstr(l->room, "\nUid:");
	if (at && sscanf(at, "\nUid: %u", &uid) == 1)
		judge_set_number(&p->subject, JUDGE_UID, uid);
	at = strstr(l->room, "\nGid:");
	if (at && sscanf(at, "\nGid: %u", &gid) == 1)
		judge_set_number(&p->subject, JUDGE_GID, gid);
}

static int read_link(int dir, const char *name, struct person *p, enum judge_field field)
{
	static const char deleted[] = " (deleted)";
	char path[4097];
	ssize_t len = readlinkat(dir, name, path, sizeof(path));

	if (len <= 0 || len == (ssize_t)sizeof(path))
		return 0;
	/* The kernel adds it when the file has been replaced since. */
	if (len > (ssize_t)sizeof(deleted) && memcmp(path + len - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) == 0)
		len -= (ssize_t)sizeof(deleted) - 1;
	return person_text(p, field, path, (size_t)len);
}

static void read_namespace(int dir, const char *name, struct person *p, enum judge_field field)
{
	unsigned long number;
	char text[64];
	ssize_t len = readlinkat(dir, name, text, sizeof(text) - 1);

	if (len <= 0)
		return;
	text[len] = '\0';
	if (sscanf(text, "%*[^[][%lu]", &number) == 1)
		judge_set_number(&p->subject, field, number);
}

/* The hierarchy that skepd takes paths from: that which limits memory, else the default one, else that of pids. */
static int read_cgroup(int dir, struct look *l, struct person *p)
{
	const char *best = NULL;
	int best_rank = 0;
	char *save = NULL;

	if (read_small(dir, "cgroup", l->room, sizeof(l->room)) <= 0)
		return 0;
	for (char *line = strtok_r(l->room, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		int rank = 0;

		if (!path)
			continue;
		*path = '\0';
		for (char *inner = NULL, *word = strtok_r(controllers + 1, ",", &inner); word; word = strtok_r(NULL, ",", &inner))
			rank = strcmp(word, "memory") == 0 ? 3 : strcmp(word, "pids") == 0 && rank < 1 ? 1 : rank;
		if (controllers + 1 == path)
			rank = 2;
		if (rank > best_rank) {
			best_rank = rank;
			best = path + 1;
		}
	}
	return best ? person_text(p, JUDGE_CGROUP, best, strlen(best)) : 0;
}

static struct skep_str text_of(const struct person *p, enum judge_field field)
{
	const struct filter_text *t = &p->subject.text[field];

	return (struct skep_str){ t->ptr ? t->ptr : "", t->len, t->len };
}

/* What skepd would make of it. */
static int recognize(struct look *l, struct person *p)
{
	const struct skep_str exe = text_of(p, JUDGE_EXE), argv = text_of(p, JUDGE_ARGV), comm = text_of(p, JUDGE_COMM), nothing = { "", 0, 0 };
	const struct skep_str cgroup = text_of(p, JUDGE_CGROUP);
	struct container *container = NULL;
	struct tool_name tool;
	int err;

	tools_recognize(l->tools, &exe, &nothing, &argv, &comm, &tool);
	judge_set_wrapper(&p->subject, tool.wrapper);
	err = person_text(p, JUDGE_TOOL, tool.name, strlen(tool.name));
	if (err || cgroup.len == 0)
		return err;
	err = containers_find(l->containers, cgroup.ptr, cgroup.len, &container);
	if (err)
		return err;
	if (container)
		err = person_text(p, JUDGE_CONTAINER, container->of[CONTAINER_CONTAINER].id.len ? container->of[CONTAINER_CONTAINER].id.ptr : "",
				  container->of[CONTAINER_CONTAINER].id.len);
	else
		err = person_text(p, JUDGE_CONTAINER, "", 0);
	container_free(container);
	return err;
}

static int read_person(int dir, struct look *l, struct person *p)
{
	struct skep_process_text text;
	ssize_t len;
	int err;

	read_ids(dir, l, p);
	read_namespace(dir, "ns/pid", p, JUDGE_PID_NS);
	read_namespace(dir, "ns/mnt", p, JUDGE_MOUNT_NS);
	err = read_link(dir, "exe", p, JUDGE_EXE);
	if (!err)
		err = read_link(dir, "cwd", p, JUDGE_CWD);
	if (!err)
		err = read_cgroup(dir, l, p);
	len = err ? -1 : read_small(dir, "comm", l->room, sizeof(l->room));
	if (len > 0)
		err = person_text(p, JUDGE_COMM, l->room, (size_t)len - (l->room[len - 1] == '\n'));
	if (!err && reader_sync_read(&l->reader, &(struct skep_upid){ .pid = p->pid }, SKEP_READ_CMDLINE, &text) == 0 && text.cmdline.len > 0) {
		uint32_t n = text.cmdline.len;

		memcpy(l->room, text.cmdline.ptr, n);
		l->room[n] = '\0';
		redact_argv(l->redact, p->texts[JUDGE_EXE], l->room, &n);
		err = person_text(p, JUDGE_ARGV, l->room, n);
	}
	if (!p->texts[JUDGE_EXE])
		l->people->unreadable++;
	return err ? err : recognize(l, p);
}

static const struct judge_subject *parent_of(const struct judge_subject *s)
{
	const struct person *parent = ((const struct person *)s)->parent;

	return parent ? &parent->subject : NULL;
}

static int by_pid(const void *a, const void *b)
{
	const struct person *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int read_all(struct look *l)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int err = 0;

	if (!proc)
		return -errno;
	while (err == 0 && (entry = readdir(proc))) {
		struct person *p;
		int dir;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		dir = openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			continue; /* has gone */
		p = people_add(l->people);
		if (!p) {
			err = -ENOMEM;
		} else {
			p->pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
			if (read_stat(dir, l, p))
				err = read_person(dir, l, p);
			else
				l->people->n--;
		}
		close(dir);
	}
	closedir(proc);
	return err;
}

int people_live(const char *command, const struct config *config, struct people *people)
{
	struct look *l = calloc(1, sizeof(*l));
	struct diag diag;
	int status = SKEP_EXIT_OK, err = 0;

	diag_init(&diag);
	if (!l)
		return skep_fail(command, SKEP_EXIT_RUNTIME, "out of memory");
	*people = (struct people){ .source = "live", .users = users_new(NULL, NULL, NULL) };
	l->people = people;
	l->tools = tools_new(config ? (const char *const *)config->tools : NULL, &diag);
	l->redact = redact_new(config ? (const char *const *)config->redact : NULL, &diag);
	l->containers = containers_new(config ? (const char *const *)config->containers : NULL, &diag);
	if (!l->tools || !l->redact || !l->containers) {
		diag_print(&diag, stderr);
		status = SKEP_EXIT_CONFIG;
		goto out;
	}
	err = reader_fork("skep", &l->reader);
	if (!err)
		err = read_all(l);
	reader_end(&l->reader);
	if (err) {
		status = skep_fail(command, SKEP_EXIT_RUNTIME, "cannot read /proc: %s", strerror(-err));
		goto out;
	}
	if (people->n)
		qsort(people->at, people->n, sizeof(*people->at), by_pid);
	for (size_t i = 0; i < people->n; i++) {
		struct person *p = &people->at[i];

		p->parent = p->ppid ? people_find(people, p->ppid) : NULL;
		p->subject.parent = parent_of;
		p->subject.users = people->users;
	}
out:
	tools_free(l->tools);
	redact_free(l->redact);
	containers_free(l->containers);
	free(l);
	diag_clear(&diag);
	if (status)
		people_free(people);
	return status;
}
