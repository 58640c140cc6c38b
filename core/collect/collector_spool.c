/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_spool.c - connects the collector with its spool.  Each commit stores the records together with
 * their source: how far each probe has read, and the state of every live process at that moment.  A killed skepd leaves
 * one consistent state: the kernel still has the later events, and the next skepd reads them again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/magic.h"
#include "core/process/saved.h"
#include "core/collect/collector_priv.h"
#include "core/base/log.h"
#include "core/delivery/spooler.h"

#define VALUE_SAMPLES "samples" /* the sampled counters (saved_samples) */
#define VALUE_FACETS "facets"   /* saved_facets */

/* A probe's mark, as the spool stores it. */
struct stored_mark {
	uint64_t source, position;
	unsigned char extra[];
};

static int mark_name(const struct skep_instance *inst, char *ret, size_t size)
{
	int n = snprintf(ret, size, "mark:%s", inst->name);

	return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

/* ---- with each commit --------------------------------------------------------------- */

static void add_mark(struct collector *c, struct delivery_commit *commit, struct skep_instance *inst)
{
	struct marked *m;
	struct stored_mark *stored;
	struct skep_mark mark;
	char name[96];

	if (!instance_mark(inst, &mark) || mark_name(inst, name, sizeof(name)) < 0)
		return;
	m = calloc(1, sizeof(*m));
	stored = malloc(sizeof(*stored) + mark.extra_size);
	if (!m || !stored) {
		free(m);
		free(stored);
		track_unsaved(c->track, 1); /* the next commit will have it */
		return;
	}
	stored->source = mark.source;
	stored->position = mark.position;
	if (mark.extra_size)
		memcpy(stored->extra, mark.extra, mark.extra_size);
	delivery_commit_value(commit, name, stored, sizeof(*stored) + mark.extra_size);
	free(stored);
	*m = (struct marked) { c->marked, delivery_commit_number(commit), ((struct instance_data *)inst->extra)->serial,
			       mark };
	c->marked = m;
}

/*
 * Most processes live for less than a commit's second.  A process whose record leaves before the commit needs no line
 * in the saved state, and no removal of that line in the next commit.
 */
static void prepare(void *arg)
{
	struct collector *c = MAGIC_OBJECT(collector, arg);

	if (c->running)
		collector_drain(c);
}

static void collect(void *arg, struct delivery_commit *commit)
{
	struct collector *c = MAGIC_OBJECT(collector, arg);
	struct saved_chunk chunk;
	size_t size;
	void *samples;

	if (!c->track || !track_keeps(c->track))
		return; /* not started yet: the previous skepd's state stays valid */
	c->samples_due |= c->whole_due;
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		add_mark(c, commit, inst);
	saved_chunk(c->track, c->boot_id, c->whole_due, c->samples_due, &chunk);
	c->whole_due = false;
	if (chunk.size)
		delivery_commit_chunk(commit, chunk.bytes, chunk.size, chunk.whole);
	if (!c->samples_due)
		return;
	if (saved_samples(c->track, &samples, &size) < 0) {
		track_unsaved(c->track, 1); /* the next commit tries again */
		return;
	}
	delivery_commit_value(commit, VALUE_SAMPLES, samples, size);
	free(samples);
	if (saved_facets(c->track, &samples, &size) < 0) {
		track_unsaved(c->track, 1);
		return;
	}
	c->samples_due = false;
	delivery_commit_value(commit, VALUE_FACETS, samples, size);
	free(samples);
}

static void committed(void *arg, uint64_t number, bool durable)
{
	struct collector *c = MAGIC_OBJECT(collector, arg);
	struct marked **at = &c->marked;
	struct delivery_spool_state state;

	delivery_spool_state(c->delivery, &state);
	if (c->track)
		saved_stored(c->track, durable);
	/* a replaced file has only the changes since, so the next commit stores everything */
	if (state.replaced != c->spool_replaced)
		c->whole_due = true;
	c->spool_replaced = state.replaced;
	while (*at) {
		struct marked *m = *at;

		if (m->number > number) {
			at = &m->next;
			continue;
		}
		/*
		 * Also if the disk refused the commit: the sinks get its records from memory.  A source that waited for
		 * a disk would fill up and lose new records for every sink.
		 */
		for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
			if (((struct instance_data *)inst->extra)->serial == m->serial)
				instance_settled(inst, &m->mark);
		*at = m->next;
		free(m);
	}
}

/* ---- state of the previous skepd ---------------------------------------------------- */

static int keep_chunk(void *arg, const void *body, size_t size)
{
	struct collector *c = arg;
	struct left_chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk)
		return -ENOMEM;
	chunk->next = NULL;
	chunk->size = size;
	memcpy(chunk->body, body, size);
	*(c->left.chunks ? &c->left.last->next : &c->left.chunks) = chunk;
	c->left.last = chunk;
	return 0;
}

static void drop_chunks(struct collector *c)
{
	while (c->left.chunks) {
		struct left_chunk *next = c->left.chunks->next;

		free(c->left.chunks);
		c->left.chunks = next;
	}
}

/* The saved state is restored, or nothing comes of it: 20 MB with 20,000 live processes. */
static void drop_left(struct collector *c)
{
	drop_chunks(c);
	spool_code_free(c->left.code);
	free(c->left.samples);
	free(c->left.facets);
	c->left.code = NULL;
	c->left.samples = c->left.facets = NULL;
}

/* Says that the state cannot be read, and drops it. */
static void unreadable(struct collector *c, const char *why)
{
	c->left.unread++;
	log_warning("%s: cannot read the saved state: %s; starting fresh, so live processes and runs begin anew",
		    c->options.spool->path, why);
	drop_chunks(c);
}

static bool of_this_boot(struct collector *c, struct spool_code *code, const struct left_chunk *first)
{
	const void *bytes;
	size_t size;
	char why[128];
	int err = spool_unpack(code, first->body, first->size, &bytes, &size, why, sizeof(why));

	if (err < 0)
		unreadable(c, err == -ENOMEM ? strerror(ENOMEM) : why);
	return err == 0 && saved_of_boot(bytes, size, c->boot_id);
}

static void read_value(struct collector *c, struct spool_db *db, const char *name, void **ret, size_t *ret_size)
{
	if (spool_state_get(db, name, ret, ret_size) == 0)
		return;
	*ret = NULL;
	c->left.unread++;
	log_warning("%s: cannot read the saved %s: %s; samples of the last interval are missing", c->options.spool->path,
		    name, spool_why(db));
}

/* The chunks stay packed until the probes have said which facets there are. */
static void read_left(struct collector *c, struct spool_db *db)
{
	int err = spool_chunks(db, keep_chunk, c);

	c->left.code = c->left.chunks ? spool_code_new() : NULL;
	if (err < 0 || (c->left.chunks && !c->left.code)) {
		unreadable(c, err < 0 && err != -ENOMEM ? spool_why(db) : strerror(ENOMEM));
		return;
	}
	/* No process of another boot lives. */
	if (c->left.chunks && !of_this_boot(c, c->left.code, c->left.chunks))
		drop_chunks(c);
	if (!c->left.chunks)
		return;
	read_value(c, db, VALUE_SAMPLES, &c->left.samples, &c->left.samples_size);
	read_value(c, db, VALUE_FACETS, &c->left.facets, &c->left.facets_size);
}

bool collector_spool_restore(struct collector *c)
{
	char why[128] = "";
	int err = 0;

	if (!delivery_spooled(c->delivery))
		return false;
	while (c->left.chunks && err == 0) {
		struct left_chunk *chunk = c->left.chunks;
		const void *bytes;
		size_t size;

		err = spool_unpack(c->left.code, chunk->body, chunk->size, &bytes, &size, why, sizeof(why));
		err = err < 0 ? err : saved_read(c->track, bytes, size, why, sizeof(why));
		c->left.chunks = chunk->next;
		free(chunk);
	}
	err = err < 0 ? err : saved_read_end(c->track);
	if (err < 0)
		unreadable(c, err == -ENOMEM ? strerror(ENOMEM) : why);
	/* A probe that went on behind the saved events would report to a tracker that knows nothing of earlier ones. */
	for (struct skep_instance *inst = c->instances; inst && err < 0; inst = inst->next)
		inst->last_mark = (struct skep_mark){ 0 };
	track_unrestored(c->track, c->left.unread);
	if (saved_waits(c->track) && c->left.samples)
		saved_sampled(c->track, c->left.samples, c->left.samples_size);
	if (saved_waits(c->track) && c->left.facets)
		saved_facets_read(c->track, c->left.facets, c->left.facets_size);
	drop_left(c);
	return saved_waits(c->track);
}

void collector_spool_mark(struct collector *c, struct skep_instance *inst)
{
	inst->host.settles = delivery_spooled(c->delivery);
	inst->host.mark = inst->last_mark;
	inst->last_mark = (struct skep_mark){ 0 };
}

static void read_mark(struct spool_db *db, struct skep_instance *inst)
{
	const struct stored_mark *stored;
	char name[96];
	size_t size;
	void *value;

	if (mark_name(inst, name, sizeof(name)) < 0 || spool_state_get(db, name, &value, &size) < 0 || !value)
		return;
	if (size < sizeof(*stored)) {
		free(value);
		return;
	}
	stored = value;
	inst->mark_extra = value;
	inst->last_mark = (struct skep_mark) { .source = stored->source,
					       .position = stored->position,
					       .extra = stored->extra,
					       .extra_size = (uint32_t)(size - sizeof(*stored)) };
}

/* ---- opened ---------------------------------------------------------------------------- */

int collector_spool_open(struct collector *c)
{
	const struct config_spool *config = c->options.spool;
	struct delivery_spool_env env = { .prepare = prepare, .collect = collect, .committed = committed, .arg = c };
	struct spool_limits limits;
	struct spooler *spooler;
	char why[256];
	int err;

	if (!config || !config->path)
		return 0;
	limits = (struct spool_limits) { .max_bytes = config->max_bytes,
					 .reserve_bytes = config->reserve_bytes,
					 .sync_ns = config->sync_ns };
	env.max_age_ns = config->max_age_ns;
	err = spooler_new(c->loop, config->path, &limits, &spooler, why, sizeof(why));
	if (err < 0) {
		/* skepd collects also without a spool. */
		log_error("spool %s: %s; until a restart, skepd keeps batches on their way to sinks in memory only",
			  config->path, why);
		snprintf(c->left.why, sizeof(c->left.why), "%s", why);
		return err == -ENOMEM ? err : 0;
	}
	read_left(c, spooler_db(spooler));
	for (struct skep_instance *inst = c->instances; inst && c->left.chunks; inst = inst->next)
		read_mark(spooler_db(spooler), inst);
	err = delivery_spool(c->delivery, spooler, &env);
	if (err < 0)
		spooler_close(spooler, NULL, NULL);
	return err;
}

void collector_spool(const struct collector *c, struct collector_spool *ret)
{
	*ret = (struct collector_spool) { .path = c->options.spool ? c->options.spool->path : NULL,
					  .open = delivery_spooled(c->delivery) };
	delivery_spool_state(c->delivery, &ret->state);
	if (ret->path && !ret->open)
		snprintf(ret->state.why, sizeof(ret->state.why), "%s", c->left.why);
}

void collector_spool_free(struct collector *c)
{
	drop_left(c);
	while (c->marked) {
		struct marked *next = c->marked->next;

		free(c->marked);
		c->marked = next;
	}
}
