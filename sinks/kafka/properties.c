/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds librdkafka's configuration: first the properties that the sink's guarantees need, then the site's own.
 */
#include <skep/sink/secret_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sinks/kafka/kafka.h"

/* The properties that the sink sets itself; a site that changed them would break the sink's guarantees. */
static const char *const ours[] = { "bootstrap.servers",
				    "metadata.broker.list",
				    "enable.idempotence",
				    "acks",
				    "request.required.acks",
				    "compression.codec",
				    "compression.type",
				    "message.timeout.ms",
				    "delivery.timeout.ms",
				    "client.id",
				    "dr_cb",
				    "dr_msg_cb",
				    "log_cb",
				    "error_cb",
				    "opaque" };

/* Returns 0 and *ret_value, which the caller frees, or a negative errno after host->fail(). */
static int value_of(const struct kafka *k, const char *name, const char *text, char **ret_value)
{
	const char *env;
	char *value, why[512];
	int err;

	if (strncmp(text, "env:", 4) == 0) {
		env = getenv(text + 4);
		if (!env)
			return k->host->fail(k->inst, -ENOENT,
					     "properties: %s=%s: no such variable in the environment of skepd", name,
					     text);
		value = strdup(env);
	} else if (strncmp(text, "file:", 5) == 0) {
		err = skep_secret_file_read(text + 5, &value, why, sizeof(why));
		if (err)
			return k->host->fail(k->inst, err, "properties: %s: %s", name, why);
	} else {
		value = strdup(text);
	}
	if (!value)
		return k->host->fail(k->inst, -ENOMEM, "out of memory");
	*ret_value = value;
	return 0;
}

static bool ends_with(const char *s, size_t n, const char *end)
{
	size_t len = strlen(end);

	return n >= len && memcmp(s + n - len, end, len) == 0;
}

/* The file that a property names: "name=file:PATH", "ssl.ca.location=PATH", "sasl.kerberos.keytab=PATH"; or NULL. */
static const char *file_of(const char *property)
{
	const char *equals = strchr(property, '=');
	size_t n = equals ? (size_t)(equals - property) : 0;

	if (!equals)
		return NULL;
	if (strncmp(equals + 1, "file:", 5) == 0)
		return equals + 6;
	return ends_with(property, n, ".location") || ends_with(property, n, ".keytab") ? equals + 1 : NULL;
}

uint64_t properties_files(const struct kafka *k)
{
	uint64_t sum = 1;
	struct stat st;

	for (const char **p = k->properties; p && *p; p++) {
		const char *path = file_of(*p);

		if (!path)
			continue;
		if (stat(path, &st) != 0 || st.st_size == 0)
			return 0;
		sum = sum * 31 + st.st_dev;
		sum = sum * 31 + st.st_ino;
		sum = sum * 31 + (uint64_t)st.st_size;
		sum = sum * 31 + (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	}
	return sum ? sum : 1;
}

static int set(const struct kafka *k, rd_kafka_conf_t *c, const char *option, const char *name, const char *value)
{
	char why[512];

	if (rd_kafka_conf_set(c, name, value, why, sizeof(why)) == RD_KAFKA_CONF_OK)
		return 0;
	/* librdkafka's text quotes the value, which may be a secret, so the message has only the name */
	return k->host->fail(
		k->inst, -EINVAL, "%s: librdkafka %s does not take %s%s", option, rd_kafka_version_str(), name,
		strcmp(option, "properties") == 0 ? " with that value; librdkafka's CONFIGURATION.md lists its properties" : "");
}

static int set_own(const struct kafka *k, rd_kafka_conf_t *c, const char *property)
{
	const char *equals = strchr(property, '=');
	char *name, *value = NULL;
	int err;

	if (!equals || equals == property)
		return k->host->fail(k->inst, -EINVAL,
				     "properties: an entry is not \"name=value\" (not shown: it may be a secret)");
	name = strndup(property, (size_t)(equals - property));
	if (!name)
		return k->host->fail(k->inst, -ENOMEM, "out of memory");
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strcmp(name, ours[i]) == 0) {
			err = k->host->fail(
				k->inst, -EINVAL,
				"properties: %s is set by this sink; "
				"use its own options (brokers, compression, message_timeout)",
				name);
			free(name);
			return err;
		}
	err = value_of(k, name, equals + 1, &value);
	if (!err) {
		err = set(k, c, "properties", name, value);
		skep_secret_blank(value);
	}
	free(name);
	return err;
}

rd_kafka_conf_t *properties_new(const struct kafka *k, int *ret_err)
{
	rd_kafka_conf_t *c = rd_kafka_conf_new();
	char timeout[24];
	int err;

	snprintf(timeout, sizeof(timeout), "%llu", (unsigned long long)(k->timeout_ns / 1000000));
	err = set(k, c, "brokers", "bootstrap.servers", k->brokers);
	/* exactly once, in order, on each partition, while this producer lives; implies acks=all */
	if (!err)
		err = set(k, c, "kafka", "enable.idempotence", "true");
	if (!err)
		err = set(k, c, "compression", "compression.codec", k->compression);
	/*
	 * after this time the plugin host offers the messages again from the spool on disk; librdkafka queues in memory
	 */
	if (!err)
		err = set(k, c, "message_timeout", "message.timeout.ms", timeout);
	if (!err)
		err = set(k, c, "client_id", "client.id", k->client_id);
	/* room for every batch in flight: the plugin host limits their number and size */
	if (!err)
		err = set(k, c, "kafka", "queue.buffering.max.messages", "1000000");
	if (!err)
		err = set(k, c, "kafka", "linger.ms", "20");
	if (!err)
		err = set(k, c, "kafka", "partitioner", "murmur2_random"); /* as Java's clients choose */
	/* how long the producer still treats a topic as forbidden or missing after an operator has corrected it */
	if (!err)
		err = set(k, c, "kafka", "topic.metadata.refresh.interval.ms", "60000");
	for (const char **p = k->properties; !err && p && *p; p++)
		err = set_own(k, c, *p);
	if (!err)
		return c;
	rd_kafka_conf_destroy(c);
	*ret_err = err;
	return NULL;
}
