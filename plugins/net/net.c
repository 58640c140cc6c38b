/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/net.c - the probe "net": reports what processes send and receive, and TCP connections. It drains the ring
 * and the maps by timer. Each interval a thread of the host's pool runs the iterators over live processes and
 * connections. load.c loads the kernel side.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/clock.h>
#include <skep/drain.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/net/net.skel.h"
#include "state.h"

#define CLEAN_EVERY_NS (30ull * 1000000000)

static int on_record(void *ctx, const void *data, size_t size)
{
	struct net_state *st = ctx;

	if (net_decode(st->inst, st, data, size))
		st->host->counter_add(st->c_bad, 1);
	return 0;
}

/*
 * Connections wait for one drain, so that life-cycle probes report their processes first. When the ring yields a
 * process's end, the map that the programs write may still have its last peers, which the next drain reads. A program
 * on another CPU may also be about to send a record when this drain begins. Therefore the promise lags by one drain.
 */
static void drain(struct skep_instance *inst, struct net_state *st)
{
	uint64_t now = skep_boot_ns();
	struct net_counters before = st->seen;
	bool all;

	net_drain_peers(inst, st, false);
	net_emit_held(inst, st);
	net_dead_now(inst, st, now);
	all = skep_drain_ring_now(&st->ring) == 0;
	net_check_losses(inst, st);
	if (st->seen.process_dropped != before.process_dropped)
		net_drain_orphans(inst, st);
	if (!all)
		return;
	if (st->drained_before_ns)
		st->host->drained(inst, st->drained_before_ns);
	st->drained_before_ns = now;
}

static void on_drain_timer(struct skep_instance *inst, void *arg)
{
	drain(inst, arg);
}

/* ---- scans -------------------------------------------------------------------- */

void net_pass(struct net_state *st)
{
	int err;

	pthread_mutex_lock(&st->passing);
	err = net_scan(st); /* first: the other reports its credits */
	st->pass_err = skep_iter_run(bpf_link__fd(st->pass_processes)) ?: err;
	pthread_mutex_unlock(&st->passing);
}

static void pass(void *arg)
{
	net_pass(arg);
}

static void passed(struct skep_instance *inst, struct net_state *st)
{
	uint64_t now = skep_boot_ns();

	(void)skep_drain_ring_now(&st->ring);
	if (st->pass_err)
		st->host->log(inst, SKEP_LOG_WARNING,
			      "cannot list connections and tasks: %s; live processes and connections are reported late",
			      strerror(-st->pass_err));
	net_peers_emit_all(inst, st, now);
	net_ledger_post(inst, st, now);
	st->bpf->bss->records_left = st->opt_connections;
	st->bpf->bss->records_small_left = st->opt_connections / 2;
}

static void on_passed(struct skep_instance *inst, void *arg)
{
	struct net_state *st = arg;

	st->pass_under_way = false;
	passed(inst, st);
}

static void net_sample(struct skep_instance *inst, void *state)
{
	struct net_state *st = state;
	uint64_t now = skep_boot_ns();

	rtt_sample(inst, st, now);
	if (now - st->cleaned_ns >= CLEAN_EVERY_NS) {
		st->cleaned_ns = now;
		net_drain_orphans(inst, st);
	}
	if (st->pass_under_way)
		return; /* the previous scan still runs: this interval and the next become one */
	st->pass_under_way = true;
	st->scan.missed = st->seen_misses + st->seen.conns_full;
	if (st->host->work(inst, pass, on_passed, st)) {
		st->pass_under_way = false;
		pass(st);
		passed(inst, st);
	}
}

static void net_drain(struct skep_instance *inst, void *state)
{
	struct net_state *st = state;

	drain(inst, st);
	drain(inst, st); /* the promise lags by one */
}

static void net_flush(struct skep_instance *inst, void *state)
{
	struct net_state *st = state;

	drain(inst, st);
	pass(st);
	net_drain_peers(inst, st, true);
	drain(inst, st);
	drain(inst, st); /* the promise lags by one */
	passed(inst, st);
}

/* ---- life ------------------------------------------------------------------------ */

static int net_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct net_state *st = state;
	int err;

	st->host = host;
	st->inst = inst;
	st->on_state_fd = st->on_send_fd = st->on_recv_fd = st->scan.program = -1;
	err = pthread_mutex_init(&st->passing, NULL);
	if (err)
		return host->fail(inst, -err, "cannot make a lock: %s", strerror(err));
	st->c_misses = host->counter(inst, "states_missed",
				     "changes of state that the kernel skipped, as the programs were running already");
	st->c_calls_missed =
		host->counter(inst, "calls_missed",
			      "calls of send and recv that the kernel skipped, as the program was running already");
	st->c_bad = host->counter(inst, "bad_records", "records that do not parse: a bug");
	st->c_summed = host->counter(inst, "connections_summed",
				     "connections that have no record of their own, only their peer's");
	st->c_peers_other =
		host->counter(inst, "peers_other", "times a peer found no row and went to the sum of all others");
	st->c_processes_full = host->counter(inst, "processes_full",
					     "times that the map had no room for a process: "
					     "only the ledger has its bytes");
	st->c_conns_full = host->counter(inst, "connections_full",
					 "connections that the map had no room for: no record has their bytes");
	st->c_rtt_others = host->counter(
		inst, "rtt_others",
		"round trip times that found no row of their peer's in the detail rtt: see the option rtt_peers");
	st->c_put_off =
		host->counter(inst, "put_off", "records of processes that found the ring full; they came later");
	st->held = calloc(NET_HELD_MAX, sizeof(*st->held));
	st->dead = calloc(NET_DEAD_MAX, sizeof(*st->dead));
	st->batch_keys = calloc(NET_BATCH, sizeof(*st->batch_keys));
	st->batch = calloc(NET_BATCH, sizeof(*st->batch));
	st->scan.buffer = malloc(NET_SCAN_BUFFER);
	if (!st->held || !st->dead || !st->batch_keys || !st->batch || !st->scan.buffer ||
	    net_peers_new(&st->peers, (uint32_t)st->opt_peers))
		return host->fail(inst, -ENOMEM, "no memory for %lld rows of peers", (long long)st->opt_peers);
	return 0;
}

static void unwatch(struct net_state *st)
{
	st->host->timer_close(st->drain_timer);
	skep_drain_ring_end(&st->ring, st->host);
	st->drain_timer = NULL;
}

static int net_start(struct skep_instance *inst, void *state)
{
	struct net_state *st = state;
	int err = net_load(inst, st);

	if (err)
		return err;
	err = skep_drain_ring_begin(&st->ring, inst, st->host, bpf_map__fd(st->bpf->maps.ring), on_record, st);
	if (err) {
		err = st->host->fail(inst, err, "cannot map the ring: %s", strerror(-err));
		goto out;
	}
	err = st->host->timer(inst, st->opt_drain_ns / 1000000, st->opt_drain_ns / 1000000, on_drain_timer, st,
			      &st->drain_timer);
	if (err)
		goto out;
	st->cleaned_ns = skep_boot_ns();
	net_pinned_begin(inst, st);
	net_signals(inst, st);
	rtt_signal(inst, st);
	return 0;
out:
	unwatch(st);
	net_unload(st);
	return err;
}

static void net_stop(struct skep_instance *inst, void *state)
{
	struct net_state *st = state;

	rtt_close(st);
	if (!st->bpf)
		return;
	net_detach(inst, st);
	(void)skep_drain_ring_last(&st->ring);
	net_flush(inst, st);
	unwatch(st);
	net_unload(st);
}

static void net_close(struct skep_instance *inst, void *state)
{
	struct net_state *st = state;

	(void)inst;
	rtt_close(st);
	net_peers_free(&st->peers);
	free(st->held);
	free(st->dead);
	free(st->batch_keys);
	free(st->batch);
	free(st->scan.buffer);
	free(st->scan.pids);
	st->scan = (struct net_scan){ .program = -1 };
	st->held = NULL;
	st->dead = NULL;
	st->batch_keys = NULL;
	st->batch = NULL;
	pthread_mutex_destroy(&st->passing);
}

static const struct skep_option options[] = {
	{ .name = "connections",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct net_state, opt_connections),
	  .default_value = "1000",
	  .min = 0,
	  .max = 1000000,
	  .help = "most records of single connections in an interval; half of them are reserved for big, long and "
		  "failed connections. All others are in net.peer" },
	{ .name = "peers",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct net_state, opt_peers),
	  .default_value = "2048",
	  .min = 16,
	  .max = 1000000,
	  .help = "most rows of process x peer in an interval; one more row sums all others" },
	{ .name = "rtt_peers",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct net_state, opt_rtt_peers),
	  .default_value = "256",
	  .min = 16,
	  .max = 1024,
	  .help = "rows of the detail rtt, one for each attachment and peer, 5 KiB each while it is attached; one more "
		  "row sums all others" },
	{ .name = "big",
	  .type = SKEP_O_SIZE,
	  .offset = offsetof(struct net_state, opt_big_bytes),
	  .default_value = "1MiB",
	  .min = 0,
	  .max = INT64_MAX,
	  .help = "a connection of this many bytes gets a record before smaller ones" },
	{ .name = "calls",
	  .type = SKEP_O_BOOL,
	  .offset = offsetof(struct net_state, opt_calls),
	  .default_value = "false",
	  .help = "hook each send and receive: counts UDP and Unix sockets too, and TCP's bytes for the process that "
		  "moved them; false: only TCP, for the process that holds or closes the connection" },
	{ .name = "storage",
	  .type = SKEP_O_BOOL,
	  .offset = offsetof(struct net_state, opt_storage),
	  .default_value = "true",
	  .help = "store the state of sockets and tasks in the kernel's own storage for them; false: in hash maps, as "
		  "kernels before 5.11 need it" },
	{ .name = "ring",
	  .type = SKEP_O_SIZE,
	  .offset = offsetof(struct net_state, opt_ring_bytes),
	  .default_value = "512KiB",
	  .min = 64 << 10,
	  .max = 1 << 30,
	  .help = "size of the ring between kernel and skep, rounded up to a power of two; a record takes about 160 "
		  "bytes of it" },
	{ .name = "drain",
	  .type = SKEP_O_TIME,
	  .offset = offsetof(struct net_state, opt_drain_ns),
	  .default_value = "100ms",
	  .min = 1000000,
	  .max = 5000000000,
	  .help = "how often skep drains the ring; it drains a ring that is a quarter full at once" },
	{ 0 },
};

static const struct skep_plugin net_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "net",
	.version = PACKAGE_VERSION,
	.summary = "bytes per process and protocol, TCP connections and peers; on demand round trip times",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(options[0]),
	.streams = net_streams,
	.n_streams = N_STREAMS,
	.state_size = sizeof(struct net_state),
	.open = net_open,
	.start = net_start,
	.sample = net_sample,
	.stop = net_stop,
	.close = net_close,
	.flush = net_flush,
	.drain = net_drain,
	.details = net_details,
	.detail_size = sizeof(struct skep_detail),
	.n_details = N_DETAILS,
	.attach = rtt_attach,
	.detach = rtt_detach,
};
SKEP_PLUGIN(net_plugin, SKEP_KIND_PROBE, "net", PACKAGE_VERSION)
