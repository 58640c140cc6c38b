/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/assets.h - the pages that are built into skep, from web/.
 */
#ifndef SKEP_CLI_WEB_ASSETS_H
#define SKEP_CLI_WEB_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct web_asset {
	const char *path; /* "/app.js" */
	const char *type; /* of its content */
	const char *data;
	size_t len;
};

/* Was this skep built with its pages? If not, prints the cause and the remedy, for this command. */
bool web_built(const char *command);
/* The asset with this path; NULL: none. "/" is the page itself. */
const struct web_asset *web_asset(const char *path);
/* The parts of the one-file report: a page with the words @CSS@, @JS@ and @DATA@, and the texts for @CSS@ and @JS@. */
extern const struct web_asset web_report, web_style, web_script;

#endif
