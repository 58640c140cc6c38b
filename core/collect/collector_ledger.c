/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_ledger.c - the ledger's intervals.  The collector ends an interval when a sweep has ended,
 * because then the probes' posts and the process table's sum are of one time.
 */
#include <string.h>

#include "core/collect/collector_priv.h"
#include "core/base/log.h"

struct lines {
	struct collector *c;
	struct skep_context context;
	struct skep_str run;
	uint64_t start_ns, end_ns;
};

static void line_out(void *arg, const struct ledger_line *line)
{
	struct lines *l = arg;
	struct record_ledger rec = {
		.run = l->run,
		.account = text_str(line->account),
		.item = text_str(line->item),
		.kind = text_str(ledger_kind_name(line->kind)),
		.start_ns = l->start_ns,
		.interval_ns = l->end_ns - l->start_ns,
		.amount = line->amount,
	};

	delivery_emit(l->c->delivery, l->c->stream_ledger, NULL, l->end_ns, &rec, l->run.len ? &l->context : NULL);
}

static void lines_out(struct collector *c, const struct run *run, const struct ledger_mark *from,
		      const struct ledger_mark *to)
{
	struct lines l = { .c = c, .start_ns = ledger_mark_time(from), .end_ns = ledger_mark_time(to) };

	if (run) {
		run_context(run, &l.context);
		l.run = l.context.run;
	}
	ledger_between(from, to, line_out, &l);
}

/*
 * Posts the CPU time of excluded processes: the probe's sum, corrected for processes whose exclusion has changed
 * (core/process/track_verdict.c).
 */
static void post_excluded(struct collector *c)
{
	struct skep_ledger_post post = {
		.account = text_str("cpu"),
		.item = text_str("excluded"),
		.amount = c->excluded_ns + track_reevaluated_ns(c->track),
	};

	if (c->excluded_known)
		ledger_post(c->ledger, &post);
}

static bool is(const struct skep_str *s, const char *word)
{
	return s->len == strlen(word) && memcmp(s->ptr, word, s->len) == 0;
}

void collector_ledger_post(struct collector *c, const struct skep_instance *inst, const struct skep_ledger_post *said)
{
	struct skep_ledger_post post = *said;

	/* The sums of a probe that a reload has restarted begin from 0; the ledger's levels go on. */
	post.amount = ledger_level(c->ledger, ((const struct instance_data *)inst->extra)->serial, said);
	if (!is(&post.account, "cpu") || !is(&post.item, "excluded")) {
		ledger_post(c->ledger, &post);
		return;
	}
	c->excluded_ns = post.amount;
	c->excluded_known = true;
	post_excluded(c);
}

void collector_ledger_cut(struct collector *c)
{
	struct skep_ledger_post processes = { .account = text_str("cpu"),
					      .item = text_str("processes"),
					      .amount = track_cpu_ns(c->track) };
	struct ledger_mark *mark;

	/* Before the first complete sweep the table does not know older processes. */
	if (track_swept_ns(c->track) == 0)
		return;
	ledger_post(c->ledger, &processes);
	post_excluded(c);
	mark = ledger_mark(c->ledger, clock_boot_ns());
	if (!mark) {
		log_warning("no memory for the ledger of this interval; the next one covers both");
		return;
	}
	if (!c->ledger_last) {
		c->ledger_first = ledger_mark(c->ledger, ledger_mark_time(mark));
	} else {
		ledger_mark_free(c->ledger_before);
		c->ledger_before = c->ledger_last;
		lines_out(c, NULL, c->ledger_before, mark);
	}
	c->ledger_last = mark;
	/* The ledger of a run that began since the last cut begins here. */
	for (struct run *run = track_runs(c->track)->first; run; run = run->next)
		if (!run->books && !run->ended)
			run->books = ledger_mark(c->ledger, ledger_mark_time(mark));
}

void collector_run_ledger_out(struct collector *c, const struct run *run)
{
	if (run->books && c->ledger_last && ledger_mark_time(c->ledger_last) > ledger_mark_time(run->books))
		lines_out(c, run, run->books, c->ledger_last);
}

void collector_ledger(const struct collector *c, bool whole, void (*cb)(void *arg, const struct ledger_line *),
		      void *arg, uint64_t *ret_interval_ns)
{
	const struct ledger_mark *from = whole ? c->ledger_first : c->ledger_before;

	*ret_interval_ns = 0;
	if (!from || !c->ledger_last || ledger_mark_time(c->ledger_last) <= ledger_mark_time(from))
		return;
	*ret_interval_ns = ledger_mark_time(c->ledger_last) - ledger_mark_time(from);
	ledger_between(from, c->ledger_last, cb, arg);
}
