/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/plugin.h - plugins and their instances: find, check, load, and the part of
 * the host table that is about the loop (watches, timers, work, log, counters).
 * What emit and batch_done do is the collector's: it fills in struct instance_ops.
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

/* A loaded shared object. Never unloaded: dlclose races threads, TLS and atexit. */
struct plugin {
	char *path;
	struct skep_plugin_note note;
	const struct skep_plugin *desc;
	uint64_t dev, ino; /* of the file that was loaded */
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
/*
 * Is the descriptor what the note promised, and sound: callbacks set, field tables
 * within their records, names unique?  path is for messages only.  0, or -ENOEXEC
 * with the reason in why.  plugin_load calls it; separate for its tests.
 */
int plugin_check_descriptor(const struct skep_plugin *, const struct skep_plugin_note *, const char *path, char *why,
			    size_t why_size);
/* Size and alignment of a field's value in a record (enum skep_type); false: no such type. */
bool plugin_field_type(uint32_t type, size_t *ret_size, size_t *ret_align);
/*
 * Every plugin file (*.so) of dirs by its note alone, in order of name; calls back once
 * a file, why != NULL for what would be refused, note NULL where it could not be read.
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
	/*
	 * stop() has returned: no callback but done ones may reach the plugin any more.  Called again before close().
	 */
	void (*stopped)(struct skep_instance *);
};

/* How a plugin says that it has a signal on this kernel (skep_host.signal). */
struct instance_signal {
	struct instance_signal *next;
	char *name, *how, *why; /* how, why: "" when nothing was said */
	enum skep_signal_state state;
};

struct skep_counter {
	const char *name, *help; /* the plugin's */
	_Atomic uint64_t value;
	struct skep_counter *next;
};

#define MAGIC_skep_instance 0x1257a2ceu
struct skep_instance {
	uint32_t magic;
	struct plugin *plugin;
	char *pin_dir; /* host.pin_dir; NULL: none */
	char *mark_extra;           /* of host.mark, and later of last_mark */
	struct skep_mark last_mark; /* as it was after stop(); source 0: none */
	char *name;
	bool required;
	struct sink_terms terms; /* of a sink */
	enum instance_state state;
	char *reason; /* why it FAILED, or why a sink's last submit() failed; NULL otherwise */
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
	struct workers *workers; /* its threads; NULL: none of it was needed yet */
	uint64_t stuck_after_ns; /* a piece of work that takes longer is reported */
	uint64_t stuck_ns;       /* for so long one has not returned; 0: none is late */
	unsigned closing; /* uv handles whose close callback is still to come */
	struct skep_counter *counters;
	struct instance_signal *signals; /* in the order in which they were first named */
	uint64_t budget_ns;      /* a callback that takes longer is an overrun; open, start, stop, close are exempt */
	uint64_t overruns;       /* callbacks over budget */
	uint64_t busy_ns;        /* time spent in all callbacks, what they called in the host included */
	uint64_t worst_ns;       /* the longest of those that have a budget */
	struct skep_instance *next;
	/* instance.c's and instance_loop.c's own from here */
	void *pristine;          /* data as it was after its options were applied, for a retry */
	char *failing;           /* what host->fail said in the callback under way */
	unsigned depth;          /* callbacks under way, nested */
	uint64_t entered_cpu_ns; /* the loop thread's CPU time and waits when the outermost of them began */
	long entered_waits;
	bool opened, started;    /* close(), stop() is due */
	bool ending;             /* stop() and close() wait for working == 0 and depth == 0 */
	bool in_end;             /* that is under way: its own callbacks do not begin it again */
	bool in_stop;            /* stop() is on the stack: work() is accepted for the last time */
	bool stop_wanted;        /* the state afterwards is STOPPED, not FAILED */
	uint64_t warned_ns;      /* when an overrun was last logged */
	uint64_t warned_overruns;
};

/* host_proto: everything of struct skep_host that is not a function. 0 or -errno with errors added. */
int instance_new(uv_loop_t *, struct plugin *, const struct config *, const struct config_plugin *,
		 const struct skep_host *host_proto, const struct instance_ops *, void *owner, struct diag *,
		 struct skep_instance **ret);
/*
 * Life cycle. Each measures the callback and keeps state and reason; 0 or the plugin's -errno.
 * One that fails leaves the instance FAILED: close() has been called (stop() has not), what
 * the plugin left open is closed.  Where work() is under way, close() waits for it.
 */
int instance_open(struct skep_instance *);
int instance_start(struct skep_instance *);
/*
 * A FAILED instance once more from the beginning: a fresh state with the same
 * options, open(), start().  When to try is the caller's business.  0 or the
 * plugin's -errno; -EBUSY while the failed attempt's work() is still under way
 * (try again later); -EINVAL when it is not FAILED.
 */
int instance_retry(struct skep_instance *);
/*
 * next: a state whose options are those that are wanted (core/config/options_diff.h).  0;
 * -ENOTSUP: the plugin has to be restarted for that; -EBUSY: its work() is under way, ask
 * again later; -ESHUTDOWN: it does not run; or the plugin's -errno.  ret_why: to be freed; NULL:
 * nothing to say.
 */
int instance_reload(struct skep_instance *, const void *next, char **ret_why);
/* A STOPPED one once more, as it was: open(), start(). 0 or as instance_retry; it is FAILED then. */
int instance_restart(struct skep_instance *);
void instance_sample(struct skep_instance *);
/* mark() of the plugin: false: it has none, or nothing of it runs. settled(): with what mark() gave. */
bool instance_mark(struct skep_instance *, struct skep_mark *ret);
void instance_settled(struct skep_instance *, const struct skep_mark *);
void instance_flush(struct skep_instance *);
/*
 * A detail of the plugin's table. 0 or the plugin's -errno, with ret_why (to be freed; NULL: no memory) when it said
 * why.
 */
int instance_attach(struct skep_instance *, unsigned detail, const struct skep_detail_scope *, char **ret_why);
void instance_detach(struct skep_instance *, uint64_t id);
/* Row i of the plugin's table of details, NULL: there is none. */
const struct skep_detail *instance_detail(const struct skep_instance *, unsigned i);
/* Sinks. 0 or -errno (offer it again later): the plugin's, -ESHUTDOWN when it is not running. */
int instance_submit(struct skep_instance *, const struct skep_batch *);
/*
 * Ask for the end.  Runs stop() and close() and closes the watches and timers that the
 * plugin left open (logged), at once if it can.  It cannot while work() is under way, nor
 * when called from inside one of the instance's own callbacks: then they run from the
 * loop as soon as that is over, and nothing but done callbacks, watches and timers reaches
 * the plugin meanwhile (new work() is refused with -ESHUTDOWN, except in stop(): close() waits for that).  So the
 * caller keeps the loop running until instance_stopped().  stop() may still emit; nothing comes after it.  Idempotent.
 */
void instance_stop(struct skep_instance *);
/* state STOPPED, working == 0, closing == 0: may be freed. */
bool instance_stopped(const struct skep_instance *);
/* Asked to end, and its work() does not return: stop() and close() wait for it, for ever perhaps. */
bool instance_waits_for_work(const struct skep_instance *);
/* Instead of being STOPPED when that work returns it is FAILED then, to be tried again. */
void instance_stop_recall(struct skep_instance *);
/*
 * After instance_stopped().  What has nothing in the loop may be freed as it is: never opened, only
 * opened (close() is called), FAILED.  Otherwise it logs an error and frees nothing.  Returns NULL.
 */
struct skep_instance *instance_free(struct skep_instance *);

/* instance_loop.c, for instance.c: */
/* Everything of the host table that is a function. */
void instance_host_fill(struct skep_host *);
/* Around every callback; what: its name for messages. */
uint64_t instance_enter(struct skep_instance *);
void instance_leave(struct skep_instance *, uint64_t entered, const char *what, bool has_budget);
/* A few times a second: warns once of work that does not return, and sets stuck_ns. */
void instance_look_at_work(struct skep_instance *);
/* Close what the plugin left open. Returns how many were still active. */
unsigned instance_close_leftovers(struct skep_instance *);
/* instance_signal.c: what skep_host.signal does, and the end of it. */
void instance_signal(struct skep_instance *, const char *name, enum skep_signal_state, const char *how,
		     const char *why);
void instance_signals_free(struct skep_instance *);
/* instance.c, for instance_loop.c: run a pending end if nothing is in its way. */
void instance_end_if_due(struct skep_instance *);

#endif
