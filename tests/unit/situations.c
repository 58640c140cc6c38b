/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/situations.c - the ways in which a run can end or go wrong, one function each.
 */
#include <signal.h>
#include <string.h>

#include "core/process/records.h"
#include "tests/unit/reports.h"

static void io(struct lake_process *p, uint64_t read_mib, uint64_t write_mib, uint64_t rss_mib)
{
	p->totals.read_bytes = read_mib << 20;
	p->totals.write_bytes = write_mib << 20;
	p->totals.rchar_bytes = (read_mib << 20) * 3 + 4096;
	p->totals.wchar_bytes = (write_mib << 20) + 4096;
	p->totals.rss_peak_bytes = rss_mib << 20;
}

/* Reads to variants on eight CPUs, with a grep that finds nothing. */
static struct reports *success(void)
{
	struct reports *r = reports_new("variants-nightly", "./pipeline.sh --threads 8 NA12878 /data/reads", 8);

	reports_add(r, 0, "pipeline.sh", "bash ./pipeline.sh --threads 8 NA12878 /data/reads", 0, 723000, 240);
	for (unsigned i = 0; i < 4; i++)
		io(reports_add(r, 0, "fastqc", "fastqc -t 2 sample.fq.gz", 1000 + i * 100, 92000 + i * 3000, 150000),
		   900, 1, 412);
	io(reports_add(r, 0, "bwa mem", "bwa mem -t 8 ref.fa r1.fq.gz r2.fq.gz", 95000, 395000, 2250000), 3500, 0,
	   5432);
	r->report.processes[5].totals.threads = 9;
	io(reports_add(r, 0, "samtools sort", "samtools sort -@ 2 -o out.bam -", 95010, 420000, 310000), 2, 2100, 1640);
	io(reports_add(r, 0, "samtools index", "samtools index out.bam", 420500, 436000, 15200), 0, 6, 44);
	reports_kind(reports_add(r, 0, "grep", "grep -q chrM regions.bed", 436100, 436104, 3))->exit_code = 1;
	io(reports_add(r, 0, "bcftools mpileup", "bcftools mpileup -f ref.fa out.bam", 437000, 711000, 265000), 40, 0,
	   210);
	io(reports_add(r, 0, "bcftools call", "bcftools call -mv -Oz -o calls.vcf.gz", 437010, 712000, 61000), 0, 88,
	   96);
	io(reports_add(r, 0, "md5sum", "md5sum out.bam calls.vcf.gz", 713000, 722000, 8300), 2150, 0, 3);
	for (unsigned i = 0; i < 30; i++)
		reports_add(r, 0, i % 3 ? i % 2 ? "mkdir" : "basename" : "date", "date", 500 + i, 502 + i, 1);
	for (unsigned i = 0; i < 723; i++) {
		if (i < 92)
			reports_sample(r, "fastqc", i * 1000, 1000, 6600);
		if (i >= 95 && i < 395)
			reports_sample(r, "bwa mem", i * 1000, 1000, i % 60 < 50 ? 7900 : 5000);
		if (i >= 95 && i < 420)
			reports_sample(r, "samtools sort", i * 1000, 1000, i < 395 ? 300 : 1960);
		if (i >= 420 && i < 436)
			reports_sample(r, "samtools index", i * 1000, 1000, 980);
		if (i >= 437 && i < 711)
			reports_sample(r, "bcftools mpileup", i * 1000, 1000, 967);
		if (i >= 437 && i < 711)
			reports_sample(r, "bcftools call", i * 1000, 1000, 222);
		if (i >= 713 && i < 722)
			reports_sample(r, "md5sum", i * 1000, 1000, 920);
	}
	r->report.run.interval_ns = REPORTS_S;
	for (size_t i = 0; i < r->report.n_processes; i++)
		r->report.processes[i].totals.net_known = true;
	r->report.processes[0].totals.net_rx_bytes = 3 << 20;
	r->report.processes[0].totals.net_tx_bytes = 4096;
	r->report.processes[5].totals.block_delay_ns = 12 * REPORTS_S;
	memcpy(r->report.processes[5].totals.states, (uint64_t[]){ 2200, 130, 70, 10, 900 }, 5 * sizeof(uint64_t));
	reports_ledger(r, "cpu", "capacity", "reference", 5784 * (int64_t)REPORTS_S);
	reports_ledger(r, "cpu", "idle", "part", 1900 * (int64_t)REPORTS_S);
	reports_ledger(r, "cpu", "kernel", "part", 12 * (int64_t)REPORTS_S);
	reports_ledger(r, "cpu", "excluded", "part", 300 * (int64_t)REPORTS_S);
	reports_ledger(r, "cpu", "processes", "part", 3562 * (int64_t)REPORTS_S);
	reports_ledger(r, "cpu", "irq", "memo", 9 * (int64_t)REPORTS_S);
	reports_ledger(r, "cpu", "unattributed", "unattributed", 10 * (int64_t)REPORTS_S);
	reports_ledger(r, "net.rx", "tcp", "part", 3 << 20);
	reports_finish(r, 723000, 0, 0);
	r->report.run.rusage_cpu_ns = r->report.run.totals.cpu_ns - 41000;
	return r;
}

/* make: one of many compilers fails, make gives up, and the shell exits with make's status. */
static struct reports *failure(void)
{
	struct reports *r = reports_new("build", "sh -c make", 4);

	reports_add(r, 0, "sh", "sh -c make", 0, 5300, 3);
	reports_add(r, 0, "make", "make", 5, 5290, 210);
	for (unsigned i = 0; i < 12; i++)
		io(reports_add(r, 1, "cc1", "cc1 -O2 file.c", 100 + i * 350, 1500 + i * 330, 1200), 0, 1, 120);
	reports_kind(reports_add(r, 1, "cc1", "cc1 -O2 broken.c", 4600, 5250, 400))->exit_code = 1;
	reports_kind(&r->report.processes[1])->exit_code = 2;
	reports_kind(&r->report.processes[0])->exit_code = 2;
	reports_finish(r, 5300, 2, 0);
	r->report.run.rusage_cpu_ns = r->report.run.totals.cpu_ns;
	return r;
}

/* The out-of-memory killer takes one step, the script exits 137. */
static struct reports *oom(void)
{
	struct reports *r = reports_new("rnaseq", "./rnaseq.sh", 16);
	struct lake_process *p;

	reports_add(r, 0, "rnaseq.sh", "bash ./rnaseq.sh", 0, 200400, 30);
	io(reports_add(r, 0, "fastp", "fastp -i a.fq -o b.fq", 100, 40000, 120000), 400, 380, 900);
	p = reports_add(r, 0, "STAR", "STAR --runThreadN 16 --genomeDir /ref/star --readFilesIn b.fq", 40100, 200300,
			900000);
	io(p, 12000, 40, 2010);
	reports_kind(p)->state = "exited";
	reports_kind(p)->exit_code = -1;
	reports_kind(p)->signal = SIGKILL;
	reports_kind(p)->oom_killed = true;
	reports_kind(p)->oom_cgroup = "/slurm/job_4711/step_0";
	reports_kind(p)->oom_limit_bytes = UINT64_C(2) << 30;
	reports_kind(p)->oom_usage_bytes = UINT64_C(2) << 30;
	reports_kind(p)->oom_peak_bytes = UINT64_C(2) << 30;
	p->totals.threads = 17;
	p = reports_add(r, 0, "pigz", "pigz -p 4 b.fq", 40200, 61000, 70000);
	reports_kind(p)->exit_code = -1;
	reports_kind(p)->signal = SIGSEGV;
	reports_kind(p)->core_dumped = true;
	reports_kind(&r->report.processes[0])->exit_code = 137;
	reports_finish(r, 200400, 137, 0);
	r->report.run.rusage_cpu_ns = r->report.run.totals.cpu_ns;
	return r;
}

/* Ctrl-C: the terminal sends SIGINT to every process in the foreground. */
static struct reports *interrupted(void)
{
	struct reports *r = reports_new("align", "bash align.sh", 2);

	reports_add(r, 0, "align.sh", "bash align.sh", 0, 7420, 12);
	reports_add(r, 0, "bwa mem", "bwa mem -t 2 ref.fa r.fq", 20, 7410, 14100);
	reports_add(r, 0, "samtools view", "samtools view -b -", 21, 7411, 150);
	for (size_t i = 0; i < 3; i++) {
		reports_kind(&r->report.processes[i])->exit_code = -1;
		reports_kind(&r->report.processes[i])->signal = SIGINT;
	}
	reports_finish(r, 7420, -1, SIGINT);
	return r;
}

/* The run has not ended: the report has only what the records so far contain. */
static struct reports *running(void)
{
	struct reports *r = reports_new("train", "python3 train.py --epochs 10", 4);

	reports_add(r, 0, "train.py", "python3 train.py --epochs 10", 0, 0, 171000);
	for (unsigned i = 0; i < 7; i++)
		reports_add(r, 0, "loader.py", "python3 loader.py", 900 + i, 0, 20000);
	reports_add(r, 0, "nvidia-smi", "nvidia-smi -L", 300, 340, 25);
	for (unsigned i = 0; i < 95; i++) {
		reports_sample(r, "train.py", i * 1000, 1000, 1800);
		reports_sample(r, "loader.py", i * 1000, 1000, 1470);
	}
	reports_finish(r, 0, -1, 0);
	return r;
}

/* The run ended, a daemon and a zombie did not; skep missed one exit; records were lost. */
static struct reports *losses(void)
{
	struct reports *r = reports_new("storm", "./storm", 2);
	struct lake_process *p;

	reports_add(r, 0, "storm", "./storm", 0, 12000, 4200);
	for (unsigned i = 0; i < 40; i++)
		reports_add(r, 0, "true", "true", 100 + i * 200, 101 + i * 200, 1);
	p = reports_add(r, 0, "sshd", "sshd -D", 300, 0, 20);
	reports_kind(p)->approx = APPROX_COUNTERS | APPROX_ENVIRON;
	p = reports_add(r, 0, "worker", "worker --one", 400, 9000, 510);
	reports_kind(p)->state = "zombie";
	p = reports_add(r, 0, "worker", "worker --two", 420, 9100, 510);
	reports_kind(p)->state = "lost";
	reports_kind(p)->exit_code = -1;
	reports_kind(p)->approx = APPROX_COUNTERS | APPROX_END;
	reports_loss(r, "proc", "process.exec", "kernel", 1200);
	reports_loss(r, "proc", "process.exec", "kernel", 30);
	reports_loss(r, "lake", "tool.sample", "sink", 1);
	reports_finish(r, 12000, 0, 0);
	r->report.run.lost_kernel = 1230;
	r->report.run.lost_sink = 1;
	r->report.run.processes_seen += 3;
	r->report.run.rusage_cpu_ns = r->report.run.totals.cpu_ns;
	return r;
}

static struct reports *empty(void)
{
	struct reports *r = reports_new("", "", 0);

	r->report.run.host = "";
	r->report.run.kernel = "";
	reports_finish(r, 0, -1, 0);
	return r;
}

static struct reports *single(void)
{
	struct reports *r = reports_new("true", "true", 1);

	reports_add(r, 0, "true", "true", 0, 1, 0)->totals.cpu_ns = 812345;
	r->report.processes[0].totals.user_ns = 312345;
	r->report.processes[0].totals.system_ns = 500000;
	r->report.processes[0].totals.run_delay_ns = 4200;
	reports_finish(r, 1, 0, 0);
	r->report.run.rusage_cpu_ns = 812000;
	return r;
}

/* A configure script: 5,000 processes of 60 tools, many of which fail as they should. */
static struct reports *many(void)
{
	static const char *const tools[] = { "conftest", "cc1", "as", "ld", "sed", "grep", "cat", "rm", "expr", "mv" };
	struct reports *r = reports_new("configure", "./configure --prefix=/usr", 2);

	reports_add(r, 0, "configure", "sh ./configure --prefix=/usr", 0, 62000, 4100);
	for (unsigned i = 1; i < 5000; i++) {
		const char *tool = i % 50 ? tools[i % 10] : reports_string(r, "helper-%u", i / 50 % 50);
		struct lake_process *p =
			reports_add(r, 0, tool, tool, 10 + i * 12, 21 + i * 12, strcmp(tool, "cc1") ? 1 : 9);

		if (strcmp(tool, "conftest") == 0 && i % 3 == 0)
			reports_kind(p)->exit_code = 1 + i % 5;
		if (strcmp(tool, "grep") == 0 && i % 2)
			reports_kind(p)->exit_code = 1;
		if (i == 2222) {
			reports_kind(p)->exit_code = -1;
			reports_kind(p)->signal = SIGABRT;
		}
	}
	reports_finish(r, 62000, 0, 0);
	r->report.run.rusage_cpu_ns = r->report.run.totals.cpu_ns - 1000000;
	return r;
}

/* Names longer than a line, wide letters, bytes that are not text, and terminal control characters. */
static struct reports *names(void)
{
	struct reports *r = reports_new("a-run-with-a-name-that-somebody-made-out-of-all-the-parameters-it-had-k21-k33-"
					"k55-k77-k99-k127-careful",
					"./run \033]0;owned\a \xff\xfe.txt it's --empty= a\tb \xe2\x80\xae"
					"cod.exe",
					8);
	char argument[600];

	memset(argument, 'x', sizeof(argument) - 1);
	argument[sizeof(argument) - 1] = '\0';
	reports_add(r, 0, "run", "run", 0, 9000, 20);
	reports_add(r, 0,
		    "\xe5\xa1\xa9\xe5\x9f\xba\xe9\x85\x8d\xe5\x88\x97\xe6\xaf\x94\xe8\xbc\x83\xe3\x83\x84\xe3\x83\xbc"
		    "\xe3\x83\xab",
		    "tool", 100, 3000, 2000);
	reports_kind(reports_add(r, 0, "caf\xe9-latin1\033[31m", reports_string(r, "tool %s", argument), 200, 8000, 7000))
		->exit_code = 3;
	reports_add(
		r, 0,
		"org.example.genomics.tools.VeryLongJavaClassNameThatGoesOnAndOn MarkDuplicatesWithMateCigarAndMore",
		"java -jar x.jar", 300, 8900, 30000);
	reports_finish(r, 9000, 0, 0);
	return r;
}

/* exec chains, forks that never exec, a daemon's double fork. */
static struct reports *tree(void)
{
	struct reports *r = reports_new("tree", "env A=1 nice ./job.sh", 4);
	struct lake_process *p;
	size_t parent;

	p = reports_add(r, 0, "job.sh", "env A=1 nice ./job.sh", 0, 4000, 1);
	reports_kind(p)->wrapper = true;
	p = reports_exec(r, 0, "job.sh", "nice ./job.sh", 2);
	reports_kind(p)->wrapper = true;
	reports_exec(r, 1, "job.sh", "bash ./job.sh", 4);
	r->report.processes[2].totals.cpu_ns = 40 * REPORTS_MS;
	p = reports_add(r, 2, "job.sh", "bash ./job.sh", 100, 3800, 5);
	reports_kind(p)->execed = false;
	reports_add(r, 3, "sort", "sort -n in.txt", 110, 2000, 1800);
	reports_add(r, 3, "uniq", "uniq -c", 111, 2010, 90);
	reports_kind(reports_add(r, 2, "job.sh", "bash ./job.sh", 3899, 3902, 1))->execed = false; /* forks, then execs */
	reports_kind(reports_exec(r, 6, "false", "false", 3900))->exit_code = 1;
	parent = 7;
	for (unsigned i = 0; i < 20; i++) {
		reports_add(r, parent, "sh", "sh -c deeper", 3901, 3902, 0);
		parent = r->report.n_processes - 1;
	}
	reports_finish(r, 4000, 0, 0);
	return r;
}

/* A workflow: a task that was tried twice, one that used more than it asked for, one that still runs. */
static struct reports *tasks(void)
{
	/* as the lake has them: none that is 0 */
	static const struct lake_facet trained[] = {
		{ "gpu.busy_ns", 2.5e9 },   { "gpu.held_ns", 8e9 },         { "gpu.known_ns", 7.5e9 },
		{ "gpu.idle_held_ns", 4e9 }, { "gpu.memory_peak_bytes", 6e9 }, { "gpu.devices", 2 },
		{ "gpu.energy_joules", 812 }, { "net.rx_bytes", 0 },
	};
	static const struct lake_facet loaded[] = {
		{ "gpu.held_ns", 1e9 }, { "gpu.memory_peak_bytes", 1e8 }, { "gpu.devices", 1 },
	};
	struct reports *r = reports_new("variants", "snakemake -j 4", 4);
	struct lake_task *t;

	r->report.run.engine = "snakemake";
	reports_add(r, 0, "snakemake", "python3 /usr/bin/snakemake -j 4", 0, 0, 900);
	reports_add(r, 0, "bwa mem", "bwa mem ref.fa a.fq", 1000, 9000, 15000)->task = "align";
	reports_add(r, 0, "bwa mem", "bwa mem ref.fa b.fq", 1000, 4000, 5000)->task = "align";
	reports_kind(&r->report.processes[2])->exit_code = 1;
	reports_add(r, 0, "samtools sort", "samtools sort", 9000, 0, 800)->task = "sort";
	reports_sample(r, "samtools sort", 9000, 1000, 800);
	r->report.processes[1].facets = trained;
	r->report.processes[1].n_facets = sizeof(trained) / sizeof(*trained);
	r->report.processes[3].facets = loaded;
	r->report.processes[3].n_facets = sizeof(loaded) / sizeof(*loaded);
	t = reports_task(r, "align", 1000, 9000, 15000);
	t->sample = "sample=a";
	t->requested_memory_bytes = UINT64_C(1) << 30;
	t->requested_cpus = 4;
	t->requested_walltime_ns = 7200 * REPORTS_S;
	t->totals.block_delay_ns = 3 * REPORTS_S;
	t = reports_task(r, "align", 1000, 4000, 5000);
	t->sample = "sample=b";
	t->attempt = 1;
	t->exit_code = 1;
	t->requested_memory_bytes = UINT64_C(256) << 20;
	t->requested_cpus = 1.5;
	t->requested_walltime_ns = 2 * REPORTS_S;
	t = reports_task(r, "align", 4100, 8000, 5000);
	t->sample = "sample=b";
	t->attempt = 2;
	t = reports_task(r, "qc", 4000, 4500, 100);
	t->exit_code = -1;
	t->signal = SIGKILL;
	reports_task(r, "sort", 9000, 0, 800);
	reports_finish(r, 0, -1, 0);
	return r;
}

/* More tasks than a page has rows: those of one name share a row, and failed ones have their own. */
static struct reports *folded(void)
{
	struct reports *r = reports_new("cohort", "nextflow run main.nf", 16);

	r->report.run.engine = "nextflow";
	reports_add(r, 0, "nextflow", "java -jar nextflow.jar run main.nf", 0, 600000, 9000);
	for (unsigned i = 0; i < 50000; i++) {
		struct lake_task *t = reports_task(r, i % 3 ? "ALIGN" : "FASTQC", i * 10, i * 10 + 500 + i % 977, i % 977);

		t->sample = "s";
		t->exit_code = i == 700 || i == 25001;
		if (i % 3) {
			t->requested_cpus = 2;
			t->requested_memory_bytes = UINT64_C(4) << 30;
			t->requested_walltime_ns = 3600 * REPORTS_S;
		}
	}
	for (unsigned i = 0; i < 200; i++) /* more names than there are rows */
		reports_task(r, reports_string(r, "report_%03u", i), 590000 + i, 591000 + i, 10 + i);
	reports_task(r, "MULTIQC", 595000, 599000, 3000);
	reports_finish(r, 600000, 1, 0);
	return r;
}

static const struct {
	const char *name;
	struct reports *(*make)(void);
} situations[] = {
	{ "success", success }, { "failure", failure }, { "oom", oom },     { "interrupted", interrupted },
	{ "running", running }, { "losses", losses },   { "empty", empty }, { "single", single },
	{ "many", many },       { "names", names },     { "tree", tree },   { "tasks", tasks },
	{ "folded", folded },
};
#define N_SITUATIONS (sizeof(situations) / sizeof(*situations))

const char *const reports_situations[N_SITUATIONS + 1] = {
	"success", "failure", "oom",  "interrupted", "running", "losses",
	"empty",   "single",  "many", "names",       "tree",    "tasks",
	"folded",  NULL,
};

struct reports *reports_situation(const char *name)
{
	for (size_t i = 0; i < N_SITUATIONS; i++) {
		if (strcmp(situations[i].name, name) == 0)
			return situations[i].make();
	}
	return NULL;
}
