/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/identity.h - what this machine is.
 */
#ifndef SKEP_HOST_IDENTITY_H
#define SKEP_HOST_IDENTITY_H

#include "cloud.h"
#include "host.h"

#define IDENTITY_VALUE 256

/* os.c: names of the host and its system */
struct identity_os {
	char name[IDENTITY_VALUE];
	char machine_id[33];
	char arch[32];
	char kernel[IDENTITY_VALUE];
	char os[IDENTITY_VALUE], version[IDENTITY_VALUE], description[IDENTITY_VALUE];
};
void identity_os_read(int root, struct identity_os *ret);
/* From the text of a file: 32 hexadecimal digits. -EBADMSG: it is not a machine's id. */
int identity_machine_id(const char *text, char ret[33]);
void identity_os_release(struct text, struct identity_os *ret);
const char *identity_arch(const char *uname_machine);

/* machine.c: the processor, what is below it, what is around it */
struct identity_machine {
	char model[IDENTITY_VALUE], vendor[IDENTITY_VALUE], family[32], model_id[32], stepping[32];
	uint64_t cpus, cores, sockets, nodes;
	uint64_t memory_bytes;
	char hypervisor[32];
	char hw_vendor[IDENTITY_VALUE], hw_product[IDENTITY_VALUE];
	char container[32];
	bool guest; /* the processor says that it is virtual */
};
/* ask_cpu: the processor itself, where root is this machine's */
void identity_machine_read(int root, bool ask_cpu, struct identity_machine *ret);
void identity_cpuinfo(struct text, struct identity_machine *ret);

struct identity {
	struct identity_os os;
	struct identity_machine machine;
	bool told; /* as it is now */
	uint64_t cpus_told;
};
struct identity *identity_free(struct identity *);
struct cloud *cloud_free(struct cloud *);

#endif
