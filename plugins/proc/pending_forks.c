/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/pending_forks.c - removes pending forks of processes whose end the kernel side missed.
 *
 * The kernel side removes an entry when the process executes, exits or is freed (pending_forks.bpf.h). It can miss each
 * of these events: the kernel may free a task where it calls no BPF program (exit.bpf.h, exited()), on some machines
 * one in a thousand. At two such tasks a second the map would be full within three hours.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "proc.h"
#include "plugins/proc/proc.skel.h"
#include "state.h"

#define CLEAN_AT_A_TIME 256 /* entries for each call: some 500 system calls, half a millisecond */

static void remove_fork(struct skep_instance *inst, struct proc_state *st, int fd, uint32_t pid,
		     const struct proc_pending_fork *pending)
{
	/* no entry any more: the kernel side has just sent the fork */
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
	/* For a key that is deleted meanwhile the kernel returns the first one. */
	err = bpf_map_get_next_key(fd, st->pending_forks_at ? &st->pending_forks_at : NULL, &key);
	for (int i = 0; !err && i < CLEAN_AT_A_TIME; i++) {
		st->pending_forks_at = key;
		err = bpf_map_get_next_key(fd, &st->pending_forks_at, &key);
		if (!proc_alive(st->pending_forks_at) && bpf_map_lookup_elem(fd, &st->pending_forks_at, &pending) == 0)
			remove_fork(inst, st, fd, st->pending_forks_at, &pending);
	}
	if (err)
		st->pending_forks_at = 0;
}

void proc_pending_forks_drain(struct skep_instance *inst, struct proc_state *st, int fd)
{
	struct proc_pending_fork pending;
	uint32_t key;

	while (bpf_map_get_next_key(fd, NULL, &key) == 0) {
		if (bpf_map_lookup_elem(fd, &key, &pending))
			return;
		remove_fork(inst, st, fd, key, &pending);
	}
}
