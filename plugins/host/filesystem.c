/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/filesystem.c - the stream host.filesystem: space in mounted file systems.
 *
 * A round hands the mounts that are due to a thread, which calls statvfs() on each (statvfs_thread.h). The next
 * sample reports the results.  When a call hangs, the probe reports that mount as stale, abandons the thread, and
 * gives the other mounts to a new one.  It tries the stale mount again when the abandoned thread has returned.
 */
#include <errno.h>
#include <skep/clock.h>
#include <skep/values.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

statvfs_call filesystem_call = statvfs;

static const struct mount *mount_of(const struct space *s, uint32_t major, uint32_t minor)
{
	for (uint32_t i = 0; i < s->mounts.n; i++)
		if (s->mounts.mount[i].major == major && s->mounts.mount[i].minor == minor)
			return &s->mounts.mount[i];
	return NULL;
}

/* answer[] is large enough: the table has one answer at most for each mount. */
static struct space_answer *answer_of(struct space *s, uint32_t major, uint32_t minor)
{
	struct space_answer *a;

	for (uint32_t i = 0; i < s->n_answers; i++)
		if (s->answer[i].major == major && s->answer[i].minor == minor)
			return &s->answer[i];
	a = &s->answer[s->n_answers++];
	*a = (struct space_answer){ .major = major, .minor = minor };
	return a;
}

static bool is_stuck(const struct space *s, const struct mount *m)
{
	for (uint32_t i = 0; i < s->n_stuck; i++)
		if (s->stuck[i].major == m->major && s->stuck[i].minor == m->minor)
			return true;
	return false;
}

static void emit(struct skep_instance *inst, const struct host_probe *st, const struct mount *m,
		 const struct space_answer *a, uint64_t now_ns)
{
	const struct statvfs *v = &a->space;
	uint64_t unit = v->f_frsize ? v->f_frsize : v->f_bsize;
	struct filesystem_record rec = {
		.device = skep_text(m->device),
		.mountpoint = skep_text(m->path),
		.type = skep_text(m->type),
		.mode = skep_text(m->readonly ? "ro" : "rw"),
		.stale = a->stale,
	};

	if (a->answered_ns) {
		uint64_t for_all = v->f_bavail < v->f_bfree ? v->f_bavail : v->f_bfree;

		if (v->f_blocks == 0)
			return; /* no space of its own: a file system of the kernel that mounts.c does not know */
		rec.age_ns = now_ns > a->answered_ns ? now_ns - a->answered_ns : 0;
		rec.limit = v->f_blocks * unit;
		rec.used = (v->f_blocks > v->f_bfree ? v->f_blocks - v->f_bfree : 0) * unit;
		rec.free = for_all * unit;
		rec.reserved = (v->f_bfree - for_all) * unit;
		rec.files_limit = v->f_files;
		rec.files_free = v->f_ffree;
		rec.files_used = v->f_files > v->f_ffree ? v->f_files - v->f_ffree : 0;
	}
	st->host->emit(inst, STREAM_FILESYSTEM, NULL, now_ns, &rec);
}

/* Reports the results of the first n requests of the round. */
static void report(struct skep_instance *inst, const struct host_probe *st, uint32_t n, uint64_t now_ns)
{
	const struct statvfs_request *q = statvfs_thread_requests(st->space->thread);

	for (uint32_t i = 0; i < n; i++) {
		const struct mount *m = mount_of(st->space, q[i].major, q[i].minor);
		struct space_answer *a = answer_of(st->space, q[i].major, q[i].minor);

		if (!m)
			continue;
		if (q[i].err) {
			/*
			 * These four: the file system exists and does not work. Other errors: skepd may not see it
			 * (another namespace, no permission).
			 */
			st->host->counter_add(st->stale, 1);
			a->stale = q[i].err == -ESTALE || q[i].err == -EIO || q[i].err == -ETIMEDOUT ||
				   q[i].err == -EHOSTDOWN;
			if (a->stale)
				emit(inst, st, m, a, now_ns);
			continue;
		}
		a->stale = false;
		a->space = q[i].space;
		a->answered_ns = q[i].at_ns;
		emit(inst, st, m, a, now_ns);
	}
}

/* The thread hangs in request number `at`: abandons it. */
static void abandon(struct skep_instance *inst, struct host_probe *st, uint32_t at, uint64_t now_ns)
{
	struct space *s = st->space;
	const struct statvfs_request *q = &statvfs_thread_requests(s->thread)[at];
	const struct mount *m = mount_of(s, q->major, q->minor);

	s->stuck[s->n_stuck].thread = s->thread;
	s->stuck[s->n_stuck].major = q->major;
	s->stuck[s->n_stuck].minor = q->minor;
	s->n_stuck++;
	answer_of(s, q->major, q->minor)->stale = true;
	statvfs_thread_abandon(s->thread);
	s->thread = NULL;
	s->local_next_ns = s->network_next_ns = now_ns; /* a new thread does the rest of the round at once */
	if (m)
		st->host->log(inst, SKEP_LOG_WARNING,
			      "%s (%s from %s): statvfs hangs; "
			      "skep reports it as stale until it answers, check the server", m->path,
			      m->type, m->device);
	st->host->counter_add(st->stale, 1);
}

static void reap(struct space *s)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n_stuck; i++) {
		uint32_t answered;
		uint64_t since;

		if (statvfs_thread_busy(s->stuck[i].thread, &answered, &since))
			s->stuck[kept++] = s->stuck[i];
		else
			statvfs_thread_end(s->stuck[i].thread);
	}
	s->n_stuck = kept;
}

static bool due(const struct host_probe *st, const struct mount *m, uint64_t now_ns)
{
	const struct space *s = st->space;

	if (m->network)
		return st->opt_network_filesystems && now_ns >= s->network_next_ns && s->n_stuck < STUCK_MOST - 1;
	return now_ns >= s->local_next_ns;
}

/* Reads the mounts anew, and drops the answers of mounts that no longer exist. */
static void refresh(struct skep_instance *inst, struct host_probe *st)
{
	struct space *s = st->space;
	struct skep_mountinfo file = { 0 };
	bool own = strcmp(st->opt_root, "/") == 0;
	uint32_t kept = 0;

	/* skepd's own mounts; with another root those of the host's process 1, whose paths are below that root */
	if (skep_mountinfo_open(&file, st->root, own ? "proc/self/mountinfo" : "proc/1/mountinfo"))
		return;
	mounts_read(&file, &s->mounts);
	skep_mountinfo_close(&file);
	/*
	 * ProtectSystem=strict of the service mounts everything read-only for skepd alone.  Process 1 has the mounts
	 * as the host has them.
	 */
	if (own && skep_mountinfo_open(&file, st->root, "proc/1/mountinfo") == 0) {
		mounts_read_modes(&file, &s->mounts);
		skep_mountinfo_close(&file);
	}
	host_bad_line(st, s->mounts.bad);
	if (s->mounts.left_out) {
		st->host->counter_add(st->left_out, s->mounts.left_out);
		st->host->lost(inst, STREAM_FILESYSTEM, SKEP_LOSS_QUEUE, s->mounts.left_out);
	}
	for (uint32_t i = 0; i < s->n_answers; i++)
		if (mount_of(s, s->answer[i].major, s->answer[i].minor))
			s->answer[kept++] = s->answer[i];
	s->n_answers = kept;
}

static void begin_round(struct skep_instance *inst, struct host_probe *st, uint64_t now_ns)
{
	struct space *s = st->space;
	const char *root = strcmp(st->opt_root, "/") == 0 ? "" : st->opt_root;
	bool local = now_ns >= s->local_next_ns, network = st->opt_network_filesystems && now_ns >= s->network_next_ns;
	struct statvfs_request *q;
	uint32_t n = 0;
	int err;

	if (!local && !network)
		return;
	refresh(inst, st);
	err = s->thread ? 0 : statvfs_thread_new(filesystem_call, &s->thread);
	if (err) {
		st->host->log(inst, SKEP_LOG_WARNING,
			      "cannot start the thread that calls statvfs: %s; this round of host.filesystem is missing", strerror(-err));
		return;
	}
	q = statvfs_thread_requests(s->thread);
	for (uint32_t i = 0; i < s->mounts.n; i++) {
		const struct mount *m = &s->mounts.mount[i];

		if (is_stuck(s, m)) {
			emit(inst, st, m, answer_of(s, m->major, m->minor), now_ns);
			continue;
		}
		if (!due(st, m, now_ns) || !skep_text_format(q[n].path, sizeof(q[n].path), "%s%s", root, m->path))
			continue;
		q[n].major = m->major;
		q[n].minor = m->minor;
		n++;
	}
	if (local)
		s->local_next_ns = now_ns + st->opt_filesystems;
	if (network)
		s->network_next_ns = now_ns + st->opt_network_filesystems;
	s->asked = n;
	statvfs_thread_begin(s->thread, n);
}

void filesystem_sample(struct skep_instance *inst, struct host_probe *st, uint64_t now_ns)
{
	struct space *s = st->space;

	if (!s)
		return;
	reap(s);
	if (s->thread && s->asked) {
		uint32_t answered;
		uint64_t since;
		bool busy = statvfs_thread_busy(s->thread, &answered, &since);

		if (busy && now_ns - since < st->opt_filesystem_timeout)
			return;
		if (busy && s->n_stuck == STUCK_MOST) {
			if (!s->too_many_said)
				st->host->log(
					inst, SKEP_LOG_WARNING,
					"statvfs hangs on %u file systems: "
					"host.filesystem stops until one of them answers, check their servers",
					STUCK_MOST);
			s->too_many_said = true;
			return;
		}
		s->too_many_said = false;
		report(inst, st, answered, now_ns);
		if (busy)
			abandon(inst, st, answered, now_ns);
		s->asked = 0;
	}
	begin_round(inst, st, now_ns);
}

int filesystem_start(struct skep_instance *inst, struct host_probe *st)
{
	if (!st->opt_filesystems) {
		host_signal(inst, st, "host.filesystem", SKEP_SIGNAL_OFF, "statvfs", "option filesystems is 0s");
		return 0;
	}
	st->space = calloc(1, sizeof(*st->space));
	if (!st->space)
		return st->host->fail(inst, -ENOMEM, "no memory for the table of file systems");
	if (st->opt_network_filesystems)
		host_signal(inst, st, "host.filesystem", SKEP_SIGNAL_OK, "statvfs, by a thread that may hang", NULL);
	else
		host_signal(inst, st, "host.filesystem", SKEP_SIGNAL_PARTIAL, "statvfs, by a thread that may hang",
			    "network file systems are left out: option network_filesystems is 0s");
	begin_round(inst, st, skep_boot_ns());
	return 0;
}

void filesystem_close(struct host_probe *st)
{
	if (!st->space)
		return;
	statvfs_thread_end(st->space->thread);
	for (uint32_t i = 0; i < st->space->n_stuck; i++)
		statvfs_thread_end(st->space->stuck[i].thread);
	free(st->space);
	st->space = NULL;
}
