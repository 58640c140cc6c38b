/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/disk.c - the table of block devices, and /proc/diskstats.
 */
#include "disk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR 512u /* unit of the counters of every device */

int diskstats_parse(const char *line, struct diskstats *ret)
{
	struct diskstats d = { 0 };
	uint64_t v[17] = { 0 };
	int at = 0, end = 0;
	size_t n = 0;

	if (sscanf(line, " %" SCNu32 " %" SCNu32 " %n", &d.major, &d.minor, &at) != 2 || !at)
		return -EBADMSG;
	line += at;
	d.name = line;
	d.name_len = strcspn(line, " \t\n");
	if (!d.name_len || d.major >= 1u << 12 || d.minor >= 1u << 20)
		return -EBADMSG;
	line += d.name_len;
	while (n < sizeof(v) / sizeof(v[0]) && sscanf(line, "%" SCNu64 "%n", &v[n], &end) == 1) {
		line += end;
		n++;
	}
	/* 11 numbers until 4.17, 15 with discards, 17 with flushes; later kernels may add more */
	if (n < 11)
		return -EBADMSG;
	d.read_ops = v[0];
	d.read_bytes = v[2] * SECTOR;
	d.write_ops = v[4];
	d.write_bytes = v[6] * SECTOR;
	d.in_flight = v[8];
	d.busy_ms = v[9];
	d.queue_ms = v[10];
	d.discard_ops = v[11];
	d.discard_bytes = v[13] * SECTOR;
	d.flush_ops = v[15];
	*ret = d;
	return 0;
}

/* The place of that device in the table, also of one that is not in it. */
static size_t place_of(const struct disks *t, uint32_t dev)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->at[mid].dev < dev)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct disk *disks_find(struct disks *t, uint32_t dev)
{
	size_t at = place_of(t, dev);

	return at < t->n && t->at[at].dev == dev ? &t->at[at] : NULL;
}

static struct disk *insert(struct disks *t, uint32_t dev)
{
	size_t at = place_of(t, dev);

	if (t->n == t->room) {
		size_t room = t->room ? t->room * 2 : 16;
		struct disk *bigger = realloc(t->at, room * sizeof(*bigger));

		if (!bigger)
			return NULL;
		t->at = bigger;
		t->room = room;
	}
	memmove(&t->at[at + 1], &t->at[at], (t->n - at) * sizeof(t->at[0]));
	t->n++;
	t->at[at] = (struct disk){ .dev = dev, .class = "other" };
	return &t->at[at];
}

static void forget_ops(struct disk *d)
{
	for (unsigned op = 0; op < IO_OPS; op++) {
		free(d->last[op]);
		free(d->now[op]);
		d->last[op] = d->now[op] = NULL;
	}
}

struct io_device *disk_op_now(struct disk *d, unsigned op)
{
	if (!d->now[op])
		d->now[op] = calloc(1, sizeof(*d->now[op]));
	if (!d->last[op])
		d->last[op] = calloc(1, sizeof(*d->last[op]));
	return d->last[op] ? d->now[op] : NULL;
}

static uint64_t gained(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now; /* smaller: the kernel gave the number to another device */
}

static bool same_name(const struct disk *d, const struct diskstats *s)
{
	return strlen(d->name) == s->name_len && memcmp(d->name, s->name, s->name_len) == 0;
}

static int take_line(struct disks *t, const struct diskstats *s, const char *root, uint64_t passed_ns,
		     struct disk_bytes *bytes)
{
	uint32_t dev = s->major << 20 | s->minor;
	struct disk *d = disks_find(t, dev);
	double passed_ms = (double)passed_ns / 1e6;
	bool known = d != NULL;

	if (!d)
		d = insert(t, dev);
	if (!d)
		return -ENOMEM;
	t->changed = t->changed || !known;
	if (!known || !same_name(d, s)) {
		if (s->name_len >= sizeof(d->name))
			return -ENAMETOOLONG; /* DISK_NAME_LEN is 32 */
		if (known)
			/* another device: the BPF programs go on counting by number */
			d->stats = (struct diskstats){ 0 };
		memcpy(d->name, s->name, s->name_len);
		d->name[s->name_len] = '\0';
		disk_describe(d, root);
	}
	d->present = true;
	if (d->partition)
		return 0;
	if (passed_ns) {
		d->queue_depth = (double)gained(s->queue_ms, d->stats.queue_ms) / passed_ms;
		d->busy_ratio = (double)gained(s->busy_ms, d->stats.busy_ms) / passed_ms;
		if (d->busy_ratio > 1) /* the kernel counts it in ticks of the clock */
			d->busy_ratio = 1;
		if (!d->stacked && !d->memory) {
			bytes->read += gained(s->read_bytes, d->stats.read_bytes);
			bytes->written += gained(s->write_bytes, d->stats.write_bytes);
		}
	}
	d->in_flight = s->in_flight;
	d->stats = *s;
	d->stats.name = NULL;
	return 0;
}

int disks_pass(struct disks *t, const char *root, uint64_t passed_ns, struct disk_bytes *ret_new)
{
	struct disk_bytes bytes = { 0 };
	int err = 0;

	if (!t->stats) {
		char path[4096];

		if ((size_t)snprintf(path, sizeof(path), "%s/proc/diskstats", root) >= sizeof(path))
			return -ENAMETOOLONG;
		t->stats = fopen(path, "re");
		if (!t->stats)
			return -errno;
	}
	rewind(t->stats);
	t->changed = false;
	for (size_t i = 0; i < t->n; i++)
		t->at[i].present = false;
	while (getline(&t->line, &t->line_room, t->stats) > 0) {
		struct diskstats s;

		if (diskstats_parse(t->line, &s) || take_line(t, &s, root, passed_ns, &bytes) == -ENAMETOOLONG)
			t->bad_lines++;
	}
	if (ferror(t->stats)) {
		err = -EIO;
		clearerr(t->stats);
		for (size_t i = 0; i < t->n; i++)
			t->at[i].present = true; /* unknown */
	} else {
		*ret_new = bytes;
	}
	for (size_t i = 0; i < t->n; i++)
		t->changed = t->changed || !t->at[i].present;
	return err;
}

void disks_drop_absent(struct disks *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (!t->at[i].present)
			forget_ops(&t->at[i]);
		else
			t->at[kept++] = t->at[i];
	}
	t->n = kept;
}

void disks_free(struct disks *t)
{
	for (size_t i = 0; i < t->n; i++)
		forget_ops(&t->at[i]);
	free(t->at);
	free(t->line);
	if (t->stats)
		fclose(t->stats);
	*t = (struct disks){ 0 };
}
