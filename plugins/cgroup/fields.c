/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/cgroup/fields.c - the record: a cgroup's figures since its last record.
 */
#include "state.h"

#define F(member, type, sem, unit, help) SKEP_FIELD(struct cgroup_record, member, #member, type, sem, unit, help)
#define SUM(member, unit, help) F(member, SKEP_T_U64, SKEP_S_DELTA, unit, help)
#define LEVEL(member, unit, help) F(member, SKEP_T_U64, SKEP_S_GAUGE, unit, help)

static const struct skep_field fields[] = {
	F(cgroup_id, SKEP_T_U64, SKEP_S_ATTRIBUTE, "", "id of the cgroup, as process records have it"),
	F(cgroup, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "its path"),
	F(controllers, SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
	  "whose figures are in this record; those of others are 0: memory, cpu, io, pids, pressure"),
	F(gone, SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "", "removed: the last record"),
	LEVEL(interval_ns, "ns", "time that the sums are of, 0: the first record"),
	LEVEL(memory_bytes, "By", "memory in use, page cache included"),
	LEVEL(memory_peak_bytes, "By", "most memory in use since the cgroup began"),
	LEVEL(memory_limit_bytes, "By", "least memory limit of it and those above it, 0: none"),
	SUM(memory_high_events, "{event}", "times that it was slowed down over memory.high (v2)"),
	SUM(memory_max_events, "{event}", "times that an allocation met the limit"),
	SUM(oom_events, "{event}", "times that it ran out of memory (v1: only in its last record)"),
	SUM(oom_kills, "{process}", "processes of it that the out-of-memory killer killed"),
	SUM(cpu_ns, "ns", "time on CPUs"),
	SUM(user_ns, "ns", "of that in user mode"),
	SUM(system_ns, "ns", "of that in the kernel"),
	F(cpu_limit, SKEP_T_F64, SKEP_S_GAUGE, "{cpu}", "least CPU quota of it and those above it, 0: none"),
	SUM(cpu_periods, "{period}", "periods of its CPU quota"),
	SUM(cpu_throttled_periods, "{period}", "periods in which it reached the limit"),
	SUM(cpu_throttled_ns, "ns", "time that it was kept from running by its quota, all CPUs"),
	SUM(read_bytes, "By", "bytes read from block devices"),
	SUM(write_bytes, "By", "bytes written to block devices"),
	SUM(read_calls, "{operation}", "reads of block devices"),
	SUM(write_calls, "{operation}", "writes to block devices"),
	LEVEL(pids, "{thread}", "processes and threads"),
	LEVEL(pids_limit, "{thread}", "least limit of them of it and those above it, 0: none"),
	SUM(pids_max_events, "{event}", "forks that its limit refused"),
	SUM(cpu_some_ns, "ns", "time in which some task of it waited for a CPU (v2)"),
	SUM(cpu_full_ns, "ns", "time in which all that could run did (v2, since 5.13)"),
	SUM(memory_some_ns, "ns", "time in which some task of it was stalled for memory (v2)"),
	SUM(memory_full_ns, "ns", "time in which all were (v2)"),
	SUM(io_some_ns, "ns", "time in which some task of it was stalled for I/O (v2)"),
	SUM(io_full_ns, "ns", "time in which all were (v2)"),
};

static const struct skep_stream stream =
	SKEP_STREAM(struct cgroup_record, fields, "cgroup", SKEP_ROLE_CGROUP, SKEP_STREAM_SAMPLE,
		    "memory, CPU, I/O, processes and pressure of a cgroup with live processes, each interval");

const struct skep_stream *const cgroup_streams[N_STREAMS] = {
	[STREAM_CGROUP] = &stream,
};
