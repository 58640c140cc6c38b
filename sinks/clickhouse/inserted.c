/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes which tables have the rows of a batch that the server has refused for other tables.
 */
#include "sinks/clickhouse/inserted.h"

#include <skep/sink/batch_key.h>
#include <stdlib.h>
#include <string.h>

unsigned inserted_find(struct inserted *t, const char *key, bool whole)
{
	unsigned tables = 0;

	for (unsigned i = 0; i < INSERTED; i++) {
		const char *noted = t->at[i].key;

		if (!noted || !skep_batch_key_is_part(key, noted) || (!whole && strcmp(key, noted) == 0))
			continue;
		t->at[i].used = ++t->clock; /* more parts may follow */
		tables |= t->at[i].tables;
	}
	return tables;
}

void inserted_note(struct inserted *t, const char *key, unsigned tables)
{
	unsigned at = 0;

	/* The entry of the whole batch covers its parts. */
	if (!tables || (inserted_find(t, key, true) & tables) == tables)
		return;
	for (unsigned i = 1; i < INSERTED; i++)
		if (t->at[i].used < t->at[at].used)
			at = i;
	for (unsigned i = 0; i < INSERTED; i++)
		if (t->at[i].key && strcmp(t->at[i].key, key) == 0)
			at = i;
	free(t->at[at].key);
	t->at[at].key = strdup(key);
	t->at[at].tables = tables;
	t->at[at].used = t->at[at].key ? ++t->clock : 0;
}

void inserted_forget(struct inserted *t)
{
	for (unsigned i = 0; i < INSERTED; i++)
		free(t->at[i].key);
	memset(t, 0, sizeof(*t));
}
