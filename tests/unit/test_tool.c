/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tool recognition: the tool of a command line by the built-in table, the effect of a user's table, and the errors of a
 * wrong one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/identify/tool.h"

/* exe, words of argv separated by '|', expected tool. */
struct sample {
	const char *exe;
	const char *argv;
	const char *name;
	bool wrapper;
};

static struct tools *tools;

static int setup(void **state)
{
	struct diag diag;

	(void)state;
	diag_init(&diag);
	tools = tools_new(NULL, &diag);
	diag_print(&diag, stderr);
	diag_clear(&diag);
	return tools ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	tools = tools_free(tools);
	return 0;
}

static struct skep_str str(const char *text)
{
	return (struct skep_str){ .ptr = text, .len = (uint32_t)strlen(text), .total = (uint32_t)strlen(text) };
}

/* "a|b" becomes "a\0b\0", exactly as long, on the heap: the sanitizer finds a read behind it. */
static struct skep_str list(const char *words)
{
	size_t len = *words ? strlen(words) + 1 : 0;
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	for (size_t i = 0; i < len; i++)
		copy[i] = words[i] == '|' ? '\0' : words[i];
	return (struct skep_str){ .ptr = copy, .len = (uint32_t)len, .total = (uint32_t)len };
}

static void check(const struct tools *with, const char *exe, const char *filename, const char *words, const char *comm,
		  const char *name, bool wrapper)
{
	struct skep_str e = str(exe), f = str(filename), c = str(comm), argv = list(words);
	struct tool_name ret;

	memset(&ret, 0xa5, sizeof(ret));
	tools_recognize(with, &e, &f, &argv, &c, &ret);
	free((void *)argv.ptr);
	if (strcmp(ret.name, name) != 0 || ret.wrapper != wrapper)
		fail_msg("%s [%s] is shown as '%s'%s, not '%s'%s", exe, words, ret.name,
			 ret.wrapper ? " (wrapper)" : "", name, wrapper ? " (wrapper)" : "");
}

static void check_all(const struct sample *samples, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check(tools, samples[i].exe, samples[i].exe, samples[i].argv, "comm", samples[i].name,
		      samples[i].wrapper);
}
#define CHECK_ALL(samples) check_all(samples, sizeof(samples) / sizeof((samples)[0]))

static void test_interpreters(void **state)
{
	static const struct sample samples[] = {
		{ "/usr/bin/python3.11", "python|/path/x.py", "x.py", false },
		{ "/usr/bin/python3.11", "python3|-u|x.py|--in|y", "x.py", false },
		{ "/usr/bin/python3.11", "python|-W|ignore|-m|pytest|x", "pytest", false },
		{ "/usr/bin/python3.11", "python|-Wignore|-X|dev|-u|x.py", "x.py", false },
		{ "/usr/bin/python3.11", "python|-m|pip|--quiet|install|numpy", "pip install", false },
		{ "/usr/bin/python3.11", "python|-mpip|install|numpy", "pip install", false },
		{ "/usr/bin/python3.11", "python|-c|print(1)", "python -c", false },
		{ "/usr/bin/python3.11", "python3.11|-c|print(1)", "python3 -c", false },
		{ "/usr/bin/python3.11", "python3|-uc|print(1)", "python3 -c", false },
		{ "/usr/bin/python3.11", "python3|-cprint(1)", "python3 -c", false },
		{ "/usr/bin/python3.11", "python3.11", "python3", false },
		{ "/usr/bin/python3.11", "python|-", "python", false },
		{ "/usr/bin/python3.11", "", "python3", false },
		{ "/usr/bin/python3.11", "/usr/bin/python3|/dev/stdin", "python3", false },
		{ "/usr/bin/python3.11", "python|/usr/bin/snakemake|--cores|2", "snakemake", false },
		{ "/env/bin/python3.12", "/env/bin/python|/env/bin/pytest|-x", "pytest", false },
		{ "/usr/bin/python3.11", "python|pkg/", "pkg", false },
		{ "/usr/bin/python3.11", "python|.", "python", false },
		{ "/usr/bin/python3.11", "python3|-m|cProfile|-o|out|train.py", "train.py", false },
		{ "/usr/bin/python3.11", "python|-m|torch.distributed.run|--nproc_per_node|4|train.py", "train.py",
		  true },
		{ "/usr/bin/python3.11", "python|/x/bin/coverage|run|-m|pytest", "pytest", false },
		{ "/usr/bin/pypy3.9", "pypy3|x.py", "x.py", false },
		{ "/usr/bin/python3-config", "python3-config|--libs", "python3-config", false },
		{ "/usr/bin/bash", "-bash", "bash", false },
		{ "/usr/bin/bash", "bash|x.sh|arg", "x.sh", false },
		{ "/usr/bin/bash", "bash|-eu|-o|pipefail|/a/x.sh", "x.sh", false },
		{ "/usr/bin/bash", "bash|+x|x.sh", "x.sh", false },
		{ "/usr/bin/bash", "bash|+o|posix|x.sh", "x.sh", false },
		{ "/usr/bin/bash", "bash|--|-x.sh", "-x.sh", false },
		{ "/usr/bin/bash", "bash|-s|arg", "bash", false },
		{ "/usr/bin/bash", "bash|/dev/fd/63", "bash", false },
		{ "/usr/bin/bash", "bash|/dev/shm/job/align.sh", "align.sh", false },
		{ "/usr/bin/dash", "sh|x", "x", false },
		{ "/usr/bin/dash", "sh|-c|a; b", "sh -c", false },
		{ "/usr/bin/perl", "perl|-w|-I|lib|x.pl", "x.pl", false },
		{ "/usr/bin/perl", "perl|-w|-Ilib|x.pl", "x.pl", false },
		{ "/usr/bin/perl", "perl|-lane|print", "perl -e", false },
		{ "/usr/bin/perl", "perl|-i.bake|x.pl", "x.pl", false },
		{ "/usr/bin/perl", "perl|-MList::Util=reduce|x.pl", "x.pl", false },
		{ "/usr/bin/perl", "perl|-pi|-e|s/a/b/|f", "perl -e", false },
		{ "/usr/lib/R/bin/exec/R", "/usr/lib/R/bin/exec/R|--no-echo|--no-restore|--file=x.R|--args|a", "x.R",
		  false },
		{ "/usr/lib/R/bin/exec/R", "R|-f|/p/x.R", "x.R", false },
		{ "/usr/lib/R/bin/exec/R", "R|--vanilla|-e|1", "R -e", false },
		{ "/usr/bin/dash", "/bin/sh|/usr/lib/R/bin/R|CMD|INSTALL|x", "R CMD INSTALL", false },
		{ "/usr/bin/Rscript", "Rscript|--vanilla|x.R", "x.R", false },
		{ "/usr/bin/Rscript", "Rscript|-e|1+1", "Rscript -e", false },
		{ "/usr/bin/ruby3.1", "ruby|-Ilib|x.rb", "x.rb", false },
		{ "/usr/bin/julia", "julia|--threads|4|-O3|x.jl", "x.jl", false },
		{ "/usr/bin/node", "node|--max-old-space-size=4096|app.js", "app.js", false },
		{ "/usr/bin/node", "node|-e|1", "node -e", false },
		{ "/usr/bin/node", "node|/usr/bin/npm|run|build", "npm run", false },
		{ "/usr/bin/php8.2", "php|-d|a=b|x.php", "x.php", false },
		{ "/usr/bin/lua5.4", "lua5.4|-e|1", "lua5 -e", false },
		{ "/usr/bin/mawk", "awk|-F:|{print $1}|/etc/passwd", "awk", false },
		{ "/usr/bin/gawk", "gawk|-v|a=1|-f|x.awk|f", "x.awk", false },
		{ "/opt/matlab/bin/glnxa64/MATLAB", "matlab|-nodisplay|-batch|run", "matlab -batch", false },
		{ "/usr/bin/octave-cli-7.3.0", "octave|--no-gui|x.m", "x.m", false },
		{ "/usr/bin/tclsh8.6", "tclsh|x.tcl", "x.tcl", false },
		{ "/usr/share/dotnet/dotnet", "dotnet|build|x.sln", "dotnet build", false },
		{ "/usr/share/dotnet/dotnet", "dotnet|/app/x.dll", "x.dll", false },
		{ "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "ld.so|--library-path|/l|./prog|a", "prog", false },
	};

	(void)state;
	CHECK_ALL(samples);
}

static void test_java(void **state)
{
	static const struct sample samples[] = {
		{ "/usr/lib/jvm/java-17/bin/java", "java|-Xmx4g|-Dx=y|-jar|/p/picard.jar|MarkDuplicates|I=a",
		  "picard MarkDuplicates", false },
		{ "/usr/lib/jvm/java-17/bin/java", "java|-jar|picard.jar|CollectAlignmentSummaryMetrics",
		  "picard CollectAlignmentSummaryMetrics", false },
		{ "/usr/lib/jvm/java-17/bin/java", "java|-jar|tool-1.2.jar|run", "tool-1.2", false },
		{ "/usr/lib/jvm/java-17/bin/java", "java|-jar|trimmomatic-0.39.jar|PE|-threads|4", "trimmomatic PE",
		  false },
		{ "/usr/lib/jvm/java-17/bin/java",
		  "java|-Xmx1g|-jar|gatk-package-4.2.0.0-local.jar|HaplotypeCaller|-I|x", "gatk HaplotypeCaller",
		  false },
		{ "/usr/lib/jvm/java-17/bin/java", "java|-jar|/p/GenomeAnalysisTK.jar|-nt|2|-T|HaplotypeCaller",
		  "gatk3 HaplotypeCaller", false },
		{ "/usr/lib/jvm/java-17/bin/java", "java|-cp|a.jar:b.jar|org.x.Main|y", "Main", false },
		{ "/usr/lib/jvm/java-17/bin/java",
		  "java|-classpath|a.jar|--add-opens|java.base/x=y|nextflow.cli.Launcher|run|p", "nextflow run",
		  false },
		{ "/usr/lib/jvm/java-17/bin/java", "java|Hello.java", "Hello.java", false },
		{ "/usr/lib/jvm/java-17/bin/java", "java|-version", "java", false },
	};

	(void)state;
	CHECK_ALL(samples);
}

static void test_wrappers(void **state)
{
	static const struct sample samples[] = {
		{ "/usr/bin/env", "env|-i|-u|HOME|A=1|B=2|samtools|sort|x", "samtools sort", true },
		{ "/usr/bin/env", "env|python3|/p/x.py", "x.py", true },
		{ "/usr/bin/env", "env|-S|python|x.py", "x.py", true },
		{ "/usr/bin/env", "/usr/bin/env|-S python3 -u|/p/x.py", "x.py", true },
		{ "/usr/bin/env", "env|-S|A=1 python3 -c 'import x; y'", "python3 -c", true },
		{ "/usr/bin/env", "env|-|A=1|ls", "ls", true },
		{ "/usr/bin/env", "env", "env", false },
		{ "/usr/bin/env", "env|A=1", "env", false },
		{ "/usr/bin/nice", "nice|-n|10|samtools|sort", "samtools sort", true },
		{ "/usr/bin/nice", "nice|-10|nice|bwa|mem", "bwa mem", true },
		{ "/usr/bin/ionice", "ionice|-c2|-n7|dd", "dd", true },
		{ "/usr/bin/ionice", "ionice|-p|12|13", "ionice", false },
		{ "/usr/bin/time", "/usr/bin/time|-v|samtools|sort", "samtools sort", true },
		{ "/usr/bin/time", "time|-o|log|-f|%e|/x/y.sh", "y.sh", true },
		{ "/usr/bin/timeout", "timeout|-k|5|10m|python|x.py", "x.py", true },
		{ "/usr/bin/timeout", "timeout|10", "timeout", false },
		{ "/usr/bin/nohup", "nohup|./run.sh", "run.sh", true },
		{ "/usr/bin/stdbuf", "stdbuf|-oL|grep|x", "grep", true },
		{ "/usr/bin/chrt", "chrt|-f|10|x", "x", true },
		{ "/usr/bin/chrt", "chrt|-p|10|1234", "chrt", false },
		{ "/usr/bin/taskset", "taskset|-c|0-3|bwa|mem", "bwa mem", true },
		{ "/usr/bin/taskset", "taskset|0x3|bwa|mem", "bwa mem", true },
		{ "/usr/bin/numactl", "numactl|-N|0|-m|0|x", "x", true },
		{ "/usr/bin/sudo", "sudo|-u|bob|A=1|--|git|-C|/r|gc", "git gc", true },
		{ "/usr/bin/sudo", "sudo|-i", "sudo", false },
		{ "/usr/bin/sudo", "sudo|-l|-U|bob", "sudo", false },
		{ "/usr/bin/su", "su|-|bob|-c|samtools sort x", "samtools sort", true },
		{ "/usr/bin/su", "su|bob", "su", false },
		{ "/usr/sbin/chroot", "chroot|--userspec=a:b|/mnt|ls", "ls", true },
		{ "/usr/bin/unshare", "unshare|-m|--propagation|private|ls", "ls", true },
		{ "/usr/bin/nsenter", "nsenter|-t|1|-m|-p|ls", "ls", true },
		{ "/usr/bin/xargs", "xargs|-0|-n|1|-P|4|-I|{}|gzip|{}", "gzip", true },
		{ "/usr/bin/flock", "flock|-w|5|/l|make", "make", true },
		{ "/usr/bin/flock", "flock|/l|-c|samtools index x", "samtools index", true },
		{ "/usr/bin/strace", "strace|-f|-o|/t|-e|trace=open|ls", "ls", true },
		{ "/usr/bin/perf", "perf|stat|-e|cycles|-r|3|ls", "ls", true },
		{ "/usr/bin/perf", "perf|stat|-p|12", "perf stat", false },
		{ "/usr/bin/perf", "perf|report", "perf report", false },
		{ "/usr/bin/python3.11", "/c/bin/python|/c/bin/conda|run|-n|x|samtools|sort", "samtools sort", true },
		{ "/usr/bin/python3.11", "/c/bin/python|/c/bin/conda|env|list", "conda env list", false },
		{ "/usr/bin/python3.11", "/c/bin/python|/c/bin/conda|install|x", "conda install", false },
		{ "/b/micromamba", "micromamba|run|-n|x|python|y.py", "y.py", true },
		{ "/b/uv", "uv|run|--with|x|train.py", "train.py", true },
		{ "/b/uv", "uv|pip|install|x", "uv pip install", false },
		{ "/b/apptainer", "apptainer|exec|-B|/d|img.sif|samtools|sort", "samtools sort", true },
		{ "/b/apptainer", "apptainer|run|img.sif", "apptainer run", false },
		{ "/b/srun", "srun|-n|4|--mem|4G|--pty|python|x.py", "x.py", true },
		{ "/b/mpirun", "mpirun|-np|4|--mca|btl|self|./sim|in", "sim", true },
		{ "/b/docker", "docker|-H|x|run|--rm|img|ls", "docker run", false },
		{ "/b/docker", "docker|compose|-f|x.yml|up", "docker compose up", false },
		{ "/usr/bin/x86_64-linux-gnu-gcc-12", "gcc|-c|x.c", "gcc", false },
		{ "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "cc1|-quiet", "cc1", false },
	};

	(void)state;
	CHECK_ALL(samples);
}

static void test_shell_code(void **state)
{
	static const struct sample samples[] = {
		{ "/usr/bin/bash", "bash|-c|samtools sort -o 'a b' x", "samtools sort", true },
		{ "/usr/bin/bash", "bash|-lc|  FOO=1 \"/opt/my tools/bwa\" mem\n", "bwa mem", true },
		{ "/usr/bin/bash", "bash|-c|-e|exec python3 x.py", "x.py", true },
		{ "/usr/bin/bash", "bash|-c|nice -n 5 python3 -m pip install x", "pip install", true },
		{ "/usr/bin/bash", "bash|-c|bash -c 'bash -c \"git -C /x gc\"'", "git gc", true },
		{ "/usr/bin/bash", "bash|-c|a\\ b.sh x", "a b.sh", true },
		{ "/usr/bin/bash", "bash|-c|xargs -I {} cp {} x", "cp", true },
		{ "/usr/bin/bash", "bash|-c|a && b", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|a || b", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|a; b", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|a & ", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|a > b", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|a < b", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|a $(b)", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|a \"$(b)\"", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|a `b`", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|a\nb", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|$TOOL x", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|a 'b", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|! a", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|A=1", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|", "bash -c", false },
		{ "/usr/bin/bash", "bash|-c|grep 'a;b|c' x", "grep", true },
		{ "/usr/bin/bash", "bash|-c", "bash", false },
	};

	(void)state;
	/* '|' separates the list here; a test below has code with a pipe. */
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		if (!strstr(samples[i].argv, "||") && !strstr(samples[i].argv, "'a;b|"))
			check(tools, samples[i].exe, samples[i].exe, samples[i].argv, "comm", samples[i].name,
			      samples[i].wrapper);
}

static void check_list(const char *exe, const char *argv, size_t len, size_t total, const char *name, bool wrapper)
{
	struct skep_str e = str(exe), none = { .len = 0 }, comm = str("comm");
	struct skep_str list_ = { .ptr = argv, .len = (uint32_t)len, .total = (uint32_t)total };
	struct tool_name ret;

	tools_recognize(tools, &e, &none, &list_, &comm, &ret);
	assert_string_equal(ret.name, name);
	assert_int_equal(ret.wrapper, wrapper);
}

static void test_shell_code_pipes(void **state)
{
	static const char pipe[] = "bash\0-c\0a | b", either[] = "bash\0-c\0a || b",
			  quoted[] = "bash\0-c\0grep 'a;b|c' x", one[] = "bash\0-c\0samtools sort x";

	(void)state;
	check_list("/bin/bash", pipe, sizeof(pipe), sizeof(pipe), "bash -c", false);
	check_list("/bin/bash", either, sizeof(either), sizeof(either), "bash -c", false);
	check_list("/bin/bash", quoted, sizeof(quoted), sizeof(quoted), "grep", true);
	check_list("/bin/bash", one, sizeof(one), sizeof(one), "samtools sort", true);
	/* The kernel side cut the list here: the rest may be "; rm -r x". */
	check_list("/bin/bash", one, sizeof(one) - 1, sizeof(one) + 9, "bash -c", false);
	check_list("/bin/bash", one, sizeof(one), sizeof(one) + 9, "bash -c", false);
}

static void test_long_shell_code(void **state)
{
	size_t len = 100000;
	char *argv = malloc(len);

	(void)state;
	assert_non_null(argv);
	memset(argv, 'x', len);
	memcpy(argv, "bash\0-c\0samtools sort ", 22);
	argv[len - 1] = '\0';
	check_list("/bin/bash", argv, len, len, "samtools sort", true);
	argv[len - 10] = ';';
	check_list("/bin/bash", argv, len, len, "bash -c", false);
	free(argv);
}

static void test_subcommands(void **state)
{
	static const struct sample samples[] = {
		{ "/usr/bin/samtools", "samtools|sort|-@|4", "samtools sort", false },
		{ "/usr/bin/samtools", "samtools|--version", "samtools", false },
		{ "/usr/bin/samtools", "samtools|./sort", "samtools", false },
		{ "/usr/bin/samtools", "samtools|9sort", "samtools", false },
		{ "/usr/bin/samtools", "samtools|averyveryverylongwordthatisnosubcommandatall", "samtools", false },
		{ "/usr/bin/bwa", "bwa|mem|-t|4", "bwa mem", false },
		{ "/usr/bin/git", "git|-C|/x|-c|a=b|gc", "git gc", false },
		{ "/usr/bin/git", "git|--git-dir=/x|remote|add|o", "git remote add", false },
		{ "/usr/bin/python3.11", "python|/g/gatk|--java-options|-Xmx4g|HaplotypeCaller", "gatk HaplotypeCaller",
		  false },
		{ "/usr/bin/python3.11", "python|/usr/bin/aws|--profile|p|s3|cp|a|b", "aws s3 cp", false },
		{ "/usr/bin/ip", "ip|-n|ns|link|set", "ip link", false },
		{ "/usr/bin/systemctl", "systemctl|--user|restart|x", "systemctl restart", false },
		{ "/usr/bin/openssl", "openssl|enc|-aes", "openssl enc", false },
		{ "/usr/bin/minimap2", "minimap2|-t|4|a", "minimap2", false },
		{ "/usr/bin/busybox", "ls|-l", "ls", false },
		{ "/usr/bin/busybox", "busybox|sh|x.sh", "x.sh", false },
		{ "/usr/bin/busybox", "/bin/busybox|nice|ls", "ls", true },
		{ "/usr/bin/busybox", "sh|-c|ls -l", "ls", true },
		{ "/usr/bin/busybox", "busybox|--list", "busybox", false },
		{ "/usr/bin/coreutils", "coreutils|--coreutils-prog=ls|-l", "ls", false },
	};

	(void)state;
	CHECK_ALL(samples);
}

static void test_paths(void **state)
{
	(void)state;
	/* A script: its interpreter's argv names it; with an unknown interpreter the file name of the exec does. */
	check(tools, "/usr/bin/python3.11", "/p/x.py", "/usr/bin/python3|/p/x.py", "x.py", "x.py", false);
	check(tools, "/opt/strange", "/p/x.foo", "/opt/strange|-v|/p/x.foo|a", "x.foo", "x.foo", false);
	check(tools, "/opt/strange", "/opt/link", "/opt/link|a", "link", "strange", false);
	check(tools, "/usr/bin/python3.11", "/p/x.py", "", "x.py", "x.py", false);
	check(tools, "/usr/bin/python3.11", "/usr/bin/python", "", "python", "python", false);
	check(tools, "/usr/bin/busybox", "/bin/ls", "", "ls", "ls", false);
	check(tools, "/usr/bin/samtools (deleted)", "samtools", "samtools|sort", "samtools", "samtools sort", false);
	check(tools, "/memfd:runc_cloned:/proc/self/exe (deleted)", "/proc/self/fd/6", "runc|init", "runc",
	      "memfd:runc_cloned", false);
	check(tools, "", "", "", "kworker/0:1-ev", "kworker/0:1-ev", false);
	check(tools, "", "", "samtools|sort", "samtools", "samtools sort", false);
	check(tools, "", "", "sshd: bob [priv]", "sshd", "sshd", false);
	check(tools, "", "/usr/bin/x", "anything", "x", "x", false);
	check(tools, "", "", "", "", "?", false);
	check(tools, "/usr/bin/a\x1b[31mb", "", "", "", "a?[31mb", false);
	check(tools, "/usr/bin/a\xc2\x9b" "31mb", "", "", "", "a??31mb", false);
	/* No name: a file of no folder, or of a folder that moved away. */
	check(tools, "/", "", "", "", "?", false);
	check(tools, "/", "/dev/fd/3", "samtools|sort", "3", "samtools sort", false);
	check(tools, "...", "/opt/bin/bwa", "bwa|mem", "bwa", "bwa mem", false);
	check(tools, ".../bin/samtools", "/dev/fd/3", "samtools|sort", "3", "samtools sort", false);
	check(tools, "/memfd:samtools (deleted)", "/dev/fd/3", "x|sort", "3", "memfd:samtools", false);
}

static void test_long_names(void **state)
{
	char name[300];

	(void)state;
	/* 126 letters, then a character of two, three or four bytes that does not fit and is left out. */
	for (int bytes = 2; bytes <= 4; bytes++) {
		static const char *const characters[] = { "", "", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x90\x9d" };
		char path[400];
		struct skep_str exe, none = { .len = 0 };
		struct tool_name ret;

		for (int front = 120; front <= 127; front++) {
			memset(name, 'n', (size_t)front);
			strcpy(name + front, characters[bytes]);
			strcat(name, "tail");
			snprintf(path, sizeof(path), "/usr/bin/%s", name);
			exe = str(path);
			tools_recognize(tools, &exe, &none, &none, &none, &ret);
			assert_true(strlen(ret.name) < sizeof(ret.name));
			assert_memory_equal(ret.name, name, strlen(ret.name));
			if (front + bytes > 127)
				assert_int_equal(strlen(ret.name), front);
			else
				assert_true(strlen(ret.name) >= (size_t)(front + bytes));
		}
	}
}

static void test_endless(void **state)
{
	char argv[10000];

	(void)state;
	for (size_t i = 0; i < sizeof(argv); i += 5)
		memcpy(argv + i, "nice", 5);
	check_list("/usr/bin/nice", argv, sizeof(argv), sizeof(argv), "nice", true);
	check_list("/usr/bin/x", NULL, 0, 0, "x", false);
}

/* ---- a user's table -------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void test_user_tables(void **state)
{
	char folder[] = "/tmp/skep-test-tool-XXXXXX", a[64], b[64], other[64];
	const char *more[] = { folder, NULL };
	struct tools *mine;
	struct diag diag;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(a, sizeof(a), "%s/a.json", folder);
	snprintf(b, sizeof(b), "%s/b.json", folder);
	snprintf(other, sizeof(other), "%s/b.json.bak", folder);
	write_file(a, "{ \"programs\": [ // ours\n"
		      "  { \"match\": [\"ourtool\"], \"operand\": \"subcommand\", \"options_with_value\": [\"-d\"] },\n"
		      "  { \"match\": [\"launch\"], \"operand\": \"command\", \"skip\": 2 },\n"
		      "  { \"match\": [\"both\"], \"operand\": \"none\", \"name\": \"first\" } ] }\n");
	write_file(b, "{ \"programs\": [ { \"match\": [\"bo*\"], \"operand\": \"none\", \"name\": \"second\" },\n"
		      "  { \"match\": [\"samtools\"], \"operand\": \"none\" } ] }\n");
	write_file(other, "not read");
	diag_init(&diag);
	mine = tools_new(more, &diag);
	diag_print(&diag, stderr);
	assert_non_null(mine);
	assert_int_equal(diag.n, 0);
	check(mine, "/x/ourtool", "", "ourtool|-d|x|sync|y", "", "ourtool sync", false);
	check(mine, "/x/launch", "", "launch|q1|8|bwa|mem", "", "bwa mem", true);
	check(mine, "/x/both", "", "both", "", "second", false); /* the later in byte order, although a glob */
	check(mine, "/x/samtools", "", "samtools|sort", "", "samtools", false);
	check(mine, "/x/bcftools", "", "bcftools|view", "", "bcftools view", false);
	check(tools, "/x/ourtool", "", "ourtool|-d|x|sync|y", "", "ourtool", false);
	tools_free(mine);
	diag_clear(&diag);
	unlink(a);
	unlink(b);
	unlink(other);
	rmdir(folder);
}

static void test_wrong_tables(void **state)
{
	static const struct {
		const char *text;
		int line;
		const char *error;
	} samples[] = {
		{ "{ \"programs\": [\n  { \"match\": [\"x\"], \"operand\": \"subcomand\" } ] }", 2,
		  "programs[0].operand: unknown operand \"subcomand\": did you mean \"subcommand\"?" },
		{ "{ \"programs\": [\n\n { \"match\": [\"x\"], \"optoins_with_value\": [] } ] }", 3,
		  "programs[0]: unknown key \"optoins_with_value\": did you mean \"options_with_value\"?" },
		{ "{ \"programs\": [ {} ] }", 1, "programs[0]: has no \"match\"" },
		{ "{ \"programs\": [ { \"match\": [] } ] }", 1, "programs[0].match: is empty" },
		{ "{ \"programs\": [ { \"match\": \"x\" } ] }", 1,
		  "programs[0].match: is the string \"x\": give a list" },
		{ "{ \"programs\": [ { \"match\": [\"/bin/x\"] } ] }", 1, "\"/bin/x\" has a slash" },
		{ "{ \"programs\": [ { \"match\": [\"x[a\"] } ] }", 1, "a '[' without its ']'" },
		{ "{ \"programs\": [ { \"match\": [\"x\"], \"code_options\": [\"e\"] } ] }", 1,
		  "\"e\" is not an option: write it with its dashes, as \"-e\"" },
		{ "{ \"programs\": [ { \"match\": [\"x\"], \"code_options\": [\"-e\"], \"jar_options\": [\"-e\"] } ] }",
		  1, "names option \"-e\" more than once" },
		{ "{ \"programs\": [ { \"match\": [\"x\"], \"skip\": 99 } ] }", 1,
		  "programs[0].skip: is the integer 99: give a whole number from 0 to 8" },
		{ "{ \"programs\": [ { \"match\": [\"x\"], \"permute\": 1 } ] }", 1, "give true or false" },
		{ "{ \"programs\": [ { \"match\": [\"x\"], \"name\": \"\" } ] }", 1,
		  "give a string that is not empty" },
		{ "{ \"programs\": 5 }", 1, "programs: is the integer 5: give a list" },
		{ "{ \"program\": [] }", 1, "unknown key \"program\": did you mean \"programs\"?" },
		{ "[]", 1, "is an array: give an object" },
		{ "{ \"programs\": [\n 5 ] }", 2, "programs[0]: is the integer 5: give an object" },
		{ "{ \"programs\": [ }", 1, "not valid JSON" },
	};
	char file[] = "/tmp/skep-test-tool-XXXXXX";
	const char *more[] = { file, NULL };
	struct diag diag;
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	diag_init(&diag);
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		write_file(file, samples[i].text);
		assert_null(tools_new(more, &diag));
		assert_true(diag.n >= 1);
		assert_string_equal(diag.entries[0].file, file);
		assert_int_equal(diag.entries[0].line, samples[i].line);
		if (!strstr(diag.entries[0].text, samples[i].error))
			fail_msg("'%s' is not in '%s'", samples[i].error, diag.entries[0].text);
		diag_clear(&diag);
	}
	unlink(file);
	assert_null(tools_new(more, &diag));
	assert_non_null(strstr(diag.entries[0].text, "No such file"));
	diag_clear(&diag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interpreters),
		cmocka_unit_test(test_java),
		cmocka_unit_test(test_wrappers),
		cmocka_unit_test(test_shell_code),
		cmocka_unit_test(test_shell_code_pipes),
		cmocka_unit_test(test_long_shell_code),
		cmocka_unit_test(test_subcommands),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_user_tables),
		cmocka_unit_test(test_wrong_tables),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
