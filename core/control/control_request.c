/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_request.c - reads a request: the table of requests, their keys and the keys' types.  Every error
 * names the value found and the values accepted.
 */
#include "core/control/control_request.h"

#include <errno.h>
#include <skep/trace.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/config/config.h"
#include "filters/suggest.h"

enum key_type {
	KEY_TEXT,
	KEY_NAME,
	KEY_ARGV,
	KEY_TRACE,
	KEY_HASH,
	KEY_U64,
	KEY_COUNT,
	KEY_STATUS,
	KEY_FOR,
	KEY_PID,
	KEY_SCOPE,
	KEY_LEVEL,
	KEY_TRUTH
};

struct key {
	const char *name;
	enum key_type type;
	size_t offset;
	bool required;
};

#define KEY(member_, type_, required_) { #member_, type_, offsetof(struct control_request, member_), required_ }

static const struct key no_keys[] = { { NULL, KEY_TEXT, 0, false } };
static const struct key attach_keys[] = {
	KEY(detail, KEY_TEXT, true),
	KEY(for_ns, KEY_FOR, false),
	KEY(scope, KEY_SCOPE, false),
	KEY(run, KEY_TEXT, false),
	KEY(cgroup, KEY_TEXT, false),
	KEY(pid, KEY_PID, false),
	{ NULL, KEY_TEXT, 0, false },
};
static const struct key detach_keys[] = {
	KEY(id, KEY_U64, true),
	{ NULL, KEY_TEXT, 0, false },
};
static const struct key loglevel_keys[] = {
	KEY(level, KEY_LEVEL, false),
	{ NULL, KEY_TEXT, 0, false },
};
static const struct key reload_keys[] = {
	KEY(check, KEY_TRUTH, false),
	{ NULL, KEY_TEXT, 0, false },
};

static const struct key recognize_keys[] = {
	KEY(pid, KEY_PID, false),
	KEY(run, KEY_TEXT, false),
	{ NULL, KEY_TEXT, 0, false },
};

static const struct key task_begin_keys[] = {
	KEY(task, KEY_NAME, true),
	{ NULL, KEY_TEXT, 0, false },
};

static const struct key lake_copy_keys[] = {
	KEY(run, KEY_NAME, false),
	KEY(since_ns, KEY_COUNT, false),
	{ NULL, KEY_TEXT, 0, false },
};

static const struct key audit_publish_keys[] = {
	KEY(run, KEY_NAME, true),
	KEY(head, KEY_HASH, true),
	KEY(entries, KEY_COUNT, true),
	{ NULL, KEY_TEXT, 0, false },
};

static const struct key run_begin_keys[] = {
	KEY(pid, KEY_PID, true),
	KEY(argv, KEY_ARGV, true),
	KEY(argv_bytes, KEY_U64, false),
	{ "name", KEY_NAME, offsetof(struct control_request, run_name), false },
	KEY(pipeline, KEY_NAME, false),
	KEY(cwd, KEY_TEXT, false),
	KEY(traceparent, KEY_TRACE, false),
	KEY(sink, KEY_NAME, false),
	KEY(live_ns, KEY_FOR, false),
	{ NULL, KEY_TEXT, 0, false },
};
static const struct key run_resume_keys[] = {
	KEY(run, KEY_NAME, true),
	KEY(pid, KEY_PID, true),
	KEY(sink, KEY_NAME, false),
	KEY(live_ns, KEY_FOR, false),
	{ NULL, KEY_TEXT, 0, false },
};
static const struct key run_end_keys[] = {
	KEY(run, KEY_NAME, true),
	KEY(status, KEY_STATUS, true),
	KEY(cpu_ns, KEY_COUNT, false),
	{ NULL, KEY_TEXT, 0, false },
};

/* A request that shows other users' data, or changes what skepd does, is for members of group skep. */
enum asker { MEMBERS, ANY_USER };

static const struct {
	const char *name;
	enum control_what what;
	const struct key *keys;
	enum asker asker;
} requests[] = {
	{ "status", CONTROL_STATUS, no_keys, MEMBERS },
	{ "plugins", CONTROL_PLUGINS, no_keys, MEMBERS },
	{ "details", CONTROL_DETAILS, no_keys, MEMBERS },
	{ "runs", CONTROL_RUNS, no_keys, MEMBERS },
	{ "attach", CONTROL_ATTACH, attach_keys, MEMBERS },
	{ "detach", CONTROL_DETACH, detach_keys, MEMBERS },
	{ "loglevel", CONTROL_LOGLEVEL, loglevel_keys, MEMBERS },
	{ "reload", CONTROL_RELOAD, reload_keys, MEMBERS },
	{ "stats", CONTROL_STATS, no_keys, MEMBERS },
	{ "rules", CONTROL_RULES, no_keys, MEMBERS },
	{ "recognize", CONTROL_RECOGNIZE, recognize_keys, ANY_USER },
	{ "run_begin", CONTROL_RUN_BEGIN, run_begin_keys, ANY_USER },
	{ "run_resume", CONTROL_RUN_RESUME, run_resume_keys, ANY_USER },
	{ "run_end", CONTROL_RUN_END, run_end_keys, ANY_USER },
	{ "task_begin", CONTROL_TASK_BEGIN, task_begin_keys, ANY_USER },
	{ "version", CONTROL_VERSION, no_keys, ANY_USER },
	{ "lake_copy", CONTROL_LAKE_COPY, lake_copy_keys, ANY_USER },
	{ "audit_publish", CONTROL_AUDIT_PUBLISH, audit_publish_keys, ANY_USER },
	{ "watch", CONTROL_WATCH, no_keys, ANY_USER },
};
#define N_REQUESTS (sizeof(requests) / sizeof(requests[0]))

static const char *const scope_names[] = {
	[SKEP_SCOPE_HOST] = "host",
	[SKEP_SCOPE_GROUP] = "run",
	[SKEP_SCOPE_CGROUP] = "cgroup",
	[SKEP_SCOPE_PID] = "pid",
};
#define N_SCOPES (sizeof(scope_names) / sizeof(scope_names[0]))

static const struct {
	const char *name;
	int level;
} levels[] = {
	{ "error", SKEP_LOG_ERROR }, { "warning", SKEP_LOG_WARNING }, { "notice", SKEP_LOG_NOTICE },
	{ "info", SKEP_LOG_INFO },   { "debug", SKEP_LOG_DEBUG },
};
#define N_LEVELS (sizeof(levels) / sizeof(levels[0]))

const char *control_scope_name(enum skep_scope scope)
{
	return (size_t)scope < N_SCOPES ? scope_names[scope] : "?";
}

const char *control_level_name(int level)
{
	for (size_t i = 0; i < N_LEVELS; i++)
		if (levels[i].level == level)
			return levels[i].name;
	return NULL;
}

int control_level(const char *name)
{
	for (size_t i = 0; i < N_LEVELS; i++)
		if (strcmp(levels[i].name, name) == 0)
			return levels[i].level;
	return 0;
}

static int __attribute__((format(printf, 2, 3))) refuse(char why[CONTROL_WHY_SIZE], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, CONTROL_WHY_SIZE, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int refuse_type(char why[CONTROL_WHY_SIZE], const char *key, const char *expected, const json_t *found)
{
	char words[CONFIG_QUOTE_SIZE];

	config_describe(found, words, sizeof(words));
	return refuse(why, "%s: expected %s, found %s", key, expected, words);
}

static int read_number(const json_t *value, const char *key, uint64_t min, uint64_t max, uint64_t *ret, char *why)
{
	char expected[96];
	json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < 0 || (uint64_t)n < min || (uint64_t)n > max) {
		snprintf(expected, sizeof(expected), "a whole number from %llu to %llu", (unsigned long long)min,
			 (unsigned long long)max);
		return refuse_type(why, key, expected, value);
	}
	*ret = (uint64_t)n;
	return 0;
}

static int read_scope(const json_t *value, enum skep_scope *ret, char *why)
{
	const char *text = json_string_value(value);

	for (size_t i = 0; text && i < N_SCOPES; i++)
		if (strcmp(text, scope_names[i]) == 0) {
			*ret = (enum skep_scope)i;
			return 0;
		}
	return refuse_type(why, "scope", "\"host\", \"run\", \"cgroup\" or \"pid\"", value);
}

static int read_level(const json_t *value, int *ret, char *why)
{
	const char *text = json_string_value(value);
	int level = text ? control_level(text) : 0;

	if (level == 0)
		return refuse_type(why, "level", "\"error\", \"warning\", \"notice\", \"info\" or \"debug\"", value);
	*ret = level;
	return 0;
}

static int read_text(const struct key *key, const json_t *value, size_t most, const char **ret, char *why)
{
	char expected[96] = "a string that is not empty";

	if (most != SIZE_MAX)
		snprintf(expected, sizeof(expected), "a string of 1 to %zu bytes", most);
	if (!json_is_string(value) || json_string_length(value) == 0 || json_string_length(value) > most)
		return refuse_type(why, key->name, expected, value);
	*ret = json_string_value(value);
	return 0;
}

static int read_argv(const json_t *value, const json_t **ret, char *why)
{
	bool good = json_array_size(value) > 0; /* 0 if it is not an array */

	for (size_t i = 0; good && i < json_array_size(value); i++)
		good = json_is_string(json_array_get(value, i));
	if (!good)
		return refuse_type(why, "argv", "an array of one or more strings", value);
	*ret = value;
	return 0;
}

static int read_trace(const json_t *value, const char **ret, char *why)
{
	const char *text = json_string_value(value);
	struct skep_trace trace;

	if (!text || !skep_traceparent_read(text, strlen(text), &trace))
		return refuse_type(why, "traceparent",
				   "a W3C traceparent such as \"00-<32 hex digits>-<16 hex digits>-01\"", value);
	*ret = text;
	return 0;
}

static int read_hash(const struct key *key, const json_t *value, const char **ret, char *why)
{
	const char *text = json_string_value(value);

	if (!text || json_string_length(value) != 64 || strspn(text, "0123456789abcdef") != 64)
		return refuse_type(why, key->name, "a SHA-256 of 64 hexadecimal digits, in lower case", value);
	*ret = text;
	return 0;
}

static int read_key(const struct key *key, const json_t *value, struct control_request *r, char *why)
{
	void *at = (char *)r + key->offset;
	uint64_t n = 0;
	int err;

	switch (key->type) {
	case KEY_TEXT:
		return read_text(key, value, SIZE_MAX, at, why);
	case KEY_NAME:
		return read_text(key, value, CONTROL_NAME_MOST, at, why);
	case KEY_ARGV:
		return read_argv(value, at, why);
	case KEY_TRACE:
		return read_trace(value, at, why);
	case KEY_HASH:
		return read_hash(key, value, at, why);
	case KEY_U64:
		return read_number(value, key->name, 1, INT64_MAX, at, why);
	case KEY_COUNT:
		return read_number(value, key->name, 0, INT64_MAX, at, why);
	case KEY_STATUS:
		return read_number(value, key->name, 0, 0xffff, at, why);
	case KEY_FOR:
		return read_number(value, key->name, 0, CONTROL_FOR_MOST_NS, at, why);
	case KEY_PID:
		err = read_number(value, key->name, 1, INT32_MAX, &n, why);
		if (err == 0)
			*(uint32_t *)at = (uint32_t)n;
		return err;
	case KEY_SCOPE:
		return read_scope(value, at, why);
	case KEY_LEVEL:
		return read_level(value, at, why);
	case KEY_TRUTH:
		if (!json_is_boolean(value))
			return refuse_type(why, key->name, "true or false", value);
		*(bool *)at = json_is_true(value);
		return 0;
	}
	return -EINVAL;
}

static int refuse_key(const char *request, const char *key, const struct key *keys, char *why)
{
	const char *names[12] = { "request" }, *near;
	char quoted[CONFIG_QUOTE_SIZE];
	size_t n = 1;

	for (; keys->name && n + 1 < sizeof(names) / sizeof(names[0]); keys++)
		names[n++] = keys->name;
	near = suggest_nearest(key, names);
	config_quote(key, quoted, sizeof(quoted));
	if (near)
		return refuse(why, "%s has no key %s: did you mean \"%s\"?", request, quoted, near);
	return refuse(why, "%s has no key %s", request, quoted);
}

/*
 * The client gives the scope, or one of run, cgroup and pid that implies the scope.  Refuses a key that belongs to
 * another scope.
 */
static int check_scope(struct control_request *r, bool said, char *why)
{
	const bool given[N_SCOPES] = {
		[SKEP_SCOPE_GROUP] = r->run,
		[SKEP_SCOPE_CGROUP] = r->cgroup,
		[SKEP_SCOPE_PID] = r->pid != 0,
	};

	for (size_t i = 0; i < N_SCOPES && !said; i++)
		if (given[i]) {
			r->scope = (enum skep_scope)i;
			said = true;
		}
	for (size_t i = 0; i < N_SCOPES; i++)
		if (given[i] && (enum skep_scope)i != r->scope)
			return refuse(why,
				      "the scope is \"%s\", so \"%s\" has no place there: give one of run, cgroup, pid",
				      scope_names[r->scope], scope_names[i]);
	if (r->scope != SKEP_SCOPE_HOST && !given[r->scope])
		return refuse(why, "the scope is \"%s\": \"%s\" is missing: which one is it?", scope_names[r->scope],
			      scope_names[r->scope]);
	return 0;
}

static int read_keys(struct control_request *r, const struct key *keys, char *why)
{
	const char *name;
	json_t *value;
	int err;

	json_object_foreach(r->json, name, value) {
		const struct key *key = keys;

		if (strcmp(name, "request") == 0)
			continue;
		while (key->name && strcmp(key->name, name) != 0)
			key++;
		err = key->name ? read_key(key, value, r, why) : refuse_key(r->name, name, keys, why);
		if (err < 0)
			return err;
	}
	for (; keys->name; keys++)
		if (keys->required && !json_object_get(r->json, keys->name))
			return refuse(why, "%s: \"%s\" is missing", r->name, keys->name);
	if (r->what == CONTROL_RECOGNIZE && !r->pid == !r->run)
		return refuse(why, "recognize: give either \"pid\" or \"run\"");
	return r->what == CONTROL_ATTACH ? check_scope(r, json_object_get(r->json, "scope") != NULL, why) : 0;
}

static int read_request(struct control_request *r, char *why)
{
	static const char known[] = "status, plugins, details, runs, attach, detach, loglevel, reload, stats, rules, "
				    "recognize, run_begin, run_resume, run_end, task_begin, version, lake_copy, "
				    "audit_publish, watch";
	const json_t *value = json_object_get(r->json, "request");
	const char *name = json_string_value(value), *names[N_REQUESTS + 1] = { NULL }, *near;
	char quoted[CONFIG_QUOTE_SIZE];

	if (!json_is_object(r->json))
		return refuse_type(why, "request", "an object such as { \"request\": \"status\" }", r->json);
	if (!value)
		return refuse(why, "\"request\" is missing: one of %s", known);
	if (!name)
		return refuse_type(why, "request", "a string", value);
	for (size_t i = 0; i < N_REQUESTS; i++) {
		names[i] = requests[i].name;
		if (strcmp(name, requests[i].name) != 0)
			continue;
		r->what = requests[i].what;
		r->name = requests[i].name;
		r->any = requests[i].asker == ANY_USER;
		return read_keys(r, requests[i].keys, why);
	}
	near = suggest_nearest(name, names);
	config_quote(name, quoted, sizeof(quoted));
	if (near)
		return refuse(why, "unknown request %s: did you mean \"%s\"?", quoted, near);
	return refuse(why, "unknown request %s: known are %s", quoted, known);
}

int control_request_parse(const char *line, size_t len, struct control_request *ret, char why[CONTROL_WHY_SIZE])
{
	struct control_request r = { .for_ns = CONTROL_FOR_DEFAULT_NS };
	char quoted[CONFIG_QUOTE_SIZE];
	json_error_t error;
	int err;

	r.json = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	if (!r.json) {
		/* jansson's error text may quote any bytes of the line, and may end within a UTF-8 character. */
		for (char *c = error.text; *c; c++)
			if ((unsigned char)*c >= 0x80)
				*c = '?';
		config_quote(error.text, quoted, sizeof(quoted));
		return refuse(why, "not a JSON object: %.*s (byte %d): expected such as { \"request\": \"status\" }",
			      (int)strlen(quoted) - 2, quoted + 1, error.position);
	}
	err = read_request(&r, why);
	if (err < 0) {
		control_request_clear(&r);
		return err;
	}
	*ret = r;
	return 0;
}

void control_request_clear(struct control_request *r)
{
	json_decref(r->json);
	*r = (struct control_request){ 0 };
}
