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

#define VALUE_RUNS "runs"       /* core/process/saved.h: the first line, and the runs */
#define VALUE_ATTEMPTS "attempts" /* how often each task began (saved_attempts) */
#define VALUE_SAMPLES "samples" /* the sampled counters (saved_samples) */
#define VALUE_FINDINGS "findings" /* saved_findings */
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

static void add_line(void *arg, const struct skep_upid *upid, char *text)
{
	delivery_commit_line(arg, upid, text);
}

static void add_runs(struct collector *c, struct delivery_commit *commit)
{
	size_t size = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &size);
	int err = file ? saved_head(c->track, file, c->boot_id) : -ENOMEM;

	if (file && fclose(file) != 0)
		err = -EIO;
	if (err == 0)
		delivery_commit_value(commit, VALUE_RUNS, text, size);
	else
		track_unsaved(c->track, track_runs(c->track)->n + 1);
	free(text);
}

/*
 * Saves how often each task was tried.  In runs with many tasks these counts are much larger than the runs' lines: then
 * only commits with samples save them, and a killed skepd loses the counts since the last such commit.
 */
static void add_attempts(struct collector *c, struct delivery_commit *commit, bool all)
{
	size_t size = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &size);
	bool any = false;
	int err = file ? saved_attempts(c->track, file, all, !c->samples_due, &any) : -ENOMEM;

	if (file && fclose(file) != 0)
		err = -EIO;
	if (err < 0)
		track_unsaved(c->track, 1);
	else if (any)
		delivery_commit_value(commit, VALUE_ATTEMPTS, text, size);
	free(text);
}

/* With the record of a finding, its state: neither is stored without the other. */
static void add_findings(struct collector *c, struct delivery_commit *commit, bool all)
{
	char *text;
	int err = saved_findings(c->track, all || c->samples_due, &text);

	if (err < 0)
		track_unsaved(c->track, 1);
	else if (text)
		delivery_commit_value(commit, VALUE_FINDINGS, text, strlen(text));
	if (err == 0)
		free(text);
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
	bool whole = c->whole_due;
	size_t size;
	void *samples;

	if (!c->track || !track_keeps(c->track))
		return; /* not started yet: the previous skepd's state stays valid */
	if (c->whole_due) {
		c->whole_due = false;
		c->samples_due = true;
		delivery_commit_clear(commit);
		track_keep(c->track, true);
	}
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		add_mark(c, commit, inst);
	saved_changed(c->track, add_line, commit);
	add_runs(c, commit);
	add_attempts(c, commit, whole);
	add_findings(c, commit, whole);
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
	/* a replaced file has only the changes since, so the next commit stores everything */
	if (!durable || state.replaced != c->spool_replaced)
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

static int line_out(void *arg, const char *line)
{
	return fprintf(arg, "%s\n", line) < 0 ? -ENOMEM : 0;
}

static void read_left(struct collector *c, struct spool_db *db)
{
	size_t size;
	void *runs, *attempts = NULL;
	FILE *file;
	int err = spool_state_get(db, VALUE_RUNS, &runs, &size);

	if (err < 0) {
		c->left.unread++;
		log_warning("%s: cannot read the saved state: %s; starting fresh, so live processes and runs begin anew",
			    c->options.spool->path, spool_why(db));
	}
	/* The first line names the boot.  No process of another boot lives. */
	if (err < 0 || !runs || !strstr(runs, c->boot_id)) {
		free(runs);
		return;
	}
	file = open_memstream(&c->left.lines, &c->left.lines_size);
	if (file) {
		fwrite(runs, 1, size, file);
		err = spool_state_get(db, VALUE_ATTEMPTS, &attempts, &size);
		if (err == 0 && attempts)
			fwrite(attempts, 1, size, file);
		free(attempts);
		if (err == 0)
			err = spool_processes(db, line_out, file);
		if (fclose(file) != 0 && err == 0)
			err = -ENOMEM;
	}
	free(runs);
	if (!file || err < 0) {
		c->left.unread++;
		log_warning("%s: cannot read the saved state: %s; starting fresh, so live processes and runs begin anew",
			    c->options.spool->path, !file || err == -ENOMEM ? strerror(ENOMEM) : spool_why(db));
		free(c->left.lines);
		c->left.lines = NULL;
	}
	if (c->left.lines && spool_state_get(db, VALUE_SAMPLES, &c->left.samples, &c->left.samples_size) < 0) {
		c->left.samples = NULL;
		c->left.unread++;
		log_warning(
			"%s: cannot read the saved samples: %s; the next sample of each process covers its whole life",
			c->options.spool->path, spool_why(db));
	}
	if (c->left.lines && spool_state_get(db, VALUE_FINDINGS, &c->left.findings, &c->left.findings_size) < 0) {
		c->left.findings = NULL;
		c->left.unread++;
		log_warning("%s: cannot read the saved findings: %s; skepd reports open findings again",
			    c->options.spool->path, spool_why(db));
	}
	if (c->left.lines && spool_state_get(db, VALUE_FACETS, &c->left.facets, &c->left.facets_size) < 0) {
		c->left.facets = NULL;
		c->left.unread++;
		log_warning("%s: cannot read the saved facets: %s; samples of the last interval are missing",
			    c->options.spool->path, spool_why(db));
	}
}

bool collector_spool_restore(struct collector *c)
{
	FILE *file;
	int err;

	if (!delivery_spooled(c->delivery))
		return false;
	track_unrestored(c->track, c->left.unread);
	file = c->left.lines ? fmemopen(c->left.lines, c->left.lines_size, "r") : NULL;
	err = file ? saved_read(c->track, file, c->options.spool->path, c->boot_id) : 0;
	if (file)
		fclose(file);
	if (err < 0) {
		track_unrestored(c->track, 1);
		log_warning("%s: %s; starting fresh, so live processes and runs begin "
			"anew", c->options.spool->path, strerror(-err));
	}
	if (saved_waits(c->track) && c->left.samples)
		saved_sampled(c->track, c->left.samples, c->left.samples_size);
	if (saved_waits(c->track) && c->left.facets)
		saved_facets_read(c->track, c->left.facets, c->left.facets_size);
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
	for (struct skep_instance *inst = c->instances; inst && c->left.lines; inst = inst->next)
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
	free(c->left.lines);
	free(c->left.samples);
	free(c->left.facets);
	free(c->left.findings);
	while (c->marked) {
		struct marked *next = c->marked->next;

		free(c->marked);
		c->marked = next;
	}
}
