/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/recognizer_facts.c - reads what a mark says about its run or task: names, attempts, requests.
 */
#include <inttypes.h>
#include <math.h>
#include <skep/hash.h>
#include <skep/utf8.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/identify/recognizer_table.h"

#define HASH_LEN 17u /* "#" and 16 digits */
/* Of a job without a time limit Slurm says that it ends after 365 days (job_end_time_reset() of slurmctld). */
#define NO_LIMIT_S (365 * 86400.0)

/* How the text of a fact's word becomes the fact. */
enum unit {
	UNIT_TEXT,
	UNIT_RETRY,    /* a text that several tasks may have */
	UNIT_ONE,      /* a whole number */
	UNIT_AGAIN,    /* how often it began before: the attempt is one more */
	UNIT_MILLI,    /* a number, in thousandths */
	UNIT_BYTES,    /* a number with an optional suffix K, M, G, T */
	UNIT_KIB,
	UNIT_MIB,
	UNIT_GIB,
	UNIT_CLOCK,    /* [[H:]M:]S or D-H[:M[:S]]; Slurm alone reads a single number as minutes (walltime_min) */
	UNIT_S,
	UNIT_MIN,
	UNIT_H,
	UNIT_BETWEEN,  /* two times in seconds with a blank between */
};

static const struct {
	const char *word;
	enum recognizer_fact fact;
	enum unit unit;
} words[] = {
	{ "name", FACT_NAME, UNIT_TEXT },
	{ "sample", FACT_SAMPLE, UNIT_TEXT },
	{ "pipeline", FACT_PIPELINE, UNIT_TEXT },
	{ "job", FACT_JOB, UNIT_TEXT },
	{ "account", FACT_ACCOUNT, UNIT_TEXT },
	{ "key", FACT_KEY, UNIT_TEXT },
	{ "again", FACT_AGAIN, UNIT_TEXT },
	{ "retry_of", FACT_AGAIN, UNIT_RETRY },
	{ "attempt", FACT_ATTEMPT, UNIT_ONE },
	{ "restarts", FACT_ATTEMPT, UNIT_AGAIN },
	{ "cpus", FACT_CPUS, UNIT_MILLI },
	{ "memory", FACT_MEMORY, UNIT_BYTES },
	{ "memory_kib", FACT_MEMORY, UNIT_KIB },
	{ "memory_mib", FACT_MEMORY, UNIT_MIB },
	{ "memory_gib", FACT_MEMORY, UNIT_GIB },
	{ "walltime", FACT_WALLTIME, UNIT_CLOCK },
	{ "walltime_s", FACT_WALLTIME, UNIT_S },
	{ "walltime_min", FACT_WALLTIME, UNIT_MIN },
	{ "walltime_h", FACT_WALLTIME, UNIT_H },
	{ "walltime_between", FACT_WALLTIME, UNIT_BETWEEN },
	{ "gpus", FACT_GPUS, UNIT_ONE },
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

int recognizer_fact_word(const char *word, size_t len)
{
	for (size_t i = 0; i < N_WORDS; i++)
		if (strlen(words[i].word) == len && memcmp(words[i].word, word, len) == 0)
			return (int)i;
	return -1;
}

int recognizer_fact_text_word(const char *word, size_t len)
{
	int n = recognizer_fact_word(word, len);

	return n >= 0 && words[n].unit == UNIT_TEXT ? n : -1;
}

const char *const *recognizer_fact_words(void)
{
	static const char *list[N_WORDS + 1];

	for (size_t i = 0; i < N_WORDS; i++)
		list[i] = words[i].word;
	return list;
}

/* Reads a number and what follows it.  false: no number, or a negative or absurd one. */
static bool number(const struct filter_text *t, double *ret, char suffix[4])
{
	char copy[32], *end;
	size_t n = 0;

	if (t->len == 0 || t->len >= sizeof(copy))
		return false;
	memcpy(copy, t->ptr, t->len);
	copy[t->len] = '\0';
	*ret = strtod(copy, &end);
	if (end == copy || !isfinite(*ret) || *ret < 0 || *ret > 1e15)
		return false;
	while (*end == ' ')
		end++;
	for (; *end && n < 3; end++)
		suffix[n++] = *end;
	suffix[n] = '\0';
	return *end == '\0';
}

static bool scale_of(const char *suffix, double *ret)
{
	static const char letters[] = "kmgt";
	const char *at;

	*ret = 1;
	if (!*suffix || strcmp(suffix, "B") == 0 || strcmp(suffix, "b") == 0)
		return true;
	at = strchr(letters, *suffix | 0x20);
	if (!at || (suffix[1] && (suffix[1] | 0x20) != 'b' && suffix[1] != 'i'))
		return false;
	for (; at >= letters; at--)
		*ret *= 1024;
	return true;
}

/* "90" and "1:30:00" end with seconds; behind days, hours come first: "2-12", "2-12:30".  The result is in seconds. */
static bool clock_of(const struct filter_text *t, double *ret)
{
	char copy[32], *at = copy, *end;
	double days = 0, sum = 0;
	bool has_days = false;
	unsigned n = 0;

	if (t->len == 0 || t->len >= sizeof(copy))
		return false;
	memcpy(copy, t->ptr, t->len);
	copy[t->len] = '\0';
	for (;;) {
		double part = (double)strtoul(at, &end, 10);

		if (end == at || part > 1e9)
			return false;
		if (*end == '-' && n == 0 && !has_days) {
			days = part;
			has_days = true;
		} else {
			sum = sum * 60 + part;
			n++;
			if (*end != ':')
				break;
		}
		at = end + 1;
	}
	for (; has_days && n < 3; n++)
		sum *= 60;
	*ret = days * 86400 + sum;
	return *end == '\0';
}

/* "1700000000 1700003600": the seconds between both times.  false: other texts, and what is no limit. */
static bool between(const struct filter_text *t, double *ret)
{
	const char *blank = memchr(t->ptr, ' ', t->len);
	struct filter_text from, to;
	char suffix[2][4] = { "", "" };
	double a, b;

	if (!blank)
		return false;
	from = (struct filter_text){ t->ptr, (uint32_t)(blank - t->ptr) };
	to = (struct filter_text){ blank + 1, t->len - from.len - 1 };
	if (!number(&from, &a, suffix[0]) || !number(&to, &b, suffix[1]) || *suffix[0] || *suffix[1])
		return false;
	*ret = b - a;
	return *ret > 0 && *ret < NO_LIMIT_S;
}

static bool read_number(const struct filter_text *t, enum unit unit, uint64_t *ret)
{
	static const double times[] = {
		[UNIT_ONE] = 1,        [UNIT_AGAIN] = 1,     [UNIT_MILLI] = 1000, [UNIT_BYTES] = 1,
		[UNIT_KIB] = 1024,     [UNIT_MIB] = 1048576, [UNIT_GIB] = 1073741824,
		[UNIT_CLOCK] = 1e9,    [UNIT_S] = 1e9,       [UNIT_MIN] = 60e9,   [UNIT_H] = 3600e9,
		[UNIT_BETWEEN] = 1e9,
	};
	double x = 0, scale = 1;
	char suffix[4] = "";

	if (unit == UNIT_CLOCK ? !clock_of(t, &x) : unit == UNIT_BETWEEN ? !between(t, &x) : !number(t, &x, suffix))
		return false;
	if (*suffix && (unit < UNIT_BYTES || unit > UNIT_GIB || !scale_of(suffix, &scale)))
		return false;
	/* A suffix says the unit itself: "4G" is 4 GiB, also where a plain number counts MiB. */
	x *= *suffix ? scale : times[unit];
	if (unit == UNIT_AGAIN)
		x += 1;
	if (x > 1e18)
		return false;
	*ret = (uint64_t)x;
	return true;
}

static void set_text(struct recognizer_facts *facts, enum recognizer_fact fact, const struct filter_text *t)
{
	static const struct skep_hash_key key; /* all zero: the same text always has the same hash */
	unsigned i = (unsigned)fact;           /* texts come first */
	uint32_t most = FACT_TEXT_MOST;
	bool compared = fact == FACT_KEY || fact == FACT_AGAIN;

	/* Long commands often differ only behind FACT_TEXT_MOST bytes: a hash replaces the cut part. */
	if (compared && t->len > most)
		most -= HASH_LEN;
	facts->len[i] = (uint32_t)skep_utf8_cut(t->ptr, t->len, most);
	for (uint32_t k = 0; k < facts->len[i]; k++) {
		unsigned char c = (unsigned char)t->ptr[k];

		facts->text[i][k] = c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	if (compared && t->len > FACT_TEXT_MOST) {
		char hash[HASH_LEN + 1];

		snprintf(hash, sizeof(hash), "#%016" PRIx64, skep_hash(&key, t->ptr, t->len));
		memcpy(facts->text[i] + facts->len[i], hash, HASH_LEN);
		facts->len[i] += HASH_LEN;
	}
}

/* Notes a fact, unless an earlier source has yielded it. */
static void note(struct recognizer_facts *facts, unsigned word, const struct filter_text *t, const char *source)
{
	enum recognizer_fact fact = words[word].fact;

	if (t->len == 0 || facts->known & 1u << fact)
		return;
	if (words[word].unit <= UNIT_RETRY) {
		set_text(facts, fact, t);
		facts->by_failures |= words[word].unit == UNIT_RETRY;
	} else if (!read_number(t, words[word].unit, &facts->number[fact - FACT_TEXTS])) {
		return;
	}
	facts->known |= 1u << fact;
	facts->source[fact] = source;
}

/* Gives a text to a source's pattern or fact.  true: it yielded something. */
static bool yield(const struct recognizer_source *s, const struct filter_text *t, const char *from,
		  struct recognizer_facts *facts, struct filter_budget *budget)
{
	struct filter_text groups[PATTERN_GROUPS];

	if (!t->ptr || t->len == 0)
		return false;
	if (!s->pattern) {
		note(facts, s->as, t, from);
		return true;
	}
	if (!pattern_match(s->pattern, t, groups, budget))
		return false;
	for (unsigned i = 0; i < PATTERN_GROUPS; i++)
		if (groups[i].ptr)
			note(facts, s->groups[i], &groups[i], from);
	return true;
}

/* The source's name for people: what a field is, without its details. */
static const char *source_name(uint32_t field)
{
	switch (field) {
	case FIELD_TOOL:
	case FIELD_EXE:
	case FIELD_COMM:
	case FIELD_FILENAME:
		return "program";
	case FIELD_CWD:
	case FIELD_RUN_CWD:
		return "cwd";
	case FIELD_CGROUP:
		return "cgroup";
	default:
		return field < FIELD_FIXED ? "argv" : "environ";
	}
}

static bool each_word(const struct recognizer_source *s, struct filter_text list, const char *from,
		      struct recognizer_facts *facts, struct filter_budget *budget)
{
	const char *at = list.ptr, *end = at ? at + list.len : NULL;

	while (at < end) {
		struct filter_text word = { at, (uint32_t)strnlen(at, (size_t)(end - at)) };

		if (yield(s, &word, from, facts, budget))
			return true;
		at += word.len + 1;
	}
	return false;
}

static void from_field(const struct recognizer_source *s, const struct recognizer_view *view,
		       struct recognizer_facts *facts)
{
	union filter_value value;

	if (recognizer_field_get(view, 0, s->field, &value) != FILTER_KNOWN)
		return;
	if (s->field == FIELD_ARGV || s->field == FIELD_RUN_ARGV)
		each_word(s, value.text, "argv", facts, view->subject->budget);
	else
		yield(s, &value.text, source_name(s->field), facts, view->subject->budget);
}

/* The values behind the options: the next word, or what follows "=" in the same word. */
static void from_option(const struct recognizer_source *s, const struct recognizer_subject *subject,
			struct recognizer_facts *facts)
{
	const struct filter_text *argv = &subject->self.argv;
	const char *at = argv->ptr, *end = at ? at + argv->len : NULL;
	bool next = false;

	while (at < end) {
		struct filter_text word = { at, (uint32_t)strnlen(at, (size_t)(end - at)) }, value = { NULL, 0 };

		at += word.len + 1;
		if (next)
			value = word;
		next = false;
		for (char **o = s->options; !value.ptr && *o; o++) {
			size_t n = strlen(*o);

			if (word.len < n || memcmp(word.ptr, *o, n) != 0)
				continue;
			if (word.len == n)
				next = true;
			else if (word.ptr[n] == '=')
				value = (struct filter_text){ word.ptr + n + 1, word.len - (uint32_t)n - 1 };
		}
		if (value.ptr && yield(s, &value, "argv", facts, subject->budget))
			return;
	}
}

/* The value of a {field} or of a {fact}, and where it is from.  Empty: it is not known. */
static struct filter_text field_or_fact(const char *name, size_t len, const struct recognizer_view *view,
					const struct recognizer_facts *facts, const char **ret_from)
{
	unsigned level;
	int field = recognizer_fields_find_text(view->fields, name, len, &level), word;
	struct filter_text none = { NULL, 0 };
	union filter_value value;
	struct skep_str text;

	if (field >= 0) {
		if (recognizer_field_get(view, level, (uint32_t)field, &value) != FILTER_KNOWN)
			return none;
		*ret_from = source_name((uint32_t)field);
		return value.text;
	}
	word = facts ? recognizer_fact_text_word(name, len) : -1;
	if (word < 0 || !(facts->known & 1u << words[word].fact))
		return none;
	text = recognizer_fact_text(facts, words[word].fact);
	*ret_from = facts->source[words[word].fact];
	return (struct filter_text){ text.ptr, text.len };
}

/*
 * Writes the template with its {field}s and {fact}s replaced.  Returns the whole length, even above size; -1: one of
 * them is not known.  facts: what earlier sources have yielded; NULL: the template has fields only.
 */
static ssize_t fill(const char *template, const struct recognizer_view *view, const struct recognizer_facts *facts,
		    char *room, size_t size, const char **ret_from)
{
	size_t len = 0;

	for (const char *at = template; *at; at++) {
		const char *close = *at == '{' ? strchr(at, '}') : NULL;
		struct filter_text part = { at, 1 };

		if (close) {
			part = field_or_fact(at + 1, (size_t)(close - at - 1), view, facts, ret_from);
			if (part.len == 0)
				return -1;
			at = close;
		}
		if (len < size)
			memcpy(room + len, part.ptr, part.len < size - len ? part.len : size - len);
		len += part.len;
	}
	return (ssize_t)len;
}

/* Yields nothing if a field or a fact is not known. */
static void from_text(const struct recognizer_source *s, const struct recognizer_view *view,
		      struct recognizer_facts *facts)
{
	char room[2 * FACT_TEXT_MOST];
	const char *from = "table";
	ssize_t len = fill(s->text, view, facts, room, sizeof(room), &from);
	struct filter_text t = { room, len > (ssize_t)sizeof(room) ? (uint32_t)sizeof(room) : (uint32_t)len };

	if (len >= 0)
		yield(s, &t, from, facts, view->subject->budget);
}

void recognizer_facts(const struct recognizer_mark *mark, const struct recognizer_subject *subject,
		      struct recognizer_facts *ret)
{
	struct recognizer_view view = { mark->entry->fields, subject };

	ret->known = 0;
	ret->by_failures = false;
	for (size_t i = 0; i < mark->n_sources; i++) {
		const struct recognizer_source *s = &mark->sources[i];

		if (!recognizer_holds(view.fields, s->when, subject))
			continue;
		if (s->kind == SOURCE_FIELD)
			from_field(s, &view, ret);
		else if (s->kind == SOURCE_OPTION)
			from_option(s, subject, ret);
		else if (s->kind == SOURCE_TEXT)
			from_text(s, &view, ret);
	}
}

/* Fills in a path.  false: a field is not known, or it is no path. */
static bool fill_path(const char *template, const struct recognizer_view *view, char room[RECOGNIZER_PATH_SIZE])
{
	const char *from;
	ssize_t len = fill(template, view, NULL, room, RECOGNIZER_PATH_SIZE, &from);

	if (len <= 0 || len >= (ssize_t)RECOGNIZER_PATH_SIZE || room[0] != '/' || memchr(room, '\0', (size_t)len))
		return false;
	room[len] = '\0';
	return true;
}

bool recognizer_mark_file(const struct recognizer_mark *mark, const struct recognizer_subject *subject,
			  struct recognizer_paths *room, struct engine_file *ret)
{
	struct recognizer_view view = { mark->entry->fields, subject };
	const struct recognizer_file *f = mark->file;
	union filter_value value;
	struct filter_text text = { "", 0 };
	const char *at;
	unsigned n = 0;
	ssize_t len;

	if (f && f->error) {
		len = fill(f->error, &view, NULL, room->path, sizeof(room->path), &at);
		if (len <= 0 || len > (ssize_t)sizeof(room->path))
			return false;
		*ret = (struct engine_file){ .standard_error = true, .n_wanted = 1 };
		ret->wanted[0].text = (struct skep_str){ room->path, (uint32_t)len, (uint32_t)len };
		return true;
	}
	if (!f || (!f->path && !f->log) || (f->path && !fill_path(f->path, &view, room->path)) ||
	    (f->log && !fill_path(f->log, &view, room->log)))
		return false;
	if (f->where || f->log) {
		if (recognizer_field_get(&view, 0, f->equals, &value) != FILTER_KNOWN || value.text.len == 0)
			return false;
		text = value.text;
		at = f->behind ? memmem(text.ptr, text.len, f->behind, strlen(f->behind)) : text.ptr;
		if (!at)
			return false;
		at += f->behind ? strlen(f->behind) : 0;
		text.len -= (uint32_t)(at - text.ptr);
		text.ptr = at;
	}
	*ret = (struct engine_file){ .path = f->path ? room->path : NULL,
				     .where = f->where,
				     .log = f->log ? room->log : NULL,
				     .n_wanted = 1 };
	ret->wanted[0].text = (struct skep_str){ text.ptr, text.len, text.len };
	for (size_t i = 0; i < mark->n_sources && n < ENGINE_FILE_VALUES; i++)
		if (mark->sources[i].kind == SOURCE_VALUE)
			ret->values[n++] = mark->sources[i].text;
	return true;
}

/* The first of the file's first lines that the pattern matches. */
static void from_lines(const struct recognizer_source *s, const struct skep_str *head, struct filter_budget *budget,
		       struct recognizer_facts *facts)
{
	const char *at = head->ptr, *end = at ? at + head->len : NULL;

	for (long i = 0; i < s->lines && at < end; i++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct filter_text line = { at, (uint32_t)((newline ? newline : end) - at) };

		if (yield(s, &line, "file", facts, budget))
			return;
		at += line.len + 1;
	}
}

void recognizer_file_facts(const struct recognizer_mark *mark, const struct skep_str *answer, uint32_t wanted,
			   struct recognizer_facts *ret)
{
	struct filter_budget budget = { 0 };
	size_t values = 0, at = 0;

	ret->known = 0;
	ret->by_failures = false;
	for (size_t i = 0; i < mark->n_sources; i++)
		values += mark->sources[i].kind == SOURCE_VALUE;
	for (size_t i = 0; i < mark->n_sources; i++) {
		const struct recognizer_source *s = &mark->sources[i];

		if (s->kind == SOURCE_VALUE) {
			struct skep_str v = engine_file_value(answer, wanted * values + at++);
			struct filter_text t = { v.ptr, v.len };

			yield(s, &t, "file", ret, &budget);
		} else if (s->kind == SOURCE_LINES) {
			struct skep_str line = mark->file->error ? engine_file_value(answer, wanted) : *answer;

			from_lines(s, &line, &budget, ret);
		}
	}
}

void recognizer_facts_replace(struct recognizer_facts *to, const struct recognizer_facts *from)
{
	for (unsigned i = 0; i < FACTS; i++) {
		if (!(from->known & 1u << i))
			continue;
		to->source[i] = from->source[i];
		if (i >= FACT_TEXTS) {
			to->number[i - FACT_TEXTS] = from->number[i - FACT_TEXTS];
			continue;
		}
		to->len[i] = from->len[i];
		memcpy(to->text[i], from->text[i], from->len[i]);
	}
	to->known |= from->known;
}

struct skep_str recognizer_fact_text(const struct recognizer_facts *facts, enum recognizer_fact fact)
{
	unsigned i = (unsigned)fact; /* texts come first */

	if (!(facts->known & 1u << fact))
		return (struct skep_str){ "", 0, 0 };
	return (struct skep_str){ facts->text[i], facts->len[i], facts->len[i] };
}

uint64_t recognizer_fact_number(const struct recognizer_facts *facts, enum recognizer_fact fact)
{
	return facts->known & 1u << fact ? facts->number[fact - FACT_TEXTS] : 0;
}
