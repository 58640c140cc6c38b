/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/state.h - the probe's state in user space, and the functions that its files share.
 */
#ifndef SKEP_NET_STATE_H
#define SKEP_NET_STATE_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <skep/drain.h>
#include <skep/hash.h>
#include <skep/kept.h>
#include <skep/pins.h>
#include <skep/plugin.h>
#include <skep/scope.h>

#include "net.h"
#include "rtt.h"

enum { STREAM_PROCESS, STREAM_CONN, STREAM_PEER, STREAM_LEDGER, STREAM_RTT, N_STREAMS };
extern const struct skep_stream *const net_streams[N_STREAMS];

enum { DETAIL_RTT, N_DETAILS };
extern const struct skep_detail net_details[N_DETAILS];

/* The facet: amounts of a process since its last record. */
struct process_record {
	uint64_t rx_bytes, tx_bytes;       /* TCP and, with calls, UDP */
	uint64_t loopback_rx, loopback_tx; /* of them */
	uint64_t tcp_rx, tcp_tx, udp_rx, udp_tx, unix_rx, unix_tx;
	uint64_t connects, accepts, failures, retransmits;
};

struct conn_record {
	struct skep_str transport, type, state, direction, error;
	uint8_t local[16], remote[16];
	uint64_t local_port, remote_port;
	uint64_t netns;
	uint64_t start_ns;
	uint64_t duration_ns; /* so far; 0: unknown */
	uint64_t rx_bytes, tx_bytes, retransmits; /* since its last record */
	uint64_t latency_ns, srtt_ns; /* 0: unknown */
	uint8_t loopback, before;
};

struct peer_record {
	struct skep_str transport, type, direction;
	uint8_t remote[16];
	uint64_t port;
	uint64_t netns;
	uint64_t connections, failures;
	uint64_t rx_bytes, tx_bytes, retransmits;
	uint64_t latency_sum_ns, latency_n, duration_sum_ns, duration_n;
	uint8_t other; /* the row of all others */
};

/* Amounts of an attachment of rtt since its last record. */
struct rtt_record {
	uint64_t id;
	struct skep_str peers; /* "all", "one", "others" */
	struct skep_str direction, remote;
	uint64_t port;
	uint64_t count, sum_ns;
	struct skep_hist rtt;
};

/* Peers of one interval, by key, and by process for the process's end. */
struct peer_row {
	struct net_peer_key key;
	struct net_peer sum;
	uint32_t next_of_key, next_of_process; /* index + 1; 0: the last */
	uint32_t used;
};
struct peer_table {
	struct peer_row *rows;
	uint32_t *by_key, *by_process; /* buckets: index of a row + 1 */
	struct skep_hash_key key;
	uint32_t n, room, buckets, free; /* free: first of the free list, index + 1 */
	struct net_peer other;
};

/* Variants of the kernel side: load.c tries them in this order. */
enum net_way_in {
	NET_IN_STORAGE,   /* in the storage of sockets and tasks */
	NET_IN_HALF,      /* only sockets have storage: before 6.2 */
	NET_IN_HASHES,    /* before 5.11 */
	NET_IN_WAYS,
};
enum net_calls { NET_CALLS_NONE, NET_CALLS_TRACEPOINT, NET_CALLS_FEXIT };

struct net_bpf;

struct rtt_reported {
	struct rtt_key key;
	struct rtt_row row; /* at the last look */
	struct rtt_row new; /* gained since the look before */
};

struct rtt {
	bool hook;             /* the kernel has tcp_probe */
	struct rtt_bpf *bpf;   /* NULL: nothing is attached */
	struct skep_attached attached[SKEP_SCOPE_SLOTS];
	/* while something is attached */
	const struct rtt_cpu *cpus;
	size_t cpus_size;
	struct rtt_reported *reported;
	size_t n_reported, rows;
	uint64_t lost, others; /* as far as reported */
};

/* Scans of open descriptors (scan.c). */
#define NET_SCAN_BUFFER 65536u
struct net_scan {
	int program;       /* on_file; -1: the kernel cannot visit one process (before 6.1) */
	uint32_t *pids;    /* of processes that own connections, as the last scan of all processes found them */
	size_t n_pids, room;
	bool incomplete;   /* not all of these are in pids */
	bool again;        /* connections were not found with their owners: the next scan visits all processes */
	unsigned not_found; /* successive scans of all processes that did not find them */
	char *buffer;
	uint64_t at_ns, cost_ns; /* of the last scan of all processes: when, how much CPU */
	uint64_t missed;   /* changes of state and connections that the kernel side missed */
	/* as the last scan of all processes began */
	uint64_t missed_before, accepted_by_kernel, listeners_closed;
};

struct net_state {
	/* options */
	uint64_t opt_ring_bytes;
	uint64_t opt_drain_ns;
	int64_t opt_connections;
	int64_t opt_peers;
	int64_t opt_rtt_peers;
	bool opt_calls;
	bool opt_storage;
	uint64_t opt_big_bytes;

	const struct skep_host *host;
	struct skep_instance *inst; /* for the ring's callback */
	struct net_bpf *bpf;
	struct skep_pins pins;
	int on_state_fd, on_send_fd, on_recv_fd; /* programs, to read their misses; -1: not loaded */
	struct bpf_link *pass_files, *pass_processes; /* iterators, which scans run */
	enum net_way_in way;
	enum net_calls calls;
	bool not_preempted;
	bool one_process; /* the kernel can visit the descriptors of one process: since 6.1 */
	unsigned fexits; /* number of attached hooks on calls */
	int sender_err;  /* why the kernel refused the hooks on calls */

	struct skep_drain_ring ring;
	struct skep_timer *drain_timer;
	uint64_t drained_before_ns; /* when the previous drain began */

	unsigned n_cpus; /* entries of arrays by CPU number: skep/cpus.h */
	const struct net_counters *counters; /* mmap of the map */
	size_t counters_size;
	struct net_counters seen; /* the part that is reported */
	uint64_t seen_misses, seen_calls_missed;
	struct skep_counter *c_misses, *c_calls_missed, *c_bad, *c_summed, *c_peers_other, *c_processes_full,
		*c_conns_full, *c_put_off, *c_rtt_others;

	struct peer_table peers;
	struct net_peer_key *batch_keys; /* of one call that drains peers_even or peers_odd */
	struct net_peer *batch;
	uint64_t peers_seen; /* the counter peers_new when the programs began to write this map */
	bool peers_written[2];
	/* Connections that wait until life-cycle probes have reported their processes. */
	struct net_conn_record *held;
	uint32_t n_held;
	/* Ended processes whose last peers the next drain reads. */
	struct skep_upid *dead;
	uint32_t n_dead;

	struct net_scan scan;

	/* A run of the iterators, on a thread of the host's pool. */
	pthread_mutex_t passing;
	bool pass_under_way;
	int pass_err;
	uint64_t pass_due_ns; /* its begin */
	uint64_t cleaned_ns;

	int64_t ledger[NET_SLOTS]; /* of reported processes */
	struct net_counters ledger_begin; /* this skepd's ledger counts from here */
	struct rtt rtt;
};

/* fields.c */
const char *net_error_name(int error); /* "ECONNREFUSED"; NULL: unknown */

/* decode.c */
/* Emits the record in these bytes, once it has checked their length; a connection's waits. 0 or -EBADMSG. */
int net_decode(struct skep_instance *, struct net_state *st, const void *data, size_t size);
void net_emit_process(struct skep_instance *, struct net_state *st, const struct skep_upid *, uint64_t time_ns,
		      const struct net_amounts *);
#define NET_HELD_MAX 1024u
void net_emit_held(struct skep_instance *, struct net_state *st);
struct skep_str net_family_text(uint16_t family);
struct skep_str net_direction_text(uint16_t direction);

/* peers.c: the table itself knows no BPF. */
int net_peers_new(struct peer_table *, uint32_t rows);
void net_peers_free(struct peer_table *);
/* true: no room, so the row of all others counts it. */
bool net_peers_add(struct peer_table *, const struct net_peer_key *, const struct net_peer *);
void net_peers_emit_process(struct skep_instance *, struct net_state *st, uint32_t pid, uint64_t start_ns,
			    uint64_t now_ns);
void net_peers_emit_all(struct skep_instance *, struct net_state *st, uint64_t now_ns);

/* drain.c: drains the kernel side's maps */
#define NET_BATCH 512u
#define NET_DEAD_MAX 4096u
/* Drains the map of peers that the programs no longer write into the table, then swaps the two maps. */
void net_drain_peers(struct skep_instance *, struct net_state *st, bool even_if_empty);
/* For net_peers_emit_process at the next drain. */
void net_dead_later(struct skep_instance *, struct net_state *st, const struct skep_upid *, uint64_t now_ns);
void net_dead_now(struct skep_instance *, struct net_state *st, uint64_t now_ns);
/* Drains a map of peers into the table. */
void net_empty_peers(struct net_state *st, int fd);
/* Drains entries of `processes` whose process has ended. */
void net_drain_orphans(struct skep_instance *, struct net_state *st);
/* Drains such a map; all: also entries of live processes. */
void net_drain_processes(struct skep_instance *, struct net_state *st, int fd, bool all);
void net_check_losses(struct skep_instance *, struct net_state *st);
enum { NET_ON_STATE, NET_ON_SEND, NET_ON_RECV, NET_PROGRAMS };
/* Reports the kernel side's losses since *seen, and updates *seen. fds: of the programs; -1: not loaded. */
void net_report_losses(struct skep_instance *, struct net_state *st, const struct net_counters *now,
		       const int fds[NET_PROGRAMS], struct net_reported *seen);

/* ledger.c */
/* The ledger counts from now on. */
void net_ledger_begin(struct net_state *st);
void net_ledger_post(struct skep_instance *, struct net_state *st, uint64_t now_ns);

/* pinned.c: across a restart of skepd */
/* Continues the previous skepd's pinned state, or drains and removes it; then our kernel side records. */
void net_pinned_begin(struct skep_instance *, struct net_state *st);
/* Lets the kernel side record on, and saves there the counters reported up to now. */
void net_pinned_touch(struct net_state *st);

/* load.c */
/* 0, or what host->fail returned; then it has unloaded everything */
int net_load(struct skep_instance *, struct net_state *st);
/* Detaches the hooks and keeps maps and iterators. true: all stays attached, for the next skepd. */
bool net_detach(struct skep_instance *, struct net_state *st);
void net_unload(struct net_state *st);

/* rtt.c: the detail of that name */
int rtt_attach(struct skep_instance *, void *state, unsigned detail, const struct skep_detail_scope *);
void rtt_detach(struct skep_instance *, void *state, uint64_t id);
void rtt_sample(struct skep_instance *, struct net_state *st, uint64_t now_ns);
/* Emits what an attachment's rows have gained: all together, then each. Needs no BPF. */
void rtt_tell(struct skep_instance *, struct net_state *st, unsigned slot, uint64_t now_ns);
void rtt_signal(struct skep_instance *, const struct net_state *st);
void rtt_close(struct net_state *st);

/* rtt_load.c */
/* 0, or what host->fail returned; then it has unloaded everything */
int rtt_load(struct skep_instance *, struct net_state *st);
void rtt_unload(struct net_state *st);
uint64_t rtt_misses(const struct net_state *st); /* while loaded: skipped programs; 0 before 5.12 */

/* net.c */
/* scans all connections and tasks; waits for a scan under way */
void net_pass(struct net_state *st);

/* scan.c */
/* Reports the traffic of open connections, and finds their owners. Any thread, one at a time. 0 or -errno */
int net_scan(struct net_state *st);

/* signals.c */
void net_signals(struct skep_instance *, struct net_state *st);


#endif
