/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/cgroup.c - the cache and the walk.  A cgroup's id is its kernfs node's id, which on
 * 64 bits is the inode number that stat() shows (kernfs since 5.5).
 */
#include "core/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <skep/hash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUCKETS 4096u
#define MAX_DEPTH 64
#define WALK_EVERY_NS 1000000000u

struct entry {
	struct entry *hash_next;
	struct entry *older, *newer;
	struct container *container; /* what the path names; NULL: nothing, or not asked yet */
	bool identified;
	uint64_t id;
	uint32_t len;
	char path[];
};

struct cgroups {
	struct skep_hash_key key;
	struct entry *buckets[BUCKETS];
	struct entry *oldest, *newest;
	size_t n;
	const struct containers *containers; /* borrowed; NULL: containers are not known */
	char *mount; /* of the hierarchy that ids are from; NULL: none found */
	char *root;  /* the cgroup that is mounted there: "" for the hierarchy's root */
	uint64_t walked_ns;
	bool walked;
};

/*
 * Which hierarchy ids are from: the one that limits memory.  Where v1 has the memory
 * controller every process sits in the root of the default (v2) one, whose ids say nothing.
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
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* "/" is the hierarchy's root; "/.." and the like lie outside of our cgroup namespace, where nothing is known of. */
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
	c->key = skep_hash_key_new(); /* who may make cgroups makes them until their ids suit */
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
		forget(c, e); /* renamed (v1 only), or the id belongs to another one now */
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

/* path: of the directory fd below the mount, "" for the mount itself. Takes fd. */
static void walk(struct cgroups *c, int fd, const char *path, int depth, size_t *left)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!dir) {
		close(fd);
		return;
	}
	if (fstat(fd, &st) == 0)
		learn(c, st.st_ino, *path ? path : "/", *path ? (uint32_t)strlen(path) : 1);
	while (depth < MAX_DEPTH && *left > 0 && (entry = readdir(dir))) {
		char *below;
		int sub;

		if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		sub = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub < 0)
			continue;
		if (asprintf(&below, "%s/%s", path, entry->d_name) < 0) {
			close(sub);
			break;
		}
		(*left)--;
		walk(c, sub, below, depth + 1, left);
		free(below);
	}
	closedir(dir);
}

bool cgroups_known(struct cgroups *c, uint64_t id, const struct skep_str *path)
{
	if (path && path->ptr && path->len > 0)
		learn(c, id, path->ptr, path->len);
	return find(c, id) != NULL;
}

/* The entry, if need be after a walk. */
static struct entry *look_for(struct cgroups *c, uint64_t id, uint64_t now_ns)
{
	struct entry *e = id ? find(c, id) : NULL;

	if (id == 0)
		return NULL;
	if (!e && c->mount && (!c->walked || now_ns - c->walked_ns >= WALK_EVERY_NS)) {
		int fd = open(c->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		size_t left = CGROUP_MAX - 1;

		c->walked = true;
		c->walked_ns = now_ns;
		if (fd >= 0)
			walk(c, fd, c->root, 0, &left);
		e = find(c, id);
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
	/* Once for each cgroup; when memory ran out, again the next time. */
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
