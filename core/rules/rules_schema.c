/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rules_schema.c - builds the schema of rule files, with the help texts of the fields.
 */
#include "core/rules/rules_schema.h"

#include <stdlib.h>
#include <stdio.h>

#include "core/rules/rule_fields.h"

static const char *type_name(enum filter_type type)
{
	switch (type) {
	case FILTER_LIST:
		return "a list of texts";
	case FILTER_BOOL:
		return "true or false";
	case FILTER_TEXT:
		return "text";
	default:
		return "number";
	}
}

/* The text of the tooltip of "when". */
static char *when_help(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("A condition, as one string or as a list of its lines; true: always. The first rule whose condition holds decides.\n"
	      "Operators: = != < <= > >= in prefix suffix glob contains matches; and or not ( ); parent.FIELD, any parent.FIELD.\nFields:\n",
	      out);
	for (uint32_t i = 0; i < rule_fields_schema.n; i++) {
		const struct filter_field *f = &rule_fields_schema.fields[i];

		fprintf(out, "%s (%s%s): %s\n", f->name, type_name(f->type), f->of_parent ? "" : "; not of parents",
			f->help);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

json_t *rules_schema(void)
{
	char *when = when_help();
	json_t *rule, *schema = NULL;

	if (!when)
		return NULL;
	rule = json_pack("{s:s, s:b, s:[sss], s:{"
			 " s:{s:s, s:s, s:s},"
			 " s:{s:s, s:[{s:s, s:i, s:i}, {s:s, s:i, s:{s:s, s:i}}, {s:b}]},"
			 " s:{s:s, s:[{s:[ss]}, {s:s, s:b, s:[s], s:{s:{s:s, s:i, s:i}}}]},"
			 " s:{s:s, s:s, s:b},"
			 " s:{s:s, s:s, s:i, s:{s:s}, s:{s:s, s:i}},"
			 " s:{s:s, s:s, s:i} }}",
			 "type", "object", "additionalProperties", 0, "required", "id", "when", "verdict", "properties",
			 /* id */
			 "id", "type", "string", "pattern", "^[A-Za-z0-9._/-]{1,64}$", "description",
			 "A name of its own: for messages, counters and reports.",
			 /* when */
			 "when", "description", when, "anyOf", "type", "string", "minLength", 1, "maxLength",
			 (int)FILTER_TEXT_MAX, "type", "array", "minItems", 1, "items", "type", "string", "minLength",
			 1, "const", 1,
			 /* verdict */
			 "verdict", "description", "include, exclude, or { \"sample\": 100 } for one process in 100.",
			 "anyOf", "enum", "include", "exclude", "type", "object", "additionalProperties", 0, "required",
			 "sample", "properties", "sample", "type", "integer", "minimum", 1, "maximum", 1000000,
			 /* inherit */
			 "inherit", "type", "boolean", "description",
			 "Descendants get the same verdict; skepd does not evaluate rules for them.", "default", 0,
			 /* set */
			 "set", "type", "object", "description", "Labels on the records of what the rule includes.",
			 "maxProperties", 32, "propertyNames", "pattern", "^[A-Za-z0-9._-]{1,64}$",
			 "additionalProperties", "type", "string", "maxLength", 256,
			 /* why */
			 "why", "type", "string", "description",
			 "The reason for the rule, for readers of the rule or of a report.", "minLength", 1);
	free(when);
	if (rule)
		schema = json_pack("{s:s, s:s, s:s, s:s, s:b, s:[s], s:{s:{s:s, s:s, s:o}}}", "$schema",
				   "http://json-schema.org/draft-07/schema#", "title", "Rules of skep", "description",
				   "A file of a folder in filters.dirs: JSON, with // and /* */ comments.", "type",
				   "object", "additionalProperties", 0, "required", "rules", "properties", "rules",
				   "type", "array", "description", "In their order; the first that holds decides.",
				   "items", rule);
	return schema;
}
