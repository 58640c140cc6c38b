/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/types.c - reads the kernel's type information and indexes it by name.
 *
 * libbpf reads it for each object again, and compares all 130,000 names for each question.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <skep/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct types {
	struct skep_kernel_types all; /* first: `next` gets its address */
	const char *first;            /* type */
	const char *strings;
	uint32_t types_size, strings_size;
	uint32_t *offsets;
	uint32_t *slots; /* ids by name; 0: free */
	uint32_t mask;   /* their number - 1 */
	void *mapped, *read; /* the file, one of them */
	size_t mapped_size;
};

/* Without a key: no user chooses the names of types to fill one chain. */
static uint32_t hash_of(const char *name, size_t len)
{
	uint64_t hash = len, word;

	for (; len >= sizeof(word); name += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, name, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, name, len);
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(hash >> 32);
}

static uint32_t next_of(const struct skep_kernel_types *all, const char *name, uint32_t len, uint32_t after)
{
	const struct types *t = (const struct types *)(const void *)all;

	/* types of one name lie behind one another in the order of their ids */
	for (uint32_t at = hash_of(name, len) & t->mask; t->slots[at]; at = (at + 1) & t->mask) {
		const uint32_t id = t->slots[at];
		const char *its = t->strings + skep_types_at(all, id)->name_off;

		if (id > after && strncmp(its, name, len) == 0 && its[len] == '\0')
			return id;
	}
	return 0;
}

/* Bytes of a type with what follows it; 0: a kind that is newer than this program. */
static size_t size_of(const struct btf_type *type)
{
	const size_t n = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return sizeof(*type);
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(*type) + sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(*type) + sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return sizeof(*type) + n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return sizeof(*type) + n * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return sizeof(*type) + n * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return sizeof(*type) + n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return sizeof(*type) + n * sizeof(struct btf_var_secinfo);
	default:
		return 0;
	}
}

static bool indexed(const struct btf_type *type)
{
	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_FUNC:
	case BTF_KIND_VAR:
		return type->name_off != 0;
	default:
		return false;
	}
}

/* Finds where each type begins, and how many have a name. */
static int scan(struct types *t, uint32_t *ret_named)
{
	/* a type has 12 bytes at least; pages that stay empty cost nothing */
	const uint32_t room = t->types_size / (uint32_t)sizeof(struct btf_type) + 1;
	uint32_t id = 1, named = 0;

	t->offsets = malloc(room * sizeof(*t->offsets));
	if (!t->offsets)
		return -ENOMEM;
	t->offsets[0] = 0;
	for (uint32_t at = 0; at < t->types_size; id++) {
		const struct btf_type *type = (const void *)(t->first + at);
		const uint32_t left = t->types_size - at;
		size_t size = left < sizeof(*type) ? 0 : size_of(type);

		if (size == 0 || size > left || type->name_off >= t->strings_size)
			return -EINVAL;
		t->offsets[id] = at;
		named += indexed(type);
		at += (uint32_t)size;
	}
	t->all.count = id;
	t->all.offsets = t->offsets;
	*ret_named = named;
	return 0;
}

static int make_index(struct types *t, uint32_t named)
{
	uint32_t slots = 16;

	while (slots < named + named / 2)
		slots *= 2;
	t->slots = calloc(slots, sizeof(*t->slots));
	if (!t->slots)
		return -ENOMEM;
	t->mask = slots - 1;
	for (uint32_t id = 1; id < t->all.count; id++) {
		const struct btf_type *type = skep_types_at(&t->all, id);
		const char *name = t->strings + type->name_off;
		uint32_t at;

		if (!indexed(type))
			continue;
		at = hash_of(name, strlen(name)) & t->mask;
		while (t->slots[at])
			at = (at + 1) & t->mask;
		t->slots[at] = id;
	}
	return 0;
}

/* Checks the header, so that scan() and texts stay within the file. */
static int take(struct types *t, const void *btf, size_t size)
{
	const struct btf_header *h = btf;

	if (!h || size < sizeof(*h) || h->magic != BTF_MAGIC || h->version != BTF_VERSION || h->hdr_len < sizeof(*h) ||
	    (uint64_t)h->hdr_len + h->type_off + h->type_len > size ||
	    (uint64_t)h->hdr_len + h->str_off + h->str_len > size || h->str_len == 0 || h->type_off % 4 != 0)
		return -EINVAL;
	t->all = (struct skep_kernel_types){ .size = sizeof(t->all), .btf = btf, .next = next_of };
	t->first = (const char *)btf + h->hdr_len + h->type_off;
	t->strings = (const char *)btf + h->hdr_len + h->str_off;
	t->types_size = h->type_len;
	t->strings_size = h->str_len;
	return t->strings[0] || t->strings[t->strings_size - 1] ? -EINVAL : 0;
}

static int index_of(struct types *t, const void *btf, size_t size)
{
	uint32_t named;
	int err = take(t, btf, size);

	err = err ?: scan(t, &named);
	return err ?: make_index(t, named);
}

/* The kernel gives 4 KiB at a time. */
static int read_all(int fd, char *to, size_t size)
{
	while (size > 0) {
		ssize_t n = read(fd, to, size);

		if (n <= 0)
			return n < 0 ? -errno : -EINVAL;
		to += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Since 6.16 the kernel's own memory can be mapped, which takes no time; before, the file is read. */
static int map_or_read(struct types *t, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	t->mapped_size = (size_t)st.st_size;
	if (t->mapped_size == 0)
		return -EINVAL;
	t->mapped = mmap(NULL, t->mapped_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (t->mapped != MAP_FAILED)
		return 0;
	t->mapped = NULL;
	t->read = malloc(t->mapped_size);
	return t->read ? read_all(fd, t->read, t->mapped_size) : -ENOMEM;
}

int skep_types_read(const char *path, struct skep_kernel_types **ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct types *t;

	if (fd < 0)
		return -errno;
	t = calloc(1, sizeof(*t));
	if (!t) {
		close(fd);
		return -ENOMEM;
	}
	err = map_or_read(t, fd);
	err = err ?: index_of(t, t->mapped ? t->mapped : t->read, t->mapped_size);
	close(fd);
	if (err) {
		skep_types_free(&t->all);
		return err;
	}
	*ret = &t->all;
	return 0;
}

int skep_types_of(const void *btf, size_t size, struct skep_kernel_types **ret)
{
	struct types *t = calloc(1, sizeof(*t));
	int err = t ? index_of(t, btf, size) : -ENOMEM;

	if (err) {
		skep_types_free(t ? &t->all : NULL);
		return err;
	}
	*ret = &t->all;
	return 0;
}

void skep_types_free(struct skep_kernel_types *types)
{
	struct types *t = (struct types *)(void *)types;

	if (!t)
		return;
	if (t->mapped)
		munmap(t->mapped, t->mapped_size);
	free(t->read);
	free(t->offsets);
	free(t->slots);
	free(t);
}
