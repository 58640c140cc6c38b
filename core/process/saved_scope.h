/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_scope.h - what recognizers found, in lines of the saved state (core/process/saved.h): scopes, the
 * engines of runs, the facts of tasks.
 */
#ifndef SKEP_CORE_SAVED_SCOPE_H
#define SKEP_CORE_SAVED_SCOPE_H

#include <jansson.h>

#include "core/process/track.h"
#include "core/scope/scope.h"

json_t *saved_scope_json(const struct scope *); /* a line of its own; NULL: no memory */
/* Adds what an engine said to the line of a run or a task, and returns the line. */
json_t *saved_scope_run_json(const struct run *, json_t *line);
json_t *saved_scope_task_json(const struct task *, json_t *line);

/* 0, -EBADMSG, -ENOMEM.  A scope stays until saved_scope_settle(), also while no process has claimed it yet. */
int saved_scope_read(struct track *, json_t *line);
int saved_scope_run_read(struct track *, struct run *, json_t *line); /* 0 or -ENOMEM */
void saved_scope_task_read(struct track *, struct task *, json_t *line);
void saved_scope_settle(struct track *); /* lets go of the scopes that no process has claimed */

#endif
