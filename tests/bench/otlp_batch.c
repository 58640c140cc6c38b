/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch for the benchmarks of the sink otlp.
 */
#include "tests/bench/otlp_batch.h"

#include <stdio.h>
#include <string.h>

#define OFFSET INT64_C(1800000000000000000)
#define MS UINT64_C(1000000)

static struct skep_str text(const char *s)
{
	return (struct skep_str){ s, (uint32_t)strlen(s), (uint32_t)strlen(s) };
}

static uint64_t number(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 33;
}

static const char argv[] = "samtools\0sort\0-@\0"
			   "8\0-o\0/data/project/sample_0042/aligned.sorted.bam\0/data/project/sample_0042/aligned.bam";
static char tools[40][32], pipelines[8][32], runs[8][32];

static void name_all(void)
{
	for (int i = 0; i < 40 && !tools[i][0]; i++)
		snprintf(tools[i], sizeof(tools[i]), "samtools verb%d", i);
	for (int i = 0; i < 8 && !runs[i][0]; i++) {
		snprintf(pipelines[i], sizeof(pipelines[i]), "pipeline%d", i);
		snprintf(runs[i], sizeof(runs[i]), "20261121T0000%02d-abcdef", i);
	}
}

static struct skep_context context_of(uint64_t i)
{
	return (struct skep_context){
		.size = sizeof(struct skep_context),
		.run = text(runs[i % 8]),
		.pipeline = text(pipelines[i % 8]),
		.tool = text(tools[i % 40]),
	};
}

static void make_process(struct otlp_batch *b, uint32_t i, uint64_t now_ns, uint64_t *random)
{
	struct record_process *p = &b->processes[i];
	uint64_t life = number(random) % 400 * MS;

	*p = (struct record_process) {
		.upid = { .start_ns = now_ns - life, .pid = (uint32_t)(1000 + number(random) % 60000) },
		.ppid = 77,
		.run = b->contexts[i].run,
		.pipeline = b->contexts[i].pipeline,
		.tool = b->contexts[i].tool,
		.execed = 1,
		.last = 1,
		.state = text("exited"),
		.comm = text("samtools"),
		.exe = text("/usr/bin/samtools"),
		.argv = { argv, sizeof(argv), sizeof(argv) },
		.cwd = text("/data/project/work/3f/8a1c"),
		.cgroup = text("/system.slice/slurmstepd.scope/job_1234/step_0"),
		.uid = 1000,
		.start_ns = now_ns - life,
		.end_ns = now_ns,
		.exit_code = i % 50 == 7,
		.cpu_ns = life / 2,
		.user_ns = life / 3,
		.system_ns = life / 6,
		.run_delay_ns = 1000 * i,
		.voluntary_switches = 5,
		.involuntary_switches = 1,
		.minor_faults = 300,
		.rss_peak_bytes = (1 + number(random) % 4000) << 16,
		.rchar_bytes = 4096,
		.wchar_bytes = 100,
		.read_calls = 10,
		.write_calls = 2,
		.read_bytes = 4096,
		.write_bytes = 8192,
		.threads_peak = 1,
	};
	p->pid = p->upid.pid;
	if (i == 3)
		p->argv = (struct skep_str){ "bad\0\xff\xfe", 7, 7 }; /* bytes that are not UTF-8 are sent as U+FFFD */
}

void otlp_batch_make(struct otlp_batch *b, uint64_t id, uint64_t *random)
{
	uint64_t now_ns = UINT64_C(1000000000000) + id * 1000 * MS;

	name_all();
	snprintf(b->key, sizeof(b->key), "%s:1:%llu", OTLP_BOOT, (unsigned long long)id);
	for (uint32_t i = 0; i < OTLP_RECORDS; i++) {
		b->contexts[i] = context_of(number(random));
		b->records[i] = (struct skep_record) { .size = sizeof(b->records[i]),
						       .time_ns = now_ns,
						       .context = &b->contexts[i] };
		b->pointers[i] = &b->records[i];
		if (i % 50 == 49) {
			b->samples[i] = (struct record_tool_sample) {
				.run = b->contexts[i].run,
				.tool = b->contexts[i].tool,
				.start_ns = now_ns - 1000 * MS,
				.interval_ns = 1000 * MS,
				.cpu_ns = 800 * MS,
				.read_bytes = 1 << 20,
				.write_bytes = 1 << 19,
				.rss_bytes = 1 << 30,
				.processes = 3,
				.started = 1,
			};
			b->records[i].stream = &record_stream_tool_sample;
			b->records[i].data = &b->samples[i];
			continue;
		}
		make_process(b, i, now_ns, random);
		b->records[i].upid = b->processes[i].upid;
		b->records[i].stream = &record_stream_process;
		b->records[i].data = &b->processes[i];
	}
	/* One run ends in each batch. */
	b->run = (struct record_run) {
		.run = text(runs[0]),
		.name = text("nightly"),
		.pipeline = text(pipelines[0]),
		.host = text("node1"),
		.boot_id = text(OTLP_BOOT),
		.state = text("ended"),
		.argv = { argv, sizeof(argv), sizeof(argv) },
		.start_ns = now_ns - 90000 * MS,
		.end_ns = now_ns,
		.processes_seen = 4711,
		.memory_peak_bytes = 1 << 30,
	};
	b->records[OTLP_RECORDS - 2].stream = &record_stream_run;
	b->records[OTLP_RECORDS - 2].data = &b->run;
	b->records[OTLP_RECORDS - 2].context = NULL;
	b->batch = (struct skep_batch) {
		.size = sizeof(b->batch),
		.n = OTLP_RECORDS,
		.id = id,
		.key = b->key,
		.realtime_offset_ns = OFFSET,
		.records = b->pointers,
		.boot_id = OTLP_BOOT,
		.host_name = "node1",
		.kernel = "6.1.0",
	};
}
