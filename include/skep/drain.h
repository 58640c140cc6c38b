/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/drain.h - reads the data of a probe's kernel side: entries of hash maps, sums by CPU, the output of iterators,
 * records of a ring buffer.
 * Link libskep-probe (pkg-config skep-probe).  Any thread, one at a time for each struct skep_drain.
 */
#ifndef SKEP_DRAIN_H
#define SKEP_DRAIN_H

#include <skep/plugin.h>
#include <skep/ring.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Room for one read of a map, zeroed before skep_drain_new(). */
struct skep_drain {
	char *keys, *values;
	size_t keys_size, values_size;
};
#define SKEP_DRAIN_ENTRIES 512u /* more than one bucket has: the kernel returns whole buckets */

/* Allocates room for SKEP_DRAIN_ENTRIES entries of these sizes; the owner calls skep_drain_free(). 0 or -ENOMEM. */
int skep_drain_new(struct skep_drain *d, size_t key_size, size_t value_size);
void skep_drain_free(struct skep_drain *d); /* skep_drain_new() may follow */

/*
 * Calls cb() for each entry of a BPF hash.  0, or the error of bpf_map_lookup_batch().  The kernel may skip or repeat
 * an entry that a program adds or deletes meanwhile.
 */
int skep_drain_map(struct skep_drain *d, int map_fd, size_t key_size, size_t value_size,
		   void (*cb)(void *arg, const void *key, const void *value), void *arg);

/* ---- counters by CPU: a struct of uint64_t, of that size in bytes ---------------- */

/* Adds the counters of one CPU, which a program may change meanwhile, to the sums. */
void skep_sums_add(void *sums, const void *of_cpu, size_t size);
/* Writes the sums of n CPUs to ret.  view: one struct after the other, as in a mapped array (skep_view_new()). */
void skep_sums_of_view(const void *view, unsigned n, size_t size, void *ret);
/* Writes the sums of an array by CPU number to ret, such as an array that a previous skepd pinned. 0 or -ENOMEM. */
int skep_sums_of_map(int map_fd, size_t size, void *ret);

/* ---- iterators -------------------------------------------------------------------- */

/* Runs an iterator that writes nothing for user space to its end. 0 or -errno. */
int skep_iter_run(int link_fd);
/*
 * Runs an iterator that writes records of one size; cb() gets them as they come, n at a time.  buffer: of `room` bytes,
 * 64 KiB or more (the kernel gives up to 8 pages at a time), aligned as a record is.  0 or -errno.
 */
int skep_iter_read(int link_fd, void *buffer, size_t room, size_t record_size,
		   void (*cb)(void *arg, const void *records, size_t n), void *arg);

/* ---- a ring buffer that frees a record when it is read (else: skep/ring.h) ------- */

/* Loop thread.  Zeroed before skep_drain_ring_begin(). */
struct skep_drain_ring {
	struct skep_ring ring;
	struct skep_watch *watch; /* NULL: not open */
	int (*cb)(void *arg, const void *data, size_t size);
	void *arg;
};

/*
 * Maps the ring buffer of a map, and reads it whenever the kernel wakes the loop: cb() gets each record and returns 0.
 * r stays where it is until skep_drain_ring_end().  0 or -errno.
 */
int skep_drain_ring_begin(struct skep_drain_ring *r, struct skep_instance *inst, const struct skep_host *host,
			  int map_fd, int (*cb)(void *arg, const void *data, size_t size), void *arg);
/*
 * Reads all records, also those without a wake-up.  0; -EBUSY: a program that does not get on, as its CPU is busy or
 * its virtual CPU stands still, holds back a record and all later ones of every CPU: do not call host->drained() yet.
 */
int skep_drain_ring_now(struct skep_drain_ring *r);
/* As skep_drain_ring_now, once the programs are detached: waits up to 1 s for a program that holds records back. */
int skep_drain_ring_last(struct skep_drain_ring *r);
/* Closes the ring, if it is open; skep_drain_ring_begin() may follow. */
void skep_drain_ring_end(struct skep_drain_ring *r, const struct skep_host *host);

#ifdef __cplusplus
}
#endif

#endif
