/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/fields.c - the stream host.identity, field by field.  Names follow OpenTelemetry's conventions for
 * host.*, os.*, cloud.* and hw.*.
 */
#include "identity.h"

#define ATTR(m_, n_, h_) SKEP_FIELD(struct identity_record, m_, n_, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", h_)
#define LEVEL(m_, n_, u_, h_) SKEP_FIELD(struct identity_record, m_, n_, SKEP_T_U64, SKEP_S_GAUGE, u_, h_)

static const struct skep_field identity_fields[] = {
	ATTR(name, "host.name", "the host's name"),
	ATTR(id, "host.id",
	     "the instance's id in a cloud (option \"cloud\"), else as host.machine_id"),
	ATTR(machine_id, "host.machine_id",
	     "from /etc/machine-id by a keyed hash: stable, and not to be linked with other programs'"),
	ATTR(type, "host.type", "the instance's type in a cloud"),
	ATTR(arch, "host.arch", "amd64, arm64, ..."),
	ATTR(os_type, "os.type", "linux"),
	ATTR(os_name, "os.name", "ID of os-release"),
	ATTR(os_version, "os.version", "VERSION_ID of os-release"),
	ATTR(os_description, "os.description", "PRETTY_NAME of os-release"),
	ATTR(kernel, "os.kernel.release", "as uname -r has it"),
	ATTR(cpu_model, "host.cpu.model.name", "the processor"),
	ATTR(cpu_vendor, "host.cpu.vendor.id", "who made it"),
	ATTR(cpu_family, "host.cpu.family", "its family"),
	ATTR(cpu_model_id, "host.cpu.model.id", "its model"),
	ATTR(cpu_stepping, "host.cpu.stepping", "its stepping"),
	LEVEL(cpus, "system.cpu.logical.count", "{cpu}", "CPUs that are online"),
	LEVEL(cores, "system.cpu.physical.count", "{cpu}", "cores that they are threads of"),
	LEVEL(sockets, "host.cpu.sockets", "{socket}", "processors that these are in"),
	LEVEL(nodes, "host.numa.nodes", "{node}", "NUMA nodes"),
	LEVEL(memory_bytes, "system.memory.limit", "By", "memory that the kernel has"),
	ATTR(hypervisor, "host.hypervisor",
	     "kvm, xen, vmware, microsoft, ...; empty: none is seen"),
	ATTR(hw_vendor, "hw.vendor", "of the machine, as its firmware says"),
	ATTR(hw_product, "hw.model", "of the machine, as its firmware says"),
	ATTR(container, "container.runtime", "skep itself runs in a container of that kind"),
	ATTR(cloud_provider, "cloud.provider", "aws, gcp, azure"),
	ATTR(cloud_platform, "cloud.platform", "aws_ec2, gcp_compute_engine, azure.vm"),
	ATTR(cloud_region, "cloud.region", "region"),
	ATTR(cloud_zone, "cloud.availability_zone", "zone"),
	ATTR(cloud_account, "cloud.account.id", "project (GCP) or subscription (Azure)"),
	ATTR(lifecycle, "cloud.instance.lifecycle",
	     "on-demand, spot; as the provider calls others"),
};
const struct skep_stream identity_stream =
	SKEP_STREAM(struct identity_record, identity_fields, "host.identity", SKEP_ROLE_NONE, 0,
		    "what this machine is; at the start and when something of it changes");
