/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_web.c - any path, query and headers of a request to `skep web`: NUL-separated texts.  No crash; a
 * command line has only the commands that answer, and no operand or value before its place.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/web/request.h"

#define TEXTS 24

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_web: %s\n", what);
		abort();
	}
}

static void check_command(const struct request_command *c)
{
	static const char *const commands[] = { "runs", "show", "tune", "diff", "hosts", "sweep", "status", "rules" };
	const size_t n = sizeof(commands) / sizeof(commands[0]);
	size_t i = 0, command = 0;
	int json = 0;

	while (command < n && strcmp(c->argv[0], commands[command]) != 0)
		command++;
	must(command < n, "a command that no page asks for");
	for (; i < c->n && strcmp(c->argv[i], "--") != 0; i++) {
		json |= strcmp(c->argv[i], "--json") == 0;
		must(i == 0 || i == 2 || strncmp(c->argv[i], "--", 2) == 0, "an operand among the options");
		must(strncmp(c->argv[i], "--lake", 6) != 0 || i == 1, "a request chose the lake");
	}
	must(json, "no --json");
	must(c->argv[c->n] == NULL, "no end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "node1", NULL };
	static const char token[] = "0123456789abcdef0123456789abcdef";
	char *copy = malloc(size + 1), why[256];
	const char *texts[TEXTS], *below;
	struct request_value values[10];
	struct request_command command;
	size_t n = 0, n_values = 0;

	must(copy != NULL, "no memory");
	memcpy(copy, data, size);
	copy[size] = '\0';
	for (size_t at = 0; at <= size && n < TEXTS; at += strlen(copy + at) + 1)
		texts[n++] = copy + at;
	for (size_t i = 5; i + 1 < n && n_values < 10; i += 2)
		values[n_values++] = (struct request_value){ texts[i], texts[i + 1] };
	below = request_below(texts[0], token);
	must(!below || (*below == '/' && strstr(texts[0], token)), "below a folder that it does not name");
	if (request_route(below ? below : texts[0], values, n_values, n % 2 ? "/lake" : NULL, &command, why, sizeof(why)) == 0)
		check_command(&command);
	if (n > 1)
		(void)request_host(texts[1], names);
	if (n > 2)
		(void)request_origin(texts[2], n > 3 ? texts[3] : NULL, texts[1], false, false);
	if (n > 4 && request_token(texts[3], "skep_1", texts[4], token))
		must(memmem(copy, size, token, sizeof(token) - 1) != NULL, "accepted without the token");
	free(copy);
	return 0;
}
