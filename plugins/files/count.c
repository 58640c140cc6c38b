/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/files/count.c - counts for the attachments of both details.
 *
 * The kernel side has a row for each file of each process of each attachment.  Every interval this side reads all rows,
 * emits their growth since the record before, and removes rows that no longer grow.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <skep/clock.h>
#include <string.h>

#include "state.h"

#define IDLE_PASSES 6u      /* intervals without a change, then the row goes */
#define IDLE_PASSES_FULL 1u /* when three quarters of the map are in use */
#define PATH_PASSES 2u      /* intervals that a row waits for its path */

/* ---- rows into records ------------------------------------------------------------- */

struct pass {
	struct files_count *c;
	uint64_t now_ns;
	uint32_t n;
	uint32_t group; /* the last records of that attachment, also without a path; 0: of none */
};

static unsigned slot_of(const struct files_count *c, uint32_t group)
{
	unsigned slot = 0;

	while (slot < SKEP_SCOPE_SLOTS && (!c->attached[slot].used || c->group[slot] != group))
		slot++;
	return slot;
}

static void read_row(void *arg, const void *key_, const void *value)
{
	const struct skep_file_key *key = key_;
	const struct skep_file_head *head = value;
	struct pass *p = arg;
	struct files_count *c = p->c;
	unsigned slot = slot_of(c, key->group);
	struct skep_upid process = { .pid = key->pid, .start_ns = key->start_ns };
	struct skep_file_row *row;
	struct files_record rec;

	p->n++;
	if (slot == SKEP_SCOPE_SLOTS) { /* an open or a call made the row while its attachment ended */
		bpf_map_delete_elem(c->kernel.rows, key);
		return;
	}
	row = skep_filetable_get(&c->table, head->id, key);
	if (!row) /* no memory: the row waits in the map */
		return;
	if (!c->kind->record(row, value, &rec))
		return;
	row->idle = 0;
	/* the ring was full, or the file closed meanwhile: the next open or call sends the path, if there is one */
	if (!row->path && key->pid && p->group != key->group && row->waits++ < PATH_PASSES)
		return;
	memcpy(row->reported, value, c->kind->row_size);
	rec.id = c->attached[slot].scope.id;
	c->st->host->emit(c->st->inst, c->stream, key->pid ? &process : NULL, p->now_ns, &rec);
}

/*
 * Removes the rows of that group; group 0: rows that have not grown for more than `idle` passes, except the rows
 * "other", which stay as long as their attachment.
 */
static void remove_rows(struct files_count *c, uint32_t group, uint32_t idle)
{
	for (size_t i = 0; i < c->table.room;) {
		struct skep_file_row *row = c->table.at[i];

		if (row && (group ? row->key.group == group : row->key.pid && row->idle++ >= idle)) {
			bpf_map_delete_elem(c->kernel.rows, &row->key);
			skep_filetable_remove(&c->table, i);
		} else {
			i++;
		}
	}
}

static void report_losses(struct files_count *c)
{
	const struct files_counters *k = &c->kernel.shared->counters;
	struct files_counters now = {
		.lost = __atomic_load_n(&k->lost, __ATOMIC_RELAXED),
		.others = __atomic_load_n(&k->others, __ATOMIC_RELAXED),
		.unsent = __atomic_load_n(&k->unsent, __ATOMIC_RELAXED),
	};
	uint64_t misses = c->kind->misses(c->st);

	if (now.lost + misses > c->reported.lost + c->misses)
		c->st->host->lost(c->st->inst, c->stream, SKEP_LOSS_KERNEL,
			       now.lost + misses - c->reported.lost - c->misses);
	c->st->host->counter_add(c->c_delayed, now.unsent - c->reported.unsent);
	if (c->c_others)
		c->st->host->counter_add(c->c_others, now.others - c->reported.others);
	c->reported = now;
	c->misses = misses;
}

/* group: see struct pass. */
static void emit_rows(struct files_count *c, uint32_t group)
{
	struct pass p = { .c = c, .now_ns = skep_boot_ns(), .group = group };
	int err;

	(void)skep_drain_ring_now(&c->ring);
	err = skep_drain_map(&c->batch, c->kernel.rows, sizeof(struct skep_file_key), c->kind->row_size, read_row, &p);
	if (err)
		c->st->host->log(c->st->inst, SKEP_LOG_WARNING,
			      "%s: reading the rows failed: %s; the next interval reports their counts",
			      c->kind->name, strerror(-err));
	report_losses(c);
	if (!err && !group)
		remove_rows(c, 0, p.n * 4 >= (uint64_t)c->opt_rows * 3 ? IDLE_PASSES_FULL : IDLE_PASSES);
}

/* ---- attached and detached --------------------------------------------------------- */

static int on_path(void *arg, const void *data, size_t size)
{
	struct files_count *c = arg;

	/* no memory: a row without a path */
	if (skep_filetable_path(&c->table, data, size) == -EBADMSG)
		c->st->host->counter_add(c->st->c_bad, 1);
	return 0;
}

static void release(struct files_count *c)
{
	skep_drain_ring_end(&c->ring, c->st->host);
	c->kind->unload(c->st);
	c->kernel.skeleton = NULL;
	skep_filetable_free(&c->table);
	skep_drain_free(&c->batch);
}

static int acquire(struct files_count *c)
{
	int err;

	if (c->kernel.skeleton)
		return 0;
	c->reported = (struct files_counters){ 0 };
	c->misses = 0;
	c->table.value_size = c->kind->row_size;
	err = skep_drain_new(&c->batch, sizeof(struct skep_file_key), c->kind->row_size);
	if (err)
		return c->st->host->fail(c->st->inst, err, "%s: no memory to read %u rows", c->kind->name,
				      SKEP_DRAIN_ENTRIES);
	err = c->kind->load(c->st);
	if (err)
		goto out;
	err = skep_drain_ring_begin(&c->ring, c->st->inst, c->st->host, c->kernel.paths, on_path, c);
	if (err) {
		err = c->st->host->fail(c->st->inst, err, "%s: cannot map the ring of paths: %s", c->kind->name,
				     strerror(-err));
		goto out;
	}
	return 0;
out:
	release(c);
	return err;
}

static int begin(struct files_count *c, unsigned slot)
{
	struct files_shared *shared = c->kernel.shared;
	int err = 0;

	c->group[slot] = ++c->last_group;
	if (c->kind->begin)
		err = c->kind->begin(c, c->group[slot]);
	if (err) {
		remove_rows(c, c->group[slot], 0);
		return c->st->host->fail(c->st->inst, err,
					 "no room for another attachment: %s; raise the option %s_rows",
				      strerror(-err), c->kind->name);
	}
	__atomic_store_n(&shared->groups[slot], c->group[slot], __ATOMIC_RELEASE);
	__atomic_store_n(&shared->newest, c->group[slot], __ATOMIC_RELEASE);
	skep_scopes_add(c->kernel.scopes, slot, &c->attached[slot]);
	return 0;
}

int files_attach(struct skep_instance *inst, void *state, unsigned detail, const struct skep_detail_scope *scope)
{
	struct files_probe *st = state;
	struct files_count *c = &st->of[detail];
	unsigned slot = 0;
	int err;

	if (detail >= N_DETAILS)
		return st->host->fail(inst, -EINVAL, "no detail has the number %u", detail);
	if (c->missing)
		return st->host->fail(inst, -EOPNOTSUPP, "%s does not work here: %s", c->kind->name,
				      c->missing);
	err = skep_attached_begin(inst, st->host, c->attached, 0, scope, &slot);
	if (err)
		return err;
	err = acquire(c);
	if (!err)
		err = begin(c, slot);
	if (err) {
		skep_attached_end(&c->attached[slot]);
		if (c->kernel.skeleton && skep_attached_n(c->attached) == 0)
			release(c);
	}
	c->kind->signal(st);
	return err;
}

static bool detach(struct files_count *c, uint64_t id)
{
	unsigned slot = skep_attached_find(c->attached, id);

	if (slot == SKEP_SCOPE_SLOTS)
		return false;
	skep_scopes_remove(c->kernel.scopes, slot);
	if (skep_attached_n(c->attached) == 1)
		bpf_object__detach_skeleton(c->kernel.skeleton); /* hooks off, maps stay */
	emit_rows(c, c->group[slot]);
	remove_rows(c, c->group[slot], 0);
	skep_attached_end(&c->attached[slot]);
	if (skep_attached_n(c->attached) == 0)
		release(c);
	c->kind->signal(c->st);
	return true;
}

void files_detach(struct skep_instance *inst, void *state, uint64_t id)
{
	struct files_probe *st = state;

	(void)inst;
	if (!detach(&st->of[DETAIL_OPENS], id))
		detach(&st->of[DETAIL_FILELAT], id);
}

void files_count_sample(struct files_count *c)
{
	bool ended[SKEP_SCOPE_SLOTS];

	if (!c->kernel.skeleton)
		return;
	/* asked before the rows are read: then the last records of an ended process are complete */
	for (unsigned slot = 0; slot < SKEP_SCOPE_SLOTS; slot++)
		ended[slot] = skep_attached_ended(&c->attached[slot]);
	emit_rows(c, 0);
	for (unsigned slot = 0; slot < SKEP_SCOPE_SLOTS; slot++)
		if (ended[slot])
			skep_attached_over(c->st->inst, c->st->host, &c->attached[slot]);
}

void files_count_close(struct files_count *c)
{
	for (unsigned slot = 0; slot < SKEP_SCOPE_SLOTS; slot++)
		skep_attached_end(&c->attached[slot]);
	release(c);
}
