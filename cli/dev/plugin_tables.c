/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/plugin_tables.c - checks a plugin's tables of options and streams for errors that the loader accepts: names
 * and units that receivers do not expect, and contradictions.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/dev/plugin_check.h"
#include "cli/dev/ucum.h"
#include "core/config/option_table.h"
#include "core/plugin/plugin.h"

/* "system.memory.usage", "http.request_count", "system.cpu.load_average.1m": OpenTelemetry's form. */
static bool name_ok(const char *name, const char *between)
{
	bool begins = true;

	if (!(*name >= 'a' && *name <= 'z'))
		return false;
	for (; *name; name++) {
		if ((*name >= 'a' && *name <= 'z') || (*name >= '0' && *name <= '9'))
			begins = false;
		else if (!begins && *name == '_')
			continue;
		else if (!begins && strchr(between, *name))
			begins = true;
		else
			return false;
	}
	return !begins;
}

static void check_option(struct findings *f, const struct skep_plugin *desc, const struct config_key *o)
{
	const uint32_t known = SKEP_OPT_RELOADABLE | SKEP_OPT_SECRET | SKEP_OPT_REQUIRED;

	if (!name_ok(o->name, ""))
		findings_add(f, FINDING_WARNING, "options", "\"%s\": names are of small letters, digits and _",
			     o->name);
	if (!*o->help)
		findings_add(f, FINDING_WARNING, "options", "\"%s\": no help text", o->name);
	if ((o->flags & SKEP_OPT_REQUIRED) && o->default_value)
		findings_add(f, FINDING_WARNING, "options", "\"%s\": required, and yet it has a default", o->name);
	if (o->flags & ~known)
		findings_add(f, FINDING_ERROR, "options", "\"%s\": flags 0x%x are not known", o->name,
			     o->flags & ~known);
	if (o->min > o->max)
		findings_add(f, FINDING_ERROR, "options",
			     "\"%s\": its least value is above its greatest, so nothing is bounded", o->name);
	if ((o->flags & SKEP_OPT_RELOADABLE) && !desc->reload)
		findings_add(f, FINDING_ERROR, "options",
			     "\"%s\" is RELOADABLE, but reload() is not set: it will need a restart", o->name);
	if ((o->flags & SKEP_OPT_SECRET) && o->default_value)
		findings_add(f, FINDING_ERROR, "options", "\"%s\": a secret has no default", o->name);
}

static void check_options(struct findings *f, const struct skep_plugin *desc)
{
	struct config_key o, other;
	size_t n = 0;

	for (; option_get(desc, n, &o); n++) {
		check_option(f, desc, &o);
		for (size_t k = 0; k < n && option_get(desc, k, &other); k++)
			if (o.offset < other.offset + option_type_size(other.type) &&
			    other.offset < o.offset + option_type_size(o.type))
				findings_add(f, FINDING_ERROR, "options",
					     "\"%s\" and \"%s\" lie on the same bytes of the state", other.name,
					     o.name);
	}
	findings_add(f, FINDING_OK, "options", "%zu", n);
}

/* The size of a field's value; plugin_check_descriptor() has refused unknown types. */
static size_t field_size(const struct skep_field *field)
{
	size_t size = 0, align;

	plugin_field_type(field->type, &size, &align);
	return size;
}

static bool is_number(const struct skep_field *field)
{
	return field->type == SKEP_T_U64 || field->type == SKEP_T_I64 || field->type == SKEP_T_F64 ||
	       field->type == SKEP_T_HIST;
}

static void check_field(struct findings *f, const struct skep_stream *s, uint32_t i)
{
	const struct skep_field *field = skep_stream_field(s, i);

	if (!name_ok(field->name, "."))
		findings_add(
			f, FINDING_WARNING, "streams",
			"%s: field \"%s\": names are words of small letters, digits and _, with a dot between them",
			s->name, field->name);
	if (*field->unit && !ucum_valid(field->unit))
		findings_add(f, FINDING_ERROR, "streams",
			     "%s: field \"%s\": \"%s\" is no unit of UCUM; write such as ns, By, 1, %%, {fault}, By/s",
			     s->name, field->name, field->unit);
	if (!*field->unit && field->semantics != SKEP_S_ATTRIBUTE && is_number(field))
		findings_add(f, FINDING_WARNING, "streams",
			     "%s: field \"%s\": a measurement needs a unit; use 1 for a plain number", s->name,
			     field->name);
	if (field->semantics != SKEP_S_ATTRIBUTE && !is_number(field) && field->type != SKEP_T_TIME &&
	    field->type != SKEP_T_BOOL)
		findings_add(f, FINDING_ERROR, "streams",
			     "%s: field \"%s\" is no number: its semantics are SKEP_S_ATTRIBUTE", s->name, field->name);
	if (!*field->help)
		findings_add(f, FINDING_WARNING, "streams", "%s: field \"%s\": no help text", s->name, field->name);
	for (uint32_t k = 0; k < i; k++) {
		const struct skep_field *other = skep_stream_field(s, k);

		if (field->offset < other->offset + field_size(other) &&
		    other->offset < field->offset + field_size(field))
			findings_add(f, FINDING_WARNING, "streams",
				     "%s: fields \"%s\" and \"%s\" lie on the same bytes of the record", s->name,
				     other->name, field->name);
	}
}

void plugin_tables_check(struct findings *f, const struct skep_plugin *desc)
{
	uint32_t n = 0;

	if (!*desc->license)
		findings_add(f, FINDING_WARNING, "descriptor", "no license is named");
	if (!*desc->summary)
		findings_add(f, FINDING_WARNING, "descriptor",
			     "no summary, which skepd --list-plugins and skep plugins show");
	check_options(f, desc);
	for (uint32_t i = 0; i < desc->n_streams; i++) {
		const struct skep_stream *s = desc->streams[i];

		if (!name_ok(s->name, "."))
			findings_add(f, FINDING_WARNING, "streams",
				     "\"%s\": names are words of small letters, digits and _, with a dot between them",
				     s->name);
		if (!*s->help)
			findings_add(f, FINDING_WARNING, "streams", "\"%s\": no help text", s->name);
		if (s->flags & ~SKEP_STREAM_SAMPLE)
			findings_add(f, FINDING_ERROR, "streams", "\"%s\": flags 0x%x are not known", s->name,
				     s->flags & ~SKEP_STREAM_SAMPLE);
		for (uint32_t k = 0; k < s->n_fields; k++)
			check_field(f, s, k);
		n += s->n_fields;
	}
	if (desc->kind == SKEP_KIND_PROBE && desc->n_streams == 0)
		findings_add(f, FINDING_WARNING, "streams", "a probe without streams reports nothing");
	if (desc->n_streams > 0)
		findings_add(f, FINDING_OK, "streams", "%u, with %u fields", desc->n_streams, n);
}
