/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log_diag.c - logs each entry of a diag as a message.
 */
#include "core/base/log_diag.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/log.h"

static void log_entry(const struct diag_entry *e)
{
	int level = e->severity == DIAG_ERROR ? SKEP_LOG_ERROR : SKEP_LOG_WARNING;
	const char *shown = e->shown ? e->shown : "", *between = e->shown ? "\n" : "",
		   *text = e->text ? e->text : "out of memory";

	if (e->file && e->column > 0)
		log_at(level, NULL, "%s:%d:%d: %s%s%s", e->file, e->line, e->column, text, between, shown);
	else if (e->file && e->line > 0)
		log_at(level, NULL, "%s:%d: %s%s%s", e->file, e->line, text, between, shown);
	else if (e->file)
		log_at(level, NULL, "%s: %s%s%s", e->file, text, between, shown);
	else
		log_at(level, NULL, "%s%s%s", text, between, shown);
}

void log_diag(const struct diag *diag)
{
	if (!log_to_journal()) {
		diag_print(diag, stderr);
		return;
	}
	for (size_t i = 0; i < diag->n; i++)
		log_entry(&diag->entries[i]);
	log_flush(); /* reports how many entries the rate limit has suppressed */
}
