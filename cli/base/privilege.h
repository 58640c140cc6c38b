/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/privilege.h - may this process collect here, and if not, what exactly has to be
 * done about it.
 */
#ifndef SKEP_CLI_PRIVILEGE_H
#define SKEP_CLI_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What decides, read from the system or made up by a test. */
struct privilege_facts {
	unsigned kernel_major, kernel_minor;
	char release[65];      /* utsname.release */
	uint64_t capabilities; /* effective, a bit each */
	bool btf;              /* /sys/kernel/btf/vmlinux can be read */
	bool user_namespace;   /* in one of its own: capabilities there are not the host's */
	bool no_new_privs;     /* file capabilities and set-uid have no effect */
	bool file_has_caps;    /* the program's file has capabilities of its own */
	bool seccomp;          /* a filter is on: containers refuse bpf() that way */
	bool lockdown;         /* lockdown=confidentiality: BPF may not read kernel memory */
	unsigned uid;
	int bpf_error;  /* errno of loading a trivial tracing program; 0: it works; -1: not tried */
	char exe[4096]; /* the program's file, "" unknown */
	bool wrapped;	/* which is a script that finds libraries beside it */
	char lsm[256];  /* the active security modules, "" unknown */
};

/* Gives up every capability of this thread, for ever: before other threads exist. 0 or -errno. */
int privilege_drop(void);
/* Removes from the environment everything that a caller without privileges must not choose. */
void privilege_environment(void);

/* Tries the trivial program as well, where capabilities seem to suffice. */
void privilege_facts(struct privilege_facts *ret);
/* Has this process the capabilities that collecting needs? */
bool privilege_suffices(const struct privilege_facts *);
/*
 * True: go ahead.  Else the reason and the remedy, for people, to the stream.
 * argv: the whole command line of the user from the subcommand on, for a line that can be copied.
 */
bool privilege_check(const struct privilege_facts *, char *const argv[], FILE *);
/* A probe was refused although privilege_check() was content: what else may forbid it. */
void privilege_explain(const struct privilege_facts *, FILE *);

#endif
