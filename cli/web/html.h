/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/html.h - writes the one-file report: the pages of skep web, and the answers that they show, in one HTML file.
 */
#ifndef SKEP_CLI_WEB_HTML_H
#define SKEP_CLI_WEB_HTML_H

#include <stddef.h>
#include <stdio.h>

#include "cli/base/out_file.h"

/* An answer, by the path by which the pages ask skep web for it. */
struct html_answer {
	const char *path; /* "/api/run/ID" */
	/* Its JSON. 0 or -errno; why may have the reason. */
	int (*write)(const void *arg, FILE *, char *why, size_t room);
	const void *arg;
};

/* Can this skep write a page to path? SKEP_EXIT_OK, or another exit status after a message with the remedy. */
int html_possible(const char *command, const char *path);
/* Opens path. SKEP_EXIT_OK, and the caller calls html_end(); or another exit status after a message. */
int html_begin(const char *command, const char *path, struct out_file *ret);
/* err: 0 if the page is whole, else why has the cause. SKEP_EXIT_OK, or another exit status after a message. */
int html_end(const char *command, const char *path, struct out_file *, int err, const char *why);
/*
 * page: what the browser opens, "#/run/ID".  0; -errno with the reason in why, which names no file.
 */
int html_write(const char *page, const struct html_answer *, size_t n, FILE *, char *why, size_t room);

#endif
