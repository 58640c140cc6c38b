/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/sched/fields.c - the probe's streams and details.
 */
#include "state.h"

#define STATE_FIELD(i_, name_, help_) \
	SKEP_FIELD(struct states_record, in[i_], name_, SKEP_T_U64, SKEP_S_DELTA, "{sample}", help_)

static const struct skep_field states_fields[] = {
	SKEP_FIELD(struct states_record, samples, "samples", SKEP_T_U64, SKEP_S_DELTA, "{sample}",
		   "samples of threads, one each interval"),
	STATE_FIELD(SCHED_RUNNING, "running", "samples on a CPU"),
	STATE_FIELD(SCHED_RUNNABLE, "runnable", "samples waiting for a CPU"),
	STATE_FIELD(SCHED_IOWAIT, "iowait", "samples waiting for a block device"),
	STATE_FIELD(SCHED_BLOCKED, "blocked", "samples in another uninterruptible sleep"),
	STATE_FIELD(SCHED_SLEEPING, "sleeping", "samples asleep"),
};

static const struct skep_stream states_stream =
	SKEP_STREAM(struct states_record, states_fields, "sched", SKEP_ROLE_FACET, SKEP_STREAM_SAMPLE,
		    "states of a process's threads, sampled each interval");

static const struct skep_field psi_fields[] = {
	SKEP_FIELD(struct psi_record, resource, "resource", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "cpu, io or memory"),
	SKEP_FIELD(struct psi_record, some_ns, "some_ns", SKEP_T_U64, SKEP_S_DELTA, "ns",
		   "time in which some task was stalled for it"),
	SKEP_FIELD(struct psi_record, full_ns, "full_ns", SKEP_T_U64, SKEP_S_DELTA, "ns",
		   "time in which all tasks were stalled for it"),
};

static const struct skep_stream psi_stream =
	SKEP_STREAM(struct psi_record, psi_fields, "host.pressure", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "pressure stall information of the host");

#define DETAIL_FIELDS(what_) \
	SKEP_FIELD(struct detail_record, id, "detail.id", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", \
		   "id of the attachment"), \
		SKEP_FIELD(struct detail_record, count, "count", SKEP_T_U64, SKEP_S_DELTA, "1", \
			   what_ ", since the record before"), \
		SKEP_FIELD(struct detail_record, sum_ns, "sum_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", \
			   "sum of these times"), \
		SKEP_FIELD(struct detail_record, duration, "duration", SKEP_T_HIST, SKEP_S_DELTA, "ns", \
			   "their distribution")

static const struct skep_field runqlat_fields[] = {
	DETAIL_FIELDS("waits for a CPU"),
};

static const struct skep_field oncpu_fields[] = {
	DETAIL_FIELDS("stays on a CPU"),
};

static const struct skep_field offcpu_fields[] = {
	DETAIL_FIELDS("sleeps"),
	SKEP_FIELD(struct detail_record, state, "state", SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
		   "sleeping (interruptible), blocked (uninterruptible) or iowait (for a block device)"),
};

#define DETAIL_STREAM(name_, help_, fields_) \
	SKEP_STREAM(struct detail_record, fields_, name_, SKEP_ROLE_DETAIL, SKEP_STREAM_SAMPLE, help_)

static const struct skep_stream runqlat_stream = DETAIL_STREAM(
	"sched.runqlat", "detail runqlat: how long threads waited for a CPU before each stay on one", runqlat_fields);
static const struct skep_stream oncpu_stream = DETAIL_STREAM(
	"sched.oncpu", "detail oncpu: how long threads stayed on a CPU before they were switched out", oncpu_fields);
static const struct skep_stream offcpu_stream = DETAIL_STREAM(
	"sched.offcpu", "detail offcpu: how long threads slept, the wait for a CPU afterwards apart", offcpu_fields);

const struct skep_stream *const sched_streams[N_STREAMS] = {
	[STREAM_STATES] = &states_stream,
	[STREAM_PSI] = &psi_stream,
	[STREAM_DETAIL + DETAIL_RUNQLAT] = &runqlat_stream,
	[STREAM_DETAIL + DETAIL_ONCPU] = &oncpu_stream,
	[STREAM_DETAIL + DETAIL_OFFCPU] = &offcpu_stream,
};

#define ANY_SCOPE (1u << SKEP_SCOPE_HOST | 1u << SKEP_SCOPE_GROUP | 1u << SKEP_SCOPE_CGROUP | 1u << SKEP_SCOPE_PID)

const struct skep_detail sched_details[DETAIL_KINDS] = {
	[DETAIL_RUNQLAT] = {
		.name = "runqlat",
		.help = "how long threads wait for a CPU; a hook on every context switch of the host",
		.stream = STREAM_DETAIL + DETAIL_RUNQLAT,
		.scopes = ANY_SCOPE,
	},
	[DETAIL_ONCPU] = {
		.name = "oncpu",
		.help = "how long threads stay on a CPU; a hook on every context switch of the host",
		.stream = STREAM_DETAIL + DETAIL_ONCPU,
		.scopes = ANY_SCOPE,
	},
	[DETAIL_OFFCPU] = {
		.name = "offcpu",
		.help = "how long threads sleep, by kind of sleep; a hook on every context switch of the host",
		.stream = STREAM_DETAIL + DETAIL_OFFCPU,
		.scopes = ANY_SCOPE,
	},
};
