/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/privilege.h - checks whether this process may collect here, and if not, prints the remedy.
 */
#ifndef SKEP_CLI_PRIVILEGE_H
#define SKEP_CLI_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The facts that decide, read from the system or set by a test. */
struct privilege_facts {
	unsigned kernel_major, kernel_minor;
	char release[65];      /* utsname.release */
	uint64_t capabilities; /* effective, a bit each */
	bool btf;              /* /sys/kernel/btf/vmlinux can be read */
	bool user_namespace;   /* not in the host's user namespace: its capabilities do not count on the host */
	bool no_new_privs;     /* file capabilities and set-uid have no effect */
	bool file_has_caps;    /* the program's file has capabilities of its own */
	bool seccomp;          /* a seccomp filter is active: containers refuse bpf() by such a filter */
	bool lockdown;         /* lockdown=confidentiality: BPF may not read kernel memory */
	unsigned uid;
	int bpf_error;  /* errno of loading a trivial tracing program; 0: it works; -1: not tried */
	char exe[4096]; /* the program's file, "" unknown */
	bool wrapped;	/* exe is a script that finds libraries beside itself */
	char lsm[256];  /* the active security modules, "" unknown */
};

/* Gives up every capability of this thread, for ever: before other threads exist. 0 or -errno. */
int privilege_drop(void);
/* Removes the variables that a caller without privileges must not choose from the environment. */
void privilege_environment(void);

/* Gathers the facts; also loads the trivial program if the capabilities seem to suffice. */
void privilege_facts(struct privilege_facts *ret);
/* Has this process the capabilities that collecting needs? */
bool privilege_suffices(const struct privilege_facts *);
/*
 * True: this process can collect.  Else prints the reason and the remedy to the stream.
 * argv: the user's command line from the subcommand on, for a command that can be copied.
 */
bool privilege_check(const struct privilege_facts *, char *const argv[], FILE *);
/* After the kernel refused a probe although privilege_check() was true: prints the other possible causes. */
void privilege_explain(const struct privilege_facts *, FILE *);

#endif
