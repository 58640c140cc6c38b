/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/opens.c - the detail "opens": who has asked, and what has been counted for whom
 * since it was last told.
 *
 * The kernel side has a row for each file of each process of each attachment.  Rows are read
 * every interval; what has grown is told.  Rows that no longer grow make room.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <skep/drain.h>
#include <skep/values.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#include "opens.skel.h"

#define IDLE_PASSES 6u    /* intervals without a change; then the row is removed */
#define PATH_PASSES 2u    /* that a row waits for its path */
#define IDLE_PASSES_FULL 1u /* when the map is three quarters full */

const struct skep_detail opens_details[OPENS_DETAILS] = {
	{
		.name = "opens",
		.help = "which files are opened, by path and process; where fexit is refused a hook on every system call of the host",
		.stream = STREAM_OPENS,
		.scopes = SKEP_SCOPE_ANY,
	},
};

/* ---- what has been counted ------------------------------------------------------- */

static const char *error_name(uint32_t error, char buf[32])
{
	static const struct {
		uint32_t error;
		const char *name;
	} names[] = {
		{ EPERM, "EPERM" },           { ENOENT, "ENOENT" },
		{ EINTR, "EINTR" },           { EIO, "EIO" },
		{ ENXIO, "ENXIO" },           { EBADF, "EBADF" },
		{ EAGAIN, "EAGAIN" },         { ENOMEM, "ENOMEM" },
		{ EACCES, "EACCES" },         { EFAULT, "EFAULT" },
		{ EBUSY, "EBUSY" },           { EEXIST, "EEXIST" },
		{ ENODEV, "ENODEV" },         { ENOTDIR, "ENOTDIR" },
		{ EISDIR, "EISDIR" },         { EINVAL, "EINVAL" },
		{ ENFILE, "ENFILE" },         { EMFILE, "EMFILE" },
		{ ETXTBSY, "ETXTBSY" },       { EFBIG, "EFBIG" },
		{ ENOSPC, "ENOSPC" },         { EROFS, "EROFS" },
		{ EXDEV, "EXDEV" },           { ENAMETOOLONG, "ENAMETOOLONG" },
		{ ELOOP, "ELOOP" },           { EOVERFLOW, "EOVERFLOW" },
		{ EOPNOTSUPP, "EOPNOTSUPP" }, { ETIMEDOUT, "ETIMEDOUT" },
		{ ESTALE, "ESTALE" },         { EDQUOT, "EDQUOT" },
		{ ENOMEDIUM, "ENOMEDIUM" },   { EREMOTEIO, "EREMOTEIO" },
	};

	if (error == 0)
		return "";
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].error == error)
			return names[i].name;
	snprintf(buf, 32, "errno %u", error);
	return buf;
}

bool opens_record(const struct skep_file_row *row, const struct opens_row *now, struct opens_record *ret,
		  char error[32])
{
	const struct opens_row *told = (const struct opens_row *)row->told;
	const char *name = error_name(row->key.what, error);
	uint32_t len = (uint32_t)strlen(name);

	*ret = (struct opens_record){
		.path = skep_file_row_path(row),
		.error = { .ptr = name, .len = len, .total = len },
		.opens = now->opens - told->opens,
		.writes = now->writes - told->writes,
		.created = now->created - told->created,
		.failed = now->failed - told->failed,
		.first_ns = now->head.first_ns,
	};
	return ret->opens || ret->failed;
}

struct pass {
	struct skep_instance *inst;
	struct proc_state *st;
	uint64_t now_ns;
	uint32_t n;
	uint32_t group; /* the last records of that one: also without a path; 0: none */
};

static unsigned slot_of(const struct opens *o, uint32_t group)
{
	unsigned slot = 0;

	while (slot < SKEP_SCOPE_SLOTS && (!o->attached[slot].used || o->group[slot] != group))
		slot++;
	return slot;
}

static void take_row(void *arg, const void *key_, const void *value)
{
	const struct skep_file_key *key = key_;
	const struct opens_row *now = value;
	struct pass *p = arg;
	struct opens *o = &p->st->opens;
	unsigned slot = slot_of(o, key->group);
	struct skep_file_row *row;
	struct opens_record rec;
	struct skep_upid who;
	char error[32];

	p->n++;
	if (slot == SKEP_SCOPE_SLOTS) { /* an open that ended while its attachment did made it */
		bpf_map_delete_elem(bpf_map__fd(o->bpf->maps.rows), key);
		return;
	}
	row = skep_filetable_get(&o->table, now->head.id, key);
	if (!row) /* no memory: it waits in the map */
		return;
	if (!opens_record(row, now, &rec, error))
		return;
	row->idle = 0;
	/* the ring was full: the path comes with the next open, if there is one */
	if (!row->path && p->group != key->group && row->waits++ < PATH_PASSES)
		return;
	memcpy(row->told, now, sizeof(*now));
	rec.id = o->attached[slot].scope.id;
	who = (struct skep_upid){ .pid = key->pid, .start_ns = key->start_ns };
	p->st->host->emit(p->inst, STREAM_OPENS, &who, p->now_ns, &rec);
}

/* Rows of that group, or those that have not grown for so many passes. */
static void remove_rows(struct opens *o, uint32_t group, uint32_t idle)
{
	int fd = bpf_map__fd(o->bpf->maps.rows);

	for (size_t i = 0; i < o->table.room;) {
		struct skep_file_row *row = o->table.at[i];

		if (row && (group ? row->key.group == group : row->idle++ >= idle)) {
			bpf_map_delete_elem(fd, &row->key);
			skep_filetable_remove(&o->table, i);
		} else {
			i++;
		}
	}
}

static void tell_lost(struct skep_instance *inst, struct proc_state *st)
{
	struct opens *o = &st->opens;
	uint64_t lost = __atomic_load_n(&o->bpf->bss->counters.lost, __ATOMIC_RELAXED), misses = opens_misses(st);
	uint64_t unsent = __atomic_load_n(&o->bpf->bss->counters.unsent, __ATOMIC_RELAXED);

	if (lost + misses > o->lost + o->misses)
		st->host->lost(inst, STREAM_OPENS, SKEP_LOSS_KERNEL, lost + misses - o->lost - o->misses);
	st->host->counter_add(o->c_unsent, unsent - o->unsent);
	o->lost = lost;
	o->misses = misses;
	o->unsent = unsent;
}

static int on_path(void *ctx, void *data, size_t size)
{
	struct proc_state *st = ctx;

	/* no memory: a row without a path */
	if (skep_filetable_path(&st->opens.table, data, size) == -EBADMSG)
		st->host->counter_add(st->c_bad, 1);
	return 0;
}

/* group: see struct pass. */
static void tell(struct skep_instance *inst, struct proc_state *st, uint32_t group)
{
	struct opens *o = &st->opens;
	struct pass p = { .inst = inst, .st = st, .now_ns = skep_boot_ns(), .group = group };
	int err;

	ring_buffer__consume(o->ring);
	err = skep_drain_map(&o->rows, bpf_map__fd(o->bpf->maps.rows), sizeof(struct skep_file_key),
			     sizeof(struct opens_row), take_row, &p);
	if (err)
		st->host->log(inst, SKEP_LOG_WARNING, "opens: %s; what was counted comes with the next interval",
			      strerror(-err));
	tell_lost(inst, st);
	if (!err && !group)
		remove_rows(o, 0, p.n * 4 >= (uint64_t)st->opt_opens_rows * 3 ? IDLE_PASSES_FULL : IDLE_PASSES);
}

/* ---- attached and detached ------------------------------------------------------- */

static void release(struct proc_state *st)
{
	struct opens *o = &st->opens;

	skep_drain_ring_end(st->host, &o->ring, &o->watch);
	opens_unload(st);
	skep_filetable_free(&o->table);
	skep_drain_free(&o->rows);
}

static int acquire(struct skep_instance *inst, struct proc_state *st)
{
	struct opens *o = &st->opens;
	int err;

	if (o->bpf)
		return 0;
	o->lost = o->unsent = o->misses = 0;
	o->table.value_size = sizeof(struct opens_row);
	err = skep_drain_new(&o->rows, sizeof(struct skep_file_key), sizeof(struct opens_row));
	if (err)
		return st->host->fail(inst, err, "no memory to read %u rows", SKEP_DRAIN_ENTRIES);
	err = opens_load(inst, st);
	if (err || !o->bpf)
		goto out;
	err = skep_drain_ring(inst, st->host, bpf_map__fd(o->bpf->maps.paths), on_path, st, &o->ring, &o->watch);
	if (err) {
		err = st->host->fail(inst, err, "cannot map the ring of paths: %s", strerror(-err));
		goto out;
	}
	return 0;
out:
	release(st);
	return err;
}

int opens_attach(struct skep_instance *inst, void *state, unsigned detail, const struct skep_detail_scope *scope)
{
	struct proc_state *st = state;
	struct opens *o = &st->opens;
	unsigned slot = 0;
	int err;

	if (detail >= OPENS_DETAILS)
		return st->host->fail(inst, -EINVAL, "there is no detail number %u", detail);
	if (o->kernel.way == OPENS_NONE)
		return st->host->fail(inst, -EOPNOTSUPP, "opens cannot be had here: %s", o->kernel.missing);
	err = skep_attached_begin(inst, st->host, o->attached, 0, scope, &slot);
	if (err)
		return err;
	err = acquire(inst, st);
	if (err) {
		skep_attached_end(&o->attached[slot]);
		return err;
	}
	o->group[slot] = ++o->last_group;
	__atomic_store_n(&o->bpf->bss->groups[slot], o->group[slot], __ATOMIC_RELEASE);
	skep_scopes_add(&o->bpf->bss->scopes, slot, &o->attached[slot]);
	opens_kernel_tell(inst, st);
	return 0;
}

void opens_detach(struct skep_instance *inst, void *state, uint64_t id)
{
	struct proc_state *st = state;
	struct opens *o = &st->opens;
	unsigned slot = skep_attached_find(o->attached, id);

	if (slot == SKEP_SCOPE_SLOTS)
		return;
	skep_scopes_remove(&o->bpf->bss->scopes, slot);
	if (skep_attached_n(o->attached) == 1)
		opens_bpf__detach(o->bpf); /* hooks off, maps stay */
	tell(inst, st, o->group[slot]);
	remove_rows(o, o->group[slot], 0);
	skep_attached_end(&o->attached[slot]);
	if (skep_attached_n(o->attached) == 0)
		release(st);
	opens_kernel_tell(inst, st);
}

void opens_sample(struct skep_instance *inst, struct proc_state *st)
{
	struct opens *o = &st->opens;
	bool ended[SKEP_SCOPE_SLOTS];

	if (!o->bpf)
		return;
	for (unsigned slot = 0; slot < SKEP_SCOPE_SLOTS; slot++)
		ended[slot] = skep_attached_ended(&o->attached[slot]);
	tell(inst, st, 0);
	for (unsigned slot = 0; slot < SKEP_SCOPE_SLOTS; slot++)
		if (ended[slot])
			skep_attached_over(inst, st->host, &o->attached[slot]);
}

void opens_start(struct skep_instance *inst, struct proc_state *st)
{
	st->opens.c_unsent = st->host->counter(inst, "opens_paths_delayed",
					       "paths of opened files that had to be sent again: the ring was full");
	opens_kernel_tell(inst, st);
}

void opens_close(struct proc_state *st)
{
	for (unsigned slot = 0; slot < SKEP_SCOPE_SLOTS; slot++)
		skep_attached_end(&st->opens.attached[slot]);
	release(st);
}
