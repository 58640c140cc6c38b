/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/identity.h - the record host.identity, its parts, and the probe's state.
 */
#ifndef SKEP_IDENTITY_IDENTITY_H
#define SKEP_IDENTITY_IDENTITY_H

#include <skep/plugin.h>

#include "cloud.h"
#include "sdk/probe/text.h"

#define IDENTITY_VALUE 256
#define IDENTITY_ONLINE 4096 /* the kernel's list of CPUs, at most a page */

struct identity_record {
	struct skep_str name, id, machine_id, arch;
	struct skep_str os_type, os_name, os_version, os_description, kernel;
	struct skep_str cpu_model, cpu_vendor, cpu_family, cpu_model_id, cpu_stepping;
	uint64_t cpus, cores, sockets, nodes;
	uint64_t memory_bytes;
	struct skep_str hypervisor, hw_vendor, hw_product, container;
	struct skep_str cloud_provider, cloud_platform, cloud_region, cloud_zone, cloud_account, type, lifecycle;
};
extern const struct skep_stream identity_stream;

/* os.c: names of the host and of its operating system */
struct identity_os {
	char name[IDENTITY_VALUE];
	char machine_id[33];
	char arch[32];
	char kernel[IDENTITY_VALUE];
	char os[IDENTITY_VALUE], version[IDENTITY_VALUE], description[IDENTITY_VALUE];
};
void identity_os_read(int root, struct identity_os *ret);
/* Hashes the text of /etc/machine-id, 32 hexadecimal digits. -EBADMSG: the text is no machine id. */
int identity_machine_id(const char *text, char ret[33]);
void identity_os_release(struct text, struct identity_os *ret);
const char *identity_arch(const char *uname_machine);

/* machine.c: processor, topology, memory, firmware, hypervisor, container */
struct identity_machine {
	char model[IDENTITY_VALUE], vendor[IDENTITY_VALUE], family[32], model_id[32], stepping[32];
	char online[IDENTITY_ONLINE]; /* CPUs: "0-3,8" */
	uint64_t cpus, cores, sockets, nodes;
	uint64_t memory_bytes;
	char hypervisor[32];
	char hw_vendor[IDENTITY_VALUE], hw_product[IDENTITY_VALUE];
	char container[32];
	bool guest; /* the processor reports a hypervisor */
};
/* ask_cpu: execute cpuid as well, which is right only where root is this machine's own "/" */
void identity_machine_read(int root, bool ask_cpu, struct identity_machine *ret);
void identity_cpuinfo(struct text, struct identity_machine *ret);
/* Does the machine have other CPUs online than these, or a hundredth more or less memory? */
bool identity_machine_changed(int root, const struct identity_machine *);

struct identity_probe {
	/* options */
	const char *opt_root, *opt_cloud, *opt_cloud_endpoint;

	const struct skep_host *host;
	int root; /* O_PATH of opt_root; -1 before open() and after close() */
	struct identity_os os;
	struct identity_machine machine;
	bool reported; /* a record has what os, machine and cloud have now */

	struct cloud *cloud; /* NULL: option "off" */
	bool cloud_busy;     /* a worker thread has *cloud */
	unsigned cloud_tries;
	uint64_t cloud_next_ns; /* when to ask next; UINT64_MAX: never again */
};

#endif
