/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/model.c - the processes of `skep top`: a table by identity, and a list of ended ones, oldest first.
 */
#include "cli/top/model_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 1024u
#define MERGED_MOST 10000u /* of more names only the run is kept */
#define FORGET_LEAST (4 * (size_t)MERGED_MOST) /* merged items and runs, of which the model forgets the older runs */
#define EARLIER "(ended earlier)"
#define MERGED_IMAGE UINT32_MAX

/* ---- names ------------------------------------------------------------------------------- */

static const char *copy(char **at, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 1;
	char *to = *at;

	memcpy(to, text ? text : "", size);
	*at += size;
	return to;
}

/* One block with all texts; NULL: no memory. */
static struct top_names *names_new(const struct top_names *from)
{
	const char *const texts[] = { from->run,       from->pipeline, from->task,  from->tool,
				      from->container, from->user,     from->comm,  from->exe,
				      from->cwd,       from->filename, from->cgroup };
	size_t size = sizeof(*from) + from->argv_len + 1;
	struct top_names *names;
	char *at;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		size += (texts[i] ? strlen(texts[i]) : 0) + 1;
	names = malloc(size);
	if (!names)
		return NULL;
	*names = *from;
	at = (char *)(names + 1);
	names->run = copy(&at, from->run);
	names->pipeline = copy(&at, from->pipeline);
	names->task = copy(&at, from->task);
	names->tool = copy(&at, from->tool);
	names->container = copy(&at, from->container);
	names->user = copy(&at, from->user);
	names->comm = copy(&at, from->comm);
	names->exe = copy(&at, from->exe);
	names->filename = copy(&at, from->filename);
	names->cwd = copy(&at, from->cwd);
	names->cgroup = copy(&at, from->cgroup);
	names->argv = at;
	if (from->argv_len)
		memcpy(at, from->argv, from->argv_len);
	at[from->argv_len] = '\0';
	return names;
}

static void names_free(const struct top_names *names)
{
	free((void *)(uintptr_t)names);
}

static uint64_t hash_text(const struct top_model *m, const char *text)
{
	return skep_hash(&m->key, text, strlen(text));
}

uint64_t top_mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * 0x9e3779b97f4a7c15u;
	return a ^ a >> 32;
}

static uint64_t hash_key(uint32_t pid, uint64_t start)
{
	return top_mix(start, pid);
}

static void set_hashes(const struct top_model *m, struct top_item *i)
{
	const struct top_names *n = i->names;

	i->hashes[TOP_RUN] = hash_text(m, n->run);
	i->hashes[TOP_TASK] = top_mix(i->hashes[TOP_RUN], hash_text(m, n->task));
	i->hashes[TOP_TOOL] = hash_text(m, n->tool);
	i->hashes[TOP_CONTAINER] = hash_text(m, n->container);
	i->hashes[TOP_USER] = top_mix(m->key.k0, n->uid);
	i->hashes[TOP_PROCESS] = hash_key(i->key.pid, i->key.start_boot_ns); /* all its images are one row */
}

/* ---- items ------------------------------------------------------------------------------- */

static struct top_item **bucket(const struct top_model *m, uint32_t pid, uint64_t start)
{
	return &m->buckets[(hash_key(pid, start) >> 16) & (m->n_buckets - 1)];
}

static void grow(struct top_model *m)
{
	size_t n = m->n_buckets ? m->n_buckets * 2 : FIRST_BUCKETS;
	struct top_item **buckets = calloc(n, sizeof(struct top_item *)), **old = m->buckets;

	if (!buckets)
		return; /* longer chains */
	m->buckets = buckets;
	m->n_buckets = n;
	for (size_t i = 0; i < m->n; i++) {
		struct top_item *item = m->items[i], **at = bucket(m, item->key.pid, item->key.start_boot_ns);

		item->chain = *at;
		*at = item;
	}
	free(old);
}

static struct top_item *find(const struct top_model *m, const struct top_key *key)
{
	struct top_item *i = *bucket(m, key->pid, key->start_boot_ns);

	while (i && (i->key.pid != key->pid || i->key.start_boot_ns != key->start_boot_ns ||
		     i->key.image != key->image))
		i = i->chain;
	return i;
}

static struct top_item *find_live(const struct top_model *m, uint32_t pid, uint64_t start)
{
	struct top_item *i = *bucket(m, pid, start);

	while (i && (i->key.pid != pid || i->key.start_boot_ns != start || !i->alive))
		i = i->chain;
	return i;
}

const struct top_item *top_model_find(const struct top_model *m, uint32_t pid, uint64_t start)
{
	const struct top_item *found = NULL;

	for (const struct top_item *i = *bucket(m, pid, start); i; i = i->chain)
		if (i->key.pid == pid && i->key.start_boot_ns == start && i->key.image != MERGED_IMAGE &&
		    (!found || i->key.image > found->key.image))
			found = i;
	return found;
}

static void accept(const struct top_model *m, struct top_item *i)
{
	i->accepted = !m->accept || m->accept(m->accept_arg, i);
}

static int set_names(const struct top_model *m, struct top_item *i, const struct top_names *names)
{
	static const struct top_names none;
	struct top_names *own = names || !i->names ? names_new(names ? names : &none) : NULL;

	if (!own && (names || !i->names))
		return -ENOMEM;
	if (own) {
		names_free(i->names);
		i->names = own;
	}
	set_hashes(m, i);
	return 0;
}

static int add(struct top_model *m, const struct top_key *key, const struct top_names *names, struct top_item **ret)
{
	struct top_item *i = calloc(1, sizeof(*i)), **at;

	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 1024;
		struct top_item **items = realloc(m->items, room * sizeof(struct top_item *));

		if (items) {
			m->items = items;
			m->room = room;
		}
	}
	if (!i || m->n == m->room) {
		free(i);
		return -ENOMEM;
	}
	i->key = *key;
	if (set_names(m, i, names) < 0) {
		free(i);
		return -ENOMEM;
	}
	if (m->n >= m->n_buckets)
		grow(m);
	at = bucket(m, key->pid, key->start_boot_ns);
	i->chain = *at;
	*at = i;
	i->slot = m->n;
	m->items[m->n++] = i;
	*ret = i;
	return 0;
}

static void unlink_ended(struct top_model *m, struct top_item *i)
{
	if (i->older)
		i->older->newer = i->newer;
	else if (m->oldest == i)
		m->oldest = i->newer;
	else
		return; /* not in the list */
	if (i->newer)
		i->newer->older = i->older;
	else
		m->newest = i->older;
	i->older = i->newer = NULL;
	m->n_ended--;
}

static void drop(struct top_model *m, struct top_item *i)
{
	struct top_item **at = bucket(m, i->key.pid, i->key.start_boot_ns);

	while (*at != i)
		at = &(*at)->chain;
	*at = i->chain;
	unlink_ended(m, i);
	m->items[i->slot] = m->items[--m->n];
	m->items[i->slot]->slot = i->slot;
	names_free(i->names);
	free(i);
}

/* ---- merged ------------------------------------------------------------------------------ */

void top_figures_add(struct top_figures *to, const struct top_figures *f)
{
	to->cpu_ns += f->cpu_ns;
	to->run_delay_ns += f->run_delay_ns;
	to->block_delay_ns += f->block_delay_ns;
	to->rss_bytes += f->rss_bytes;
	if (f->rss_peak_bytes > to->rss_peak_bytes)
		to->rss_peak_bytes = f->rss_peak_bytes;
	to->read_bytes += f->read_bytes;
	to->write_bytes += f->write_bytes;
	to->net_bytes += f->net_bytes;
	to->block_known |= f->block_known;
	to->net_known |= f->net_known;
}

/* The merged item for processes of these names.  NULL: no memory. */
static struct top_item *merged_for(struct top_model *m, const struct top_item *i)
{
	struct top_names names = { .run = i->names->run, .pipeline = i->names->pipeline, .tool = EARLIER,
				   .user = i->names->user, .uid = i->names->uid };
	struct top_key key = { .start_boot_ns = top_mix(i->hashes[TOP_RUN], i->hashes[TOP_USER]),
			       .image = MERGED_IMAGE };
	struct top_item *merged;

	if (m->n_merged < MERGED_MOST) {
		names.task = i->names->task;
		names.tool = i->names->tool;
		names.container = i->names->container;
		key.start_boot_ns = top_mix(top_mix(key.start_boot_ns, i->hashes[TOP_TASK]),
					    top_mix(i->hashes[TOP_TOOL], i->hashes[TOP_CONTAINER]));
	}
	merged = find(m, &key);
	if (!merged && add(m, &key, &names, &merged) == 0) {
		accept(m, merged);
		m->n_merged++;
	}
	return merged;
}

static void merge(struct top_model *m, struct top_item *i, struct top_item *to)
{
	top_figures_add(&to->figures, &i->figures);
	to->passed_ns += i->figures.cpu_ns;
	to->ended += i->ended;
	to->failed += i->failed;
	drop(m, i);
}

static void merge_oldest(struct top_model *m)
{
	struct top_item *to = merged_for(m, m->oldest);

	if (to) /* else keeps it: more memory for now, no wrong sum */
		merge(m, m->oldest, to);
}

void top_model_bound(struct top_model *m, size_t most)
{
	m->ended_most = most;
	while (most && m->n_ended > most) {
		size_t before = m->n_ended;

		merge_oldest(m);
		if (m->n_ended == before)
			break;
	}
}

/* ---- runs -------------------------------------------------------------------------------- */

/* The index of the run, or where it belongs. */
static size_t run_at(const struct top_model *m, const char *id)
{
	size_t from = 0, to = m->n_runs;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (strcmp(m->runs[middle].id, id) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

const struct top_run *top_model_run_of(const struct top_model *m, const char *id)
{
	size_t at = run_at(m, id);

	return at < m->n_runs && strcmp(m->runs[at].id, id) == 0 ? &m->runs[at] : NULL;
}

static void run_clear(struct top_run *r)
{
	free((char *)(uintptr_t)r->id);
	free((char *)(uintptr_t)r->name);
	free((char *)(uintptr_t)r->engine);
}

int top_model_run(struct top_model *m, const struct top_run *run)
{
	struct top_run *known = (struct top_run *)(uintptr_t)top_model_run_of(m, run->id);
	struct top_run own = { strdup(run->id), strdup(run->name ? run->name : ""), strdup(run->engine ? run->engine : ""),
			       run->start_ns, run->ended };

	if (own.id && own.name && own.engine && !known) {
		size_t at = run_at(m, run->id);
		struct top_run *runs = realloc(m->runs, (m->n_runs + 1) * sizeof(*runs));

		if (runs) {
			m->runs = runs;
			known = &runs[at];
			memmove(known + 1, known, (m->n_runs++ - at) * sizeof(*runs));
			*known = (struct top_run){ 0 };
		}
	}
	if (!own.id || !own.name || !own.engine || !known) {
		run_clear(&own);
		return -ENOMEM;
	}
	run_clear(known);
	*known = own;
	return 0;
}

static bool is_old(const struct top_run *run, uint64_t start_ns)
{
	return run && run->ended && run->start_ns <= start_ns;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The start of the middle one of the runs that have ended; 0: none, or no memory. */
static uint64_t middle_start(const struct top_model *m)
{
	uint64_t *starts = malloc((m->n_runs + 1) * sizeof(*starts)), middle;
	size_t n = 0;

	if (!starts)
		return 0;
	for (size_t i = 0; i < m->n_runs; i++)
		if (m->runs[i].ended)
			starts[n++] = m->runs[i].start_ns;
	qsort(starts, n, sizeof(*starts), by_number);
	middle = n ? starts[n / 2] : 0;
	free(starts);
	return middle;
}

/* Adds a merged item to its user's item "(ended earlier)", which has the runs that the model forgot. */
static void merge_run(struct top_model *m, struct top_item *i)
{
	const struct top_names names = { .run = EARLIER, .tool = EARLIER, .user = i->names->user,
					 .uid = i->names->uid };
	const struct top_key key = { .start_boot_ns = top_mix(hash_text(m, EARLIER), i->hashes[TOP_USER]),
				     .image = MERGED_IMAGE };
	struct top_item *to = find(m, &key);

	if (!to && add(m, &key, &names, &to) == 0) {
		accept(m, to);
		m->n_merged++;
	}
	if (!to)
		return;
	merge(m, i, to);
	m->n_merged--;
}

/* Forgets the names of old runs that no item has. */
static void drop_runs(struct top_model *m, uint64_t start_ns)
{
	bool *named = calloc(m->n_runs + 1, sizeof(*named));
	size_t n = 0;

	if (!named)
		return;
	for (size_t i = 0; i < m->n; i++)
		named[run_at(m, m->items[i]->names->run)] = true;
	for (size_t i = 0; i < m->n_runs; i++) {
		if (named[i] || !is_old(&m->runs[i], start_ns))
			m->runs[n++] = m->runs[i];
		else
			run_clear(&m->runs[i]);
	}
	m->n_runs = n;
	free(named);
}

/* A terminal may show the model for weeks: the older half of the runs that have ended become one. */
static void forget_runs(struct top_model *m)
{
	uint64_t start_ns = middle_start(m);

	/* from the end, as merge_run() moves the last item, which this loop has seen */
	for (size_t i = m->n; i-- > 0;)
		if (m->items[i]->key.image == MERGED_IMAGE &&
		    is_old(top_model_run_of(m, m->items[i]->names->run), start_ns))
			merge_run(m, m->items[i]);
	drop_runs(m, start_ns);
	m->forget_at = 2 * (m->n_merged + m->n_runs);
	if (m->forget_at < FORGET_LEAST)
		m->forget_at = FORGET_LEAST;
}

/* ---- reports of a source ----------------------------------------------------------------- */

/* Began the image after the last pass but one?  A scan may miss a process that began shortly before it. */
static bool is_new(const struct top_model *m, const struct top_process *p)
{
	return m->passes > 0 && p->names && p->names->start_ns > (m->before_ns ? m->before_ns : m->sampled_ns);
}

int top_model_live(struct top_model *m, const struct top_process *p)
{
	struct top_item *i = find_live(m, p->key.pid, p->key.start_boot_ns);
	int err = 0;

	if (!i) {
		if (find(m, &p->key))
			return 0; /* a row from before its end */
		err = add(m, &p->key, p->names, &i);
		if (err < 0)
			return err;
		i->alive = p->count ? p->count : 1;
		/* What an older process used before the model knew it does not belong to this interval. */
		i->passed_ns = is_new(m, p) ? 0 : p->figures.cpu_ns;
	} else {
		if (i->key.image != p->key.image) {
			i->key.image = p->key.image;
			i->passed_ns = 0;
		}
		err = set_names(m, i, p->names);
	}
	i->figures = p->figures;
	i->state = p->state;
	accept(m, i);
	return err;
}

static int end(struct top_model *m, const struct top_process *p, struct top_item *i)
{
	int err;

	if (!i) {
		err = add(m, &p->key, p->names, &i);
		if (err == 0 && m->passes == 0)
			i->passed_ns = p->figures.cpu_ns;
	} else {
		i->key.image = p->key.image;
		err = set_names(m, i, p->names);
	}
	if (err < 0)
		return err;
	i->alive = 0;
	i->ended = p->last;
	i->failed = p->failed;
	i->exit_code = p->exit_code;
	i->signal = p->signal;
	i->figures = p->figures;
	i->figures.rss_bytes = 0;
	i->state = '-';
	i->older = m->newest;
	if (m->newest)
		m->newest->newer = i;
	else
		m->oldest = i;
	m->newest = i;
	m->n_ended++;
	accept(m, i);
	if (m->ended_most && m->n_ended > m->ended_most)
		merge_oldest(m);
	return 0;
}

int top_model_ended(struct top_model *m, const struct top_process *p)
{
	struct top_item *live = find_live(m, p->key.pid, p->key.start_boot_ns), *same = find(m, &p->key);
	uint64_t passed = 0;

	if (same && !same->alive)
		return 0; /* reported already */
	if (p->last || live != same)
		return end(m, p, p->last && live ? live : NULL);
	if (!live)
		return end(m, p, NULL);
	/* The process continues with its next image, of which the figures are still to come. */
	passed = live->passed_ns;
	live->key.image++;
	live->passed_ns = 0;
	live->figures = (struct top_figures){ .rss_bytes = live->figures.rss_bytes };
	set_hashes(m, live);
	if (end(m, p, NULL) < 0)
		return -ENOMEM;
	m->newest->passed_ns = passed;
	return 0;
}

int top_model_earlier(struct top_model *m, const struct top_process *p)
{
	int err;

	if (find(m, &p->key))
		return 0;
	err = end(m, p, NULL);
	if (err == 0 && m->newest)
		m->newest->passed_ns = p->figures.cpu_ns;
	return err;
}

void top_model_gone(struct top_model *m, uint32_t pid, uint64_t start)
{
	struct top_item *live = find_live(m, pid, start);

	if (live)
		drop(m, live);
}

void top_model_pass(struct top_model *m, uint64_t sampled_ns)
{
	for (size_t i = 0; i < m->n; i++) {
		struct top_item *item = m->items[i];

		item->recent_ns = item->figures.cpu_ns > item->passed_ns ? item->figures.cpu_ns - item->passed_ns : 0;
		item->passed_ns = item->figures.cpu_ns;
		if (m->accept && item->alive)
			accept(m, item); /* its parent may have been reported after it */
	}
	if (m->passes && sampled_ns > m->sampled_ns)
		m->interval_ns = sampled_ns - m->sampled_ns;
	m->before_ns = m->sampled_ns;
	m->sampled_ns = sampled_ns;
	m->passes++;
	if (m->n_merged + m->n_runs > m->forget_at)
		forget_runs(m);
}

void top_model_interval(struct top_model *m, uint64_t interval_ns)
{
	m->interval_ns = interval_ns;
}

uint64_t top_model_interval_ns(const struct top_model *m)
{
	return m->interval_ns;
}

void top_model_recent(struct top_model *m, const struct top_key *key, uint64_t cpu_ns)
{
	struct top_item *i = find(m, key);

	if (i)
		i->recent_ns = cpu_ns;
}

void top_model_filter(struct top_model *m, top_accept cb, void *arg)
{
	m->accept = cb;
	m->accept_arg = arg;
	for (size_t i = 0; i < m->n; i++)
		accept(m, m->items[i]);
}

/* ---- the model --------------------------------------------------------------------------- */

struct top_model *top_model_new(void)
{
	struct top_model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->buckets = calloc(FIRST_BUCKETS, sizeof(struct top_item *));
	if (!m->buckets) {
		free(m);
		return NULL;
	}
	m->n_buckets = FIRST_BUCKETS;
	m->key = skep_hash_key_new();
	m->forget_at = FORGET_LEAST;
	return m;
}

void top_model_clear(struct top_model *m)
{
	while (m->n)
		drop(m, m->items[m->n - 1]);
	for (size_t i = 0; i < m->n_runs; i++)
		run_clear(&m->runs[i]);
	m->n_runs = m->n_merged = m->ended_most = 0;
	m->forget_at = FORGET_LEAST;
	m->passes = 0;
	m->sampled_ns = m->before_ns = m->interval_ns = 0;
}

struct top_model *top_model_free(struct top_model *m)
{
	if (!m)
		return NULL;
	top_model_clear(m);
	free(m->runs);
	free(m->items);
	free(m->buckets);
	free(m);
	return NULL;
}
