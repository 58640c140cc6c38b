/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_tool [ROUNDS] - what one exec costs in tool recognition and redaction: CPU ns per
 * call for usual command lines, and for one of 32 KiB.  The copy that redaction in
 * place needs is measured too and taken off.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/identify/redact.h"
#include "core/identify/tool.h"

#define LONG_SIZE (32u << 10)

/* Words separated by '|', about 100 bytes each. */
static const struct {
	const char *exe;
	const char *argv;
} usual[] = {
	{ "/usr/bin/samtools",
	  "samtools|sort|-@|4|-m|768M|-o|/data/run17/aligned/sample_0042.sorted.bam|/data/run17/aligned/sample_0042.bam" },
	{ "/usr/bin/python3.11",
	  "/usr/bin/python3|-W|ignore|-m|snakemake|--cores|8|--snakefile|workflow/Snakefile|--configfile|c.yaml|all" },
	{ "/usr/bin/bash",
	  "/bin/bash|-c|bwa mem -t 4 -R '@RG\\tID:1\\tSM:s' ref/genome.fa reads/s_1.fastq.gz reads/s_2.fastq.gz" },
	{ "/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
	  "cc1|-quiet|-imultiarch|x86_64-linux-gnu|-D|_GNU_SOURCE|core/identify/tool.c|-O2|-std=c17|-o|/tmp/ccQz1.s" },
	{ "/usr/lib/jvm/java-17-openjdk-amd64/bin/java",
	  "java|-Xmx4g|-Djava.io.tmpdir=/tmp|-jar|/opt/picard/picard.jar|MarkDuplicates|I=in.bam|O=out.bam|M=m.txt" },
	{ "/usr/bin/git",
	  "git|-C|/home/user/src/project|-c|gc.auto=0|fetch|--prune|origin|+refs/heads/*:refs/remotes/origin/*" },
	{ "/usr/bin/curl",
	  "curl|-sS|-H|Accept: application/json|--retry|3|-o|/tmp/out.json|https://api.example.org/v1/items?page=2" },
};
#define N_USUAL (sizeof(usual) / sizeof(usual[0]))

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* other processes' time does not count */
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static struct skep_str str(const char *text, size_t len)
{
	return (struct skep_str){ .ptr = text, .len = (uint32_t)len, .total = (uint32_t)len };
}

static size_t list(char *to, const char *words)
{
	size_t len = strlen(words) + 1;

	for (size_t i = 0; i < len; i++)
		to[i] = words[i] == '|' ? '\0' : words[i];
	return len;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const struct tools *tools, const struct redact *redact, const char *exe, const char *argv,
		    size_t len, unsigned rounds, char *work, double *ret_tool, double *ret_redact)
{
	struct skep_str e = str(exe, strlen(exe)), a = str(argv, len), comm = str("comm", 4);
	volatile unsigned keep = 0;
	struct tool_name name;
	double t0, t1, t2, t3;

	t0 = now_ns();
	for (unsigned i = 0; i < rounds; i++) {
		tools_recognize(tools, &e, &e, &a, &comm, &name);
		keep += (unsigned char)name.name[0];
	}
	t1 = now_ns();
	for (unsigned i = 0; i < rounds; i++) {
		uint32_t n = (uint32_t)len;

		memcpy(work, argv, len);
		keep += redact_argv(redact, exe, work, &n);
	}
	t2 = now_ns();
	for (unsigned i = 0; i < rounds; i++) {
		memcpy(work, argv, len);
		keep += (unsigned char)work[i % len];
	}
	(void)keep;
	t3 = now_ns();
	*ret_tool = (t1 - t0) / rounds;
	*ret_redact = ((t2 - t1) - (t3 - t2)) / rounds;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200000;
	double tool[N_USUAL], red[N_USUAL];
	struct redact *redact;
	struct tools *tools;
	struct diag diag;
	char *buf, *work;
	int rc = 1;

	if (rounds == 0) {
		fprintf(stderr, "usage: bench_tool [ROUNDS]\n");
		return 2;
	}
	diag_init(&diag);
	tools = tools_new(NULL, &diag);
	redact = redact_new(NULL, &diag);
	buf = malloc(LONG_SIZE);
	work = malloc(LONG_SIZE);
	if (!tools || !redact || !buf || !work) {
		diag_print(&diag, stderr);
		goto out;
	}
	printf("%-12s %6s %12s %12s\n", "program", "bytes", "tool ns", "redact ns");
	for (size_t i = 0; i < N_USUAL; i++) {
		size_t len = list(buf, usual[i].argv);
		const char *base = strrchr(usual[i].exe, '/') + 1;

		measure(tools, redact, usual[i].exe, buf, len, rounds, work, &tool[i], &red[i]);
		printf("%-12s %6zu %12.0f %12.0f\n", base, len, tool[i], red[i]);
	}
	qsort(tool, N_USUAL, sizeof(tool[0]), compare);
	qsort(red, N_USUAL, sizeof(red[0]), compare);
	printf("%-12s %6s %12.0f %12.0f\n", "median", "", tool[N_USUAL / 2], red[N_USUAL / 2]);

	/* A long list of files, and a long script behind -c. */
	for (size_t n = 0; n + 32 <= LONG_SIZE; n += 32)
		memcpy(buf + n, n ? "/data/run17/reads/file_0042.bam" : "samtools\0merge\0-f\0/data/out.bam0", 32);
	measure(tools, redact, "/usr/bin/samtools", buf, LONG_SIZE, rounds / 200 + 1, work, &tool[0], &red[0]);
	printf("%-12s %6u %12.0f %12.0f\n", "many files", LONG_SIZE, tool[0], red[0]);
	memcpy(buf, "bash\0-c\0", 8);
	for (size_t n = 8; n < LONG_SIZE; n++)
		buf[n] = "echo 'line of a script' --level=5 file.txt\n"[(n - 8) % 43];
	buf[LONG_SIZE - 1] = '\0';
	measure(tools, redact, "/usr/bin/bash", buf, LONG_SIZE, rounds / 200 + 1, work, &tool[0], &red[0]);
	printf("%-12s %6u %12.0f %12.0f\n", "bash -c", LONG_SIZE, tool[0], red[0]);
	rc = 0;
out:
	free(buf);
	free(work);
	redact_free(redact);
	tools_free(tools);
	diag_clear(&diag);
	return rc;
}
