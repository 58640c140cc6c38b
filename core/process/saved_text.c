/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_text.c - writes and reads the identity of a process.
 */
#include "core/process/saved_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/process/track_priv.h"

/* The texts of an identity. */
enum { EXE, FILENAME, ARGV, COMM, CWD, CGROUP, LABELS, TASK, TRACE, ENVIRON, STEP, BOUNDARY, CONTAINER, N_TEXTS };
static const char *const keys[N_TEXTS] = {
	[EXE] = "exe",           [FILENAME] = "filename", [ARGV] = "argv",     [COMM] = "comm",
	[CWD] = "cwd",           [CGROUP] = "cgroup",     [LABELS] = "labels", [TASK] = "task_name",
	[TRACE] = "traceparent", [ENVIRON] = "environ",   [STEP] = "step",     [BOUNDARY] = "boundary",
	[CONTAINER] = "container",
};

static const char digits[] = "0123456789abcdef";

static bool is_plain(unsigned char c)
{
	return c > 0x20 && c < 0x7f && c != '%' && c != '"' && c != '\\';
}

json_t *saved_text(const char *bytes, size_t len)
{
	char *text, *to;
	json_t *value;

	to = text = malloc(3 * len + 1);
	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (is_plain(c)) {
			*to++ = (char)c;
			continue;
		}
		*to++ = '%';
		*to++ = digits[c >> 4];
		*to++ = digits[c & 15];
	}
	value = json_stringn_nocheck(text, (size_t)(to - text));
	free(text);
	return value;
}

/* Stores the bytes at `key`.  If the text was cut, also stores its full length at `key`_total. */
static int put(json_t *line, const char *key, const struct skep_str *bytes)
{
	char total[64];
	int err;

	if (bytes->len == 0 && bytes->total == 0)
		return 0;
	err = json_object_set_new(line, key, saved_text(bytes->ptr, bytes->len));
	if (!err && bytes->total > bytes->len) {
		snprintf(total, sizeof(total), "%s_total", key);
		err = json_object_set_new(line, total, json_integer(bytes->total));
	}
	return err ? -ENOMEM : 0;
}

static int value_of(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Decodes at most n bytes into ret, and returns their number. */
static size_t decode(const char *text, size_t n, char *ret)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		int high = text[i] == '%' && i + 2 < n ? value_of(text[i + 1]) : -1;
		int low = high >= 0 ? value_of(text[i + 2]) : -1;

		/* up to 1.2, skep wrote the names of runs without %XX */
		ret[len++] = low < 0 ? text[i] : (char)(high << 4 | low);
		i += low < 0 ? 0 : 2;
	}
	return len;
}

const char *saved_text_read(json_t *line, const char *key)
{
	json_t *value = json_object_get(line, key);
	size_t n = json_string_length(value);
	char *bytes = json_is_string(value) ? malloc(n + 1) : NULL;
	json_t *read;

	if (!bytes)
		return NULL;
	read = json_stringn_nocheck(bytes, decode(json_string_value(value), n, bytes));
	free(bytes);
	return json_object_set_new(line, key, read) == 0 ? json_string_value(read) : NULL;
}

/* Decodes the text at `key` into buffer, which has room for the longest.  Empty if the line has no such text. */
static struct skep_str get(json_t *line, const char *key, char *buffer)
{
	const json_t *value = json_object_get(line, key), *more;
	const char *text = json_string_value(value);
	size_t len = text ? decode(text, json_string_length(value), buffer) : 0;
	char total[64];

	snprintf(total, sizeof(total), "%s_total", key);
	more = json_object_get(line, total);
	return (struct skep_str){ .ptr = buffer, .len = (uint32_t)len,
				  .total = json_is_integer(more) && json_integer_value(more) > (json_int_t)len &&
							   json_integer_value(more) < UINT32_MAX ?
						   (uint32_t)json_integer_value(more) : (uint32_t)len };
}

int saved_who_write(json_t *line, const struct proc *p)
{
	const struct program *program = p->program;
	const struct skep_str texts[N_TEXTS] = {
		[EXE] = intern_str(program ? program->exe : NULL),
		[FILENAME] = intern_str(program ? program->filename : NULL),
		[ARGV] = { .ptr = program ? program->argv : NULL,
			   .len = program ? program->argv_len : 0,
			   .total = program ? program->argv_total : 0 },
		[COMM] = intern_str(p->comm),
		[CWD] = intern_str(p->cwd),
		[CGROUP] = intern_str(p->cgroup),
		[LABELS] = intern_str(p->labels),
		[TASK] = intern_str(p->task_name),
		[TRACE] = intern_str(p->traceparent),
		[ENVIRON] = intern_str(p->environ),
		[STEP] = intern_str(p->step),
		[BOUNDARY] = intern_str(p->boundary),
		[CONTAINER] = intern_str(p->container),
	};
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = { { "ppid", p->parent.pid },
			{ "pstart", p->parent.start_ns },
			{ "cgroup_id", p->cgroup_id },
			{ "uid", p->uid },
			{ "gid", p->gid },
			{ "session", p->session },
			{ "exe_size", program ? program->exe_size_bytes : 0 },
			{ "exe_modified", program ? program->exe_modified_ns : 0 } };
	int err = 0;

	for (size_t i = 0; i < N_TEXTS && !err; i++)
		err = put(line, keys[i], &texts[i]);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !err; i++)
		err = json_object_set_new(line, numbers[i].key, json_integer((json_int_t)numbers[i].value)) ? -ENOMEM
													    : 0;
	return err;
}

static uint64_t number(json_t *line, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(line, key));
}

bool saved_who_read(struct track *t, struct proc *p, json_t *line)
{
	struct skep_str texts[N_TEXTS];
	size_t room = 0, used = 0;
	char *buffer;

	if (!json_is_integer(json_object_get(line, "ppid")) || !json_is_string(json_object_get(line, "comm")))
		return false;
	for (size_t i = 0; i < N_TEXTS; i++)
		room += json_string_length(json_object_get(line, keys[i]));
	buffer = malloc(room + 1);
	if (!buffer) {
		t->stats.no_memory++;
		return false;
	}
	for (size_t i = 0; i < N_TEXTS; i++) {
		texts[i] = get(line, keys[i], buffer + used);
		used += texts[i].len;
	}
	p->parent = (struct skep_upid){ .pid = (uint32_t)number(line, "ppid"), .start_ns = number(line, "pstart") };
	p->uid = (uint32_t)number(line, "uid");
	p->gid = (uint32_t)number(line, "gid");
	p->session = (uint32_t)number(line, "session");
	p->cgroup_id = number(line, "cgroup_id");
	track_program(t, p, &texts[EXE], &texts[FILENAME], &texts[ARGV], &texts[COMM]);
	if (p->program) {
		p->program->exe_size_bytes = number(line, "exe_size");
		p->program->exe_modified_ns = number(line, "exe_modified");
	}
	intern_replace(t->intern, &p->comm, &texts[COMM]);
	intern_replace(t->intern, &p->cwd, &texts[CWD]);
	if (texts[CGROUP].len > 0 && p->cgroup_id) {
		cgroups_known(t->env.cgroups, p->cgroup_id, &texts[CGROUP]);
		intern_replace(t->intern, &p->cgroup, &texts[CGROUP]);
	}
	p->labels = texts[LABELS].len ? intern_get(t->intern, &texts[LABELS]) : NULL;
	p->task_name = texts[TASK].len ? intern_get(t->intern, &texts[TASK]) : NULL;
	p->traceparent = texts[TRACE].len ? intern_get(t->intern, &texts[TRACE]) : NULL;
	p->environ = texts[ENVIRON].len ? intern_get(t->intern, &texts[ENVIRON]) : NULL;
	p->step = texts[STEP].len ? intern_get(t->intern, &texts[STEP]) : NULL;
	p->boundary = texts[BOUNDARY].len ? intern_get(t->intern, &texts[BOUNDARY]) : NULL;
	p->container = texts[CONTAINER].len ? intern_get(t->intern, &texts[CONTAINER]) : NULL;
	free(buffer);
	return p->program;
}
