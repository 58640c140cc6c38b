/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/pins.c - pins, adopts and removes BPF objects.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <skep/clock.h>
#include <skep/object.h>
#include <skep/pins.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t skep_pins_hash(uint64_t h, const void *data, size_t size)
{
	const unsigned char *at = (const unsigned char *)data;

	for (size_t i = 0; i < size; i++) /* FNV-1a */
		h = (h ^ at[i]) * 0x100000001b3ull;
	return h;
}

static uint64_t skep_pins_hash_number(uint64_t h, uint64_t number)
{
	for (int i = 0; i < 8; i++, number >>= 8)
		h = (h ^ (number & 255)) * 0x100000001b3ull;
	return h;
}

/*
 * Parses a folder's name, "NAME@WHEN-KEY". bpffs allows no dots in names (kernel/bpf/inode.c, bpf_lookup). While skepd
 * reloads a plugin, two folders with the same key exist for a moment.
 */
static bool skep_pins_is(const char *entry, const char *name, uint64_t *ret_key)
{
	size_t n = strlen(name);
	const char *dash;
	char *end;

	if (strncmp(entry, name, n) || entry[n] != '@' || !(dash = strchr(entry + n, '-')))
		return false;
	*ret_key = strtoull(dash + 1, &end, 16);
	return end - dash == 17 && *end == '\0';
}

static int skep_pins_key(struct skep_pins *p, const struct bpf_object_skeleton *s)
{
	uint64_t h = skep_pins_hash(0xcbf29ce484222325ull, s->data, s->data_sz);

	for (int i = 0; i < s->map_cnt; i++) {
		struct bpf_map *map = *s->maps[i].map;
		struct bpf_map_info info;
		uint32_t size = sizeof(info);
		const void *constants;
		size_t n = 0;

		h = skep_pins_hash_number(h, (uint64_t)bpf_map__max_entries(map) << 32 | bpf_map__value_size(map));
		h = skep_pins_hash_number(h, bpf_map__autocreate(map));
		memset(&info, 0, sizeof(info));
		if (bpf_map__fd(map) >= 0) { /* the host shares this map */
			if (bpf_obj_get_info_by_fd(bpf_map__fd(map), &info, &size))
				return -errno;
			h = skep_pins_hash_number(h, info.id);
		}
		constants = strstr(bpf_map__name(map), ".rodata") ? bpf_map__initial_value(map, &n) : NULL;
		if (constants)
			h = skep_pins_hash(h, constants, n);
	}
	for (int i = 0; i < s->prog_cnt; i++)
		h = skep_pins_hash_number(h, bpf_program__autoload(*s->progs[i].prog));
	p->key = h;
	return 0;
}

static int skep_pins_path(char path[SKEP_PINS_PATH + 96], const char *folder, const char *kind, const char *name)
{
	int n = snprintf(path, SKEP_PINS_PATH + 96, "%s/%s_%s", folder, kind, name);

	for (char *c = path + strlen(folder); n > 0 && *c; c++)
		if (*c == '.') /* names of libbpf's internal maps have dots */
			*c = '_';
	return n > 0 && n < SKEP_PINS_PATH + 96 ? 0 : -ENAMETOOLONG;
}

static void skep_pins_unlink(const char *folder, const char *begin)
{
	DIR *dir = opendir(folder);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.' && strncmp(e->d_name, begin, strlen(begin)) == 0)
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
}

void skep_pins_unpin(const char *folder, const char *begin)
{
	skep_pins_unlink(folder, "prog_");
	skep_pins_unlink(folder, begin);
}

/* Removes a folder of pins and its contents. */
static void skep_pins_remove(const char *folder)
{
	skep_pins_unpin(folder, "");
	rmdir(folder);
}

/*
 * True when the folder has all programs.  If not, a skepd died while it removed the folder, and links may be missing
 * (skep_pins_unpin).
 */
static bool skep_pins_whole(const char *folder, const struct bpf_object_skeleton *s)
{
	char path[SKEP_PINS_PATH + 96];

	for (int i = 0; i < s->prog_cnt; i++)
		if (bpf_program__autoload(*s->progs[i].prog) &&
		    (skep_pins_path(path, folder, "prog", s->progs[i].name) || access(path, F_OK)))
			return false;
	return true;
}

int skep_pins_open(const char *folder, const char *kind, const char *name)
{
	char path[SKEP_PINS_PATH + 96];
	int err = skep_pins_path(path, folder, kind, name), fd;

	fd = err ? err : bpf_obj_get(path);
	return fd < 0 && !err ? -errno : fd;
}

int skep_pins_kept(const char *folder, struct skep_kept *ret)
{
	int fd = skep_pins_open(folder, "map", "kept"), err;

	if (fd < 0)
		return fd;
	err = skep_kept_get(fd, ret);
	close(fd);
	return err;
}

/*
 * True when the folder's kernel side has recorded without a gap: no skepd adopts an expired one, which
 * skep_pins_others() drains and removes.
 */
static bool skep_pins_attended(struct skep_pins *p)
{
	struct skep_kept k = { 0, SKEP_KEPT_AWAKE, 0 };
	int err = skep_pins_kept(p->folder, &k);

	p->until_ns = k.until_ns;
	return err == -ENOENT || (!err && k.asleep == SKEP_KEPT_AWAKE && !skep_kept_expired(&k));
}

/* Finds a complete folder with this build's key and without a gap; skep_pins_others() handles the other folders. */
static bool skep_pins_find(struct skep_pins *p, const char *where, const struct bpf_object_skeleton *s)
{
	DIR *dir = opendir(where);
	bool found = false;
	struct dirent *e;
	uint64_t key;

	while (dir && !found && (e = readdir(dir))) {
		if (!skep_pins_is(e->d_name, p->name, &key) || key != p->key)
			continue;
		found = snprintf(p->folder, sizeof(p->folder), "%s/%s", where, e->d_name) < (int)sizeof(p->folder) &&
			skep_pins_whole(p->folder, s) && skep_pins_attended(p);
	}
	if (dir)
		closedir(dir);
	if (!found)
		p->folder[0] = '\0';
	return found;
}

static int skep_pins_adopt(const struct skep_pins *p, struct bpf_object_skeleton *s)
{
	char path[SKEP_PINS_PATH + 96];
	int err, fd;

	for (int i = 0; i < s->map_cnt; i++) {
		struct bpf_map *map = *s->maps[i].map;

		if (bpf_map__fd(map) >= 0 || !bpf_map__autocreate(map))
			continue;
		err = skep_pins_path(path, p->folder, "map", s->maps[i].name);
		fd = err ? err : bpf_obj_get(path);
		if (fd < 0)
			return err ? err : -errno;
		err = bpf_map__reuse_fd(map, fd); /* duplicates the descriptor */
		close(fd);
		if (err)
			return err;
	}
	for (int i = 0; i < s->prog_cnt; i++) {
		struct bpf_program *prog = *s->progs[i].prog;

		if (!bpf_program__autoload(prog))
			continue;
		bpf_program__set_autoload(prog, false);
		err = skep_pins_path(path, p->folder, "link", s->progs[i].name);
		if (err)
			return err;
		if (s->progs[i].link && access(path, F_OK) == 0) {
			*s->progs[i].link = bpf_link__open(path);
			if (!*s->progs[i].link)
				return -errno;
		}
	}
	return 0;
}

int skep_pins_load(struct skep_pins *p, const struct skep_host *host, const char *name, struct bpf_object_skeleton *s)
{
	int err;

	memset(p, 0, sizeof(*p));
	if (!host->pin_dir)
		return bpf_object__load_skeleton(s);
	snprintf(p->name, sizeof(p->name), "%s", name);
	for (char *c = p->name; *c; c++)
		if (*c == '.' || *c == '@')
			*c = '_';
	err = skep_pins_key(p, s);
	if (err)
		return err;
	p->adopted = host->pin_adopts && skep_pins_find(p, host->pin_dir, s);
	err = p->adopted ? skep_pins_adopt(p, s) : 0;
	if (!err)
		err = bpf_object__load_skeleton(s);
	if (err && p->adopted) {
		skep_pins_remove(p->folder);
		return -ESTALE;
	}
	if (!err && !p->adopted &&
	    snprintf(p->folder, sizeof(p->folder), "%s/%s@", host->pin_dir, p->name) >= (int)sizeof(p->folder) - 40)
		p->folder[0] = '\0';
	return err;
}

static int skep_pins_pin(const char *folder, struct bpf_object_skeleton *s)
{
	char path[SKEP_PINS_PATH + 96];
	int err;

	for (int i = 0; i < s->map_cnt; i++) {
		int fd = bpf_map__fd(*s->maps[i].map);

		if (fd < 0) /* libbpf did not create the map on this kernel */
			continue;
		err = skep_pins_path(path, folder, "map", s->maps[i].name);
		if (err || bpf_obj_pin(fd, path))
			return err ? err : -errno;
	}
	for (int i = 0; i < s->prog_cnt; i++) {
		struct bpf_link *link = s->progs[i].link ? *s->progs[i].link : NULL;
		int fd = bpf_program__fd(*s->progs[i].prog);

		if (fd < 0)
			continue;
		err = skep_pins_path(path, folder, "prog", s->progs[i].name);
		if (err || bpf_obj_pin(fd, path))
			return err ? err : -errno;
		if (!link)
			continue;
		err = skep_pins_path(path, folder, "link", s->progs[i].name);
		if (err || bpf_obj_pin(bpf_link__fd(link), path))
			return err ? err : -errno;
	}
	return 0;
}

int skep_pins_attach(struct skep_pins *p, struct bpf_object_skeleton *s, int *ret_unpinned)
{
	char making[SKEP_PINS_PATH];
	size_t n = strlen(p->folder);
	int err;

	*ret_unpinned = 0;
	if (p->adopted)
		return 0;
	err = skep_object_attach(s);
	if (err || !n)
		return err;
	snprintf(p->folder + n, sizeof(p->folder) - n, "%llx-%016llx", (unsigned long long)skep_boot_ns(),
		 (unsigned long long)p->key);
	memcpy(making, p->folder, sizeof(making));
	making[n - 1] = '_'; /* no skepd adopts a folder of that name */
	making[strrchr(making, '/') - making] = '\0';
	err = mkdir(making, 0700) && errno != EEXIST ? -errno : 0;
	making[strlen(making)] = '/';
	if (!err)
		err = mkdir(making, 0700) ? -errno : skep_pins_pin(making, s);
	if (!err && rename(making, p->folder))
		err = -errno;
	if (err) {
		skep_pins_remove(making);
		p->folder[0] = '\0';
	}
	*ret_unpinned = err;
	return 0;
}

void skep_pins_warn(const struct skep_host *host, struct skep_instance *inst, int unpinned, const char *done)
{
	if (unpinned)
		host->log(inst, SKEP_LOG_WARNING,
			  "cannot pin BPF state in %s: %s; events during a restart of skepd will not be %s",
			  host->pin_dir, strerror(-unpinned), done);
}

/*
 * Stops all hooks of the object at one moment.  The detach takes them off one after another, and an exec in between
 * would pass some hooks and miss others: reloads lost the exec of such a process.
 */
static void skep_pins_sleep(const struct bpf_object_skeleton *s)
{
	for (int i = 0; i < s->map_cnt; i++) {
		struct skep_kept k;
		int fd = strcmp(s->maps[i].name, "kept") ? -1 : bpf_map__fd(*s->maps[i].map);

		if (fd < 0 || skep_kept_get(fd, &k))
			continue;
		k.asleep = SKEP_KEPT_ASLEEP;
		skep_kept_set(fd, &k); /* if it fails, the hooks still stop at the detach */
	}
}

bool skep_pins_leave(struct skep_pins *p, const struct skep_host *host, struct skep_instance *inst,
		     struct bpf_object_skeleton *s)
{
	if (p->folder[0] && host->stays(inst))
		return true;
	if (p->folder[0])
		skep_pins_remove(p->folder);
	p->folder[0] = '\0';
	skep_pins_sleep(s);
	bpf_object__detach_skeleton(s);
	return false;
}

int skep_pins_program(const struct skep_pins *p, const char *folder, const char *name)
{
	return skep_pins_open(folder ? folder : p->folder, "prog", name);
}

int skep_pins_own_program(const struct skep_pins *p, const struct bpf_program *prog, const char *name)
{
	if (p->adopted)
		return skep_pins_program(p, NULL, name);
	return bpf_program__fd(prog) >= 0 ? dup(bpf_program__fd(prog)) : -1;
}

/* Returns for how many ns the pinned object records after the last touch (skep/kept.h). */
static uint64_t skep_pins_for_ns(const struct skep_host *host)
{
	const uint64_t seconds = host->pin_for_s ? host->pin_for_s : 600u; /* a test's host may have none */

	/* two more intervals, because a plugin may touch the object only when it samples */
	return seconds * 1000000000ull + 2 * host->interval_ns;
}

/*
 * Reports the events since until_ns as lost in the kernel: the hooks did not record them, because no skepd read the
 * ring.  fd: the map "unattended".
 */
static uint64_t skep_pins_unattended(const struct skep_host *host, struct skep_instance *inst, int fd,
					    const struct skep_pins_kinds *kinds, uint64_t until_ns)
{
	uint64_t lost[SKEP_KEPT_KINDS] = { 0 }, total = 0, now = skep_monotonic_ns();
	int err = skep_kept_drain_unattended(fd, lost);

	for (unsigned kind = 0; kind < kinds->n; kind++) {
		if (lost[kind])
			host->lost(inst, kinds->stream[kind], SKEP_LOSS_KERNEL, lost[kind]);
		total += lost[kind];
	}
	if (err || total)
		host->log(
			inst, SKEP_LOG_WARNING,
			"pinned BPF state expired after %llu s without a reader (pin_for): "
			"%llu events of the last %llu s were not recorded and count as lost%s%s",
			(unsigned long long)(skep_pins_for_ns(host) / 1000000000u), (unsigned long long)total,
			(unsigned long long)((now > until_ns ? now - until_ns : 0) / 1000000000u),
			err ? "; cannot read all of them: " : "", err ? strerror(-err) : "");
	return total;
}

bool skep_pins_touch(struct skep_pins *p, const struct skep_host *host, struct skep_instance *inst, int kept,
		     uint32_t layout, int unattended, const struct skep_pins_kinds *kinds)
{
	uint64_t was_ns = p->until_ns, now = skep_monotonic_ns();
	struct skep_kept k = { 0, SKEP_KEPT_AWAKE, layout };

	k.until_ns = p->until_ns = p->folder[0] ? now + skep_pins_for_ns(host) : 0;
	if (skep_kept_set(kept, &k))
		return false;
	return was_ns && now > was_ns && skep_pins_unattended(host, inst, unattended, kinds, was_ns) > 0;
}

void skep_pins_other_unattended(const struct skep_host *host, struct skep_instance *inst, const char *folder,
					      const struct skep_kept *k, const struct skep_pins_kinds *kinds)
{
	int fd = skep_kept_expired(k) ? skep_pins_open(folder, "map", "unattended") : -ENOENT;

	if (fd < 0)
		return;
	skep_pins_unattended(host, inst, fd, kinds, k->until_ns);
	close(fd);
}

bool skep_pins_take_over(const struct skep_host *host, struct skep_instance *inst, const char *folder, int kept,
			 uint32_t layout, const struct skep_pins_kinds *kinds)
{
	int theirs = skep_pins_open(folder, "map", "kept");
	struct skep_kept k = { 0 };
	bool readable;

	if (theirs < 0)
		return false;
	readable = skep_kept_get(theirs, &k) == 0 && k.layout == layout;
	skep_kept_sleep(theirs, k.layout);
	skep_kept_touch(kept, layout, 0);
	close(theirs);
	skep_pins_other_unattended(host, inst, folder, &k, kinds);
	return readable;
}

void skep_pins_others(const struct skep_pins *p, const struct skep_host *host,
		      void (*cb)(void *arg, const char *folder), void *arg)
{
	size_t n = strlen(p->name);
	char folder[SKEP_PINS_PATH];
	struct dirent *e;
	uint64_t key;
	DIR *dir;

	if (!host->pin_dir || !host->pin_adopts)
		return;
	dir = opendir(host->pin_dir);
	while (dir && (e = readdir(dir))) {
		bool whole = skep_pins_is(e->d_name, p->name, &key);

		/* "NAME_...": a skepd died while it created this folder, and no skepd has read the new ring */
		if ((!whole && (strncmp(e->d_name, p->name, n) || e->d_name[n] != '_')) ||
		    snprintf(folder, sizeof(folder), "%s/%s", host->pin_dir, e->d_name) >= (int)sizeof(folder) ||
		    strcmp(folder, p->folder) == 0)
			continue;
		if (whole)
			cb(arg, folder);
		skep_pins_remove(folder);
	}
	if (dir)
		closedir(dir);
}
