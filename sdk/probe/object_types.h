/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/object_types.h - a small copy of the kernel's types, for one object.
 */
#ifndef SKEP_SDK_OBJECT_TYPES_H
#define SKEP_SDK_OBJECT_TYPES_H

struct btf;
struct skep_kernel_types;

/* Writes the types that the object's CO-RE relocations name into the file, which it empties before.  0 or -errno. */
int skep_object_types_write(int fd, const struct skep_kernel_types *types, const struct btf *object);

#endif
