/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/btf.h - reads the kernel's type information (BTF) for a probe: tracepoints and their arguments, members of
 * structs, helpers of BPF programs.  A probe checks these before it loads, and loads only programs that this kernel can
 * run.  skep/types.h answers the same questions, and the plugin host reads its types once for all plugins: use that in
 * new code, with skep/object.h.  Link libskep-probe (pkg-config skep-probe).  Any thread; the two functions with an
 * instance: loop thread.
 */
#ifndef SKEP_BTF_H
#define SKEP_BTF_H

#include <skep/plugin.h>
#include <stdbool.h>
#include <stddef.h>

struct btf; /* <bpf/btf.h> */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Loads the kernel's type information; the caller frees it with btf__free().  0, or -EOPNOTSUPP by host->fail().  Takes
 * up to 50 ms: load it once.
 */
int skep_btf_load(struct skep_instance *inst, const struct skep_host *host, struct btf **ret);
/*
 * Does the kernel have all n of these tracepoints?  0, or -EOPNOTSUPP by host->fail(), which names the first that is
 * missing.
 */
int skep_btf_need(struct skep_instance *inst, const struct skep_host *host, const struct btf *btf,
		  const char *const tracepoints[], size_t n);

bool skep_btf_has_tracepoint(const struct btf *btf, const char *name);
bool skep_btf_has_function(const struct btf *btf, const char *name);
bool skep_btf_has_member(const struct btf *btf, const char *type, const char *member); /* type: a struct's bare name */
bool skep_btf_has_helper(const struct btf *btf, const char *name);                     /* "BPF_FUNC_..." */

/*
 * A small copy of the kernel's type information, with the types that an object's CO-RE relocations name: libbpf finds a
 * type there in no time.  Before opening the object: _new() makes a file and its path, for bpf_object_open_opts'
 * btf_custom_path.  Returns a descriptor, which the caller closes after the load, or -errno: load without it.
 * Between opening and loading: _write() fills it.  all: of skep_btf_load(); object: bpf_object__btf().  0 or -errno.
 */
#define SKEP_BTF_PART_PATH 32
int skep_btf_part_new(char path[SKEP_BTF_PART_PATH]);
int skep_btf_part_write(int fd, const struct btf *all, const struct btf *object);

/* Number of arguments of a tracepoint's program, or -ENOENT. */
int skep_btf_arguments(const struct btf *btf, const char *tracepoint);
/* Is argument i (0: the first) a pointer?  false when the tracepoint has no argument i. */
bool skep_btf_argument_is_pointer(const struct btf *btf, const char *tracepoint, unsigned i);
/* Returns the number of the argument (0: the first) that is a pointer to struct `type`, or -ENOENT. */
int skep_btf_argument(const struct btf *btf, const char *tracepoint, const char *type);

#ifdef __cplusplus
}
#endif

#endif
