/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/engine_log.h - the jobs in Snakemake's own log, .snakemake/log/TIME.snakemake.log.
 *
 * Snakemake writes a block of lines before it starts a job, and a line after the job:
 *
 *	rule align:
 *	    output: S1.bam, S1.bai
 *	    jobid: 7
 *	    wildcards: sample=S1
 *	    resources: tmpdir=/tmp, mem_mb=100
 *
 *	Finished job 7.
 *
 * Of a job that failed it writes the command ("Error in rule align:", "    shell:").  No block has the command of a job
 * that runs: a command belongs to the unfinished job whose output the command names.  A job's input is no evidence,
 * because it is the output of another job, which has finished.
 */
#ifndef SKEP_CORE_ENGINE_LOG_H
#define SKEP_CORE_ENGINE_LOG_H

#include "core/identify/engine_file.h"

#define ENGINE_LOG_JOBS 2048u /* of one request; later ones are not read */
#define ENGINE_LOG_SUFFIX ".snakemake.log"

struct engine_log_job {
	struct skep_str rule, lines, output, id;
	struct skep_str failed; /* the command in its error message; empty: none */
	bool over;              /* it has finished, or a later attempt has begun */
};

struct engine_log {
	struct engine_log_job jobs[ENGINE_LOG_JOBS];
	size_t n;
};

/* Adds the jobs of a log, or of its last part.  Borrows the text.  Logs are added in the order of their times. */
void engine_log_add(struct engine_log *, const char *text, size_t len);

/*
 * The path of the script that the command executes: beside the folder of logs, in `scripts`.  Snakemake wrote it for
 * this one job, with the job's input and output in its first lines.  false: the command executes none.
 */
bool engine_log_script(const char *log, const struct skep_str *command, char *room, size_t size);

/* A command, and what else belongs to it. */
struct engine_log_command {
	const struct engine_file_wanted *text;
	const char *file;       /* name of a metadata file that has this command; empty: none has */
	uint32_t files;         /* how many have it */
	struct skep_str script; /* the begin of the script that it executes; ptr NULL: it executes none */
};
/*
 * The job of the command: the job whose output the metadata file belongs to; else the job that failed with this
 * command; else the unfinished job whose output the command or its script names.  NULL: no such job, or several.
 */
const struct engine_log_job *engine_log_find(const struct engine_log *, const struct engine_log_command *);
/* "rule" is the job's rule; else what follows "KEY: " in its block, with "," between the items.  false: nothing. */
bool engine_log_value(const struct engine_log_job *, const char *key, char ret[ENGINE_FILE_VALUE]);

#endif
