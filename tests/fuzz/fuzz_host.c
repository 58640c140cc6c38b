/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_host.c - feeds text to each parser of the probe "host".  The first byte selects the parser. No parser
 * may read beyond the input, and its results must agree with each other.
 */
#include <stdlib.h>
#include <string.h>

#include "plugins/host/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void stat_file(struct text t)
{
	static struct cpu_snapshot s[2];
	struct cpu_ledger l = { 0 };
	struct cpu_counts counts;
	struct cpu_delta d;
	uint64_t bad, online = 0;

	/* the first half of the input is the earlier snapshot, the second half the later one */
	struct text half = { t.at, t.at + skep_text_len(t) / 2 }, rest = { half.end, t.end };

	if (cpu_parse(half, &s[0], &counts, &bad) || cpu_parse(rest, &s[1], &counts, &bad))
		return;
	for (uint32_t i = 0; i < s[1].n; i++)
		online += s[1].cpu[i].online;
	check(online == s[1].online && s[1].n <= s[1].room && s[1].n <= CPU_MOST);
	s[0].mono_ns = 0;
	s[1].mono_ns = 1000000000;
	cpu_difference(&s[0], &s[1], 10000000, &d);
	check(d.cpus <= s[0].online && d.cpus <= s[1].online);
	cpu_account(&l, &d);
}

static void lines(struct text t, bool disk)
{
	static struct device_table table;
	struct text line, name;
	uint64_t value[DEVICE_VALUES];

	device_table_begin(&table);
	while (skep_text_line(&t, &line)) {
		struct device *e;
		bool fresh;

		if (disk ? disk_line(line, &name, value) : network_line(line, &name, value))
			continue;
		check(name.at >= line.at && name.end <= line.end && skep_text_len(name) > 0);
		if (device_table_find(&table, name, &e, &fresh) == 0) {
			check(skep_text_is(name, e->name) || memchr(name.at, '\0', skep_text_len(name)));
			counter_delta(e->value[0], value[0]);
			memcpy(e->value, value, sizeof(e->value));
		}
	}
	device_table_end(&table);
	device_table_free(&table);
}

static void mounts(struct text t)
{
	struct skep_mountinfo file = { .file = fmemopen((void *)(uintptr_t)t.at, skep_text_len(t), "r") };
	static struct mounts m;

	mounts_read(&file, &m); /* of no file: nothing */
	skep_mountinfo_close(&file);
	check(m.n <= MOUNT_MOST);
	for (uint32_t i = 0; i < m.n; i++)
		check(m.mount[i].path[0] == '/' && strlen(m.mount[i].path) < MOUNT_PATH &&
		      strlen(m.mount[i].device) < MOUNT_PATH);
}

static void texts(struct text t)
{
	struct memory_record memory = { 0 };
	struct load_record load = { 0 };
	uint64_t vm[N_VM], n;
	unsigned found;

	if (meminfo_parse(t, &memory, &n) == 0)
		check(memory.used <= memory.limit);
	vmstat_parse(t, vm, &found);
	loadavg_parse(t, &load);
	if (skep_text_list(t, &n))
		check(n <= (skep_text_len(t) / 2 + 1) * ((1u << 20) + 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy;
	struct text t;

	if (size < 1)
		return 0;
	copy = malloc(size - 1 ? size - 1 : 1);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	t = (struct text){ copy, copy + size - 1 };
	switch (data[0] % 5) {
	case 0:
		stat_file(t);
		break;
	case 1:
		lines(t, true);
		break;
	case 2:
		lines(t, false);
		break;
	case 3:
		mounts(t);
		break;
	default:
		texts(t);
	}
	free(copy);
	return 0;
}
