/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/drm.c - finds the processes that hold DRM devices, and the use of each of their clients since the last
 * pass. The search reads links in /proc/PID/fd, a bounded number in each pass, and continues in the next. Every pass
 * reads the processes known to hold a device, up to bounds of their own. Without a DRM device nothing is searched.
 */
#include "drm.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FDINFO_MAX 8192 /* amdgpu writes about 1,500 bytes */
#define FDINFO_READS 1024u /* of one process in a pass */
#define KNOWN_SHARE 8u     /* budgets for all processes known to hold a device */

struct drm_state *drm_new(const char *procfs, const char *sysfs, uint64_t budget)
{
	struct drm_state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->procfs = procfs;
	s->sysfs = sysfs;
	s->budget = budget;
	return s;
}

struct drm_state *drm_free(struct drm_state *s)
{
	free(s);
	return NULL;
}

static uint32_t slot_of(uint32_t card, uint64_t client)
{
	uint64_t x = (client << 8 | card) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(x >> 32) & (DRM_CLIENTS_ROOM - 1);
}

/* Finds a client, or prepares a free entry (pass 0), which client_take() fills. NULL: no room, which is counted. */
static struct drm_client *client_of(struct drm_state *s, uint32_t card, uint64_t client)
{
	uint32_t at = slot_of(card, client);

	for (; s->clients[at].pass; at = (at + 1) & (DRM_CLIENTS_ROOM - 1))
		if (s->clients[at].client == client && s->clients[at].card == card)
			return &s->clients[at];
	if (s->n_clients >= DRM_CLIENTS_ROOM / 4 * 3) {
		s->overflow++;
		return NULL;
	}
	s->clients[at] = (struct drm_client){ .client = client, .card = card };
	return &s->clients[at];
}

/* Drops the clients that this pass has not seen; the entry behind a freed slot may have to move into it. */
static void clients_forget(struct drm_state *s)
{
	for (uint32_t i = 0; i < DRM_CLIENTS_ROOM; i++) {
		uint32_t hole = i, at;

		if (!s->clients[i].pass || s->clients[i].pass == s->passes)
			continue;
		s->clients[i].pass = 0;
		s->n_clients--;
		for (at = (i + 1) & (DRM_CLIENTS_ROOM - 1); s->clients[at].pass;
		     at = (at + 1) & (DRM_CLIENTS_ROOM - 1)) {
			uint32_t home = slot_of(s->clients[at].card, s->clients[at].client);

			if (((at - home) & (DRM_CLIENTS_ROOM - 1)) < ((at - hole) & (DRM_CLIENTS_ROOM - 1)))
				continue;
			s->clients[hole] = s->clients[at];
			s->clients[at].pass = 0;
			hole = at;
		}
		i--;
	}
}

/* Busy time since the last pass. For an engine that counts cycles: its share of all cycles, times the interval. */
static uint64_t engine_grown(const struct drm_engine *before, const struct drm_engine *now, uint64_t interval_ns)
{
	if (now->has_ns)
		return now->busy_ns > before->busy_ns ? now->busy_ns - before->busy_ns : 0;
	if (now->total_cycles > before->total_cycles && now->cycles > before->cycles)
		return (uint64_t)((double)(now->cycles - before->cycles) /
				  (double)(now->total_cycles - before->total_cycles) * (double)interval_ns);
	return 0;
}

static void card_engine_add(struct drm_card *c, const char *name, uint64_t ns)
{
	uint32_t i = 0;

	while (i < c->n_engines && strcmp(c->engine[i], name) != 0)
		i++;
	if (i == DRM_ENGINES)
		return;
	if (i == c->n_engines) {
		memcpy(c->engine[i], name, sizeof(c->engine[i]));
		c->busy_ns[i] = 0;
		c->n_engines++;
	}
	c->busy_ns[i] += ns;
}

static void client_take(struct drm_state *s, struct tally *tally, uint32_t pid, const struct drm_fdinfo *f,
			uint64_t interval_ns)
{
	static const struct drm_engine none;
	int card = drm_card_of(s, f->pdev[0] ? f->pdev : f->driver, f->driver);
	struct tally_entry *e;
	struct drm_client *c;
	uint64_t busy = 0;
	bool fresh;

	if (card < 0)
		return;
	c = client_of(s, (uint32_t)card, f->client);
	if (!c || c->pass == s->passes)
		return; /* the same client by another descriptor, here or in another process: counts once */
	e = tally_of(tally, pid);
	if (!e)
		return;
	fresh = c->pass == 0;
	for (uint32_t i = 0; i < f->n_engines; i++) {
		const struct drm_engine *before = &none;
		uint64_t ns;

		for (uint32_t k = 0; k < c->n_engines; k++)
			if (strcmp(c->engines[k].name, f->engines[i].name) == 0)
				before = &c->engines[k];
		/*
		 * A client that is new since a complete search began at zero. A client that earlier searches may have
		 * missed, or that counts cycles, only sets a baseline.
		 */
		if (fresh && (!s->looked_everywhere || !f->engines[i].has_ns))
			continue;
		ns = engine_grown(before, &f->engines[i], interval_ns);
		switch (drm_engine_unit(f->engines[i].name)) {
		case DRM_COPY:
			e->use.copy_ns += ns;
			break;
		case DRM_VIDEO:
			e->use.video_ns += ns;
			break;
		case DRM_BUSY:
			e->use.busy_ns += ns;
			break;
		}
		busy += ns;
		card_engine_add(&s->cards[card], f->engines[i].name, ns);
	}
	e->use.devices++;
	e->use.memory_bytes += f->has_device_memory ? f->device_memory : f->other_memory;
	if (s->last_ns && !fresh)
		e->use.held_ns += interval_ns;
	if (s->last_ns && !fresh && f->n_engines) {
		e->use.known_ns += interval_ns;
		if (!busy)
			e->use.idle_ns += interval_ns;
	}
	s->reported = s->reported || f->n_engines;
	s->cards[card].clients = s->cards[card].clients || f->n_engines;
	s->cards[card].holders++;
	s->cards[card].memory += f->has_device_memory ? f->device_memory : f->other_memory;
	s->n_clients += fresh;
	c->pass = s->passes;
	c->pid = pid;
	c->n_engines = f->n_engines;
	memcpy(c->engines, f->engines, sizeof(c->engines));
}

static bool fdinfo_read(int dir, const char *name, char *ret, size_t room)
{
	size_t have = 0;
	ssize_t n;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while (have < room - 1 && (n = read(fd, ret + have, room - 1 - have)) > 0)
		have += (size_t)n;
	close(fd);
	ret[have] = '\0';
	return have > 0;
}

/*
 * Reads at most `room` descriptors, and the fdinfo of at most FDINFO_READS. True: the process holds a DRM device.
 * ret_cut: it has more descriptors than that. A link to /dev/dri proves nothing, because a user may have any file there
 * in a mount namespace of his own. Only a driver writes the drm- lines of fdinfo.
 */
static bool process_take(struct drm_state *s, struct tally *tally, uint32_t pid, uint64_t interval_ns, uint64_t room,
			 bool *ret_cut)
{
	uint64_t until = ++s->fds_read + room; /* its folder costs as much as a descriptor */
	char path[512], link[64], text[FDINFO_MAX];
	unsigned reads = 0;
	struct dirent *entry;
	bool found = false;
	int info = -1;
	DIR *d;

	*ret_cut = false;

	snprintf(path, sizeof(path), "%s/%u/fd", s->procfs, pid);
	d = opendir(path);
	if (!d)
		return false; /* gone, or not readable for us */
	while ((entry = readdir(d))) {
		struct drm_fdinfo f;
		ssize_t n;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (s->fds_read >= until || reads == FDINFO_READS) {
			*ret_cut = true;
			break;
		}
		s->fds_read++;
		n = readlinkat(dirfd(d), entry->d_name, link, sizeof(link) - 1);
		if (n <= 0)
			continue;
		link[n] = '\0';
		if (strncmp(link, "/dev/dri/", 9) != 0)
			continue;
		if (info < 0) {
			snprintf(path, sizeof(path), "%s/%u/fdinfo", s->procfs, pid);
			info = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (info < 0)
				break;
		}
		reads++;
		if (!fdinfo_read(info, entry->d_name, text, sizeof(text)) || drm_fdinfo_parse(text, &f))
			continue;
		found = true;
		client_take(s, tally, pid, &f, interval_ns);
	}
	if (info >= 0)
		close(info);
	closedir(d);
	return found;
}

static bool known(const struct drm_state *s, uint32_t n, uint32_t pid)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (s->known[mid] == pid)
			return true;
		if (s->known[mid] < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Searches /proc for users of devices. Continues after the last search's pid: /proc lists pids in ascending order. */
static void search(struct drm_state *s, struct tally *tally, uint32_t n_known, uint64_t interval_ns)
{
	uint64_t until = s->fds_read + s->budget, before;
	bool stopped = false, all = s->resume_pid == 0, cut;
	struct dirent *entry;
	DIR *d = opendir(s->procfs);

	if (!d)
		return;
	while ((entry = readdir(d))) {
		unsigned long pid;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid = strtoul(entry->d_name, NULL, 10);
		if (pid <= s->resume_pid || pid > UINT32_MAX || known(s, n_known, (uint32_t)pid))
			continue;
		before = s->fds_read;
		if (process_take(s, tally, (uint32_t)pid, interval_ns, until - before, &cut)) {
			if (s->n_known < TALLY_ROOM)
				s->known[s->n_known++] = (uint32_t)pid;
			else
				s->overflow++;
		}
		if (cut && until - before < s->budget) { /* the next pass begins with it, and has more room */
			s->resume_pid = (uint32_t)pid - 1;
			stopped = true;
			break;
		}
		if (cut) {
			s->cut++;
			all = false;
		}
		if (s->fds_read >= until) {
			s->resume_pid = (uint32_t)pid;
			stopped = true;
			break;
		}
	}
	closedir(d);
	s->looked_everywhere = all && !stopped;
	if (!stopped)
		s->resume_pid = 0;
}

/*
 * Reads the processes that held a device in the last pass; returns how many still do. When they have more descriptors
 * than KNOWN_SHARE budgets, the next pass begins with the first process that this pass did not read.
 */
static uint32_t known_read(struct drm_state *s, struct tally *tally, uint64_t interval_ns)
{
	uint64_t until = s->fds_read + KNOWN_SHARE * s->budget;
	uint32_t kept = 0, n = s->n_known, first = s->known_first;

	s->known_first = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (first + i) % n, *pid = &s->known[at];
		bool cut = s->fds_read >= until;

		if (cut && !s->known_first)
			s->known_first = at;
		if (!cut && !process_take(s, tally, *pid, interval_ns, s->budget, &cut))
			*pid = 0;
		s->cut += cut;
	}
	for (uint32_t i = 0; i < n; i++)
		if (s->known[i])
			s->known[kept++] = s->known[i];
	s->n_known = kept;
	return kept;
}

void drm_pass(struct drm_state *s, struct tally *tally, uint64_t now_ns)
{
	const uint64_t interval_ns = s->last_ns ? now_ns - s->last_ns : 0;
	const uint64_t left_out = s->cut + s->overflow + tally->overflow;
	uint32_t n;

	drm_cards_find(s);
	if (!s->present)
		return;
	s->passes++;
	for (uint32_t i = 0; i < s->n_cards; i++) {
		s->cards[i].n_engines = s->cards[i].holders = 0;
		s->cards[i].memory = 0;
	}
	n = known_read(s, tally, interval_ns);
	search(s, tally, n, interval_ns);
	/* the clients that this pass left out are forgotten: in the next pass they are not new */
	s->looked_everywhere = s->looked_everywhere && s->cut + s->overflow + tally->overflow == left_out;
	qsort(s->known, s->n_known, sizeof(s->known[0]), by_number);
	clients_forget(s);
	drm_cards_read(s, now_ns);
	s->last_ns = now_ns;
}
