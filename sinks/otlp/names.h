/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/names.h - every name that this sink sends: the name of OpenTelemetry's semantic conventions 1.44 where
 * there is one, else a name below "skep.".  Some conventions put a part of skep's name into an attribute.
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
#define NAME_CONTAINER_NAME "container.name"
#define NAME_CONTAINER_IMAGE "container.image.name"
#define NAME_POD "k8s.pod.name"
#define NAME_NAMESPACE "k8s.namespace.name"
#define NAME_UNIT "skep.unit"
#define NAME_ENGINE "skep.engine"
#define NAME_REQUESTED_CPUS "skep.task.requested.cpus"
#define NAME_GRANTED_CPUS "skep.task.granted.cpus"
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
#define NAME_OVERFLOW "otel.metric.overflow" /* the name that the SDK specification gives */

/* How a record's number becomes a point. */
enum names_form {
	NAMES_AS_IT_IS = 0, /* a sum or a gauge, by the field's semantics; a histogram field stays a histogram */
	NAMES_SPREAD,       /* a histogram counts each value */
	NAMES_NOT,          /* the sink sends no metric of the field */
};

struct names_metric {
	const char *metric; /* names_metric_clear() frees it when `made` is set */
	const char *attribute, *value; /* NULL: none */
	enum names_form form;
	bool made;
};

/* Returns the metric of a field. 0 or -ENOMEM. */
int names_metric(const struct skep_stream *, const struct skep_field *, struct names_metric *ret);
void names_metric_clear(struct names_metric *);

/*
 * Returns the attribute name of a field on the stream's points; NULL: none, because the attribute would make too many
 * series.
 */
const char *names_attribute(const struct skep_stream *, const struct skep_field *);

enum names_stream {
	NAMES_GENERIC = 0,
	NAMES_PROCESS,   /* process.exit: by tool, pipeline, task and outcome */
	NAMES_TOOL,      /* tool.sample: by tool and pipeline; adds up the levels of several runs */
	NAMES_RUN,       /* run records of ended runs */
	NAMES_CPU,       /* host.cpu: only the sum over all CPUs */
	NAMES_LEDGER,    /* only the machine's ledger, not the ledgers of runs */
	NAMES_NO_METRIC,
};
enum names_stream names_stream(const struct skep_stream *);

#endif
