/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of metric and attribute names.
 */
#include "sinks/otlp/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a_) (sizeof(a_) / sizeof((a_)[0]))

static const struct {
	const char *stream;
	enum names_stream kind;
} streams[] = {
	{ "process.exit", NAMES_PROCESS },
	{ "tool.sample", NAMES_TOOL },
	{ "run", NAMES_RUN },
	{ "host.cpu", NAMES_CPU },
	{ "ledger", NAMES_LEDGER },
	{ "process.sample", NAMES_NO_METRIC }, /* tool.sample reports the same values, by tool */
	{ "finding", NAMES_NO_METRIC },        /* an event; the stream "findings" has how many are open */
	{ "task", NAMES_NO_METRIC },           /* the metrics of its processes include its values */
	{ "host.identity", NAMES_NO_METRIC },
	{ "proc.opens", NAMES_NO_METRIC },     /* a series per path would be too many */
	{ "io.filelat", NAMES_NO_METRIC },     /* a series per file would be too many */
};

enum names_stream names_stream(const struct skep_stream *s)
{
	for (size_t i = 0; s->name && i < COUNT(streams); i++)
		if (strcmp(streams[i].stream, s->name) == 0)
			return streams[i].kind;
	return s->name ? NAMES_GENERIC : NAMES_NO_METRIC;
}

#define DIRECTION "disk.io.direction"
#define SWITCH_TYPE "process.context_switch.type"
#define FAULT_TYPE "system.paging.fault.type"

/* Fields whose metric's name does not follow from the field's name by rule. metric NULL: not sent. */
static const struct {
	const char *stream, *field, *metric, *attribute, *value;
	enum names_form form;
} special[] = {
	{ "tool.sample", "cpu_ns", "process.cpu.time", NULL, NULL, NAMES_AS_IT_IS },
	{ "tool.sample", "run_delay_ns", "skep.tool.run_delay", NULL, NULL, NAMES_AS_IT_IS },
	{ "tool.sample", "read_bytes", "process.disk.io", DIRECTION, "read", NAMES_AS_IT_IS },
	{ "tool.sample", "write_bytes", "process.disk.io", DIRECTION, "write", NAMES_AS_IT_IS },
	{ "tool.sample", "rss_bytes", "process.memory.usage", NULL, NULL, NAMES_AS_IT_IS },
	{ "tool.sample", "interval_ns", NULL, NULL, NULL, NAMES_NOT },

	{ "process.exit", "user_ns", "skep.process.cpu.time", "cpu.mode", "user", NAMES_AS_IT_IS },
	{ "process.exit", "system_ns", "skep.process.cpu.time", "cpu.mode", "system", NAMES_AS_IT_IS },
	{ "process.exit", "cpu_ns", NULL, NULL, NULL, NAMES_NOT }, /* user and system time report it */
	{ "process.exit", "run_delay_ns", "skep.process.run_delay", NULL, NULL, NAMES_AS_IT_IS },
	{ "process.exit", "voluntary_switches", "process.context_switches", SWITCH_TYPE, "voluntary", NAMES_AS_IT_IS },
	{ "process.exit", "involuntary_switches", "process.context_switches", SWITCH_TYPE, "involuntary",
	  NAMES_AS_IT_IS },
	{ "process.exit", "minor_faults", "process.paging.faults", FAULT_TYPE, "minor", NAMES_AS_IT_IS },
	{ "process.exit", "major_faults", "process.paging.faults", FAULT_TYPE, "major", NAMES_AS_IT_IS },
	{ "process.exit", "rchar_bytes", "skep.process.io", DIRECTION, "read", NAMES_AS_IT_IS },
	{ "process.exit", "wchar_bytes", "skep.process.io", DIRECTION, "write", NAMES_AS_IT_IS },
	{ "process.exit", "read_calls", "skep.process.io.calls", DIRECTION, "read", NAMES_AS_IT_IS },
	{ "process.exit", "write_calls", "skep.process.io.calls", DIRECTION, "write", NAMES_AS_IT_IS },
	{ "process.exit", "read_bytes", "skep.process.disk.io", DIRECTION, "read", NAMES_AS_IT_IS },
	{ "process.exit", "write_bytes", "skep.process.disk.io", DIRECTION, "write", NAMES_AS_IT_IS },
	{ "process.exit", "rss_peak_bytes", "skep.process.memory.peak", NULL, NULL, NAMES_SPREAD },
	{ "process.exit", "maxrss_bytes", NULL, NULL, NULL, NAMES_NOT },
	{ "process.exit", "threads_peak", NULL, NULL, NULL, NAMES_NOT },
	{ "process.exit", "oom_limit_bytes", NULL, NULL, NULL, NAMES_NOT },
	{ "process.exit", "oom_usage_bytes", NULL, NULL, NULL, NAMES_NOT },
	{ "process.exit", "oom_peak_bytes", NULL, NULL, NULL, NAMES_NOT },

	{ "run", "memory_peak_bytes", "skep.run.memory.peak", NULL, NULL, NAMES_SPREAD },
	{ "run", "processes_seen", "skep.run.processes", NULL, NULL, NAMES_AS_IT_IS },
	{ "run", "cpus", NULL, NULL, NULL, NAMES_NOT },
	{ "run", "interval_ns", NULL, NULL, NULL, NAMES_NOT },

	{ "ledger", "interval_ns", NULL, NULL, NULL, NAMES_NOT },
	{ "cgroup", "interval_ns", NULL, NULL, NULL, NAMES_NOT },
	{ "loss", "count", "skep.records.lost", NULL, NULL, NAMES_AS_IT_IS },
};

/* Conventions that put the last part of a field's name into an attribute: the names of these attributes. */
static const struct {
	const char *metric, *attribute;
} parted[] = {
	{ "system.cpu.time", "cpu.mode" },
	{ "system.memory.usage", "system.memory.state" },
	{ "system.memory.linux.slab.usage", "system.memory.linux.slab.state" },
	{ "system.paging.usage", "system.paging.state" },
	{ "system.paging.faults", FAULT_TYPE },
	{ "system.paging.operations", "system.paging.direction" },
	{ "system.disk.io", DIRECTION },
	{ "system.disk.operations", DIRECTION },
	{ "system.disk.merged", DIRECTION },
	{ "system.disk.operation_time", DIRECTION },
	{ "system.filesystem.usage", "system.filesystem.state" },
	{ "system.filesystem.inode.usage", "system.filesystem.state" },
	{ "system.network.io", "network.io.direction" },
	{ "system.network.packet.count", "network.io.direction" },
	{ "system.network.errors", "network.io.direction" },
	{ "system.network.packet.dropped", "network.io.direction" },
	{ "hw.gpu.io", "network.io.direction" },
};

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && memcmp(s + len - n, end, n) == 0;
}

/* Builds "skep.cgroup.cpu_throttled.time" from "cgroup" and "cpu_throttled_ns": a metric's name has no unit. */
static int made_name(const struct skep_stream *s, const struct skep_field *f, struct names_metric *ret)
{
	const char *stream = strcmp(s->name, "process.exit") == 0  ? "process"
			     : strcmp(s->name, "tool.sample") == 0 ? "tool"
								   : s->name;
	const char *end = "";
	size_t len = strlen(f->name);
	char *name;

	if (strcmp(f->unit ? f->unit : "", "ns") == 0 && ends_with(f->name, len, "_ns")) {
		len -= 3;
		end = ".time";
	} else if (ends_with(f->name, len, "_bytes")) {
		len -= 6;
	}
	if (asprintf(&name, "skep.%s.%.*s%s", stream, (int)len, f->name, end) < 0)
		return -ENOMEM;
	ret->metric = name;
	ret->made = true;
	return 0;
}

int names_metric(const struct skep_stream *s, const struct skep_field *f, struct names_metric *ret)
{
	*ret = (struct names_metric){ 0 };
	for (size_t i = 0; i < COUNT(special); i++)
		if (strcmp(special[i].stream, s->name) == 0 && strcmp(special[i].field, f->name) == 0) {
			ret->metric = special[i].metric;
			ret->attribute = special[i].attribute;
			ret->value = special[i].value;
			ret->form = special[i].form;
			return 0;
		}
	for (size_t i = 0; i < COUNT(parted); i++) {
		size_t n = strlen(parted[i].metric);

		if (strncmp(f->name, parted[i].metric, n) == 0 && f->name[n] == '.' && !strchr(f->name + n + 1, '.')) {
			ret->metric = parted[i].metric;
			ret->attribute = parted[i].attribute;
			ret->value = f->name + n + 1;
			return 0;
		}
	}
	/* A field with a convention's name; a process's facets ("net.rx_bytes") have no such name. */
	if (strncmp(f->name, "system.", 7) == 0 || strncmp(f->name, "hw.", 3) == 0) {
		ret->metric = f->name;
		return 0;
	}
	return made_name(s, f, ret);
}

void names_metric_clear(struct names_metric *m)
{
	if (m->made)
		free((void *)(uintptr_t)m->metric);
	*m = (struct names_metric){ 0 };
}

/* The attribute name of fields whose name has no dot; NULL: the sink omits the field. */
static const struct {
	const char *field, *name;
} attributes[] = {
	{ "run", NULL },
	{ "task_id", NULL },
	{ "traceparent", NULL },
	{ "upid", NULL },
	{ "controllers", NULL },
	{ "gone", NULL },
	{ "before", NULL },
	{ "path", NULL },
	{ "file", NULL },
	{ "source", NULL },
	{ "model", NULL },
	{ "throttle_reasons", NULL },
	{ "utilization_source", NULL },
	{ "pci_address", NULL },
	{ "pipeline", NAME_PIPELINE },
	{ "task", NAME_TASK },
	{ "tool", NAME_TOOL },
	{ "container", NAME_CONTAINER },
	{ "container_name", NAME_CONTAINER_NAME },
	{ "container_image", NAME_CONTAINER_IMAGE },
	{ "pod", NAME_POD },
	{ "namespace", NAME_NAMESPACE },
	{ "unit", NAME_UNIT },
	{ "cgroup", NAME_CGROUP },
	{ "device", "system.device" },
	{ "operation", "disk.io.direction" },
	{ "mountpoint", "system.filesystem.mountpoint" },
	{ "direction", "skep.direction" },
	{ "state", "skep.state" },
	{ "stream", "skep.stream" },
	{ "where", "skep.where" },
	{ "instance", "skep.instance" },
	{ "account", "skep.account" },
	{ "item", "skep.item" },
	{ "kind", "skep.kind" },
	{ "issuer", "skep.issuer" },
	{ "class", "skep.class" },
	{ "type", "skep.type" },
	{ "resource", "skep.resource" },
	{ "driver", "hw.driver_version" },
	{ "ring", "skep.ring" },
	{ "rotational", NULL },
	{ "stacked", "skep.stacked" },
	{ "loopback", "skep.loopback" },
	{ "other", NULL },
	{ "gpu_instance", "skep.gpu_instance" },
};

const char *names_attribute(const struct skep_stream *s, const struct skep_field *f)
{
	bool number = f->type == SKEP_T_U64 || f->type == SKEP_T_I64;

	(void)s;
	if (f->type != SKEP_T_STR && f->type != SKEP_T_BOOL && !number)
		return NULL; /* times, identities, addresses and lists would make too many series */
	for (size_t i = 0; i < COUNT(attributes); i++)
		if (strcmp(attributes[i].field, f->name) == 0)
			return attributes[i].name;
	/* A number that is an attribute is an id, unless the table lists it. */
	return number ? NULL : f->name;
}
