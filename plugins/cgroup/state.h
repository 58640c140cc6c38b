/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/cgroup/state.h - the probe's state, and the functions that its files share: cgroup.c (the plugin, passes over
 * live cgroups), load.c (the kernel side), mounts.c (hierarchies), group.c (the table of cgroups, reading one), files.c
 * (the files of one), limit.c (the limits in force), parse.c (the files' formats), device.c (block devices on others),
 * fields.c (the record).
 */
#ifndef SKEP_CGROUP_STATE_H
#define SKEP_CGROUP_STATE_H

#include <skep/hash.h>
#include <skep/plugin.h>

#include "cgroup.h"

enum { STREAM_CGROUP, N_STREAMS };
extern const struct skep_stream *const cgroup_streams[N_STREAMS];

struct cgroup_record {
	uint64_t cgroup_id;
	struct skep_str cgroup;      /* path */
	struct skep_str controllers; /* with figures in the record: "memory,cpu,io,pids,pressure" */
	uint8_t gone;                /* removed: this is its last record */
	uint64_t interval_ns;        /* of the sums; 0: unknown */
	uint64_t memory_bytes, memory_peak_bytes, memory_limit_bytes;
	uint64_t memory_high_events, memory_max_events, oom_events, oom_kills;
	uint64_t cpu_ns, user_ns, system_ns;
	double cpu_limit;
	uint64_t cpu_periods, cpu_throttled_periods, cpu_throttled_ns;
	uint64_t read_bytes, write_bytes, read_calls, write_calls;
	uint64_t pids, pids_limit, pids_max_events;
	uint64_t cpu_some_ns, cpu_full_ns, memory_some_ns, memory_full_ns, io_some_ns, io_full_ns;
};

/* ---- parse.c: one file's text, NUL-terminated. 0, or -EBADMSG with the outputs untouched. ---- */

int cgroup_number(const char *text, uint64_t *ret);                    /* "max": UINT64_MAX; "-1" likewise */
int cgroup_key(const char *text, const char *key, uint64_t *ret);      /* lines "key number" */
int cgroup_cpu_max(const char *text, double *ret_cpus);                /* v2 cpu.max; 0: no limit */
int cgroup_pressure(const char *text, uint64_t *ret_some_us, uint64_t *ret_full_us);

struct cgroup_io {
	uint64_t read_bytes, write_bytes, read_calls, write_calls;
};
typedef bool (*cgroup_counts_fn)(void *arg, unsigned major, unsigned minor); /* does this device count? */
int cgroup_io_stat(const char *text, cgroup_counts_fn, void *arg, struct cgroup_io *ret); /* v2 io.stat */
/*
 * v1 blkio.throttle.io_serviced or io_service_bytes: lines "8:0 Read 123". -ENODATA: no device. Since 6.10 the kernel
 * counts only devices with a limit (from its setting on), so -ENODATA does not mean no I/O.
 */
int cgroup_blkio(const char *text, cgroup_counts_fn, void *arg, uint64_t *ret_read, uint64_t *ret_write);
/* From /proc/PID/cgroup: the path in the hierarchy of that v1 controller, or of v2 (controller ""). -ENOENT: none. */
int cgroup_of_process(const char *text, const char *controller, struct skep_str *ret);

/* ---- device.c ---- */

#define CGROUP_DEVICES 64
struct cgroup_devices {
	const char *root;
	unsigned n;
	struct {
		unsigned major, minor;
		bool counts;
	} known[CGROUP_DEVICES];
};
/* arg: struct cgroup_devices. A device on top of others (dm, md, loop) does not count: those count its I/O. */
bool cgroup_device_counts(void *devices, unsigned major, unsigned minor);

/* ---- mounts.c ---- */

enum cgroup_controller { CTL_MEMORY, CTL_CPU, CTL_CPUACCT, CTL_IO, CTL_PIDS, CTL_PRESSURE, CONTROLLERS };
extern const char *const cgroup_controller_names[CONTROLLERS];

struct cgroup_mount {
	char *at;        /* its mount, behind the option root; NULL: no such controller */
	char *top;       /* the cgroup at the mount's root: "" for the hierarchy's root; NULL: not named yet */
	uint64_t id;     /* its id, if only an event can name it (skep_mount_cgroup()); else 0 */
	int version;     /* 1 or 2 */
};

struct cgroup_mounts {
	struct cgroup_mount of[CONTROLLERS];
	int hierarchy; /* number of the hierarchy whose ids we use: 0 is v2 */
	enum cgroup_controller ids; /* a controller of that hierarchy */
};

/* root: prefix of all paths, "" except in tests. 0, -ENOENT: no cgroups are mounted; another -errno. */
int cgroup_mounts_find(const char *root, struct cgroup_mounts *ret);
void cgroup_mounts_free(struct cgroup_mounts *);
/* The path of a cgroup that may be at the root of mounts. true: it is, and now they have a name. */
bool cgroup_mounts_name(struct cgroup_mounts *, uint64_t id, const struct skep_str *path);
/* The folder of a cgroup, or of a file in it (NULL: none). -ENOENT: outside of the mount. To be freed. */
int cgroup_mount_path(const struct cgroup_mount *, const char *path, const char *file, char **ret);

/* ---- files.c ---- */

enum cgroup_file {
	FILE_MEMORY,
	FILE_MEMORY_PEAK,
	FILE_MEMORY_EVENTS,
	FILE_MEMORY_FAILCNT, /* v1 */
	FILE_CPU,            /* v2: usage and throttling; v1: throttling */
	FILE_CPU_USAGE,      /* v1 */
	FILE_CPU_USER,       /* v1 */
	FILE_CPU_SYSTEM,     /* v1 */
	FILE_IO,
	FILE_IO_CALLS,       /* v1 */
	FILE_PIDS,
	FILE_PIDS_EVENTS,
	FILE_PRESSURE_CPU,
	FILE_PRESSURE_MEMORY,
	FILE_PRESSURE_IO,
	FILES,
};

struct cgroup_reader {
	const char *root;
	struct cgroup_mounts mounts;
	struct cgroup_devices devices;
	unsigned files_open, files_most;
	char *text; /* the last file read */
};
#define CGROUP_TEXT_ROOM 65536u /* io.stat has a line for each device */

struct cgroup_files {
	int fd[FILES];     /* FILE_CLOSED, FILE_ABSENT */
	char *dir[CONTROLLERS]; /* folder in that controller's hierarchy; NULL: the cgroup has none there */
};
#define FILE_CLOSED (-1)
#define FILE_ABSENT (-2) /* the kernel has no such file, or none for this cgroup now */

/* path below the hierarchy's root. 0, or -ENOENT when the cgroup does not exist (any more). */
int cgroup_files_open(struct cgroup_reader *, const char *path, struct cgroup_files *ret);
void cgroup_files_close(struct cgroup_reader *, struct cgroup_files *);
void cgroup_files_init(struct cgroup_files *);
/* Forgets which files are absent: a controller may be on now. */
void cgroup_files_look_again(struct cgroup_files *);
/* 0 with r->text; -ENOENT: no such file; -ENODEV: the cgroup is gone; another -errno. */
int cgroup_file_read(struct cgroup_reader *, struct cgroup_files *, enum cgroup_file);

/* ---- limit.c ---- */

struct cgroup_limits {
	uint64_t memory_bytes; /* 0: none */
	double cpus;           /* 0: none */
	uint64_t pids;         /* 0: none */
};
/* The least of the limits of the cgroup and its ancestors. */
void cgroup_limits_read(struct cgroup_reader *, const struct cgroup_files *, struct cgroup_limits *ret);

/* ---- group.c ---- */

/* All counts since the cgroup began. */
struct cgroup_totals {
	uint64_t memory_high_events, memory_max_events, oom_events, oom_kills;
	uint64_t cpu_ns, user_ns, system_ns;
	uint64_t periods, throttled_periods, throttled_ns;
	struct cgroup_io io;
	uint64_t pids_max_events;
	uint64_t some_us[3], full_us[3]; /* cpu, memory, io */
};

struct group {
	struct group *hash_next, *prev, *next;
	uint64_t id;
	char *path;
	bool live;          /* the host named it in the last pass */
	bool lived;         /* it had a process */
	bool wanted;        /* a process that is not excluded lives in it */
	bool based;         /* earlier totals are known: sums can be computed */
	bool opened;
	uint32_t pass;      /* the last pass that saw it */
	uint32_t age;       /* samples since its files were opened */
	uint64_t sampled_ns;
	uint64_t memory_bytes, memory_peak_bytes;
	struct cgroup_totals totals;
	struct cgroup_limits limits;
	struct cgroup_files files;
};

#define GROUP_BUCKETS 1024u
struct groups {
	struct skep_hash_key key;   /* a new key whenever the table was empty */
	struct group *buckets[GROUP_BUCKETS];
	struct group *first, *last; /* the oldest first */
	struct group *next;         /* the next one of the pass under way; NULL: no pass */
	size_t n, most;
};

struct group *group_find(struct groups *, uint64_t id);
/* NULL: no memory, or full of live ones. Makes room by dropping cgroups that are not live, oldest first. */
struct group *group_add(struct groups *, struct cgroup_reader *, uint64_t id, const char *path, size_t len);
int group_rename(struct group *, struct cgroup_reader *, const char *path, size_t len); /* 0 or -ENOMEM */
void group_remove(struct groups *, struct cgroup_reader *, struct group *);
void groups_free(struct groups *, struct cgroup_reader *);
/*
 * Reads all its files. 0 with a record to emit (its strings are borrowed from the group and from constants), -ENOENT:
 * the cgroup is gone; another -errno.
 */
int group_sample(struct cgroup_reader *, struct group *, uint64_t now_ns, struct cgroup_record *ret);
/* The same from the figures that the kernel side read at the removal. g NULL: never seen before. */
void group_last(const struct group *g, const struct cgroup_event *, uint64_t page_size, struct cgroup_record *ret);

/* ---- cgroup.c ---- */

struct cgroup_state {
	/* options */
	int64_t opt_most, opt_files;
	const char *opt_root;

	const struct skep_host *host;
	struct cgroup_bpf *bpf;  /* NULL: only samples */
	struct ring_buffer *ring;
	struct skep_watch *watch;
	struct skep_timer *timer; /* set while a pass runs */
	struct skep_instance *inst;
	struct skep_counter *c_known, *c_full, *c_seen_full, *c_files;
	struct cgroup_reader reader;
	struct groups groups;
	uint64_t page_size;
	uint32_t pass;
	uint64_t pass_ns; /* when it began */
	uint64_t lost_reported, seen_reported; /* the kernel side's losses reported so far */
};

/* One event of the ring. The fuzzer calls it too. */
void cgroup_event(struct cgroup_state *, const void *data, size_t size);

/* ---- load.c ---- */

void cgroup_load(struct skep_instance *, struct cgroup_state *); /* reports each program that it could not load */
void cgroup_drain(struct cgroup_state *);
void cgroup_unload(struct cgroup_state *);
void cgroup_say_signals(struct skep_instance *, struct cgroup_state *);

#endif
