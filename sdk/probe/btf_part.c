/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/btf_part.c - the part of the kernel's type information that an object's CO-RE relocations read.
 *
 * For each of an object's types libbpf compares the names of all types of the kernel, 130,000: 0.7 ms a type, and a
 * large object has 30.  The part has the types with the object's names, and what they contain.  A relocation never
 * follows a pointer, so pointers point to void here.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <skep/btf.h>
#include <skep/hash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAMES 1024u /* slots of the table of names; a power of two */

struct part {
	const struct btf *all;
	const char *names[NAMES]; /* of the object; lengths exclude a flavour: task_struct___old_state */
	size_t lengths[NAMES];
	uint32_t *ids;    /* by the kernel's id: the id in the part; 0: not in it */
	uint32_t *chosen; /* by the id in the part - 1: the kernel's id */
	uint32_t n;
};

static bool named(const struct btf_type *t)
{
	return btf_is_composite(t) || btf_is_any_enum(t) || btf_is_typedef(t);
}

/* The slot of a name: its own, or a free one.  NULL: the table is full. */
static const char **slot_of(struct part *p, const char *name, size_t len)
{
	static const struct skep_hash_key no_key; /* the names are the kernel's and our own */
	const uint64_t hash = skep_hash(&no_key, name, len);

	for (uint32_t i = 0; i < NAMES; i++) {
		uint32_t at = (uint32_t)(hash + i) & (NAMES - 1);

		if (!p->names[at] || (p->lengths[at] == len && memcmp(p->names[at], name, len) == 0))
			return &p->names[at];
	}
	return NULL;
}

static int names_of(struct part *p, const struct btf *object)
{
	for (uint32_t id = 1; id < btf__type_cnt(object); id++) {
		const struct btf_type *t = btf__type_by_id(object, id);
		const char *name = btf__name_by_offset(object, t->name_off), *flavour, **slot;
		size_t len;

		if (!named(t) || !name || !*name)
			continue;
		flavour = strstr(name, "___");
		len = flavour ? (size_t)(flavour - name) : strlen(name);
		slot = slot_of(p, name, len);
		if (!slot)
			return -E2BIG;
		*slot = name;
		p->lengths[slot - p->names] = len;
	}
	return 0;
}

/* The id in the part of a type of the kernel, which the function adds. */
static uint32_t add(struct part *p, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(p->all, id);

	if (!id || btf_is_func_proto(t))
		return 0;
	if (!p->ids[id]) {
		p->chosen[p->n++] = id;
		p->ids[id] = p->n;
	}
	return p->ids[id];
}

/* Bytes of a type with what follows it; 0: a kind that no type of the part contains. */
static size_t size_of(const struct btf_type *t)
{
	switch (btf_kind(t)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return sizeof(*t);
	case BTF_KIND_INT:
		return sizeof(*t) + sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(*t) + sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return sizeof(*t) + btf_vlen(t) * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return sizeof(*t) + btf_vlen(t) * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return sizeof(*t) + btf_vlen(t) * sizeof(struct btf_enum64);
	default:
		return 0;
	}
}

/* Copies a type and gives it the part's ids of those that it contains, which the function adds. */
static void copy(struct part *p, const struct btf_type *t, size_t size, void *at)
{
	struct btf_type *to = at;

	memcpy(at, t, size);
	switch (btf_kind(t)) {
	case BTF_KIND_PTR:
		to->type = 0;
		break;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		to->type = add(p, t->type);
		break;
	case BTF_KIND_ARRAY:
		btf_array(to)->type = add(p, btf_array(t)->type);
		btf_array(to)->index_type = add(p, btf_array(t)->index_type);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		for (uint32_t i = 0; i < btf_vlen(t); i++)
			btf_members(to)[i].type = add(p, btf_members(t)[i].type);
		break;
	default:
		break;
	}
}

static int write_all(int fd, const void *data, size_t size)
{
	for (const char *at = data; size;) {
		ssize_t n = write(fd, at, size);

		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int write_part(int fd, const struct btf_header *kernel, const void *types, size_t size)
{
	struct btf_header header = *kernel;
	const char *strings = (const char *)kernel + kernel->hdr_len + kernel->str_off;
	int err;

	header.hdr_len = sizeof(header);
	header.type_off = 0;
	header.type_len = header.str_off = (uint32_t)size;
	err = ftruncate(fd, 0) ? -errno : 0;
	err = err ?: lseek(fd, 0, SEEK_SET) ? -errno : 0;
	err = err ?: write_all(fd, &header, sizeof(header));
	err = err ?: write_all(fd, types, size);
	return err ?: write_all(fd, strings, kernel->str_len);
}

int skep_btf_part_new(char path[SKEP_BTF_PART_PATH])
{
	int fd = memfd_create("skep-btf", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	snprintf(path, SKEP_BTF_PART_PATH, "/proc/self/fd/%d", fd);
	return fd;
}

int skep_btf_part_write(int fd, const struct btf *all, const struct btf *object)
{
	struct part *p = calloc(1, sizeof(*p));
	uint32_t count = btf__type_cnt(all), len;
	const struct btf_header *kernel = btf__raw_data(all, &len);
	size_t used = 0, size;
	char *types = NULL;
	int err;

	if (!p || !kernel) {
		err = -ENOMEM;
		goto out;
	}
	p->all = all;
	p->ids = calloc(count, sizeof(*p->ids));
	p->chosen = calloc(count, sizeof(*p->chosen));
	types = malloc(kernel->type_len);
	err = p->ids && p->chosen && types ? names_of(p, object) : -ENOMEM;
	if (err)
		goto out;
	for (uint32_t id = 1; id < count; id++) {
		const struct btf_type *t = btf__type_by_id(all, id);
		const char *name = named(t) ? btf__name_by_offset(all, t->name_off) : NULL, **slot;

		if (!name || !*name)
			continue;
		slot = slot_of(p, name, strlen(name));
		if (slot && *slot)
			add(p, id);
	}
	/* copy() adds to `chosen` meanwhile */
	for (uint32_t i = 0; i < p->n; i++) {
		const struct btf_type *t = btf__type_by_id(all, p->chosen[i]);

		size = size_of(t);
		if (!size) {
			err = -EINVAL;
			goto out;
		}
		copy(p, t, size, types + used);
		used += size;
	}
	err = write_part(fd, kernel, types, used);
out:
	free(types);
	if (p) {
		free(p->chosen);
		free(p->ids);
	}
	free(p);
	return err;
}
