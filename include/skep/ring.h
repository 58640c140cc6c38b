/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/ring.h - reads a BPF ring buffer and releases its records later.  Records that were read but are not durable yet
 * stay in the ring for the skepd that starts after a crash (struct skep_mark).  Link libskep-probe (pkg-config
 * skep-probe).  Loop thread; functions return 0 or a negative errno.
 *
 * libbpf's reader releases each record at once, so this reader does not use it.  The layout is the kernel's
 * (kernel/bpf/ringbuf.c, since 5.8): a page with the consumer's position, a page with the producer's, and the data,
 * followed by its own begin so that no record is cut; each record has a header of 8 bytes, its length with two flags
 * first.
 */
#ifndef SKEP_RING_H
#define SKEP_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_RING_RECORD (256u << 10) /* longest record, with its header */

struct skep_ring {
	int epoll_fd;    /* readable when a new record lies in the ring; -1: not open */
	uint64_t source; /* for struct skep_mark */
	uint64_t at;     /* read up to here */
	uint64_t size;
	size_t page;
	unsigned long *consumer;
	const unsigned long *producer;
	const unsigned char *data;
};

void skep_ring_close(struct skep_ring *r);

/* Opens the ring. map_fd: of the ring's map; the caller may close it afterwards. */
int skep_ring_open(struct skep_ring *r, int map_fd);

/* Resets epoll_fd, which is edge-triggered: call it when epoll_fd was readable. */
void skep_ring_woken(const struct skep_ring *r);

/* Returns the number of bytes that were read and not released yet. */
uint64_t skep_ring_held(const struct skep_ring *r);

/* Releases the records before that position: the kernel may overwrite them. */
void skep_ring_release(struct skep_ring *r, uint64_t position);

/*
 * Begins reading at the position where the previous skepd ended (struct skep_mark).  false: the mark is of another
 * ring, or of records that this ring no longer has.
 */
bool skep_ring_resume(struct skep_ring *r, uint64_t source, uint64_t position);

/*
 * Calls cb() for each complete record, in order, and ends at the first result other than 0, which it returns; that
 * record counts as read.  data lies in the ring, read-only, until it is released.  -EBUSY: a program is writing the
 * next record.  -EMSGSIZE: skipped a record that is longer than SKEP_RING_RECORD.
 */
int skep_ring_read(struct skep_ring *r, int (*cb)(void *arg, const void *data, size_t size), void *arg);

/* As skep_ring_read, for a ring whose programs are detached: waits up to 1 s for a program that is writing a record. */
int skep_ring_read_last(struct skep_ring *r, int (*cb)(void *arg, const void *data, size_t size), void *arg);

#ifdef __cplusplus
}
#endif

#endif
