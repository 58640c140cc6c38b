/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/cgroup.c - the table of cgroups and the walk of the hierarchy. A cgroup's id is the id of its
 * kernfs node; on 64-bit kernels this is the inode number that stat() returns (kernfs since 5.5).
 */
#include "core/identify/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <skep/hash.h>
#include <skep/mountinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS 4096u
#define MAX_DEPTH 64
#define WALK_EVERY_NS 1000000000u
/*
 * The walk runs on the loop: for at most a 25th of the time, and for at most 10 ms at once. It reads the clock
 * after every WALK_STEP entries (about 0.3 ms).
 */
#define WALK_SHARE 25u
#define WALK_MOST_NS 10000000u
#define WALK_STEP 64u
#define ASKED 1024u /* power of two; of two ids in the same place the newer stays */
#define MISSING_NS 60000000000u
#define LIMIT_LEVELS 8u /* levels of the hierarchy at whose limits skep looks for one cgroup */
#define LIMIT_READS 3u

struct entry {
	struct entry *hash_next;
	struct entry *older, *newer;
	struct container *container; /* what the path names; NULL: nothing, or not evaluated yet */
	bool identified;
	uint8_t limit_reads;         /* how often skep read the limits and found none */
	struct cgroup_limits *limits; /* by enum container_kind, from here up to that layer; NULL: not read, or none */
	uint64_t id;
	uint32_t len;
	char path[];
};

/* A directory of the walk in progress. */
struct level {
	DIR *dir;
	size_t path_len;
};

/* An id that was unknown when a caller asked for it. */
struct asked {
	uint64_t id;
	uint64_t walk;     /* number of the first walk that began after the first question */
	uint64_t until_ns; /* such a walk has not met the id: skep does not search for it before this time */
};

enum { IDS, MEMORY, CPU, HIERARCHIES };

/* Three hierarchies: one defines the ids, one limits memory, one CPU time.  In cgroup v2 they are the same one. */
struct hierarchy {
	char *mount; /* its mount point; NULL: none found */
	char *root;  /* the cgroup at the mount point: "" for the hierarchy's root; NULL: no probe has named it yet */
	uint64_t id; /* its id, if the mount was made in our cgroup namespace, where cgroups have other names; else 0 */
	bool unified; /* cgroup v2 */
	int rank;
};

struct cgroups {
	struct skep_hash_key key;
	struct entry *buckets[BUCKETS];
	struct entry *oldest, *newest;
	size_t n;
	const struct containers *containers; /* borrowed; NULL: no table */
	struct hierarchy of[HIERARCHIES];
	struct asked asked[ASKED];
	struct level levels[MAX_DEPTH]; /* of the walk in progress */
	int depth;                      /* 0: no walk */
	char *path;                     /* of the deepest directory */
	size_t path_room;
	uint64_t begun, ended; /* walks; ended: number of the last complete walk */
	uint64_t walked_ns, walk_step_ns; /* start of the last walk, and its last step */
	int64_t walk_left_ns;
};

/*
 * Ranks a hierarchy; ids come from the best one, which limits memory. Where v1 has the memory controller, every
 * process is in the root of the default (v2) hierarchy, so v2's ids say nothing. A controller that v1 has is in no
 * v2 hierarchy.
 */
static int rank(unsigned of, const char *type, const char *super_options)
{
	static const char *const controllers[HIERARCHIES] = { "memory", "memory", "cpu" };

	if (strcmp(type, "cgroup2") == 0)
		return 2;
	if (strcmp(type, "cgroup") != 0)
		return 0;
	if (skep_mount_has(super_options, controllers[of]))
		return 3;
	return of == IDS && skep_mount_has(super_options, "pids");
}

static int set_hierarchy(struct hierarchy *h, int rank, const struct skep_mount *m)
{
	struct hierarchy found = { .unified = strcmp(m->type, "cgroup2") == 0, .rank = rank };
	const char *root = skep_mount_cgroup(m, m->path, &found.id);

	if (!root && rank == h->rank)
		return 0;
	found.mount = strdup(m->path);
	found.root = root ? strdup(root) : NULL;
	if (!found.mount || (root && !found.root)) {
		free(found.mount);
		free(found.root);
		return -ENOMEM;
	}
	free(h->mount);
	free(h->root);
	*h = found;
	return 0;
}

static void find_mounts(struct cgroups *c, const char *mountinfo)
{
	struct skep_mountinfo file = { 0 };
	struct skep_mount m;
	int err = skep_mountinfo_open(&file, AT_FDCWD, mountinfo);

	while (!err && skep_mountinfo_next(&file, &m))
		for (unsigned of = 0; !err && of < HIERARCHIES; of++) {
			int r = rank(of, m.type, m.super_options);

			if (r > c->of[of].rank || (r == c->of[of].rank && r > 0 && !c->of[of].root))
				err = set_hierarchy(&c->of[of], r, &m);
		}
	skep_mountinfo_close(&file);
}

struct cgroups *cgroups_new(const char *mountinfo)
{
	struct cgroups *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->key = skep_hash_key_new(); /* a user who may create cgroups could otherwise choose colliding ids */
	find_mounts(c, mountinfo ? mountinfo : "/proc/self/mountinfo");
	return c;
}

static void leave(struct cgroups *c);
static void forget(struct cgroups *c, struct entry *e);

struct cgroups *cgroups_free(struct cgroups *c)
{
	if (!c)
		return NULL;
	while (c->oldest)
		forget(c, c->oldest);
	while (c->depth > 0)
		leave(c);
	for (unsigned of = 0; of < HIERARCHIES; of++) {
		free(c->of[of].mount);
		free(c->of[of].root);
	}
	free(c);
	return NULL;
}

static struct entry **bucket(struct cgroups *c, uint64_t id)
{
	return &c->buckets[skep_hash_number(&c->key, id) % BUCKETS];
}

static void age_out(struct cgroups *c, struct entry *e)
{
	if (e->older)
		e->older->newer = e->newer;
	else
		c->oldest = e->newer;
	if (e->newer)
		e->newer->older = e->older;
	else
		c->newest = e->older;
}

static void make_newest(struct cgroups *c, struct entry *e)
{
	e->older = c->newest;
	e->newer = NULL;
	if (c->newest)
		c->newest->newer = e;
	else
		c->oldest = e;
	c->newest = e;
}

/* Drops what the table of containers said about the cgroup. */
static void unidentify(struct entry *e)
{
	e->container = container_free(e->container);
	e->identified = false;
	e->limit_reads = 0;
	free(e->limits);
	e->limits = NULL;
}

static void forget(struct cgroups *c, struct entry *e)
{
	struct entry **at = bucket(c, e->id);

	while (*at != e)
		at = &(*at)->hash_next;
	*at = e->hash_next;
	age_out(c, e);
	unidentify(e);
	free(e);
	c->n--;
}

void cgroups_identify(struct cgroups *c, const struct containers *containers)
{
	c->containers = containers;
	for (struct entry *e = c->oldest; e; e = e->newer)
		unidentify(e);
}

static struct entry *find(struct cgroups *c, uint64_t id)
{
	struct entry *e = *bucket(c, id);

	while (e && e->id != id)
		e = e->hash_next;
	if (e) {
		age_out(c, e);
		make_newest(c, e);
	}
	return e;
}

/* A probe names the cgroup at the root of a hierarchy that was mounted in our cgroup namespace. */
static void learn_root(struct cgroups *c, uint64_t id, const char *path, uint32_t len)
{
	for (struct hierarchy *h = c->of; h < c->of + HIERARCHIES; h++)
		if (h->mount && !h->root && h->id == id)
			h->root = strndup(path, len);
}

static void learn(struct cgroups *c, uint64_t id, const char *path, uint32_t len)
{
	struct entry *e = find(c, id);

	learn_root(c, id, path, len);
	if (e && e->len == len && memcmp(e->path, path, len) == 0)
		return;
	if (e)
		forget(c, e); /* the cgroup was renamed (v1 only), or the id belongs to a new cgroup */
	e = malloc(sizeof(*e) + len);
	if (!e)
		return;
	e->container = NULL;
	e->identified = false;
	e->limit_reads = 0;
	e->limits = NULL;
	e->id = id;
	e->len = len;
	memcpy(e->path, path, len);
	e->hash_next = *bucket(c, id);
	*bucket(c, id) = e;
	make_newest(c, e);
	if (++c->n > CGROUP_MAX)
		forget(c, c->oldest);
}

/* ---- the walk --------------------------------------------------------------------- */

static struct asked *asked_at(struct cgroups *c, uint64_t id)
{
	return &c->asked[(id * 0x9e3779b97f4a7c15u >> 40) % ASKED];
}

/*
 * On a walk a full table keeps its entries and learns only requested ids: of a million cgroups most are never
 * requested.
 */
static void learn_on_walk(struct cgroups *c, uint64_t id)
{
	if (c->n < CGROUP_MAX || asked_at(c, id)->id == id)
		learn(c, id, c->path[0] ? c->path : "/", c->path[0] ? (uint32_t)strlen(c->path) : 1);
}

/* Makes the directory the deepest level of the walk. Takes ownership of fd. */
static void enter(struct cgroups *c, int fd, size_t path_len)
{
	DIR *dir = fdopendir(fd);
	struct stat st;

	if (!dir) {
		close(fd);
		return;
	}
	if (fstat(fd, &st) == 0)
		learn_on_walk(c, st.st_ino);
	c->levels[c->depth++] = (struct level){ dir, path_len };
}

static void leave(struct cgroups *c)
{
	closedir(c->levels[--c->depth].dir);
	if (c->depth == 0) {
		free(c->path);
		c->path = NULL;
	}
}

static bool begin(struct cgroups *c, uint64_t now_ns)
{
	int fd = open(c->of[IDS].mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	c->walked_ns = now_ns;
	if (fd < 0)
		return false;
	c->path_room = strlen(c->of[IDS].root) + 1;
	c->path = strdup(c->of[IDS].root);
	if (!c->path) {
		close(fd);
		return false;
	}
	c->begun++;
	enter(c, fd, strlen(c->path));
	return c->depth > 0;
}

/* Sets c->path to the path of `name` in the deepest directory. */
static bool extend(struct cgroups *c, const char *name)
{
	size_t at = c->levels[c->depth - 1].path_len, need = at + strlen(name) + 2;

	if (need > c->path_room) {
		char *path = realloc(c->path, 2 * need);

		if (!path)
			return false;
		c->path = path;
		c->path_room = 2 * need;
	}
	c->path[at] = '/';
	memcpy(c->path + at + 1, name, need - at - 1);
	return true;
}

/* Handles one entry of the deepest directory; at its end returns to the parent. */
static void walk_one(struct cgroups *c)
{
	const struct level *at = &c->levels[c->depth - 1];
	const struct dirent *entry = c->depth < MAX_DEPTH ? readdir(at->dir) : NULL;
	int fd;

	if (!entry) {
		leave(c);
		return;
	}
	if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return;
	fd = openat(dirfd(at->dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (extend(c, entry->d_name))
		enter(c, fd, strlen(c->path));
	else
		close(fd);
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Continues the walk as far as its share of the loop's time allows. */
static void walk(struct cgroups *c, uint64_t now_ns)
{
	uint64_t began_ns = clock_ns(), took_ns = 0, since_ns = now_ns - c->walk_step_ns;

	if (since_ns > WALK_MOST_NS * WALK_SHARE)
		since_ns = WALK_MOST_NS * WALK_SHARE;
	c->walk_left_ns += (int64_t)(since_ns / WALK_SHARE);
	if (c->walk_left_ns > (int64_t)WALK_MOST_NS)
		c->walk_left_ns = WALK_MOST_NS;
	c->walk_step_ns = now_ns;
	if (c->walk_left_ns <= 0)
		return;
	do {
		for (unsigned i = 0; i < WALK_STEP && c->depth > 0; i++)
			walk_one(c);
		took_ns = clock_ns() - began_ns;
	} while (c->depth > 0 && took_ns < (uint64_t)c->walk_left_ns);
	c->walk_left_ns -= (int64_t)took_ns;
	/* the thread waited for a CPU: the walk did not use all of this time */
	if (c->walk_left_ns < -(int64_t)WALK_MOST_NS / 2)
		c->walk_left_ns = -(int64_t)WALK_MOST_NS / 2;
	if (c->depth == 0)
		c->ended = c->begun;
}

void cgroups_tick(struct cgroups *c, uint64_t now_ns)
{
	if (c->depth > 0)
		walk(c, now_ns);
}

bool cgroups_known(struct cgroups *c, uint64_t id, const struct skep_str *path)
{
	if (path && path->ptr && path->len > 0)
		learn(c, id, path->ptr, path->len);
	return find(c, id) != NULL;
}

/* Finds the entry, after a walk if necessary. */
static struct entry *look_for(struct cgroups *c, uint64_t id, uint64_t now_ns)
{
	struct entry *e = id ? find(c, id) : NULL;
	struct asked *a = asked_at(c, id);

	if (e || id == 0 || !c->of[IDS].mount || !c->of[IDS].root)
		return e;
	if (a->id != id)
		*a = (struct asked){ .id = id, .walk = c->begun + 1 };
	if (now_ns < a->until_ns)
		return NULL;
	if (c->depth == 0 && (c->begun == 0 || now_ns - c->walked_ns >= WALK_EVERY_NS))
		begin(c, now_ns);
	if (c->depth > 0)
		walk(c, now_ns);
	e = find(c, id);
	if (!e && c->ended >= a->walk) {
		/*
		 * A walk that began after the first question has not met the id: the cgroup is gone, or outside
		 * the mounted hierarchy. The kernel does not reuse ids.
		 */
		a->until_ns = now_ns + MISSING_NS;
		a->walk = c->begun + 1;
	}
	return e;
}

struct skep_str cgroups_path(struct cgroups *c, uint64_t id, uint64_t now_ns)
{
	const struct entry *e = look_for(c, id, now_ns);

	return e ? (struct skep_str){ e->path, e->len, e->len } : (struct skep_str){ "", 0, 0 };
}

const struct container *cgroups_container(struct cgroups *c, uint64_t id, uint64_t now_ns)
{
	struct entry *e = c->containers ? look_for(c, id, now_ns) : NULL;

	if (!e)
		return NULL;
	/* Evaluates each cgroup once; when memory runs out, the next call tries again. */
	if (!e->identified)
		e->identified = containers_find(c->containers, e->path, e->len, &e->container) == 0;
	return e->container;
}

struct skep_str cgroups_container_id(struct cgroups *c, uint64_t id, uint64_t now_ns)
{
	const struct container *found = cgroups_container(c, id, now_ns);

	return found ? found->of[CONTAINER_CONTAINER].id : (struct skep_str){ "", 0, 0 };
}

/* The folder of a cgroup in a hierarchy, or NULL: not below its mount point, or no memory. The caller frees it. */
static char *folder_of(const struct hierarchy *h, const char *path, size_t len)
{
	size_t below;
	char *full;

	if (!h->mount || !h->root)
		return NULL;
	below = strlen(h->root);
	if (len < below || memcmp(path, h->root, below) != 0 || (len > below && path[below] != '/') ||
	    asprintf(&full, "%s%.*s", h->mount, (int)(len - below), path + below) < 0)
		return NULL;
	return full;
}

uint64_t cgroups_id(struct cgroups *c, const char *path, uint64_t now_ns)
{
	/* A user gives the path: "/../../mnt/x" would have the loop wait for a file server that is gone. */
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS };
	const struct hierarchy *h = &c->of[IDS];
	char *full = folder_of(h, path, strlen(path));
	const char *below = full ? full + strlen(h->mount) : "";
	struct stat st;
	uint64_t id = 0;
	int root = -1, fd = -1;

	(void)now_ns;
	if (h->id) { /* the user's /proc has the names of our cgroup namespace, too */
		free(full);
		full = asprintf(&full, "%s%s", h->mount, path) < 0 ? NULL : full;
		below = full ? full + strlen(h->mount) : "";
	}
	if (full)
		root = open(h->mount, O_PATH | O_DIRECTORY | O_CLOEXEC);
	below += strspn(below, "/");
	if (root >= 0)
		fd = (int)syscall(SYS_openat2, root, *below ? below : ".", &how, sizeof(how)); /* Linux 5.6 */
	if (fd >= 0 && fstat(fd, &st) == 0)
		id = st.st_ino;
	if (fd >= 0)
		close(fd);
	if (root >= 0)
		close(root);
	free(full);
	return id;
}

/* ---- limits ----------------------------------------------------------------------- */

static void lower(uint64_t limit, uint64_t host, uint64_t *ret)
{
	if (limit > 0 && limit <= host && (*ret == 0 || limit < *ret))
		*ret = limit;
}

/*
 * Reads the limits of the cgroups from this one up to each of its layers: processes often are a level or two below the
 * container's limit.
 */
static bool read_limits(const struct cgroups *c, const struct entry *e, struct cgroup_limits ret[CONTAINER_KINDS])
{
	const struct cgroup_limits host = { /* a virtual machine may have grown since skepd's start */
		.milli_cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000,
		.memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
	};
	struct cgroup_limits least = { 0 };
	const struct container_layer *of = e->container->of;
	uint32_t top = e->len, levels = 0;

	for (unsigned k = 0; k < CONTAINER_SLICE; k++)
		if (of[k].end && of[k].end < top)
			top = of[k].end;
	for (uint32_t i = top; i < e->len; i++)
		levels += e->path[i] == '/';
	for (uint32_t at = e->len; at >= top && at > 0;) {
		char *memory = folder_of(&c->of[MEMORY], e->path, at);
		char *cpu = folder_of(&c->of[CPU], e->path, at);

		if (memory && levels < LIMIT_LEVELS)
			lower(cgroup_limit_memory(memory, c->of[MEMORY].unified), host.memory_bytes,
			      &least.memory_bytes);
		if (cpu && levels < LIMIT_LEVELS)
			lower(cgroup_limit_cpu(cpu, c->of[CPU].unified), host.milli_cpus, &least.milli_cpus);
		free(memory);
		free(cpu);
		for (unsigned k = 0; k < CONTAINER_SLICE; k++)
			if (of[k].end == at)
				ret[k] = least;
		do
			at--;
		while (at > 0 && e->path[at] != '/');
		levels--;
	}
	return least.memory_bytes || least.milli_cpus;
}

/* false: without success, and a later call may have more */
static bool have_limits(const struct cgroups *c, struct entry *e)
{
	struct cgroup_limits limits[CONTAINER_KINDS] = { 0 };

	if (e->limits || e->limit_reads == LIMIT_READS)
		return true;
	if (read_limits(c, e, limits)) {
		e->limits = malloc(sizeof(limits));
		if (e->limits)
			memcpy(e->limits, limits, sizeof(limits));
	}
	return e->limits || ++e->limit_reads == LIMIT_READS;
}

/* A unit that lasts as long as a user is logged in or the machine runs: its limits are no task's. */
static bool of_session(const struct skep_str *unit)
{
	return strncmp(unit->ptr, "session-", 8) == 0 || strncmp(unit->ptr, "user@", 5) == 0 ||
	       strcmp(unit->ptr, "init.scope") == 0;
}

static bool same_layer(const struct container_layer *a, const struct container_layer *b)
{
	return strcmp(a->id.ptr, b->id.ptr) == 0 && strcmp(a->by.ptr, b->by.ptr) == 0;
}

bool cgroups_limits(struct cgroups *c, uint64_t id, uint64_t starter, bool job, uint64_t now_ns,
		    struct cgroup_limits *ret)
{
	const struct container *at = cgroups_container(c, id, now_ns), *outside;
	struct cgroup_limits least = { 0 };
	bool known = false, done;
	struct entry *e;

	*ret = least;
	if (!at)
		return true;
	outside = cgroups_container(c, starter, now_ns);
	known = starter && find(c, starter);
	e = find(c, id); /* the search for the starter may have dropped it */
	if (!e || !e->container)
		return true;
	done = have_limits(c, e);
	for (unsigned k = 0; e->limits && k < CONTAINER_SLICE; k++) {
		const struct container_layer *layer = &e->container->of[k];
		bool own = known && layer->end && !(outside && same_layer(layer, &outside->of[k]));

		if (k == CONTAINER_UNIT && own)
			own = !of_session(&layer->id);
		if (k == CONTAINER_JOB && layer->end)
			own |= job;
		if (!own)
			continue;
		lower(e->limits[k].memory_bytes, UINT64_MAX, &least.memory_bytes);
		lower(e->limits[k].milli_cpus, UINT64_MAX, &least.milli_cpus);
	}
	*ret = least;
	return done;
}

size_t cgroups_count(const struct cgroups *c)
{
	return c->n;
}
