/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/reload_report.h - the list of changes that a reload has made, or would make, for messages and JSON.
 */
#ifndef SKEP_CORE_RELOAD_REPORT_H
#define SKEP_CORE_RELOAD_REPORT_H

#include <stddef.h>
#include <stdint.h>

enum reload_how {
	RELOAD_ADDED,
	RELOAD_REMOVED,
	RELOAD_APPLIED,   /* options changed in place */
	RELOAD_RESTARTED,
	RELOAD_RETRIED,   /* it had failed, and skepd tries it again at once */
	RELOAD_CHANGED,   /* a setting outside of plugins */
};

struct reload_change {
	enum reload_how how;
	const char *kind; /* "probe" "sink" "setting" */
	char *name;
	char *words;      /* changed options with old and new values, lost records; "" */
};

struct reload_report {
	struct reload_change *changes;
	size_t n, room;
	size_t unchanged;  /* plugins that the reload did not touch */
	uint64_t took_ns;  /* until all removed instances had drained */
	size_t no_memory;  /* changes that are missing in the list */
};

void reload_report_add(struct reload_report *, enum reload_how, const char *kind, const char *name, const char *fmt,
		       ...) __attribute__((format(printf, 5, 6)));
void reload_report_clear(struct reload_report *);

const char *reload_how_name(enum reload_how); /* "added" "removed" "applied" "restarted" "retried" "changed" */
/* "1 added (sink audit), 2 restarted (probe proc, sink lake), 3 unchanged"; the caller frees it.  NULL: no memory. */
char *reload_report_line(const struct reload_report *);

#endif
