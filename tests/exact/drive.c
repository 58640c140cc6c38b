/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/exact/drive.c - starts processes of known behaviour one after the other and writes
 * down, a line of JSON each, what the kernel says of them when they are reaped.
 *
 *   drive WORKLOAD WORKDIR OUT [LONGEST_MS]
 *
 * Counters of /proc/PID/io are read while the process is a zombie (waitid WNOWAIT): they
 * are final then.  LONGEST_MS bounds the longest burn (default 2000).
 *
 * The driver joins a cgroup of its own.  Its usage less the driver's own CPU time is what
 * the children took, to the nanosecond, last slices of threads included: these wait4 does
 * not know, because a thread that ends is added to its process before its last switch.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static FILE *out;
static const char *workload, *workdir;
static char group[96];
static int usage_fd = -1;

static void join_cgroup(void)
{
	char procs[160], usage[160];
	FILE *f;

	snprintf(group, sizeof(group), "/sys/fs/cgroup/cpuacct/skep-drive-%d", getpid());
	snprintf(usage, sizeof(usage), "%s/cpuacct.usage", group);
	if (access("/sys/fs/cgroup/cpuacct", F_OK)) {
		snprintf(group, sizeof(group), "/sys/fs/cgroup/skep-drive-%d", getpid());
		snprintf(usage, sizeof(usage), "%s/cpu.stat", group);
	}
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
	f = mkdir(group, 0755) ? NULL : fopen(procs, "we");
	if (f)
		fprintf(f, "%d", getpid());
	if (f && fclose(f) == 0)
		usage_fd = open(usage, O_RDONLY | O_CLOEXEC); /* -1: no figures of a cgroup */
}

static void leave_cgroup(void)
{
	char procs[160];
	FILE *f;

	if (usage_fd < 0)
		return;
	snprintf(procs, sizeof(procs), "%.*s/cgroup.procs", (int)(strrchr(group, '/') - group), group);
	f = fopen(procs, "we");
	if (f) {
		fprintf(f, "%d", getpid());
		fclose(f);
	}
	for (int i = 0; i < 200 && rmdir(group); i++)
		usleep(10000); /* a zombie is still in it */
}

/*
 * CPU time of all processes in the cgroup less our own, in ns; negative: our time before we joined. LLONG_MIN: unknown.
 * We read our own time first, which makes the scheduler book our time so far, so both figures end there.
 */
static long long children_ns_once(void)
{
	long long usage = -1;
	struct timespec own;
	char text[64] = "";
	ssize_t n = -1;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	if (usage_fd >= 0)
		n = pread(usage_fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return LLONG_MIN;
	if (sscanf(text, "usage_usec %lld", &usage) == 1)
		usage *= 1000;
	else
		usage = atoll(text);
	return usage - (own.tv_sec * 1000000000LL + own.tv_nsec);
}

/* A tick between the two readings books some of our own time to the cgroup: the least of several readings has none. */
static long long children_ns(void)
{
	long long least = children_ns_once();

	for (int i = 0; i < 8; i++) {
		long long ns = children_ns_once();

		if (ns < least)
			least = ns;
	}
	return least;
}

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
	long long before, after;
	struct rusage ru;
	siginfo_t info;
	int status;
	pid_t pid;

	fflush(out);
	before = children_ns();
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
	usleep(3000); /* its last switch may come after wait returns */
	after = children_ns();
	if (before != LLONG_MIN && after != LLONG_MIN)
		fprintf(out, ", \"cgroup_ns\": %lld", after - before);
	fprintf(out,
		", \"status\": %d, \"utime_us\": %lld, \"stime_us\": %lld, \"maxrss_kib\": %ld, \"minflt\": %ld, \"majflt\": %ld"
		", \"nvcsw\": %ld, \"nivcsw\": %ld}\n",
		status, ru.ru_utime.tv_sec * 1000000LL + ru.ru_utime.tv_usec,
		ru.ru_stime.tv_sec * 1000000LL + ru.ru_stime.tv_usec, ru.ru_maxrss, ru.ru_minflt, ru.ru_majflt,
		ru.ru_nvcsw, ru.ru_nivcsw);
}

#define RUN(...) run((char *[]){ (char *)workload, __VA_ARGS__, NULL })

int main(int argc, char **argv)
{
	static char *const burns[] = {
		"1", "2", "5", "10", "50", "100", "200", "500", "1000", "2000", "5000", "10000"
	};
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
	join_cgroup();
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
	RUN("zombie", "20");
	RUN("daemon", "20", mark); /* last: its grandchild continues */
	fclose(out);
	for (int i = 0; i < 500 && access(mark, F_OK); i++)
		usleep(10000);
	leave_cgroup();
	unlink(mark);
	unlink(file);
	return 0;
}
