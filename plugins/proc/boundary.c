/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/boundary.c - gives the names of the option `environ`, and the host's names and programs of boundaries
 * (skep_host.boundaries), to the kernel side: at the start, and after each change of the host's lists. The programs may
 * run meanwhile, also those that a previous skepd pinned.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "proc.h"
#include "plugins/proc/proc.skel.h"
#include "state.h"

static struct proc_program program_key(const char *name)
{
	__u64 words[2] = { 0 };

	memcpy(words, name, strnlen(name, PROC_COMM - 1)); /* cut as the kernel cuts a comm */
	return proc_program_key(words[0], words[1]);
}

static bool is_listed(const char *const *programs, const struct proc_program *key)
{
	for (; *programs; programs++) {
		struct proc_program other = program_key(*programs);

		if (memcmp(&other, key, sizeof(other)) == 0)
			return true;
	}
	return false;
}

/* Makes the map `boundary_parents` equal to the list. 0 or -errno. */
static int set_programs(int fd, const char *const *programs, __u64 ret_filter[PROC_PROGRAM_HASHES / 64])
{
	struct proc_program key, next;
	uint8_t one = 1;
	int err = 0, more;

	for (more = bpf_map_get_next_key(fd, NULL, &next); more == 0;) {
		key = next;
		more = bpf_map_get_next_key(fd, &key, &next);
		if (!is_listed(programs, &key))
			bpf_map_delete_elem(fd, &key);
	}
	memset(ret_filter, 0, PROC_PROGRAM_HASHES / 8);
	for (; *programs && !err; programs++) {
		__u32 hash;

		key = program_key(*programs);
		hash = proc_program_hash(&key);
		err = bpf_map_update_elem(fd, &key, &one, BPF_ANY) ? -errno : 0;
		ret_filter[hash / 64] |= 1ull << hash % 64;
	}
	return err;
}

static int set_table(int fd, uint32_t index, const struct proc_environ_table *t)
{
	return bpf_map_update_elem(fd, &index, t, BPF_ANY) ? -errno : 0;
}

int proc_boundaries_set(struct skep_instance *inst, struct proc_state *st)
{
	const struct skep_boundaries *b = st->host->boundaries(inst);
	struct proc_boundaries *side = &st->bpf->bss->boundaries;
	int fd = bpf_map__fd(st->bpf->maps.environ_tables), err;
	uint32_t pair = ~side->now & PROC_BOUNDARY_PAIR, plain;
	const char *refused = NULL;

	if (b->generation == st->boundaries_generation)
		return 0;
	/* no retry in each drain: the next change of the lists is the next try */
	st->boundaries_generation = b->generation;
	plain = proc_environ_option(st, &st->environ);
	err = set_table(fd, pair, &st->environ);
	st->environ_names = proc_environ_add(&st->environ, plain, b->names, &refused);
	if (!err)
		err = set_table(fd, pair + 1, &st->environ);
	if (refused)
		st->host->log(
			inst, SKEP_LOG_WARNING,
			"cannot read the variable \"%s\" at boundaries: not a name of at most 31 bytes, or one beyond 64",
			refused);
	if (!err)
		err = set_programs(bpf_map__fd(st->bpf->maps.boundary_parents), b->programs, side->programs);
	if (!err)
		__atomic_store_n(&side->now,
				 pair | (plain ? PROC_BOUNDARY_PLAIN : 0) | (st->environ_names ? PROC_BOUNDARY_ALL : 0),
				 __ATOMIC_RELEASE);
	return err;
}
