/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/skep.h - exit codes, and the messages of commands to stderr.
 */
#ifndef SKEP_CLI_BASE_SKEP_H
#define SKEP_CLI_BASE_SKEP_H

/* Exit codes a script may rely on. */
enum skep_exit {
	SKEP_EXIT_OK = 0,
	SKEP_EXIT_RUNTIME = 1,
	SKEP_EXIT_USAGE = 2,
	SKEP_EXIT_CONFIG = 3,
	SKEP_EXIT_PRIVILEGE = 4, /* privilege or kernel */
	SKEP_EXIT_ABI = 5,       /* a plugin's ABI */
	SKEP_EXIT_BROKEN = 6,    /* skep audit --verify: the chain is broken */
	SKEP_EXIT_DIFFERS = 7,   /* skep audit --verify: the chain holds, and the lake has other entries */
};

/*
 * "skep NAME: message" to stderr; bytes that are not UTF-8 and control characters as \xNN. command "": without a name.
 */
void skep_say(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints a message as skep_say, for a failure at run time; returns status. */
int skep_fail(const char *command, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Prints a message as skep_say, for wrong usage, with a hint to the help; returns SKEP_EXIT_USAGE. */
int skep_usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
