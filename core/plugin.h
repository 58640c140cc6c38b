/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin.h - plugins and their instances: find, check, load, and the part of
 * the host table that is about the loop (watches, timers, work, log, counters).
 * What emit and batch_done do is the collector's: it fills in struct instance_ops.
 */
#ifndef SKEP_CORE_PLUGIN_H
#define SKEP_CORE_PLUGIN_H

#include <skep/plugin.h>
#include <uv.h>

#include "core/config.h"
#include "core/diag.h"
#include "core/options.h"

/* A loaded shared object. Never unloaded: dlclose races threads, TLS and atexit. */
struct plugin {
	char *path;
	struct skep_plugin_note note;
	const struct skep_plugin *desc;
	struct plugin *next;
};

/*
 * Find DIR/NAME.so in dirs, check file and directory (regular file, owned by root
 * or by our own euid, not group- or world-writable), read the note, compare
 * versions, dlopen, compare the descriptor with the note.  One load per path:
 * the second call returns the same object.  0 or -errno with an error added:
 * -ENOENT not found, -EPERM ownership, -ENOEXEC ABI.
 */
int plugin_load(const char *const *dirs, const char *name, uint32_t kind, struct diag *, struct plugin **ret);
/* Every plugin file of dirs by its note alone; calls back once a file, why != NULL for what would be refused. */
void plugin_list(const char *const *dirs,
		 void (*cb)(const char *path, const struct skep_plugin_note *, const char *why, void *arg), void *arg);

enum instance_state { INSTANCE_NEW, INSTANCE_OPEN, INSTANCE_RUNNING, INSTANCE_FAILED, INSTANCE_STOPPED };

struct instance_ops {
	void (*emit)(struct skep_instance *, unsigned stream, const struct skep_upid *, uint64_t time_ns, const void *rec);
	void (*drained)(struct skep_instance *, uint64_t time_ns);
	void (*sweep_begin)(struct skep_instance *, uint64_t time_ns);
	void (*sweep_end)(struct skep_instance *, bool complete);
	void (*lost)(struct skep_instance *, unsigned stream, enum skep_loss, uint64_t n);
	unsigned (*redact)(struct skep_instance *, const char *exe, char *argv, uint32_t *len);
	bool (*cgroup_known)(struct skep_instance *, uint64_t cgroup_id, const struct skep_str *path);
	void (*batch_done)(struct skep_instance *, const struct skep_batch *, enum skep_batch_result, const char *why);
};

struct skep_counter {
	const char *name, *help; /* the plugin's */
	_Atomic uint64_t value;
	struct skep_counter *next;
};

struct skep_instance {
	struct plugin *plugin;
	char *name;
	bool required;
	enum instance_state state;
	char *reason; /* why it failed; NULL otherwise */
	void *data;   /* the plugin's state, desc->state_size bytes */
	struct options_memory *memory;
	struct skep_host host; /* the table this instance sees */
	const struct instance_ops *ops;
	void *owner;  /* the collector */
	void *extra;  /* the collector's part about this instance */
	uv_loop_t *loop;
	struct skep_watch *watches;
	struct skep_timer *timers;
	unsigned working; /* work() under way */
	unsigned closing; /* uv handles whose close callback is still to come */
	struct skep_counter *counters;
	uint64_t budget_ns;      /* a callback that takes longer is an overrun */
	uint64_t overruns;       /* callbacks over budget */
	uint64_t busy_ns;        /* time spent in callbacks */
	uint64_t worst_ns;
	struct skep_instance *next;
};

/* host_proto: everything of struct skep_host that is not a function. 0 or -errno with errors added. */
int instance_new(uv_loop_t *, struct plugin *, const struct config *, const struct config_plugin *,
		 const struct skep_host *host_proto, const struct instance_ops *, void *owner, struct diag *,
		 struct skep_instance **ret);
/* Life cycle. Each measures the callback and keeps state and reason; 0 or the plugin's -errno. */
int instance_open(struct skep_instance *);
int instance_start(struct skep_instance *);
void instance_sample(struct skep_instance *);
void instance_flush(struct skep_instance *);
int instance_submit(struct skep_instance *, const struct skep_batch *); /* sinks */
/* stop + close callbacks, closes watches and timers that the plugin left open (logged). Idempotent. */
void instance_stop(struct skep_instance *);
/* After instance_stop and after the loop ran until closing == 0 and working == 0. Returns NULL. */
struct skep_instance *instance_free(struct skep_instance *);

#endif
