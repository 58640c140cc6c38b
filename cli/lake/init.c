/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/init.c - `skep lake init --clickhouse URL`: creates the lake's tables in ClickHouse.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/skep.h"
#include "cli/lake/options.h"

static int print_statement(void *arg, unsigned version, const char *sql)
{
	(void)arg;
	(void)version;
	printf("%.*s;\n", (int)strlen(sql) - (sql[0] && sql[strlen(sql) - 1] == '\n'), sql);
	return 0;
}

static int print_schema(const char *version)
{
	struct clickhouse_server server;

	if (sscanf(version, "%u.%u", &server.major, &server.minor) != 2)
		return skep_usage("lake", "--print %s: expected a version of ClickHouse like 24.8", version);
	return clickhouse_statements(&server, print_statement, NULL)
		       ? skep_fail("lake", SKEP_EXIT_RUNTIME, "out of memory")
		       : SKEP_EXIT_OK;
}

static int init(struct lake_http *http, const struct lake_options *o)
{
	struct lake_created made;
	char why[1024] = "";
	int err = lake_http_open(http, why, sizeof(why));

	if (err)
		return skep_fail("lake init", SKEP_EXIT_RUNTIME, "%s", why);
	err = lake_create(http, o->database, o->keep, &made, why, sizeof(why));
	lake_http_close(http);
	if (err)
		return skep_fail("lake init", SKEP_EXIT_RUNTIME, "%s: %s", http->url, why[0] ? why : strerror(-err));
	if (made.statements)
		printf("ClickHouse %u.%u: database %s, schema version %u, %u statements\n", made.server.major,
		       made.server.minor, o->database, made.version, made.statements);
	else
		printf("ClickHouse %u.%u: database %s has schema version %u already\n", made.server.major,
		       made.server.minor, o->database, made.version);
	return SKEP_EXIT_OK;
}

int lake_command_init(const struct lake_options *o)
{
	struct lake_http http = o->http;
	char *password = NULL, why[1024] = "";
	int rc;

	if (o->print)
		return print_schema(o->print);
	if (!http.url || (strncmp(http.url, "http://", 7) != 0 && strncmp(http.url, "https://", 8) != 0))
		return skep_usage("lake", "--clickhouse %s: expected http://host:8123 or https://host:8443",
				  http.url ? http.url : "URL");
	if (!lake_is_database(o->database))
		return skep_usage("lake", "--database %s: letters, digits and _ are expected", o->database);
	if (o->password_file && !http.user)
		return skep_usage("lake", "--password-file without --user");
	if (o->password_file && lake_http_password(o->password_file, &password, why, sizeof(why)) != 0)
		return skep_fail("lake init", SKEP_EXIT_RUNTIME, "%s", why);
	http.password = password;
	rc = init(&http, o);
	if (password)
		explicit_bzero(password, strlen(password));
	free(password);
	return rc;
}
