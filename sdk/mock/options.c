/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/mock/options.c - parses options of a plugin from text, as in a configuration.
 */
#include <string.h>

#include "sdk/mock/priv.h"

bool mock_option_get(const struct skep_plugin *plugin, int i, struct skep_option *ret)
{
	size_t size = plugin->option_size < sizeof(*ret) ? plugin->option_size : sizeof(*ret);

	if (!plugin->options)
		return false;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, (const char *)plugin->options + (size_t)i * plugin->option_size, size);
	return ret->name != NULL;
}

int mock_option_find(const struct skep_plugin *plugin, const char *name, struct skep_option *ret)
{
	for (int i = 0; mock_option_get(plugin, i, ret); i++)
		if (strcmp(ret->name, name) == 0)
			return i;
	return -1;
}

size_t mock_option_size(uint32_t type)
{
	return type == SKEP_O_BOOL ? sizeof(bool) : 8;
}

/* A unit and its factor; a list ends with factor 0. */
struct mock_unit {
	const char *name;
	uint64_t factor;
};

static const struct mock_unit mock_sizes[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "kB", 1000 },
	{ "KiB", 1ull << 10 },
	{ "MB", 1000000 },
	{ "MiB", 1ull << 20 },
	{ "GB", 1000000000 },
	{ "GiB", 1ull << 30 },
	{ "TB", 1000000000000 },
	{ "TiB", 1ull << 40 },
	{ NULL, 0 },
};

static const struct mock_unit mock_times[] = {
	{ "ns", 1 },          { "us", 1000 },          { "ms", 1000000 },         { "s", 1000000000 },
	{ "m", 60000000000 }, { "h", 3600000000000 }, { "d", 86400000000000 }, { NULL, 0 },
};

static bool mock_number(const char *text, const struct mock_unit *units, uint64_t *ret)
{
	unsigned long long n;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno)
		return false;
	for (; units->name; units++)
		if (strcmp(end, units->name) == 0) {
			if (__builtin_mul_overflow((uint64_t)n, units->factor, ret))
				return false;
			return true;
		}
	/* A time of zero needs no unit. */
	*ret = 0;
	return n == 0 && *end == '\0';
}

static void *mock_keep(struct skep_mock_priv *p, void *memory)
{
	mock_need(memory);
	p->memory = mock_need(realloc(p->memory, (p->n_memory + 1) * sizeof(*p->memory)));
	return p->memory[p->n_memory++] = memory;
}

static bool mock_bounded(const struct skep_option *o, int64_t value)
{
	return o->min >= o->max || (value >= o->min && value <= o->max);
}

/* Parses the text and writes its value to `at`. false: the text is no valid value. */
static bool mock_parse(struct skep_mock_priv *p, const struct skep_option *o, const char *text, char *at)
{
	uint64_t n;
	int64_t i;
	char *end;
	bool b;

	switch (o->type) {
	case SKEP_O_BOOL:
		b = strcmp(text, "true") == 0;
		if (!b && strcmp(text, "false") != 0)
			return false;
		memcpy(at, &b, sizeof(b));
		return true;
	case SKEP_O_INT:
		errno = 0;
		i = strtoll(text, &end, 10);
		if (errno || end == text || *end || !mock_bounded(o, i))
			return false;
		memcpy(at, &i, sizeof(i));
		return true;
	case SKEP_O_SIZE:
	case SKEP_O_TIME:
		if (!mock_number(text, o->type == SKEP_O_SIZE ? mock_sizes : mock_times, &n) || n > INT64_MAX ||
		    !mock_bounded(o, (int64_t)n))
			return false;
		memcpy(at, &n, sizeof(n));
		return true;
	case SKEP_O_STR:
		end = mock_keep(p, strdup(text));
		memcpy(at, &end, sizeof(end));
		return true;
	default:
		return false;
	}
}

void mock_options_default(struct skep_mock *m)
{
	struct skep_option o;

	for (int i = 0; mock_option_get(m->plugin, i, &o); i++) {
		if (o.offset > m->plugin->state_size || m->plugin->state_size - o.offset < mock_option_size(o.type))
			mock_misuse("option \"%s\" does not lie within the state", o.name);
		if (o.default_value && o.type != SKEP_O_STRV &&
		    !mock_parse(m->priv, &o, o.default_value, (char *)m->state + o.offset))
			mock_defect(m, "option \"%s\": its default \"%s\" is not a value of its type and bounds",
				    o.name, o.default_value);
	}
	memcpy(m->priv->next_state, m->state, m->plugin->state_size);
}

static int mock_set(struct skep_mock *m, const char *name, const char *text, const char *const *list)
{
	struct skep_mock_priv *p = m->priv;
	const char **copy = NULL;
	struct skep_option o;
	int i = mock_option_find(m->plugin, name, &o);
	char *next = p->next_state;
	size_t n = 0;

	if (i < 0)
		return mock_refuse(m, -EINVAL, "%s has no option \"%s\"", m->plugin->name, name);
	if ((o.type == SKEP_O_STRV) != (text == NULL))
		return mock_refuse(m, -EINVAL, "option \"%s\" is %s", name,
				   text ? "a list of texts" : "not a list of texts");
	if (text && !mock_parse(p, &o, text, next + o.offset))
		return mock_refuse(m, -EINVAL, "option \"%s\": \"%s\" is not a value of its type and bounds", name,
				   text);
	if (!text) {
		while (list && list[n])
			n++;
		if (list) {
			copy = mock_keep(p, calloc(n + 1, sizeof(*copy)));
			for (size_t k = 0; k < n; k++)
				copy[k] = mock_keep(p, strdup(list[k]));
		}
		memcpy(next + o.offset, &copy, sizeof(copy));
	}
	if (p->life == MOCK_NEW)
		memcpy((char *)m->state + o.offset, next + o.offset, mock_option_size(o.type));
	else if (!mock_set_has(&p->dirty, i))
		mock_set_add(&p->dirty, i);
	return 0;
}

int skep_mock_option(struct skep_mock *m, const char *name, const char *text)
{
	if (!text)
		mock_misuse("skep_mock_option(\"%s\"): no text", name);
	return mock_set(m, name, text, NULL);
}

int skep_mock_option_list(struct skep_mock *m, const char *name, const char *const *list)
{
	return mock_set(m, name, NULL, list);
}

void mock_options_free(struct skep_mock_priv *p)
{
	for (size_t i = 0; i < p->n_memory; i++)
		free(p->memory[i]);
	free(p->memory);
}
