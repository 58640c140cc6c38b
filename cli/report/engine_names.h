/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/engine_names.h - names and requests of tasks from the engine's own files, which the user who reads a
 * report may read.
 *
 * A shell command of Snakemake does not show its rule.  .snakemake/metadata does: Snakemake writes it when a job has
 * succeeded.  Only .snakemake/log has the memory that a rule asks for, and its time limit.  skep reads these files only
 * for the user who owns the run, so it follows no path or link of another user.
 */
#ifndef SKEP_CLI_ENGINE_NAMES_H
#define SKEP_CLI_ENGINE_NAMES_H

#include "lake/lake.h"

struct engine_names;

/*
 * Sets task, sample, name_source ("file"), requested_memory_bytes and requested_walltime_ns of the tasks of a Snakemake
 * run.  The result owns the texts: free it after the report's last use.  NULL: nothing to add.
 */
struct engine_names *engine_names_add(struct lake_report *);
/*
 * Names the tasks of an earlier run by their commands: Snakemake overwrites the file of an output that it makes again.
 * The report's tasks point into names.
 */
void engine_names_reuse(struct engine_names *names, struct lake_report *);
struct engine_names *engine_names_free(struct engine_names *);

#endif
