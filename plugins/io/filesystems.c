/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/filesystems.c - records of network, parallel and user-space file systems.
 */
#include <skep/values.h>

#include "state.h"

static uint64_t gained(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now; /* an administrator can set Lustre's counters to zero */
}

static void emit(struct skep_instance *inst, struct io_probe *st, struct fs *f, uint64_t now_ns)
{
	const struct fs_counters *a = &f->now, *b = &f->last;
	struct fs_record rec = {
		.mountpoint = skep_text(f->mount),
		.type = skep_text(f->type),
		.class = skep_text(fs_class(f)),
		.source = skep_text(f->source),
		.read_operations = gained(a->read_operations, b->read_operations),
		.read_bytes = gained(a->read_bytes, b->read_bytes),
		.write_operations = gained(a->write_operations, b->write_operations),
		.write_bytes = gained(a->write_bytes, b->write_bytes),
		.other_operations = gained(a->other_operations, b->other_operations),
		.retransmissions = gained(a->retransmissions, b->retransmissions),
		.timeouts = gained(a->timeouts, b->timeouts),
		.errors = gained(a->errors, b->errors),
		.queue_ns = gained(a->queue_ns, b->queue_ns),
		.rtt_ns = gained(a->rtt_ns, b->rtt_ns),
		.waiting = a->waiting,
	};

	st->host->emit(inst, STREAM_FS, NULL, now_ns, &rec);
}

/* Reports the signal, again whenever a mount comes or goes. */
static void say(struct skep_instance *inst, struct io_probe *st)
{
	char without[512] = "";
	size_t len = 0;
	bool some = false;

	for (size_t i = 0; i < st->filesystems.n; i++) {
		const struct fs *f = &st->filesystems.at[i];
		int n;

		if (f->counted) {
			some = true;
			continue;
		}
		n = snprintf(without + len, sizeof(without) - len, "%s%s on %s", len ? ", " : "", f->type, f->mount);
		if (n > 0 && (size_t)n < sizeof(without) - len)
			len += (size_t)n;
		else
			without[len] = '\0'; /* as many as fit */
	}
	if (!len) {
		st->host->signal(inst, "fs.io", SKEP_SIGNAL_OK, "/proc/self/mountinfo and the clients' own counters",
				 NULL);
	} else {
		char why[640];

		snprintf(why, sizeof(why), "no readable counters: %s; rchar and wchar of processes include this I/O",
			 without);
		st->host->signal(inst, "fs.io", some ? SKEP_SIGNAL_PARTIAL : SKEP_SIGNAL_MISSING,
				 "/proc/self/mountinfo and the clients' own counters", why);
	}
}

void io_filesystems_sample(struct skep_instance *inst, struct io_probe *st, uint64_t now_ns)
{
	struct filesystems *t = &st->filesystems;
	bool first = !t->mounts.file;
	int err;

	if (!st->opt_filesystems)
		return;
	err = filesystems_pass(t, st->root);
	if (err) {
		st->host->log(inst, SKEP_LOG_WARNING,
			      "reading the mounts failed: %s; this interval has no records of network file systems",
			      strerror(-err));
		return;
	}
	if (first || t->changed)
		say(inst, st);
	for (size_t i = 0; i < t->n; i++) {
		struct fs *f = &t->at[i];

		if (!f->counted)
			continue;
		if (f->begun && memcmp(&f->now, &f->last, sizeof(f->now)) != 0)
			emit(inst, st, f, now_ns);
		else if (f->now.waiting)
			emit(inst, st, f, now_ns);
		f->last = f->now;
		f->begun = true;
	}
}
