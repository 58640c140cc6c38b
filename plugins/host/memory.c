/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/memory.c - the stream host.memory: /proc/meminfo and the paging counters of /proc/vmstat.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "state.h"

#define LINE(name_, member_) { .name = (name_), .offset = offsetof(struct memory_record, member_) }

/* In the order of the file, so that the first comparison finds each line. */
static const struct {
	const char *name;
	size_t offset;
} lines[] = {
	LINE("MemTotal", limit),
	LINE("MemFree", free),
	LINE("MemAvailable", available),
	LINE("Buffers", buffers),
	LINE("Cached", cached),
	LINE("Unevictable", locked),
	LINE("SwapTotal", swap_limit),
	LINE("SwapFree", swap_free),
	LINE("Dirty", dirty),
	LINE("Writeback", writeback),
	LINE("AnonPages", anon),
	LINE("Shmem", shared),
	LINE("SReclaimable", slab_reclaimable),
	LINE("SUnreclaim", slab_unreclaimable),
	LINE("KernelStack", kernel_stack),
	LINE("PageTables", page_tables),
	LINE("CommitLimit", commit_limit),
	LINE("Committed_AS", committed),
	LINE("AnonHugePages", huge_transparent),
	LINE("HugePages_Total", huge_total),
	LINE("HugePages_Free", huge_free),
	LINE("Hugepagesize", huge_page),
};
#define N_LINES (sizeof(lines) / sizeof(lines[0]))

static const char *const vmstat_names[N_VM] = {
	[VM_FAULT] = "pgfault",
	[VM_MAJOR] = "pgmajfault",
	[VM_SWAP_IN] = "pswpin",
	[VM_SWAP_OUT] = "pswpout",
	[VM_OOM] = "oom_kill",
};

/* "Dirty:   16508 kB", "HugePages_Total:   0" */
static int meminfo_line(struct text line, struct text name, uint64_t *ret)
{
	struct text unit;
	uint64_t v;

	line.at = name.end + 1;
	if (!skep_text_u64(&line, &v))
		return -EBADMSG;
	if (!skep_text_word(&line, &unit)) {
		*ret = v;
		return 0;
	}
	if (!skep_text_is(unit, "kB") || __builtin_mul_overflow(v, UINT64_C(1024), &v))
		return -EBADMSG;
	*ret = v;
	return 0;
}

int meminfo_parse(struct text t, struct memory_record *rec, uint64_t *ret_bad)
{
	bool have[N_LINES] = { false };
	uint64_t bad = 0;
	unsigned next = 0;
	struct text line;

	while (skep_text_line(&t, &line)) {
		struct text name = line;
		uint64_t v;

		name.end = skep_text_len(line) ? memchr(line.at, ':', skep_text_len(line)) : NULL;
		if (!name.end) {
			bad++;
			continue;
		}
		for (unsigned k = 0; k < N_LINES; k++) {
			unsigned i = (next + k) % N_LINES;

			if (!skep_text_is(name, lines[i].name))
				continue;
			if (meminfo_line(line, name, &v)) {
				bad++;
			} else {
				memcpy((char *)rec + lines[i].offset, &v, sizeof(v));
				have[i] = true;
			}
			next = (i + 1) % N_LINES;
			break;
		}
	}
	*ret_bad = bad;
	if (!have[0] || !have[1])
		return -EBADMSG;
	if (!have[2]) /* before 3.14 */
		rec->available = rec->free + rec->buffers + rec->cached;
	rec->used = rec->limit > rec->available ? rec->limit - rec->available : 0;
	rec->swap_used = rec->swap_limit > rec->swap_free ? rec->swap_limit - rec->swap_free : 0;
	return 0;
}

int vmstat_parse(struct text t, uint64_t value[N_VM], unsigned *ret_found)
{
	unsigned found = 0;
	struct text line;

	while (skep_text_line(&t, &line)) {
		struct text name;

		/* nearly 200 lines, five of them of interest: most end here */
		if (skep_text_len(line) < 2 || (line.at[0] != 'p' && line.at[0] != 'o'))
			continue;
		if (!skep_text_word(&line, &name))
			continue;
		for (unsigned i = 0; i < N_VM; i++)
			if (skep_text_is(name, vmstat_names[i])) {
				if (!skep_text_u64(&line, &value[i]))
					return -EBADMSG;
				found |= 1u << i;
			}
	}
	*ret_found = found;
	return 0;
}

static bool paging(struct host_probe *st, uint64_t value[N_VM], unsigned *ret_found)
{
	struct text text;

	*ret_found = 0;
	if (!host_read(st, FILE_VMSTAT, &text))
		return false;
	if (vmstat_parse(text, value, ret_found)) {
		host_bad_line(st, 1);
		return false;
	}
	return true;
}

void memory_start(struct skep_instance *inst, struct host_probe *st)
{
	unsigned found;

	if (st->file[FILE_MEMINFO] < 0)
		host_signal(inst, st, "host.memory", SKEP_SIGNAL_MISSING, "/proc/meminfo", "the file is not readable");
	else
		host_signal(inst, st, "host.memory", SKEP_SIGNAL_OK, "/proc/meminfo", NULL);
	st->have_vm = paging(st, st->vm, &found);
	if (!st->have_vm)
		host_signal(inst, st, "host.paging", SKEP_SIGNAL_MISSING, "/proc/vmstat", "the file is not readable");
	else if (found != (1u << N_VM) - 1)
		host_signal(inst, st, "host.paging", SKEP_SIGNAL_PARTIAL, "/proc/vmstat",
			    "some counters are missing: oom_kill needs 4.13, pswpin and pswpout need CONFIG_SWAP");
	else
		host_signal(inst, st, "host.paging", SKEP_SIGNAL_OK, "/proc/vmstat", NULL);
}

void memory_sample(struct skep_instance *inst, struct host_probe *st, uint64_t now_ns)
{
	struct memory_record rec = { 0 };
	uint64_t vm[N_VM] = { 0 }, bad = 0;
	struct text text;
	unsigned found;
	int err;

	if (!host_read(st, FILE_MEMINFO, &text))
		return;
	err = meminfo_parse(text, &rec, &bad);
	host_bad_line(st, bad + (err != 0));
	if (err)
		return;
	if (st->have_vm && paging(st, vm, &found)) {
		uint64_t major = counter_delta(st->vm[VM_MAJOR], vm[VM_MAJOR]);
		uint64_t all = counter_delta(st->vm[VM_FAULT], vm[VM_FAULT]);

		rec.faults_major = major;
		rec.faults_minor = all > major ? all - major : 0;
		rec.swap_in = counter_delta(st->vm[VM_SWAP_IN], vm[VM_SWAP_IN]);
		rec.swap_out = counter_delta(st->vm[VM_SWAP_OUT], vm[VM_SWAP_OUT]);
		rec.oom_kills = counter_delta(st->vm[VM_OOM], vm[VM_OOM]);
		memcpy(st->vm, vm, sizeof(vm));
	}
	st->host->emit(inst, STREAM_MEMORY, NULL, now_ns, &rec);
}
