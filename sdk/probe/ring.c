/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/ring.c - reads a BPF ring buffer and releases its records later.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <skep/ring.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * The kernel lets a reader map the data twice in a row, and counts each of its pages twice as resident.  A record that
 * begins before the end needs only the first pages again.
 */
static size_t skep_ring_mapped(const struct skep_ring *r)
{
	return r->page + r->size + (r->size < SKEP_RING_RECORD ? r->size : SKEP_RING_RECORD);
}

void skep_ring_close(struct skep_ring *r)
{
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	if (r->consumer)
		munmap(r->consumer, r->page);
	if (r->producer)
		munmap((void *)(uintptr_t)r->producer, skep_ring_mapped(r));
	r->epoll_fd = -1;
	r->consumer = NULL;
	r->producer = NULL;
	r->data = NULL;
}

static int skep_ring_fail(struct skep_ring *r)
{
	int err = errno;

	skep_ring_close(r);
	return err > 0 ? -err : -EIO;
}

int skep_ring_open(struct skep_ring *r, int map_fd)
{
	/*
	 * Edge-triggered: records that skepd has read stay in the ring, so a level trigger would fire without end. Each
	 * wake-up of the kernel (such as BPF_RB_FORCE_WAKEUP) is an edge.
	 */
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	struct bpf_map_info info;
	uint32_t size = sizeof(info);
	void *at;

	memset(&info, 0, sizeof(info));
	memset(r, 0, sizeof(*r));
	r->epoll_fd = -1;
	if (bpf_obj_get_info_by_fd(map_fd, &info, &size))
		return skep_ring_fail(r);
	r->page = (size_t)sysconf(_SC_PAGESIZE);
	r->size = info.max_entries;
	/* the kernel reuses a map's id only when ids wrap at INT_MAX (idr_alloc_cyclic, kernel/bpf/syscall.c) */
	r->source = info.id;
	at = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (at == MAP_FAILED)
		return skep_ring_fail(r);
	r->consumer = (unsigned long *)at;
	at = mmap(NULL, skep_ring_mapped(r), PROT_READ, MAP_SHARED, map_fd, (off_t)r->page);
	if (at == MAP_FAILED)
		return skep_ring_fail(r);
	r->producer = (const unsigned long *)at;
	r->data = (const unsigned char *)at + r->page;
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0 || epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, map_fd, &event))
		return skep_ring_fail(r);
	r->at = __atomic_load_n(r->consumer, __ATOMIC_ACQUIRE);
	return 0;
}

void skep_ring_woken(const struct skep_ring *r)
{
	struct epoll_event event;

	while (epoll_wait(r->epoll_fd, &event, 1, 0) < 0 && errno == EINTR)
		;
}

/* Returns the position up to which skepd has released records; in a closed ring, the end of all records. */
static uint64_t skep_ring_begin(const struct skep_ring *r)
{
	return r->consumer ? __atomic_load_n(r->consumer, __ATOMIC_ACQUIRE) : r->at;
}

uint64_t skep_ring_held(const struct skep_ring *r)
{
	return r->at - skep_ring_begin(r);
}

void skep_ring_release(struct skep_ring *r, uint64_t position)
{
	if (r->consumer && position > skep_ring_begin(r) && position <= r->at)
		__atomic_store_n(r->consumer, (unsigned long)position, __ATOMIC_RELEASE);
}

bool skep_ring_resume(struct skep_ring *r, uint64_t source, uint64_t position)
{
	if (!r->producer || source != r->source || position < skep_ring_begin(r) ||
	    position > __atomic_load_n(r->producer, __ATOMIC_ACQUIRE))
		return false;
	r->at = position;
	skep_ring_release(r, position);
	return true;
}

int skep_ring_read(struct skep_ring *r, int (*cb)(void *arg, const void *data, size_t size), void *arg)
{
	for (;;) {
		uint64_t end = r->producer ? __atomic_load_n(r->producer, __ATOMIC_ACQUIRE) : r->at;

		if (r->at >= end)
			return 0;
		while (r->at < end) {
			const unsigned char *record = r->data + (r->at & (r->size - 1));
			uint32_t length = __atomic_load_n((const uint32_t *)(const void *)record, __ATOMIC_ACQUIRE),
				 size = length & ~(3u << 30);
			int err = 0;

			/* BPF_RINGBUF_BUSY_BIT; a busy CPU may delay the writer for long */
			if (length >> 31)
				return -EBUSY;
			r->at += ((uint64_t)size + 8 + 7) / 8 * 8;
			if (size > SKEP_RING_RECORD - 8)
				return -EMSGSIZE;
			if (!(length >> 30)) /* BPF_RINGBUF_DISCARD_BIT */
				err = cb(arg, record + 8, size);
			if (err)
				return err;
		}
	}
}

int skep_ring_read_last(struct skep_ring *r, int (*cb)(void *arg, const void *data, size_t size), void *arg)
{
	int err = skep_ring_read(r, cb, arg);

	for (int i = 0; err == -EBUSY && i < 1000; i++) {
		usleep(1000);
		err = skep_ring_read(r, cb, arg);
	}
	return err;
}
