/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/object_types.h - what an object needs of the kernel's types before it loads: for object.c.
 */
#ifndef SKEP_SDK_OBJECT_TYPES_H
#define SKEP_SDK_OBJECT_TYPES_H

struct bpf_object;
struct btf;
struct skep_kernel_types;

/* Writes the types that the object's CO-RE relocations name into the file, which it empties before.  0 or -errno. */
int skep_object_types_write(int fd, const struct skep_kernel_types *types, const struct btf *object);
/* Replaces the calls of skep/cast.h in programs that load.  0 or -errno. */
int skep_object_cast(const struct skep_kernel_types *types, struct bpf_object *object);

#endif
