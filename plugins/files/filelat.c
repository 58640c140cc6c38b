/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/filelat.c - the detail "filelat": who has asked, and what has been counted for whom
 * since it was last told.
 *
 * The kernel side has a row for each operation on each file of each process of each attachment;
 * each attachment begins with a row for all files that find no room.  Rows are read every
 * interval; what has grown is told.  Rows that no longer grow make room.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <skep/values.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "state.h"

#include "filelat.skel.h"

#define IDLE_PASSES 6u      /* intervals without a change; then the row is removed */
#define PATH_PASSES 2u      /* that a row waits for its path */
#define IDLE_PASSES_FULL 1u /* when the map is three quarters full */

/* ---- what has been counted ------------------------------------------------------- */

bool filelat_record(const struct skep_file_row *row, const struct filelat_row *now, struct filelat_record *ret,
		    uint64_t delta[SKEP_HIST_SLOTS])
{
	const struct filelat_row *told = (const struct filelat_row *)row->told;

	*ret = (struct filelat_record){
		.path = row->key.pid ? skep_file_row_path(row) : skep_text("other"),
		.operation = skep_text(filelat_op_names[row->key.what < FILELAT_OPS ? row->key.what : FILELAT_NONE]),
		.bytes = now->bytes - told->bytes,
		.errors = now->errors - told->errors,
		.sum_ns = now->sum_ns - told->sum_ns,
	};
	for (unsigned k = 0; k < SKEP_HIST_SLOTS; k++) {
		delta[k] = now->slots[k] - told->slots[k];
		ret->calls += delta[k];
	}
	ret->duration = (struct skep_hist){ .slots = delta, .n = SKEP_HIST_SLOTS, .sum = ret->sum_ns };
	return ret->calls > 0;
}

struct pass {
	struct skep_instance *inst;
	struct io_probe *st;
	uint64_t now_ns;
	uint32_t n;
	uint32_t group; /* the last records of that one: also without a path; 0: none */
};

static unsigned slot_of(const struct filelat *f, uint32_t group)
{
	unsigned slot = 0;

	while (slot < SKEP_SCOPE_SLOTS && (!f->attached[slot].used || f->group[slot] != group))
		slot++;
	return slot;
}

static void take_row(void *arg, const void *key_, const void *value)
{
	const struct skep_file_key *key = key_;
	const struct filelat_row *now = value;
	struct pass *p = arg;
	struct filelat *f = &p->st->filelat;
	unsigned slot = slot_of(f, key->group);
	uint64_t delta[SKEP_HIST_SLOTS];
	struct filelat_record rec;
	struct skep_file_row *row;
	struct skep_upid who;

	p->n++;
	if (slot == SKEP_SCOPE_SLOTS) { /* a call that ended while its attachment did made it */
		bpf_map_delete_elem(bpf_map__fd(f->bpf->maps.rows), key);
		return;
	}
	row = skep_filetable_get(&f->table, now->head.id, key);
	if (!row) /* no memory: it waits in the map */
		return;
	if (!filelat_record(row, now, &rec, delta))
		return;
	row->idle = 0;
	/* the ring was full, or the file closed meanwhile: the path comes with the next call, if there is one */
	if (!row->path && key->pid && p->group != key->group && row->waits++ < PATH_PASSES)
		return;
	memcpy(row->told, now, sizeof(*now));
	rec.id = f->attached[slot].scope.id;
	who = (struct skep_upid){ .pid = key->pid, .start_ns = key->start_ns };
	p->st->host->emit(p->inst, STREAM_FILELAT, key->pid ? &who : NULL, p->now_ns, &rec);
}

/*
 * Rows of that group, or those that have not grown for so many passes; the rows for all others stay as long as their
 * group.
 */
static void remove_rows(struct filelat *f, uint32_t group, uint32_t idle)
{
	int fd = bpf_map__fd(f->bpf->maps.rows);

	for (size_t i = 0; i < f->table.room;) {
		struct skep_file_row *row = f->table.at[i];

		if (row && (group ? row->key.group == group : row->key.pid && row->idle++ >= idle)) {
			bpf_map_delete_elem(fd, &row->key);
			skep_filetable_remove(&f->table, i);
		} else {
			i++;
		}
	}
}

static void tell_lost(struct skep_instance *inst, struct io_probe *st)
{
	struct filelat *f = &st->filelat;
	const struct filelat_counters *c = &f->bpf->bss->counters;
	uint64_t lost = __atomic_load_n(&c->lost, __ATOMIC_RELAXED), misses = filelat_misses(st);
	uint64_t unsent = __atomic_load_n(&c->unsent, __ATOMIC_RELAXED),
		 others = __atomic_load_n(&c->others, __ATOMIC_RELAXED);

	if (lost + misses > f->lost + f->misses)
		st->host->lost(inst, STREAM_FILELAT, SKEP_LOSS_KERNEL, lost + misses - f->lost - f->misses);
	st->host->counter_add(f->c_unsent, unsent - f->unsent);
	st->host->counter_add(f->c_others, others - f->others);
	f->lost = lost;
	f->misses = misses;
	f->unsent = unsent;
	f->others = others;
}

static int on_path(void *ctx, void *data, size_t size)
{
	struct io_probe *st = ctx;

	/* no memory, or it does not add up: a row without a path */
	if (skep_filetable_path(&st->filelat.table, data, size))
		st->host->counter_add(st->filelat.c_unsent, 1);
	return 0;
}

/* group: see struct pass. */
static void tell(struct skep_instance *inst, struct io_probe *st, uint32_t group)
{
	struct filelat *f = &st->filelat;
	struct pass p = { .inst = inst, .st = st, .now_ns = skep_boot_ns(), .group = group };
	int err;

	ring_buffer__consume(f->ring);
	err = skep_drain_map(&f->batch, bpf_map__fd(f->bpf->maps.rows), sizeof(struct skep_file_key),
			     sizeof(struct filelat_row), take_row, &p);
	if (err)
		st->host->log(inst, SKEP_LOG_WARNING, "filelat: %s; what was counted comes with the next interval",
			      strerror(-err));
	tell_lost(inst, st);
	if (!err && !group)
		remove_rows(f, 0, p.n * 4 >= (uint64_t)st->opt_filelat_rows * 3 ? IDLE_PASSES_FULL : IDLE_PASSES);
}

/* ---- attached and detached ------------------------------------------------------- */

static void release(struct io_probe *st)
{
	struct filelat *f = &st->filelat;

	skep_drain_ring_end(st->host, &f->ring, &f->watch);
	filelat_unload(st);
	skep_filetable_free(&f->table);
	skep_drain_free(&f->batch);
}

static int acquire(struct skep_instance *inst, struct io_probe *st)
{
	struct filelat *f = &st->filelat;
	int err;

	if (f->bpf)
		return 0;
	f->lost = f->unsent = f->others = f->misses = 0;
	f->table.value_size = sizeof(struct filelat_row);
	err = skep_drain_new(&f->batch, sizeof(struct skep_file_key), sizeof(struct filelat_row));
	if (err)
		return st->host->fail(inst, err, "no memory to read rows");
	err = filelat_load(inst, st);
	if (err || !f->bpf)
		goto out;
	err = skep_drain_ring(inst, st->host, bpf_map__fd(f->bpf->maps.paths), on_path, st, &f->ring, &f->watch);
	if (err) {
		err = st->host->fail(inst, err, "cannot map the ring of paths: %s", strerror(-err));
		goto out;
	}
	return 0;
out:
	release(st);
	return err;
}

/* The rows for what finds no room, while there is some. */
static int add_others(struct filelat *f, uint32_t group)
{
	int fd = bpf_map__fd(f->bpf->maps.rows), err = 0;

	for (uint32_t op = FILELAT_NONE + 1; op < FILELAT_OPS && !err; op++) {
		const struct skep_file_key key = { .group = group, .what = op };
		struct filelat_row row = { .head = { .id = ++f->last_id, .told = 1 } };

		if (!skep_filetable_get(&f->table, row.head.id, &key))
			return -ENOMEM;
		err = bpf_map_update_elem(fd, &key, &row, BPF_NOEXIST);
	}
	return err;
}

int filelat_attach(struct skep_instance *inst, struct io_probe *st, const struct skep_detail_scope *scope)
{
	struct filelat *f = &st->filelat;
	unsigned slot = 0;
	int err;

	if (f->missing)
		return st->host->fail(inst, -EOPNOTSUPP, "filelat cannot be had here: %s", f->missing);
	err = skep_attached_begin(inst, st->host, f->attached, 0, scope, &slot);
	if (err)
		return err;
	err = acquire(inst, st);
	if (err)
		goto out;
	f->group[slot] = ++f->last_group;
	err = add_others(f, f->group[slot]);
	if (err) {
		remove_rows(f, f->group[slot], 0);
		err = st->host->fail(inst, err, "no room for another attachment (option filelat_rows): %s",
				     strerror(-err));
		goto out;
	}
	__atomic_store_n(&f->bpf->bss->groups[slot], f->group[slot], __ATOMIC_RELEASE);
	__atomic_store_n(&f->bpf->bss->newest, f->group[slot], __ATOMIC_RELEASE);
	skep_scopes_add(&f->bpf->bss->scopes, slot, &f->attached[slot]);
	filelat_kernel_tell(inst, st);
	return 0;
out:
	skep_attached_end(&f->attached[slot]);
	if (f->bpf && skep_attached_n(f->attached) == 0)
		release(st);
	return err;
}

bool filelat_detach(struct skep_instance *inst, struct io_probe *st, uint64_t id)
{
	struct filelat *f = &st->filelat;
	unsigned slot = skep_attached_find(f->attached, id);

	if (slot == SKEP_SCOPE_SLOTS)
		return false;
	skep_scopes_remove(&f->bpf->bss->scopes, slot);
	if (skep_attached_n(f->attached) == 1)
		filelat_bpf__detach(f->bpf); /* hooks off, maps stay */
	tell(inst, st, f->group[slot]);
	remove_rows(f, f->group[slot], 0);
	skep_attached_end(&f->attached[slot]);
	if (skep_attached_n(f->attached) == 0)
		release(st);
	filelat_kernel_tell(inst, st);
	return true;
}

void filelat_sample(struct skep_instance *inst, struct io_probe *st)
{
	struct filelat *f = &st->filelat;
	bool ended[SKEP_SCOPE_SLOTS];

	if (!f->bpf)
		return;
	for (unsigned slot = 0; slot < SKEP_SCOPE_SLOTS; slot++)
		ended[slot] = skep_attached_ended(&f->attached[slot]);
	tell(inst, st, 0);
	for (unsigned slot = 0; slot < SKEP_SCOPE_SLOTS; slot++)
		if (ended[slot])
			skep_attached_over(inst, st->host, &f->attached[slot]);
}

void filelat_start(struct skep_instance *inst, struct io_probe *st)
{
	struct filelat *f = &st->filelat;

	f->c_unsent = st->host->counter(inst, "filelat_paths_delayed",
					"paths of files that had to be sent again: the ring was full");
	f->c_others = st->host->counter(inst, "filelat_other",
					"calls that are in the row of all other files: too many have their own");
	filelat_kernel_tell(inst, st);
}

void filelat_close(struct io_probe *st)
{
	for (unsigned slot = 0; slot < SKEP_SCOPE_SLOTS; slot++)
		skep_attached_end(&st->filelat.attached[slot]);
	release(st);
}
