/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/price_file.h - reads a file of prices (docs/reference/cost.md) into a table (analysis/price.h).
 */
#ifndef SKEP_CLI_BASE_PRICE_FILE_H
#define SKEP_CLI_BASE_PRICE_FILE_H

#include "analysis/price.h"
#include "core/base/diag.h"

/*
 * text NULL: reads the file of that name; else the text, and `name` is for messages. 0, and the caller frees *ret;
 * -EINVAL: the diag has the errors, with their places; -ENOMEM.
 */
int price_file_read(const char *text, size_t len, const char *name, struct price_table **ret, struct diag *);

/* The row of --prices in a table of options. */
#define PRICE_FILE_OPTION(options, member)                                                                      \
	{                                                                                                       \
		"prices", .value = "FILE",                                                                      \
			.help = "the file of prices (default: `prices` of ~/.config/skep/skep.conf or of "      \
				SKEP_SYSCONF_DIR "/skep.conf)",                                                  \
			COMMAND_AT(options, member)                                                             \
	}
/*
 * Opens the file of prices: --prices FILE, else the file that skep.conf names. *ret NULL: neither names a file.
 * SKEP_EXIT_OK; or another exit status after a message.
 */
int price_file_open(const char *command, const char *file, struct price_table **ret);

#define PRICE_TEXT_SIZE 32
/* "1234.57": an amount in billionths with so many decimals, rounded; buf is returned. */
const char *price_text(int64_t nano, unsigned decimals, char buf[PRICE_TEXT_SIZE]);
/* Decimals of a bill of that size: 2, of less than 10 units of the currency 4, of less than 0.1 of them 6. */
unsigned price_decimals(int64_t nano);

#endif
