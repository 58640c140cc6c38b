/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/start_parts.c - for tests/bench/start.py: a library to preload, which measures the CPU time of the parts
 * of a start and appends a line for each to the file $START_PARTS.
 *
 * It wraps the functions of other libraries that skep calls, so it needs no change of skep: syscall() of libbpf's
 * bpf(2), reading the kernel's types, jansson, PCRE2, dlopen.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TYPES "/sys/kernel/btf/vmlinux"

static int types_fd = -1;
static uint64_t types_begun;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The function of that name that the caller would have got.  NOLINT: dlsym() gives functions as void * */
#define REAL(type_, name_)                                                                     \
	static __typeof__(type_) *real;                                                        \
	if (!real)                                                                             \
	real = (__typeof__(type_) *)(uintptr_t)dlsym(RTLD_NEXT, name_) /* NOLINT(performance-no-int-to-ptr) */

/* One write(2) a line: threads and processes append to the same file. */
__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
	const char *path = getenv("START_PARTS");
	const int error = errno;
	char text[256];
	va_list ap;
	int fd, n;
	REAL(int(const char *, int, ...), "open");

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	fd = path ? real(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
	if (fd >= 0 && n > 0 && write(fd, text, (size_t)n) < 0)
		_exit(125); /* the figures would be wrong */
	if (fd >= 0)
		close(fd);
	errno = error;
}

static uint32_t verified(int fd)
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attr = { .info = { .bpf_fd = (uint32_t)fd, .info_len = sizeof(info) } };
	REAL(long(long, ...), "syscall");

	attr.info.info = (uint64_t)(uintptr_t)&info;
	return real(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0 ? info.verified_insns : 0;
}

long syscall(long number, ...)
{
	const union bpf_attr *attr;
	uint64_t began, took;
	long a[6], ret;
	va_list ap;
	REAL(long(long, ...), "syscall");

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	began = cpu_ns();
	ret = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	took = cpu_ns() - began;
	if (number != SYS_bpf)
		return ret;
	attr = (const union bpf_attr *)a[1]; /* NOLINT(performance-no-int-to-ptr) */
	if (a[0] == BPF_PROG_LOAD && ret >= 0 && attr->prog_name[0])
		line("program %.15s %llu %u\n", attr->prog_name, (unsigned long long)took, verified((int)ret));
	else if (a[0] == BPF_PROG_LOAD)
		line("probes - %llu 0\n", (unsigned long long)took);
	else if (a[0] == BPF_MAP_CREATE)
		line("map %.15s %llu %u\n", attr->map_name[0] ? attr->map_name : "-", (unsigned long long)took,
		     attr->max_entries);
	else
		line("bpf %ld %llu 0\n", a[0], (unsigned long long)took);
	return ret;
}

/* From opening the kernel's types until their reader has closed them: it has indexed them by then. */
#define OPEN(name_)                                                                            \
	int name_(const char *path, int flags, ...)                                            \
	{                                                                                      \
		uint64_t began = strstr(path, TYPES) ? cpu_ns() : 0;                           \
		va_list ap;                                                                    \
		int mode, fd;                                                                  \
		REAL(int(const char *, int, ...), #name_);                                     \
                                                                                               \
		va_start(ap, flags);                                                           \
		mode = va_arg(ap, int); /* without meaning unless the flags create a file */   \
		va_end(ap);                                                                    \
		fd = real(path, flags, mode);                                                  \
		if (fd >= 0 && began) {                                                        \
			types_fd = fd;                                                         \
			types_begun = began;                                                   \
		}                                                                              \
		return fd;                                                                     \
	}
OPEN(open)
OPEN(open64)

int close(int fd)
{
	const bool types = fd >= 0 && fd == types_fd;
	int ret;
	REAL(int(int), "close");

	ret = real(fd);
	if (types) {
		types_fd = -1;
		line("types read %llu 0\n", (unsigned long long)(cpu_ns() - types_begun));
	}
	return ret;
}

#define WRAP(part_, what_, type_, name_, parameters_, arguments_)                              \
	type_ name_ parameters_                                                                \
	{                                                                                      \
		uint64_t began = cpu_ns();                                                     \
		type_ ret;                                                                     \
		REAL(type_ parameters_, #name_);                                               \
                                                                                               \
		ret = real arguments_;                                                         \
		line(part_ " %s %llu 0\n", what_, (unsigned long long)(cpu_ns() - began)); \
		return ret;                                                                    \
	}

/* The last part of a path. */
static const char *base(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "-";
}

WRAP("dlopen", base(path), void *, dlopen, (const char *path, int flags), (path, flags))
WRAP("tables", "json", void *, json_loadb, (const char *text, size_t n, size_t flags, void *error), (text, n, flags, error))
WRAP("tables", "json", void *, json_loads, (const char *text, size_t flags, void *error), (text, flags, error))
WRAP("tables", "regex", void *, pcre2_compile_8,
     (const void *text, size_t n, uint32_t options, int *error, size_t *at, void *context),
     (text, n, options, error, at, context))
WRAP("types", "libbpf", void *, btf__load_vmlinux_btf, (void), ())
WRAP("types", "libbpf", void *, btf__parse_raw, (const char *path), (path))
/* These contain programs, maps and other calls. */
WRAP("libbpf", "open", int, bpf_object__open_skeleton, (void *s, const void *opts), (s, opts))
WRAP("libbpf", "load", int, bpf_object__load_skeleton, (void *s), (s))
WRAP("libbpf", "attach", int, bpf_object__attach_skeleton, (void *s), (s))
