/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/kept.c - how long a pinned kernel side records, and how many events it did not record.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/clock.h>
#include <skep/kept.h>
#include <stdlib.h>

int skep_kept_get(int fd, struct skep_kept *ret)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(fd, &zero, ret) ? -errno : 0;
}

int skep_kept_set(int fd, const struct skep_kept *k)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(fd, &zero, k, BPF_ANY) ? -errno : 0;
}

int skep_kept_touch(int fd, uint32_t layout, uint64_t for_ns)
{
	const struct skep_kept k = { for_ns ? skep_monotonic_ns() + for_ns : 0, SKEP_KEPT_AWAKE, layout };

	return skep_kept_set(fd, &k);
}

int skep_kept_sleep(int fd, uint32_t layout)
{
	const struct skep_kept k = { 0, SKEP_KEPT_ASLEEP, layout };

	return skep_kept_set(fd, &k);
}

bool skep_kept_expired(const struct skep_kept *k)
{
	return k->asleep == SKEP_KEPT_EXPIRED ||
	       (k->asleep == SKEP_KEPT_AWAKE && k->until_ns && k->until_ns < skep_monotonic_ns());
}

int skep_kept_drain_unattended(int fd, uint64_t ret[SKEP_KEPT_KINDS])
{
	int cpus = libbpf_num_possible_cpus(), err = -ENOMEM;
	struct skep_unattended *of_cpu =
		cpus > 0 ? (struct skep_unattended *)calloc((size_t)cpus, sizeof(*of_cpu)) : NULL;
	uint64_t sums[SKEP_KEPT_KINDS] = { 0 };
	uint32_t zero = 0;

	if (!of_cpu)
		return cpus < 0 ? cpus : err;
	err = bpf_map_lookup_elem(fd, &zero, of_cpu) ? -errno : 0;
	for (int cpu = 0; !err && cpu < cpus; cpu++)
		for (unsigned kind = 0; kind < SKEP_KEPT_KINDS; kind++) {
			sums[kind] += of_cpu[cpu].n[kind];
			of_cpu[cpu].n[kind] = 0;
		}
	if (!err)
		err = bpf_map_update_elem(fd, &zero, of_cpu, BPF_ANY) ? -errno : 0;
	for (unsigned kind = 0; !err && kind < SKEP_KEPT_KINDS; kind++)
		ret[kind] = sums[kind];
	free(of_cpu);
	return err;
}
