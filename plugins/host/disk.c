/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/disk.c - the stream host.disk: /proc/diskstats, whole devices only.
 */
#include <errno.h>
#include <fcntl.h>
#include <skep/values.h>
#include <string.h>
#include <unistd.h>

#include "sdk/probe/block_class.h"
#include "state.h"

#define SECTOR 512u /* of the kernel's counters, for every device (block/genhd.c) */

_Static_assert(N_DISK <= DEVICE_VALUES && N_NET <= DEVICE_VALUES, "struct device has room for the counters of one device");

/*
 * " 254  0 vda 1 2 ...": 11 numbers, 15 since 4.18 (discards), 17 since 5.5 (flushes); more may come.
 */
int disk_line(struct text line, struct text *ret_name, uint64_t value[N_DISK])
{
	uint64_t major, minor, v;
	struct text name, word;
	unsigned n = 0;

	if (!skep_text_u64(&line, &major) || !skep_text_u64(&line, &minor) || !skep_text_word(&line, &name))
		return -EBADMSG;
	for (unsigned i = 0; i < N_DISK; i++)
		value[i] = 0;
	while (skep_text_word(&line, &word)) {
		struct text w = word;

		if (!skep_text_u64(&w, &v))
			return -EBADMSG;
		if (n < N_DISK)
			value[n] = v;
		n++;
	}
	if (n <= DISK_QUEUE_MS || (n > DISK_QUEUE_MS + 1 && n <= DISK_DISCARD_MS) ||
	    (n > DISK_DISCARD_MS + 1 && n <= DISK_FLUSH_MS))
		return -EBADMSG;
	*ret_name = name;
	return 0;
}

/* "cciss/c0d0" is "cciss!c0d0" in /sys. */
static bool sys_path(char *path, size_t size, const char *name)
{
	char folder[DEVICE_NAME];

	skep_text_copy(skep_text_of(name), folder, sizeof(folder));
	for (char *at = folder; *at; at++)
		if (*at == '/')
			*at = '!';
	return skep_text_format(path, size, "sys/block/%s", folder);
}

/* These do not change while a device exists. A partition has no folder of its own in /sys/block. */
static void classify(const struct host_probe *st, struct device *e)
{
	struct skep_block_class is;
	char path[128];

	e->skipped = !sys_path(path, sizeof(path), e->name) || faccessat(st->root, path, F_OK, 0) != 0;
	if (e->skipped)
		return;
	skep_block_classify(st->opt_root, e->name, &is);
	e->stacked = is.stacked;
	e->class = is.class;
}

static void emit(struct skep_instance *inst, const struct host_probe *st, const struct device *e,
		 const uint64_t value[N_DISK], uint64_t now_ns)
{
	uint64_t d[N_DISK];
	bool any = value[DISK_IN_FLIGHT] != 0;

	for (unsigned i = 0; i < N_DISK; i++) {
		d[i] = i == DISK_IN_FLIGHT ? 0 : counter_delta(e->value[i], value[i]);
		any |= d[i] != 0;
	}
	if (!any)
		return;
	st->host->emit(inst, STREAM_DISK, NULL, now_ns,
		       &(struct disk_record){
			       .device = skep_text(e->name),
			       .class = skep_text(e->class),
			       .stacked = e->stacked,
			       .read_ops = d[DISK_READS],
			       .write_ops = d[DISK_WRITES],
			       .discard_ops = d[DISK_DISCARDS],
			       .flush_ops = d[DISK_FLUSHES],
			       .read_merged = d[DISK_READ_MERGED],
			       .write_merged = d[DISK_WRITE_MERGED],
			       .read_bytes = d[DISK_READ_SECTORS] * SECTOR,
			       .write_bytes = d[DISK_WRITE_SECTORS] * SECTOR,
			       .discard_bytes = d[DISK_DISCARD_SECTORS] * SECTOR,
			       .read_ns = d[DISK_READ_MS] * 1000000,
			       .write_ns = d[DISK_WRITE_MS] * 1000000,
			       .discard_ns = d[DISK_DISCARD_MS] * 1000000,
			       .flush_ns = d[DISK_FLUSH_MS] * 1000000,
			       .io_ns = d[DISK_IO_MS] * 1000000,
			       .queue_ns = d[DISK_QUEUE_MS] * 1000000,
			       .in_flight = value[DISK_IN_FLIGHT],
		       });
}

static void pass(struct skep_instance *inst, struct host_probe *st, uint64_t now_ns, bool report)
{
	struct text text, line;

	if (!host_read(st, FILE_DISKSTATS, &text))
		return;
	device_table_begin(&st->disks);
	while (skep_text_line(&text, &line)) {
		uint64_t value[N_DISK];
		struct device *e;
		struct text name;
		bool fresh;
		int err = disk_line(line, &name, value) ?: device_table_find(&st->disks, name, &e, &fresh);

		if (err == -ENOSPC || err == -ENOMEM) {
			st->host->counter_add(st->left_out, 1);
			if (report)
				st->host->lost(inst, STREAM_DISK, SKEP_LOSS_QUEUE, 1);
			continue;
		}
		if (err) {
			host_bad_line(st, 1);
			continue;
		}
		if (fresh)
			classify(st, e);
		else if (report && !e->skipped)
			emit(inst, st, e, value, now_ns);
		memcpy(e->value, value, sizeof(value));
	}
	device_table_end(&st->disks);
}

void disk_start(struct skep_instance *inst, struct host_probe *st)
{
	if (st->file[FILE_DISKSTATS] < 0)
		host_signal(inst, st, "host.disk", SKEP_SIGNAL_MISSING, "/proc/diskstats", "the file is not readable");
	else if (faccessat(st->root, "sys/block", F_OK, 0) != 0)
		host_signal(inst, st, "host.disk", SKEP_SIGNAL_MISSING, "/proc/diskstats",
			    "/sys/block is missing: it separates devices from partitions");
	else
		host_signal(inst, st, "host.disk", SKEP_SIGNAL_OK, "/proc/diskstats", NULL);
	pass(inst, st, 0, false);
}

void disk_sample(struct skep_instance *inst, struct host_probe *st, uint64_t now_ns)
{
	pass(inst, st, now_ns, true);
}
