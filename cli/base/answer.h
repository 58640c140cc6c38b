/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/answer.h - reads the values of a daemon's answer without trusting it: a key that is
 * missing or has another type reads as 0, "" or empty.
 */
#ifndef SKEP_CLI_ANSWER_H
#define SKEP_CLI_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/base/command.h"
#include "cli/base/table.h"

const char *answer_text(const json_t *, const char *key);
uint64_t answer_u64(const json_t *, const char *key);
int64_t answer_i64(const json_t *, const char *key);
bool answer_true(const json_t *, const char *key);

/* Adds a cell with text of the answer, made safe for a terminal; `none` stands for "". */
void answer_cell(struct table *, const struct paint *, enum ink, const char *text, const char *none);
/* Prints text of the answer, made safe for a terminal. */
void answer_print(const struct paint *, enum ink, const char *text);

struct answer_options {
	bool json;
	const char *socket;
};
/* The rows of --json and --socket, for a command with further options. */
#define ANSWER_JSON(options, member) \
	{ "json", .help = "print one JSON object, for programs", COMMAND_AT(options, member) }
#define ANSWER_SOCKET(options, member)                                                                  \
	{ "socket", .value = "PATH", .help = "the daemon's socket (default: $SKEP_SOCKET, else /run/skep/skepd.sock)", \
	  .min = 1, COMMAND_AT(options, member) }
/* A whole table: both rows, for struct answer_options. */
extern const struct command_option answer_options[];

/* Sends a request without arguments, prints the answer by `print` or as JSON. Returns the exit status. */
int answer_command(const char *command, const char *request, const struct answer_options *,
		   int (*print)(const json_t *, FILE *, const struct paint_style *));

#endif
