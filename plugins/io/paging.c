/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/paging.c - records of the host's paging.
 */
#include <errno.h>
#include <unistd.h>

#include "state.h"

void io_paging_sample(struct skep_instance *inst, struct io_probe *st, uint64_t now_ns)
{
	struct paging_record rec;
	struct vm now;
	bool some = false;

	if (!st->vmstat || vmstat_read(st->vmstat, (uint64_t)sysconf(_SC_PAGESIZE), &now))
		return;
	for (unsigned i = 0; i < VM_FIELDS; i++) {
		rec.v[i] = now.v[i] >= st->vm.v[i] ? now.v[i] - st->vm.v[i] : 0;
		some = some || rec.v[i];
	}
	if (st->vm.begun && some)
		st->host->emit(inst, STREAM_PAGING, NULL, now_ns, &rec);
	st->vm = now;
}
