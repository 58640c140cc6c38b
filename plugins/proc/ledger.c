/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/ledger.c - posts the CPU time that no process's record has: of kernel threads and of excluded processes.
 * The kernel side adds it up, so neither costs a record.
 */
#include <skep/clock.h>

#include "state.h"

#define TEXT(s_) ((struct skep_str){ s_, sizeof(s_) - 1, sizeof(s_) - 1 })

void proc_ledger_begin(struct proc_state *st)
{
	st->others_begin = *st->others;
}

void proc_ledger_post(struct skep_instance *inst, struct proc_state *st)
{
	struct skep_ledger_post post = { .account = TEXT("cpu") };
	const struct proc_others now = *st->others, *begin = &st->others_begin;
	uint64_t time_ns = skep_boot_ns(), excluded_ns = now.excluded_seen_ns - begin->excluded_seen_ns;

	post.item = TEXT("kernel");
	post.amount = (int64_t)(now.kernel_seen_ns - begin->kernel_seen_ns + now.kernel_gone_ns);
	st->host->emit(inst, STREAM_LEDGER, NULL, time_ns, &post);
	post.item = TEXT("excluded");
	for (unsigned i = 0; i < sizeof(st->rules->excluded_ns) / sizeof(st->rules->excluded_ns[0]); i++)
		excluded_ns += __atomic_load_n(&st->rules->excluded_ns[i], __ATOMIC_RELAXED);
	post.amount = (int64_t)excluded_ns;
	st->host->emit(inst, STREAM_LEDGER, NULL, time_ns, &post);
}
