/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/sched/state.h - the probe's state, and what its files offer each other.
 */
#ifndef SKEP_SCHED_STATE_H
#define SKEP_SCHED_STATE_H

#include <skep/plugin.h>

#include "sched.h"

enum { STREAM_STATES, STREAM_PSI, N_STREAMS };
extern const struct skep_stream *const sched_streams[N_STREAMS];

/* The facet: how often threads of a process were seen in each state since the last record. */
struct states_record {
	uint64_t samples;
	uint64_t in[SCHED_STATES];
};

/* Pressure stall information of the host: time lost since the last record. */
struct psi_record {
	struct skep_str resource; /* "cpu" "io" "memory" */
	uint64_t some_ns;         /* at least one task was stalled */
	uint64_t full_ns;         /* all were */
};

enum { PSI_CPU, PSI_IO, PSI_MEMORY, PSI_RESOURCES };

struct sched_probe {
	/* options */
	bool opt_psi;

	const struct skep_host *host;
	struct sched_bpf *bpf;
	char *buffer;
	int psi_fd[PSI_RESOURCES]; /* -1: not there */
	uint64_t psi_some[PSI_RESOURCES], psi_full[PSI_RESOURCES];
};

/* psi.c */
void psi_open(struct skep_instance *, struct sched_probe *);
void psi_sample(struct skep_instance *, struct sched_probe *, uint64_t now_ns);
void psi_close(struct sched_probe *);
/* One /proc/pressure file. 0 or -EBADMSG. full is 0 where the kernel has no such line (cpu before 5.13). */
int psi_parse(const char *text, uint64_t *ret_some_us, uint64_t *ret_full_us);

#endif
