/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/reloader.h - the daemon's reloads: the file is read again, the collector changes to
 * it or stays as it is, and the reloader keeps the result for later requests.
 */
#ifndef SKEP_CORE_RELOADER_H
#define SKEP_CORE_RELOADER_H

#include <jansson.h>

#include "core/collect/collector.h"
#include "core/collect/reload_report.h"

struct reloader;

/* What became of one; borrowed by the callback. */
struct reload_outcome {
	int err;             /* 0, or -errno: nothing has changed */
	bool check;
	struct diag diag;    /* errors; of one that succeeded warnings */
	struct reload_report report;
	uint64_t time_ns;    /* boot time of its end */
	char *by;            /* "SIGHUP", "pid 77 (uid 0)" */
};
typedef void (*reloader_done)(void *arg, const struct reload_outcome *);
/* Called for each reload, from any source: with NULL when it begins, then with its result. Not for mere checks. */
typedef void (*reloader_watcher)(void *arg, const struct reload_outcome *);

/* All borrowed; config is what the collector runs with now, and stays the caller's. */
int reloader_new(struct collector *, const struct config *, struct reloader **ret);
/* After collector_free: the collector's configuration may be ours. Returns NULL. */
struct reloader *reloader_free(struct reloader *);
void reloader_watch(struct reloader *, reloader_watcher, void *arg);

/*
 * done (may be NULL) is called from the loop.  0; -EBUSY: one is under way; -ESHUTDOWN: skepd
 * is starting or stopping; -ENOMEM.  What becomes of it is logged, too, unless it only checks.
 */
int reloader_begin(struct reloader *, const char *by, bool check, reloader_done done, void *arg);
/* SIGHUP: the same; while one is under way it is remembered and comes next. */
void reloader_hup(struct reloader *);

/* "ok", "failed": how many; "busy"; "last": null, or what became of it. New reference, NULL: no memory. */
json_t *reloader_json(const struct reloader *);
/* "errors", "warnings", "changes", "unchanged", "took_ns" into an object. 0 or -1. */
int reload_outcome_json(const struct reload_outcome *, json_t *object);

#endif
