/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/fake_script.c - reads the fake probe's script.  Keys are tables; a line is
 * split into words and each word is looked up.
 */
#include "tests/abi/fake_script.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum key_type { KEY_U32, KEY_U64, KEY_F64, KEY_STR, KEY_STRV, KEY_UPID, KEY_CODE, KEY_SIGNAL, KEY_STREAM, KEY_WHERE };

struct key {
	const char *name;
	enum key_type type;
	size_t offset;
};

#define K(struct_, member_, type_)                                 \
	{                                                          \
#member_, type_, offsetof(struct struct_, member_) \
	}
#define KC(struct_, member_)                                                  \
	{                                                                     \
#member_, KEY_U64, offsetof(struct struct_, counters.member_) \
	}
#define KEYS_COUNTERS(s_)                                                                                              \
	KC(s_, cpu_ns), KC(s_, utime_ns), KC(s_, stime_ns), KC(s_, run_delay_ns), KC(s_, run_count),                   \
		KC(s_, voluntary_switches), KC(s_, involuntary_switches), KC(s_, minor_faults), KC(s_, major_faults),  \
		KC(s_, rchar_bytes), KC(s_, wchar_bytes), KC(s_, read_calls), KC(s_, write_calls), KC(s_, read_bytes), \
		KC(s_, write_bytes), KC(s_, cancelled_write_bytes)

static const struct key fork_keys[] = {
	K(skep_process_fork, parent, KEY_UPID), K(skep_process_fork, cgroup_id, KEY_U64),
	K(skep_process_fork, uid, KEY_U32),     K(skep_process_fork, gid, KEY_U32),
	K(skep_process_fork, session, KEY_U32), K(skep_process_fork, ns_pid, KEY_U32),
	K(skep_process_fork, comm, KEY_STR),    { NULL, 0, 0 },
};
static const struct key exec_keys[] = {
	K(skep_process_exec, parent, KEY_UPID),
	KEYS_COUNTERS(skep_process_exec),
	K(skep_process_exec, rss_peak_bytes, KEY_U64),
	K(skep_process_exec, maxrss_bytes, KEY_U64),
	K(skep_process_exec, cgroup_id, KEY_U64),
	K(skep_process_exec, mount_ns, KEY_U64),
	K(skep_process_exec, pid_ns, KEY_U64),
	K(skep_process_exec, uid, KEY_U32),
	K(skep_process_exec, gid, KEY_U32),
	K(skep_process_exec, session, KEY_U32),
	K(skep_process_exec, tid, KEY_U32),
	K(skep_process_exec, ns_pid, KEY_U32),
	K(skep_process_exec, flags, KEY_U32),
	K(skep_process_exec, comm, KEY_STR),
	K(skep_process_exec, filename, KEY_STR),
	K(skep_process_exec, exe, KEY_STR),
	K(skep_process_exec, cwd, KEY_STR),
	K(skep_process_exec, cgroup, KEY_STR),
	K(skep_process_exec, argv, KEY_STRV),
	{ NULL, 0, 0 },
};
static const struct key exit_keys[] = {
	K(skep_process_exit, status, KEY_U32),
	{ "code", KEY_CODE, offsetof(struct skep_process_exit, status) },
	{ "signal", KEY_SIGNAL, offsetof(struct skep_process_exit, status) },
	K(skep_process_exit, threads_peak, KEY_U32),
	K(skep_process_exit, rss_peak_bytes, KEY_U64),
	K(skep_process_exit, maxrss_bytes, KEY_U64),
	K(skep_process_exit, cgroup_id, KEY_U64),
	{ NULL, 0, 0 },
};
static const struct key final_keys[] = {
	KEYS_COUNTERS(skep_process_final),
	K(skep_process_final, maxrss_bytes, KEY_U64),
	K(skep_process_final, status, KEY_U32),
	{ "code", KEY_CODE, offsetof(struct skep_process_final, status) },
	{ "signal", KEY_SIGNAL, offsetof(struct skep_process_final, status) },
	K(skep_process_final, flags, KEY_U32),
	K(skep_process_final, cgroup_id, KEY_U64),
	K(skep_process_final, threads, KEY_U64),
	{ NULL, 0, 0 },
};
static const struct key live_keys[] = {
	K(skep_process_live, parent, KEY_UPID),      KEYS_COUNTERS(skep_process_live),
	K(skep_process_live, rss_bytes, KEY_U64),    K(skep_process_live, rss_peak_bytes, KEY_U64),
	K(skep_process_live, maxrss_bytes, KEY_U64), K(skep_process_live, cgroup_id, KEY_U64),
	K(skep_process_live, uid, KEY_U32),          K(skep_process_live, gid, KEY_U32),
	K(skep_process_live, session, KEY_U32),      K(skep_process_live, ns_pid, KEY_U32),
	K(skep_process_live, threads, KEY_U32),      K(skep_process_live, flags, KEY_U32),
	K(skep_process_live, comm, KEY_STR),         K(skep_process_live, exe, KEY_STR),
	K(skep_process_live, cwd, KEY_STR),          K(skep_process_live, cgroup, KEY_STR),
	K(skep_process_live, argv, KEY_STRV),        { NULL, 0, 0 },
};
static const struct key oom_keys[] = {
	K(skep_process_oom, cgroup_id, KEY_U64),   K(skep_process_oom, limit_bytes, KEY_U64),
	K(skep_process_oom, usage_bytes, KEY_U64), K(skep_process_oom, peak_bytes, KEY_U64),
	K(skep_process_oom, cgroup, KEY_STR),      { NULL, 0, 0 },
};
static const struct key facet_keys[] = {
	K(fake_facet, widgets, KEY_U64),
	K(fake_facet, temperature, KEY_F64),
	{ NULL, 0, 0 },
};
static const struct key event_keys[] = { K(fake_event, text, KEY_STR), { NULL, 0, 0 } };
static const struct key no_keys[] = { { NULL, 0, 0 } };
static const struct key sweep_end_keys[] = { K(fake_order, complete, KEY_U32), { NULL, 0, 0 } };
static const struct key drained_keys[] = { { "at", KEY_U64, offsetof(struct fake_order, at_ns) }, { NULL, 0, 0 } };
static const struct key sleep_keys[] = { { "for", KEY_U64, offsetof(struct fake_order, for_ns) }, { NULL, 0, 0 } };
static const struct key lost_keys[] = {
	K(fake_order, stream, KEY_STREAM),
	K(fake_order, where, KEY_WHERE),
	K(fake_order, n, KEY_U64),
	{ NULL, 0, 0 },
};

static const struct {
	const char *name;
	const struct key *keys;
	size_t size;
	int parent; /* offset, -1: none */
} whats[FAKE_N_WHATS] = {
	[FAKE_FORK] = { "fork", fork_keys, sizeof(struct skep_process_fork),
			offsetof(struct skep_process_fork, parent) },
	[FAKE_EXEC] = { "exec", exec_keys, sizeof(struct skep_process_exec),
			offsetof(struct skep_process_exec, parent) },
	[FAKE_EXIT] = { "exit", exit_keys, sizeof(struct skep_process_exit), -1 },
	[FAKE_FINAL] = { "final", final_keys, sizeof(struct skep_process_final), -1 },
	[FAKE_LIVE] = { "live", live_keys, sizeof(struct skep_process_live),
			offsetof(struct skep_process_live, parent) },
	[FAKE_OOM] = { "oom", oom_keys, sizeof(struct skep_process_oom), -1 },
	[FAKE_FACET] = { "facet", facet_keys, sizeof(struct fake_facet), -1 },
	[FAKE_EVENT] = { "event", event_keys, sizeof(struct fake_event), -1 },
	[FAKE_SWEEP_BEGIN] = { "sweep_begin", no_keys, sizeof(struct fake_order), -1 },
	[FAKE_SWEEP_END] = { "sweep_end", sweep_end_keys, sizeof(struct fake_order), -1 },
	[FAKE_DRAINED] = { "drained", drained_keys, sizeof(struct fake_order), -1 },
	[FAKE_LOST] = { "lost", lost_keys, sizeof(struct fake_order), -1 },
	[FAKE_SLEEP] = { "sleep", sleep_keys, sizeof(struct fake_order), -1 },
};

static const char *const where_names[] = { "", "kernel", "queue", "spool", "sink" };

/* Start times of the pids seen so far in the file. */
struct seen {
	uint32_t pid;
	uint64_t start_ns;
};

struct reader {
	const char *path;
	unsigned line;
	char *why;
	size_t why_size;
	struct seen *seen;
	size_t n_seen;
	uint64_t last_ns;
};

__attribute__((format(printf, 3, 4))) static int reader_fail(struct reader *r, int err, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(r->why, r->why_size, "%s:%u: %s", r->path, r->line, text);
	return err;
}

/* The start of that pid in the script; `otherwise` for a new pid. */
static uint64_t seen_start(const struct reader *r, uint32_t pid, uint64_t otherwise)
{
	for (size_t i = r->n_seen; i-- > 0;)
		if (r->seen[i].pid == pid)
			return r->seen[i].start_ns;
	return otherwise;
}

static int seen_add(struct reader *r, uint32_t pid, uint64_t start_ns)
{
	struct seen *more = realloc(r->seen, (r->n_seen + 1) * sizeof(*more));

	if (!more)
		return reader_fail(r, -ENOMEM, "out of memory");
	r->seen = more;
	more[r->n_seen++] = (struct seen) { pid, start_ns };
	return 0;
}

/* "12", "0x300", "5ms", "64MiB". */
static int parse_u64(const char *text, uint64_t *ret)
{
	static const struct {
		const char *suffix;
		uint64_t factor;
	} suffixes[] = {
		{ "", 1 },           { "ns", 1 },          { "us", 1000 }, { "ms", 1000000 },
		{ "s", 1000000000 }, { "m", 60000000000 }, { "B", 1 },     { "KiB", 1u << 10 },
		{ "MiB", 1u << 20 }, { "GiB", 1u << 30 },
	};
	unsigned long long n;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno != 0)
		return -ERANGE;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (strcmp(end, suffixes[i].suffix) == 0)
			return __builtin_mul_overflow((uint64_t)n, suffixes[i].factor, ret) ? -ERANGE : 0;
	return -EINVAL;
}

/*
 * The next word at *at, unquoted in place: *ret_word, *ret_len (the word may contain NULs). A quoted part may be
 * anywhere in it: argv="a\0b". 1: a word, 0: no more words.
 */
static int next_word(struct reader *r, char **at, char **ret_word, size_t *ret_len)
{
	char *in = *at, *out, *word;
	bool quoted = false;

	while (*in == ' ' || *in == '\t')
		in++;
	if (*in == '\0' || *in == '#')
		return 0;
	word = out = in;
	for (; *in && (quoted || (*in != ' ' && *in != '\t')); in++) {
		if (*in == '"') {
			quoted = !quoted;
		} else if (quoted && *in == '\\') {
			static const char from[] = "0nt\"\\", to[] = "\0\n\t\"\\";
			const char *p;
			unsigned byte;

			in++;
			if (*in == 'x' && sscanf(in + 1, "%2x", &byte) == 1 && isxdigit((unsigned char)in[2])) {
				*out++ = (char)byte;
				in += 2;
			} else if (*in && (p = strchr(from, *in))) {
				*out++ = to[p - from];
			} else {
				return reader_fail(r, -EINVAL, "unknown escape; known are \\0 \\n \\t \\\" \\\\ \\xHH");
			}
		} else {
			*out++ = *in;
		}
	}
	if (quoted)
		return reader_fail(r, -EINVAL, "a quote is not closed");
	if (*in)
		in++; /* out may be at this blank, which becomes the end of the word */
	*out = '\0';
	*at = in;
	*ret_word = word;
	*ret_len = (size_t)(out - word);
	return 1;
}

static int set_string(struct reader *r, struct fake_line *line, void *where, bool list, const char *value, size_t len)
{
	struct skep_str *str = where;
	char **more = realloc(line->strings, (line->n_strings + 1) * sizeof(*more));
	char *copy;

	if (!more)
		return reader_fail(r, -ENOMEM, "out of memory");
	line->strings = more;
	copy = malloc(len + 1);
	if (!copy)
		return reader_fail(r, -ENOMEM, "out of memory");
	memcpy(copy, value, len);
	copy[len] = '\0';
	more[line->n_strings++] = copy;
	/* A list's last string needs a NUL of its own. */
	if (list && len > 0 && copy[len - 1] != '\0')
		len++;
	*str = (struct skep_str) { .ptr = copy, .len = (uint32_t)len, .total = (uint32_t)len };
	return 0;
}

static int set_key(struct reader *r, struct fake_line *line, const struct key *key, const char *value, size_t len)
{
	char *where = (char *)line->record + key->offset;
	uint64_t n = 0;
	double f;
	char *end;

	switch (key->type) {
	case KEY_STR:
	case KEY_STRV:
		return set_string(r, line, where, key->type == KEY_STRV, value, len);
	case KEY_F64:
		f = strtod(value, &end);
		if (end == value || *end)
			return reader_fail(r, -EINVAL, "%s=%s is no number", key->name, value);
		memcpy(where, &f, sizeof(f));
		return 0;
	case KEY_STREAM:
		for (uint32_t i = 0; i < FAKE_N_STREAMS; i++)
			if (strcmp(whats[i].name, value) == 0) {
				memcpy(where, &i, sizeof(i));
				return 0;
			}
		return reader_fail(r, -EINVAL, "stream=%s: there is no such stream", value);
	case KEY_WHERE:
		for (uint32_t i = 1; i < sizeof(where_names) / sizeof(where_names[0]); i++)
			if (strcmp(where_names[i], value) == 0) {
				memcpy(where, &i, sizeof(i));
				return 0;
			}
		return reader_fail(r, -EINVAL, "where=%s: kernel, queue, spool or sink", value);
	default:
		break;
	}
	if (parse_u64(value, &n) < 0)
		return reader_fail(r, -EINVAL, "%s=%s is no number (suffixes: ns us ms s m B KiB MiB GiB)", key->name,
				   value);
	if (key->type == KEY_CODE)
		n <<= 8;
	if (key->type == KEY_U64) {
		memcpy(where, &n, sizeof(n));
	} else if (n > UINT32_MAX) {
		return reader_fail(r, -ERANGE, "%s=%s is above 32 bits", key->name, value);
	} else if (key->type == KEY_UPID) {
		struct skep_upid upid = { .pid = (uint32_t)n, .start_ns = seen_start(r, (uint32_t)n, 0) };

		memcpy(where, &upid, sizeof(upid));
	} else {
		uint32_t small = (uint32_t)n;

		memcpy(where, &small, sizeof(small));
	}
	return 0;
}

static int parse_when(struct reader *r, const char *word, uint64_t *ret)
{
	uint64_t n;

	if (parse_u64(word[0] == '+' ? word + 1 : word, &n) < 0)
		return reader_fail(r, -EINVAL, "a line begins with its time (\"5ms\", \"+1s\"), not with \"%s\"", word);
	if (word[0] == '+')
		n += r->last_ns;
	if (n < r->last_ns)
		return reader_fail(r, -EINVAL, "time %s goes back", word);
	r->last_ns = *ret = n;
	return 0;
}

static int parse_pair(struct reader *r, struct fake_line *line, char *word, size_t len, bool *start_given)
{
	const struct key *key = whats[line->what].keys;
	char *equals = memchr(word, '=', len);
	uint64_t n;

	if (!equals)
		return reader_fail(r, -EINVAL, "\"%s\" is no KEY=VALUE", word);
	*equals++ = '\0';
	len -= (size_t)(equals - word);
	if (strcmp(word, "pid") == 0 || strcmp(word, "start") == 0) {
		if (parse_u64(equals, &n) < 0 || (word[0] == 'p' && n > UINT32_MAX))
			return reader_fail(r, -EINVAL, "%s=%s is no number", word, equals);
		if (word[0] == 'p') {
			line->who.pid = (uint32_t)n;
		} else {
			line->who.start_ns = n;
			*start_given = true;
		}
		return 0;
	}
	while (key->name && strcmp(key->name, word) != 0)
		key++;
	if (!key->name)
		return reader_fail(r, -EINVAL, "%s has no key \"%s\"", whats[line->what].name, word);
	return set_key(r, line, key, equals, len);
}

static struct fake_line *line_free(struct fake_line *line)
{
	if (line) {
		for (size_t i = 0; i < line->n_strings; i++)
			free(line->strings[i]);
		free(line->strings);
		free(line->record);
		free(line);
	}
	return NULL;
}

/* *ret NULL: an empty line or a comment. */
static int parse_line(struct reader *r, char *text, struct fake_line **ret)
{
	struct fake_line *line = NULL;
	bool start_given = false;
	uint64_t when_ns = 0;
	char *word;
	size_t len, what;
	int err;

	*ret = NULL;
	err = next_word(r, &text, &word, &len);
	if (err <= 0)
		return err;
	err = parse_when(r, word, &when_ns);
	if (err < 0)
		return err;
	err = next_word(r, &text, &word, &len);
	if (err < 0)
		return err;
	for (what = 0; what < FAKE_N_WHATS; what++)
		if (err > 0 && strcmp(whats[what].name, word) == 0)
			break;
	if (what == FAKE_N_WHATS)
		return reader_fail(r, -EINVAL,
				   "after the time comes what happens: fork exec exit final live oom facet event "
				   "sweep_begin sweep_end drained lost sleep");
	line = calloc(1, sizeof(*line));
	if (!line || !(line->record = calloc(1, whats[what].size))) {
		err = reader_fail(r, -ENOMEM, "out of memory");
		goto out;
	}
	line->when_ns = when_ns;
	line->what = (enum fake_what)what;
	if (whats[what].parent >= 0)
		line->parent = (void *)((char *)line->record + whats[what].parent);
	if (what >= FAKE_N_STREAMS) {
		struct fake_order *order = line->record;

		*order = (struct fake_order) { .at_ns = when_ns, .n = 1, .complete = 1, .where = SKEP_LOSS_KERNEL };
	}
	while ((err = next_word(r, &text, &word, &len)) > 0) {
		err = parse_pair(r, line, word, len, &start_given);
		if (err < 0)
			goto out;
	}
	if (err < 0)
		goto out;
	if (line->who.pid != 0) {
		/* A fork makes a new process even where the pid was in use before. */
		if (!start_given)
			line->who.start_ns = what == FAKE_FORK ? when_ns : seen_start(r, line->who.pid, when_ns);
		err = seen_add(r, line->who.pid, line->who.start_ns);
		if (err < 0)
			goto out;
	} else if (what < FAKE_EVENT) {
		err = reader_fail(r, -EINVAL, "%s needs pid=", whats[what].name);
		goto out;
	}
	*ret = line;
	line = NULL;
out:
	line_free(line);
	return err;
}

int fake_script_read(const char *path, struct fake_line **ret_lines, char *why, size_t why_size)
{
	struct reader r = { .path = path, .why = why, .why_size = why_size };
	struct fake_line *first = NULL, **last = &first;
	char *text = NULL;
	size_t room = 0;
	ssize_t n;
	int err = 0;
	FILE *f;

	f = fopen(path, "re");
	if (!f) {
		err = -errno;
		snprintf(why, why_size, "%s: cannot be opened: %s", path, strerror(-err));
		return err;
	}
	while (err == 0 && (n = getline(&text, &room, f)) >= 0) {
		r.line++;
		if (n > 0 && text[n - 1] == '\n')
			text[n - 1] = '\0';
		err = parse_line(&r, text, last);
		if (*last)
			last = &(*last)->next;
	}
	if (err == 0 && ferror(f)) {
		err = -EIO;
		snprintf(why, why_size, "%s: cannot be read", path);
	}
	if (err == 0)
		*ret_lines = first;
	else
		fake_script_free(first);
	free(r.seen);
	free(text);
	fclose(f);
	return err;
}

void fake_script_base(struct fake_line *lines, uint64_t base_ns)
{
	for (; lines; lines = lines->next) {
		if (lines->who.pid != 0)
			lines->who.start_ns += base_ns;
		if (lines->parent && lines->parent->pid != 0)
			lines->parent->start_ns += base_ns;
	}
}

struct fake_line *fake_script_free(struct fake_line *lines)
{
	struct fake_line *next;

	for (; lines; lines = next) {
		next = lines->next;
		line_free(lines);
	}
	return NULL;
}
