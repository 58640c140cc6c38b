/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/plugin.h - the plugin ABI, and the only header a plugin needs.
 *
 * A plugin is one shared object.  It carries its identity in an ELF note, which
 * the host reads before it loads anything, and exports one function, which
 * returns a constant descriptor.  The host hands a table of functions to it and
 * exports no symbol of its own.
 *
 * Rules for every plugin
 *   - Every callback runs on the host's loop thread (except the work callback of
 *     skep_host.work) and is measured against a budget; long work goes to work().
 *   - A plugin never sets process-wide state: signals, locale, umask, rlimits and
 *     libbpf_set_print belong to the host.  A plugin initialises a library that counts its users
 *     (curl_global_init and curl_global_cleanup of libcurl) in start() and leaves it in close():
 *     on the loop thread, so that no two plugins do it at once.
 *   - Structs that cross the border start with their size and only grow at the
 *     end.  A plugin never allocates, copies or sizeofs a struct skep_host.
 *   - Functions return 0 or a negative errno.  A callback that fails gives the reason
 *     to host->fail() and does not log it as well.
 *
 * Changes
 *   1.0  first version
 */
#ifndef SKEP_PLUGIN_H
#define SKEP_PLUGIN_H

#include <errno.h>
#include <skep/record.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_ABI_MAJOR 1
#define SKEP_ABI_MINOR 0
#define SKEP_NOTE_MAGIC 0x70656b73u /* "skep", little endian */
#define SKEP_NOTE_TYPE 1u
#define SKEP_NOTE_OWNER "skep"
#define SKEP_NOTE_SECTION ".note.skep.plugin"
#define SKEP_ENTRY_SYMBOL "skep_plugin_entry"

enum skep_kind {
	SKEP_KIND_PROBE = 1,
	SKEP_KIND_SINK = 2,
};

/* The note's description (n_type SKEP_NOTE_TYPE, owner "skep"). */
struct skep_plugin_note {
	uint32_t magic;
	uint16_t abi_major, abi_minor;
	uint32_t kind;     /* enum skep_kind */
	char name[32];     /* NUL-terminated */
	char version[32];  /* NUL-terminated */
};

struct skep_instance; /* one configured use of a plugin; the host owns it */
struct skep_watch;
struct skep_timer;
struct skep_counter;

/* ---- options ------------------------------------------------------------- */

enum skep_option_type {
	SKEP_O_BOOL = 1, /* bool */
	SKEP_O_INT,      /* int64_t */
	SKEP_O_SIZE,     /* uint64_t, bytes; written 4096, "64MiB" */
	SKEP_O_TIME,     /* uint64_t, ns; written "5s", "250ms" */
	SKEP_O_STR,      /* const char *, owned by the host, NULL when not set */
	SKEP_O_STRV,     /* const char **, NULL-terminated, owned by the host, NULL when not set */
};
#define SKEP_OPT_RELOADABLE 1u /* may change by reload() */
#define SKEP_OPT_SECRET 2u     /* never printed */
#define SKEP_OPT_REQUIRED 4u

struct skep_option {
	const char *name;
	uint32_t type;      /* enum skep_option_type */
	uint32_t flags;     /* SKEP_OPT_* */
	uint32_t offset;    /* into the plugin's state */
	uint32_t reserved;
	const char *default_value; /* as written in a config; NULL: zero */
	int64_t min, max;   /* numbers: inclusive bounds when min < max */
	const char *help;
};

/* ---- what the host offers ------------------------------------------------- */

enum skep_log_level {
	SKEP_LOG_ERROR = 3,
	SKEP_LOG_WARNING = 4,
	SKEP_LOG_NOTICE = 5,
	SKEP_LOG_INFO = 6,
	SKEP_LOG_DEBUG = 7
};

#define SKEP_READABLE 1u
#define SKEP_WRITABLE 2u

/* Where the host or a probe lost a record.  seen = delivered + filtered + the sum of these. */
enum skep_loss {
	SKEP_LOSS_KERNEL = 1, /* a ring or map was full, or a program was skipped */
	SKEP_LOSS_QUEUE,
	SKEP_LOSS_SPOOL,
	SKEP_LOSS_SINK,
};

enum skep_batch_result {
	SKEP_BATCH_ACK = 1, /* durable at the receiver */
	SKEP_BATCH_RETRY,   /* not now; the host offers it again, with backoff */
	SKEP_BATCH_REJECT,  /* never; counted as lost at the sink, the reason logged */
	/* the following by batch_answer() only */
	/*
	 * not before an operator mends something (a token, a certificate, a table): the host keeps the batch, logs an
	 * error and offers it again slowly
	 */
	SKEP_BATCH_HOLD,
	/*
	 * too large for the receiver: the host offers its halves, as batches KEY/0 and KEY/1, and rejects one record
	 * alone
	 */
	SKEP_BATCH_SPLIT,
	/*
	 * The receiver failed, and this batch may be the cause (HTTP 500).  The host offers it again.  After ten such
	 * failures, and once the sink has acknowledged another batch, the host splits it, down to the record at fault.
	 */
	SKEP_BATCH_SUSPECT,
};

/* The sink's answer about a batch. */
struct skep_batch_answer {
	uint32_t size;   /* sizeof(struct skep_batch_answer) where the plugin was built */
	uint32_t result; /* enum skep_batch_result */
	/*
	 * the delay that the receiver asked for, ns; 0: none. The host waits that long or its own backoff, whichever is
	 * longer, and one hour at most
	 */
	uint64_t retry_after_ns;
	uint64_t sent_bytes;     /* on the wire, as far as the sink can count */
	/* ACK: records that the receiver refused (partial success); the host counts them as lost at the sink */
	uint32_t rejected;
	uint32_t status;         /* the receiver's status, of HTTP for example; 0: none */
	/* a reason for the operator, in the receiver's words if it gave some; NULL only with a complete ACK */
	const char *why;
};

/* How far a probe has read a source that keeps its records until the probe releases them. */
struct skep_mark {
	uint64_t source;   /* identity of the source, different for each one of a boot; 0: none */
	uint64_t position; /* grows with each record read */
	/* records read and not emitted yet, in the plugin's own form; the plugin's until its next callback */
	const void *extra;
	uint32_t extra_size;
	uint32_t reserved; /* 0 */
	uint64_t cookie;   /* settled() gives it back; the host does not keep it across a restart */
};

/* Whether this kernel and machine provide a signal; for `skep doctor`. */
enum skep_signal_state {
	SKEP_SIGNAL_OK = 1,
	SKEP_SIGNAL_PARTIAL, /* measured in part or less exactly: why names the difference */
	SKEP_SIGNAL_MISSING, /* this kernel or machine cannot measure it: why names the missing feature */
	SKEP_SIGNAL_OFF,     /* available: why names the option or command that switches it on */
};

/*
 * A detail: a measurement that costs too much to be always on.  The host attaches it on demand,
 * and detaches it when its time is over or when its last reader has disconnected.
 */
struct skep_detail {
	const char *name;   /* unique among the details of all plugins: "runqlat" */
	const char *help;   /* one line, with the cost of the measurement */
	uint32_t stream;    /* index of the stream (role DETAIL) of its records */
	uint32_t scopes;    /* scopes that it accepts: bits 1 << enum skep_scope */
};

enum skep_scope {
	SKEP_SCOPE_HOST = 0, /* everything */
	SKEP_SCOPE_GROUP,    /* processes whose byte in the verdict map has the group value (a run) */
	SKEP_SCOPE_CGROUP,   /* processes in that cgroup (its id, not those below it) */
	SKEP_SCOPE_PID,      /* one process (tgid) */
};

struct skep_detail_scope {
	uint32_t size;       /* sizeof(struct skep_detail_scope) in this host */
	uint32_t kind;       /* enum skep_scope */
	uint64_t value;
	uint64_t id;         /* of this attachment: the first member of its records */
};

/* Arguments and environment of a process, from /proc.  Valid until the callback returns. */
struct skep_process_text {
	uint32_t size; /* sizeof(struct skep_process_text) in this host */
	/*
	 * 0; -ESRCH: the process is gone; -ETIMEDOUT: it holds the lock of its memory, perhaps for ever;
	 * -EBUSY: the host did not read it, because its user has several such processes; -EPIPE: this host cannot read
	 * any process; or another -errno.
	 */
	int32_t error;
	struct skep_str cmdline; /* list "a\0b\0", not redacted. total > len: cut */
	struct skep_str environ; /* list "A=1\0B=2\0"; empty without the right to read it */
};
#define SKEP_READ_CMDLINE 1u
#define SKEP_READ_ENVIRON 2u

/*
 * How a probe finds the boundaries of runs and tasks: which variables it reads, and at which execs.  The
 * host owns the struct, the lists and their texts, which are valid until the callback returns.
 */
struct skep_boundaries {
	uint32_t size;       /* sizeof(struct skep_boundaries) in this host */
	uint32_t generation; /* another number after each change of a list, for example by a reload; never 0 */
	/* names of environment variables, NULL-terminated: 64 at most, of 31 bytes at most */
	const char *const *names;
	/*
	 * programs of which a child may begin a run or a task, as the kernel names them in comm, NULL-terminated: 256
	 * at most, of 15 bytes at most
	 */
	const char *const *programs;
};

/*
 * The kernel's type information (BTF), with an index: functions for it are in skep/types.h.  The host owns
 * all of it, reads it when the first plugin asks, and keeps it until the callback returns.
 */
struct skep_kernel_types {
	uint32_t size;           /* sizeof(struct skep_kernel_types) in this host */
	uint32_t count;          /* ids of types: 1 to count - 1; 0 is void */
	const void *btf;         /* as /sys/kernel/btf/vmlinux has it, from the header (struct btf_header) on */
	const uint32_t *offsets; /* by id: bytes from the first type to this one */
	/*
	 * Returns the first id above `after` of a struct, union, enum, typedef, function or variable of that name, len
	 * bytes; 0: there is none.
	 */
	uint32_t (*next)(const struct skep_kernel_types *, const char *name, uint32_t len, uint32_t after);
};

typedef void (*skep_watch_cb)(struct skep_instance *, void *arg, unsigned events);
typedef void (*skep_timer_cb)(struct skep_instance *, void *arg);
typedef void (*skep_work_cb)(void *arg);
typedef void (*skep_done_cb)(struct skep_instance *, void *arg);
typedef void (*skep_process_cb)(struct skep_instance *, void *arg, const struct skep_process_text *);

/*
 * Owned by the host, valid from open() until close() returns.  Loop thread only,
 * except where it says "any thread".  Check optional ones of later minors with
 * SKEP_HAS(host, field).
 */
struct skep_host {
	uint32_t size;
	uint32_t abi_minor;
	const char *boot_id;  /* 36 characters, /proc/sys/kernel/random/boot_id */
	uint64_t interval_ns; /* the host calls sample() so often */
	/*
	 * 1 byte per pid, in one element of a BPF array (mmap-able); -1 where the
	 * host could not make one.  Index: tgid.  Below 128: collect, and its lower six
	 * bits are the group that a detail may be for (struct skep_detail_scope); from 128 on:
	 * excluded, emit nothing (all values: skep/rules.h).  Children inherit: the probe that
	 * owns the fork hook copies the parent's byte.  BPF code reads it before anything else (kernel side: by
	 * bpf_map__reuse_fd on a map of max_entries 1 and value size verdict_pids).
	 */
	int verdict_fd;
	uint32_t verdict_pids;  /* bytes in that element: pid_max */
	uint32_t live_wants_details; /* 1: fill exe, cwd, cgroup, argv of process.live for processes not seen before */
	uint32_t reserved;

	/* Any thread.  Logs a line, given without its newline; the host limits the rate. */
	void (*log)(struct skep_instance *, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
	/*
	 * Stores why this callback fails, and returns err (a negative errno) for the callback to return.  In a callback
	 * that returns nothing it logs a warning.
	 */
	int (*fail)(struct skep_instance *, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

	/*
	 * Calls cb when the fd is ready.  The plugin still owns the fd, which becomes non-blocking; it closes the watch
	 * before the fd.  events: SKEP_READABLE | SKEP_WRITABLE.  The host reports an error on the fd as all requested
	 * events, so that read or write meets it.  -EEXIST: watched already; -EPERM: a regular file.
	 */
	int (*watch_fd)(struct skep_instance *, int fd, unsigned events, skep_watch_cb, void *arg,
			struct skep_watch **ret);
	void (*watch_close)(struct skep_watch *); /* NULL is fine; no callback after it */
	/* Calls cb after first_ms, then every repeat_ms (0: once).  The plugin closes the timer with timer_close(). */
	int (*timer)(struct skep_instance *, uint64_t first_ms, uint64_t repeat_ms, skep_timer_cb, void *arg,
		     struct skep_timer **ret);
	void (*timer_close)(struct skep_timer *); /* NULL is fine; no callback after it */
	/*
	 * Calls work(arg) on a thread of this instance, then done(arg), which may be NULL, on the loop; the host does
	 * not call stop() meanwhile.  An instance runs up to four at once, and others of it wait.  -ESHUTDOWN when the
	 * instance is about to stop: the host calls neither.  The host logs work() that does not return, and does not
	 * wait for it at the instance's end: it calls done() and stop() only if work() returns.  stop() may call this
	 * once more, and the host calls close() when that work is done: close a file
	 * there whose server may be gone.
	 */
	int (*work)(struct skep_instance *, skep_work_cb work, skep_done_cb done, void *arg);

	/*
	 * Emits a record of the plugin's stream number `stream` (index in skep_plugin.streams).
	 * The host copies it: the plugin owns rec and its strings again when this
	 * returns.  who NULL: not about a process.  Never fails for the caller: the host
	 * counts a record that it cannot keep as lost.
	 */
	void (*emit)(struct skep_instance *, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		     const void *rec);
	/*
	 * The plugin has emitted every fact about processes that happened up to time_ns. For facet probes, life-cycle
	 * probes, and probes whose details emit records of processes: the host holds the record of an ended process
	 * until then.
	 */
	void (*drained)(struct skep_instance *, uint64_t time_ns);
	/* Life-cycle probes: a pass over all live processes begins (its time) and ends. */
	void (*sweep_begin)(struct skep_instance *, uint64_t time_ns);
	void (*sweep_end)(struct skep_instance *, bool complete);
	/* Counts n records of that stream as lost at `where`. */
	void (*lost)(struct skep_instance *, unsigned stream, enum skep_loss where, uint64_t n);

	/* A self-metric of that name; the host owns it and frees it with the instance.  NULL: no memory. */
	struct skep_counter *(*counter)(struct skep_instance *, const char *name, const char *help);
	void (*counter_add)(struct skep_counter *, uint64_t n); /* any thread */
	void (*counter_set)(struct skep_counter *, uint64_t n); /* any thread */

	/*
	 * Blanks secrets in an argument list ("a\0b\0", *len bytes), in place: it
	 * never grows.  exe: path of the program, for the redaction rules of one
	 * program (mysql -p...).  Returns the number of blanked secrets.
	 */
	unsigned (*redact)(struct skep_instance *, const char *exe, char *argv, uint32_t *len);
	/* True when the host already knows the path of this cgroup; stores `path` (may be NULL) if not. */
	bool (*cgroup_known)(struct skep_instance *, uint64_t cgroup_id, const struct skep_str *path);

	/* Sinks: answers a batch; submit() may call it. why: NULL or a reason for the operator; the host copies it. */
	void (*batch_done)(struct skep_instance *, const struct skep_batch *, enum skep_batch_result, const char *why);

	/* Life-cycle probes: does the process table have this process already? */
	bool (*process_known)(struct skep_instance *, const struct skep_upid *);

	/*
	 * Reports how the plugin measures a signal here.  name: short and stable ("tcp.connections");
	 * how: the hook or file ("tp_btf/inet_sock_set_state"); why: NULL when OK.  The host copies
	 * all; a later call for the same name replaces the former.  Call it for every signal in start().
	 */
	void (*signal)(struct skep_instance *, const char *name, enum skep_signal_state, const char *how,
		       const char *why);
	/* Path of a cgroup below its hierarchy's root. false: unknown. Borrowed until the callback returns. */
	bool (*cgroup_path)(struct skep_instance *, uint64_t cgroup_id, struct skep_str *ret);
	/* Calls cb for each cgroup with a live process that no rule excludes; ids as in process records. */
	void (*cgroups_live)(struct skep_instance *,
			     void (*cb)(void *arg, uint64_t cgroup_id, const struct skep_str *path), void *arg);
	/* The process with that pid (tgid), or the last one with it whose record is still open. false: unknown. */
	bool (*process_by_pid)(struct skep_instance *, uint32_t pid, struct skep_upid *ret);
	/*
	 * Reports that a detail has ended by itself (its process is gone, it cost too much): the host then calls
	 * detach(). why: for the operator; the host copies the text.
	 */
	void (*detail_over)(struct skep_instance *, uint64_t id, const char *why);

	/*
	 * The maps of skep/bpf/rules.bpf.h, for the probe that owns the exec hook; -1: the host could
	 * not create them, or has no rules for the kernel.  The probe's maps need the same max_entries,
	 * which bpf_map__reuse_fd sets.
	 */
	int rules_fd, rules_programs_fd, rules_values_fd;
	int reserved_2;

	/*
	 * A folder in a BPF filesystem for BPF objects that stay in the kernel while skepd restarts (use skep/pins.h);
	 * NULL: none stays.  pin_adopts: 1 for an instance that starts with skepd, 0 for one that a reload starts, as
	 * the instance that it replaces may still use the objects of the folder.
	 */
	const char *pin_dir;
	/* In stop(): true when skepd ends and the next adopts: pinned objects stay attached. false: detach them. */
	bool (*stays)(struct skep_instance *);
	uint32_t pin_adopts;
	uint32_t reserved_3;

	/* 1: the host stores marks and calls mark() and settled(). 0: the plugin releases a record once it is read. */
	uint32_t settles;
	uint32_t pin_for_s; /* seconds that pinned objects record without a skepd */

	/* Sinks: as batch_done(), with the whole answer. The host copies why. */
	void (*batch_answer)(struct skep_instance *, const struct skep_batch *, const struct skep_batch_answer *);
	/* Asks the host for an early commit: records that are read and not durable yet fill the source. */
	void (*settle_soon)(struct skep_instance *);
	/*
	 * In start(): the last mark that the previous skepd made durable; the host owns extra, valid until start()
	 * returns. source 0: none.
	 */
	struct skep_mark mark;

	/*
	 * Reads arguments, environment (what: SKEP_READ_*) of a process in another process.  A read of
	 * /proc/PID/cmdline, environ, maps or smaps can block for ever: never do it on the loop.  uid: owner of the
	 * process.  0: the host calls cb once, later, on the loop, unless the instance stops before; or a negative
	 * errno as in skep_process_text, and no callback.
	 */
	int (*process_read)(struct skep_instance *, const struct skep_upid *who, uint32_t uid, uint32_t what,
			    skep_process_cb cb, void *arg);

	/*
	 * Life-cycle probes: the present lists.  A probe calls this in start() and each time that it drains, and
	 * applies the lists again when their generation is another.  Never NULL.
	 */
	const struct skep_boundaries *(*boundaries)(struct skep_instance *);
	/* The kernel's types; NULL: none here, or the host cannot read them.  The mock host has no such function. */
	const struct skep_kernel_types *(*kernel_types)(struct skep_instance *);
};

/* ---- what a plugin is ------------------------------------------------------ */

/*
 * The receiver stores the same result for batches in any order.  When it puts one batch off each time, the host then
 * offers the next ones after ten answers; without this flag after sixty, about half an hour.
 */
#define SKEP_SINK_ANY_ORDER 1u

struct skep_sink_ops {
	uint32_t size;
	uint32_t max_in_flight; /* batches submitted and not answered; 0 counts as 1 */
	/* Sends a batch, borrowed until batch_done() or batch_answer().  0, or a negative errno: the same as RETRY. */
	int (*submit)(struct skep_instance *, void *state, const struct skep_batch *);

	uint32_t flags; /* SKEP_SINK_* */
	uint32_t reserved;
};

struct skep_plugin {
	uint32_t magic; /* SKEP_NOTE_MAGIC */
	uint16_t abi_major, abi_minor;
	uint32_t size;
	uint32_t kind;
	const char *name, *version, *summary, *license;
	const struct skep_option *options; /* ends with a NULL name; NULL: none */
	uint32_t option_size;              /* sizeof(struct skep_option) */
	uint32_t n_streams;
	const struct skep_stream *const *streams;
	uint64_t state_size; /* the host allocates the state zeroed, fills in options, frees it after close() */

	/* Loop thread, as all callbacks below.  Checks options and allocates; changes nothing outside the process. */
	int (*open)(struct skep_instance *, void *state, const struct skep_host *);
	/*
	 * Loads, attaches, connects.  When it fails, the host calls close() and not stop(); a retry begins with open()
	 * and a fresh state.
	 */
	int (*start)(struct skep_instance *, void *state);
	/* Emits the records of one interval. Optional. */
	void (*sample)(struct skep_instance *, void *state);
	/*
	 * Applies changed SKEP_OPT_RELOADABLE options.  next: a state with only its options filled in.
	 * 0: applied; the host then writes the changed options into the state and frees their old
	 * texts; other options stay where they are.  -ENOTSUP, or another error: the host restarts
	 * the instance.  The host does not call it while work() is under way.  Optional.
	 */
	int (*reload)(struct skep_instance *, void *state, const void *next);
	/*
	 * Detaches, and emits the last records. No callback may be pending afterwards, except of work() that stop()
	 * started.
	 */
	void (*stop)(struct skep_instance *, void *state);
	/* Detaches everything and frees the state; must accept a state whose open() or start() failed half-way. */
	void (*close)(struct skep_instance *, void *state);
	const struct skep_sink_ops *sink; /* sinks only */
	/*
	 * Emits at once all events up to now, then calls host->drained().  The host calls it
	 * when a client waits for an answer (end of a run, flush). Optional.
	 */
	void (*flush)(struct skep_instance *, void *state);

	const struct skep_detail *details; /* NULL: none */
	uint32_t detail_size;              /* sizeof(struct skep_detail) */
	uint32_t n_details;
	/*
	 * Begins that detail (index in details).  The host may attach several at a time, also of
	 * one kind.  The plugin emits its records at each sample() and the last ones in
	 * detach().  0, or a negative errno after host->fail(): -EBUSY when no room is left.
	 */
	int (*attach)(struct skep_instance *, void *state, unsigned detail, const struct skep_detail_scope *);
	/* Ends an attachment.  The host calls this once for each successful attach(), at the latest before stop(). */
	void (*detach)(struct skep_instance *, void *state, uint64_t id);

	/*
	 * mark() returns the reading position: the plugin has emitted every record before it, or has it in extra.  The
	 * host makes the records and the mark durable together, then calls settled(): only then may the source release
	 * them.  Several marks may be on their way; the host settles them in order.  When it cannot write to its disk
	 * it settles marks as well: the sinks get the records from memory, and a source that kept them would fill up.
	 * After a crash the next skepd gives the last mark back (skep_host.mark): no record after it was counted.
	 * The host calls mark() for the last time after stop().  A plugin has both functions, or neither.
	 */
	void (*mark)(struct skep_instance *, void *state, struct skep_mark *ret);
	void (*settled)(struct skep_instance *, void *state, const struct skep_mark *);

	/*
	 * Emits the pending facts about processes, at least those about processes that have ended, then calls
	 * host->drained().  The host calls it some times a second while records of ended processes wait, and before it
	 * saves its state.  It must cost little: a probe makes no pass over all processes here.  Optional: without it a
	 * record waits for the next sample().
	 */
	void (*drain)(struct skep_instance *, void *state);
};

typedef const struct skep_plugin *(*skep_plugin_entry_fn)(const struct skep_host *);

/* True when p (size-first struct) is new enough to have `field` and, for pointers, it is set. */
#define SKEP_HAS(p, field) \
	((p)->size >= offsetof(__typeof__(*(p)), field) + sizeof((p)->field) && (p)->field)

#define SKEP_EXPORT __attribute__((visibility("default")))

/*
 * SKEP_PLUGIN(descriptor, kind, "name", "version"): the note and the entry
 * function.  `used` keeps the note through --gc-sections, as GNU ld and lld keep
 * SHT_NOTE sections.
 */
#define SKEP_PLUGIN(desc_, kind_, name_, version_)                                                        \
	static const struct {                                                                             \
		uint32_t namesz, descsz, type;                                                            \
		char owner[8];                                                                            \
		struct skep_plugin_note note;                                                             \
	} skep_plugin_note_ __attribute__((section(SKEP_NOTE_SECTION), used, aligned(4))) = {             \
		sizeof(SKEP_NOTE_OWNER),                                                                  \
		sizeof(struct skep_plugin_note),                                                          \
		SKEP_NOTE_TYPE,                                                                           \
		SKEP_NOTE_OWNER,                                                                          \
		{ SKEP_NOTE_MAGIC, SKEP_ABI_MAJOR, SKEP_ABI_MINOR, kind_, name_, version_ },              \
	};                                                                                                \
	SKEP_EXPORT const struct skep_plugin *skep_plugin_entry(const struct skep_host *host);            \
	SKEP_EXPORT const struct skep_plugin *skep_plugin_entry(const struct skep_host *host)             \
	{                                                                                                 \
		(void)host;                                                                               \
		return &(desc_);                                                                          \
	}

/* Designated initialisers for tables. */
#define SKEP_FIELD(struct_, member_, name_, type_, sem_, unit_, help_) \
	{ \
		.name = (name_), .unit = (unit_), .type = (type_), .semantics = (sem_), \
		.offset = offsetof(struct_, member_), .help = (help_) \
	}
/*
 * role_: enum skep_role; flags_: SKEP_STREAM_* or 0.  Fills in the sizes, by which a host of another build reads the
 * table.
 */
#define SKEP_STREAM(struct_, fields_, name_, role_, flags_, help_) \
	{ \
		.size = sizeof(struct skep_stream), .field_size = sizeof(struct skep_field), .name = (name_), \
		.help = (help_), .role = (role_), .record_size = sizeof(struct_), \
		.n_fields = sizeof(fields_) / sizeof((fields_)[0]), .flags = (flags_), .fields = (fields_) \
	}

#ifdef __cplusplus
}
#endif
#endif
