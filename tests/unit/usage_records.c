/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of usage.
 */
#include "tests/unit/usage_records.h"

struct usage_record {
	struct skep_str id, parent, run, tool;
	uint64_t interval_ns, cpu_ns, memory_bytes, limit_bytes, read_bytes, write_bytes, held_ns, gpu_ns;
	double busy_ns, idle_ns, memory, limit;
	uint8_t gone;
};

#define AT(member_, name_, type_, unit_) SKEP_FIELD(struct usage_record, member_, name_, type_, SKEP_S_GAUGE, unit_, "")

static const struct skep_field memory_fields[] = {
	AT(limit_bytes, "system.memory.limit", SKEP_T_U64, "By"),
	AT(memory_bytes, "system.memory.usage.used", SKEP_T_U64, "By"),
};
static const struct skep_field gpu_fields[] = {
	AT(id, "hw.id", SKEP_T_STR, ""),
	AT(parent, "hw.parent", SKEP_T_STR, ""),
	AT(interval_ns, "interval_ns", SKEP_T_U64, "ns"),
	AT(memory, "hw.gpu.memory.usage", SKEP_T_F64, "By"),
	AT(limit, "hw.gpu.memory.limit", SKEP_T_F64, "By"),
	AT(busy_ns, "busy_ns", SKEP_T_F64, "ns"),
	AT(idle_ns, "idle_held_ns", SKEP_T_F64, "ns"),
};
static const struct skep_field cgroup_fields[] = {
	AT(id, "cgroup", SKEP_T_STR, ""),
	AT(interval_ns, "interval_ns", SKEP_T_U64, "ns"),
	AT(memory_bytes, "memory_bytes", SKEP_T_U64, "By"),
	AT(limit_bytes, "memory_limit_bytes", SKEP_T_U64, "By"),
	AT(cpu_ns, "cpu_ns", SKEP_T_U64, "ns"),
	AT(read_bytes, "read_bytes", SKEP_T_U64, "By"),
	AT(write_bytes, "write_bytes", SKEP_T_U64, "By"),
	AT(gone, "gone", SKEP_T_BOOL, ""),
};
static const struct skep_field holder_fields[] = {
	AT(run, "run", SKEP_T_STR, ""),
	AT(tool, "tool", SKEP_T_STR, ""),
	AT(gpu_ns, "gpu.busy_ns", SKEP_T_U64, "ns"),
	AT(held_ns, "gpu.held_ns", SKEP_T_U64, "ns"),
};

#define STREAM(name_, fields_) \
	{ \
		.size = sizeof(struct skep_stream), .field_size = sizeof(struct skep_field), .name = (name_), \
		.record_size = sizeof(struct usage_record), .n_fields = sizeof(fields_) / sizeof((fields_)[0]), \
		.fields = (fields_), \
	}

static const struct skep_stream memory_stream = STREAM("host.memory", memory_fields);
static const struct skep_stream gpu_stream = STREAM("gpu.device", gpu_fields);
static const struct skep_stream cgroup_stream = STREAM("cgroup", cgroup_fields);
static const struct skep_stream holder_stream = STREAM("process.sample", holder_fields);

static void post(struct skep_mock_batch *b, const struct usage_of_host *u, const char *account, const char *item,
		 const char *kind, int64_t amount)
{
	const struct record_ledger l = {
		.run = skep_mock_text(""),
		.account = skep_mock_text(account),
		.item = skep_mock_text(item),
		.kind = skep_mock_text(kind),
		.start_ns = u->end_ns - u->interval_ns,
		.interval_ns = u->interval_ns,
		.amount = amount,
	};

	skep_mock_batch_add(b, &record_stream_ledger, NULL, u->end_ns, &l, NULL);
}

void usage_add_host(struct skep_mock_batch *b, const struct usage_of_host *u)
{
	const double interval = (double)u->interval_ns;
	const struct usage_record memory = { .memory_bytes = u->memory_bytes, .limit_bytes = u->memory_limit_bytes };

	post(b, u, "cpu", "capacity", "reference", (int64_t)(u->cpus * interval));
	post(b, u, "cpu", "idle", "part", (int64_t)((u->cpus - u->cores) * interval));
	post(b, u, "cpu", "processes", "part", (int64_t)(u->cores * interval));
	post(b, u, "cpu", "unattributed", "unattributed", 0);
	post(b, u, "net.rx", "interfaces", "reference", (int64_t)u->rx_bytes);
	post(b, u, "net.tx", "interfaces", "reference", (int64_t)u->tx_bytes);
	skep_mock_batch_add(b, &memory_stream, NULL, u->end_ns, &memory, NULL);
}

void usage_add_sample(struct skep_mock_batch *b, uint64_t end_ns, uint64_t interval_ns, const char *run,
		      const char *tool, double cores, uint64_t processes, uint64_t rss_bytes)
{
	const struct record_tool_sample s = {
		.run = skep_mock_text(run),
		.tool = skep_mock_text(tool),
		.start_ns = end_ns - interval_ns,
		.interval_ns = interval_ns,
		.cpu_ns = (uint64_t)(cores * (double)interval_ns),
		.rss_bytes = rss_bytes,
		.processes = processes,
	};

	skep_mock_batch_add(b, &record_stream_tool_sample, NULL, end_ns, &s, NULL);
}

void usage_add_gpu(struct skep_mock_batch *b, uint64_t end_ns, uint64_t interval_ns, const char *id, double busy,
		   bool held)
{
	const struct usage_record gpu = {
		.id = skep_mock_text(id),
		.parent = skep_mock_text(""),
		.interval_ns = interval_ns,
		.memory = 1 << 30,
		.limit = 80.0 * (1 << 30),
		.busy_ns = busy * (double)interval_ns,
		.idle_ns = held && busy <= 0 ? (double)interval_ns : 0,
	};

	skep_mock_batch_add(b, &gpu_stream, NULL, end_ns, &gpu, NULL);
}

void usage_add_container(struct skep_mock_batch *b, uint64_t end_ns, uint64_t interval_ns, const char *id, double cores,
			 uint64_t memory_bytes)
{
	const struct skep_context in = { .size = sizeof(in), .container = skep_mock_text(id) };
	const struct usage_record cgroup = {
		.id = skep_mock_text("/system.slice/docker-x.scope"),
		.interval_ns = interval_ns,
		.cpu_ns = (uint64_t)(cores * (double)interval_ns),
		.memory_bytes = memory_bytes,
		.read_bytes = 4096,
	};

	skep_mock_batch_add(b, &cgroup_stream, NULL, end_ns, &cgroup, &in);
}

void usage_add_gone(struct skep_mock_batch *b, uint64_t end_ns, uint64_t interval_ns, const char *id,
		    uint64_t memory_bytes)
{
	const struct skep_context in = { .size = sizeof(in), .container = skep_mock_text(id) };
	const struct usage_record cgroup = {
		.id = skep_mock_text("/system.slice/docker-x.scope"),
		.gone = true,
		.interval_ns = interval_ns,
		.memory_bytes = memory_bytes,
	};

	skep_mock_batch_add(b, &cgroup_stream, NULL, end_ns, &cgroup, &in);
}

void usage_add_holder(struct skep_mock_batch *b, uint64_t end_ns, uint32_t pid, const char *run, const char *tool,
		      uint64_t held_ns, uint64_t busy_ns)
{
	const struct skep_upid upid = { .start_ns = SECOND + pid, .pid = pid };
	const struct usage_record p = {
		.run = skep_mock_text(run),
		.tool = skep_mock_text(tool),
		.held_ns = held_ns,
		.gpu_ns = busy_ns,
	};

	skep_mock_batch_add(b, &holder_stream, &upid, end_ns, &p, NULL);
}
