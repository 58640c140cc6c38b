/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/reloader.c - runs the daemon's reloads, one after the other.
 */
#include "core/base/magic.h"
#include "core/control/reloader_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"

static void outcome_clear(struct reload_outcome *o)
{
	diag_clear(&o->diag);
	reload_report_clear(&o->report);
	free(o->by);
	*o = (struct reload_outcome){ 0 };
}

int reloader_new(struct collector *collector, const struct config *config, struct reloader **ret)
{
	struct reloader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->magic = MAGIC_reloader;
	r->collector = collector;
	r->file = strdup(config->file);
	if (!r->file) {
		free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

struct reloader *reloader_free(struct reloader *r)
{
	if (!r)
		return NULL;
	outcome_clear(&r->last);
	outcome_clear(&r->now);
	config_free(r->next);
	config_free(r->ours);
	free(r->file);
	r->magic = 0;
	free(r);
	return NULL;
}

void reloader_watch(struct reloader *r, reloader_watcher watcher, void *arg)
{
	r->watcher = watcher;
	r->watcher_arg = arg;
}

/* ---- outcome ----------------------------------------------------------------------- */

static void log_entries(const struct diag *diag)
{
	for (size_t i = 0; i < diag->n; i++) {
		const struct diag_entry *e = &diag->entries[i];
		int level = e->severity == DIAG_ERROR ? SKEP_LOG_ERROR : SKEP_LOG_WARNING;

		if (e->file && e->line > 0 && e->column > 0)
			log_at(level, NULL, "%s:%d:%d: %s", e->file, e->line, e->column, e->text);
		else if (e->file && e->line > 0)
			log_at(level, NULL, "%s:%d: %s", e->file, e->line, e->text);
		else if (e->file)
			log_at(level, NULL, "%s: %s", e->file, e->text);
		else
			log_at(level, NULL, "%s", e->text);
	}
}

static void log_outcome(const struct reloader *r, const struct reload_outcome *o)
{
	char *line = reload_report_line(&o->report);

	log_entries(&o->diag);
	if (o->err < 0)
		log_error("%s: %s rejected: %zu %s; the running configuration stays in use", o->by ? o->by : "reload",
			  r->file, o->diag.n_errors, o->diag.n_errors == 1 ? "error" : "errors");
	else
		log_notice("%s: %s loaded in %.1f ms: %s", o->by ? o->by : "reload", r->file,
			   (double)o->report.took_ns / 1e6, line ? line : "");
	free(line);
}

/* Ends the reload whose result is in r->now. */
static void over(struct reloader *r)
{
	reloader_done done = r->done;
	void *arg = r->arg;

	r->now.time_ns = clock_boot_ns();
	if (!r->now.check) {
		if (r->now.err < 0)
			r->n_failed++;
		else
			r->n_ok++;
		log_outcome(r, &r->now);
		if (r->watcher)
			r->watcher(r->watcher_arg, &r->now);
	}
	r->busy = false;
	if (done)
		done(arg, &r->now);
	if (r->now.check) {
		outcome_clear(&r->now);
	} else {
		outcome_clear(&r->last);
		r->last = r->now;
		r->any = true;
		r->now = (struct reload_outcome){ 0 };
	}
	if (r->again && !r->busy) {
		r->again = false;
		reloader_hup(r);
	}
}

static void on_done(void *arg, int err, struct diag *diag, struct reload_report *report)
{
	struct reloader *r = MAGIC_OBJECT(reloader, arg);

	r->now.err = err;
	/* r->now.diag already has the messages from reading the file. */
	for (size_t i = 0; i < diag->n; i++) {
		const struct diag_entry *e = &diag->entries[i];

		diag_add(&r->now.diag, e->severity, e->file, e->line, e->column, "%s", e->text);
		if (e->shown)
			diag_show(&r->now.diag, strdup(e->shown));
	}
	r->now.report = *report;
	*report = (struct reload_report){ 0 };
	if (err == 0 && !r->now.check) {
		config_free(r->ours);
		r->ours = r->next;
	} else {
		config_free(r->next);
	}
	r->next = NULL;
	over(r);
}

/* ---- begun --------------------------------------------------------------------------- */

int reloader_begin(struct reloader *r, const char *by, bool check, reloader_done done, void *arg)
{
	int err;

	if (r->busy)
		return -EBUSY;
	r->now = (struct reload_outcome){ .check = check, .by = strdup(by) };
	diag_init(&r->now.diag);
	r->next = config_load_trusted(r->file, &r->now.diag);
	r->done = done;
	r->arg = arg;
	err = collector_reload(r->collector, r->next, check, on_done, r);
	if (err < 0) {
		r->next = config_free(r->next);
		outcome_clear(&r->now);
		return err;
	}
	r->busy = true;
	if (!check && r->watcher)
		r->watcher(r->watcher_arg, NULL);
	return 0;
}

void reloader_hup(struct reloader *r)
{
	int err = reloader_begin(r, "SIGHUP", false, NULL, NULL);

	if (err == -EBUSY) {
		r->again = true;
		log_info("SIGHUP: a reload is under way; skepd reloads once more after it");
	} else if (err < 0) {
		log_warning("SIGHUP: no reload now: %s",
			    err == -ESHUTDOWN ? "skepd is starting or stopping" : strerror(-err));
	}
}
