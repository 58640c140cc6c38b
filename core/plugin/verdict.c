/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/verdict.c - creates, maps and writes the verdict map.
 */
#include "core/plugin/verdict.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* PID_MAX_LIMIT on 64-bit kernels (include/linux/threads.h). */
#define PID_LIMIT (4u << 20)

static uint32_t pid_max(void)
{
	FILE *f = fopen("/proc/sys/kernel/pid_max", "re");
	unsigned n = 0;

	if (f) {
		if (fscanf(f, "%u", &n) != 1)
			n = 0;
		fclose(f);
	}
	/*
	 * Unreadable: uses the kernel's limit. Too large a value wastes address space; too small a value would
	 * read past the end.
	 */
	return n > 0 && n <= PID_LIMIT ? n : PID_LIMIT;
}

void verdict_open(struct verdict *v, const struct pins *pins, uint8_t all)
{
	struct pins_map map = { .name = "verdict",
				.type = BPF_MAP_TYPE_ARRAY,
				.key_size = sizeof(uint32_t),
				.max_entries = 1,
				.flags = BPF_F_MMAPABLE };
	const char *failed;
	bool adopted;
	void *bytes;

	v->bytes = NULL;
	v->error = 0;
	v->pids = map.value_size = (pid_max() + 7) / 8 * 8;
	v->error = pins_maps(pins, "host", &map, 1, &adopted, &failed);
	v->fd = map.fd;
	if (v->error)
		return;
	bytes = mmap(NULL, v->pids, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
	if (bytes == MAP_FAILED) {
		v->error = -errno;
		close(v->fd);
		v->fd = -1;
		return;
	}
	v->bytes = bytes;
	/* Overwrites adopted bytes: skepd evaluates live processes again, and an ended process needs no byte. */
	if (all != 0 || adopted)
		memset(v->bytes, all, v->pids);
}

void verdict_close(struct verdict *v)
{
	if (v->bytes)
		munmap(v->bytes, v->pids);
	if (v->fd >= 0)
		close(v->fd);
	v->bytes = NULL;
	v->fd = -1;
}

void verdict_set(struct verdict *v, pid_t pid, uint8_t byte)
{
	if (v->bytes && pid > 0 && (uint32_t)pid < v->pids)
		__atomic_store_n(&v->bytes[pid], byte, __ATOMIC_RELAXED);
}

void verdict_set_group(struct verdict *v, pid_t pid, uint8_t group)
{
	uint8_t byte;

	if (!v->bytes || pid <= 0 || (uint32_t)pid >= v->pids)
		return;
	byte = __atomic_load_n(&v->bytes[pid], __ATOMIC_RELAXED);
	/* A failed exchange means that the kernel has just changed the byte: the kernel's verdict stays. */
	if (byte < SKEP_VERDICT_EXCLUDED)
		__atomic_compare_exchange_n(&v->bytes[pid], &byte, (uint8_t)((byte & SKEP_VERDICT_KEEP) | group), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Clears the group from all pids once; returns how many had it. */
static uint32_t clear_pass(struct verdict *v, uint8_t group)
{
	uint32_t n = 0;
	uint64_t eight;

	/* The map's size is a multiple of 8, and nearly all bytes are zero. */
	for (uint32_t from = 0; from < v->pids; from += sizeof(eight)) {
		memcpy(&eight, v->bytes + from, sizeof(eight));
		for (uint32_t pid = from; eight && pid < from + sizeof(eight); pid++) {
			uint8_t byte = __atomic_load_n(&v->bytes[pid], __ATOMIC_RELAXED);

			if (byte >= SKEP_VERDICT_EXCLUDED || (byte & SKEP_VERDICT_GROUPS) != group)
				continue;
			verdict_set_group(v, (pid_t)pid, 0);
			n++;
		}
	}
	return n;
}

void verdict_clear_group(struct verdict *v, uint8_t group)
{
	/*
	 * A parent behind the current position may fork a child with a pid before it. The child inherits the
	 * group, so the function repeats the pass.
	 *
	 */
	for (int pass = 0; v->bytes && group && pass < 8; pass++)
		if (clear_pass(v, group) == 0)
			return;
}
