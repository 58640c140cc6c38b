/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/delays.c - how long live threads have waited, by the task iterator, where the kernel accounts delays
 * (Documentation/accounting/delay-accounting.rst).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/drain.h>
#include <unistd.h>

#include "plugins/io/io.skel.h"
#include "state.h"

static void add(void *arg, const void *records, size_t n)
{
	const struct io_delays *rec = records;
	struct io_probe *st = arg;

	for (; n > 0; n--, rec++) {
		struct io_process_key key = { .start_ns = rec->start_ns, .pid = rec->pid };
		struct level *l = levels_get(&st->processes, &key);

		for (unsigned i = 0; l && i < IO_DELAYS; i++)
			l->extra[i] += rec->delay_ns[i];
	}
}

void io_delays_read(struct skep_instance *inst, struct io_probe *st)
{
	int err = skep_iter_read(bpf_link__fd(st->bpf->links.on_task), st->batch.values, st->batch.values_size,
				 sizeof(struct io_delays), add, st);

	if (err)
		st->host->log(inst, SKEP_LOG_WARNING,
			      "the pass over tasks failed: %s; the next interval reports their delays", strerror(-err));
}
