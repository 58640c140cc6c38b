/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter/filter_live.c - reads the live processes from /proc.  Two facts stay unknown, because only the probe sees
 * them: the path given to exec, and the run of a process.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <skep/namespaces.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/skep.h"
#include "cli/filter/filter_processes.h"
#include "core/identify/container.h"
#include "core/identify/reader.h"
#include "core/identify/redact.h"
#include "core/identify/tool.h"
#include "core/identify/users.h"

#define ARGV_ROOM 32768u /* the same limit as in the probe and in the reader */
#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD */

struct look {
	struct filter_processes *processes;
	struct tools *tools;
	struct redact *redact;
	struct containers *containers;
	struct reader_process reader; /* a separate process: a read of arguments may block for ever */
	char room[ARGV_ROOM + 1];
};

/* Reads the file, or its first size - 1 bytes, and adds a NUL. Returns the length, or -1. */
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

/* false: the process has ended, or is a kernel thread. */
static bool read_stat(int dir, struct look *l, struct filter_process *p)
{
	unsigned ppid, pgrp, session, flags;
	char *at, state;

	if (read_small(dir, "stat", l->room, sizeof(l->room)) <= 0)
		return false;
	at = strrchr(l->room, ')'); /* the last one: the name may contain ')' */
	if (!at || sscanf(at + 1, " %c %u %u %u %*d %*d %u", &state, &ppid, &pgrp, &session, &flags) != 5)
		return false;
	if (flags & KERNEL_THREAD || state == 'Z' || state == 'X')
		return false;
	p->ppid = ppid;
	rule_subject_set_number(&p->subject, RULE_FIELD_PID, p->pid);
	rule_subject_set_number(&p->subject, RULE_FIELD_PPID, ppid);
	rule_subject_set_number(&p->subject, RULE_FIELD_SESSION, session);
	return true;
}

static void read_ids(int dir, struct look *l, struct filter_process *p)
{
	unsigned uid, gid;
	const char *at;

	if (read_small(dir, "status", l->room, sizeof(l->room)) <= 0)
		return;
	at = strstr(l->room, "\nUid:");
	if (at && sscanf(at, "\nUid: %u", &uid) == 1)
		rule_subject_set_number(&p->subject, RULE_FIELD_UID, uid);
	at = strstr(l->room, "\nGid:");
	if (at && sscanf(at, "\nGid: %u", &gid) == 1)
		rule_subject_set_number(&p->subject, RULE_FIELD_GID, gid);
}

static int read_link(int dir, const char *name, struct filter_process *p, enum rule_field field)
{
	static const char deleted[] = " (deleted)";
	char path[4097];
	ssize_t len = readlinkat(dir, name, path, sizeof(path));

	if (len <= 0 || len == (ssize_t)sizeof(path))
		return 0;
	/*
	 * The kernel appends it when the file has been deleted or replaced: mostly since the exec, whose record has the
	 * path alone. A file in memory never had another name.
	 */
	if (len > (ssize_t)sizeof(deleted) && strncmp(path, "/memfd:", sizeof("/memfd:") - 1) != 0 &&
	    memcmp(path + len - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) == 0)
		len -= (ssize_t)sizeof(deleted) - 1;
	return process_text(p, field, path, (size_t)len);
}

static void read_namespace(int dir, const char *name, struct filter_process *p, enum rule_field field)
{
	unsigned long number;
	char text[64];
	ssize_t len = readlinkat(dir, name, text, sizeof(text) - 1);

	if (len <= 0)
		return;
	text[len] = '\0';
	if (sscanf(text, "%*[^[][%lu]", &number) == 1)
		rule_subject_set_number(&p->subject, field, number);
}

/* Reads the cgroup in the hierarchy that skepd uses: with the memory controller, else the default, else with pids. */
static int read_cgroup(int dir, struct look *l, struct filter_process *p)
{
	const char *best = NULL;
	int best_rank = 0;
	char *save = NULL;

	/* in another namespace /proc names cgroups from its root, and records from the hierarchy's root */
	if (!skep_namespace_is_initial(SKEP_NAMESPACE_CGROUP) || read_small(dir, "cgroup", l->room, sizeof(l->room)) <= 0)
		return 0;
	for (char *line = strtok_r(l->room, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		int rank = 0;

		if (!path)
			continue;
		*path = '\0';
		for (char *inner = NULL, *word = strtok_r(controllers + 1, ",", &inner); word;
		     word = strtok_r(NULL, ",", &inner))
			rank = strcmp(word, "memory") == 0 ? 3 : strcmp(word, "pids") == 0 && rank < 1 ? 1 : rank;
		if (controllers + 1 == path)
			rank = 2;
		if (rank > best_rank) {
			best_rank = rank;
			best = path + 1;
		}
	}
	return best ? process_text(p, RULE_FIELD_CGROUP, best, strlen(best)) : 0;
}

static struct skep_str text_of(const struct filter_process *p, enum rule_field field)
{
	const struct filter_text *t = &p->subject.text[field];

	return (struct skep_str){ t->ptr ? t->ptr : "", t->len, t->len };
}

/* Finds tool, container and user as skepd does. */
static int recognize(struct look *l, struct filter_process *p)
{
	const struct skep_str exe = text_of(p, RULE_FIELD_EXE), argv = text_of(p, RULE_FIELD_ARGV),
			      comm = text_of(p, RULE_FIELD_COMM), nothing = { "", 0, 0 };
	const struct skep_str cgroup = text_of(p, RULE_FIELD_CGROUP);
	struct container *container = NULL;
	struct tool_name tool;
	int err;

	tools_recognize(l->tools, &exe, &nothing, &argv, &comm, &tool);
	rule_subject_set_wrapper(&p->subject, tool.wrapper);
	err = process_text(p, RULE_FIELD_TOOL, tool.name, strlen(tool.name));
	if (err || cgroup.len == 0)
		return err;
	err = containers_find(l->containers, cgroup.ptr, cgroup.len, &container);
	if (err)
		return err;
	if (container)
		err = process_text(p, RULE_FIELD_CONTAINER,
				   container->of[CONTAINER_CONTAINER].id.len ? container->of[CONTAINER_CONTAINER].id.ptr
									     : "",
				   container->of[CONTAINER_CONTAINER].id.len);
	else
		err = process_text(p, RULE_FIELD_CONTAINER, "", 0);
	container_free(container);
	return err;
}

static int read_process(int dir, struct look *l, struct filter_process *p)
{
	struct skep_process_text text;
	ssize_t len;
	int err;

	read_ids(dir, l, p);
	read_namespace(dir, "ns/pid", p, RULE_FIELD_PID_NS);
	read_namespace(dir, "ns/mnt", p, RULE_FIELD_MOUNT_NS);
	err = read_link(dir, "exe", p, RULE_FIELD_EXE);
	if (!err)
		err = read_link(dir, "cwd", p, RULE_FIELD_CWD);
	if (!err)
		err = read_cgroup(dir, l, p);
	len = err ? -1 : read_small(dir, "comm", l->room, sizeof(l->room));
	if (len > 0)
		err = process_text(p, RULE_FIELD_COMM, l->room, (size_t)len - (l->room[len - 1] == '\n'));
	if (!err &&
	    reader_sync_read(&l->reader, &(struct skep_upid) { .pid = p->pid }, SKEP_READ_CMDLINE, &text) == 0 &&
	    text.cmdline.len > 0) {
		uint32_t n = text.cmdline.len;

		memcpy(l->room, text.cmdline.ptr, n);
		l->room[n] = '\0';
		redact_argv(l->redact, p->texts[RULE_FIELD_EXE], l->room, &n);
		err = process_text(p, RULE_FIELD_ARGV, l->room, n);
	}
	if (!p->texts[RULE_FIELD_EXE])
		l->processes->unreadable++;
	return err ? err : recognize(l, p);
}

static const struct rule_subject *parent_of(const struct rule_subject *s)
{
	const struct filter_process *parent = ((const struct filter_process *)s)->parent;

	return parent ? &parent->subject : NULL;
}

static int by_pid(const void *a, const void *b)
{
	const struct filter_process *x = a, *y = b;

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
		struct filter_process *p;
		int dir;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		dir = openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			continue; /* the process has ended */
		p = processes_add(l->processes);
		if (!p) {
			err = -ENOMEM;
		} else {
			p->pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
			if (read_stat(dir, l, p))
				err = read_process(dir, l, p);
			else
				l->processes->n--;
		}
		close(dir);
	}
	closedir(proc);
	return err;
}

int processes_live(const char *command, const struct config *config, struct filter_processes *processes)
{
	struct look *l = calloc(1, sizeof(*l));
	struct diag diag;
	int status = SKEP_EXIT_OK, err = 0;

	diag_init(&diag);
	if (!l)
		return skep_fail(command, SKEP_EXIT_RUNTIME, "out of memory");
	*processes = (struct filter_processes){ .source = "live", .users = users_new(NULL, NULL, NULL) };
	l->processes = processes;
	l->tools = tools_new(config ? config->tools : NULL, &diag);
	l->redact = redact_new(config ? config->redact : NULL, &diag);
	l->containers = containers_new(config ? config->containers : NULL, &diag);
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
	if (processes->n)
		qsort(processes->at, processes->n, sizeof(*processes->at), by_pid);
	for (size_t i = 0; i < processes->n; i++) {
		struct filter_process *p = &processes->at[i];

		p->parent = p->ppid ? processes_find(processes, p->ppid) : NULL;
		p->subject.parent = parent_of;
		p->subject.users = processes->users;
	}
out:
	tools_free(l->tools);
	redact_free(l->redact);
	containers_free(l->containers);
	free(l);
	diag_clear(&diag);
	if (status)
		processes_free(processes);
	return status;
}
