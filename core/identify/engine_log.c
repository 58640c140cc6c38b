/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/engine_log.c - finds the jobs in Snakemake's log, and which of them a command belongs to.
 */
#include "core/identify/engine_log.h"

#include <limits.h>
#include <skep/utf8.h>
#include <string.h>

static struct skep_str part(const char *begin, const char *end)
{
	return (struct skep_str){ begin, (uint32_t)(end - begin), (uint32_t)(end - begin) };
}

static bool same(const struct skep_str *a, const struct skep_str *b)
{
	return a->len == b->len && memcmp(a->ptr, b->ptr, a->len) == 0;
}

/* Takes the next line, without its newline.  false: there is none. */
static bool next_line(const char **at, const char *end, struct skep_str *ret)
{
	const char *newline;

	if (*at >= end)
		return false;
	newline = memchr(*at, '\n', (size_t)(end - *at));
	*ret = part(*at, newline ? newline : end);
	*at = newline ? newline + 1 : end;
	return true;
}

/* What follows the text in the line, blanks at both ends aside.  false: the line begins with another text. */
static bool behind(const struct skep_str *line, const char *text, struct skep_str *ret)
{
	struct skep_str s = engine_file_trim(*line);
	size_t n = strlen(text);

	if (s.len < n || memcmp(s.ptr, text, n) != 0)
		return false;
	*ret = engine_file_trim(part(s.ptr + n, s.ptr + s.len));
	return true;
}

/* "rule align:" */
static bool begins_job(const struct skep_str *line, struct skep_str *ret)
{
	static const char *const words[] = { "rule ", "localrule ", "checkpoint ", "localcheckpoint " };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (behind(line, words[i], ret) && ret->len > 1 && ret->ptr[ret->len - 1] == ':') {
			ret->len = --ret->total;
			return true;
		}
	return false;
}

/* "Finished job 7.", or "Finished jobid: 7 (Rule: align)" */
static bool ends_job(const struct skep_str *line, struct skep_str *ret)
{
	if (!behind(line, "Finished job ", ret) && !behind(line, "Finished jobid: ", ret))
		return false;
	for (uint32_t i = 0; i < ret->len; i++)
		if (ret->ptr[i] < '0' || ret->ptr[i] > '9')
			ret->len = ret->total = i;
	return ret->len > 0;
}

/* The latest job of this id in one log, whose jobs begin at `first`.  NULL: none. */
static struct engine_log_job *of_id(struct engine_log *log, size_t first, const struct skep_str *id, size_t end)
{
	for (size_t i = end; i > first && id->len; i--)
		if (same(&log->jobs[i - 1].id, id))
			return &log->jobs[i - 1];
	return NULL;
}

/* The command of an error message: from behind "shell:" to the line that says how it ended. */
static struct skep_str failed_command(const char **at, const char *end)
{
	const char *begin = *at, *here = *at;
	struct skep_str line, why;

	while (next_line(&here, end, &line))
		if (behind(&line, "(", &why) && memmem(why.ptr, why.len, "exited with non-zero", 20)) {
			*at = here;
			return engine_file_trim(part(begin, line.ptr));
		}
	return part(begin, begin); /* not written yet */
}

void engine_log_add(struct engine_log *log, const char *text, size_t len)
{
	const char *at = text, *end = text + len;
	size_t first = log->n;
	struct engine_log_job *job = NULL, *other;
	bool error = false;
	struct skep_str line, value;

	while (next_line(&at, end, &line)) {
		if (begins_job(&line, &value)) {
			error = false;
			job = log->n < ENGINE_LOG_JOBS ? &log->jobs[log->n++] : NULL;
			if (job)
				*job = (struct engine_log_job){ .rule = value, .lines = part(at, at) };
		} else if (behind(&line, "Error in rule ", &value)) {
			error = true;
			job = NULL;
		} else if (engine_file_trim(line).len == 0) {
			error = false;
			job = NULL;
		} else if (ends_job(&line, &value)) {
			other = of_id(log, first, &value, log->n);
			if (other)
				other->over = true;
		} else if (error) {
			if (behind(&line, "jobid: ", &value))
				job = of_id(log, first, &value, log->n);
			else if (job && behind(&line, "shell:", &value) && value.len == 0)
				job->failed = failed_command(&at, end);
		} else if (job) {
			job->lines = part(job->lines.ptr, line.ptr + line.len);
			if (behind(&line, "output: ", &value))
				job->output = value;
			if (!behind(&line, "jobid: ", &value) || job->id.len)
				continue;
			other = of_id(log, first, &value, (size_t)(job - log->jobs));
			if (other)
				other->over = true; /* another attempt begins */
			job->id = value;
		}
	}
}

bool engine_log_script(const char *log, const struct skep_str *command, char *room, size_t size)
{
	static const char folder[] = ".snakemake/scripts/";
	const char *at = memmem(command->ptr, command->len, folder, sizeof(folder) - 1);
	const char *end = command->ptr + command->len, *last = strrchr(log, '/');
	size_t before = last ? (size_t)(last - log) : 0, n = 0;

	if (!at || !last)
		return false;
	at += sizeof(folder) - 1;
	while (at + n < end && !memchr(" \t\n'\"\\/;|&<>()", at[n], 14))
		n++;
	if (n == 0 || before + sizeof("/scripts/") + n > size)
		return false;
	memcpy(room, log, before);
	memcpy(room + before, "/scripts/", 9);
	memcpy(room + before + 9, at, n);
	room[before + 9 + n] = '\0';
	return !memchr(at, '\0', n);
}

/* ---- which job ---------------------------------------------------------------------- */

/* Takes the next of "a, b".  false: there is none. */
static bool next_item(struct skep_str *list, struct skep_str *ret)
{
	const char *comma, *end;

	if (!list->len)
		return false;
	end = list->ptr + list->len;
	comma = memmem(list->ptr, list->len, ", ", 2);
	*ret = part(list->ptr, comma ? comma : end);
	*list = comma ? part(comma + 2, end) : part(end, end);
	return true;
}

static bool in_path(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_-./", c)) ||
	       (unsigned char)c >= 0x80;
}

/*
 * Whether a path can begin here.  In a Python script Snakemake's data is a pickle, written as a bytes literal: the
 * length of a text stands before it, as one character (\x8cA) or an escape (\x8c\x1f, \x8c\n).
 */
static bool begins_path(const char *text, const char *at, bool script)
{
	size_t n = (size_t)(at - text);

	if (n == 0 || !in_path(at[-1]))
		return true;
	return script && ((n >= 5 && memcmp(at - 5, "\\x8c", 4) == 0) || (n >= 4 && memcmp(at - 4, "\\x", 2) == 0) ||
			  (n >= 2 && at[-2] == '\\'));
}

/* Where the text names the path; NULL: nowhere. */
static const char *names_path(const struct skep_str *text, const struct skep_str *path, bool script)
{
	const char *at = text->ptr, *end = text->ptr + text->len;

	while (path->len && (at = memmem(at, (size_t)(end - at), path->ptr, path->len))) {
		if (begins_path(text->ptr, at, script) && (at + path->len == end || !in_path(at[path->len])))
			return at;
		at++;
	}
	return NULL;
}

/* Where the text names the first of the job's outputs; NULL: it names none. */
static const char *names_output(const struct skep_str *text, const struct engine_log_job *job, bool script)
{
	struct skep_str list = job->output, path;
	const char *first = NULL, *at;

	while (next_item(&list, &path)) {
		at = names_path(text, &path, script);
		if (at && (!first || at < first))
			first = at;
	}
	return first;
}

static size_t outputs(const struct engine_log_job *job)
{
	struct skep_str list = job->output, path;
	size_t n = 0;

	while (next_item(&list, &path))
		n++;
	return n;
}

static const struct engine_log_job *of_output(const struct engine_log *log, const char *output)
{
	const struct skep_str wanted = { output, (uint32_t)strlen(output), (uint32_t)strlen(output) };

	for (size_t i = log->n; i > 0; i--) {
		struct skep_str list = log->jobs[i - 1].output, path;

		while (next_item(&list, &path))
			if (same(&path, &wanted))
				return &log->jobs[i - 1];
	}
	return NULL;
}

static const struct engine_log_job *of_failed(const struct engine_log *log, const struct engine_file_wanted *wanted)
{
	struct skep_str command = engine_file_trim(wanted->text);

	for (size_t i = log->n; i > 0 && command.len; i--) {
		struct skep_str failed = log->jobs[i - 1].failed;

		if (wanted->cut && failed.len > command.len)
			failed.len = command.len;
		if (same(&failed, &command))
			return &log->jobs[i - 1];
	}
	return NULL;
}

static const struct engine_log_job *of_text(const struct engine_log *log, const struct skep_str *text, bool script)
{
	const struct engine_log_job *found = NULL;
	const char *first = NULL;

	for (size_t i = log->n; i > 0; i--) {
		const struct engine_log_job *job = &log->jobs[i - 1];
		const char *at = job->over ? NULL : names_output(text, job, script);

		/* A script names its output before its configuration, which may name those of other jobs. */
		if (!at || (found && script && at > first))
			continue;
		if (found && !script)
			return NULL;
		found = job;
		first = at;
	}
	return found;
}

/* Decodes the name of a metadata file, URL-safe base64, to the output's path.  false: it is none. */
static bool decode(const char *name, char ret[NAME_MAX + 1])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t len = strcspn(name, "="), n = 0;
	unsigned bits = 0;

	for (size_t i = 0; i < len; i++) {
		const char *digit = strchr(digits, name[i]);

		if (!digit || len > NAME_MAX)
			return false;
		bits = bits << 6 | (unsigned)(digit - digits);
		if (i % 4)
			ret[n++] = (char)(bits >> (6 - 2 * (i % 4)));
	}
	ret[n] = '\0';
	return n > 0 && strlen(ret) == n;
}

const struct engine_log_job *engine_log_find(const struct engine_log *log, const struct engine_log_command *c)
{
	const struct engine_log_job *job;
	char output[NAME_MAX + 1];

	/* A job has a file for each output.  With more files than outputs, several jobs had this command. */
	if (decode(c->file, output)) {
		job = of_output(log, output);
		return job && outputs(job) == c->files ? job : NULL;
	}
	job = of_failed(log, c->text);
	if (job)
		return job;
	return c->script.ptr ? of_text(log, &c->script, true) : of_text(log, &c->text->text, false);
}

bool engine_log_value(const struct engine_log_job *job, const char *key, char ret[ENGINE_FILE_VALUE])
{
	const char *at = job->lines.ptr, *end = at + job->lines.len;
	struct skep_str line, value = { "", 0, 0 };
	char label[64];
	size_t n = 0;

	if (strcmp(key, "rule") == 0) {
		value = job->rule;
	} else if (strlen(key) + 3 <= sizeof(label)) {
		memcpy(label, key, strlen(key));
		memcpy(label + strlen(key), ": ", 3);
		while (!value.len && next_line(&at, end, &line))
			(void)behind(&line, label, &value);
	}
	value.len = (uint32_t)skep_utf8_cut(value.ptr, value.len, ENGINE_FILE_VALUE - 1);
	for (uint32_t i = 0; i < value.len && value.ptr[i]; i++)
		if (value.ptr[i] != ' ' || i == 0 || value.ptr[i - 1] != ',')
			ret[n++] = value.ptr[i];
	ret[n] = '\0';
	return n > 0;
}
