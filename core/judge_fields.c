/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/judge_fields.c - the schema of process rules, and what a process answers.
 */
#include "core/judge_fields.h"

#include <string.h>

#include "core/users.h"

#define TEXT(name_, help_) { .name = name_, .type = FILTER_TEXT, .of_parent = true, .help = help_ }
#define NUMBER(name_, of_parent_, help_) { .name = name_, .type = FILTER_UINT, .of_parent = of_parent_, .help = help_ }

static const struct filter_field fields[JUDGE_FIELDS] = {
	[JUDGE_TOOL] = TEXT("tool", "the program, seen through interpreters and wrappers: 'samtools sort', 'train.py'"),
	[JUDGE_EXE] = TEXT("exe", "resolved path of the binary; of a script that of its interpreter"),
	[JUDGE_COMM] = TEXT("comm", "name of the main thread, at most 15 bytes"),
	[JUDGE_FILENAME] = TEXT("filename", "path as given to exec: the script for a script; not known of a process that began before skepd"),
	[JUDGE_ARGV] = { .name = "argv", .type = FILTER_LIST, .of_parent = true, .help = "arguments, the program's own name first; secrets are blanked" },
	[JUDGE_CWD] = TEXT("cwd", "working directory when the program began"),
	[JUDGE_CGROUP] = TEXT("cgroup", "path of its cgroup: '/system.slice/cron.service'"),
	[JUDGE_CONTAINER] = TEXT("container", "runtime id of its container; '' outside of any"),
	[JUDGE_RUN] = TEXT("run", "id of the run it belongs to; '' outside of any"),
	[JUDGE_PIPELINE] = TEXT("pipeline", "pipeline of that run; '' where it has none"),
	[JUDGE_TASK] = TEXT("task", "step of that run; '' where it has none"),
	[JUDGE_USER] = TEXT("user", "name of the user with its uid, as this host knows it"),
	[JUDGE_GROUP] = TEXT("group", "name of the group with its gid, as this host knows it"),
	[JUDGE_UID] = NUMBER("uid", true, "user id"),
	[JUDGE_GID] = NUMBER("gid", true, "group id"),
	[JUDGE_SESSION] = NUMBER("session", true, "session id"),
	[JUDGE_PID] = NUMBER("pid", true, "process id in the initial pid namespace"),
	[JUDGE_PPID] = NUMBER("ppid", true, "process id of the parent"),
	/* The process table does not keep these two, so they are not known of parents. */
	[JUDGE_PID_NS] = NUMBER("pid_ns", false, "inode number of its pid namespace, as in /proc/PID/ns/pid"),
	[JUDGE_MOUNT_NS] = NUMBER("mount_ns", false, "inode number of its mount namespace, as in /proc/PID/ns/mnt"),
	[JUDGE_WRAPPER] = { .name = "wrapper", .type = FILTER_BOOL, .of_parent = true, .help = "the image only starts the tool that it is named after: nice, env, time" },
};

const struct filter_schema judge_schema = { fields, JUDGE_FIELDS };

void judge_set_text(struct judge_subject *s, enum judge_field field, const char *text, size_t len)
{
	s->text[field] = (struct filter_text){ text, (uint32_t)len };
}

void judge_set_number(struct judge_subject *s, enum judge_field field, uint64_t number)
{
	s->number[field - JUDGE_UID] = number;
	s->known |= 1u << field;
}

void judge_set_wrapper(struct judge_subject *s, bool wrapper)
{
	s->wrapper = wrapper;
	s->known |= 1u << JUDGE_WRAPPER;
}

static enum filter_known name_of(const struct judge_subject *s, uint32_t field, union filter_value *ret)
{
	enum judge_field id = field == JUDGE_USER ? JUDGE_UID : JUDGE_GID;
	uint32_t number = (uint32_t)s->number[id - JUDGE_UID];
	const char *name = NULL;

	if (s->users && s->known & 1u << id)
		name = field == JUDGE_USER ? users_user(s->users, number) : users_group(s->users, number);
	if (!name)
		return FILTER_UNKNOWN;
	ret->text = (struct filter_text){ name, (uint32_t)strlen(name) };
	return FILTER_KNOWN;
}

enum filter_known judge_get(const void *subject, uint32_t level, uint32_t field, union filter_value *ret)
{
	const struct judge_subject *s = subject;

	for (; level && s; level--)
		s = s->parent ? s->parent(s) : NULL;
	if (!s)
		return FILTER_NOBODY;
	if (field < JUDGE_USER) {
		if (!s->text[field].ptr)
			return FILTER_UNKNOWN;
		ret->text = s->text[field];
		return FILTER_KNOWN;
	}
	if (field == JUDGE_USER || field == JUDGE_GROUP)
		return name_of(s, field, ret);
	if (!(s->known & 1u << field))
		return FILTER_UNKNOWN;
	if (field == JUDGE_WRAPPER)
		ret->b = s->wrapper;
	else
		ret->u = s->number[field - JUDGE_UID];
	return FILTER_KNOWN;
}
