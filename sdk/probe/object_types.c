/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/object_types.c - copies the part of the kernel's types that an object's CO-RE relocations read.
 *
 * For each of an object's types libbpf compares the names of all types of the kernel, 130,000: 0.7 ms a type, and a
 * large object has 30.  The part has the types with the object's names, and the types of their members.  A relocation
 * never follows a pointer, so pointers point to void here.
 */
#include "sdk/probe/object_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <linux/btf.h>
#include <skep/types.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bytes {
	char *at;
	uint32_t size, room;
};

struct part {
	const struct skep_kernel_types *all;
	uint32_t *ids;    /* by the kernel's id: the id in the part; 0: not in it */
	uint32_t *chosen; /* by the id in the part - 1: the kernel's id */
	uint32_t n;
	struct bytes types, texts;
};

static bool named(const struct btf_type *t)
{
	return btf_is_composite(t) || btf_is_any_enum(t) || btf_is_typedef(t);
}

/* Returns the offset of the appended bytes, or 0: no memory.  The first text is "". */
static uint32_t append(struct bytes *b, const void *data, size_t size)
{
	const uint32_t at = b->size;
	uint32_t room = b->room;
	char *grown;

	while (room - at < size)
		room = room ? 2 * room : 16384;
	if (room != b->room) {
		grown = realloc(b->at, room);
		if (!grown)
			return 0;
		b->at = grown;
		b->room = room;
	}
	memcpy(b->at + at, data, size);
	b->size += (uint32_t)size;
	return at;
}

/* The id in the part of a type of the kernel, which the function adds. */
static uint32_t add(struct part *p, uint32_t id)
{
	if (!id || id >= p->all->count || btf_is_func_proto(skep_types_at(p->all, id)))
		return 0;
	if (!p->ids[id]) {
		p->chosen[p->n++] = id;
		p->ids[id] = p->n;
	}
	return p->ids[id];
}

static void add_names_of(struct part *p, const struct btf *object)
{
	for (uint32_t id = 1; id < btf__type_cnt(object); id++) {
		const struct btf_type *t = btf__type_by_id(object, id);
		const char *name = btf__name_by_offset(object, t->name_off), *flavour;
		uint32_t len;

		if (!named(t) || !name || !*name)
			continue;
		flavour = strstr(name, "___"); /* task_struct___old_state */
		len = (uint32_t)(flavour ? (size_t)(flavour - name) : strlen(name));
		for (uint32_t of = p->all->next(p->all, name, len, 0); of; of = p->all->next(p->all, name, len, of))
			if (named(skep_types_at(p->all, of)))
				add(p, of);
	}
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

static int text(struct part *p, uint32_t *offset)
{
	const char *its = skep_types_text(p->all, *offset);

	if (!*offset)
		return 0;
	*offset = append(&p->texts, its, strlen(its) + 1);
	return *offset ? 0 : -ENOMEM;
}

/* Replaces the name and the type ids in a copied type by those of the part; adds the types that the part lacks. */
static int translate(struct part *p, struct btf_type *t)
{
	int err = text(p, &t->name_off);

	switch (btf_kind(t)) {
	case BTF_KIND_PTR:
		t->type = 0;
		break;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		t->type = add(p, t->type);
		break;
	case BTF_KIND_ARRAY:
		btf_array(t)->type = add(p, btf_array(t)->type);
		btf_array(t)->index_type = add(p, btf_array(t)->index_type);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		for (uint32_t i = 0; i < btf_vlen(t) && !err; i++) {
			btf_members(t)[i].type = add(p, btf_members(t)[i].type);
			err = text(p, &btf_members(t)[i].name_off);
		}
		break;
	case BTF_KIND_ENUM:
		for (uint32_t i = 0; i < btf_vlen(t) && !err; i++)
			err = text(p, &btf_enum(t)[i].name_off);
		break;
	case BTF_KIND_ENUM64:
		for (uint32_t i = 0; i < btf_vlen(t) && !err; i++)
			err = text(p, &btf_enum64(t)[i].name_off);
		break;
	default:
		break;
	}
	return err;
}

static int copy(struct part *p, uint32_t id)
{
	const struct btf_type *t = skep_types_at(p->all, id);
	const size_t size = size_of(t);
	const uint32_t before = p->types.size;

	if (!size)
		return -EINVAL;
	append(&p->types, t, size);
	if (p->types.size == before)
		return -ENOMEM;
	return translate(p, (void *)(p->types.at + before));
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

static int write_part(int fd, const struct part *p)
{
	const struct btf_header header = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(header),
		.type_len = p->types.size,
		.str_off = p->types.size,
		.str_len = p->texts.size,
	};
	int err = ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) ? -errno : 0;

	err = err ?: write_all(fd, &header, sizeof(header));
	err = err ?: write_all(fd, p->types.at, p->types.size);
	return err ?: write_all(fd, p->texts.at, p->texts.size);
}

int skep_object_types_write(int fd, const struct skep_kernel_types *types, const struct btf *object)
{
	struct part p = { .all = types };
	int err = 0;

	p.ids = calloc(types->count, sizeof(*p.ids));
	p.chosen = malloc(types->count * sizeof(*p.chosen));
	append(&p.texts, "", 1);
	if (!p.ids || !p.chosen || !p.texts.size) {
		err = -ENOMEM;
		goto out;
	}
	add_names_of(&p, object);
	/* copy() adds to `chosen` meanwhile */
	for (uint32_t i = 0; i < p.n && !err; i++)
		err = copy(&p, p.chosen[i]);
	err = err ?: write_part(fd, &p);
out:
	free(p.types.at);
	free(p.texts.at);
	free(p.chosen);
	free(p.ids);
	return err;
}
