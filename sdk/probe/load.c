/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/load.c - helps probes to load a BPF object: sizes, the host's verdict map, views of maps, error messages.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/btf.h>
#include <skep/cpus.h>
#include <skep/load.h>
#include <skep/namespaces.h>
#include <skep/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int skep_load_cpus(struct skep_instance *inst, const struct skep_host *host, unsigned *ret)
{
	int cpus = skep_cpu_slots();

	if (cpus < 0)
		return (host->fail)(inst, cpus, "cannot read /sys/devices/system/cpu/possible: %s", strerror(-cpus));
	*ret = (unsigned)cpus;
	return 0;
}

uint32_t skep_ring_bytes(uint64_t wanted)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < wanted && size < 1u << 30)
		size <<= 1;
	return (uint32_t)size;
}

#define PLACES_LEAST 16384u
#define PLACES_MOST  1048576u /* the hash has 16 bytes for each place */

static uint64_t threads_most(void)
{
	unsigned long long n = 0;
	FILE *f = fopen("/proc/sys/kernel/threads-max", "re");

	if (f && fscanf(f, "%llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

void skep_load_places(struct bpf_map *map, const struct skep_kernel_types *types)
{
	bool grows = skep_types_find(types, "bpf_mem_alloc", BTF_KIND_STRUCT) != 0;
	uint64_t n = threads_most(), most = grows ? PLACES_MOST : SKEP_PLACES_BEFORE_6_1;

	n = n < PLACES_LEAST ? PLACES_LEAST : n;
	bpf_map__set_max_entries(map, (uint32_t)(n < most ? n : most));
	if (grows)
		bpf_map__set_map_flags(map, bpf_map__map_flags(map) | BPF_F_NO_PREALLOC);
}

int skep_load_verdict(const struct skep_host *host, struct bpf_map *verdict, uint32_t *verdict_pids)
{
	if (host->verdict_fd < 0)
		return 0;
	*verdict_pids = host->verdict_pids;
	return bpf_map__reuse_fd(verdict, host->verdict_fd);
}

const void *skep_view_new(const struct bpf_map *map, size_t size)
{
	void *view = mmap(NULL, size, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);

	if (view == MAP_FAILED)
		return NULL;
	return view;
}

const void *skep_view_free(const void *view, size_t size)
{
	if (view)
		munmap((void *)(uintptr_t)view, size);
	return NULL;
}

static const char *words(int err)
{
	return err == -SKEP_ENOTSUPP ? "this kernel does not support it" : strerror(-err);
}

int skep_load_fail(struct skep_instance *inst, const struct skep_host *host, int err, const char *what)
{
	/* bpf(2) wants capabilities of the initial user namespace */
	if ((err == -EPERM || err == -EACCES) && !skep_namespace_is_initial(SKEP_NAMESPACE_USER))
		return (host->fail)(
			inst, -EPERM,
			"%s: not permitted: needs the capabilities CAP_BPF and CAP_PERFMON of the host's user namespace, and this "
			"process runs in another one (a rootless container, unshare --user): start it outside", what);
	if (err == -EPERM || err == -EACCES)
		return (host->fail)(
			inst, -EPERM,
			"%s: not permitted: needs the capabilities CAP_BPF and CAP_PERFMON (before Linux 5.11 also "
			"CAP_SYS_RESOURCE), and a kernel that is not locked down",
			what);
	return (host->fail)(inst, err, "%s: %s (verbose logging shows the kernel's message)", what, words(err));
}

int skep_detail_fail(struct skep_instance *inst, const struct skep_host *host, int err, const char *what)
{
	return (host->fail)(inst, err, "cannot attach %s: %s; needs CAP_BPF and CAP_PERFMON", what, words(err));
}
