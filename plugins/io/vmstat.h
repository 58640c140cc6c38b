/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/vmstat.h - the host's page cache, swap and reclaim, of /proc/vmstat.
 */
#ifndef SKEP_IO_VMSTAT_H
#define SKEP_IO_VMSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* In the order of the stream's fields. */
enum vm_field {
	VM_IN,           /* bytes read from block devices, for any purpose */
	VM_OUT,
	VM_SWAP_IN,      /* bytes */
	VM_SWAP_OUT,
	VM_FAULTS,
	VM_MAJOR_FAULTS,
	VM_STALLS,       /* times a task reclaimed memory itself */
	VM_DIRECT_SCANNED,
	VM_DIRECT_RECLAIMED,
	VM_BACKGROUND_SCANNED,
	VM_BACKGROUND_RECLAIMED,
	VM_FILE_REFAULTS, /* bytes of files read again soon after the cache dropped them */
	VM_ANON_REFAULTS,
	VM_FIELDS,
};

struct vm {
	uint64_t v[VM_FIELDS];
	uint32_t have; /* bits: the lines of this kernel */
	bool begun;
};

/* One pass over the file: levels, in the units of the fields. 0 or -errno. */
int vmstat_read(FILE *, uint64_t page_size, struct vm *ret);

#endif
