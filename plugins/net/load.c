/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/load.c - loads and attaches the best variant of the kernel side that this kernel supports, and unloads
 * it.
 *
 * Variants differ in where they store connections and processes: in the storage of sockets and of tasks, or in hash
 * maps. load.c first tries the variant that the kernel's type information suggests, and after a failed load the next
 * one.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/btf.h>
#include <skep/load.h>
#include <skep/object.h>
#include <skep/preempt.h>
#include <skep/skeleton.h>
#include <skep/types.h>
#include <string.h>
#include <unistd.h>

#include "plugins/net/net.skel.h"
#include "plugins/net/net_np.skel.h"
#include "state.h"

#define HASH_ENDED 4096u /* a connection's entry lives from its end until a call under way returns */
#define HASH_CONNECTIONS 65536u

/*
 * Tracing programs have had task storage since 5.12, which also brought check_mtu. Up to 6.1 even a look-up fails in an
 * interrupt of another one on that CPU (bpf_task_storage_busy). If that interrupt frees the process, skep would lose
 * its amounts. Since 6.2 only the creation of an entry may fail (bpf_task_storage_get_recur); the hash map replaces it
 * then.
 */
static bool has_task_storage(const struct skep_kernel_types *types)
{
	if (!skep_types_has_helper(types, "BPF_FUNC_check_mtu"))
		return false;
	return !skep_types_find(types, "bpf_task_storage_busy", BTF_KIND_VAR) ||
	       skep_types_has_function(types, "bpf_task_storage_get_recur");
}

/* ---- which programs ------------------------------------------------------------ */

#define FEXITS 9u
static void fexit_programs(const struct net_bpf *bpf, struct bpf_program *ret[FEXITS], const char *function[FEXITS])
{
	const struct {
		struct bpf_program *prog;
		const char *function;
	} all[] = {
		{ bpf->progs.on_inet_sendmsg, "inet_sendmsg" },
		{ bpf->progs.on_inet6_sendmsg, "inet6_sendmsg" },
		{ bpf->progs.on_unix_stream_sendmsg, "unix_stream_sendmsg" },
		{ bpf->progs.on_unix_dgram_sendmsg, "unix_dgram_sendmsg" },
		{ bpf->progs.on_inet_recvmsg, "inet_recvmsg" },
		{ bpf->progs.on_inet6_recvmsg, "inet6_recvmsg" },
		{ bpf->progs.on_unix_stream_recvmsg, "unix_stream_recvmsg" },
		{ bpf->progs.on_unix_dgram_recvmsg, "unix_dgram_recvmsg" },
		{ bpf->progs.on_unix_packets_recvmsg, "__unix_dgram_recvmsg" },
	};

	for (unsigned i = 0; i < FEXITS; i++) {
		ret[i] = all[i].prog;
		function[i] = all[i].function;
	}
}

static void choose_programs(struct net_state *st, const struct skep_kernel_types *types, enum net_way_in way,
			    enum net_calls calls)
{
	struct net_bpf *bpf = st->bpf;
	struct bpf_program *progs[FEXITS];
	const char *functions[FEXITS];

	fexit_programs(bpf, progs, functions);
	st->fexits = 0;
	for (unsigned i = 0; i < FEXITS; i++) {
		/* vmlinux may lack the functions of ipv6, which may be a module */
		bool on = calls == NET_CALLS_FEXIT && skep_types_has_function(types, functions[i]);

		/* attaches one of the two functions: the kernel calls it for datagrams and for sequenced packets */
		if (progs[i] == bpf->progs.on_unix_dgram_recvmsg && skep_types_has_function(types, "__unix_dgram_recvmsg"))
			on = false;

		bpf_program__set_autoload(progs[i], on);
		st->fexits += on;
	}
	bpf_program__set_autoload(bpf->progs.on_send, calls == NET_CALLS_TRACEPOINT);
	bpf_program__set_autoload(bpf->progs.on_recv, calls == NET_CALLS_TRACEPOINT);
	bpf_program__set_autoload(bpf->progs.on_destroy, calls == NET_CALLS_NONE);
	/* only hooks on calls write to the storage of tasks */
	bpf_program__set_autoload(bpf->progs.on_task, calls != NET_CALLS_NONE && way == NET_IN_STORAGE);
	bpf_program__set_autoload(bpf->progs.on_process, calls == NET_CALLS_NONE || way != NET_IN_STORAGE);
	bpf_map__set_autocreate(bpf->maps.conns, way != NET_IN_HASHES);
	bpf_map__set_autocreate(bpf->maps.callers, calls != NET_CALLS_NONE && way == NET_IN_STORAGE);
	bpf_map__set_max_entries(bpf->maps.conns_by_address, way == NET_IN_HASHES ? HASH_CONNECTIONS : 1);
	bpf_map__set_max_entries(bpf->maps.ended_by_address, way == NET_IN_HASHES ? HASH_ENDED : 1);
	bpf->rodata->use_sk_storage = way != NET_IN_HASHES;
	bpf->rodata->use_task_storage = calls != NET_CALLS_NONE && way == NET_IN_STORAGE;
	bpf->rodata->calls_counted = calls != NET_CALLS_NONE;
}

/* Opens the same programs with preemption disabled. */
SKEP_SKELETON_OF(open_not_preempted, net, net_np)

/* ---- one attempt ------------------------------------------------------------------ */

static int attempt_once(struct skep_instance *inst, struct net_state *st, const struct skep_kernel_types *types,
			enum net_way_in way, enum net_calls calls)
{
	uint32_t ring = skep_ring_bytes(st->opt_ring_bytes);
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct skep_object object;
	struct net_bpf *bpf;
	int err;

	skep_object_begin(&object, types);
	opts.btf_custom_path = object.path;
	bpf = st->not_preempted ? open_not_preempted() : net_bpf__open_opts(&opts);
	if (!bpf) {
		err = errno ? -errno : -EINVAL;
		goto out;
	}
	st->bpf = bpf;
	choose_programs(st, types, way, calls);
	bpf->rodata->wake_at = ring / 4;
	bpf->rodata->scope_cgroup_v1 = skep_scope_cgroup_v1();
	bpf->rodata->big_bytes = st->opt_big_bytes;
	bpf_map__set_max_entries(bpf->maps.ring, ring);
	skep_load_places(bpf->maps.processes, types);
	bpf_map__set_max_entries(bpf->maps.counters, st->n_cpus);
	bpf_map__set_max_entries(bpf->maps.scratches, st->n_cpus * NET_SCRATCHES);
	err = skep_load_verdict(st->host, bpf->maps.verdict, &bpf->rodata->verdict_pids);
	if (err) {
		st->host->log(inst, SKEP_LOG_ERROR, "cannot use the host's verdict map: %s", strerror(-err));
		goto out;
	}
	err = skep_object_ready(&object, bpf->obj);
	err = err ?: skep_pins_load(&st->pins, st->host, "net", bpf->skeleton);
	if (err)
		goto out;
	bpf->bss->records_left = st->opt_connections;
	bpf->bss->records_small_left = st->opt_connections / 2;
	bpf->bss->cgroups_wanted = 0; /* details end with their skepd */
	bpf->bss->epoch += !bpf->bss->epoch;
	st->way = way;
	st->calls = calls;
out:
	skep_object_end(&object);
	if (!err)
		return 0;
	net_bpf__destroy(bpf);
	st->bpf = NULL;
	return err;
}

static int attempt(struct skep_instance *inst, struct net_state *st, const struct skep_kernel_types *types,
		   enum net_way_in way, enum net_calls calls)
{
	int err = attempt_once(inst, st, types, way, calls);

	/* the adoption failed: loads a new object */
	return err == -ESTALE ? attempt_once(inst, st, types, way, calls) : err;
}

static int load_best_of(struct skep_instance *inst, struct net_state *st, const struct skep_kernel_types *types,
			enum net_way_in way, enum net_calls calls)
{
	int err, first = 0;

	for (;;) {
		for (enum net_way_in w = way; w < NET_IN_WAYS; w++) {
			err = attempt(inst, st, types, w, calls);
			if (!err)
				return 0;
			first = first ?: err;
		}
		if (calls == NET_CALLS_NONE)
			return first;
		st->sender_err = err;
		calls = NET_CALLS_NONE; /* a kernel may refuse to patch functions */
	}
}

/* may_count: with hooks on calls, if the probe wants them. */
static int load_best(struct skep_instance *inst, struct net_state *st, bool may_count)
{
	static const char *const needed[] = { "inet_sock_set_state", "sched_process_free" };
	enum net_calls calls = NET_CALLS_NONE;
	const struct skep_kernel_types *types;
	enum net_way_in way;
	int err;

	err = skep_types_get(inst, st->host, &types);
	if (err)
		return err;
	err = skep_types_need(inst, st->host, types, needed, sizeof(needed) / sizeof(needed[0]));
	if (err)
		goto out;
	st->rtt.hook = skep_types_has_tracepoint(types, "tcp_probe");
	st->one_process = skep_types_has_member(types, "bpf_iter_aux_info", "task");
	/* Tracing programs have had socket storage since 5.11, which also brought sock_from_file. */
	way = has_task_storage(types)                                 ? NET_IN_STORAGE
	      : skep_types_has_helper(types, "BPF_FUNC_sock_from_file") ? NET_IN_HALF
								    : NET_IN_HASHES;
	if (!st->opt_storage)
		way = NET_IN_HASHES;
	if (st->opt_calls && may_count)
		calls = skep_types_has_tracepoint(types, "sock_send_length") &&
					skep_types_has_tracepoint(types, "sock_recv_length")
				? NET_CALLS_TRACEPOINT
				: NET_CALLS_FEXIT;
	st->not_preempted = skep_types_preempt_programs(types) && skep_types_has_function(types, "bpf_preempt_disable");
	/* the first variant only: the others load with preemption enabled */
	if (st->not_preempted && !attempt(inst, st, types, way, calls))
		goto out;
	st->not_preempted = false;
	err = load_best_of(inst, st, types, way, calls);
	if (err)
		err = skep_load_fail(inst, st->host, err, "loading the BPF programs");
out:
	skep_types_put(inst, st->host, types);
	return err;
}

/* ---- attached ---------------------------------------------------------------------- */

static int attach_processes(struct net_bpf *bpf)
{
	union bpf_iter_link_info info = { .map.map_fd = (uint32_t)bpf_map__fd(bpf->maps.processes) };
	struct bpf_iter_attach_opts opts;

	if (!bpf_program__autoload(bpf->progs.on_process))
		return 0;
	/* LIBBPF_OPTS() leaves the bytes behind link_info_len to the compiler, and libbpf refuses them unless zero */
	memset(&opts, 0, sizeof(opts));
	opts.sz = sizeof(opts);
	opts.link_info = &info;
	opts.link_info_len = sizeof(info);
	bpf->links.on_process = bpf_program__attach_iter(bpf->progs.on_process, &opts);
	return bpf->links.on_process ? 0 : -errno;
}

/*
 * Attaches the hooks on calls last, when all the others count already.  The skeleton skips programs that have a link.
 */
static int attach_all(struct skep_instance *inst, struct net_state *st)
{
	struct net_bpf *bpf = st->bpf;
	int err = 0, unpinned = 0;

	if (!st->pins.adopted) {
		err = skep_object_attach_program(bpf->progs.on_free, &bpf->links.on_free);
		err = err ?: skep_object_attach_program(bpf->progs.on_state, &bpf->links.on_state);
		/* the kernel calls programs in the order of attachment */
		err = err ?: skep_object_attach_program(bpf->progs.on_state_missed, &bpf->links.on_state_missed);
		err = err ?: attach_processes(bpf);
	}
	err = err ?: skep_pins_attach(&st->pins, bpf->skeleton, &unpinned);
	if (err)
		return err;
	skep_pins_warn(st->host, inst, unpinned, "counted");
	/* these two stay when skep_pins_leave() detaches the hooks */
	st->pass_processes = bpf->links.on_task ?: bpf->links.on_process;
	st->pass_files = bpf->links.on_file;
	bpf->links.on_task = bpf->links.on_process = bpf->links.on_file = NULL;
	return st->pass_processes && st->pass_files ? 0 : -ENOENT;
}

/* Adds the row of all others, which an adopted map has already. */
static int put_others(int fd)
{
	static const struct net_peer_key other;
	static const struct net_peer none;

	return bpf_map_update_elem(fd, &other, &none, BPF_NOEXIST) && errno != EEXIST ? -errno : 0;
}

static int load_and_attach(struct skep_instance *inst, struct net_state *st, bool may_count)
{
	int err;

	err = skep_load_cpus(inst, st->host, &st->n_cpus);
	if (err)
		return err;
	err = load_best(inst, st, may_count);
	if (err || !st->bpf)
		return err ?: -EINVAL;
	st->counters_size = st->n_cpus * sizeof(struct net_counters);
	st->counters = skep_view_new(st->bpf->maps.counters, st->counters_size);
	if (!st->counters) {
		err = -errno;
		err = st->host->fail(inst, err, "cannot map the counters: %s", strerror(-err));
		goto out;
	}
	err = put_others(bpf_map__fd(st->bpf->maps.peers_even)) ?: put_others(bpf_map__fd(st->bpf->maps.peers_odd));
	if (err) {
		err = st->host->fail(inst, err, "cannot prepare the map of peers: %s", strerror(-err));
		goto out;
	}
	/* a new object sleeps until pinned.c has put the others to sleep */
	err = st->pins.adopted ? 0 : skep_kept_sleep(bpf_map__fd(st->bpf->maps.kept), NET_LAYOUT);
	if (err) {
		err = st->host->fail(inst, err, "cannot prepare the map kept: %s", strerror(-err));
		goto out;
	}
	err = attach_all(inst, st);
	if (err && st->calls == NET_CALLS_FEXIT) {
		st->sender_err = err;
		net_unload(st);
		/* arm64 loads such programs since 6.0, and attaches them since 6.4 */
		return load_and_attach(inst, st, false);
	}
	if (err) {
		err = skep_load_fail(inst, st->host, err, "attaching the BPF programs");
		goto out;
	}
	st->on_state_fd = skep_pins_own_program(&st->pins, st->bpf->progs.on_state, "on_state");
	st->on_send_fd = skep_pins_own_program(&st->pins, st->bpf->progs.on_send, "on_send");
	st->on_recv_fd = skep_pins_own_program(&st->pins, st->bpf->progs.on_recv, "on_recv");
	if (st->one_process && st->calls == NET_CALLS_NONE)
		st->scan.program = skep_pins_own_program(&st->pins, st->bpf->progs.on_file, "on_file");
	return 0;
out:
	net_unload(st);
	return err;
}

int net_load(struct skep_instance *inst, struct net_state *st)
{
	st->sender_err = 0;
	return load_and_attach(inst, st, true);
}

bool net_detach(struct skep_instance *inst, struct net_state *st)
{
	return skep_pins_leave(&st->pins, st->host, inst, st->bpf->skeleton);
}

static void close_program(int *fd)
{
	if (*fd > 0)
		close(*fd);
	*fd = -1;
}

void net_unload(struct net_state *st)
{
	bpf_link__destroy(st->pass_processes);
	bpf_link__destroy(st->pass_files);
	st->pass_processes = st->pass_files = NULL;
	close_program(&st->on_state_fd);
	close_program(&st->on_send_fd);
	close_program(&st->on_recv_fd);
	close_program(&st->scan.program);
	st->scan.at_ns = 0; /* the next kernel side's first scan visits all processes */
	st->counters = skep_view_free(st->counters, st->counters_size);
	net_bpf__destroy(st->bpf);
	st->bpf = NULL;
}
