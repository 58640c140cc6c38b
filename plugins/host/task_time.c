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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/host/task_time.skel.h"

struct task_time {
	struct task_time_bpf *bpf; /* NULL: `file` is the source */
	uint32_t cpus;
	int file;
};

/* "39 31 0:34 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct" */
bool task_time_mount(struct text line, struct text *ret_path)
{
	struct text word, type, options = { 0 };
	unsigned n = 0;

	while (skep_text_word(&line, &word)) {
		if (n == 3 && !skep_text_is(word, "/"))
			return false; /* a part of the hierarchy: a container's */
		if (n == 4)
			*ret_path = word;
		if (n > 5 && skep_text_is(word, "-"))
			break;
		n++;
	}
	if (n < 6 || !skep_text_word(&line, &type) || !skep_text_is(type, "cgroup"))
		return false;
	while (skep_text_word(&line, &word))
		options = word;
	while (options.at < options.end) {
		const char *comma = memchr(options.at, ',', skep_text_len(options));
		struct text one = { options.at, comma ? comma : options.end };

		if (skep_text_is(one, "cpuacct"))
			return true;
		options.at = comma ? comma + 1 : options.end;
	}
	return false;
}

/* -1: no such hierarchy is mounted. */
static int open_file(int root, struct text_buffer *buffer)
{
	struct text all, line, where = { 0 };
	char path[4096];

	if (skep_text_read_at(buffer, root, "proc/1/mountinfo", &all) &&
	    skep_text_read_at(buffer, root, "proc/self/mountinfo", &all))
		return -1;
	while (skep_text_line(&all, &line)) {
		if (!task_time_mount(line, &where) || skep_text_len(where) < 2)
			continue;
		/*
		 * a cgroup namespace shows its own cgroup as the root; only the real root has this file
		 * (cgroup1_base_files)
		 */
		if (skep_text_format(path, sizeof(path), "%.*s/release_agent", (int)skep_text_len(where) - 1, where.at + 1) &&
		    faccessat(root, path, F_OK, 0) == 0 &&
		    skep_text_format(path, sizeof(path), "%.*s/cpuacct.usage", (int)skep_text_len(where) - 1, where.at + 1))
			return openat(root, path, O_RDONLY | O_CLOEXEC);
	}
	return -1;
}

static int load(struct task_time *b)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t ns;

	if (cpus < 0)
		return cpus;
	b->cpus = (uint32_t)cpus;
	b->bpf = task_time_bpf__open_and_load();
	if (!b->bpf)
		return -errno;
	return task_time_read(b, &ns);
}

struct task_time *task_time_new(bool variable, int root, struct text_buffer *buffer, const char **ret_why)
{
	struct task_time *b = calloc(1, sizeof(*b));
	int err = -ENOENT;

	if (!b) {
		*ret_why = "out of memory";
		return NULL;
	}
	b->file = open_file(root, buffer);
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
		uint64_t args[1] = { first };
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
