/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/drain.c - reads hash maps, sums by CPU, iterators and ring buffers.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <skep/drain.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int skep_drain_new(struct skep_drain *d, size_t key_size, size_t value_size)
{
	*d = (struct skep_drain) { .keys_size = SKEP_DRAIN_ENTRIES * key_size,
				   .values_size = SKEP_DRAIN_ENTRIES * value_size };
	d->keys = malloc(d->keys_size);
	d->values = malloc(d->values_size);
	if (d->keys && d->values)
		return 0;
	skep_drain_free(d);
	return -ENOMEM;
}

void skep_drain_free(struct skep_drain *d)
{
	free(d->keys);
	free(d->values);
	*d = (struct skep_drain){ 0 };
}

int skep_drain_map(struct skep_drain *d, int map_fd, size_t key_size, size_t value_size,
		   void (*cb)(void *arg, const void *key, const void *value), void *arg)
{
	uint32_t at, next = 0, room = SKEP_DRAIN_ENTRIES;
	bool first = true;
	int err;

	if (room > d->keys_size / key_size)
		room = (uint32_t)(d->keys_size / key_size);
	if (room > d->values_size / value_size)
		room = (uint32_t)(d->values_size / value_size);
	do {
		uint32_t n = room;

		at = next;
		err = bpf_map_lookup_batch(map_fd, first ? NULL : &at, &next, d->keys, d->values, &n, NULL);
		if (err && err != -ENOENT) /* -ENOENT: the last batch */
			return err;
		for (uint32_t i = 0; i < n; i++)
			cb(arg, d->keys + i * key_size, d->values + i * value_size);
		first = false;
	} while (!err);
	return 0;
}

/* ---- counters by CPU -------------------------------------------------------------- */

void skep_sums_add(void *sums, const void *of_cpu, size_t size)
{
	const uint64_t *from = of_cpu;
	uint64_t *to = sums;

	for (size_t i = 0; i < size / sizeof(*to); i++)
		to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

void skep_sums_of_view(const void *view, unsigned n, size_t size, void *ret)
{
	memset(ret, 0, size);
	for (unsigned cpu = 0; cpu < n; cpu++)
		skep_sums_add(ret, (const char *)view + cpu * size, size);
}

int skep_sums_of_map(int map_fd, size_t size, void *ret)
{
	void *of_cpu = malloc(size);

	if (!of_cpu)
		return -ENOMEM;
	memset(ret, 0, size);
	for (uint32_t cpu = 0; bpf_map_lookup_elem(map_fd, &cpu, of_cpu) == 0; cpu++)
		skep_sums_add(ret, of_cpu, size);
	free(of_cpu);
	return 0;
}

/* ---- iterators -------------------------------------------------------------------- */

/* read() fails with EAGAIN when the iterator has visited a million objects without output. */
static ssize_t read_more(int fd, void *buffer, size_t room)
{
	ssize_t n;

	do {
		n = read(fd, buffer, room);
	} while (n < 0 && (errno == EAGAIN || errno == EINTR));
	return n < 0 ? -errno : n;
}

int skep_iter_run(int link_fd)
{
	int fd = bpf_iter_create(link_fd);
	char nothing[64];
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = read_more(fd, nothing, sizeof(nothing));
	} while (n > 0);
	close(fd);
	return (int)n;
}

int skep_iter_read(int link_fd, void *buffer, size_t room, size_t record_size,
		   void (*cb)(void *arg, const void *records, size_t n), void *arg)
{
	int fd = bpf_iter_create(link_fd);
	char *at = buffer;
	size_t held = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read_more(fd, at + held, room - held)) > 0) {
		size_t used;

		held += (size_t)n;
		used = held / record_size * record_size;
		cb(arg, at, held / record_size);
		held -= used;
		memmove(at, at + used, held);
	}
	close(fd);
	return (int)n;
}

/* ---- ring buffers ------------------------------------------------------------------ */

static int drain_ring(struct skep_drain_ring *r,
		      int (*read_it)(struct skep_ring *, int (*)(void *, const void *, size_t), void *))
{
	int err;

	if (!r->watch)
		return 0;
	do {
		err = read_it(&r->ring, r->cb, r->arg);
		skep_ring_release(&r->ring, r->ring.at);
	} while (err == -EMSGSIZE);
	return err;
}

int skep_drain_ring_now(struct skep_drain_ring *r)
{
	return drain_ring(r, skep_ring_read);
}

int skep_drain_ring_last(struct skep_drain_ring *r)
{
	return drain_ring(r, skep_ring_read_last);
}

static void on_readable(struct skep_instance *inst, void *arg, unsigned events)
{
	struct skep_drain_ring *r = arg;

	(void)inst;
	(void)events;
	skep_ring_woken(&r->ring);
	(void)skep_drain_ring_now(r); /* the kernel wakes the loop again when a record that is held back comes */
}

int skep_drain_ring_begin(struct skep_drain_ring *r, struct skep_instance *inst, const struct skep_host *host,
			  int map_fd, int (*cb)(void *arg, const void *data, size_t size), void *arg)
{
	int err = skep_ring_open(&r->ring, map_fd);

	if (err)
		return err;
	r->cb = cb;
	r->arg = arg;
	err = host->watch_fd(inst, r->ring.epoll_fd, SKEP_READABLE, on_readable, r, &r->watch);
	if (err)
		skep_ring_close(&r->ring);
	return err;
}

void skep_drain_ring_end(struct skep_drain_ring *r, const struct skep_host *host)
{
	if (!r->watch)
		return;
	host->watch_close(r->watch);
	r->watch = NULL;
	skep_ring_close(&r->ring);
}
