/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/plugin.h - plugins and their instances: finds, checks and loads plugins, and fills the loop's
 * part of the host table (watches, timers, work, log, counters). The collector implements emit, batch_answer
 * and the other calls about records: it sets struct instance_ops.
 */
#ifndef SKEP_CORE_PLUGIN_H
#define SKEP_CORE_PLUGIN_H

#include <skep/plugin.h>
#include <uv.h>

#include "core/base/magic.h"
#include "core/config/config.h"
#include "core/base/diag.h"
#include "core/config/options.h"
#include "core/config/sink_terms.h"
#include "core/base/worker.h"

/*
 * A loaded shared object. skepd never unloads it: dlclose races with threads, TLS destructors and atexit
 * handlers.
 */
struct plugin {
	char *path;
	struct skep_plugin_note note;
	const struct skep_plugin *desc;
	uint64_t dev, ino; /* of the loaded file */
	struct plugin *next;
};

/*
 * Finds DIR/NAME.so in dirs, and checks file and directory (regular file, owned by root or by our own euid, not
 * writable by group or others). Then reads the note, compares versions, calls dlopen and compares the
 * descriptor with the note. Loads each path once: the second call returns the same object. 0 or -errno with an
 * error added: -ENOENT not found, -EPERM ownership, -ENOEXEC ABI.
 */
int plugin_load(const char *const *dirs, const char *name, uint32_t kind, struct diag *, struct plugin **ret);
/*
 * Checks that the descriptor agrees with the note and is sound: callbacks set, field tables within their
 * records, names unique. path is for messages only. 0, or -ENOEXEC with the cause in why. plugin_load calls it;
 * declared here for the tests.
 */
int plugin_check_descriptor(const struct skep_plugin *, const struct skep_plugin_note *, const char *path, char *why,
			    size_t why_size);
/* Size and alignment of a field's value in a record (enum skep_type); false: unknown type. */
bool plugin_field_type(uint32_t type, size_t *ret_size, size_t *ret_align);
/*
 * Reads the note of every plugin file (*.so) of dirs, sorted by name within each folder, and executes no plugin
 * code. Calls cb once for each file. why != NULL: plugin_load would refuse the file. note NULL: the note is
 * unreadable.
 */
void plugin_list(const char *const *dirs,
		 void (*cb)(const char *path, const struct skep_plugin_note *, const char *why, void *arg), void *arg);

enum instance_state { INSTANCE_NEW, INSTANCE_OPEN, INSTANCE_RUNNING, INSTANCE_FAILED, INSTANCE_STOPPED };

struct instance_ops {
	void (*emit)(struct skep_instance *, unsigned stream, const struct skep_upid *, uint64_t time_ns,
		     const void *rec);
	void (*drained)(struct skep_instance *, uint64_t time_ns);
	void (*sweep_begin)(struct skep_instance *, uint64_t time_ns);
	void (*sweep_end)(struct skep_instance *, bool complete);
	void (*lost)(struct skep_instance *, unsigned stream, enum skep_loss, uint64_t n);
	unsigned (*redact)(struct skep_instance *, const char *exe, char *argv, uint32_t *len);
	bool (*cgroup_known)(struct skep_instance *, uint64_t cgroup_id, const struct skep_str *path);
	void (*batch_answer)(struct skep_instance *, const struct skep_batch *, const struct skep_batch_answer *);
	bool (*process_known)(struct skep_instance *, const struct skep_upid *);
	bool (*cgroup_path)(struct skep_instance *, uint64_t cgroup_id, struct skep_str *ret);
	void (*cgroups_live)(struct skep_instance *, void (*cb)(void *arg, uint64_t id, const struct skep_str *path),
			     void *arg);
	bool (*process_by_pid)(struct skep_instance *, uint32_t pid, struct skep_upid *ret);
	bool (*stays)(struct skep_instance *);
	void (*settle_soon)(struct skep_instance *);
	void (*detail_over)(struct skep_instance *, uint64_t id, const char *why);
	int (*process_read)(struct skep_instance *, const struct skep_upid *, uint32_t uid, uint32_t what,
			    skep_process_cb, void *arg);
	const struct skep_boundaries *(*boundaries)(struct skep_instance *);
	const struct skep_kernel_types *(*kernel_types)(struct skep_instance *);
	/*
	 * stop() has returned: only `done` callbacks may reach the plugin from now on. Called again before
	 * close().
	 */
	void (*stopped)(struct skep_instance *);
};

/* How this kernel provides one of the plugin's signals, as the plugin reported it (skep_host.signal). */
struct instance_signal {
	struct instance_signal *next;
	char *name, *how, *why; /* how, why: "" when the plugin gave none */
	enum skep_signal_state state;
};

struct skep_counter {
	const char *name, *help; /* copies of the plugin's texts */
	_Atomic uint64_t value;
	struct skep_counter *next;
};

#define MAGIC_skep_instance 0x1257a2ceu
struct skep_instance {
	uint32_t magic;
	struct plugin *plugin;
	char *pin_dir; /* host.pin_dir; NULL: none */
	char *mark_extra;           /* memory of host.mark.extra, and after stop() of last_mark.extra */
	struct skep_mark last_mark; /* the mark after stop(); source 0: none */
	char *name;
	bool required;
	struct sink_terms terms; /* for a sink */
	enum instance_state state;
	char *reason; /* why the instance FAILED, or why a sink's last submit() failed; else NULL */
	void *data;   /* the plugin's state, desc->state_size bytes */
	struct options_memory *memory;
	struct skep_host host; /* the host table that this instance uses */
	const struct instance_ops *ops;
	void *owner;  /* the collector */
	void *extra;  /* the collector's data about this instance */
	uv_loop_t *loop;
	struct skep_watch *watches;
	struct skep_timer *timers;
	unsigned working; /* work() calls that have not returned */
	struct workers *workers; /* the instance's worker threads; NULL: no work() yet */
	uint64_t stuck_after_ns; /* skepd reports a work() call that takes longer */
	uint64_t stuck_ns;       /* age of the oldest late work() call; 0: no call is late */
	unsigned closing; /* uv handles whose close callback has not run yet */
	struct skep_counter *counters;
	struct instance_signal *signals; /* in the order of their first report */
	uint64_t budget_ns;      /* a callback that takes longer is an overrun; open, start, stop, close are exempt */
	uint64_t overruns;       /* callbacks over budget */
	uint64_t busy_ns;        /* time spent in all callbacks, including the host functions that they called */
	uint64_t worst_ns;       /* the longest callback that has a budget */
	struct skep_instance *next;
	/* Private to instance*.c from here on. */
	void *pristine;          /* copy of data after the options were applied, for a retry */
	char *failing;           /* text of host->fail from the running callback */
	unsigned depth;          /* nested callbacks in progress */
	uint64_t entered_cpu_ns; /* CPU time and waits of the loop thread when the outermost callback began */
	long entered_waits;
	bool opened, started;    /* skepd must still call close(), stop() */
	bool ending;             /* stop() and close() wait for working == 0 and depth == 0 */
	bool in_end;             /* the end is in progress: its own callbacks must not start it again */
	bool in_stop;            /* stop() is running: work() is accepted for the last time */
	bool stop_wanted;        /* the final state is STOPPED, not FAILED */
	uint64_t warned_ns;      /* time of the last logged overrun */
	uint64_t warned_overruns;
};

/*
 * Creates an instance and applies its options. host_proto: the data members of struct skep_host. 0 or -errno
 * with errors added.
 */
int instance_new(uv_loop_t *, struct plugin *, const struct config *, const struct config_plugin *,
		 const struct skep_host *host_proto, const struct instance_ops *, void *owner, struct diag *,
		 struct skep_instance **ret);
/*
 * Life cycle. Each function measures its callback and sets state and reason. 0 or the plugin's -errno. After an
 * error the instance is FAILED: skepd has called close() (never stop()) and has closed the watches and timers
 * that the plugin left open. While work() runs, close() waits for it.
 */
int instance_open(struct skep_instance *);
int instance_start(struct skep_instance *);
/*
 * Starts a FAILED instance again: a fresh state with the same options, open(), start(). The caller decides when
 * to retry. 0 or the plugin's -errno; -EBUSY while work() of the failed attempt still runs (retry later);
 * -EINVAL when the instance is not FAILED.
 */
int instance_retry(struct skep_instance *);
/*
 * Applies changed options to a running instance. next: a state with the new options
 * (core/config/options_diff.h). 0; -ENOTSUP: the change needs a restart of the plugin; -EBUSY: its work() runs,
 * call again later; -ESHUTDOWN: the instance does not run; or the plugin's -errno. ret_why: the plugin's text,
 * or NULL; the caller frees it.
 */
int instance_reload(struct skep_instance *, const void *next, char **ret_why);
/*
 * Starts a STOPPED instance again with the same options: open(), start(). 0, or an error as for instance_retry;
 * the instance is then FAILED.
 */
int instance_restart(struct skep_instance *);
void instance_sample(struct skep_instance *);
/*
 * instance_mark reads the plugin's mark, or its last mark after stop(); false: no mark. instance_settled
 * acknowledges a mark from instance_mark.
 */
bool instance_mark(struct skep_instance *, struct skep_mark *ret);
void instance_settled(struct skep_instance *, const struct skep_mark *);
void instance_flush(struct skep_instance *);
void instance_drain(struct skep_instance *);
/*
 * Attaches a detail of the plugin's table. 0, or the plugin's -errno with the cause in *ret_why (the caller
 * frees it; NULL: no memory).
 */
int instance_attach(struct skep_instance *, unsigned detail, const struct skep_detail_scope *, char **ret_why);
void instance_detach(struct skep_instance *, uint64_t id);
/* Row i of the plugin's table of details; NULL: no such row. */
const struct skep_detail *instance_detail(const struct skep_instance *, unsigned i);
/*
 * For sinks. 0 or -errno (the caller offers the batch again later): the plugin's, or -ESHUTDOWN when the sink
 * does not run.
 */
int instance_submit(struct skep_instance *, const struct skep_batch *);
/*
 * Ends the instance: runs stop() and close(), and closes and logs the watches and timers that the plugin left
 * open. It ends at once unless work() is in progress or the caller is inside one of the instance's own
 * callbacks. Otherwise the loop runs stop() and close() as soon as possible. Until then only `done` callbacks,
 * watches and timers reach the plugin. New work() gets -ESHUTDOWN, except in stop(): close() waits for that
 * work. The caller keeps the loop running until instance_stopped(). stop() may still emit records; the instance
 * emits none afterwards. Idempotent.
 */
void instance_stop(struct skep_instance *);
/* true: state STOPPED, working == 0, closing == 0; the caller may free the instance. */
bool instance_stopped(const struct skep_instance *);
/* true: the instance is to end, but stop() or close() waits for work() that has not returned, perhaps for ever. */
bool instance_waits_for_work(const struct skep_instance *);
/* Changes a pending end: when the work returns the instance becomes FAILED instead of STOPPED, for a retry. */
void instance_stop_recall(struct skep_instance *);
/*
 * Frees a stopped instance. Also frees an instance that has nothing in the loop: never opened, only opened (it
 * calls close()), or FAILED. Otherwise logs an error and frees nothing. Returns NULL.
 */
struct skep_instance *instance_free(struct skep_instance *);

/* instance_loop.c, for instance.c: */
/* Sets the functions of the host table. */
void instance_host_fill(struct skep_host *);
/* skepd calls it a few times a second: warns once of work() that does not return, and sets stuck_ns. */
void instance_look_at_work(struct skep_instance *);
/* instance_callback.c, for instance.c and instance_loop.c: */
/* instance_enter and instance_leave surround every callback; what: its name for messages. */
uint64_t instance_enter(struct skep_instance *);
void instance_leave(struct skep_instance *, uint64_t entered, const char *what, bool has_budget);
/* Runs a pending end when no callback and no work() is in progress. */
void instance_end_if_due(struct skep_instance *);
/* The functions of skep_host with these names. */
int instance_watch_fd(struct skep_instance *, int fd, unsigned events, skep_watch_cb, void *arg,
		      struct skep_watch **ret);
void instance_watch_close(struct skep_watch *);
int instance_timer(struct skep_instance *, uint64_t first_ms, uint64_t repeat_ms, skep_timer_cb, void *arg,
		   struct skep_timer **ret);
void instance_timer_close(struct skep_timer *);
/* instance_signal.c: implements skep_host.signal, and frees the list. */
void instance_signal(struct skep_instance *, const char *name, enum skep_signal_state, const char *how,
		     const char *why);
void instance_signals_free(struct skep_instance *);

#endif
