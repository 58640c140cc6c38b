/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/pods.c - lists the kubelet's log folders and keeps what their entries' names say, sorted by id.
 *
 * Kubernetes' names have no '_' (RFC 1123). The forms: BuildPodLogsDirectory in pkg/kubelet/kuberuntime/helpers.go and
 * legacyLogSymlink in legacy.go.
 */
#include "core/identify/pods.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/intern.h"

#define ENTRIES_MOST 16384u /* a node has at most some hundred pods */
#define MISSING 1024u
#define AGAIN_NS 1000000000u
#define AGAIN_MOST_NS 60000000000u

static const char *const folders[] = { "pods", "containers" };
#define N_FOLDERS (sizeof(folders) / sizeof(folders[0]))

struct list {
	struct entry {
		struct pod_entry of; /* in text */
		char *text;
	} *entries;
	size_t n;
};

/* An id that no listing has found yet. */
struct missing {
	uint64_t hash, again_ns, pause_ns;
};

struct pods {
	uv_loop_t *loop;
	uv_fs_t req;
	bool listing, stopped, closing;
	unsigned at;              /* the folder that is being listed */
	struct list found, next;  /* next: of the listing under way */
	uint64_t again_ns;        /* the next listing begins not before */
	struct missing missing[MISSING]; /* of two ids in one place the newer stays */
	char folder[];
};

bool pods_parse(char *name, bool is_container, struct pod_entry *ret)
{
	char *second = strchr(name, '_'), *third = second ? strchr(second + 1, '_') : NULL, *id, *dot;

	if (!third || strchr(third + 1, '_') || second == name || third == second + 1 || !third[1])
		return false;
	if (!is_container) {
		*second = *third = '\0';
		*ret = (struct pod_entry){ third + 1, second + 1, name, NULL };
		return true;
	}
	id = strrchr(third, '-');
	dot = id ? strchr(id, '.') : NULL;
	if (!id || id == third + 1 || !dot || strcmp(dot, ".log") != 0 || dot == id + 1)
		return false;
	*second = *third = *id = *dot = '\0';
	*ret = (struct pod_entry){ id + 1, name, second + 1, third + 1 };
	return true;
}

static void list_clear(struct list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->entries[i].text);
	free(list->entries);
	*list = (struct list){ 0 };
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->of.id, ((const struct entry *)b)->of.id);
}

static const struct pod_entry *find(const struct list *list, const struct skep_str *id)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *text = list->entries[middle].of.id;
		int order = strncmp(text, id->ptr, id->len);

		if (order == 0 && text[id->len])
			order = 1;
		if (order == 0)
			return &list->entries[middle].of;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static void free_now(struct pods *p)
{
	list_clear(&p->found);
	list_clear(&p->next);
	free(p);
}

/* Takes ownership of the text. */
static void add(struct list *list, size_t room, char *text, bool is_container)
{
	struct pod_entry of;

	if (!text || list->n == room || !pods_parse(text, is_container, &of)) {
		free(text);
		return;
	}
	list->entries[list->n++] = (struct entry){ of, text };
}

static void list_next(struct pods *p);

static void on_listed(uv_fs_t *req)
{
	struct pods *p = req->data;
	size_t room = p->next.n + (req->result > 0 ? (size_t)req->result : 0);
	struct entry *entries;
	uv_dirent_t one;

	if (room > ENTRIES_MOST)
		room = ENTRIES_MOST;
	entries = p->closing || req->result <= 0 ? NULL : reallocarray(p->next.entries, room, sizeof(*entries));
	if (entries) {
		p->next.entries = entries;
		while (uv_fs_scandir_next(req, &one) == 0)
			add(&p->next, room, strdup(one.name), p->at > 0);
	}
	uv_fs_req_cleanup(req);
	if (p->closing) {
		free_now(p);
		return;
	}
	p->at++;
	list_next(p);
}

/* Lists the next folder; behind the last one puts the new list in the old one's place. */
static void list_next(struct pods *p)
{
	char path[4096];

	for (; p->at < N_FOLDERS; p->at++) {
		size_t len = strlen(p->folder), name = strlen(folders[p->at]);

		if (len + name + 2 > sizeof(path))
			continue;
		memcpy(path, p->folder, len);
		path[len] = '/';
		memcpy(path + len + 1, folders[p->at], name + 1);
		p->req.data = p;
		if (uv_fs_scandir(p->loop, &p->req, path, 0, on_listed) == 0)
			return;
	}
	list_clear(&p->found);
	p->found = p->next;
	p->next = (struct list){ 0 };
	if (p->found.n)
		qsort(p->found.entries, p->found.n, sizeof(*p->found.entries), by_id);
	p->listing = false;
}

struct pods *pods_new(uv_loop_t *loop, const char *folder)
{
	struct pods *p = calloc(1, sizeof(*p) + strlen(folder) + 1);

	if (!p)
		return NULL;
	p->loop = loop;
	strcpy(p->folder, folder);
	return p;
}

void pods_stop(struct pods *p)
{
	if (p)
		p->stopped = true;
}

bool pods_listing(const struct pods *p)
{
	return p && p->listing;
}

void pods_close(struct pods *p)
{
	if (!p)
		return;
	p->closing = true;
	if (!p->listing)
		free_now(p);
}

/*
 * A container's log appears after the container, a sandbox has none, and the folders may be missing: skep looks for
 * each id more and more seldom.
 */
static void look_for(struct pods *p, const struct skep_str *id, uint64_t now_ns)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	struct missing *m;

	if (p->listing || p->stopped || now_ns < p->again_ns)
		return;
	for (uint32_t i = 0; i < id->len; i++)
		hash = (hash ^ (unsigned char)id->ptr[i]) * UINT64_C(0x100000001b3);
	m = &p->missing[hash % MISSING];
	if (m->hash != hash)
		*m = (struct missing){ .hash = hash, .pause_ns = AGAIN_NS };
	if (now_ns < m->again_ns)
		return;
	m->again_ns = now_ns + m->pause_ns;
	m->pause_ns = 2 * m->pause_ns < AGAIN_MOST_NS ? 2 * m->pause_ns : AGAIN_MOST_NS;
	p->again_ns = now_ns + AGAIN_NS;
	p->listing = true;
	p->at = 0;
	list_next(p);
}

void pods_find(struct pods *p, const struct skep_str *pod_uid, const struct skep_str *container_id, uint64_t now_ns,
	       struct pod_names *ret)
{
	const struct pod_entry *pod = pod_uid->len ? find(&p->found, pod_uid) : NULL;
	const struct pod_entry *container = container_id->len ? find(&p->found, container_id) : NULL;
	const struct pod_entry *any = pod ? pod : container;

	*ret = (struct pod_names){ .pod = text_str(any ? any->pod : ""),
				   .name_space = text_str(any ? any->name_space : ""),
				   .container = text_str(container && container->container ? container->container : "") };
	if (pod_uid->len && !pod)
		look_for(p, pod_uid, now_ns);
	else if (container_id->len && !container)
		look_for(p, container_id, now_ns);
}
