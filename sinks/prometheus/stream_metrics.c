/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of streams whose metrics do not follow from their field table alone.
 */
#include "sinks/prometheus/stream_metrics.h"

#include <string.h>

#define GPU_LABELS "hw.id=device hw.name=model"

static const struct stream_metrics table[] = {
	{
		.stream = "process.exit",
		.prefix = "process",
		.labels = "run pipeline task tool container container_name container_image=container_image_name "
			  "pod=k8s_pod_name namespace=k8s_namespace_name state",
		.count = "skep_process_images_total",
		.count_help = "images of processes that have ended (state replaced: by another exec)",
	},
	{ .stream = "process.sample", .flags = METRICS_SKIP },
	{ .stream = "task", .flags = METRICS_SKIP }, /* process.exit has the sums, by task */
	{
		.stream = "tool.sample",
		.prefix = "tool",
		.flags = METRICS_SUM, /* a tool may occur in several runs */
		.labels = "run tool",
		.skip = " interval_ns ",
	},
	{
		.stream = "run",
		.flags = METRICS_NO_VALUES,
		.labels = "run pipeline engine state",
		.count = "skep_runs_total",
		.count_help = "runs that have begun (state running) or ended (state ended)",
	},
	{
		.stream = "ledger",
		.flags = METRICS_UP_DOWN | METRICS_NOT_RUNS,
		.labels = "account item kind",
		.skip = " interval_ns ",
	},
	{
		.stream = "finding",
		.flags = METRICS_NO_VALUES | METRICS_NO_CONTEXT, /* a label of a container would be a series for each */
		.labels = "kind severity state",
		.count = "skep_findings_total",
		.count_help = "findings that have begun (state open) or are over (state closed)",
	},
	{ .stream = "findings", .labels = "kind" },
	{ .stream = "loss", .labels = "instance stream where" },
	{
		.stream = "host.identity",
		.flags = METRICS_INFO | METRICS_NO_VALUES,
		.labels = "host.id host.type host.arch os.name os.version os.kernel.release=kernel cloud.provider "
			  "cloud.region",
		.count = "skep_host_info",
		.count_help = "what the host is; always 1",
	},
	{ .stream = "host.cpu", .labels = "cpu.logical_number=cpu" },
	{ .stream = "host.disk", .labels = "system.device=device" },
	{
		.stream = "host.filesystem",
		.labels = "system.device=device system.filesystem.mountpoint=mountpoint system.filesystem.type=type",
	},
	{ .stream = "host.network", .labels = "network.interface.name=interface" },
	{ .stream = "host.sensor", .labels = "hw.id=sensor hw.name=type" },
	{ .stream = "cgroup", .labels = "cgroup", .skip = " interval_ns " },
	{ .stream = "cgroup.io", .labels = "operation issuer" },
	{ .stream = "disk.io", .labels = "device operation" },
	{ .stream = "fs.io", .labels = "mountpoint type" },
	{ .stream = "net.connection", .flags = METRICS_SKIP }, /* net.peer reports the same bytes */
	{ .stream = "net.peer", .prefix = "net", .labels = "network.transport=transport direction" },
	{ .stream = "gpu.device", .labels = GPU_LABELS, .skip = " interval_ns " },
	{ .stream = "gpu.activity", .labels = "hw.id=device", .skip = " interval_ns " },
	{
		.stream = "gpu.event",
		.labels = "hw.id=device kind xid",
		.count = "skep_gpu_events_total",
		.count_help = "errors that a device reported",
	},
};

const struct stream_metrics *stream_metrics_find(const char *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].stream, name) == 0)
			return &table[i];
	return NULL;
}
