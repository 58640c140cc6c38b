/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces placeholders in braces by values, in URLs and headers of HTTP sinks.
 */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <skep/sink/http_template.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum value { HOST_NAME, BOOT_ID, BATCH_KEY, BATCH_ID, VALUES };
static const char *const names[VALUES] = {
	[HOST_NAME] = "{host.name}",
	[BOOT_ID] = "{boot_id}",
	[BATCH_KEY] = "{batch.key}",
	[BATCH_ID] = "{batch.id}",
};

static enum value value_at(const char *text)
{
	enum value v = HOST_NAME;

	while (v < VALUES && strncmp(text, names[v], strlen(names[v])) != 0)
		v++;
	return v;
}

int skep_http_template_check(const char *text, const char *what, bool secret, char *why, size_t room)
{
	size_t len;

	for (const char *c = text; *c; c++) {
		if (*c != '{' || !islower((unsigned char)c[1]) || value_at(c) != VALUES)
			continue;
		len = strcspn(c, "}");
		snprintf(why, room, "%s: %.*s at byte %zu: expected {host.name}, {boot_id}, {batch.key} or {batch.id}",
			 what,
			 secret     ? 1
			 : len < 40 ? (int)len + 1
				    : 40,
			 c, (size_t)(c - text));
		return -EINVAL;
	}
	return 0;
}

bool skep_http_template_is(const char *text)
{
	for (const char *c = strchr(text, '{'); c; c = strchr(c + 1, '{'))
		if (value_at(c) != VALUES)
			return true;
	return false;
}

static void put(FILE *out, const char *s, bool percent)
{
	for (; *s; s++) {
		if (percent && !isalnum((unsigned char)*s) && !strchr("-._~", *s))
			fprintf(out, "%%%02X", (unsigned char)*s);
		else
			fputc(*s, out);
	}
}

int skep_http_template_expand(const char *text, const struct http_values *values, bool percent, char **ret)
{
	char id[24], *expanded = NULL;
	const char *of[VALUES] = {
		[HOST_NAME] = values->host_name,
		[BOOT_ID] = values->boot_id,
		[BATCH_KEY] = values->batch_key,
		[BATCH_ID] = id,
	};
	size_t n = 0;
	FILE *out = open_memstream(&expanded, &n);

	if (!out)
		return -ENOMEM;
	snprintf(id, sizeof(id), "%" PRIu64, values->batch_id);
	for (const char *c = text; *c; c++) {
		enum value v = *c == '{' ? value_at(c) : VALUES;

		if (v == VALUES) {
			fputc(*c, out);
			continue;
		}
		put(out, of[v] ? of[v] : "", percent);
		c += strlen(names[v]) - 1;
	}
	if (fclose(out) != 0) {
		free(expanded);
		return -ENOMEM;
	}
	*ret = expanded;
	return 0;
}
