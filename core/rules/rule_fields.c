/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rule_fields.c - the schema of the fields that rules can test, and the function that reads them
 * from a process.
 */
#include "core/rules/rule_fields.h"

#include <string.h>

#include "core/identify/users.h"

#define TEXT(name_, help_) { .name = name_, .type = FILTER_TEXT, .of_parent = true, .help = help_ }
#define FIXED(name_, help_) { .name = name_, .type = FILTER_TEXT, .of_parent = true, .fixed = true, .help = help_ }
#define NUMBER(name_, of_parent_, help_) { .name = name_, .type = FILTER_UINT, .of_parent = of_parent_, .help = help_ }

static const struct filter_field fields[RULE_FIELDS] = {
	[RULE_FIELD_TOOL] =
		TEXT("tool", "the program, seen through interpreters and wrappers: 'samtools sort', 'train.py'"),
	[RULE_FIELD_EXE] = { .name = "exe",
			     .type = FILTER_TEXT,
			     .of_parent = true,
			     .fixed_by_folder = true,
			     .help = "resolved path of the binary; for a script the path of its interpreter" },
	[RULE_FIELD_COMM] = TEXT("comm", "name of the main thread, at most 15 bytes"),
	[RULE_FIELD_FILENAME] =
		TEXT("filename",
		     "path as given to exec: the script for a script; unknown for a process that began before skepd"),
	[RULE_FIELD_ARGV] = { .name = "argv",
			      .type = FILTER_LIST,
			      .of_parent = true,
			      .help = "arguments, the program's own name first; secrets are blanked" },
	[RULE_FIELD_CWD] = TEXT("cwd", "working directory when the program began"),
	[RULE_FIELD_CGROUP] = FIXED("cgroup", "path of its cgroup: '/system.slice/cron.service'"),
	[RULE_FIELD_CONTAINER] = FIXED("container", "runtime id of its container; '' outside of any"),
	[RULE_FIELD_RUN] = TEXT("run", "id of the run it belongs to; '' outside of any"),
	[RULE_FIELD_PIPELINE] = TEXT("pipeline", "pipeline of that run; '' where it has none"),
	[RULE_FIELD_TASK] = TEXT("task", "step of that run; '' where it has none"),
	[RULE_FIELD_USER] = FIXED("user", "name of the user with its uid, as this host knows it"),
	[RULE_FIELD_GROUP] = FIXED("group", "name of the group with its gid, as this host knows it"),
	[RULE_FIELD_UID] = { .name = "uid", .type = FILTER_UINT, .of_parent = true, .fixed = true, .help = "user id" },
	[RULE_FIELD_GID] = { .name = "gid", .type = FILTER_UINT, .of_parent = true, .fixed = true, .help = "group id" },
	[RULE_FIELD_SESSION] = NUMBER("session", true, "session id"),
	[RULE_FIELD_PID] = NUMBER("pid", true, "process id in the initial pid namespace"),
	[RULE_FIELD_PPID] = NUMBER("ppid", true, "process id of the parent"),
	/* The process table does not store these two, so they are unknown for parents. */
	[RULE_FIELD_PID_NS] = NUMBER("pid_ns", false, "inode number of its pid namespace, as in /proc/PID/ns/pid"),
	[RULE_FIELD_MOUNT_NS] =
		NUMBER("mount_ns", false, "inode number of its mount namespace, as in /proc/PID/ns/mnt"),
	[RULE_FIELD_WRAPPER] = { .name = "wrapper",
				 .type = FILTER_BOOL,
				 .of_parent = true,
				 .help = "the image is a wrapper, which only starts another tool: nice, env, time" },
};

const struct filter_schema rule_fields_schema = { fields, RULE_FIELDS };

void rule_subject_set_text(struct rule_subject *s, enum rule_field field, const char *text, size_t len)
{
	s->text[field] = (struct filter_text){ text, (uint32_t)len };
}

void rule_subject_set_number(struct rule_subject *s, enum rule_field field, uint64_t number)
{
	s->number[field - RULE_FIELD_UID] = number;
	s->known |= 1u << field;
}

void rule_subject_set_wrapper(struct rule_subject *s, bool wrapper)
{
	s->wrapper = wrapper;
	s->known |= 1u << RULE_FIELD_WRAPPER;
}

static enum filter_known name_of(const struct rule_subject *s, uint32_t field, union filter_value *ret)
{
	enum rule_field id = field == RULE_FIELD_USER ? RULE_FIELD_UID : RULE_FIELD_GID;
	uint32_t number = (uint32_t)s->number[id - RULE_FIELD_UID];
	const char *name = NULL;

	if (s->users && s->known & 1u << id)
		name = field == RULE_FIELD_USER ? users_user(s->users, number) : users_group(s->users, number);
	if (!name)
		return FILTER_UNKNOWN;
	ret->text = (struct filter_text){ name, (uint32_t)strlen(name) };
	return FILTER_KNOWN;
}

enum filter_known rule_field_get(const void *subject, uint32_t level, uint32_t field, union filter_value *ret)
{
	const struct rule_subject *s = subject;

	for (; level && s; level--)
		s = s->parent ? s->parent(s) : NULL;
	if (!s)
		return FILTER_NOBODY;
	if (field < RULE_FIELD_USER) {
		if (!s->text[field].ptr)
			return FILTER_UNKNOWN;
		ret->text = s->text[field];
		return FILTER_KNOWN;
	}
	if (field == RULE_FIELD_USER || field == RULE_FIELD_GROUP)
		return name_of(s, field, ret);
	if (!(s->known & 1u << field))
		return FILTER_UNKNOWN;
	if (field == RULE_FIELD_WRAPPER)
		ret->b = s->wrapper;
	else
		ret->u = s->number[field - RULE_FIELD_UID];
	return FILTER_KNOWN;
}
