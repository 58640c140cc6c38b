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
		     const struct proc_birth *birth)
{
	/* not there any more: the kernel side has told of it in this moment */
	if (bpf_map_delete_elem(fd, &pid) == 0 && !birth->excluded &&
	    st->bpf->bss->births_told[pid & (PROC_TOLD - 1)].pid != pid)
		proc_decode_ring(inst, st, &birth->fork, sizeof(birth->fork));
}

void proc_births_clean(struct skep_instance *inst, struct proc_state *st)
{
	int fd = bpf_map__fd(st->bpf->maps.births), err;
	struct proc_birth birth;
	uint32_t key;

	if (!st->bpf->bss->births_kept)
		return;
	/* A key that has gone meanwhile: the kernel begins again with the first. */
	err = bpf_map_get_next_key(fd, st->births_at ? &st->births_at : NULL, &key);
	for (int i = 0; !err && i < CLEAN_AT_A_TIME; i++) {
		st->births_at = key;
		err = bpf_map_get_next_key(fd, &st->births_at, &key);
		if (!proc_alive(st->births_at) && bpf_map_lookup_elem(fd, &st->births_at, &birth) == 0)
			take_out(inst, st, fd, st->births_at, &birth);
	}
	if (err)
		st->births_at = 0;
}

void proc_births_take(struct skep_instance *inst, struct proc_state *st, int fd)
{
	struct proc_birth birth;
	uint32_t key;

	while (bpf_map_get_next_key(fd, NULL, &key) == 0) {
		if (bpf_map_lookup_elem(fd, &key, &birth))
			return;
		take_out(inst, st, fd, key, &birth);
	}
}
