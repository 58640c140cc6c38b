/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/fields.c - the stream host.identity, field by field.  Names follow OpenTelemetry's conventions for
 * host.*, os.*, cloud.* and hw.*.
 */
#include "identity.h"

#define ATTR(m_, n_, h_) SKEP_FIELD(struct identity_record, m_, n_, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", h_)
#define LEVEL(m_, n_, u_, h_) SKEP_FIELD(struct identity_record, m_, n_, SKEP_T_U64, SKEP_S_GAUGE, u_, h_)

static const struct skep_field identity_fields[] = {
	ATTR(name, "host.name", "hostname"),
	ATTR(id, "host.id", "the instance's id in a cloud (option \"cloud\"), else the same as host.machine_id"),
	ATTR(machine_id, "host.machine_id",
	     "a keyed hash of /etc/machine-id: stable, and different from the ids that other programs derive"),
	ATTR(type, "host.type", "the instance's type in a cloud"),
	ATTR(arch, "host.arch", "amd64, arm64, ..."),
	ATTR(os_type, "os.type", "linux"),
	ATTR(os_name, "os.name", "ID of os-release"),
	ATTR(os_version, "os.version", "VERSION_ID of os-release"),
	ATTR(os_description, "os.description", "PRETTY_NAME of os-release"),
	ATTR(kernel, "os.kernel.release", "release of the kernel, as uname -r prints it"),
	ATTR(cpu_model, "host.cpu.model.name", "model of the processor"),
	ATTR(cpu_vendor, "host.cpu.vendor.id", "vendor of the processor"),
	ATTR(cpu_family, "host.cpu.family", "family of the processor"),
	ATTR(cpu_model_id, "host.cpu.model.id", "model number of the processor"),
	ATTR(cpu_stepping, "host.cpu.stepping", "stepping of the processor"),
	LEVEL(cpus, "system.cpu.logical.count", "{cpu}", "CPUs that are online"),
	LEVEL(cores, "system.cpu.physical.count", "{cpu}", "cores of these CPUs"),
	LEVEL(sockets, "host.cpu.sockets", "{socket}", "sockets of these cores"),
	LEVEL(nodes, "host.numa.nodes", "{node}", "NUMA nodes"),
	LEVEL(memory_bytes, "system.memory.limit", "By", "memory that the kernel manages"),
	ATTR(hypervisor, "host.hypervisor", "kvm, xen, vmware, microsoft, ...; empty: no hypervisor found"),
	ATTR(hw_vendor, "hw.vendor", "vendor of the machine, from its firmware"),
	ATTR(hw_product, "hw.model", "model of the machine, from its firmware"),
	ATTR(container, "container.runtime", "runtime of the container in which skepd itself runs; empty: in none"),
	ATTR(cloud_provider, "cloud.provider", "aws, gcp, azure"),
	ATTR(cloud_platform, "cloud.platform", "aws_ec2, gcp_compute_engine, azure.vm"),
	ATTR(cloud_region, "cloud.region", "region"),
	ATTR(cloud_zone, "cloud.availability_zone", "zone"),
	ATTR(cloud_account, "cloud.account.id", "project (GCP) or subscription (Azure)"),
	ATTR(lifecycle, "cloud.instance.lifecycle", "on-demand, spot, or the provider's own word"),
};
const struct skep_stream identity_stream =
	SKEP_STREAM(struct identity_record, identity_fields, "host.identity", SKEP_ROLE_NONE, 0,
		    "names and properties of this machine; at the start of the probe and on a change");
