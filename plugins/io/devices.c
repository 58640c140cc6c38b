/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/devices.c - records and the ledger of devices: what the BPF programs counted of each device, and what the
 * devices counted themselves.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/values.h>
#include <stdlib.h>

#include "plugins/io/io.skel.h"
#include "state.h"

#define WORDS (sizeof(struct io_device) / sizeof(uint64_t))
#define UNKNOWN_MAX 64u /* keys of unlisted devices that one pass deletes */

/* Keys of the map whose device is not in the table. */
struct unknown {
	struct io_device_key key[UNKNOWN_MAX];
	unsigned n;
};

struct reading {
	struct disks *disks;
	struct unknown unknown;
};

static void take(void *arg, const void *key_, const void *value_)
{
	const struct io_device_key *key = key_;
	const uint64_t *from = value_;
	struct reading *r = arg;
	struct disk *d = disks_find(r->disks, key->dev);
	struct io_device *sum = d && key->op < IO_OPS ? disk_op_now(d, key->op) : NULL;
	struct unknown *u = &r->unknown;
	uint64_t *to = (uint64_t *)sum;

	if (!d && u->n < UNKNOWN_MAX)
		u->key[u->n++] = *key;
	for (size_t i = 0; sum && i < WORDS; i++)
		to[i] += from[i];
}

/* Reads the map into `now` of each device and operation. */
static int read_map(struct io_probe *st, struct reading *r)
{
	*r = (struct reading){ .disks = &st->disks };
	for (size_t i = 0; i < st->disks.n; i++)
		for (unsigned op = 0; op < IO_OPS; op++)
			if (st->disks.at[i].now[op])
				memset(st->disks.at[i].now[op], 0, sizeof(struct io_device));
	return skep_drain_map(&st->batch, bpf_map__fd(st->bpf->maps.devices), sizeof(struct io_device_key),
			      sizeof(struct io_device), take, r);
}

/*
 * Deletes the entries of devices that came and went between two passes: no list has named them.  The kernel reuses
 * their numbers, and the next device begins with zero.  Returns how many operations the entries had.
 */
static uint64_t forget_unknown(struct io_probe *st, const struct unknown *u)
{
	int fd = bpf_map__fd(st->bpf->maps.devices);
	uint64_t operations = 0;
	struct io_device last;

	for (unsigned i = 0; i < u->n; i++)
		if (!disks_find(&st->disks, u->key[i].dev) && !bpf_map_lookup_elem(fd, &u->key[i], &last) &&
		    !bpf_map_delete_elem(fd, &u->key[i]))
			operations += last.operations;
	return operations;
}

/* The kernel reuses the number of a device that went. */
static void forget_absent(struct io_probe *st)
{
	struct io_device_key key = { 0 };

	for (size_t i = 0; st->hooks && i < st->disks.n; i++) {
		if (st->disks.at[i].present)
			continue;
		key.dev = st->disks.at[i].dev;
		for (key.op = 0; key.op < IO_OPS; key.op++)
			for (key.shard = 0; key.shard <= st->bpf->rodata->shard_mask; key.shard++)
				bpf_map_delete_elem(bpf_map__fd(st->bpf->maps.devices), &key);
	}
	disks_drop_absent(&st->disks);
}

static void describe(const struct disk *d, struct disk_record *rec)
{
	rec->device = skep_text(d->name);
	rec->class = skep_text(d->class);
	rec->model = skep_text(d->model);
	rec->rotational = d->rotational;
	rec->stacked = d->stacked;
	rec->in_flight = d->in_flight;
	rec->queue_depth = d->queue_depth;
	rec->busy_ratio = d->busy_ratio;
}

static uint32_t used_slots(const uint64_t *slots, uint32_t n)
{
	while (n > 0 && !slots[n - 1])
		n--;
	return n;
}

static void emit_op(struct skep_instance *inst, struct io_probe *st, const struct disk *d, unsigned op,
		    const struct io_device *new, uint64_t now_ns)
{
	struct disk_record rec = {
		.operation = skep_text(io_op_names[op]),
		.operations = new->operations,
		.bytes = new->bytes,
		.errors = new->errors,
		.latency = { .slots = new->latency,
			     .n = used_slots(new->latency, IO_LATENCY_SLOTS),
			     .sum = new->latency_ns },
		.size = { .slots = new->size, .n = used_slots(new->size, IO_SIZE_SLOTS), .sum = new->bytes },
		.service_operations = new->service_operations,
		.service_ns = new->service_ns,
	};

	describe(d, &rec);
	st->host->emit(inst, STREAM_DISK, NULL, now_ns, &rec);
}

/* false: the device has done nothing new of that operation. */
static bool take_op(struct skep_instance *inst, struct io_probe *st, struct disk *d, unsigned op, uint64_t now_ns,
		    bool emit)
{
	struct io_device *last = d->last[op], *now = d->now[op];
	struct io_device new;
	uint64_t *to = (uint64_t *)&new;
	const uint64_t *a = (const uint64_t *)now, *b = (const uint64_t *)last;

	/* less than before: the read passed over an entry because others came or went; the next read has all of it */
	if (!now || !last || now->operations < last->operations || now->bytes < last->bytes)
		return false;
	for (size_t i = 0; i < WORDS; i++)
		to[i] = a[i] >= b[i] ? a[i] - b[i] : 0;
	d->last[op] = now;
	d->now[op] = last;
	if (!new.operations && !new.bytes && !new.errors)
		return false;
	if (emit) {
		if (op <= IO_WRITE && !d->stacked && !d->memory)
			for (unsigned by = 0; by < IO_BY; by++)
				st->ledger[op].by[by] += new.counted[by];
		emit_op(inst, st, d, op, &new, now_ns);
	}
	return true;
}

/* A device that completes nothing while requests wait: an operator must see a hung disk. */
static void emit_stuck(struct skep_instance *inst, struct io_probe *st, const struct disk *d, uint64_t now_ns)
{
	struct disk_record rec = { .operation = skep_text("none") };

	describe(d, &rec);
	st->host->emit(inst, STREAM_DISK, NULL, now_ns, &rec);
}

static void post(struct skep_instance *inst, struct io_probe *st, const char *account, const char *item,
		 uint64_t amount, uint64_t flags, uint64_t now_ns)
{
	struct skep_ledger_post p = {
		.account = skep_text(account), .item = skep_text(item), .amount = (int64_t)amount, .flags = flags
	};

	st->host->emit(inst, STREAM_LEDGER, NULL, now_ns, &p);
}

static void post_ledger(struct skep_instance *inst, struct io_probe *st, uint64_t now_ns)
{
	static const char *const accounts[] = { [IO_READ] = "disk.read", [IO_WRITE] = "disk.write" };

	for (unsigned op = IO_READ; op <= IO_WRITE; op++) {
		const struct io_ledger *b = &st->ledger[op];

		post(inst, st, accounts[op], "device", b->reference, SKEP_LEDGER_REFERENCE, now_ns);
		if (!st->hooks)
			continue;
		post(inst, st, accounts[op], "processes", b->by[IO_BY_PROCESS], 0, now_ns);
		post(inst, st, accounts[op], "kernel", b->by[IO_BY_KERNEL], 0, now_ns);
		post(inst, st, accounts[op], "excluded", b->by[IO_BY_EXCLUDED], 0, now_ns);
		/* the programs saw the request but not its issuer: the ledger has it as unattributed */
		post(inst, st, accounts[op], "unseen_issuer", b->by[IO_BY_UNKNOWN], SKEP_LEDGER_MEMO, now_ns);
	}
}

/* *ret has the keys that were unknown before the kernel listed its devices; a key of a device that came later waits. */
static int read_both(struct io_probe *st, uint64_t passed, struct disk_bytes *ret_new, struct reading *ret)
{
	int err = st->hooks ? read_map(st, ret) : 0;
	struct reading again;

	/* right after: both counts then differ only by the requests that completed between the two reads */
	err = err ?: disks_pass(&st->disks, st->root, passed ? passed : 1, ret_new);
	/* again, by the new list: it names a new device, and a device that went is read for the last time */
	if (!err && st->hooks && st->disks.changed)
		err = read_map(st, &again);
	return err;
}

static int pass(struct skep_instance *inst, struct io_probe *st, uint64_t now_ns, bool emit)
{
	struct disk_bytes new = { 0 };
	struct reading r = { 0 };
	uint64_t lost;
	int err = read_both(st, now_ns - st->sampled_ns, &new, &r);

	if (err)
		return err;
	st->sampled_ns = now_ns;
	if (emit) {
		st->ledger[IO_READ].reference += new.read;
		st->ledger[IO_WRITE].reference += new.written;
	}
	for (size_t i = 0; i < st->disks.n; i++) {
		struct disk *d = &st->disks.at[i];
		bool some = false;

		for (unsigned op = 0; op < IO_OPS; op++)
			some = take_op(inst, st, d, op, now_ns, emit) || some;
		if (emit && !some && d->in_flight && d->present && !d->partition)
			emit_stuck(inst, st, d, now_ns);
	}
	lost = forget_unknown(st, &r.unknown);
	if (emit && lost)
		st->host->lost(inst, STREAM_DISK, SKEP_LOSS_KERNEL, lost);
	forget_absent(st);
	return 0;
}

/* The previous skepd reported what pinned state has counted up to now, or pinned.c counts it as not recorded. */
int io_devices_start(struct skep_instance *inst, struct io_probe *st)
{
	return pass(inst, st, st->sampled_ns + 1, false);
}

void io_devices_sample(struct skep_instance *inst, struct io_probe *st, uint64_t now_ns)
{
	int err = pass(inst, st, now_ns, true);

	if (err) {
		st->host->log(inst, SKEP_LOG_WARNING,
			      "reading the map of devices failed: %s; the next interval reports their requests",
			      strerror(-err));
		return;
	}
	post_ledger(inst, st, now_ns);
	st->host->counter_set(st->c_bad_lines, st->disks.bad_lines + st->filesystems.mounts.bad);
}
