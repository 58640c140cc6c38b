/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/reloader.h - the daemon's reloads: the reloader reads the file again, the collector changes to the new
 * configuration or keeps the old one, and the reloader keeps the result for later requests.
 */
#ifndef SKEP_CORE_RELOADER_H
#define SKEP_CORE_RELOADER_H

#include <jansson.h>

#include "core/collect/collector.h"
#include "core/collect/reload_report.h"

struct reloader;

/* The result of a reload; a callback borrows it. */
struct reload_outcome {
	int err;             /* 0, or -errno: the configuration has not changed */
	bool check;
	struct diag diag;    /* errors; after success only warnings */
	struct reload_report report;
	uint64_t time_ns;    /* boot time of its end */
	char *by;            /* "SIGHUP", "pid 77 (uid 0)" */
};
typedef void (*reloader_done)(void *arg, const struct reload_outcome *);
/* Called for each reload, from any source: with NULL when it begins, then with its result. Not for mere checks. */
typedef void (*reloader_watcher)(void *arg, const struct reload_outcome *);

/* Borrows the collector. config is the configuration in use and stays the caller's. 0 or -ENOMEM. */
int reloader_new(struct collector *, const struct config *, struct reloader **ret);
/* Call it after collector_free: the reloader may own the collector's configuration. Returns NULL. */
struct reloader *reloader_free(struct reloader *);
void reloader_watch(struct reloader *, reloader_watcher, void *arg);

/*
 * Begins a reload, or with check a check of the file.  done (may be NULL) is called from the loop.  0; -EBUSY: a reload
 * is under way; -ESHUTDOWN: skepd is starting or stopping; -ENOMEM.  The reloader logs the result, but not of a check.
 */
int reloader_begin(struct reloader *, const char *by, bool check, reloader_done done, void *arg);
/* For SIGHUP: begins a reload. While a reload is under way, the reloader begins one more after it. */
void reloader_hup(struct reloader *);

/* "ok", "failed": numbers of reloads; "busy"; "last": null, or its result. New reference, NULL: no memory. */
json_t *reloader_json(const struct reloader *);
/* Adds "check", "errors", "warnings", "changes", "unchanged", "took_ns" to the object. 0 or -1. */
int reload_outcome_json(const struct reload_outcome *, json_t *object);

#endif
