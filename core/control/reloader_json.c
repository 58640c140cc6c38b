/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/reloader_json.c - the results of reloads as JSON, for the control socket.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/control/control_record.h"
#include "core/control/reloader_priv.h"

static json_t *text(const char *s)
{
	return s ? control_json_string(s) : json_null();
}

static json_t *position(int n)
{
	return n > 0 ? json_integer(n) : json_null();
}

/* Errors or warnings, as skepd -t prints them. An unknown file, line or column is null. */
static json_t *entries(const struct diag *diag, enum diag_severity severity)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < diag->n; i++) {
		const struct diag_entry *e = &diag->entries[i];

		if (e->severity == severity &&
		    json_array_append_new(array, json_pack("{s:o, s:o, s:o, s:o, s:o}", "file", text(e->file), "line",
							   position(e->line), "column", position(e->column), "text",
							   text(e->text), "shown", text(e->shown))) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *changes(const struct reload_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < report->n; i++) {
		const struct reload_change *change = &report->changes[i];

		if (json_array_append_new(array, json_pack("{s:s, s:s, s:o, s:o}", "change",
							   reload_how_name(change->how), "kind", change->kind, "name",
							   text(change->name), "words", text(change->words))) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

int reload_outcome_json(const struct reload_outcome *o, json_t *object)
{
	struct reload_report none = { 0 };
	const struct reload_report *report = o->err < 0 ? &none : &o->report; /* a failed reload changed nothing */

	if (json_object_set_new(object, "check", json_boolean(o->check)) < 0 ||
	    json_object_set_new(object, "errors", entries(&o->diag, DIAG_ERROR)) < 0 ||
	    json_object_set_new(object, "warnings", entries(&o->diag, DIAG_WARNING)) < 0 ||
	    json_object_set_new(object, "changes", changes(report)) < 0 ||
	    json_object_set_new(object, "unchanged", json_integer((json_int_t)report->unchanged)) < 0 ||
	    json_object_set_new(object, "took_ns", control_json_number(o->report.took_ns)) < 0)
		return -1;
	return 0;
}

json_t *reloader_json(const struct reloader *r)
{
	json_t *o = json_pack("{s:o, s:o, s:b}", "ok", control_json_number(r->n_ok), "failed",
			      control_json_number(r->n_failed), "busy", (int)r->busy);
	json_t *last = r->any ? json_pack("{s:b, s:o, s:o}", "ok", r->last.err == 0, "time",
					  control_json_time(r->last.time_ns, clock_realtime_offset_ns()), "by",
					  text(r->last.by))
			      : json_null();

	if (r->any && last && reload_outcome_json(&r->last, last) < 0) {
		json_decref(last);
		last = NULL;
	}
	if (!o || json_object_set_new(o, "last", last) < 0) {
		json_decref(o);
		return NULL;
	}
	return o;
}
