/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/fake_streams.c - the fake probe's streams: every life-cycle role, a facet and
 * a plain one.
 */
#include "tests/abi/fake_script.h"

#define TABLE(a_) .field_size = sizeof(struct skep_field), .n_fields = sizeof(a_) / sizeof((a_)[0]), .fields = (a_)
#define STREAM(what_, name_, role_, struct_, fields_, flags_) \
	static const struct skep_stream what_##_stream = {    \
		.size = sizeof(struct skep_stream),           \
		.name = name_,                                \
		.help = "scripted",                           \
		.role = role_,                                \
		.record_size = sizeof(struct struct_),        \
		.flags = flags_,                              \
		TABLE(fields_),                               \
	}

static const struct skep_field fork_fields[] = {
	SKEP_FIELD(struct skep_process_fork, parent, "parent_upid", SKEP_T_UPID, SKEP_S_ATTRIBUTE, "",
		   "the real parent"),
	SKEP_FIELD(struct skep_process_fork, comm, "comm", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "name"),
};
static const struct skep_field exec_fields[] = {
	SKEP_FIELD(struct skep_process_exec, exe, "exe", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "path of the binary"),
	SKEP_FIELD(struct skep_process_exec, argv, "argv", SKEP_T_STRV, SKEP_S_ATTRIBUTE, "", "arguments"),
};
static const struct skep_field exit_fields[] = {
	SKEP_FIELD(struct skep_process_exit, maxrss_bytes, "maxrss_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By",
		   "peak memory"),
};
static const struct skep_field final_fields[] = {
	SKEP_FIELD(struct skep_process_final, counters.cpu_ns, "cpu_ns", SKEP_T_U64, SKEP_S_CUMULATIVE, "ns",
		   "CPU time"),
};
static const struct skep_field live_fields[] = {
	SKEP_FIELD(struct skep_process_live, counters.cpu_ns, "cpu_ns", SKEP_T_U64, SKEP_S_CUMULATIVE, "ns",
		   "CPU time"),
	SKEP_FIELD(struct skep_process_live, rss_bytes, "rss_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By", "memory"),
};
static const struct skep_field oom_fields[] = {
	SKEP_FIELD(struct skep_process_oom, limit_bytes, "limit_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By", "limit"),
	SKEP_FIELD(struct skep_process_oom, cgroup, "cgroup", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "whose"),
};
static const struct skep_field facet_fields[] = {
	SKEP_FIELD(struct fake_facet, widgets, "widgets", SKEP_T_U64, SKEP_S_DELTA, "{widget}", "widgets made"),
	SKEP_FIELD(struct fake_facet, temperature, "temperature", SKEP_T_F64, SKEP_S_GAUGE, "Cel", "of the machine"),
};
static const struct skep_field event_fields[] = {
	SKEP_FIELD(struct fake_event, text, "text", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "what happened"),
};

STREAM(fork, "fake.fork", SKEP_ROLE_PROC_FORK, skep_process_fork, fork_fields, 0);
STREAM(exec, "fake.exec", SKEP_ROLE_PROC_EXEC, skep_process_exec, exec_fields, 0);
STREAM(exit, "fake.exit", SKEP_ROLE_PROC_EXIT, skep_process_exit, exit_fields, 0);
STREAM(final, "fake.final", SKEP_ROLE_PROC_FINAL, skep_process_final, final_fields, 0);
STREAM(live, "fake.live", SKEP_ROLE_PROC_LIVE, skep_process_live, live_fields, SKEP_STREAM_SAMPLE);
STREAM(oom, "fake.oom", SKEP_ROLE_PROC_OOM, skep_process_oom, oom_fields, 0);
STREAM(facet, "fake.facet", SKEP_ROLE_FACET, fake_facet, facet_fields, 0);
STREAM(event, "fake.event", SKEP_ROLE_NONE, fake_event, event_fields, 0);

const struct skep_stream *const fake_streams[FAKE_N_STREAMS] = {
	[FAKE_FORK] = &fork_stream,   [FAKE_EXEC] = &exec_stream,   [FAKE_EXIT] = &exit_stream,
	[FAKE_FINAL] = &final_stream, [FAKE_LIVE] = &live_stream,   [FAKE_OOM] = &oom_stream,
	[FAKE_FACET] = &facet_stream, [FAKE_EVENT] = &event_stream,
};
