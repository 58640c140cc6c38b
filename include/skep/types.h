/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/types.h - asks the kernel's type information (BTF) for tracepoints and their arguments, functions, members of
 * structs, helpers of BPF programs.  A probe asks before it loads, and loads only programs that this kernel can run.
 * The plugin host reads the 5 MB once for all plugins.  Without libbpf; skep/object.h loads objects with these types.
 * Link libskep-probe (pkg-config skep-probe).  Functions with an instance, and all that get its types: loop thread.
 */
#ifndef SKEP_TYPES_H
#define SKEP_TYPES_H

#include <skep/plugin.h>
#include <stdbool.h>
#include <stddef.h>

struct btf_type; /* <linux/btf.h> */

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_TYPES_PATH "/sys/kernel/btf/vmlinux"

/*
 * Gives the types: the plugin host's, or this function reads them for a host that has none.  The plugin calls
 * skep_types_put() in the same callback.  0, or -EOPNOTSUPP by host->fail(): this kernel has no type information.
 */
int skep_types_get(struct skep_instance *inst, const struct skep_host *host, const struct skep_kernel_types **ret);
/* NULL is fine. */
void skep_types_put(struct skep_instance *inst, const struct skep_host *host, const struct skep_kernel_types *types);

/*
 * Reads and indexes a file of types, 5 ms of CPU.  The caller frees them with skep_types_free().  0, -ENOENT, -EINVAL:
 * the file has something else, or another -errno.  Any thread.
 */
int skep_types_read(const char *path, struct skep_kernel_types **ret);
/* Indexes types in memory, which stays the caller's for as long as they are used.  0 or -errno as above. */
int skep_types_of(const void *btf, size_t size, struct skep_kernel_types **ret);
void skep_types_free(struct skep_kernel_types *types); /* NULL is fine */

/* Id of the first type of that name and kind (BTF_KIND_...), or 0: there is none. */
uint32_t skep_types_find(const struct skep_kernel_types *types, const char *name, uint32_t kind);
/* The type with that id, for 1 to types->count - 1. */
const struct btf_type *skep_types_at(const struct skep_kernel_types *types, uint32_t id);
/* The text at an offset (name_off), "" for one that the types do not have. */
const char *skep_types_text(const struct skep_kernel_types *types, uint32_t offset);

/*
 * Does the kernel have all n of these tracepoints?  0, or -EOPNOTSUPP by host->fail(), which names the first that is
 * missing.
 */
int skep_types_need(struct skep_instance *inst, const struct skep_host *host, const struct skep_kernel_types *types,
		    const char *const tracepoints[], size_t n);
bool skep_types_has_tracepoint(const struct skep_kernel_types *types, const char *name);
bool skep_types_has_function(const struct skep_kernel_types *types, const char *name);
/* type: a struct's bare name */
bool skep_types_has_member(const struct skep_kernel_types *types, const char *type, const char *member);
bool skep_types_has_helper(const struct skep_kernel_types *types, const char *name); /* "BPF_FUNC_..." */

/* Number of arguments of a tracepoint's program, or -ENOENT. */
int skep_types_arguments(const struct skep_kernel_types *types, const char *tracepoint);
/* Is argument i (0: the first) a pointer?  false when the tracepoint has no argument i. */
bool skep_types_argument_is_pointer(const struct skep_kernel_types *types, const char *tracepoint, unsigned i);
/* Returns the number of the argument (0: the first) that is a pointer to struct `type`, or -ENOENT. */
int skep_types_argument(const struct skep_kernel_types *types, const char *tracepoint, const char *type);

#ifdef __cplusplus
}
#endif

#endif
