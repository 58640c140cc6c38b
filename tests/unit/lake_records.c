/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Realistic records of the core's streams, made from a number.
 */
#include "tests/unit/lake_records.h"

#include <stdio.h>
#include <string.h>

#define RING 4096

static const char *const tools[] = {
	"samtools sort",
	"samtools view",
	"samtools index",
	"bwa mem",
	"bcftools call",
	"bcftools mpileup",
	"fastqc",
	"gzip",
	"bash",
	"python",
	"align.py",
	"Rscript",
	"plot.R",
	"picard MarkDuplicates",
	"awk",
	"sed",
	"grep",
	"sort",
	"cut",
	"cat",
	"tee",
	"mkdir",
	"rm",
	"ls",
	"snakemake",
	"gatk HaplotypeCaller",
	"multiqc",
	"zcat",
	"perl",
	"java",
};

struct texts {
	char task[32], task_id[32], argv[512], cwd[128], cgroup[160], exe[64], pipeline[32];
};
static struct texts ring[RING];

static struct skep_str str(const char *s)
{
	return skep_mock_text(s);
}

void records_process(uint64_t n, const char *run, struct record_process *p)
{
	struct texts *t = &ring[n % RING];
	const char *tool = tools[n % (sizeof(tools) / sizeof(tools[0]))];
	unsigned task = (unsigned)(n / 7 % 40);
	uint64_t start = 1000 * SECOND + n * 20000000;
	char cwd[sizeof(t->cwd)];
	int len = 0;

	snprintf(t->task, sizeof(t->task), "align_sample_%02u", task);
	snprintf(t->task_id, sizeof(t->task_id), "%u-e8d4a51000.1", 500 + task);
	snprintf(t->pipeline, sizeof(t->pipeline), "variants");
	snprintf(t->exe, sizeof(t->exe), "/opt/conda/envs/ngs/bin/%.*s", (int)strcspn(tool, " "), tool);
	snprintf(cwd, sizeof(cwd), "/data/projects/cohort7/work/%02x/%08x", task, task * 2654435761u);
	memcpy(t->cwd, cwd, sizeof(cwd));
	snprintf(t->cgroup, sizeof(t->cgroup), "/system.slice/slurmstepd.scope/job_%u/step_0/user/task_%u", 4000 + task,
		 task);
	/* "tool\0--threads\08\0..." */
	len += snprintf(t->argv + len, sizeof(t->argv) - (size_t)len, "%s", tool) + 1;
	len += snprintf(t->argv + len, sizeof(t->argv) - (size_t)len, "--threads") + 1;
	len += snprintf(t->argv + len, sizeof(t->argv) - (size_t)len, "8") + 1;
	len += snprintf(t->argv + len, sizeof(t->argv) - (size_t)len, "-o") + 1;
	len += snprintf(t->argv + len, sizeof(t->argv) - (size_t)len, "%s/out/sample_%06u.sorted.bam", cwd,
			(unsigned)(n % 1000000)) +
	       1;
	len += snprintf(t->argv + len, sizeof(t->argv) - (size_t)len, "%s/in/sample_%06u.unsorted.part.bam", cwd,
			(unsigned)(n % 1000000)) +
	       1;
	*p = (struct record_process){
		.upid = { .start_ns = start, .pid = 1000 + (uint32_t)(n % 60000) },
		.parent_upid = { .start_ns = 999 * SECOND, .pid = 999 },
		.image = 1,
		.pid = 1000 + n % 60000,
		.ppid = 999,
		.run = str(run),
		.pipeline = str(t->pipeline),
		.task = str(t->task),
		.tool = str(tool),
		.container = str(""),
		.execed = 1,
		.last = 1,
		.state = str("exited"),
		.comm = str(strrchr(t->exe, '/') + 1),
		.exe = str(t->exe),
		.exe_size_bytes = 100000 + strlen(t->exe),
		.exe_modified_ns = UINT64_C(1682244096000000001),
		.filename = str(t->exe),
		.argv = { .ptr = t->argv, .len = (uint32_t)len, .total = (uint32_t)len },
		.cwd = str(t->cwd),
		.cgroup = str(t->cgroup),
		.uid = 1000,
		.gid = 1000,
		.session = 999,
		.start_ns = start,
		.end_ns = start + 50000000 + n % 1000 * 1000000,
		.exit_code = n % 97 == 0,
		.cpu_ns = 40000000 + n % 1000 * 900000,
		.user_ns = 30000000 + n % 1000 * 700000,
		.system_ns = 10000000 + n % 1000 * 200000,
		.run_delay_ns = n % 5000 * 1000,
		.run_count = 100 + n % 50,
		.voluntary_switches = 90,
		.involuntary_switches = 10 + n % 50,
		.minor_faults = 1200 + n % 3000,
		.major_faults = n % 3,
		.rss_peak_bytes = (8 + n % 512) << 20,
		.maxrss_bytes = (8 + n % 512) << 20,
		.rchar_bytes = 123456 + n * 7,
		.wchar_bytes = 65432 + n * 3,
		.read_calls = 120,
		.write_calls = 80,
		.read_bytes = n % 100 * 4096,
		.write_bytes = n % 50 * 4096,
		.threads_peak = 1 + n % 8,
		.task_id = str(t->task_id),
		.step = str(n % 2 ? "make: all" : ""),
		.scopes = str(n % 2 ? "cron > snakemake > make" : "cron > snakemake"),
	};
}

void records_run(const char *run, const char *state, uint64_t start_ns, struct record_run *r)
{
	bool ended = strcmp(state, "ended") == 0;

	*r = (struct record_run){
		.run = str(run),
		.name = str("nightly"),
		.pipeline = str("variants"),
		.host = str("node7"),
		.boot_id = str(SKEP_MOCK_BOOT_ID),
		.kernel = str("6.1.0-30-amd64"),
		.version = str("0.1"),
		.state = str(state),
		.argv = SKEP_MOCK_STRV("snakemake\0-j\0"
				  "8"),
		.cwd = str("/data/projects/cohort7"),
		.root_upid = { .start_ns = start_ns, .pid = 999 },
		.uid = 1000,
		.start_ns = start_ns,
		.end_ns = ended ? start_ns + 600 * SECOND : 0,
		.exit_code = ended ? 0 : -1,
		.cpus = 16,
		.interval_ns = SECOND,
		.memory_peak_bytes = UINT64_C(5) << 30,
		.memory_source = str("pss"),
		.processes_seen = 42,
		.rusage_cpu_ns = 77 * SECOND,
	};
}

void records_add_process(struct skep_mock_batch *b, const struct record_process *p)
{
	records_add_process_of(b, p, p->uid);
}

void records_add_process_of(struct skep_mock_batch *b, const struct record_process *p, uint32_t payer)
{
	const struct skep_context context = { .size = sizeof(context), .payer = payer };

	skep_mock_batch_add(b, &record_stream_process, &p->upid, p->end_ns ? p->end_ns : p->start_ns, p, &context);
}

void records_add_run(struct skep_mock_batch *b, const struct record_run *r)
{
	skep_mock_batch_add(b, &record_stream_run, &r->root_upid, r->end_ns ? r->end_ns : r->start_ns, r, NULL);
}

void records_task(unsigned n, const char *run, struct record_task *t)
{
	static char names[RING][2][32];
	char(*at)[32] = names[n % RING];

	snprintf(at[0], sizeof(at[0]), "align_sample_%02u", n);
	snprintf(at[1], sizeof(at[1]), "%u-e8d4a51000.1", 500 + n);
	*t = (struct record_task){
		.task = str(at[0]),
		.task_id = str(at[1]),
		.run = str(run),
		.pipeline = str("variants"),
		.state = str("exited"),
		.root_upid = { .start_ns = 1000 * SECOND, .pid = 500 + n },
		.start_ns = 1000 * SECOND + n * SECOND,
		.end_ns = 1010 * SECOND + n * SECOND,
		.processes = 3,
		.cpu_ns = 20 * SECOND,
		.run_delay_ns = 5,
		.rss_peak_bytes = UINT64_C(3) << 30,
		.read_bytes = 4096,
		.write_bytes = 8192,
		.engine = str("snakemake"),
		.scopes = str("cron > snakemake"),
		.sample = str("sample=a"),
		.job = str("4711"),
		.attempt = 1,
		.name_source = str("argv"),
		.requested_cpus = 2.5,
		.requested_memory_bytes = UINT64_C(4) << 30,
		.requested_walltime_ns = 3600 * SECOND,
		.requested_gpus = 1,
		.requested_source = str("environ"),
		.granted_cpus = 3.5,
		.granted_memory_bytes = UINT64_C(5) << 30,
		.granted_gpus = 2,
		.granted_source = str("job"),
		.inner_runs = 2,
	};
}

void records_add_task(struct skep_mock_batch *b, const struct record_task *t)
{
	skep_mock_batch_add(b, &record_stream_task, &t->root_upid, t->end_ns, t, NULL);
}

bool records_send_take(struct skep_mock *m, struct skep_mock_batch *b)
{
	const unsigned acks = m->acks;

	if (skep_mock_submit(m, &b->batch) == 0)
		for (int i = 0; m->acks == acks && i < 12000; i++) {
			skep_mock_settle(m);
			skep_mock_advance(m, 5000000);
			skep_mock_poll(m, 5);
		}
	skep_mock_batch_free(b);
	return m->acks != acks;
}
