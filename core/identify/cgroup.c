/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/cgroup.c - the table of cgroups and the walk of the hierarchy. A cgroup's id is the id of its
 * kernfs node; on 64-bit kernels this is the inode number that stat() returns (kernfs since 5.5).
 */
#include "core/identify/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <skep/hash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

struct entry {
	struct entry *hash_next;
	struct entry *older, *newer;
	struct container *container; /* what the path names; NULL: nothing, or not evaluated yet */
	bool identified;
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

struct cgroups {
	struct skep_hash_key key;
	struct entry *buckets[BUCKETS];
	struct entry *oldest, *newest;
	size_t n;
	const struct containers *containers; /* borrowed; NULL: no table */
	char *mount; /* mount point of the hierarchy that defines the ids; NULL: none found */
	char *root;  /* the cgroup at the mount point: "" for the hierarchy's root */
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
 * process is in the root of the default (v2) hierarchy, so v2's ids say nothing.
 */
static int rank(const char *type, const char *super_options)
{
	char word[256];
	size_t n;

	if (strcmp(type, "cgroup2") == 0)
		return 2;
	if (strcmp(type, "cgroup") != 0)
		return 0;
	for (const char *p = super_options; *p; p += n + (p[n] == ',')) {
		n = strcspn(p, ",");
		if (n >= sizeof(word))
			continue;
		memcpy(word, p, n);
		word[n] = '\0';
		if (strcmp(word, "memory") == 0)
			return 3;
		if (strcmp(word, "pids") == 0)
			return 1;
	}
	return 0;
}

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
		    s[3] <= '7') {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* "/" is the hierarchy's root. "/.." lies outside our cgroup namespace, where skep cannot name cgroups. */
static char *copy_root(const char *root)
{
	char *copy = strdup(strcmp(root, "/") == 0 || strncmp(root, "/..", 3) == 0 ? "" : root);

	if (copy)
		unescape(copy);
	return copy;
}

static void find_mount(struct cgroups *c, const char *mountinfo)
{
	FILE *f = fopen(mountinfo, "re");
	char *line = NULL;
	size_t room = 0;
	int best = 0;

	if (!f)
		return;
	while (getline(&line, &room, f) > 0) {
		/* 36 35 98:0 /root /mount options [optional]... - type source super-options */
		char *save = NULL, *field = strtok_r(line, " \n", &save), *root, *at, *type, *super;
		int r;

		for (int i = 0; field && i < 3; i++)
			field = strtok_r(NULL, " \n", &save);
		root = field;
		at = root ? strtok_r(NULL, " \n", &save) : NULL;
		field = at;
		while (field && strcmp(field, "-") != 0)
			field = strtok_r(NULL, " \n", &save);
		type = field ? strtok_r(NULL, " \n", &save) : NULL;
		super = type && strtok_r(NULL, " \n", &save) ? strtok_r(NULL, " \n", &save) : NULL;
		if (!at || !super)
			continue;
		r = rank(type, super);
		if (r > best) {
			char *copy = strdup(at), *below = copy_root(root);

			if (!copy || !below) {
				free(copy);
				free(below);
				break;
			}
			unescape(copy);
			free(c->mount);
			free(c->root);
			c->mount = copy;
			c->root = below;
			best = r;
		}
	}
	free(line);
	fclose(f);
}

struct cgroups *cgroups_new(const char *mountinfo)
{
	struct cgroups *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->key = skep_hash_key_new(); /* a user who may create cgroups could otherwise choose colliding ids */
	find_mount(c, mountinfo ? mountinfo : "/proc/self/mountinfo");
	return c;
}

void cgroups_identify(struct cgroups *c, const struct containers *containers)
{
	c->containers = containers;
	for (struct entry *e = c->oldest; e; e = e->newer) {
		e->container = container_free(e->container);
		e->identified = false;
	}
}

static void leave(struct cgroups *c);

struct cgroups *cgroups_free(struct cgroups *c)
{
	if (!c)
		return NULL;
	while (c->oldest) {
		struct entry *newer = c->oldest->newer;

		container_free(c->oldest->container);
		free(c->oldest);
		c->oldest = newer;
	}
	while (c->depth > 0)
		leave(c);
	free(c->mount);
	free(c->root);
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

static void forget(struct cgroups *c, struct entry *e)
{
	struct entry **at = bucket(c, e->id);

	while (*at != e)
		at = &(*at)->hash_next;
	*at = e->hash_next;
	age_out(c, e);
	container_free(e->container);
	free(e);
	c->n--;
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

static void learn(struct cgroups *c, uint64_t id, const char *path, uint32_t len)
{
	struct entry *e = find(c, id);

	if (e && e->len == len && memcmp(e->path, path, len) == 0)
		return;
	if (e)
		forget(c, e); /* the cgroup was renamed (v1 only), or the id belongs to a new cgroup */
	e = malloc(sizeof(*e) + len);
	if (!e)
		return;
	e->container = NULL;
	e->identified = false;
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
	int fd = open(c->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	c->walked_ns = now_ns;
	if (fd < 0)
		return false;
	c->path_room = strlen(c->root) + 1;
	c->path = strdup(c->root);
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

	if (e || id == 0 || !c->mount)
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

uint64_t cgroups_id(struct cgroups *c, const char *path, uint64_t now_ns)
{
	size_t below;
	struct stat st;
	char *full;
	int err;

	(void)now_ns;
	if (!c->mount || !c->root)
		return 0;
	below = strlen(c->root);
	if (strncmp(path, c->root, below) != 0 || (path[below] && path[below] != '/') ||
	    asprintf(&full, "%s%s", c->mount, path + below) < 0)
		return 0;
	err = stat(full, &st);
	free(full);
	return err == 0 && S_ISDIR(st.st_mode) ? st.st_ino : 0;
}

size_t cgroups_count(const struct cgroups *c)
{
	return c->n;
}
