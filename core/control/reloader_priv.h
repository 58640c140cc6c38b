/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/reloader_priv.h - struct reloader, shared by reloader.c and reloader_json.c.
 */
#ifndef SKEP_CORE_RELOADER_PRIV_H
#define SKEP_CORE_RELOADER_PRIV_H

#include "core/base/magic.h"
#include "core/control/reloader.h"

#define MAGIC_reloader 0x4e10ade4u
struct reloader {
	uint32_t magic;
	struct collector *collector;
	char *file;
	struct config *ours;       /* the configuration in use after the first reload; NULL: the caller's is in use */
	struct config *next;       /* the configuration of the reload under way */
	struct reload_outcome now; /* the outcome of the reload under way */
	bool busy, again;          /* again: a SIGHUP arrived while busy */
	reloader_done done;
	void *arg;
	reloader_watcher watcher;
	void *watcher_arg;
	uint64_t n_ok, n_failed;
	bool any;
	struct reload_outcome last;
};

#endif
