/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scripts/cppcheck.h - macros of libraries that cppcheck, which does not see their
 * headers, needs to parse our sources.  For "make lint" only.
 */
#define LIBBPF_OPTS(type, name, ...) struct type name = { .sz = sizeof(struct type), __VA_ARGS__ }
#define json_object_foreach(object, key, value) \
	for (key = key_of(object); key && (value = value_of(key)); key = key_after(object, key))
#define json_array_foreach(array, index, value) \
	for (index = 0; index < size_of(array) && (value = item_of(array, index)); index++)
