/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the table of docs/reference/records.md.
 */
#include "tests/unit/carried.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <skep/sink/fields.h>

#include "tests/unit/lake_records.h"

const struct skep_stream *const carried_streams[3] = { &record_stream_process, &record_stream_task,
							&record_stream_run };

static struct carried table[128];
static size_t n_table;

/* Cell number i of a row "| a | b |", without its back-quotes; false: the row has fewer. */
static bool cell(const char *row, unsigned i, char *ret, size_t room)
{
	size_t n = 0;

	for (; *row; row++)
		if (*row == '|' && i-- == 0)
			break;
	if (*row != '|')
		return false;
	for (row++; *row && *row != '|' && *row != '\n' && n + 1 < room; row++)
		if (*row != '`')
			ret[n++] = *row;
	while (n > 0 && ret[n - 1] == ' ')
		n--;
	ret[n] = '\0';
	memmove(ret, ret + strspn(ret, " "), n + 1 - strspn(ret, " "));
	if (strcmp(ret, "-") == 0)
		*ret = '\0';
	return true;
}

static void add(const char *row, const struct skep_stream *stream, const char *field)
{
	struct carried *c = &table[n_table++];
	char *facet;

	assert_true(n_table <= sizeof(table) / sizeof(table[0]));
	c->stream = stream;
	c->field = skep_fields_find(stream, field);
	if (!c->field)
		fail_msg("docs/reference/records.md: %s has no field %s", stream->name, field);
	assert_true(cell(row, 2, c->otlp, sizeof(c->otlp)) && cell(row, 3, c->clickhouse, sizeof(c->clickhouse)) &&
		    cell(row, 4, c->lake, sizeof(c->lake)) && cell(row, 5, c->prometheus, sizeof(c->prometheus)));
	facet = strstr(c->lake, " (facet)");
	if (facet && stream == &record_stream_process)
		c->facet = true;
	if (facet)
		*facet = '\0';
	snprintf(c->value, sizeof(c->value), "%s of %s", field, stream->name);
	c->number = 1000 + (double)strlen(field);
}

size_t carried_read(const struct carried **ret)
{
	const char *source = getenv("abs_srcdir");
	char path[4096], row[1024], field[64], streams[128];
	bool inside = false;
	FILE *f;

	*ret = table;
	if (n_table)
		return n_table;
	snprintf(path, sizeof(path), "%s/docs/reference/records.md", source ? source : ".");
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(row, sizeof(row), f)) {
		if (row[0] == '#')
			inside = strcmp(row, "## The same field in each sink\n") == 0;
		if (!inside || strncmp(row, "| `", 3) != 0)
			continue;
		assert_true(cell(row, 0, field, sizeof(field)) && cell(row, 1, streams, sizeof(streams)));
		for (size_t i = 0; i < 3; i++)
			if (strstr(streams, carried_streams[i]->name))
				add(row, carried_streams[i], field);
	}
	fclose(f);
	assert_true(n_table > 40);
	return n_table;
}

void carried_fill(const struct skep_stream *stream, union carried_record *ret)
{
	const struct carried *all;
	size_t n = carried_read(&all);

	memset(ret, 0, sizeof(*ret));
	if (stream == &record_stream_process) {
		records_process(97, "", &ret->process);
	} else if (stream == &record_stream_task) {
		records_task(7, "", &ret->task);
	} else {
		records_run("", "ended", 1000 * SECOND, &ret->run);
		ret->run.exit_code = 1;
	}
	for (size_t i = 0; i < n; i++) {
		void *at = (char *)ret + all[i].field->offset;
		uint64_t number = (uint64_t)all[i].number;

		if (all[i].stream != stream)
			continue;
		if (all[i].field->type == SKEP_T_STR)
			*(struct skep_str *)at = skep_mock_text(all[i].value);
		else if (all[i].field->type == SKEP_T_F64)
			memcpy(at, &all[i].number, sizeof(double));
		else
			memcpy(at, &number, sizeof(number));
	}
}

struct skep_mock_batch *carried_batch(union carried_record *records)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);

	for (size_t i = 0; i < 3; i++)
		carried_fill(carried_streams[i], &records[i]);
	skep_mock_batch_add(b, carried_streams[0], &records[0].process.upid, 1002 * SECOND, &records[0], NULL);
	skep_mock_batch_add(b, carried_streams[1], &records[1].task.root_upid, 1003 * SECOND, &records[1], NULL);
	skep_mock_batch_add(b, carried_streams[2], &records[2].run.root_upid, 1004 * SECOND, &records[2], NULL);
	return b;
}

void carried_check_json(const char *line, size_t len)
{
	json_t *o = json_loadb(line, len, 0, NULL);
	const char *stream = json_string_value(json_object_get(o, "stream"));
	const struct carried *all;
	size_t n = carried_read(&all), seen = 0;

	assert_non_null(stream);
	for (size_t i = 0; i < n; i++) {
		json_t *value = json_object_get(o, all[i].field->name);

		if (strcmp(all[i].stream->name, stream) != 0)
			continue;
		seen++;
		if (!(json_is_string(value) ? strcmp(json_string_value(value), all[i].value) == 0
					    : json_number_value(value) == all[i].number))
			fail_msg("the record of %s has no %s", stream, all[i].field->name);
	}
	assert_true(seen > 0);
	json_decref(o);
}
