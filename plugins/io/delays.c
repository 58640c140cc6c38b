/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/delays.c - what live threads have waited, by the task iterator: only where the
 * kernel accounts it (Documentation/accounting/delay-accounting.rst).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "io.skel.h"
#include "state.h"

static void add(struct io_probe *st, const struct io_delays *rec)
{
	struct io_process_key key = { .start_ns = rec->start_ns, .pid = rec->pid };
	struct level *l;

	l = levels_get(&st->processes, &key);
	for (unsigned i = 0; l && i < IO_DELAYS; i++)
		l->extra[i] += rec->delay_ns[i];
}

void io_delays_read(struct skep_instance *inst, struct io_probe *st)
{
	int fd = bpf_iter_create(bpf_link__fd(st->bpf->links.on_task));
	size_t held = 0;
	ssize_t n;

	if (fd < 0) {
		st->host->log(inst, SKEP_LOG_WARNING, "no pass over tasks: %s; their delays come with the next interval", strerror(errno));
		return;
	}
	while ((n = read(fd, st->batch.values + held, st->batch.values_size - held)) > 0 ||
	       (n < 0 && (errno == EAGAIN || errno == EINTR))) {
		size_t at = 0;

		if (n < 0)
			continue;
		held += (size_t)n;
		for (; held - at >= sizeof(struct io_delays); at += sizeof(struct io_delays)) {
			struct io_delays rec;

			memcpy(&rec, st->batch.values + at, sizeof(rec));
			add(st, &rec);
		}
		held -= at;
		memmove(st->batch.values, st->batch.values + at, held);
	}
	close(fd);
}
