/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/scope/scope.c - the list of scopes, and their names.
 */
#include "core/scope/scope.h"

#include <stdio.h>
#include <stdlib.h>

#define NAMES_MOST 1024

struct scope *scope_new(struct scopes *scopes, struct scope *outer)
{
	struct scope *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->refs = 1;
	s->outer = scope_ref(outer);
	s->next = scopes->first;
	if (s->next)
		s->next->prev = s;
	else
		scopes->last = s;
	scopes->first = s;
	scopes->n++;
	return s;
}

struct scope *scope_ref(struct scope *s)
{
	if (s)
		s->refs++;
	return s;
}

void scope_unref(struct scopes *scopes, struct intern *intern, struct scope *s)
{
	while (s && --s->refs == 0) {
		struct scope *outer = s->outer;

		if (s->prev)
			s->prev->next = s->next;
		else
			scopes->first = s->next;
		if (s->next)
			s->next->prev = s->prev;
		else
			scopes->last = s->prev;
		scopes->n--;
		scopes->run_unref(s->run);
		intern_unref(intern, s->engine);
		intern_unref(intern, s->names);
		intern_unref(intern, s->cwd);
		program_unref(intern, s->program);
		free(s);
		s = outer;
	}
}

const struct scope *scope_leading(const struct scope *chain)
{
	const struct scope *found = NULL;

	for (const struct scope *s = chain; s; s = s->outer) {
		if (!found || s->class >= found->class)
			found = s;
		if (s->run) /* scopes further out belong to the run around this one */
			break;
	}
	return found;
}

bool scope_leads(const struct scope *s, const struct skep_upid *upid)
{
	return s && s->root.pid == upid->pid && s->root.start_ns == upid->start_ns;
}

void scope_set_names(struct scope *s, struct intern *intern)
{
	const struct interned *outer = s->outer ? s->outer->names : NULL;
	char text[NAMES_MOST];
	int n = snprintf(text, sizeof(text), "%s%s%s", outer ? outer->text : "", outer ? " > " : "",
			 s->engine ? s->engine->text : "?");

	/* Too long only if the saved state was forged: track_scope.c bounds the depth. */
	s->names = n > 0 && n < (int)sizeof(text) ? intern_text(intern, text) : intern_ref(outer);
}
