/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/drm_fdinfo.c - parses a text of /proc/PID/fdinfo/N of a DRM device: lines "drm-KEY: VALUE [UNIT]". Skips
 * unknown keys, as the kernel's documentation asks of readers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drm.h"

struct line {
	const char *key, *value;
	size_t key_len, value_len;
};

static bool next_line(const char **at, struct line *ret)
{
	while (**at) {
		const char *begin = *at, *end = strchrnul(begin, '\n'),
			   *colon = memchr(begin, ':', (size_t)(end - begin));
		const char *value;

		*at = *end ? end + 1 : end;
		if (!colon || strncmp(begin, "drm-", 4) != 0)
			continue;
		for (value = colon + 1; value < end && (*value == ' ' || *value == '\t'); value++)
			;
		while (end > value && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
			end--;
		*ret = (struct line){ begin + 4, value, (size_t)(colon - begin - 4), (size_t)(end - value) };
		return true;
	}
	return false;
}

static bool is(const struct line *l, const char *key)
{
	return strlen(key) == l->key_len && memcmp(key, l->key, l->key_len) == 0;
}

/* The key behind the prefix; NULL: another key. */
static const char *after(const struct line *l, const char *prefix, size_t *ret_len)
{
	size_t n = strlen(prefix);

	if (l->key_len <= n || memcmp(l->key, prefix, n) != 0)
		return NULL;
	*ret_len = l->key_len - n;
	return l->key + n;
}

static void copy(char *to, size_t room, const char *from, size_t len)
{
	if (len >= room)
		len = room - 1;
	memcpy(to, from, len);
	to[len] = '\0';
}

/* A number and its unit. False: not a number. */
static bool number(const struct line *l, uint64_t *ret)
{
	const char *at = l->value, *end = l->value + l->value_len;
	uint64_t v = 0, scale = 1;

	if (at == end || *at < '0' || *at > '9')
		return false;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(*at - '0'), &v))
			return false;
	while (at < end && *at == ' ')
		at++;
	if (end - at == 3 && memcmp(at, "KiB", 3) == 0)
		scale = 1024;
	else if (end - at == 3 && memcmp(at, "MiB", 3) == 0)
		scale = 1048576;
	if (__builtin_mul_overflow(v, scale, &v))
		return false;
	*ret = v;
	return true;
}

static struct drm_engine *engine_of(struct drm_fdinfo *f, const char *name, size_t len)
{
	char cut[sizeof(f->engines[0].name)];

	copy(cut, sizeof(cut), name, len);
	for (uint32_t i = 0; i < f->n_engines; i++)
		if (strcmp(f->engines[i].name, cut) == 0)
			return &f->engines[i];
	if (f->n_engines == DRM_ENGINES) {
		f->engines_left_out++;
		return NULL;
	}
	memcpy(f->engines[f->n_engines].name, cut, sizeof(cut));
	return &f->engines[f->n_engines++];
}

/* Memory of the device itself is called vram (amdgpu, xe, nouveau) or local (i915); the rest is the system's. */
static bool of_device(const char *region, size_t len)
{
	return (len >= 4 && memcmp(region, "vram", 4) == 0) || (len >= 5 && memcmp(region, "local", 5) == 0);
}

static void sum(uint64_t *to, uint64_t v)
{
	if (__builtin_add_overflow(*to, v, to))
		*to = UINT64_MAX;
}

int drm_fdinfo_parse(const char *text, struct drm_fdinfo *ret)
{
	struct drm_fdinfo f = { .n_engines = 0 };
	bool resident = strstr(text, "drm-resident-") != NULL; /* otherwise the older drm-memory-, its alias */
	struct drm_engine *e;
	struct line l;
	const char *rest;
	size_t len;
	uint64_t v;

	while (next_line(&text, &l)) {
		if (is(&l, "driver")) {
			copy(f.driver, sizeof(f.driver), l.value, l.value_len);
		} else if (is(&l, "pdev")) {
			copy(f.pdev, sizeof(f.pdev), l.value, l.value_len);
		} else if (is(&l, "client-id")) {
			f.has_client = number(&l, &f.client);
		} else if (after(&l, "engine-capacity-", &len)) {
			; /* the number of engines: busy time is the sum over them */
		} else if ((rest = after(&l, "engine-", &len)) && number(&l, &v)) {
			e = engine_of(&f, rest, len);
			if (e) {
				e->busy_ns = v;
				e->has_ns = true;
			}
		} else if ((rest = after(&l, "total-cycles-", &len)) && number(&l, &v)) {
			e = engine_of(&f, rest, len);
			if (e)
				e->total_cycles = v;
		} else if ((rest = after(&l, "cycles-", &len)) && number(&l, &v)) {
			e = engine_of(&f, rest, len);
			if (e)
				e->cycles = v;
		} else if ((rest = after(&l, resident ? "resident-" : "memory-", &len)) && number(&l, &v)) {
			f.has_memory = true;
			f.has_device_memory = f.has_device_memory || of_device(rest, len);
			sum(of_device(rest, len) ? &f.device_memory : &f.other_memory, v);
		}
	}
	if (!f.driver[0] || !f.has_client)
		return -ENOENT;
	*ret = f;
	return 0;
}

enum drm_unit drm_engine_unit(const char *name)
{
	static const char *const copies[] = { "copy", "dma", "bcs", "sdma", "tfu" };
	static const char *const videos[] = { "video", "enc", "dec", "vcs", "vecs", "jpeg",
					      "jpg",   "vpe", "uvd", "vce", "vcn" };

	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		if (strncmp(name, copies[i], strlen(copies[i])) == 0)
			return DRM_COPY;
	for (size_t i = 0; i < sizeof(videos) / sizeof(videos[0]); i++)
		if (strncmp(name, videos[i], strlen(videos[i])) == 0)
			return DRM_VIDEO;
	return DRM_BUSY;
}
