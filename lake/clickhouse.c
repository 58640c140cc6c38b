/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/clickhouse.c - reads clickhouse.sql line by line; the first lines of that file describe its format.
 */
#include "lake/clickhouse.h"

#include <errno.h>
#include <skep/daemons.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lake/clickhouse_sql.h"

int clickhouse_server_since(const struct clickhouse_server *s, unsigned major, unsigned minor)
{
	return s->major > major || (s->major == major && s->minor >= minor);
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

#define QUOTED(name_) "'" name_ "', "

/* Writes the definition of WORD, the lines "-- WORD: ..." of the file. false: WORD has none. */
static bool put_meaning(FILE *out, const char *word, size_t n)
{
	bool any = false;

	if (n == strlen("DAEMONS") && strncmp(word, "DAEMONS", n) == 0) {
		fputs(SKEP_DAEMONS(QUOTED) "''", out);
		return true;
	}
	for (const char *p = clickhouse_sql; (p = strstr(p, "\n-- ")) != NULL;) {
		p += strlen("\n-- ");
		if (strncmp(p, word, n) != 0 || strncmp(p + n, ": ", 2) != 0)
			continue;
		p += n + 2;
		fprintf(out, "%s%.*s", any ? "\n\t" : "", (int)strcspn(p, "\n"), p);
		any = true;
	}
	return any;
}

/* Writes a line of a statement: replaces TEXT by the server's text type, and each defined WORD by its definition. */
static void put_line(FILE *out, const char *line, size_t n, const char *text)
{
	for (size_t i = 0, w; i < n; i += w) {
		for (w = 0; i + w < n && is_word(line[i + w]); w++)
			;
		if (w == 4 && strncmp(line + i, "TEXT", 4) == 0)
			fputs(text, out);
		else if (w == 0)
			fputc(line[i], out);
		else if (!put_meaning(out, line + i, w))
			fwrite(line + i, 1, w, out);
		w += w == 0;
	}
	fputc('\n', out);
}

unsigned clickhouse_schema_version(void)
{
	unsigned newest = 0, v;

	for (const char *p = clickhouse_sql; (p = strstr(p, "\n-- version ")); p++)
		if (sscanf(p, "\n-- version %u", &v) == 1 && v > newest)
			newest = v;
	return newest;
}

int clickhouse_statements(const struct clickhouse_server *server, clickhouse_statement_cb cb, void *arg)
{
	/* before 19.5 LowCardinality was experimental, and the server refuses it */
	const char *text = clickhouse_server_since(server, 19, 5) ? "LowCardinality(String)" : "String";
	unsigned version = 0, major, minor;
	bool wanted = true;
	char *sql = NULL;
	size_t room = 0;
	FILE *out = NULL;
	int rc = 0;

	for (const char *line = clickhouse_sql; *line && !rc;) {
		size_t n = strcspn(line, "\n");

		if (strncmp(line, "--", 2) == 0) {
			sscanf(line, "-- version %u", &version);
			if (sscanf(line, "-- since %u.%u", &major, &minor) == 2)
				wanted = clickhouse_server_since(server, major, minor);
			else if (sscanf(line, "-- before %u.%u", &major, &minor) == 2)
				wanted = !clickhouse_server_since(server, major, minor);
		} else if (n) {
			bool last = line[n - 1] == ';';

			if (!out)
				out = open_memstream(&sql, &room);
			if (!out)
				return -ENOMEM;
			put_line(out, line, last ? n - 1 : n, text);
			if (last) {
				rc = fclose(out) == 0 ? 0 : -ENOMEM;
				out = NULL;
				if (!rc && wanted)
					rc = cb(arg, version, sql);
				free(sql);
				sql = NULL;
				wanted = true;
			}
		}
		line += n + (line[n] == '\n');
	}
	if (out) {
		fclose(out);
		free(sql);
	}
	return rc;
}
