/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/devices.c - what the kernel side has counted of each device, into records and
 * into the books, beside what the devices have counted themselves.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "io.skel.h"
#include "state.h"

#define WORDS (sizeof(struct io_device) / sizeof(uint64_t))
#define GONE_MAX 16u /* keys of devices that went, dropped a pass */

struct reading {
	struct disks *disks;
	struct io_device_key gone[GONE_MAX];
	unsigned n_gone;
};

static void take(void *arg, const void *key_, const void *value_)
{
	const struct io_device_key *key = key_;
	const uint64_t *from = value_;
	struct reading *r = arg;
	struct disk *d = disks_find(r->disks, key->dev);
	struct io_device *sum = d && key->op < IO_OPS ? disk_op_now(d, key->op) : NULL;
	uint64_t *to = (uint64_t *)sum;

	if (!d && r->n_gone < GONE_MAX)
		r->gone[r->n_gone++] = *key;
	for (size_t i = 0; sum && i < WORDS; i++)
		to[i] += from[i];
}

/* The map into `now` of each device and operation. */
static int read_map(struct io_probe *st)
{
	struct reading r = { .disks = &st->disks };
	int fd = bpf_map__fd(st->bpf->maps.devices), err;

	for (size_t i = 0; i < st->disks.n; i++)
		for (unsigned op = 0; op < IO_OPS; op++)
			if (st->disks.at[i].now[op])
				memset(st->disks.at[i].now[op], 0, sizeof(struct io_device));
	err = batch_read(&st->batch, fd, sizeof(struct io_device_key), sizeof(struct io_device), take, &r);
	if (!err) /* their number may become another device's, which begins with nothing */
		for (unsigned i = 0; i < r.n_gone; i++)
			bpf_map_delete_elem(fd, &r.gone[i]);
	return err;
}

static void describe(const struct disk *d, struct disk_record *rec)
{
	rec->device = io_str(d->name);
	rec->class = io_str(d->class);
	rec->model = io_str(d->model);
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
		.operation = io_str(io_op_names[op]),
		.operations = new->operations,
		.bytes = new->bytes,
		.errors = new->errors,
		.latency = { .slots = new->latency, .n = used_slots(new->latency, IO_LATENCY_SLOTS), .sum = new->latency_ns },
		.size = { .slots = new->size, .n = used_slots(new->size, IO_SIZE_SLOTS), .sum = new->bytes },
		.service_operations = new->service_operations,
		.service_ns = new->service_ns,
	};

	describe(d, &rec);
	st->host->emit(inst, STREAM_DISK, NULL, now_ns, &rec);
}

/* false: nothing is new of that operation. */
static bool take_op(struct skep_instance *inst, struct io_probe *st, struct disk *d, unsigned op, uint64_t now_ns, bool emit)
{
	struct io_device *last = d->last[op], *now = d->now[op];
	struct io_device new;
	uint64_t *to = (uint64_t *)&new;
	const uint64_t *a = (const uint64_t *)now, *b = (const uint64_t *)last;

	/* less than before: an entry was passed over as others came or went; all of it is there the next time */
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
				st->books[op].by[by] += new.counted[by];
		emit_op(inst, st, d, op, &new, now_ns);
	}
	return true;
}

/* A device that does nothing while requests wait on it: the one thing about a disk that must not go unseen. */
static void emit_stuck(struct skep_instance *inst, struct io_probe *st, const struct disk *d, uint64_t now_ns)
{
	struct disk_record rec = { .operation = io_str("none") };

	describe(d, &rec);
	st->host->emit(inst, STREAM_DISK, NULL, now_ns, &rec);
}

static void post(struct skep_instance *inst, struct io_probe *st, const char *account, const char *item, uint64_t amount,
		 uint64_t flags, uint64_t now_ns)
{
	struct skep_ledger_post p = { .account = io_str(account), .item = io_str(item), .amount = (int64_t)amount, .flags = flags };

	st->host->emit(inst, STREAM_LEDGER, NULL, now_ns, &p);
}

static void post_books(struct skep_instance *inst, struct io_probe *st, uint64_t now_ns)
{
	static const char *const accounts[] = { [IO_READ] = "disk.read", [IO_WRITE] = "disk.write" };

	for (unsigned op = IO_READ; op <= IO_WRITE; op++) {
		const struct io_books *b = &st->books[op];

		post(inst, st, accounts[op], "device", b->reference, SKEP_LEDGER_REFERENCE, now_ns);
		if (!st->hooks)
			continue;
		post(inst, st, accounts[op], "processes", b->by[IO_BY_PROCESS], 0, now_ns);
		post(inst, st, accounts[op], "kernel", b->by[IO_BY_KERNEL], 0, now_ns);
		post(inst, st, accounts[op], "excluded", b->by[IO_BY_EXCLUDED], 0, now_ns);
		/* seen, but not who made it: stays unattributed */
		post(inst, st, accounts[op], "unseen_issuer", b->by[IO_BY_UNKNOWN], SKEP_LEDGER_MEMO, now_ns);
	}
}

static int pass(struct skep_instance *inst, struct io_probe *st, uint64_t now_ns, bool emit)
{
	struct disk_bytes new = { 0 };
	uint64_t passed = now_ns - st->sampled_ns;
	int err = st->hooks ? read_map(st) : 0;

	if (err)
		return err;
	/* right after: what both have counted is then the same but for what was done in between */
	err = disks_pass(&st->disks, st->root, passed ? passed : 1, &new);
	if (err)
		return err;
	st->sampled_ns = now_ns;
	if (emit) {
		st->books[IO_READ].reference += new.read;
		st->books[IO_WRITE].reference += new.written;
	}
	for (size_t i = 0; i < st->disks.n; i++) {
		struct disk *d = &st->disks.at[i];
		bool some = false;

		for (unsigned op = 0; op < IO_OPS; op++)
			some = take_op(inst, st, d, op, now_ns, emit) || some;
		if (emit && !some && d->in_flight && !d->partition)
			emit_stuck(inst, st, d, now_ns);
	}
	return 0;
}

int io_devices_start(struct skep_instance *inst, struct io_probe *st)
{
	return pass(inst, st, st->sampled_ns + 1, false);
}

void io_devices_sample(struct skep_instance *inst, struct io_probe *st, uint64_t now_ns)
{
	int err = pass(inst, st, now_ns, true);

	if (err) {
		st->host->log(inst, SKEP_LOG_WARNING, "devices: %s; their records of this interval come with the next", strerror(-err));
		return;
	}
	post_books(inst, st, now_ns);
	st->host->counter_set(st->c_bad_lines, st->disks.bad_lines + st->filesystems.bad_lines);
}
