/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/daemon/skepd_memory.c - gives memory back to the kernel that skepd needs no longer: what the start and storms of
 * processes have left in the heap, and pages of programs that only the start reads.
 */
#include "core/daemon/skepd.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Unmaps the pages of read-only segments: skepd needs much of their code and data, such as the BPF objects in the
 * plugins, only at its start.  At the next access to a page the kernel maps it again from the page cache.
 */
static int release_segments(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;

		if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
			continue;
		begin = begin / page * page;
		madvise((void *)begin, end - begin, MADV_DONTNEED);
	}
	return 0;
}

/*
 * Probes read the kernel's types, 5 MB, several times. After the first such block glibc would allocate the next ones in
 * its heap (mallopt(3), M_MMAP_THRESHOLD). A probe's small allocations lie between them there, so glibc could never
 * return 2 to 4 MB of them to the kernel.
 */
void skepd_memory_begin_start(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

void skepd_memory_release_start(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 4 << 20); /* batches come from the heap */
#endif
	dl_iterate_phdr(release_segments, NULL);
	skepd_memory_release();
}

void skepd_memory_release(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}
