/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/task_time.c - reads the sum from the root of cgroup v1's cpuacct if that is mounted, else by a BPF
 * program.
 */
#include "task_time.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <skep/cpus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/host/task_time.skel.h"
#include "sdk/probe/text.h"

struct task_time {
	struct task_time_bpf *bpf; /* NULL: `file` is the source */
	uint32_t cpus;             /* the highest number of a CPU, plus 1 */
	char list[4096];           /* of the CPUs that this machine may have */
	int file;
};

bool task_time_mount(const struct skep_mount *m)
{
	return strcmp(m->type, "cgroup") == 0 && skep_mount_has(m->super_options, "cpuacct") &&
	       strcmp(m->root, "/") == 0;
}

/* -1: no such hierarchy is mounted. */
static int open_file(int root)
{
	struct skep_mountinfo file = { 0 };
	struct skep_mount m;
	char path[4096];
	int fd = -1;

	if (skep_mountinfo_open(&file, root, "proc/1/mountinfo") &&
	    skep_mountinfo_open(&file, root, "proc/self/mountinfo"))
		return -1;
	while (fd < 0 && skep_mountinfo_next(&file, &m))
		/*
		 * a cgroup namespace shows its own cgroup as the root; only the real root has this file
		 * (cgroup1_base_files)
		 */
		if (task_time_mount(&m) && skep_text_format(path, sizeof(path), ".%s/release_agent", m.path) &&
		    faccessat(root, path, F_OK, 0) == 0 &&
		    skep_text_format(path, sizeof(path), ".%s/cpuacct.usage", m.path))
			fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	skep_mountinfo_close(&file);
	return fd;
}

/*
 * For a number in a gap of the list the kernel returns an address in memory that it freed after the boot: it gives each
 * number a place (__per_cpu_offset), and after the boot only the listed ones another (setup_per_cpu_areas).
 */
uint64_t task_time_cpus(const char *list, uint64_t first)
{
	uint64_t cpus = 0;
	char *end;

	for (;; list = end + 1) {
		uint64_t from = strtoul(list, &end, 10), to = from;

		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (uint64_t cpu = from > first ? from : first; cpu <= to && cpu - first < TASK_TIME_CPUS; cpu++)
			cpus |= UINT64_C(1) << (cpu - first);
		if (*end != ',')
			return cpus;
	}
}

static int read_list(struct task_time *b)
{
	FILE *f = fopen("/sys/devices/system/cpu/possible", "re");
	int n;

	if (!f)
		return -errno;
	n = fgets(b->list, sizeof(b->list), f) ? skep_cpu_slots_of(b->list) : -EIO;
	fclose(f);
	return n;
}

static int load(struct task_time *b)
{
	int cpus = read_list(b);
	uint64_t ns;

	if (cpus < 0)
		return cpus;
	b->cpus = (uint32_t)cpus;
	b->bpf = task_time_bpf__open_and_load();
	if (!b->bpf)
		return -errno;
	return task_time_read(b, &ns);
}

struct task_time *task_time_new(bool variable, int root, const char **ret_why)
{
	struct task_time *b = calloc(1, sizeof(*b));
	int err = -ENOENT;

	if (!b) {
		*ret_why = "out of memory";
		return NULL;
	}
	b->file = open_file(root);
	if (b->file >= 0)
		return b;
	if (variable)
		err = load(b);
	if (!err)
		return b;
	if (err == -EPERM || err == -EACCES)
		*ret_why =
			"no permission to load the BPF program that reads root_cpuacct_cpuusage, and cgroup v1's cpuacct is not "
			"mounted: wakeup time is unattributed; grant CAP_BPF and CAP_PERFMON";
	else
		*ret_why =
			"this kernel has no root_cpuacct_cpuusage for BPF programs (since 5.17, with CONFIG_CGROUP_CPUACCT and "
			"CONFIG_KALLSYMS_ALL), and cgroup v1's cpuacct is not mounted: wakeup time is unattributed";
	return task_time_free(b);
}

struct task_time *task_time_free(struct task_time *b)
{
	if (!b)
		return NULL;
	task_time_bpf__destroy(b->bpf);
	if (b->file >= 0)
		close(b->file);
	free(b);
	return NULL;
}

static int read_file(int fd, uint64_t *ret_ns)
{
	char line[32];
	ssize_t n = pread(fd, line, sizeof(line), 0);
	struct text t = { line, line + (n > 0 ? n : 0) }, first;

	if (n < 0)
		return -errno;
	return skep_text_line(&t, &first) && skep_text_u64(&first, ret_ns) ? 0 : -EBADMSG;
}

static int run_program(struct task_time *b, uint64_t *ret_ns)
{
	uint64_t sum = 0;

	for (uint64_t first = 0; first < b->cpus; first += TASK_TIME_CPUS) {
		uint64_t args[2] = { first, task_time_cpus(b->list, first) };
		LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = args, .ctx_size_in = sizeof(args));
		int err = bpf_prog_test_run_opts(bpf_program__fd(b->bpf->progs.add_up), &run);

		if (err)
			return err;
		sum += b->bpf->bss->task_ns;
	}
	*ret_ns = sum;
	return 0;
}

int task_time_read(struct task_time *b, uint64_t *ret_ns)
{
	return b->bpf ? run_program(b, ret_ns) : read_file(b->file, ret_ns);
}

const char *task_time_how(const struct task_time *b)
{
	return b->bpf ? "root_cpuacct_cpuusage, by a BPF program: capacity less idle time and tasks' run time" :
			"cpuacct.usage of the root: capacity less idle time and tasks' run time";
}
