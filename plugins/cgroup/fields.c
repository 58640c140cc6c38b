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
	F(cgroup, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "path of the cgroup"),
	F(controllers, SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
	  "controllers whose figures this record has: memory, cpu, io, pids, pressure; figures of others are 0"),
	F(gone, SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "", "true: the cgroup was removed, and this is its last record"),
	LEVEL(interval_ns, "ns", "time that the sums cover; 0: the first record"),
	LEVEL(memory_bytes, "By", "memory in use, page cache included"),
	LEVEL(memory_peak_bytes, "By", "most memory in use since the cgroup began"),
	LEVEL(memory_limit_bytes, "By", "lowest memory limit of the cgroup and the cgroups above it; 0: none"),
	SUM(memory_high_events, "{event}", "times that the kernel slowed the cgroup down over memory.high (v2)"),
	SUM(memory_max_events, "{event}", "times that an allocation met the limit"),
	SUM(oom_events, "{event}", "times that the cgroup ran out of memory (v1: only in its last record)"),
	SUM(oom_kills, "{process}", "processes of the cgroup that the out-of-memory killer killed"),
	SUM(cpu_ns, "ns", "time on CPUs"),
	SUM(user_ns, "ns", "part of cpu_ns in user mode"),
	SUM(system_ns, "ns", "part of cpu_ns in the kernel"),
	F(cpu_limit, SKEP_T_F64, SKEP_S_GAUGE, "{cpu}",
	  "lowest CPU quota of the cgroup and the cgroups above it; 0: none"),
	SUM(cpu_periods, "{period}", "periods of the CPU quota"),
	SUM(cpu_throttled_periods, "{period}", "periods in which the cgroup used up its quota"),
	SUM(cpu_throttled_ns, "ns", "time that the quota kept tasks from running, summed over CPUs"),
	SUM(read_bytes, "By", "bytes read from block devices"),
	SUM(write_bytes, "By", "bytes written to block devices"),
	SUM(read_calls, "{operation}", "reads of block devices"),
	SUM(write_calls, "{operation}", "writes to block devices"),
	LEVEL(pids, "{thread}", "processes and threads"),
	LEVEL(pids_limit, "{thread}",
	      "lowest limit of processes and threads of the cgroup and the cgroups above it; 0: none"),
	SUM(pids_max_events, "{event}", "forks that the limit refused"),
	SUM(cpu_some_ns, "ns", "time in which some task waited for a CPU (v2)"),
	SUM(cpu_full_ns, "ns", "time in which all that could run did (v2, since 5.13)"),
	SUM(memory_some_ns, "ns", "time in which some task was stalled for memory (v2)"),
	SUM(memory_full_ns, "ns", "time in which all tasks were stalled for memory (v2)"),
	SUM(io_some_ns, "ns", "time in which some task was stalled for I/O (v2)"),
	SUM(io_full_ns, "ns", "time in which all tasks were stalled for I/O (v2)"),
};

static const struct skep_stream stream =
	SKEP_STREAM(struct cgroup_record, fields, "cgroup", SKEP_ROLE_CGROUP, SKEP_STREAM_SAMPLE,
		    "memory, CPU, I/O, processes and pressure of a cgroup with live processes, each interval");

const struct skep_stream *const cgroup_streams[N_STREAMS] = {
	[STREAM_CGROUP] = &stream,
};
