/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters: the meaning of expressions, and the errors of wrong ones.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "filters/expr.h"
#include "filters/glob.h"

enum { TOOL, EXE, UID, NICE, CPU, RSS, WRAPPER, PEER, ARGV, N_FIELDS };

static const struct filter_field fields[N_FIELDS] = {
	[TOOL] = { .name = "tool", .type = FILTER_TEXT, .of_parent = true },
	[EXE] = { .name = "exe", .type = FILTER_TEXT, .of_parent = true, .fixed_by_folder = true },
	[UID] = { .name = "uid", .type = FILTER_UINT, .of_parent = true, .fixed = true },
	[NICE] = { .name = "nice", .type = FILTER_INT },
	[CPU] = { .name = "cpu_ns", .type = FILTER_UINT, .unit = FILTER_NS },
	[RSS] = { .name = "rss_bytes", .type = FILTER_UINT, .unit = FILTER_BYTES },
	[WRAPPER] = { .name = "wrapper", .type = FILTER_BOOL },
	[PEER] = { .name = "network.peer.address", .type = FILTER_IP },
	[ARGV] = { .name = "argv", .type = FILTER_LIST, .of_parent = true },
};
static const struct filter_schema schema = { fields, N_FIELDS };

/* A process and its ancestors; tool NULL: not known. */
struct process {
	const char *tool, *exe;
	uint64_t uid, cpu, rss;
	int64_t nice;
	bool wrapper;
	uint8_t peer[16];
	struct filter_text argv; /* ptr NULL: not known */
	const struct process *parent;
};

static unsigned asked; /* how often the matcher read any field */

static enum filter_known get(const void *subject, uint32_t level, uint32_t field, union filter_value *ret)
{
	const struct process *p = subject;
	const char *text = NULL;

	asked++;
	for (; level && p; level--)
		p = p->parent;
	if (!p)
		return FILTER_NOBODY;
	switch (field) {
	case TOOL:
		text = p->tool;
		break;
	case EXE:
		text = p->exe;
		break;
	case UID:
		ret->u = p->uid;
		return FILTER_KNOWN;
	case NICE:
		ret->i = p->nice;
		return FILTER_KNOWN;
	case CPU:
		ret->u = p->cpu;
		return FILTER_KNOWN;
	case RSS:
		ret->u = p->rss;
		return FILTER_KNOWN;
	case WRAPPER:
		ret->b = p->wrapper;
		return FILTER_KNOWN;
	case ARGV:
		ret->text = p->argv;
		return p->argv.ptr ? FILTER_KNOWN : FILTER_UNKNOWN;
	default:
		memcpy(ret->ip, p->peer, 16);
		return FILTER_KNOWN;
	}
	if (!text)
		return FILTER_UNKNOWN;
	ret->text = (struct filter_text){ text, (uint32_t)strlen(text) };
	return FILTER_KNOWN;
}

static const struct process init = { .tool = "systemd", .exe = "/usr/lib/systemd/systemd" };
static const struct process nextflow = { .tool = "nextflow", .exe = "/opt/nf/nextflow", .uid = 1000, .parent = &init };
static const struct process shell = { .tool = NULL, .exe = "/bin/bash", .uid = 1000, .parent = &nextflow };
static const struct process bwa = {
	.tool = "bwa",
	.exe = "/usr/bin/bwa",
	.uid = 1000,
	.cpu = 2500000000,
	.rss = 64 << 20,
	.nice = -5,
	.wrapper = true,
	.peer = { [10] = 0xff, [11] = 0xff, [12] = 10, [13] = 1, [14] = 2, [15] = 3 },
	.argv = { "bwa\0mem\0-t\0\0"
		  "8\0ref.fa",
		  sizeof("bwa\0mem\0-t\0\0"
			 "8\0ref.fa") },
	.parent = &shell,
};

static bool is(const char *text, const struct process *p)
{
	struct filter_error error;
	struct filter_expr *e = filter_expr_new(text, strlen(text), &schema, &error);
	bool result;

	if (!e)
		fail_msg("%s: %u:%u: %s", text, error.line, error.column, error.what);
	result = filter_expr_match(e, get, p);
	filter_expr_free(e);
	return result;
}

static void meanings(void **state)
{
	static const struct {
		const char *text;
		bool of_bwa;
	} cases[] = {
		{ "tool = 'bwa'", true },
		{ "tool == \"bwa\"", true },
		{ "tool != 'bwa'", false },
		{ "tool = ('star', 'bwa')", true },
		{ "tool != ('star', 'bwa')", false },
		{ "tool in ('star','minimap2','samtools','bwa','bowtie2','bcftools','gatk','picard','fastp')", true },
		{ "tool in ('star','minimap2','samtools','bowtie2','bcftools','gatk','picard','fastp')", false },
		{ "tool in ('bw', 'bwaa', '')", false },
		{ "exe prefix '/usr/'", true },
		{ "exe prefix ('/opt/', '/usr/bin/bwa')", true },
		{ "exe prefix '/usr/bin/bwa2'", false },
		{ "exe suffix ('/bwa', '/sam')", true },
		{ "exe suffix ''", true },
		{ "exe contains 'r/b'", true },
		{ "exe contains 'R/B'", false },
		{ "exe glob '*/b[v-w]?'", true },
		{ "exe glob ('/bin/*', '/usr/*/bwa')", true },
		{ "exe glob '/usr'", false },
		{ "uid = 1000", true },
		{ "uid in (0, 1000)", true },
		{ "uid != (0, 33)", true },
		{ "uid < 1000", false },
		{ "uid <= 1000 and uid >= 1000", true },
		{ "nice < 0", true },
		{ "nice = -5", true },
		{ "nice > -5", false },
		{ "nice >= -9223372036854775808", true },
		{ "cpu_ns > 2s", true },
		{ "cpu_ns > 2500ms", false },
		{ "cpu_ns >= 2500000us", true },
		{ "cpu_ns > 0", true },
		{ "rss_bytes = 64MiB", true },
		{ "rss_bytes = 67108864", true },
		{ "rss_bytes > 64MB", true },
		{ "wrapper", true },
		{ "not wrapper", false },
		{ "wrapper = true", true },
		{ "wrapper != false", true },
		{ "wrapper = false", false },
		{ "network.peer.address = '10.1.2.3'", true },
		{ "network.peer.address != '10.1.2.3'", false },
		{ "network.peer.address cidr '10.0.0.0/8'", true },
		{ "network.peer.address cidr ('192.168.0.0/16', '10.1.2.0/23')", true },
		{ "network.peer.address cidr '10.1.4.0/22'", false },
		{ "network.peer.address cidr '0.0.0.0/0'", true },
		{ "network.peer.address cidr '::/0'", true },
		{ "network.peer.address cidr 'fd00::/8'", false },
		/* precedence: not, and, or */
		{ "tool = 'x' and uid = 0 or uid = 1000", true },
		{ "tool = 'x' and (uid = 0 or uid = 1000)", false },
		{ "not tool = 'x' and uid = 1000", true },
		{ "not (tool = 'bwa' and uid = 1000)", false },
		{ "not not wrapper", true },
		{ "uid = 0 or uid = 1 or uid = 2 or uid = 1000", true },
		{ "uid = 1000 and uid = 1000 and uid = 1000 and uid = 1", false },
		/* parents: an unknown value makes a condition false, = and != alike */
		{ "parent.exe = '/bin/bash'", true },
		{ "parent.tool = 'bash'", false },
		{ "parent.tool != 'bash'", false },
		{ "not parent.tool = 'bash'", true },
		{ "any parent.tool = 'nextflow'", true },
		{ "any parent.tool = 'bwa'", false },
		{ "any parent.tool in ('make', 'systemd')", true },
		{ "not any parent.exe prefix '/sbin/'", true },
		{ "any parent.uid = 0", true },
		/* lists: of any element, != of all */
		{ "argv = 'mem'", true },
		{ "argv = 'me'", false },
		{ "argv = ''", true },
		{ "argv != 'mem'", false },
		{ "argv != 'aln'", true },
		{ "argv != ('aln', 'ref.fa')", false },
		{ "not argv = 'aln' and not argv = 'index'", true },
		{ "argv in ('aln', 'index', 'ref.fa')", true },
		{ "argv prefix '-t'", true },
		{ "argv suffix ('.fq', '.fa')", true },
		{ "argv suffix '.fa' and argv contains 'ef'", true },
		{ "argv contains 'bwamem'", false }, /* never across two elements */
		{ "argv glob 'ref.*'", true },
		{ "argv matches '^-[a-z]$'", true },
		{ "argv matches 'bwa.mem'", false },
		{ "parent.argv = 'x'", false },
		{ "parent.argv != 'x'", false }, /* not known */
		{ "any parent.argv contains ''", false },
		/* regular expressions: of bytes, anywhere */
		{ "tool matches 'w'", true },
		{ "tool matches '^bw[ab]$'", true },
		{ "tool matches ('^x', 'a$')", true },
		{ "tool matches '(?i)^BWA$'", true },
		{ "tool matches 'BWA'", false },
		{ "exe matches '^/usr/(local/)?bin/[^/]+$'", true },
		{ "exe matches '^/opt/.+/bwa$'", false },
		{ "exe matches '(b)wa|\\\\1'", true },
		{ "any parent.exe matches 'next.low$'", true },
		/* blanks and newlines */
		{ "\n\ttool\n=\r\n'bwa'\n", true },
		{ "(((tool='bwa')))and(uid=1000)", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (is(cases[i].text, &bwa) != cases[i].of_bwa)
			fail_msg("%s: %d", cases[i].text, !cases[i].of_bwa);
}

static void escapes(void **state)
{
	struct process p = { .tool = "a'b\"c\\d\n\te\x1b" };

	(void)state;
	assert_true(is("tool = 'a\\'b\"c\\\\d\\n\\te\\x1B'", &p));
	assert_true(is("tool = \"a'b\\\"c\\\\d\\n\\te\\x1b\"", &p));
	assert_true(is("tool contains 'b\"c'", &p));
}

static void no_ancestors(void **state)
{
	struct process p = { .tool = "x" };

	(void)state;
	assert_false(is("parent.uid = 0", &p));
	assert_false(is("parent.uid != 0", &p));
	assert_false(is("any parent.uid >= 0", &p));
	assert_true(is("not any parent.uid >= 0", &p));
}

/* The matcher does not read the second half of an and, or an or, when the first half decides. */
static void no_more_than_needed(void **state)
{
	(void)state;
	asked = 0;
	assert_false(is("uid = 1 and uid = 1000", &bwa));
	assert_int_equal(asked, 1);
	asked = 0;
	assert_true(is("uid = 1000 or uid = 1", &bwa));
	assert_int_equal(asked, 1);
}

static void wrong_ones(void **state)
{
	static const struct {
		const char *text, *at, *what; /* "line:column+length"; what: a part of it */
	} cases[] = {
		{ "", "1:1+1", "a condition is missing" },
		{ "tool = 'x' and", "1:15+1", "a condition is missing" },
		{ "tol = 'x'", "1:1+3", "did you mean \"tool\"?" },
		{ "parent.tol = 'x'", "1:1+10", "did you mean \"tool\"?" },
		{ "nonsense = 'x'", "1:1+8", "there is no field \"nonsense\"" },
		{ "tool = bwa", "1:8+3", "write a string in quotes" },
		{ "tool = 7", "1:8+1", "write a string in quotes" },
		{ "tool =", "1:7+1", "tool wants a value here: a text" },
		{ "tool\n  > 'x'", "2:3+1",
		  "tool is a text; it can be compared by = in prefix suffix glob contains matches and !=" },
		{ "uid prefix '1'", "1:5+6", "uid is a number; it can be compared by = < > in and !=" },
		{ "tool prefx 'x'", "1:6+5", "did you mean \"prefix\"?" },
		{ "uid = '0'", "1:7+3", "uid is a number, and this is none" },
		{ "uid = -1", "1:7+2", "uid is never negative" },
		{ "uid = 5s", "1:7+2", "uid is a number without a unit" },
		{ "uid = 18446744073709551616", "1:7+20", "larger than uid can be" },
		{ "uid = 18446744073709551615x", "1:7+21", "without a unit" },
		{ "nice = 9223372036854775808", "1:8+19", "larger than nice can be" },
		{ "cpu_ns > 5", "1:10+1", "wants one of the units ns, us, ms, s" },
		{ "cpu_ns > 5MiB", "1:10+4", "is a time" },
		{ "cpu_ns > 1.5s", "1:10+4", "numbers are whole" },
		{ "cpu_ns > 213504d", "1:10+7", "larger" },
		{ "rss_bytes > 5s", "1:13+2", "is a size" },
		{ "uid < (1, 2)", "1:7+1", "takes one value" },
		{ "tool in ('a' 'b')", "1:14+3", "goes on with \",\"" },
		{ "tool in ()", "1:10+1", "tool is a text, and this is none" },
		{ "tool in ('a',)", "1:14+1", "tool is a text, and this is none" },
		{ "tool in ('a'", "1:13+1", "goes on with \",\"" },
		{ "(tool = 'a'", "1:12+1", "to close the parenthesis of: (tool = 'a'" },
		{ "tool = 'a' and (uid = 1 or (uid = 2)", "1:37+1", "the parenthesis of: (uid = 1 or (uid = 2)" },
		{ "argv = 5", "1:8+1", "argv is compared with texts, and this is none; write a string in quotes" },
		{ "argv > 'a'", "1:6+1",
		  "argv is a list of texts; it can be compared by = in prefix suffix glob contains matches and !=" },
		{ "tool matches '('", "1:14+3",
		  "invalid regular expression: missing closing parenthesis (after 1 bytes of it)" },
		{ "tool matches ('a', '[b')", "1:20+4", "invalid regular expression" },
		{ "tool matches '(*UTF)a'", "1:14+9", "invalid regular expression" },
		{ "uid matches '1'", "1:5+7", "uid is a number" },
		{ "tool match 'x'", "1:6+5", "did you mean \"matches\"?" },
		{ "tool = 'a')", "1:11+1", "joined by and, or" },
		{ "tool = 'a' uid = 1", "1:12+3", "joined by and, or" },
		{ "tool = 'a", "1:8+1", "no end" },
		{ "tool = 'a\\", "1:8+1", "no end" },
		{ "tool = 'a\\q'", "1:10+2", "is not an escape" },
		{ "tool = '\\x1g'", "1:9+2", "two hexadecimal digits" },
		{ "tool glob '[a'", "1:11+4", "invalid pattern" },
		{ "tool glob 'a\\x00b'", "1:11+8", "NUL" },
		{ "tool = 'a' && uid = 1", "1:12+2", "write and" },
		{ "tool = 'a' | uid = 1", "1:12+1", "write or" },
		{ "!wrapper", "1:1+1", "write not" },
		{ "tool = $x", "1:8+1", "\"$\" is not known" },
		{ "tool = \xc3", "1:8+1", "0xc3" },
		{ "and tool = 'x'", "1:1+3", "begins with a field" },
		{ "wrapper = 1", "1:11+1", "true or false" },
		{ "wrapper = (true)", "1:11+1", "takes one value" },
		{ "any tool = 'x'", "1:5+4", "any parent.tool" },
		{ "any parent.nice = 1", "1:5+11", "unknown for a parent" },
		{ "network.peer.address = 'x'", "1:24+3", "no address" },
		{ "network.peer.address = '10.0.0.0/8'", "1:24+12", "no address" },
		{ "network.peer.address cidr '10.0.0.0'", "1:27+10", "no network" },
		{ "network.peer.address cidr '10.0.0.1/8'", "1:27+12", "beyond its prefix" },
		{ "network.peer.address cidr '10.0.0.0/33'", "1:27+13", "at most 32" },
		{ "network.peer.address cidr 'fd00::/129'", "1:27+12", "at most 128" },
		{ "network.peer.address cidr 'fd00::/'", "1:27+9", "no network" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct filter_error error;
		struct filter_expr *e = filter_expr_new(cases[i].text, strlen(cases[i].text), &schema, &error);
		char at[48];

		if (e)
			fail_msg("%s: taken", cases[i].text);
		snprintf(at, sizeof(at), "%u:%u+%u", error.line, error.column, error.length);
		if (strcmp(at, cases[i].at) != 0 || !strstr(error.what, cases[i].what))
			fail_msg("%s: %s: %s; wanted %s: ...%s", cases[i].text, at, error.what, cases[i].at,
				 cases[i].what);
	}
}

static void limits(void **state)
{
	char *text = malloc(FILTER_TEXT_MAX + 64);
	struct filter_error error;
	struct filter_expr *e;
	size_t n;

	(void)state;
	assert_non_null(text);
	for (unsigned depth = FILTER_DEPTH; depth <= FILTER_DEPTH + 1; depth++) {
		n = 0;
		for (unsigned i = 0; i < depth; i++)
			text[n++] = '(';
		n += (size_t)sprintf(text + n, "uid=1000");
		for (unsigned i = 0; i < depth; i++)
			text[n++] = ')';
		e = filter_expr_new(text, n, &schema, &error);
		assert_int_equal(e != NULL, depth == FILTER_DEPTH);
		if (e)
			assert_true(filter_expr_match(e, get, &bwa));
		else
			assert_non_null(strstr(error.what, "in each other"));
		filter_expr_free(e);
	}
	memset(text, ' ', FILTER_TEXT_MAX + 1);
	memcpy(text, "wrapper", 7);
	e = filter_expr_new(text, FILTER_TEXT_MAX, &schema, &error);
	assert_non_null(e);
	filter_expr_free(e);
	assert_null(filter_expr_new(text, FILTER_TEXT_MAX + 1, &schema, &error));
	assert_non_null(strstr(error.what, "at most 8192"));
	n = (size_t)sprintf(text, "uid in (");
	while (n < FILTER_TEXT_MAX - 4)
		n += (size_t)sprintf(text + n, "%u,", 7u);
	n += (size_t)sprintf(text + n, "8)");
	e = filter_expr_new(text, n, &schema, &error);
	assert_non_null(e);
	filter_expr_free(e);
	free(text);
}

/* docs/guides/slurm.md has this pattern for the jobs of each kind and version of Slurm's cgroups. */
static void jobs_of_slurm(void **state)
{
	static const char pattern[] = "*slurm*/step_*";
	static const struct {
		const char *path;
		bool job;
	} cases[] = {
		{ "/slurm/uid_1000/job_42/step_batch/task_0", true },
		{ "/slurm_node7/uid_1000/job_42/step_0", true },
		{ "/system.slice/slurmstepd.scope/job_42/step_0/user/task_0", true },
		{ "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0", true },
		{ "/system.slice/node7_slurmstepd.scope/s5K1KKYAYG5D00/step_extern/user/task_special", true },
		{ "/system.slice/slurmstepd.scope/system", false },
		{ "/system.slice/slurmd.service", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (glob_match(pattern, cases[i].path, strlen(cases[i].path)) != cases[i].job)
			fail_msg("%s", cases[i].path);
}

/* Does what glob_match does by trying everything. */
static bool slow_glob(const char *p, const char *t)
{
	if (*p == '*')
		return slow_glob(p + 1, t) || (*t && slow_glob(p, t + 1));
	if (*p == '\0' || *t == '\0')
		return *p == *t;
	return (*p == '?' || *p == *t) && slow_glob(p + 1, t + 1);
}

static void globs_of_all_kinds(void **state)
{
	unsigned seed = 1, matches = 0;

	(void)state;
	for (unsigned n = 0; n < 200000; n++) {
		char pattern[9] = "", text[13] = "";

		for (size_t i = 0; i < 8; i++) {
			seed = seed * 1103515245 + 12345;
			pattern[i] = "aab*?*b\0"[seed >> 16 & 7];
		}
		for (size_t i = 0; i < 12; i++) {
			seed = seed * 1103515245 + 12345;
			text[i] = "aabbab\0b"[seed >> 16 & 7];
		}
		if (glob_match(pattern, text, strlen(text)) != slow_glob(pattern, text))
			fail_msg("'%s' of '%s'", pattern, text);
		matches += slow_glob(pattern, text);
	}
	assert_in_range(matches, 20000, 180000);
}

/* The matcher searches a long text in parts: it finds a match in any part, also one that begins in the part before. */
static void long_texts(void **state)
{
	static char name[4001];
	struct process p = { .tool = name };

	(void)state;
	for (size_t at = 0; at < sizeof(name) - 5; at += 7) {
		memset(name, 'a', sizeof(name) - 1);
		memcpy(name + at, "bcdc", 4);
		assert_true(is("tool matches 'bc?d'", &p));
		assert_true(is("tool matches '(*NO_JIT)bc?d'", &p));
		assert_true(is("tool matches 'b.*a$' and tool matches '(*NO_JIT)b.*a$'", &p));
		assert_int_equal(is("tool matches '(?<=a)bc' and tool matches '(*NO_JIT)(?<=a)bc'", &p), at > 0);
		assert_int_equal(is("tool matches '\\\\Gb'", &p), at == 0);
		assert_int_equal(is("tool matches '^b'", &p), at == 0);
		assert_true(is("tool matches '(*NO_JIT)b.{1,3000}c|[bx]cd'", &p));
	}
	/* from every place, in any part */
	memset(name, 'a', sizeof(name) - 1);
	for (size_t at = 1; at < sizeof(name) - 1; at++)
		name[at] = at % 2 ? 'a' : 'b';
	name[0] = 'c';
	assert_false(is("tool matches '[ac](*COMMIT)b'", &p));
	assert_false(is("tool matches '(*NO_JIT)[ac](*COMMIT)b'", &p));
}

/* A search that takes too many steps or too much depth is no match and ends soon. */
static void patient_expressions(void **state)
{
	char *name = malloc(200001), text[700];
	struct process p = { .tool = name };
	struct filter_error error;
	struct filter_expr *e;
	struct timespec before, after;
	double seconds;

	(void)state;
	assert_non_null(name);
	memset(name, 'a', 200000);
	name[200000] = '\0';
	assert_true(is("tool matches '^a+'", &p));
	assert_false(is("tool matches 'a$'", &p)); /* the first 4,096 bytes end here, the text goes on */
	/* by compiled code, and by the interpreter in memory of its own */
	for (int way = 0; way < 2; way++) {
		static const char *const patient[] = { "(a+)+b", "(a|aa)+$", "^(.*a){12}x", "(?:(?:(?:a?)*)*)*c",
						       "(a+)+$", "^(ab?)*c" };
		const char *by = way ? "(*NO_JIT)" : "";

		for (size_t i = 0; i < 2 * sizeof(patient) / sizeof(patient[0]); i++) {
			snprintf(text, sizeof(text), "tool matches '%s%s'", by, patient[i / 2]);
			/* each place of the text costs as many steps as the limit permits */
			for (size_t j = 10; j < 200000; j += 11)
				name[j] = i % 2 ? '!' : 'a';
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
			assert_false(is(text, &p));
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
			seconds =
				(double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
			print_message("%s: %.3f ms\n", text, seconds * 1e3);
			if (seconds > 60) /* without limits it would take hours */
				fail_msg("%s: %f s", text, seconds);
		}
		snprintf(text, sizeof(text), "tool matches '%s^bw[a-c]$'", by);
		assert_true(is(text, &bwa));
		assert_false(is(text, &p));
		snprintf(text, sizeof(text), "exe matches '%s^/usr(/[a-z]+)+$'", by);
		assert_true(is(text, &bwa));
	}
	/* of a list only matches that begin in its first 16,384 bytes count */
	for (size_t i = 0; i < 200000; i++)
		name[i] = i % 8 == 7 ? '\0' : 'a';
	p.argv = (struct filter_text){ name, 200000 };
	name[16384 - 8] = 'b';
	assert_true(is("argv matches '^b'", &p));
	name[16384 - 8] = 'a';
	name[16384] = 'b';
	assert_false(is("argv matches '^b'", &p));
	assert_true(is("argv prefix 'b'", &p));
	memset(text, 'x', sizeof(text));
	memcpy(text, "tool matches '", 14);
	text[14 + 512] = '\'';
	e = filter_expr_new(text, 14 + 512 + 1, &schema, &error);
	assert_non_null(e);
	assert_null(filter_expr_free(e));
	text[14 + 512] = 'x';
	text[14 + 513] = '\'';
	assert_null(filter_expr_new(text, 14 + 513 + 1, &schema, &error));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(error.what, "513 bytes; at most 512"));
	free(name);
}

static void reasons(void **state)
{
	static const struct {
		const char *text, *part; /* NULL: it is true */
		uint32_t field;          /* UINT32_MAX: not of one */
	} cases[] = {
		{ "tool = 'bwa'", NULL, 0 },
		{ "tool = 'x'", "tool = 'x'", TOOL },
		{ "tool = 'bwa' and uid = 1 and uid = 2", "uid = 1", UID },
		{ "uid = 1000 and (tool = 'x' or exe = 'y')", "tool = 'x' or exe = 'y'", UINT32_MAX },
		{ "uid = 1000 and not (tool = 'x' or exe suffix 'bwa') and uid = 5",
		  "not (tool = 'x' or exe suffix 'bwa')", EXE },
		{ "not tool = 'bwa'", "not tool = 'bwa'", TOOL },
		{ "uid = 1000 and any parent.tool in ('a', 'b')", "any parent.tool in ('a', 'b')", TOOL },
		{ "parent.tool = 'bash'", "parent.tool = 'bash'", TOOL },
		{ "not wrapper and uid = 1", "not wrapper", WRAPPER },
		{ "(nice = -5 and ( rss_bytes < 1MiB ))", "rss_bytes < 1MiB", RSS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct filter_error error;
		struct filter_expr *e = filter_expr_new(cases[i].text, strlen(cases[i].text), &schema, &error);
		struct filter_reason why;

		assert_non_null(e);
		assert_int_equal(filter_expr_reason(e, get, &bwa, &why), cases[i].part != NULL);
		if (cases[i].part) {
			if (why.length != strlen(cases[i].part) ||
			    memcmp(cases[i].text + why.at, cases[i].part, why.length) != 0)
				fail_msg("%s: %.*s", cases[i].text, (int)why.length, cases[i].text + why.at);
			assert_int_equal(why.field, cases[i].field);
			if (why.field == UID)
				assert_int_equal(why.value.u, 1000);
			assert_int_equal(why.of_any, strncmp(cases[i].part, "any", 3) == 0);
			if (strncmp(cases[i].part, "parent", 6) == 0)
				assert_int_equal(why.known, FILTER_UNKNOWN);
		}
		filter_expr_free(e);
	}
}

static void shown(void **state)
{
	static const char text[] = "tool = 'a'\n\tand uidd = 5\n";
	struct filter_error error;
	char to[256], small[8];

	(void)state;
	assert_null(filter_expr_new(text, strlen(text), &schema, &error));
	assert_true(filter_error_show(&error, text, strlen(text), to, sizeof(to)) < (int)sizeof(to));
	assert_string_equal(to, "\tand uidd = 5\n\t    ^~~~");
	assert_int_equal(filter_error_show(&error, text, strlen(text), small, sizeof(small)), (int)strlen(to));
	assert_string_equal(small, "\tand ui");
	/* a character of several bytes takes one place */
	assert_null(filter_expr_new("tool = 'd\xc3\xa9j\xc3\xa0' x", 17, &schema, &error));
	filter_error_show(&error, "tool = 'd\xc3\xa9j\xc3\xa0' x", 17, to, sizeof(to));
	assert_string_equal(to, "tool = 'd\xc3\xa9j\xc3\xa0' x\n              ^");
	assert_int_equal(error.at, 16);
	/* a long line: the part around it */
	{
		struct filter_error at = { .line = 1, .column = 301, .length = 3 };
		char line[401], want[256];

		memset(line, 'a', 400);
		memcpy(line + 300, "bad", 3);
		memset(want, 'a', 110);
		memcpy(want, "...", 3);
		memcpy(want + 3 + 40, "bad", 3);
		memcpy(want + 3 + 110, "...\n", 4);
		memset(want + 50, 'a', 3 + 110 - 50);
		memcpy(want + 3 + 40, "bad", 3);
		memset(want + 117, ' ', 43);
		memcpy(want + 160, "^~~", 4);
		filter_error_show(&at, line, 400, to, sizeof(to));
		assert_string_equal(to, want);
		at.column = 11;
		filter_error_show(&at, line, 400, to, sizeof(to));
		assert_int_equal(strlen(to), 110 + 3 + 1 + 10 + 3);
		assert_non_null(strstr(to, "aaa...\n          ^~~"));
	}
}

/* What any user can make true of a process, and what not. */
static void fixed(void **state)
{
	static const struct {
		const char *text;
		bool fixed;
	} cases[] = {
		{ "tool = 'date'", false },
		{ "uid = 0", true },
		{ "uid < 1000 and tool = 'date'", true },
		{ "uid = 0 or tool = 'date'", false },
		{ "(uid = 0 or uid = 33) and (tool = 'a' or tool = 'b')", true },
		{ "not uid = 1000", false },
		{ "uid != 1000", false },
		{ "parent.uid = 0", false },
		{ "any parent.uid = 0 and tool = 'x'", false },
		{ "exe prefix ('/usr/bin/', '/bin/')", true },
		{ "exe prefix ('/usr/bin/', 'bin/')", false },
		{ "exe in ('/usr/bin/date')", true },
		{ "exe suffix '/date'", false },
		{ "exe prefix '/usr/bin/' and exe suffix '/date'", true },
		{ "wrapper", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct filter_error error;
		struct filter_expr *e = filter_expr_new(cases[i].text, strlen(cases[i].text), &schema, &error);

		if (!e)
			fail_msg("%s: %s", cases[i].text, error.what);
		if (filter_expr_is_fixed(e, &schema) != cases[i].fixed)
			fail_msg("%s: %s", cases[i].text,
				 cases[i].fixed ? "wanted: fixed" : "wanted: any user's choice");
		filter_expr_free(e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed),
		cmocka_unit_test(meanings),
		cmocka_unit_test(escapes),
		cmocka_unit_test(no_ancestors),
		cmocka_unit_test(no_more_than_needed),
		cmocka_unit_test(wrong_ones),
		cmocka_unit_test(limits),
		cmocka_unit_test(patient_expressions),
		cmocka_unit_test(long_texts),
		cmocka_unit_test(jobs_of_slurm),
		cmocka_unit_test(globs_of_all_kinds),
		cmocka_unit_test(reasons),
		cmocka_unit_test(shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
