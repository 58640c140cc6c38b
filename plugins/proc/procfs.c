/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/procfs.c - reads exe, cwd, cgroup and argv of a process from /proc, if the process is older than the
 * probe, or its exec's record was lost.
 *
 * Events never wait for it: it runs only for a process that a scan finds and the host's table lacks.  /proc knows
 * processes by pid, so it compares the start time after all reads.
 *
 * It reads only files for which no process can make it wait: exe and cwd take task_lock, stat and cgroup no lock of the
 * memory. cmdline and environ wait for the target's mmap_lock, which the target can hold for ever, so the host reads
 * them (process_read).
 */
#include <errno.h>
#include <skep/clock.h>
#include <skep/namespaces.h>
#include <skep/pidns.h>
#include <skep/procfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

bool proc_alive(uint32_t pid)
{
	char path[32];

	if (!skep_initial_pid_ns("/proc"))
		return true; /* this /proc numbers processes otherwise, so it cannot tell: forget none */
	snprintf(path, sizeof(path), "/proc/%u", pid);
	return access(path, F_OK) == 0;
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
	char stat[SKEP_PROCFILE_STAT];
	const char *at = skep_procfile_stat(pid, 22, stat);

	return at && strtoull(at, NULL, 10) == skep_start_ticks(start_ns);
}

/*
 * The line of the memory controller in hybrid and v1, else "0::".  In a cgroup namespace /proc names cgroups from the
 * namespace's root, and the host finds the kernel's name by the id.
 */
static struct skep_str cgroup_of(uint32_t pid, char *ret, size_t room)
{
	struct skep_str found = { 0 };
	bool named = skep_namespace_is_initial(SKEP_NAMESPACE_CGROUP);
	ssize_t n = named ? skep_procfile_read(pid, "cgroup", ret, room - 1) : 0;
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
			found = (struct skep_str) { .ptr = path,
						    .len = (uint32_t)strlen(path),
						    .total = (uint32_t)strlen(path) };
		if (memory)
			break;
	}
	return found;
}

void proc_details(struct skep_instance *inst, struct proc_state *st, const struct skep_upid *who,
		  const struct skep_process_text *text, struct skep_process_live *rec)
{
	struct scratch *s = &st->scratch;
	struct skep_str exe = link_of(who->pid, "exe", s->exe, sizeof(s->exe));
	struct skep_str cwd = link_of(who->pid, "cwd", s->cwd, sizeof(s->cwd));
	struct skep_str cgroup = cgroup_of(who->pid, s->cgroup, sizeof(s->cgroup));
	uint32_t n = text->cmdline.len < PROC_ARGV_MAX ? text->cmdline.len : PROC_ARGV_MAX;

	if (text->error == -ESRCH || !same_process(who->pid, who->start_ns)) {
		rec->argv.total = 1; /* cut to nothing, which is not "no arguments" */
		return;
	}
	rec->exe = exe;
	rec->cwd = cwd;
	rec->cgroup = cgroup;
	if (cgroup.len)
		st->host->cgroup_known(inst, rec->cgroup_id, &cgroup);
	if (text->error) {
		rec->argv.total = 1;
		return;
	}
	rec->environ = proc_environ_text(inst, st, text->environ.ptr, text->environ.len);
	rec->environ.total += text->environ.total > text->environ.len;
	/* without the right to read an environment the host has none, and no process names nothing */
	if (text->environ.len && text->environ.total == text->environ.len)
		rec->flags |= SKEP_LIVE_BOUNDARY;
	if (n == 0)
		return;
	memcpy(s->argv, text->cmdline.ptr, n);
	s->argv[n] = '\0';
	rec->argv = (struct skep_str){ .ptr = s->argv, .len = n, .total = text->cmdline.total };
	st->host->redact(inst, s->exe, s->argv, &rec->argv.len);
	if (text->cmdline.total == n)
		rec->argv.total = rec->argv.len; /* arguments that redaction shortened are not "cut" */
}

/* ---- records that wait for arguments ------------------------------------------------ */

static void send_now(struct skep_instance *inst, struct live_wait *w, const struct skep_process_text *text)
{
	w->sent = true;
	w->st->n_waiting--;
	proc_live_record(inst, w->st, &w->leader, &w->sums, w->flags, text);
}

static void on_text(struct skep_instance *inst, void *arg, const struct skep_process_text *text)
{
	struct live_wait *w = arg, **at;
	struct proc_state *st = w->st;

	/* After an exec between the scan and this answer, the exec's record in the ring has all this. */
	if (!w->sent)
		proc_catch_up(st);
	for (at = &st->waits[w->leader.h.pid & (WAIT_SLOTS - 1)]; *at != w;)
		at = &(*at)->next;
	*at = w->next;
	if (!w->sent)
		send_now(inst, w, text);
	free(w);
	proc_scan_answered(inst, st);
}

void proc_details_ask(struct skep_instance *inst, struct proc_state *st, const struct proc_leader *r,
		      const struct proc_sums *sums, uint32_t flags)
{
	const struct skep_upid who = { .pid = r->h.pid, .start_ns = r->h.start_ns };
	const uint32_t what = SKEP_READ_CMDLINE | (st->environ_names ? SKEP_READ_ENVIRON : 0);
	struct live_wait *w = malloc(sizeof(*w)), **slot = &st->waits[who.pid & (WAIT_SLOTS - 1)];
	struct skep_process_text none = { .size = sizeof(none), .error = -ENOMEM };

	if (w) {
		*w = (struct live_wait){ .next = *slot, .st = st, .leader = *r, .sums = *sums, .flags = flags };
		none.error = st->host->process_read(inst, &who, r->uid, what, on_text, w);
	}
	if (none.error) {
		free(w);
		proc_live_record(inst, st, r, sums, flags, &none);
		return;
	}
	*slot = w;
	st->n_waiting++;
}

void proc_details_skip(struct skep_instance *inst, struct proc_state *st, uint32_t pid, bool exec)
{
	/*
	 * The record gets what /proc has without waiting. Not before an exec: its record has all this, and /proc has
	 * the new program's already.
	 */
	const struct skep_process_text none = { .size = sizeof(none), .error = -ECANCELED };

	for (struct live_wait *w = st->waits[pid & (WAIT_SLOTS - 1)]; w; w = w->next)
		if (w->leader.h.pid == pid && !w->sent)
			send_now(inst, w, exec ? NULL : &none);
}

void proc_details_end(struct skep_instance *inst, struct proc_state *st)
{
	const struct skep_process_text none = { .size = sizeof(none), .error = -ECANCELED };

	for (unsigned i = 0; i < WAIT_SLOTS; i++)
		while (st->waits[i]) {
			struct live_wait *w = st->waits[i];

			st->waits[i] = w->next;
			if (!w->sent)
				send_now(inst, w, &none);
			free(w);
		}
	proc_scan_answered(inst, st);
}
