/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/rtt_load.c - loads the kernel side of the detail rtt with the first attachment, beside the probe's own,
 * whose maps of connections it reads; and unloads it.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/load.h>
#include <skep/misses.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/net/net.skel.h"
#include "state.h"

#include "plugins/net/rtt.skel.h"

#define HASH_LOOKS 65536u /* as many as connections in load.c */

static int prepare(struct net_state *st, struct rtt_bpf *bpf)
{
	bool storage = st->way != NET_IN_HASHES;
	int err;

	bpf->rodata->use_sk_storage = storage;
	bpf->rodata->scope_cgroup_v1 = st->bpf->rodata->scope_cgroup_v1;
	bpf_map__set_max_entries(bpf->maps.rows, (uint32_t)st->rtt.rows);
	bpf_map__set_max_entries(bpf->maps.cpus, st->n_cpus * RTT_NESTING);
	bpf_map__set_max_entries(bpf->maps.looks_by_address, storage ? 1 : HASH_LOOKS);
	bpf_map__set_autocreate(bpf->maps.looks, storage);
	err = bpf_map__reuse_fd(bpf->maps.conns_by_address, bpf_map__fd(st->bpf->maps.conns_by_address));
	if (err)
		return err;
	if (storage)
		err = bpf_map__reuse_fd(bpf->maps.conns, bpf_map__fd(st->bpf->maps.conns));
	else
		bpf_map__set_autocreate(bpf->maps.conns, false);
	err = err ?: skep_load_verdict(st->host, bpf->maps.verdict, &bpf->rodata->verdict_pids);
	return err ?: rtt_bpf__load(bpf);
}

/* Adds each slot's overflow row, which sums the connections that find no free row. */
static int make_others(const struct rtt_bpf *bpf)
{
	static const struct rtt_row none;
	struct rtt_key key = { .others = 1 };
	int err = 0;

	for (uint16_t slot = 0; slot < SKEP_SCOPE_SLOTS && !err; slot++) {
		key.slot = slot;
		err = bpf_map_update_elem(bpf_map__fd(bpf->maps.rows), &key, &none, BPF_ANY);
	}
	return err;
}

int rtt_load(struct skep_instance *inst, struct net_state *st)
{
	struct rtt *r = &st->rtt;
	int err;

	r->rows = (size_t)st->opt_rtt_peers + SKEP_SCOPE_SLOTS;
	r->reported = calloc(r->rows, sizeof(*r->reported));
	if (!r->reported)
		return st->host->fail(inst, -ENOMEM, "no memory for %zu rows", r->rows);
	r->bpf = rtt_bpf__open();
	err = r->bpf ? prepare(st, r->bpf) : -errno;
	if (!err)
		err = make_others(r->bpf);
	if (err)
		goto out;
	r->cpus_size = st->n_cpus * RTT_NESTING * sizeof(*r->cpus);
	r->cpus = skep_view_new(r->bpf->maps.cpus, r->cpus_size);
	if (!r->cpus) {
		err = -errno;
		goto out;
	}
	r->lost = r->others = 0;
	err = rtt_bpf__attach(r->bpf);
	if (!err)
		return 0;
out:
	rtt_unload(st);
	return skep_detail_fail(inst, st->host, err, "the hook on tcp_probe");
}

void rtt_unload(struct net_state *st)
{
	struct rtt *r = &st->rtt;

	r->cpus = skep_view_free(r->cpus, r->cpus_size);
	rtt_bpf__destroy(r->bpf);
	r->bpf = NULL;
	free(r->reported);
	r->reported = NULL;
	r->n_reported = 0;
}

uint64_t rtt_misses(const struct net_state *st)
{
	return skep_program_misses(st->rtt.bpf->progs.on_segment) + skep_program_misses(st->rtt.bpf->progs.on_state);
}
