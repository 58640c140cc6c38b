/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/privilege.c - explains why this process cannot collect here, and names the commands that change this.
 * One function gathers the facts and another evaluates them, so that a test can evaluate any machine.
 */
#include "cli/base/privilege.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/base/program.h"
#include "cli/base/text.h"

#ifndef CAP_PERFMON /* linux/capability.h before 5.8 */
#define CAP_PERFMON 38
#define CAP_BPF     39
#endif

#define BIT(n)       (UINT64_C(1) << (n))

/* Linux 5.8 has added the ring buffer, the task iterator and these capabilities. */
#define KERNEL_MAJOR 5
#define KERNEL_MINOR 8

int privilege_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

/*
 * Libraries read variables that ld.so does not remove (libcurl: proxies, a file for TLS keys).  Harmless are the path
 * of the lake and the terminal's properties, which skep uses with the caller's own rights, and PATH, to find CMD.
 */
static bool is_harmless(const char *entry)
{
	static const char *const names[] = { "HOME=", "XDG_DATA_HOME=", "SKEP_LAKE=", "PATH=", "XDG_CONFIG_HOME=",
					     "TERM=", "NO_COLOR=",      "TZ=",        "LANG=",
					     "LC_",   "TRACEPARENT=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(entry, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

void privilege_environment(void)
{
	char **to = environ;

	for (char **from = environ; from && *from; from++)
		if (is_harmless(*from))
			*to++ = *from;
	if (to)
		*to = NULL;
}

static void read_capabilities(struct privilege_facts *facts)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) == 0)
		facts->capabilities = (uint64_t)data[1].effective << 32 | data[0].effective;
}

/*
 * The host's own user namespace maps all 2^32 - 1 ids to themselves; capabilities held
 * in any other do not count for bpf() (bpf_capable() asks init_user_ns).
 */
static bool in_user_namespace(void)
{
	unsigned long inside, outside, count;
	char line[128];

	text_first_line_take(fopen("/proc/self/uid_map", "re"), line, sizeof(line));
	if (sscanf(line, "%lu %lu %lu", &inside, &outside, &count) != 3)
		return false;
	return inside != 0 || outside != 0 || count != UINT32_MAX;
}

/* Loads a raw tracepoint program "return 0": it needs the privileges of every probe; close() of its fd frees it. */
static int load_program(void)
{
	struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = (uintptr_t)program;
	attr.insn_cnt = sizeof(program) / sizeof(program[0]);
	attr.license = (uintptr_t) "Apache-2.0"; /* calls no GPL-only helper */
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int try_program(void)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit before;
	int err = load_program();

	/*
	 * Before 5.11 the kernel charges BPF memory to RLIMIT_MEMLOCK, together for all processes of this user: another
	 * skep uses up the default of 64 KiB.  libbpf raises the limit when it loads a program.
	 */
	if (err != EPERM || getrlimit(RLIMIT_MEMLOCK, &before) < 0 || setrlimit(RLIMIT_MEMLOCK, &all) < 0)
		return err;
	err = load_program();
	(void)setrlimit(RLIMIT_MEMLOCK, &before);
	return err;
}

struct need {
	unsigned capability;
	const char *name; /* "CAP_BPF" */
};

static const struct need needs[] = {
	{ CAP_BPF, "CAP_BPF" },
	{ CAP_PERFMON, "CAP_PERFMON" },
	{ CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE" },
};

static bool needed(const struct privilege_facts *facts, const struct need *need)
{
	/* Before 5.11 the kernel charges BPF memory to RLIMIT_MEMLOCK, which skep then raises. */
	if (need->capability == CAP_SYS_RESOURCE)
		return facts->kernel_major < 5 || (facts->kernel_major == 5 && facts->kernel_minor < 11);
	return true;
}

static bool held(const struct privilege_facts *facts, const struct need *need)
{
	if (facts->capabilities & BIT(need->capability))
		return true;
	/* CAP_SYS_ADMIN includes CAP_BPF and CAP_PERFMON, which 5.8 split off */
	return need->capability != CAP_SYS_RESOURCE && (facts->capabilities & BIT(CAP_SYS_ADMIN));
}

bool privilege_suffices(const struct privilege_facts *facts)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (needed(facts, &needs[i]) && !held(facts, &needs[i]))
			return false;
	return true;
}

void privilege_facts(struct privilege_facts *ret)
{
	struct utsname name;
	char line[256];

	memset(ret, 0, sizeof(*ret));
	if (uname(&name) == 0) {
		snprintf(ret->release, sizeof(ret->release), "%s", name.release);
		sscanf(name.release, "%u.%u", &ret->kernel_major, &ret->kernel_minor);
	}
	read_capabilities(ret);
	ret->btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
	ret->user_namespace = in_user_namespace();
	ret->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
	ret->seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0;
	text_first_line_take(fopen("/sys/kernel/security/lockdown", "re"), line, sizeof(line));
	ret->lockdown = strstr(line, "[confidentiality]") != NULL;
	text_first_line_take(fopen("/sys/kernel/security/lsm", "re"), ret->lsm, sizeof(ret->lsm));
	ret->uid = getuid();
	snprintf(ret->exe, sizeof(ret->exe), "%s", program_path());
	ret->wrapped = program_wrapped();
	ret->file_has_caps = ret->exe[0] && getxattr(ret->exe, "security.capability", NULL, 0) > 0;
	ret->bpf_error = privilege_suffices(ret) ? try_program() : -1;
}

static void print_missing(const struct privilege_facts *facts, FILE *out)
{
	const char *between = "";

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (!needed(facts, &needs[i]) || held(facts, &needs[i]))
			continue;
		fprintf(out, "%s%s", between, needs[i].name);
		between = " and ";
	}
}

static void print_file_capabilities(const struct privilege_facts *facts, const char *path, FILE *out)
{
	if (facts->no_new_privs) {
		fprintf(out, "Capabilities of the program's file would have no effect here: no_new_privs is set for "
			     "this process.\n");
	} else if (facts->file_has_caps) {
		fprintf(out,
			"The program's file has capabilities, but not these, or they had no effect (a file system "
			"mounted nosuid,\n"
			"a reduced bounding set). See: getcap %s; findmnt -T %s\n",
			path, path);
	}
}

static void print_remedy(const struct privilege_facts *facts, char *const argv[], FILE *out)
{
	const char *program = facts->exe[0] ? facts->exe : "skep", *paths[] = { program, NULL };
	char *line = text_argv((const char *const *)argv, false, false, 1024);
	char *path = text_argv(paths, false, false, 0);

	if (facts->uid != 0)
		fprintf(out,
			"Where skepd runs, it collects this for you without a privilege:\n"
			"    sudo systemctl start skepd\n"
			"Or run it as root (the command runs as root, too; begin CMD with sudo -u USER to run it as that user):\n"
			"    sudo %s %s\n",
			path ? path : "skep", line ? line : "run ...");
	else
		fprintf(out, "This is uid 0 with a reduced set of capabilities (a container?): start it with them, for "
			     "example\n"
			     "    docker run --cap-add BPF --cap-add PERFMON ...\n");
	/* A wrapper starts ld.so, which has none of the capabilities of the program's file. */
	if (!facts->wrapped)
		print_file_capabilities(facts, path ? path : "skep", out);
	free(line);
	free(path);
}

bool privilege_check(const struct privilege_facts *facts, char *const argv[], FILE *out)
{
	if (facts->kernel_major < KERNEL_MAJOR ||
	    (facts->kernel_major == KERNEL_MAJOR && facts->kernel_minor < KERNEL_MINOR)) {
		fprintf(out, "skep %s: this kernel is %s; collecting needs Linux %d.%d or later.\n", argv[0],
			facts->release, KERNEL_MAJOR, KERNEL_MINOR);
		return false;
	}
	if (!privilege_suffices(facts)) {
		fprintf(out, "skep %s: not permitted to collect: this process (uid %u) lacks ", argv[0], facts->uid);
		print_missing(facts, out);
		fprintf(out, ".\n");
		print_remedy(facts, argv, out);
		return false;
	}
	if (facts->bpf_error == EPERM || facts->bpf_error == EACCES) {
		fprintf(out,
			"skep %s: the kernel refused a trivial BPF program (%s) although this process has the "
			"capabilities for it.\n",
			argv[0], strerror(facts->bpf_error));
		privilege_explain(facts, out);
		return false;
	}
	if (facts->bpf_error > 0) {
		fprintf(out, "skep %s: this kernel (%s) cannot load a trivial BPF program: %s%s.\n", argv[0],
			facts->release, strerror(facts->bpf_error),
			facts->bpf_error == ENOSYS ? " (built without CONFIG_BPF_SYSCALL)" : "");
		return false;
	}
	if (!facts->btf) {
		fprintf(out,
			"skep %s: /sys/kernel/btf/vmlinux cannot be read: the kernel (%s) does not describe its own "
			"types.\n"
			"Collecting needs a kernel built with CONFIG_DEBUG_INFO_BTF=y (Debian's and Ubuntu's are, "
			"since 11 and "
			"20.10), and /sys\nmounted (in a container: the host's, read-only is enough).\n",
			argv[0], facts->release);
		return false;
	}
	return true;
}

void privilege_explain(const struct privilege_facts *facts, FILE *out)
{
	bool any = facts->user_namespace || facts->seccomp || facts->lockdown || facts->lsm[0];

	if (facts->user_namespace)
		fprintf(out, "- It runs in a user namespace (rootless container, unshare -U): capabilities there are "
			     "not the "
			     "host's. Run it outside.\n");
	if (facts->seccomp)
		fprintf(out, "- A seccomp filter is on. If this is a container, allow bpf(2): its capabilities must be "
			     "granted by "
			     "the container runtime,\n  for example docker run --cap-add BPF --cap-add PERFMON "
			     "(or --security-opt seccomp=unconfined).\n");
	if (facts->lockdown)
		fprintf(out, "- The kernel is in lockdown mode \"confidentiality\", in which BPF may not read kernel "
			     "memory. It has to "
			     "be booted with\n  lockdown=integrity or none (see /sys/kernel/security/lockdown).\n");
	if (facts->lsm[0])
		fprintf(out,
			"- Active security modules: %s. One of them may deny it; look for a denial in the kernel log "
			"(dmesg, ausearch -m AVC).\n",
			facts->lsm);
	if (!any)
		fprintf(out,
			"- No user namespace, seccomp filter, lockdown or security module was found to explain it; "
			"see the kernel log (dmesg).\n");
}
