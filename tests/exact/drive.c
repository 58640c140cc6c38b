/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/exact/drive.c - starts processes of known behaviour one after the other and writes
 * down, a line of JSON each, what the kernel says of them when they are reaped.
 *
 *   drive WORKLOAD WORKDIR OUT [LONGEST_MS]
 *
 * Counters of /proc/PID/io are read while the process is a zombie (waitid WNOWAIT): they
 * are final then.  LONGEST_MS bounds the longest burn (default 2000).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *out;
static const char *workload, *workdir;

static void put_io(pid_t pid)
{
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char name[64];
		unsigned long long value;

		if (sscanf(line, "%63[^:]: %llu", name, &value) == 2)
			fprintf(out, ", \"%s\": %llu", name, value);
	}
	if (f)
		fclose(f);
}

static void run(char *const argv[])
{
	struct rusage ru;
	siginfo_t info;
	int status;
	pid_t pid;

	fflush(out);
	pid = fork();
	if (pid == 0) {
		/* a core limit of 0 keeps signals from writing into the work folder */
		execv(workload, argv);
		_exit(99);
	}
	if (pid < 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT)) {
		perror("drive");
		exit(1);
	}
	fprintf(out, "{\"case\": \"");
	for (int i = 1; argv[i]; i++)
		fprintf(out, "%s%s", i > 1 ? " " : "", argv[i]);
	fprintf(out, "\", \"pid\": %d", pid);
	put_io(pid);
	if (wait4(pid, &status, 0, &ru) != pid) {
		perror("wait4");
		exit(1);
	}
	fprintf(out, ", \"status\": %d, \"utime_us\": %lld, \"stime_us\": %lld, \"maxrss_kib\": %ld, \"minflt\": %ld, \"majflt\": %ld"
		     ", \"nvcsw\": %ld, \"nivcsw\": %ld}\n",
		status, ru.ru_utime.tv_sec * 1000000LL + ru.ru_utime.tv_usec, ru.ru_stime.tv_sec * 1000000LL + ru.ru_stime.tv_usec,
		ru.ru_maxrss, ru.ru_minflt, ru.ru_majflt, ru.ru_nvcsw, ru.ru_nivcsw);
}

#define RUN(...) run((char *[]){ (char *)workload, __VA_ARGS__, NULL })

int main(int argc, char **argv)
{
	static char *const burns[] = { "1", "2", "5", "10", "50", "100", "200", "500", "1000", "2000", "5000", "10000" };
	static char *const codes[] = { "0", "1", "2", "42", "127", "255" };
	static char *const signals[] = { "1", "2", "6", "9", "11", "15" };
	static char *const threads[] = { "2", "3", "8", "16", "64" };
	long longest = argc > 4 ? atol(argv[4]) : 2000;
	char file[4096], mark[4096];

	if (argc < 4) {
		fprintf(stderr, "usage: drive WORKLOAD WORKDIR OUT [LONGEST_MS]\n");
		return 2;
	}
	workload = argv[1];
	workdir = argv[2];
	out = fopen(argv[3], "we");
	if (!out) {
		perror(argv[3]);
		return 1;
	}
	snprintf(file, sizeof(file), "%s/data", workdir);
	snprintf(mark, sizeof(mark), "%s/daemon-done", workdir);
	for (size_t i = 0; i < sizeof(burns) / sizeof(burns[0]); i++)
		if (atol(burns[i]) <= longest)
			RUN("burn", burns[i]);
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		RUN("burn", "5", threads[i]);
	RUN("burn", "100", "4");
	RUN("rss", "1");
	RUN("rss", "17");
	RUN("rss", "300");
	RUN("write", file, "12345678");
	RUN("read", file);
	RUN("direct", file, "4194304");
	RUN("read", file);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		RUN("exit", codes[i]);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		RUN("kill", signals[i]);
	RUN("leader", "30", "5");
	RUN("quiet", "30");
	RUN("reexec", "10", "3");
	RUN("threadexec", "20");
	RUN("fork", "10", "5");
	RUN("vfork", "20");
	RUN("spawn", "20");
	RUN("daemon", "20", mark);
	RUN("zombie", "20");
	fclose(out);
	for (int i = 0; i < 500 && access(mark, F_OK); i++)
		usleep(10000);
	unlink(mark);
	unlink(file);
	return 0;
}
