/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/confine.c - drops privileges.
 *
 * skepd drops them from the permitted set, instead of lowering only the effective set between loads.  With
 * kernel.unprivileged_bpf_disabled, the default of distributions, the bpf(2) calls of every interval need CAP_BPF.  And
 * injected code could raise a bit of the permitted set by one system call.
 */
#include "core/base/confine.h"

#include <ctype.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON /* linux/capability.h before 5.8 */
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif

#define BIT(n) (UINT64_C(1) << (n))
/* By number; uapi/linux/capability.h of Linux 6.18. */
static const char *const names[] = {
	"CHOWN",
	"DAC_OVERRIDE",
	"DAC_READ_SEARCH",
	"FOWNER",
	"FSETID",
	"KILL",
	"SETGID",
	"SETUID",
	"SETPCAP",
	"LINUX_IMMUTABLE",
	"NET_BIND_SERVICE",
	"NET_BROADCAST",
	"NET_ADMIN",
	"NET_RAW",
	"IPC_LOCK",
	"IPC_OWNER",
	"SYS_MODULE",
	"SYS_RAWIO",
	"SYS_CHROOT",
	"SYS_PTRACE",
	"SYS_PACCT",
	"SYS_ADMIN",
	"SYS_BOOT",
	"SYS_NICE",
	"SYS_RESOURCE",
	"SYS_TIME",
	"SYS_TTY_CONFIG",
	"MKNOD",
	"LEASE",
	"AUDIT_WRITE",
	"AUDIT_CONTROL",
	"SETFCAP",
	"MAC_OVERRIDE",
	"MAC_ADMIN",
	"SYSLOG",
	"WAKE_ALARM",
	"BLOCK_SUSPEND",
	"AUDIT_READ",
	"PERFMON",
	"BPF",
	"CHECKPOINT_RESTORE",
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

int confine_capability(const char *name)
{
	if (strncasecmp(name, "cap_", 4) != 0)
		return -1;
	for (size_t i = 0; i < N_NAMES; i++)
		if (strcasecmp(name + 4, names[i]) == 0)
			return (int)i;
	return -1;
}

void confine_text(uint64_t capabilities, char *ret, size_t size)
{
	size_t used = 0;

	ret[0] = '\0';
	for (unsigned i = 0; i < 64 && used < size; i++) {
		if (!(capabilities & BIT(i)))
			continue;
		if (i < N_NAMES)
			used += (size_t)snprintf(ret + used, size - used, "%sCAP_%s", used ? " " : "", names[i]);
		else
			used += (size_t)snprintf(ret + used, size - used, "%s%u", used ? " " : "", i);
	}
}

void confine_memory(void)
{
	const struct rlimit none = { 0, 0 };

	/*
	 * PR_SET_DUMPABLE also stops a core_pattern that is a pipe: the kernel ignores the size in RLIMIT_CORE for a
	 * pipe.
	 */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
}

static uint64_t needed(void)
{
	/*
	 * CAP_BPF, CAP_PERFMON: all of BPF.  CAP_SYS_PTRACE: exe and cwd of processes older than skepd.
	 * CAP_SYS_RESOURCE: RLIMIT_MEMLOCK, before 5.11.  CAP_SYSLOG: addresses in kallsyms.  CAP_DAC_*: as root, a
	 * lake that belongs to user skep, and /proc and debugfs of other users.  CAP_CHOWN: the control socket's group.
	 */
	const uint64_t set = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_PTRACE) | BIT(CAP_SYS_RESOURCE) |
			     BIT(CAP_SYSLOG) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_CHOWN);

	/*
	 * CAP_SYS_ADMIN, if the caller gave it: for details on uprobes, which a 6.18 with perf_event_paranoid 2 refused
	 * to CAP_PERFMON alone, and for all of BPF before 5.8, which has no CAP_BPF.  The unit does not give it.
	 */
	return set | BIT(CAP_SYS_ADMIN);
}

/* Keeps only the capabilities in `wanted`, and none across an exec.  0, with the remaining ones, or -errno. */
static int keep_only(uint64_t wanted, uint64_t *ret_left)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	uint64_t permitted, left;
	bool must = false;

	/* A program that this process might execute gets no capability. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* since 4.3 */
	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	/*
	 * Drops the bounding set before CAP_SETPCAP.  EPERM without CAP_SETPCAP: then no_new_privs keeps the
	 * capabilities out.
	 */
	for (unsigned i = 0; i < 64 && prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!(wanted & BIT(i)))
			(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	left = permitted & wanted;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t part = (uint32_t)(left >> (32 * i));

		must = must || data[i].permitted != part;
		data[i].permitted = part;
		data[i].effective &= part;
		data[i].inheritable = 0;
	}
	/* A unit that gave no further capabilities may filter capset(2), which is in systemd's @privileged. */
	if (syscall(SYS_capset, &header, data) < 0 && must)
		return -errno;
	*ret_left = left;
	return 0;
}

int confine_capabilities(const char *const *keep, uint64_t *ret_left)
{
	uint64_t wanted = needed();

	for (; keep && *keep; keep++) {
		int number = confine_capability(*keep);

		if (number >= 0)
			wanted |= BIT(number);
	}
	return keep_only(wanted, ret_left);
}

int confine_reader(void)
{
	uint64_t left;

	/*
	 * To read environ, mm_access() requires CAP_SYS_PTRACE, and the file's mode (0400) requires
	 * CAP_DAC_READ_SEARCH.
	 */
	return keep_only(BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH), &left);
}

int confine_file_reader(void)
{
	uint64_t left;

	return keep_only(BIT(CAP_SETUID) | BIT(CAP_SETGID), &left);
}

int confine_all(void)
{
	uint64_t left;

	return keep_only(0, &left);
}
