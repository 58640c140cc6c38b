/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_detail.c - adds up the records of each detail as `skep attach` does.
 */
#include "cli/run/run_detail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/paint.h"
#include "cli/base/text.h"
#include "cli/live/series.h"
#include "core/base/clock.h"
#include "core/control/control_record.h"

struct run_detail {
	struct run_detail *next;
	const char *name;
	json_t *stream; /* NULL: no record yet */
	json_int_t id;  /* skepd's id of the attachment */
	struct series_set *set;
	bool no_memory;
};

int run_detail_add(struct run_detail **list, const char *name)
{
	struct run_detail *d = calloc(1, sizeof(*d)), **end = list;

	if (!d)
		return -ENOMEM;
	d->name = name;
	while (*end)
		end = &(*end)->next;
	*end = d;
	return 0;
}

static void on_record(void *arg, uint64_t id, const struct skep_record *r)
{
	struct run_detail *d = arg;
	json_t *record;

	(void)id;
	if (!d->set) {
		d->stream = control_stream(r->stream);
		d->set = d->stream ? series_new(d->stream) : NULL;
	}
	/* Sums need no boot id. */
	record = d->set ? control_record(r, "", clock_realtime_offset_ns()) : NULL;
	if (!record || series_add(d->set, record) < 0)
		d->no_memory = true;
	json_decref(record);
}

int run_detail_attach(struct run_detail *list, struct collector *c, const char *run_id, char **ret_why)
{
	for (struct run_detail *d = list; d; d = d->next) {
		struct detail_spec spec = {
			.detail = d->name, .scope = SKEP_SCOPE_GROUP, .run = run_id, .on_record = on_record, .arg = d,
		};
		uint64_t id;
		char *why = NULL;
		int err = collector_attach(c, &spec, &id, &why);

		if (err == 0)
			continue;
		*ret_why = text_format("--detail %s: %s", d->name, why ? why : strerror(-err));
		free(why);
		return err;
	}
	return 0;
}

static struct run_detail *nth(struct run_detail *d, size_t n)
{
	while (d && n-- > 0)
		d = d->next;
	return d;
}

const char *run_detail_name(struct run_detail *list, size_t n)
{
	return nth(list, n)->name;
}

json_t *run_detail_request(struct run_detail *list, size_t n, const char *run_id)
{
	const struct run_detail *d = nth(list, n);

	return d ? json_pack("{s:s, s:s, s:s, s:s, s:i}", "request", "attach", "detail", d->name, "scope", "run", "run",
			     run_id, "for_ns", 0)
		 : NULL;
}

void run_detail_answer(struct run_detail *list, size_t n, json_t *answer)
{
	struct run_detail *d = nth(list, n);

	d->id = json_integer_value(json_object_get(answer, "id"));
	if (!d->stream)
		d->stream = json_incref(json_object_get(answer, "stream"));
}

void run_detail_record(struct run_detail *list, json_t *record)
{
	json_int_t id = json_integer_value(json_object_get(record, "id"));

	for (struct run_detail *d = list; d; d = d->next) {
		if (d->id != id)
			continue;
		if (!d->set && d->stream)
			d->set = series_new(d->stream);
		if (!d->set || series_add(d->set, record) < 0)
			d->no_memory = true;
	}
}

int run_detail_print(const struct run_detail *list, FILE *out)
{
	struct paint p;

	paint_init(&p, out, NULL);
	for (const struct run_detail *d = list; d; d = d->next) {
		int err;

		paint_title(&p, d->name, "");
		if (d->no_memory)
			return -ENOMEM;
		if (!d->set) {
			fputs("  It measured nothing.\n", out);
			continue;
		}
		err = series_print(d->set, &p);
		if (err < 0)
			return err;
	}
	return 0;
}

struct run_detail *run_detail_free(struct run_detail *list)
{
	while (list) {
		struct run_detail *next = list->next;

		series_free(list->set);
		json_decref(list->stream);
		free(list);
		list = next;
	}
	return NULL;
}
