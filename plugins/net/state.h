/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/net/state.h - the probe's state in user space, and what its files offer each other.
 */
#ifndef SKEP_NET_STATE_H
#define SKEP_NET_STATE_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
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

/* The facet: what a process has done since the last record. */
struct process_record {
	uint64_t rx_bytes, tx_bytes;       /* TCP and UDP */
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
	uint64_t duration_ns; /* so far; 0: not known */
	uint64_t rx_bytes, tx_bytes, retransmits; /* since its last record */
	uint64_t latency_ns, srtt_ns; /* 0: not known */
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
	uint8_t other; /* the sum of all that found no room */
};

/* Of an attachment of rtt, since the last record of it. */
struct rtt_record {
	uint64_t id;
	struct skep_str peers; /* "all", "one", "others" */
	struct skep_str direction, remote;
	uint64_t port;
	uint64_t count, sum_ns;
	struct skep_hist rtt;
};

/* Peers of one interval, by key, and by process for when that ends. */
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

/* What this kernel lets us have: load.c tries them in this order. */
enum net_way_in {
	NET_IN_STORAGE,   /* sockets' and tasks' own storage */
	NET_IN_HALF,      /* sockets' only: before 6.2 */
	NET_IN_HASHES,    /* before 5.11 */
	NET_IN_WAYS,
};
enum net_calls { NET_CALLS_NONE, NET_CALLS_TRACEPOINT, NET_CALLS_FEXIT };

struct net_bpf;

struct rtt_reported {
	struct rtt_key key;
	struct rtt_row row; /* as it was when it was looked at last */
	struct rtt_row new; /* what that has added */
};

struct rtt {
	bool hook;             /* the kernel has tcp_probe */
	struct rtt_bpf *bpf;   /* NULL while nothing is attached */
	struct skep_attached attached[SKEP_SCOPE_SLOTS];
	/* while something is attached */
	const struct rtt_cpu *cpus;
	size_t cpus_size;
	struct rtt_reported *reported;
	size_t n_reported, rows;
	uint64_t lost, others; /* as far as told */
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
	int on_state_fd, on_send_fd, on_recv_fd; /* programs, to ask for their misses; -1: not loaded */
	struct bpf_link *pass_files, *pass_tasks; /* iterators that are run again and again */
	enum net_way_in way;
	enum net_calls calls;
	bool not_preempted;
	unsigned fexits; /* hooks of calls that are attached */
	int sender_err;  /* why those of the tracepoints or fexits are not */

	struct ring_buffer *ring;
	struct skep_watch *ring_watch;
	struct skep_timer *drain_timer;
	uint64_t drained_before_ns; /* when the drain before began */

	unsigned n_cpus; /* entries of arrays by CPU number: skep/cpus.h */
	const struct net_counters *counters; /* mmap of the map */
	size_t counters_size;
	struct net_counters seen; /* what has been reported of them */
	uint64_t seen_misses, seen_calls_missed;
	struct skep_counter *c_misses, *c_calls_missed, *c_bad, *c_summed, *c_peers_other, *c_processes_full,
		*c_conns_full, *c_put_off, *c_rtt_others;

	struct peer_table peers;
	struct net_peer_key *batch_keys; /* of one call that empties peers_even or peers_odd */
	struct net_peer *batch;
	uint64_t peers_seen; /* the counter peers_new when the map that is being written was taken into use */
	bool peers_written[2];
	/* Connections, until life-cycle probes have told who their processes are. */
	struct net_conn_record *held;
	uint32_t n_held;
	/* Processes that have ended, and whose last peers come with the next drain. */
	struct skep_upid *dead;
	uint32_t n_dead;

	/* A pass of the iterators, on a thread of the host's pool. */
	pthread_mutex_t passing;
	bool pass_under_way;
	int pass_err;
	uint64_t pass_due_ns; /* its beginning */
	uint64_t cleaned_ns;

	int64_t ledger[NET_SLOTS]; /* of processes that are reported */
	struct net_counters ledger_begin; /* what the books of this skepd begin after */
	struct rtt rtt;
};

/* fields.c */
const char *net_error_name(int error); /* "ECONNREFUSED"; NULL: has no name here */

/* decode.c: bytes of the ring into records; never trusts a length. 0 or -EBADMSG. */
/* A connection's record is held until net_emit_held. */
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
/* true: it went to the sum of all others, for want of room. */
bool net_peers_add(struct peer_table *, const struct net_peer_key *, const struct net_peer *);
void net_peers_emit_process(struct skep_instance *, struct net_state *st, uint32_t pid, uint64_t start_ns,
			    uint64_t now_ns);
void net_peers_emit_all(struct skep_instance *, struct net_state *st, uint64_t now_ns);

/* drain.c: what the kernel side keeps in maps. */
#define NET_BATCH 512u
#define NET_DEAD_MAX 4096u
/* The map of peers that is not written any more goes into the table; then it is its turn. */
void net_drain_peers(struct skep_instance *, struct net_state *st, bool even_if_empty);
/* For net_peers_emit_process at the next drain. */
void net_dead_later(struct skep_instance *, struct net_state *st, const struct skep_upid *, uint64_t now_ns);
void net_dead_now(struct skep_instance *, struct net_state *st, uint64_t now_ns);
/* Such a map, wholly, into the table. */
void net_empty_peers(struct net_state *st, int fd);
/* Entries of `processes` whose process is gone. */
void net_drain_orphans(struct skep_instance *, struct net_state *st);
/* Of such a map; all: also those of processes that live. */
void net_drain_processes(struct skep_instance *, struct net_state *st, int fd, bool all);
void net_check_losses(struct skep_instance *, struct net_state *st);
enum { NET_ON_STATE, NET_ON_SEND, NET_ON_RECV, NET_PROGRAMS };
/* Reports what the kernel has counted as lost since *seen, and updates *seen. fds: of the programs; -1: not loaded. */
void net_report_losses(struct skep_instance *, struct net_state *st, const struct net_counters *now,
		       const int fds[NET_PROGRAMS], struct net_reported *seen);

/* ledger.c */
/* The books begin now. */
void net_ledger_begin(struct net_state *st);
void net_ledger_post(struct skep_instance *, struct net_state *st, uint64_t now_ns);

/* pinned.c: across a restart of skepd */
/* What the skepd before has left in the kernel is gone on with, or read and taken out; from then on ours records. */
void net_pinned_begin(struct skep_instance *, struct net_state *st);
/* Somebody is there; and what has been reported up to now. */
void net_pinned_touch(struct net_state *st);

/* load.c */
/* 0 or what host->fail returned; nothing is left behind then */
int net_load(struct skep_instance *, struct net_state *st);
/* Hooks off, maps and iterators stay. true: everything stays, attached, for the next skepd. */
bool net_detach(struct skep_instance *, struct net_state *st);
void net_unload(struct net_state *st);

/* rtt.c: the detail of that name */
int rtt_attach(struct skep_instance *, void *state, unsigned detail, const struct skep_detail_scope *);
void rtt_detach(struct skep_instance *, void *state, uint64_t id);
void rtt_sample(struct skep_instance *, struct net_state *st, uint64_t now_ns);
/* All of an attachment's peers together, then each: what is new of its rows. Needs no BPF. */
void rtt_tell(struct skep_instance *, struct net_state *st, unsigned slot, uint64_t now_ns);
void rtt_signal(struct skep_instance *, const struct net_state *st);
void rtt_close(struct net_state *st);

/* rtt_load.c */
/* 0 or what host->fail returned; nothing is left behind then */
int rtt_load(struct skep_instance *, struct net_state *st);
void rtt_unload(struct net_state *st);
uint64_t rtt_misses(const struct net_state *st); /* while loaded: times that a program was skipped; 0 before 5.12 */

/* net.c */
/* the iterators, over all connections and tasks; waits for one that is under way */
void net_pass(struct net_state *st);

/* signals.c */
void net_signals(struct skep_instance *, struct net_state *st);


#endif
