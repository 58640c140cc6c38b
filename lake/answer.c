/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/answer.c - lists that grow, names and tools of a report that lake_report builds.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "lake/answer.h"

void *answer_grow(void *list, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *grown;

	if (n < *room)
		return list;
	grown = reallocarray(list, more, size);
	if (grown)
		*room = more;
	return grown;
}

int answer_name(struct answer *a, const struct lake_rows *rows, int column, const char **ret, int64_t *ret_id)
{
	struct name *name = NULL;
	size_t size = 0;
	const char *text = rows->clickhouse ? lake_rows_bytes(rows, column, &size) : NULL;
	int err = text ? names_of_text(&a->names, text, size, &name)
		       : names_get(&a->names, lake_rows_number(rows, column), &name);

	if (err)
		return err;
	*ret = name->s;
	if (ret_id)
		*ret_id = name->id;
	return 0;
}

int answer_group(const size_t *of, size_t n, size_t n_groups, uint32_t **ret_members, size_t **ret_first)
{
	uint32_t *members = n < UINT32_MAX ? calloc(n + 1, sizeof(*members)) : NULL;
	size_t *first = calloc(n_groups + 2, sizeof(*first));

	if (!members || !first) {
		free(members);
		free(first);
		return -ENOMEM;
	}
	/* first[g + 2] counts the members of g; then first[g + 1] is where the next one of g goes */
	for (size_t i = 0; i < n; i++)
		if (of[i] != SIZE_MAX)
			first[of[i] + 2]++;
	for (size_t g = 2; g < n_groups + 2; g++)
		first[g] += first[g - 1];
	for (size_t i = 0; i < n; i++)
		if (of[i] != SIZE_MAX)
			members[first[of[i] + 1]++] = (uint32_t)i;
	*ret_members = members;
	*ret_first = first;
	return 0;
}

int answer_tool(struct answer *a, int64_t id, size_t *ret)
{
	struct lake_report *r = &a->report;
	size_t span_room = a->tool_room;
	struct name *name;
	void *grown;
	int err;

	err = names_get(&a->names, id, &name);
	if (err)
		return err;
	if (!name->tool) {
		grown = answer_grow(r->tools, r->n_tools, &a->tool_room, sizeof(*r->tools));
		if (grown) {
			r->tools = grown;
			grown = answer_grow(a->span, r->n_tools, &span_room, sizeof(*a->span));
		}
		if (!grown)
			return lake_file_error(a->file, SQLITE_NOMEM);
		a->span = grown;
		a->span[r->n_tools] = (struct span){ 0 };
		r->tools[r->n_tools] = (struct lake_tool){ .tool = name->s };
		name->tool = ++r->n_tools;
	}
	*ret = name->tool - 1;
	return 0;
}
