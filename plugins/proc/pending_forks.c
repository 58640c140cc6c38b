/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/pending_forks.c - what the kernel side has kept of processes whose end it did not see.
 *
 * It takes out what it kept when the process execs, ends or is freed (pending_forks.bpf.h).  Each of
 * these hooks can be missed: a task may be freed where BPF is not called (proc.bpf.c, exited()), and
 * so is a tenth of a per cent on some hosts.  At two such a second the map would be full within three hours.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "proc.h"
#include "proc.skel.h"
#include "state.h"

#define CLEAN_AT_A_TIME 256 /* entries looked at in a pass: some 500 system calls, half a millisecond */

static void take_out(struct skep_instance *inst, struct proc_state *st, int fd, uint32_t pid,
		     const struct proc_pending_fork *pending)
{
	/* not there any more: the kernel side has told of it in this moment */
	if (bpf_map_delete_elem(fd, &pid) == 0 && !pending->excluded &&
	    st->bpf->bss->forks_sent[pid & (PROC_FORKS_SENT - 1)].pid != pid)
		proc_decode_ring(inst, st, &pending->fork, sizeof(pending->fork));
}

void proc_pending_forks_clean(struct skep_instance *inst, struct proc_state *st)
{
	int fd = bpf_map__fd(st->bpf->maps.pending_forks), err;
	struct proc_pending_fork pending;
	uint32_t key;

	if (!st->bpf->bss->pending_forks_used)
		return;
	/* A key that has gone meanwhile: the kernel begins again with the first. */
	err = bpf_map_get_next_key(fd, st->pending_forks_at ? &st->pending_forks_at : NULL, &key);
	for (int i = 0; !err && i < CLEAN_AT_A_TIME; i++) {
		st->pending_forks_at = key;
		err = bpf_map_get_next_key(fd, &st->pending_forks_at, &key);
		if (!proc_alive(st->pending_forks_at) && bpf_map_lookup_elem(fd, &st->pending_forks_at, &pending) == 0)
			take_out(inst, st, fd, st->pending_forks_at, &pending);
	}
	if (err)
		st->pending_forks_at = 0;
}

void proc_pending_forks_take(struct skep_instance *inst, struct proc_state *st, int fd)
{
	struct proc_pending_fork pending;
	uint32_t key;

	while (bpf_map_get_next_key(fd, NULL, &key) == 0) {
		if (bpf_map_lookup_elem(fd, &key, &pending))
			return;
		take_out(inst, st, fd, key, &pending);
	}
}
