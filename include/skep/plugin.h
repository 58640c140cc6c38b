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
 *   - Never set process-wide state: signals, locale, umask, rlimits,
 *     libbpf_set_print are the host's.  A library that counts its users, as libcurl does in
 *     curl_global_init and curl_global_cleanup, is initialised in start() and left in close():
 *     on the loop thread, so that no two plugins do it at once.
 *   - Structs that cross the border start with their size and only grow at the
 *     end.  A plugin never allocates, copies or sizeofs a struct skep_host.
 *   - Functions return 0 or a negative errno.  Where a callback fails it says why
 *     by host->fail(); it does not log as well.
 *
 * Changes
 *   1.0  first version
 *   1.1  details, signals, cgroups for plugins, groups in the verdict map; in record.h
 *        histograms and the roles CGROUP, LEDGER, DETAIL
 *   1.2  rules in the kernel; excluded is a range of the verdict map's byte (skep/rules.h): BPF code
 *        that asks excluded() of skep/bpf/verdict.bpf.h has it by being built again; in record.h
 *        the role PROC_EXCLUDED
 *   1.3  a folder for what stays in the kernel while skepd is restarted (skep/pins.h)
 *   1.4  a sink's answer in full: what the receiver said, when to come again, too large, held; reading
 *        positions that are settled with the records that were read (marks); sinks that take records in any order;
 *        in record.h `environ` of an exec and of a live process
 *   1.5  arguments and environments of processes, read without waiting (process_read); work() in stop();
 *        in record.h a batch says which boot, host and kernel its records are from
 */
#ifndef SKEP_PLUGIN_H
#define SKEP_PLUGIN_H

#include <errno.h>
#include <skep/record.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_ABI_MAJOR 1
#define SKEP_ABI_MINOR 5
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

struct skep_instance; /* the host's: one configured use of a plugin */
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

/* Where a record died.  seen = delivered + filtered + the sum of these. */
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
	/* since 1.4, by batch_answer() only */
	/*
	 * not before somebody mends something (a token, a certificate, a table): kept, offered again slowly, told
	 * loudly
	 */
	SKEP_BATCH_HOLD,
	/*
	 * too large for the receiver: its halves are offered, as batches KEY/0 and KEY/1; one record alone is
	 * rejected
	 */
	SKEP_BATCH_SPLIT,
	/*
	 * The receiver failed in a way that this batch may be the cause of (HTTP 500).  Offered again; when it has
	 * failed so ten times and another batch has been acknowledged since, it is split, down to the record that is to
	 * blame.
	 */
	SKEP_BATCH_SUSPECT,
};

/* What became of a batch (since 1.4). */
struct skep_batch_answer {
	uint32_t size;   /* sizeof(struct skep_batch_answer) where the plugin was built */
	uint32_t result; /* enum skep_batch_result */
	/*
	 * not before that, by the receiver's own word; 0: the host's backoff alone. The longer of both counts, one
	 * hour at most
	 */
	uint64_t retry_after_ns;
	uint64_t sent_bytes;     /* on the wire, as far as known */
	/* ACK: so many of its records the receiver has refused (partial success); counted as lost at the sink */
	uint32_t rejected;
	uint32_t status;         /* the receiver's status, of HTTP for example; 0: none */
	/* for people, the receiver's own words where it gave some; NULL only with a whole ACK */
	const char *why;
};

/* How far a probe has read what its source keeps until it is told that it may go (since 1.4). */
struct skep_mark {
	uint64_t source;   /* which source: not the same for two that begin anew on the same boot; 0: none */
	uint64_t position; /* grows as it is read */
	/* what has been read and not emitted yet, in the plugin's own form; the plugin's until its next callback */
	const void *extra;
	uint32_t extra_size;
	uint32_t reserved; /* 0 */
	uint64_t cookie;   /* settled() gives it back; it is not kept across a restart */
};

/* How a signal is had on this kernel; for `skep doctor`. */
enum skep_signal_state {
	SKEP_SIGNAL_OK = 1,
	SKEP_SIGNAL_PARTIAL, /* had, but less of it or less exactly: why says what */
	SKEP_SIGNAL_MISSING, /* this kernel or machine cannot: why says what it lacks */
	SKEP_SIGNAL_OFF,     /* could be had: why says which option or command switches it on */
};

/*
 * A detail: a measurement that costs too much to be always on.  It is attached on demand
 * and detached by the host when its time is over or when nobody listens any more.
 */
struct skep_detail {
	const char *name;   /* unique among the details of all plugins: "runqlat" */
	const char *help;   /* one line, with what it costs */
	uint32_t stream;    /* index of the stream (role DETAIL) of its records */
	uint32_t scopes;    /* which scopes it can be limited to: bits 1 << enum skep_scope */
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

/* Of a process, as /proc has it (since 1.5).  Valid until the callback returns. */
struct skep_process_text {
	uint32_t size; /* sizeof(struct skep_process_text) in this host */
	/*
	 * 0; -ESRCH: the process is gone; -ETIMEDOUT: it holds the lock of its memory, and waiting for it could take
	 * for ever;
	 * -EBUSY: not read, as its user has several such processes; -EPIPE: this host cannot read any; or another
	 * -errno.
	 */
	int32_t error;
	struct skep_str cmdline; /* list "a\0b\0", as it is: not redacted. total > len: cut */
	struct skep_str environ; /* list "A=1\0B=2\0"; empty without the right to read it */
};
#define SKEP_READ_CMDLINE 1u
#define SKEP_READ_ENVIRON 2u

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
	uint64_t interval_ns; /* how often sample() is called */
	/*
	 * 1 byte per pid, in one element of a BPF array (mmap-able); -1 where the
	 * host could not make one.  Index: tgid.  Below 128: collect, and its lower six
	 * bits are the group that a detail may be for (struct skep_detail_scope); from 128 on:
	 * excluded, emit nothing (skep/rules.h has it all).  Children inherit: the probe that
	 * owns the fork hook copies the parent's byte.  BPF code reads it before anything else (kernel side: by
	 * bpf_map__reuse_fd on a map of max_entries 1 and value size verdict_pids).
	 */
	int verdict_fd;
	uint32_t verdict_pids;  /* bytes in that element: pid_max */
	uint32_t live_wants_details; /* 1: fill exe, cwd, cgroup, argv of process.live for processes not seen before */
	uint32_t reserved;

	/* Any thread.  A line without a newline at its end.  Rate-limited by the host. */
	void (*log)(struct skep_instance *, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
	/*
	 * Remember why this callback fails; returns err (a negative errno), to be returned. In one that returns
	 * nothing: a warning.
	 */
	int (*fail)(struct skep_instance *, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

	/*
	 * The fd stays the plugin's, and becomes non-blocking; close the watch before the fd.  events:
	 * SKEP_READABLE | SKEP_WRITABLE.  An error on the fd is reported as all events that were asked
	 * for, so that reading or writing meets it.  -EEXIST: watched already; -EPERM: a regular file.
	 */
	int (*watch_fd)(struct skep_instance *, int fd, unsigned events, skep_watch_cb, void *arg,
			struct skep_watch **ret);
	void (*watch_close)(struct skep_watch *); /* NULL is fine; no callback after it */
	int (*timer)(struct skep_instance *, uint64_t first_ms, uint64_t repeat_ms, skep_timer_cb, void *arg,
		     struct skep_timer **ret);
	void (*timer_close)(struct skep_timer *); /* NULL is fine; no callback after it */
	/*
	 * work(arg) on a thread of this instance, then done(arg), which may be NULL, on the loop; stop() is not called
	 * while one is under way.  Up to four run at once, others wait; no other instance waits for them.  -ESHUTDOWN
	 * when the instance is about to stop: neither is called.  work() that does not return is reported after a
	 * while.  Nobody waits for it when the instance is to end: neither done() nor stop() is called then unless it
	 * returns. In stop() it is accepted once more (since 1.5; before: -ESHUTDOWN), and close() is called when that
	 * work is done: a file that may be on a file system whose server is gone is closed there.
	 */
	int (*work)(struct skep_instance *, skep_work_cb work, skep_done_cb done, void *arg);

	/*
	 * A record of the plugin's stream number `stream` (index in skep_plugin.streams).
	 * The host copies what it keeps: rec and its strings are the plugin's again when
	 * it returns.  who NULL: not about a process.  Never fails for the caller: what
	 * cannot be kept is counted.
	 */
	void (*emit)(struct skep_instance *, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		     const void *rec);
	/*
	 * Every fact about processes that happened up to time_ns has been emitted. Facet probes, life-cycle probes, and
	 * probes whose details emit records of processes: the record of an ended process waits for it.
	 */
	void (*drained)(struct skep_instance *, uint64_t time_ns);
	/* Life-cycle probes: a pass over all live processes begins (its time) and ends. */
	void (*sweep_begin)(struct skep_instance *, uint64_t time_ns);
	void (*sweep_end)(struct skep_instance *, bool complete);
	/* n records of that stream were lost at `where`. */
	void (*lost)(struct skep_instance *, unsigned stream, enum skep_loss where, uint64_t n);

	/* A named self-metric; the host owns it, it lives as long as the instance. */
	struct skep_counter *(*counter)(struct skep_instance *, const char *name, const char *help);
	void (*counter_add)(struct skep_counter *, uint64_t n); /* any thread */
	void (*counter_set)(struct skep_counter *, uint64_t n); /* any thread */

	/*
	 * Blank out secrets in an argument list ("a\0b\0", *len bytes), in place: it
	 * never grows.  exe: basename-bearing path of the program, for rules that are
	 * about one program (mysql -p...).  Returns how many were blanked.
	 */
	unsigned (*redact)(struct skep_instance *, const char *exe, char *argv, uint32_t *len);
	/* True when the host has the path of this cgroup already; `path` (may be NULL) teaches it. */
	bool (*cgroup_known)(struct skep_instance *, uint64_t cgroup_id, const struct skep_str *path);

	/* Sinks: the batch's fate.  May be called from inside submit(). why: NULL or a reason for people. */
	void (*batch_done)(struct skep_instance *, const struct skep_batch *, enum skep_batch_result, const char *why);

	/* Life-cycle probes: does the process table have this process already? */
	bool (*process_known)(struct skep_instance *, const struct skep_upid *);

	/* ---- since 1.1: check with SKEP_HAS(host, member) ---- */

	/*
	 * How the plugin has this signal here.  name: short and stable ("tcp.connections");
	 * how: by which hook or file ("tp_btf/inet_sock_set_state"); why: NULL when OK.  All are
	 * copied; the last word about a name counts.  Say it for every signal in start().
	 */
	void (*signal)(struct skep_instance *, const char *name, enum skep_signal_state, const char *how,
		       const char *why);
	/* Path of a cgroup below its hierarchy's root. false: not known. Borrowed until the callback returns. */
	bool (*cgroup_path)(struct skep_instance *, uint64_t cgroup_id, struct skep_str *ret);
	/* Once for each cgroup that has live processes in it that are not excluded; ids as in process records. */
	void (*cgroups_live)(struct skep_instance *,
			     void (*cb)(void *arg, uint64_t cgroup_id, const struct skep_str *path), void *arg);
	/* Who has that pid (tgid), or had it last among those whose records are not closed yet. false: not known. */
	bool (*process_by_pid)(struct skep_instance *, uint32_t pid, struct skep_upid *ret);
	/*
	 * A detail has ended by itself (its process is gone, it cost too much): the host calls detach(). why: for
	 * people.
	 */
	void (*detail_over)(struct skep_instance *, uint64_t id, const char *why);

	/* ---- since 1.2: check with SKEP_HAS(host, member) ---- */

	/*
	 * The maps of skep/bpf/rules.bpf.h, for the probe that owns the exec hook; -1: the host could
	 * not make them, or has no rules for the kernel.  max_entries must be as they have it
	 * (bpf_map__reuse_fd sees to that).
	 */
	int rules_fd, rules_programs_fd, rules_values_fd;
	int reserved_2;

	/* ---- since 1.3: check with SKEP_HAS(host, member) ---- */

	/*
	 * A folder in a BPF filesystem for what stays in the kernel while skepd is restarted (skep/pins.h does it);
	 * NULL: nothing does.  pin_adopts: 1 for an instance that starts with skepd, 0 for one that a reload starts:
	 * what is there may be in use by the one that it replaces.
	 */
	const char *pin_dir;
	/* In stop(): skepd ends, and the next one will adopt; what is pinned stays attached. Else it is taken down. */
	bool (*stays)(struct skep_instance *);
	uint32_t pin_adopts;
	uint32_t reserved_3;

	/* ---- since 1.4: check with SKEP_HAS(host, member) ---- */
	/* 1: positions are settled, mark() and settled() of the plugin are called. 0: what was read may go at once. */
	uint32_t settles;
	uint32_t pin_for_s; /* how long what is pinned may record while nobody comes (skep_pins_for_ns) */

	/* Sinks: as batch_done(), with all that there is to say. why is copied. */
	void (*batch_answer)(struct skep_instance *, const struct skep_batch *, const struct skep_batch_answer *);
	/* What is read and not settled fills the source: settle as soon as can be. */
	void (*settle_soon)(struct skep_instance *);
	/*
	 * In start(): the mark that a skepd before this one has settled last; extra is the host's until start()
	 * returns. source 0: none.
	 */
	struct skep_mark mark;

	/* ---- since 1.5: check with SKEP_HAS(host, member) ---- */
	/*
	 * Arguments, environment (what: SKEP_READ_*) of a process that may block for ever whoever reads them: never
	 * read /proc/PID/cmdline, environ, maps, smaps on the loop.  uid: who owns the process.  0: cb is called once,
	 * later, from the loop, unless the instance stops before; or a negative errno as in skep_process_text, and no
	 * callback.
	 */
	int (*process_read)(struct skep_instance *, const struct skep_upid *who, uint32_t uid, uint32_t what,
			    skep_process_cb cb, void *arg);
};

/* ---- what a plugin is ------------------------------------------------------ */

/*
 * Its receiver makes the same of batches in whichever order they come.  After an outage what waited and what is new may
 * then be given in turn; without it all comes in order.
 */
#define SKEP_SINK_ANY_ORDER 1u

struct skep_sink_ops {
	uint32_t size;
	uint32_t max_in_flight; /* batches submitted and not done; 0 counts as 1 */
	/*
	 * Borrowed until batch_done().  0, or a negative errno: the same as RETRY.
	 */
	int (*submit)(struct skep_instance *, void *state, const struct skep_batch *);

	/* ---- since 1.4 ---- */

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
	uint64_t state_size; /* the host allocates it zeroed, fills in options, frees it after close() */

	/* Check and allocate; nothing outside the process changes. */
	int (*open)(struct skep_instance *, void *state, const struct skep_host *);
	/*
	 * Load, attach, connect.  When it fails close() follows, stop() does not; a retry begins with open() and a
	 * fresh state.
	 */
	int (*start)(struct skep_instance *, void *state);
	/* Each interval. Optional. */
	void (*sample)(struct skep_instance *, void *state);
	/*
	 * Options that are SKEP_OPT_RELOADABLE have changed.  next: a state with only its options
	 * filled in.  0: applied; the host then writes those that changed into the state, and their old
	 * texts are gone; others stay where they are.  -ENOTSUP, or another error: restart me.  Not
	 * called while work() is under way.  Optional.
	 */
	int (*reload)(struct skep_instance *, void *state, const void *next);
	/*
	 * Detach, and emit what is still to be had. No callback may be pending afterwards, except of work() that stop()
	 * asked for.
	 */
	void (*stop)(struct skep_instance *, void *state);
	/* Free, and detach what is still attached; must accept a state whose open() or start() failed half-way. */
	void (*close)(struct skep_instance *, void *state);
	const struct skep_sink_ops *sink; /* sinks only */
	/*
	 * Emit at once whatever has happened up to now, then host->drained().
	 * Called when somebody waits for an answer (end of a run, flush). Optional.
	 */
	void (*flush)(struct skep_instance *, void *state);

	/* ---- since 1.1 ---- */

	const struct skep_detail *details; /* NULL: none */
	uint32_t detail_size;              /* sizeof(struct skep_detail) */
	uint32_t n_details;
	/*
	 * Begin that detail (index in details).  Several may be attached at a time, also of the
	 * same kind.  Records of it are emitted at each sample() and, the last ones, in
	 * detach().  0, or a negative errno after host->fail(): -EBUSY when no room is left.
	 */
	int (*attach)(struct skep_instance *, void *state, unsigned detail, const struct skep_detail_scope *);
	/* Always called once for each attach() that succeeded, at the latest before stop(). */
	void (*detach)(struct skep_instance *, void *state, uint64_t id);

	/* ---- since 1.4 ---- */

	/*
	 * Where reading stands: all before it has been emitted, or is in extra.  What it led to is then made durable
	 * together with it, and when that is done settled() says so: only then the source may let go of it.  Several
	 * marks may be on their way; they are settled in order.  Where the disk takes nothing they are settled as well:
	 * what they led to is with the sinks, from memory, and a source that held on to it would fill up.  After a
	 * crash the next skepd gives the last one back (skep_host.mark): what comes after it has not been counted.
	 * mark() is also called after stop(), for the last time.  Both, or neither.
	 */
	void (*mark)(struct skep_instance *, void *state, struct skep_mark *ret);
	void (*settled)(struct skep_instance *, void *state, const struct skep_mark *);
};

typedef const struct skep_plugin *(*skep_plugin_entry_fn)(const struct skep_host *);

/* True when p (size-first struct) is new enough to have `field` and, for pointers, it is set. */
#define SKEP_HAS(p, field) \
	((p)->size >= offsetof(__typeof__(*(p)), field) + sizeof((p)->field) && (p)->field)

#define SKEP_EXPORT __attribute__((visibility("default")))

/*
 * SKEP_PLUGIN(descriptor, kind, "name", "version"): the note and the entry
 * function.  `retain`-like: `used` keeps the note through --gc-sections because
 * SHT_NOTE sections are kept by GNU ld and lld.
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
