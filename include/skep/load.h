/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/load.h - prepares a probe's BPF object: sets the host's verdict map and sizes that depend on the machine, maps
 * arrays of the kernel side into memory, and reports to the operator why the kernel refuses the object.  Link
 * libskep-probe (pkg-config skep-probe).  Loop thread.
 *
 *	bpf = NAME_bpf__open()
 *	skep_load_cpus(), skep_ring_bytes(), skep_load_places()    sizes of its maps
 *	skep_load_verdict()                    the host's verdict map replaces the object's own
 *	NAME_bpf__load(), or skep_pins_load()  on failure skep_load_fail()
 *	skep_view_new()                        counters that the kernel side writes and this side reads
 *	NAME_bpf__attach(), or skep_pins_attach()
 */
#ifndef SKEP_LOAD_H
#define SKEP_LOAD_H

#include <skep/plugin.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_map; /* <bpf/libbpf.h> */
struct skep_kernel_types; /* <skep/types.h> */

#ifdef __cplusplus
extern "C" {
#endif

/* Stores the number of entries that an array by CPU number needs (skep/cpus.h). 0, or the result of host->fail(). */
int skep_load_cpus(struct skep_instance *inst, const struct skep_host *host, unsigned *ret);
/* Returns the size of a ring buffer of at least `wanted` bytes: whole pages, a power of two; at most 1 GiB. */
uint32_t skep_ring_bytes(uint64_t wanted);

/*
 * Gives a hash map with an entry for each living process its size: the number of threads that the kernel allows
 * (kernel.threads-max), of which it allows each user half (RLIMIT_NPROC), so that no user can fill the map.  Since
 * Linux 6.1 the map takes memory for its entries alone, which any program can allocate (struct bpf_mem_alloc).  Before,
 * it has at most SKEP_PLACES_BEFORE_6_1, allocated at once.
 */
#define SKEP_PLACES_BEFORE_6_1 65536u
void skep_load_places(struct bpf_map *map, const struct skep_kernel_types *types);

/*
 * Replaces the object's map "verdict" by the host's verdict map; verdict_pids: the object's constant of that name,
 * bpf->rodata->verdict_pids.  Changes nothing if the host has no such map.  0 or -errno.
 */
int skep_load_verdict(const struct skep_host *host, struct bpf_map *verdict, uint32_t *verdict_pids);

/* Maps size bytes of a map with BPF_F_MMAPABLE, read-only; the caller calls skep_view_free().  NULL: see errno. */
const void *skep_view_new(const struct bpf_map *map, size_t size);
const void *skep_view_free(const void *view, size_t size); /* NULL is fine; returns NULL */

/* The kernel's ENOTSUPP, which no C library names (include/linux/errno.h). */
#define SKEP_ENOTSUPP 524

/*
 * Give host->fail() the cause of a failed load or attachment and a remedy, and return its result.
 * what: "loading the BPF programs"; of a detail: "the hook on tcp_probe".
 */
int skep_load_fail(struct skep_instance *inst, const struct skep_host *host, int err, const char *what);
int skep_detail_fail(struct skep_instance *inst, const struct skep_host *host, int err, const char *what);

#ifdef __cplusplus
}
#endif

#endif
