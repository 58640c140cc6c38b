/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_recognizer.c - tables of recognizers and execs of any kind: no crash, a table that does not load has
 * a reason, and no exec takes more than its budget of CPU time with any table that loads.
 *
 * Input: a table, a line "%%", then a line each for exe, filename, cwd, cgroup, the parent's exe, and the arguments
 * separated by tabs; the rest are variables, a line each.  Without "%%" all of it is an exec.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/identify/engine_log.h"
#include "core/identify/recognizer_table.h"

#define CPU_MOST_NS 1000000000ull /* a budget has 20 ms; a sanitizer slows one pattern down */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_recognizer: %s\n", what);
		abort();
	}
}

/* A part of the input in a heap block of its own: the sanitizer finds a read behind it. */
static struct filter_text line(const uint8_t **data, size_t *size, char separator)
{
	const uint8_t *end = *size ? memchr(*data, separator, *size) : NULL;
	size_t len = end ? (size_t)(end - *data) : *size;
	char *copy = malloc(len ? len : 1);

	must(copy != NULL, "no memory");
	memcpy(copy, *data, len);
	*data += end ? len + 1 : len;
	*size -= end ? len + 1 : len;
	return (struct filter_text){ copy, (uint32_t)len };
}

static void split(struct filter_text *t, char separator)
{
	for (uint32_t i = 0; i < t->len; i++)
		if (t->ptr[i] == separator)
			((char *)t->ptr)[i] = '\0';
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sound(const struct recognizer_facts *facts)
{
	must(facts->known >> FACTS == 0, "a fact that does not exist");
	for (unsigned i = 0; i < FACTS; i++) {
		struct skep_str text;

		if (!(facts->known & 1u << i))
			continue;
		must(facts->source[i] != NULL, "a fact from nowhere");
		if (i >= FACT_TEXTS)
			continue;
		text = recognizer_fact_text(facts, (enum recognizer_fact)i);
		must(text.len > 0 && text.len <= FACT_TEXT_MOST, "an empty or a long text");
		for (uint32_t k = 0; k < text.len; k++)
			must((unsigned char)text.ptr[k] >= 0x20 && text.ptr[k] != 0x7f, "a control character");
	}
}

/* The environment is the log, and then the script that the command executes. */
static void log_is_sound(const struct engine_file *file, const struct recognizer_subject *s)
{
	static struct engine_log log;
	static char text[ENGINE_FILE_MOST];
	uint32_t len = s->self.environ.len < sizeof(text) ? s->self.environ.len : (uint32_t)sizeof(text);
	struct engine_log_command command = { .text = &file->wanted[0], .file = "" };
	char value[ENGINE_FILE_VALUE], script[64];

	for (uint32_t i = 0; i < len; i++)
		text[i] = s->self.environ.ptr[i] ? s->self.environ.ptr[i] : '\n';
	log.n = 0;
	engine_log_add(&log, text, len);
	for (unsigned i = 0; i < 3; i++) {
		const struct engine_log_job *job = engine_log_find(&log, &command);

		for (unsigned k = 0; job && k < ENGINE_FILE_VALUES && file->values[k]; k++)
			if (engine_log_value(job, file->values[k], value))
				must(*value && strlen(value) < sizeof(value), "an empty or a long value");
		command.script = (struct skep_str){ i ? NULL : text, len, len };
		command.file = i ? "b3V0L2E=" : ""; /* out/a */
		command.files = i;
	}
	if (engine_log_script(file->log, &file->wanted[0].text, script, sizeof(script)))
		must(strlen(script) < sizeof(script), "a long script");
}

static void facts_are_sound(const struct recognizer_mark *mark, const struct recognizer_subject *s)
{
	static char packed[ENGINE_FILE_REQUEST];
	static struct recognizer_paths paths;
	char value[ENGINE_FILE_VALUE];
	struct engine_file file, copy;
	struct recognizer_facts facts;
	struct skep_str answer;
	json_t *json;
	ssize_t len;

	if (!mark)
		return;
	memset(&facts, 0xa5, sizeof(facts));
	recognizer_facts(mark, s, &facts);
	sound(&facts);
	if (!recognizer_mark_file(mark, s, &paths, &file))
		return;
	must(!file.path || (*file.path == '/' && strlen(file.path) < RECOGNIZER_PATH_SIZE), "a path that is not absolute");
	must(!file.log || (*file.log == '/' && strlen(file.log) < RECOGNIZER_PATH_SIZE), "a log that is not absolute");
	must(file.path || file.log || file.standard_error, "no file");
	len = engine_file_pack(&file, packed, sizeof(packed));
	if (len >= 0)
		must(engine_file_unpack(packed, (size_t)len, &copy) == 0, "a packed request that is invalid");
	/* Any text may stand in the file. */
	answer = (struct skep_str){ s->self.argv.ptr, s->self.argv.len, s->self.argv.len };
	recognizer_file_facts(mark, &answer, 0, &facts);
	sound(&facts);
	json = json_loadb(s->self.environ.ptr, s->self.environ.len, JSON_DECODE_ANY, NULL);
	for (unsigned i = 0; json && i < ENGINE_FILE_VALUES && file.values[i]; i++)
		if (engine_file_pointer(json, file.values[i], value))
			must(*value && strlen(value) < sizeof(value), "an empty or a long value");
	if (json && file.where)
		engine_file_is(json, file.where, &file.wanted[0]);
	json_decref(json);
	if (file.log)
		log_is_sound(&file, s);
}

static void ask(struct recognizers *r, struct recognizer_subject *s)
{
	struct recognizer_found found[RECOGNIZER_CLASSES];
	struct filter_budget budget = { 0 };
	uint64_t before = cpu_ns();

	s->budget = &budget;
	for (size_t n = recognizers_run(r, s, found); n > 0; n--)
		facts_are_sound(found[n - 1].mark, s);
	for (size_t i = 0; i < recognizers_count(r); i++) {
		for (unsigned k = 0; k < 4; k++) {
			s->child = k & 1;
			s->root = k & 2;
			facts_are_sound(recognizer_task(recognizers_at(r, i), s), s);
		}
		facts_are_sound(recognizer_learn(recognizers_at(r, i), s), s);
	}
	must(cpu_ns() - before < CPU_MOST_NS, "an exec took too long");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct recognizers *built_in;
	const uint8_t *mark = size ? memmem(data, size, "\n%%\n", 4) : NULL;
	struct recognizer_subject s = { .environ_read = true };
	struct filter_text *parts[] = { &s.self.exe, &s.self.filename, &s.self.cwd, &s.self.cgroup, &s.parent.exe,
					&s.self.argv };
	struct recognizers *r = NULL;
	struct diag diag;

	if (size > 1u << 18)
		return 0;
	diag_init(&diag);
	if (!built_in) {
		built_in = recognizers_new(NULL, &diag);
		diag_print(&diag, stderr);
		must(built_in != NULL, "no built-in table");
	}
	if (mark) {
		r = recognizers_read((const char *)data, (size_t)(mark - data), &diag);
		must(r || diag.n_errors > 0, "no reason");
		size -= (size_t)(mark + 4 - data);
		data = mark + 4;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		*parts[i] = line(&data, &size, '\n');
	split(&s.self.argv, '\t');
	s.self.environ = line(&data, &size, '\0');
	split(&s.self.environ, '\n');
	s.self.tool = s.self.exe;
	s.run = s.self;
	if (r)
		ask(r, &s);
	ask(built_in, &s);
	s.environ_before = s.self.environ;
	ask(built_in, &s);
	recognizers_unref(r);
	diag_clear(&diag);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		free((char *)parts[i]->ptr);
	free((char *)s.self.environ.ptr);
	return 0;
}
