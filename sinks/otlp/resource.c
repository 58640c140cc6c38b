/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the resource attributes of everything that the sink sends.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "sinks/otlp/attr.h"
#include "sinks/otlp/settings.h"

#define RESOURCE_ATTRIBUTES 1 /* Resource { attributes = 1 } */
#define MOST 64

/* Attributes by name: the last value of a name wins. A linear search suffices for so few. */
struct pairs {
	char *names[MOST], *values[MOST];
	size_t n;
	bool full;
};

static int set(struct pairs *p, const char *name, const char *value)
{
	char *copy = strdup(value);
	size_t i = 0;

	if (!copy)
		return -ENOMEM;
	while (i < p->n && strcmp(p->names[i], name) != 0)
		i++;
	if (i == MOST) {
		p->full = true;
		free(copy);
		return 0;
	}
	if (i == p->n) {
		p->names[i] = strdup(name);
		if (!p->names[i]) {
			free(copy);
			return -ENOMEM;
		}
		p->n++;
	}
	free(p->values[i]);
	p->values[i] = copy;
	return 0;
}

/* Maps uname's machine to host.arch of the conventions. */
static const char *arch(const char *machine)
{
	static const char *const names[][2] = {
		{ "x86_64", "amd64" }, { "aarch64", "arm64" }, { "i686", "x86" },
		{ "ppc64le", "ppc64" }, { "s390x", "s390x" },  { "armv7l", "arm32" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i][0], machine) == 0)
			return names[i][1];
	return machine;
}

static int of_host(struct pairs *p, const struct skep_batch *b)
{
	struct utsname u;
	int err;

	if (uname(&u) < 0)
		return -errno;
	err = set(p, "host.name", b->host_name);
	if (!err)
		err = set(p, "host.arch", arch(u.machine));
	if (!err)
		err = set(p, "os.type", "linux");
	if (!err)
		err = set(p, "os.version", b->kernel);
	if (!err)
		err = set(p, "service.instance.id", b->boot_id);
	if (!err)
		err = set(p, "service.version", SKEP_VERSION);
	if (!err)
		err = set(p, "cicd.worker.name", b->host_name);
	return err;
}

static int set_pair(const char *pair, struct pairs *p, char *why, size_t room)
{
	const char *equals = strchr(pair, '=');
	char *name;
	int err;

	if (!equals || equals == pair) {
		snprintf(why, room, "resource \"%s\": expected NAME=VALUE", pair);
		return -EINVAL;
	}
	name = strndup(pair, (size_t)(equals - pair));
	if (!name)
		return -ENOMEM;
	if (strcmp(name, "service.name") == 0) {
		snprintf(why, room, "resource \"%s\": the option service is for that", pair);
		err = -EINVAL;
	} else {
		err = set(p, name, equals + 1);
	}
	free(name);
	return err;
}

/*
 * Adds a pair of OTEL_RESOURCE_ATTRIBUTES. Unlike set_pair() it refuses no service.name: a variable that is set for
 * other programs must not stop this sink.
 */
static int set_of_environment(void *p, const char *name, const char *value)
{
	return strcmp(name, "service.name") == 0 ? 0 : set(p, name, value); /* settings_service() reads it */
}

static int of_environment(struct pairs *p)
{
	const char *list = secure_getenv("OTEL_RESOURCE_ATTRIBUTES");

	return list ? settings_each_pair(list, set_of_environment, p) : 0;
}

int settings_resource(const struct settings *o, const struct skep_batch *b, struct pb *ret, char *why, size_t room)
{
	struct pairs p = { 0 };
	int err = of_host(&p, b);

	if (!err)
		err = of_environment(&p);
	for (const char **pair = o->resource; pair && *pair && !err; pair++)
		err = set_pair(*pair, &p, why, room);
	if (!err && p.full) {
		snprintf(why, room, "resource: more than %d attributes", MOST);
		err = -EINVAL;
	}
	if (!err) {
		pb_reset(ret);
		for (size_t i = p.n; i > 0; i--)
			attr_text(ret, RESOURCE_ATTRIBUTES, p.names[i - 1], p.values[i - 1]);
		err = ret->err;
	}
	if (err == -ENOMEM)
		snprintf(why, room, "out of memory");
	for (size_t i = 0; i < p.n; i++) {
		free(p.names[i]);
		free(p.values[i]);
	}
	return err;
}

/* Keeps the last service.name, as for all names. */
static int find_service(void *arg, const char *name, const char *value)
{
	char **ret = arg, *copy;

	if (strcmp(name, "service.name") != 0 || !*value)
		return 0;
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	free(*ret);
	*ret = copy;
	return 0;
}

char *settings_service(const struct settings *o)
{
	const char *name = secure_getenv("OTEL_SERVICE_NAME"), *list = secure_getenv("OTEL_RESOURCE_ATTRIBUTES");
	char *found = NULL;

	if (o->service && *o->service)
		return strdup(o->service);
	if (name && *name)
		return strdup(name);
	if (list && settings_each_pair(list, find_service, &found) != 0) {
		free(found);
		return NULL;
	}
	return found ? found : strdup("skep");
}
