/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/rtt.c - the detail rtt: its attachments, and reports of what the kernel side counted for each since the
 * last report. rtt_load.c loads the kernel side.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <skep/clock.h>
#include <skep/values.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/net/net.skel.h"
#include "state.h"

#include "plugins/net/rtt.skel.h"

void rtt_signal(struct skep_instance *inst, const struct net_state *st)
{
	static const char how[] = "tp_btf/tcp_probe, inet_sock_set_state: tcp_sock.rack";

	if (!st->rtt.hook)
		st->host->signal(inst, "net.rtt", SKEP_SIGNAL_MISSING, how,
				 "the kernel has no tracepoint tcp_probe (since 4.16)");
	else if (!st->rtt.bpf)
		st->host->signal(inst, "net.rtt", SKEP_SIGNAL_OFF, how, "on demand: skep attach rtt");
	else
		st->host->signal(
			inst, "net.rtt", SKEP_SIGNAL_PARTIAL, how,
			"of a connection that one side has closed only the last sample before each change of state; "
			"none where the other side has no selective acknowledgements");
}

/* ---- reports --------------------------------------------------------------------- */

static struct rtt_reported *reported_of(struct rtt *r, const struct rtt_key *key)
{
	for (size_t i = 0; i < r->n_reported; i++)
		if (memcmp(&r->reported[i].key, key, sizeof(*key)) == 0)
			return &r->reported[i];
	if (r->n_reported == r->rows) /* cannot happen: the map has no more rows */
		return NULL;
	r->reported[r->n_reported].key = *key;
	return &r->reported[r->n_reported++];
}

static void emit(struct skep_instance *inst, struct net_state *st, unsigned slot, struct rtt_record *rec,
		 const struct rtt_row *new, uint64_t now_ns)
{
	const struct skep_attached *a = &st->rtt.attached[slot];
	uint32_t n = SKEP_HIST_SLOTS;

	while (n > 0 && !new->slots[n - 1])
		n--;
	rec->id = a->scope.id;
	rec->count = 0;
	for (uint32_t k = 0; k < n; k++)
		rec->count += new->slots[k];
	if (rec->count == 0)
		return;
	rec->sum_ns = new->sum_ns;
	rec->rtt = (struct skep_hist){ .slots = (const uint64_t *)new->slots, .n = n, .sum = new->sum_ns };
	/* names the process itself, as the host may have forgotten it before the last record */
	st->host->emit(inst, STREAM_RTT, a->who.pid ? &a->who : NULL, now_ns, rec);
}

static void emit_row(struct skep_instance *inst, struct net_state *st, const struct rtt_key *key,
		     const struct rtt_row *new, uint64_t now_ns)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool four = memcmp(key->remote, mapped, sizeof(mapped)) == 0;
	struct rtt_record rec = { .peers = skep_text("others") };
	char address[INET6_ADDRSTRLEN];

	if (!key->others) {
		rec.peers = skep_text("one");
		rec.direction = key->direction ? net_direction_text(key->direction) : skep_text("");
		rec.port = key->port;
		if (inet_ntop(four ? AF_INET : AF_INET6, four ? key->remote + 12 : key->remote, address,
			      sizeof(address)))
			rec.remote = skep_text(address);
	}
	emit(inst, st, key->slot, &rec, new, now_ns);
}

/* What a row has gained since its last report. */
static void read_row(struct net_state *st, const struct rtt_key *key)
{
	struct rtt_reported *reported = reported_of(&st->rtt, key);
	struct rtt_row now;

	if (!reported)
		return;
	if (bpf_map_lookup_elem(bpf_map__fd(st->rtt.bpf->maps.rows), key, &now))
		now = reported->row;
	reported->new.sum_ns = now.sum_ns - reported->row.sum_ns;
	for (unsigned k = 0; k < SKEP_HIST_SLOTS; k++)
		reported->new.slots[k] = now.slots[k] - reported->row.slots[k];
	reported->row = now;
}

static void add(struct rtt_row *to, const struct rtt_row *from)
{
	to->sum_ns += from->sum_ns;
	for (unsigned k = 0; k < SKEP_HIST_SLOTS; k++)
		to->slots[k] += from->slots[k];
}

/* Reads what the rows of one slot, or of all (SKEP_SCOPE_SLOTS), have gained. */
static void look(struct net_state *st, unsigned only)
{
	int fd = bpf_map__fd(st->rtt.bpf->maps.rows);
	struct rtt_key key, next;
	bool first = true;

	/* no program deletes rows while the map exists, so a key always leads to the next one */
	while (bpf_map_get_next_key(fd, first ? NULL : &key, &next) == 0) {
		key = next;
		first = false;
		if (key.slot < SKEP_SCOPE_SLOTS && (only == SKEP_SCOPE_SLOTS || key.slot == only))
			read_row(st, &key);
	}
}

void rtt_tell(struct skep_instance *inst, struct net_state *st, unsigned slot, uint64_t now_ns)
{
	struct rtt_record all = { .peers = skep_text("all") };
	struct rtt *r = &st->rtt;
	struct rtt_row sum = { 0 };

	for (size_t i = 0; i < r->n_reported; i++)
		if (r->reported[i].key.slot == slot)
			add(&sum, &r->reported[i].new);
	emit(inst, st, slot, &all, &sum, now_ns);
	for (size_t i = 0; i < r->n_reported; i++)
		if (r->reported[i].key.slot == slot)
			emit_row(inst, st, &r->reported[i].key, &r->reported[i].new, now_ns);
}

static void report_lost(struct skep_instance *inst, struct net_state *st)
{
	uint64_t lost = rtt_misses(st), others = 0;
	struct rtt *r = &st->rtt;

	for (unsigned i = 0; i < st->n_cpus * RTT_NESTING; i++) {
		lost += __atomic_load_n(&r->cpus[i].lost, __ATOMIC_RELAXED);
		others += __atomic_load_n(&r->cpus[i].others, __ATOMIC_RELAXED);
	}
	if (lost != r->lost)
		st->host->lost(inst, STREAM_RTT, SKEP_LOSS_KERNEL, lost - r->lost);
	if (others != r->others)
		st->host->counter_add(st->c_rtt_others, others - r->others);
	r->lost = lost;
	r->others = others;
}

/* ---- attached and detached --------------------------------------------------------- */

static void want_cgroups(struct net_state *st)
{
	uint32_t want = 0;

	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++)
		want |= st->rtt.attached[i].used && st->rtt.attached[i].scope.kind == SKEP_SCOPE_CGROUP;
	st->bpf->bss->cgroups_wanted = want;
}

int rtt_attach(struct skep_instance *inst, void *state, unsigned detail, const struct skep_detail_scope *scope)
{
	struct net_state *st = state;
	struct rtt *r = &st->rtt;
	unsigned slot = 0;
	int err;

	if (detail >= N_DETAILS)
		return st->host->fail(inst, -EINVAL, "there is no detail number %u", detail);
	if (!r->hook)
		return st->host->fail(inst, -EOPNOTSUPP,
				      "rtt needs the kernel's tracepoint tcp_probe (since 4.16): this kernel has none");
	err = skep_attached_begin(inst, st->host, r->attached, detail, scope, &slot);
	if (err)
		return err;
	err = r->bpf ? 0 : rtt_load(inst, st);
	if (err) {
		skep_attached_end(&r->attached[slot]);
		return err;
	}
	want_cgroups(st);
	if (scope->kind == SKEP_SCOPE_CGROUP)
		net_pass(st); /* for the cgroups of open connections */
	look(st, slot); /* skips what an earlier attachment left in the slot */
	skep_scopes_add(&r->bpf->bss->scopes, slot, &r->attached[slot]);
	rtt_signal(inst, st);
	return 0;
}

void rtt_detach(struct skep_instance *inst, void *state, uint64_t id)
{
	struct net_state *st = state;
	struct rtt *r = &st->rtt;
	unsigned slot = skep_attached_find(r->attached, id);
	bool last = skep_attached_n(r->attached) == 1;

	if (slot == SKEP_SCOPE_SLOTS)
		return;
	skep_scopes_remove(&r->bpf->bss->scopes, slot);
	if (last)
		rtt_bpf__detach(r->bpf);
	look(st, slot);
	rtt_tell(inst, st, slot, skep_boot_ns());
	report_lost(inst, st);
	skep_attached_end(&r->attached[slot]);
	want_cgroups(st);
	if (last)
		rtt_unload(st);
	rtt_signal(inst, st);
}

void rtt_sample(struct skep_instance *inst, struct net_state *st, uint64_t now_ns)
{
	struct rtt *r = &st->rtt;
	bool ended[SKEP_SCOPE_SLOTS];

	if (!r->bpf)
		return;
	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++)
		ended[i] = skep_attached_ended(&r->attached[i]);
	look(st, SKEP_SCOPE_SLOTS);
	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++) {
		if (r->attached[i].used)
			rtt_tell(inst, st, i, now_ns);
		if (ended[i])
			skep_attached_over(inst, st->host, &r->attached[i]);
	}
	report_lost(inst, st);
}

void rtt_close(struct net_state *st)
{
	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++)
		skep_attached_end(&st->rtt.attached[i]);
	rtt_unload(st);
}
