/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/answer.h - what a daemon's answer holds, read without trusting it: what is missing
 * or of another type is 0, "" or empty.
 */
#ifndef SKEP_CLI_ANSWER_H
#define SKEP_CLI_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/table.h"

const char *answer_text(const json_t *, const char *key);
uint64_t answer_u64(const json_t *, const char *key);
int64_t answer_i64(const json_t *, const char *key);
bool answer_true(const json_t *, const char *key);

/* A cell with text of the answer, made safe for a terminal; `none` where it is "". */
void answer_cell(struct table *, const struct paint *, enum ink, const char *text, const char *none);
/* Prints, safe for a terminal. */
void answer_print(const struct paint *, enum ink, const char *text);

/*
 * The common options: 'j' for --json, 's' for --socket PATH.  For subcommands that have no
 * others: parses all, `most` arguments may be left over.  -1: go on; else the exit status.
 */
struct answer_options {
	bool json;
	const char *socket;
};
int answer_parse(const char *command, int argc, char **argv, int most, struct answer_options *ret);

/* Asks for that (no arguments), prints it by `print` or as JSON. Returns the exit status. */
int answer_command(const char *command, const char *request, const struct answer_options *,
		   int (*print)(const json_t *, FILE *, const struct report_style *));

#define ANSWER_HELP                                                              \
	"  --json          for programs: one object\n"                           \
	"  --socket PATH   the daemon's socket (default: $SKEP_SOCKET, else\n"   \
	"                  /run/skep/skepd.sock)\n"

#endif
