/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/names.h - all names that leave by this sink: OpenTelemetry's semantic conventions 1.44
 * where they have one, else below "skep.".  Some conventions put a part of skep's name into an attribute.
 */
#ifndef SKEP_SINKS_OTLP_NAMES_H
#define SKEP_SINKS_OTLP_NAMES_H

#include <skep/record.h>
#include <stdbool.h>

#define NAME_SCHEMA_URL "https://opentelemetry.io/schemas/1.44.0"

#define NAME_PIPELINE "cicd.pipeline.name"
#define NAME_RUN_ID "cicd.pipeline.run.id"
#define NAME_RESULT "cicd.pipeline.result"
#define NAME_ACTION "cicd.pipeline.action.name"
#define NAME_TASK "cicd.pipeline.task.name"
#define NAME_TASK_RUN_ID "cicd.pipeline.task.run.id"
#define NAME_TASK_RESULT "cicd.pipeline.task.run.result"
#define NAME_CONTAINER "container.id"
#define NAME_ERROR_TYPE "error.type"
#define NAME_PID "process.pid"
#define NAME_PPID "process.parent_pid"
#define NAME_EXE_PATH "process.executable.path"
#define NAME_EXE_NAME "process.executable.name"
#define NAME_ARGS "process.command_args"
#define NAME_EXIT_CODE "process.exit.code"
#define NAME_USER "process.user.id"
#define NAME_CWD "process.working_directory"
#define NAME_CGROUP "process.linux.cgroup"
#define NAME_TOOL "skep.tool"
#define NAME_OUTCOME "skep.outcome"
#define NAME_UPID "skep.process.upid"
#define NAME_OVERFLOW "otel.metric.overflow" /* as the SDKs' specification has it */

/* How a number of a record becomes a point. */
enum names_form {
	NAMES_AS_IT_IS = 0, /* a sum or a gauge, by the field's semantics; a histogram where it is one */
	NAMES_SPREAD,       /* each value counts in a histogram */
	NAMES_NOT,          /* not sent as a metric */
};

struct names_metric {
	const char *metric; /* owned by names_metric_clear when made is set */
	const char *attribute, *value; /* NULL: none */
	enum names_form form;
	bool made;
};

/* What that field's metric is called. 0 or -ENOMEM. */
int names_metric(const struct skep_stream *, const struct skep_field *, struct names_metric *ret);
void names_metric_clear(struct names_metric *);

/*
 * The name of an attribute field as attribute of the stream's points; NULL: none, because it would make too many
 * series.
 */
const char *names_attribute(const struct skep_stream *, const struct skep_field *);

enum names_stream {
	NAMES_GENERIC = 0,
	NAMES_PROCESS,   /* process.exit: by tool, pipeline, task and outcome */
	NAMES_TOOL,      /* tool.sample: by tool and pipeline; levels of several runs add up */
	NAMES_RUN,       /* run, when it has ended */
	NAMES_CPU,       /* host.cpu: only the sum over all CPUs */
	NAMES_LEDGER,    /* only the host's ledger, not the ledgers of runs */
	NAMES_NO_METRIC,
};
enum names_stream names_stream(const struct skep_stream *);

#endif
