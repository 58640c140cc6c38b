/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/sched/state.h - the probe's state, and the functions that its files share.
 */
#ifndef SKEP_SCHED_STATE_H
#define SKEP_SCHED_STATE_H

#include <skep/plugin.h>
#include <skep/scope.h>

#include "detail.h"
#include "sched.h"

/* fields.c */
enum { STREAM_STATES, STREAM_PSI, STREAM_DETAIL, N_STREAMS = STREAM_DETAIL + DETAIL_KINDS };
extern const struct skep_stream *const sched_streams[N_STREAMS];
extern const struct skep_detail sched_details[DETAIL_KINDS];

/* The facet: how often threads of a process were seen in each state since the last record. */
struct states_record {
	uint64_t samples;
	uint64_t in[SCHED_STATES];
};

/* Pressure stall information of the machine: time lost since the last record. */
struct psi_record {
	struct skep_str resource; /* "cpu" "io" "memory" */
	uint64_t some_ns;         /* at least one task was stalled */
	uint64_t full_ns;         /* all tasks were stalled */
};

/* One distribution of an attachment, since the last record. */
struct detail_record {
	uint64_t id;
	uint64_t count, sum_ns;
	struct skep_hist duration;
	struct skep_str state; /* OFFCPU only */
};

enum { PSI_CPU, PSI_IO, PSI_MEMORY, PSI_RESOURCES };

/* Where the kernel side stores a thread; detail_kernel.c says why not always in the first. */
enum detail_memory { DETAIL_MEMORY_TASK, DETAIL_MEMORY_HASH };

/* What this kernel offers to the details. */
struct detail_kernel {
	bool hook;        /* tp_btf/sched_switch exists, with the known arguments */
	bool prev_state;  /* the hook has the state of the leaving thread */
	bool run_delay;   /* sched_info counts */
	enum detail_memory memory;
	const char *missing; /* the missing feature of the kernel, when hook or run_delay is false */
};

/* The reported counts of an attachment, by slot of the histogram. */
struct detail_reported {
	struct detail_hist part[DETAIL_PARTS];
};

struct sched_details {
	struct detail_kernel kernel;
	struct sched_detail_bpf *bpf; /* NULL while nothing is attached */
	const struct detail_cpu *cpus;
	const struct detail_hist *hists;
	size_t cpus_size, hists_size; /* of the mappings */
	unsigned n_cpus; /* entries of arrays by CPU number: skep/cpus.h */
	struct skep_attached attached[SKEP_SCOPE_SLOTS];
	struct detail_reported *reported; /* SKEP_SCOPE_SLOTS of them, while a detail is attached */
	uint64_t lost[DETAIL_KINDS], misses; /* reported so far */
	struct skep_counter *lost_counter;
};

struct sched_probe {
	/* options */
	bool opt_psi;
	int64_t opt_threads;

	const struct skep_host *host;
	struct sched_bpf *bpf;
	char *buffer;
	int psi_fd[PSI_RESOURCES]; /* -1: no such file */
	uint64_t psi_some[PSI_RESOURCES], psi_full[PSI_RESOURCES];
	struct sched_details details;
};

/* psi.c */
void psi_open(struct skep_instance *, struct sched_probe *);
void psi_sample(struct skep_instance *, struct sched_probe *, uint64_t now_ns);
void psi_close(struct sched_probe *);
/* One /proc/pressure file. 0 or -EBADMSG. full is 0 where the kernel has no such line (cpu before 5.13). */
int psi_parse(const char *text, uint64_t *ret_some_us, uint64_t *ret_full_us);

/* detail.c */
int details_attach(struct skep_instance *, void *state, unsigned detail, const struct skep_detail_scope *);
void details_detach(struct skep_instance *, void *state, uint64_t id);
void details_sample(struct skep_instance *, struct sched_probe *, uint64_t now_ns);
void details_close(struct sched_probe *);

/* detail_kernel.c: checks the kernel, loads, attaches */
void detail_kernel_ask(struct detail_kernel *, const struct skep_kernel_types *);
/* Reports all three signals: available on demand, attached, or missing with the reason. */
void detail_kernel_tell(struct skep_instance *, const struct sched_probe *);
int detail_load(struct skep_instance *, struct sched_probe *);
struct skep_scopes *detail_scopes_of(struct sched_probe *); /* while loaded */
void detail_detach_hook(struct sched_probe *); /* its counts can still be read */
void detail_unload(struct sched_probe *);
/* Times that the kernel skipped the hook since its load (0 before 5.12, which does not count them). */
uint64_t detail_misses(const struct sched_probe *);

#endif
