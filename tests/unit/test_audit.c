/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/: the canonical form, the chain, and its check: every edit, drop, swap, repetition, insertion and cut of a
 * recorded chain is found, also where the forger computes the hash of the line anew.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/audit/audit_print.h"
#include "cli/audit/chain.h"
#include "cli/audit/entries.h"
#include "cli/audit/verify.h"
#include "tests/unit/reports.h"

#define START UINT64_C(1794268800000000000)

/* ---- a run ------------------------------------------------------------------------------ */

static char long_argument[32768];
static const char *const hostile[] = {
	"sh", "-c", "x\n{\"hash\":\"0\",\"kind\":\"exec\"}\n", "\"},{", "caf\xe9 \x80\xff", "\b\f\x01\x7f\x1f\xe2\x80\xa8",
	long_argument, "", NULL,
};
static const char *const plain[] = { "sort", "-u", "/etc/passwd", NULL };

struct planted {
	struct lake_audit audit;
	struct lake_report run, inner, *runs[2];
	struct lake_kind kinds[5];
	struct lake_process processes[4], of_inner[1];
	struct lake_open opens[3];
	struct lake_connection connections[3];
	struct lake_loss losses[2];
	struct lake_facet facet;
};

static struct lake_process process(struct lake_kind *kind, const char *upid, const char *const *argv, uint64_t from,
				   uint64_t to)
{
	*kind = (struct lake_kind){
		.task_id = "", .step = "", .scopes = "", .unit = "", .tool = argv[0], .container = "", .state = "exited", .comm = argv[0],
		.exe = "/bin/x", .filename = argv[0], .cwd = "/", .cgroup = "/", .execed = true, .last = true, .uid = 1000, .gid = 1000,
		.oom_cgroup = "",
	};
	return (struct lake_process){
		.kind = kind, .in = &reports_no_container, .upid = upid, .parent_upid = "b-1-1", .pid = 7, .ppid = 1, .task = "t",
		.argv = argv, .start_ns = START + from, .end_ns = to ? START + to : 0,
	};
}

static struct lake_run run_of(const char *id, const char *parent)
{
	return (struct lake_run){
		.id = id, .name = "n", .pipeline = "", .host = "h", .boot_id = "b", .kernel = "6.1", .version = "1.7",
		.state = "ended", .cwd = "/", .argv = plain, .root_upid = "b-7-1", .engine = "", .parent_run = parent,
		.origin = "command", .job = "", .in = { "", "", "", "", "", "" }, .uid = 1000, .start_ns = START,
		.end_ns = START + 100, .exit_code = 0,
	};
}

static struct lake_connection connection(uint64_t at, const char *state, uint64_t rx)
{
	return (struct lake_connection){ .process = 1, .upid = "b-8-2", .local = "127.0.0.1", .peer = "127.0.0.2",
					 .direction = "out", .state = state, .error = "", .local_port = 4000, .peer_port = 80,
					 .start_ns = START + 20, .time_ns = START + at, .rx_bytes = rx };
}

/* Entries: run header, inner run, 4 exec or fork, 3 exits, 1 file, 1 connection, 1 accept, 2 losses, end. */
static void plant(struct planted *p)
{
	memset(long_argument, 'x', sizeof(long_argument) - 1);
	memset(p, 0, sizeof(*p));
	p->processes[0] = process(&p->kinds[0], "b-7-1", hostile, 0, 90);
	p->processes[1] = process(&p->kinds[1], "b-8-2", plain, 10, 50);
	p->processes[2] = process(&p->kinds[2], "b-9-3", plain, 10, 0); /* not ended */
	p->processes[3] = process(&p->kinds[3], "b-7-1", plain, 0, 0);  /* became the first one: not listed */
	reports_kind(&p->processes[3])->execed = false;
	reports_kind(&p->processes[3])->state = "replaced";
	reports_kind(&p->processes[1])->signal = 9;
	reports_kind(&p->processes[1])->exit_code = -1;
	reports_kind(&p->processes[2])->execed = false; /* a fork that runs on */
	reports_kind(&p->processes[2])->state = "running";
	p->facet = (struct lake_facet){ "net.connects", 5 };
	p->processes[1].facets = &p->facet;
	p->processes[1].n_facets = 1;
	p->of_inner[0] = process(&p->kinds[4], "b-10-4", plain, 30, 40);
	p->opens[0] = (struct lake_open){ .process = 1, .upid = "b-8-2", .path = "/tmp/a\nb", .opens = 2, .writes = 1,
					  .created = 1, .first_ns = START + 15 };
	p->opens[1] = p->opens[0];
	p->opens[1].writes = 3;
	p->opens[2] = p->opens[0];
	p->opens[2].path = "/tmp/read";
	p->opens[2].writes = 0;
	p->connections[0] = connection(25, "open", 5);
	p->connections[1] = connection(35, "closed", 6);
	p->connections[2] = connection(35, "closed", 0);
	p->connections[2].direction = "in";
	p->connections[2].process = SIZE_MAX;
	p->connections[2].upid = "b-99-9";
	p->losses[0] = (struct lake_loss){ "proc", "process.exit", "kernel", 3, START + 60 };
	p->losses[1] = (struct lake_loss){ "proc", "process.exit", "spool", 1, START + 60 };
	p->run = (struct lake_report){ .run = run_of("r1", ""), .n_processes = 4, .processes = p->processes, .n_opens = 3,
				       .opens = p->opens, .n_connections = 3, .connections = p->connections,
				       .n_losses = 2, .losses = p->losses };
	p->inner = (struct lake_report){ .run = run_of("r2", "r1"), .n_processes = 1, .processes = p->of_inner };
	p->runs[0] = &p->run;
	p->runs[1] = &p->inner;
	p->audit = (struct lake_audit){ 2, p->runs };
}

#define PLANTED 14u

/* The chain as a text; the caller frees it. */
static char *chain_of(struct planted *p, char head[CANON_HASH + 1])
{
	struct entries e;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(entries_new(&p->audit, &e), 0);
	assert_int_equal(audit_json(&e, out, head), 0);
	fclose(out);
	entries_free(&e);
	return text;
}

/* ---- the canonical form ------------------------------------------------------------------- */

static void string_becomes(const char *s, const char *want)
{
	struct jsonw j = { 0 };

	canon_string(&j, s, strlen(s));
	if (j.len != strlen(want) || memcmp(j.buf, want, j.len) != 0)
		fail_msg("%.*s, expected %s", (int)j.len, j.buf, want);
	skep_jsonw_free(&j);
}

static void test_strings(void **state)
{
	(void)state;
	/* RFC 8785, 3.2.2: its example of a string */
	string_becomes("\xe2\x82\xac$\x0f\nA'B\"\\\\\"/", "\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
	string_becomes("\b\t\f\r\x01\x1f\x7f", "\"\\b\\t\\f\\r\\u0001\\u001f\x7f\"");
	string_becomes("a\xe9z\xf0\x9f\x98\x80", "\"a\xef\xbf\xbdz\xf0\x9f\x98\x80\"");
	string_becomes("", "\"\"");
}

#define H "\"hash\":\"" CHAIN_FIRST "\","
#define T ",\"prev\":\"" CHAIN_FIRST "\",\"seq\":1}"

static void test_form(void **state)
{
	static const char *const good[] = {
		"{" H "\"kind\":\"x\"" T,
		"{\"a\":[]," H "\"kind\":\"x\"" T,
		"{\"a\":[\"\",\"\\u000f\x7f\"],\"b\":-5,\"c\":true," H "\"kind\":\"\"" T,
	};
	static const char *const bad[] = {
		"", "{", "{}", "[]", "{" H "\"kind\":\"x\"" T " ", " {" H "\"kind\":\"x\"" T, "{" H "\"kind\":\"x\"" T "\r",
		"{" H " \"kind\":\"x\"" T, "{" H "\"kind\": \"x\"" T, "{" H "\"kind\":\"x\"" T "{}",
		"{\"z\":1," H "\"kind\":\"x\"" T, "{\"a\":1,\"a\":1," H "\"kind\":\"x\"" T, "{\"A\":1," H "\"kind\":\"x\"" T,
		"{\"a\":01," H "\"kind\":\"x\"" T, "{\"a\":-0," H "\"kind\":\"x\"" T, "{\"a\":1.0," H "\"kind\":\"x\"" T,
		"{\"a\":1e3," H "\"kind\":\"x\"" T, "{\"a\":9007199254740992," H "\"kind\":\"x\"" T,
		"{\"a\":null," H "\"kind\":\"x\"" T, "{\"a\":[1]," H "\"kind\":\"x\"" T, "{\"a\":{}," H "\"kind\":\"x\"" T,
		"{\"a\":\"\\u000F\"," H "\"kind\":\"x\"" T, "{\"a\":\"\\u000a\"," H "\"kind\":\"x\"" T,
		"{\"a\":\"\\u0041\"," H "\"kind\":\"x\"" T, "{\"a\":\"\\/\"," H "\"kind\":\"x\"" T,
		"{\"a\":\"\x01\"," H "\"kind\":\"x\"" T, "{\"a\":\"\xe9\"," H "\"kind\":\"x\"" T,
		"{\"a\":tru," H "\"kind\":\"x\"" T, "{" H "\"kind\":1" T, "{\"kind\":\"x\"" T,
		"{" H "\"kind\":\"x\",\"seq\":1}", "{\"hash\":\"00\",\"kind\":\"x\"" T,
	};
	struct canon_line l;
	const char *why = NULL;
	size_t at;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (canon_read(good[i], strlen(good[i]), &l, &at, &why) != 0)
			fail_msg("%s: %s at %zu", good[i], why, at);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (canon_read(bad[i], strlen(bad[i]), &l, &at, &why) == 0)
			fail_msg("accepted: %s", bad[i]);
}

/* The hashes are those of Python's hashlib over json.dumps(sort_keys=True, separators=(",", ":"), ensure_ascii=False). */
static void test_vectors(void **state)
{
	const char *const argv[] = { "a\nb", "\x7f\xe2\x82\xac\x0f\"\\", NULL };
	struct chain c = { 0 };

	(void)state;
	chain_begin(&c);
	chain_text(&c, "audit", CHAIN_FORMAT);
	chain_text(&c, "kind", "audit");
	chain_text(&c, "run", "r");
	chain_number(&c, "uid", 1000);
	chain_end(&c);
	assert_string_equal(c.head, "84fc4cca117a962a861dbca727e89b97a4ba271919cc3fbd5c116ee6ce2e438f");
	chain_begin(&c);
	chain_list(&c, "argv", argv);
	chain_text(&c, "kind", "exec");
	chain_time(&c, "time", START + 1000 * UINT64_C(1000000000) + 5);
	chain_text(&c, "upid", "u");
	chain_end(&c);
	assert_string_equal(c.head, "938ece72988f1039431996cb7ee246fe55f438d38925570bbfe3a2feadaf1776");
	chain_begin(&c);
	chain_number(&c, "entries", 1);
	chain_text(&c, "kind", "end");
	chain_end(&c);
	assert_string_equal(c.head, "a61d557d554cfc873705eb30b3bb624fe66ca30d008c5e208cf3aa8d458fd21b");
	assert_int_equal(chain_close(&c), 0);
}

/* ---- the list ----------------------------------------------------------------------------- */

static void test_entries(void **state)
{
	static const char *const kinds[] = { "audit", "run", "exec", "exec", "fork", "open-for-write", "connect", "accept",
					     "exec", "exit", "exit", "loss", "loss", "exit", "end" };
	char head[CANON_HASH + 1], again[CANON_HASH + 1], *text, *line, *rest;
	struct planted p;
	size_t n = 0;

	(void)state;
	plant(&p);
	text = chain_of(&p, head);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), n++) {
		struct canon_line l;
		const char *why;
		size_t at;

		assert_int_equal(canon_read(line, strlen(line), &l, &at, &why), 0);
		assert_int_equal(l.seq, n);
		if (n >= sizeof(kinds) / sizeof(kinds[0]) || strncmp(l.kind, kinds[n], l.kind_len) != 0)
			fail_msg("line %zu: %s", n, line);
		if (n == 5)
			assert_non_null(strstr(line, "\"path\":\"/tmp/a\\nb\""));
		if (n == 5)
			assert_non_null(strstr(line, "\"writes\":4"));
		if (n == 6)
			assert_non_null(strstr(line, "\"rx_bytes\":11,"));
		if (n == 10)
			assert_non_null(strstr(line, "\"connects\":5,"));
	}
	assert_int_equal(n, PLANTED + 1);
	free(text);
	/* the order of rows is the back end's affair */
	plant(&p);
	p.opens[0] = p.opens[2];
	p.opens[2] = p.opens[1];
	p.opens[2].writes = 1;
	p.opens[1].writes = 3;
	p.connections[2] = p.connections[0];
	p.connections[0] = connection(35, "closed", 6);
	p.connections[1] = connection(35, "closed", 0);
	p.connections[1].direction = "in";
	p.connections[1].process = SIZE_MAX;
	p.connections[1].upid = "b-99-9";
	free(chain_of(&p, again));
	assert_string_equal(head, again);
}

/* Text for people: one line for each entry, with any arguments. */
static void test_text(void **state)
{
	char head[CANON_HASH + 1], *text = NULL;
	struct planted p;
	struct entries e;
	size_t size, lines = 0;
	FILE *out = open_memstream(&text, &size);
	const struct paint_style style = { .colour = PAINT_NEVER };

	(void)state;
	plant(&p);
	assert_int_equal(entries_new(&p.audit, &e), 0);
	assert_int_equal(audit_text(&e, out, &style, head), 0);
	fclose(out);
	entries_free(&e);
	for (size_t i = 0; i < size; i++) {
		lines += text[i] == '\n';
		assert_true((unsigned char)text[i] >= 0x20 || text[i] == '\n');
	}
	assert_int_equal(lines, 3 + 1 + (PLANTED - 1) + 2);
	assert_non_null(strstr(text, head));
	assert_non_null(strstr(text, "signal 9"));
	free(text);
}

/* ---- tampering ---------------------------------------------------------------------------- */

#define LINES_MOST 32u

struct text_lines {
	size_t n, len[LINES_MOST];
	char *line[LINES_MOST]; /* with the newline */
};

static void split(char *text, struct text_lines *ret)
{
	ret->n = 0;
	while (*text) {
		const size_t n = strcspn(text, "\n") + 1;

		assert_true(ret->n < LINES_MOST);
		ret->line[ret->n] = text;
		ret->len[ret->n++] = n;
		text += n;
	}
}

static enum verify_break check(const char *text, size_t n, const char *head, struct verify *ret)
{
	FILE *in = n ? fmemopen((void *)(uintptr_t)text, n, "r") : fopen("/dev/null", "re");
	struct verify_head kept = { 0 };

	assert_non_null(in);
	if (head)
		assert_int_equal(verify_head_read(head, &kept), 0);
	assert_int_equal(verify_chain(in, &kept, ret), 0);
	fclose(in);
	free(ret->bodies);
	ret->bodies = NULL;
	return ret->broken;
}

/* A chain of short lines, to try every byte of it: the hostile one has 32 KiB in a line. */
static char *short_chain(char head[CANON_HASH + 1])
{
	struct planted p;

	plant(&p);
	p.processes[0].argv = plain;
	return chain_of(&p, head);
}

static void test_bytes(void **state)
{
	char head[CANON_HASH + 1], *text = short_chain(head), *other = malloc(strlen(text) + 2);
	const size_t n = strlen(text);
	struct verify v;

	(void)state;
	assert_int_equal(check(text, n, head, &v), VERIFY_WHOLE);
	assert_int_equal(v.entries, PLANTED - 1);
	assert_string_equal(v.head, head);
	assert_string_equal(v.run, "r1");
	for (size_t i = 0; i < n; i++) {
		memcpy(other, text, n);
		other[i] ^= 1u << i % 7;
		if (check(other, n, NULL, &v) == VERIFY_WHOLE)
			fail_msg("byte %zu changed: not found", i);
		memcpy(other, text, i);
		memcpy(other + i, text + i + 1, n - i - 1);
		if (check(other, n - 1, NULL, &v) == VERIFY_WHOLE)
			fail_msg("byte %zu removed: not found", i);
		if (i % 3 == 0) {
			memcpy(other, text, i);
			other[i] = ' ';
			memcpy(other + i + 1, text + i, n - i);
			if (check(other, n + 1, NULL, &v) == VERIFY_WHOLE)
				fail_msg("a blank before byte %zu: not found", i);
		}
		if (check(text, i, NULL, &v) != (i ? VERIFY_CUT : VERIFY_NO_CHAIN) && v.broken != VERIFY_NO_CHAIN)
			fail_msg("cut after byte %zu: %s", i, verify_break_name(v.broken));
	}
	free(other);
	free(text);
}

/* Puts lines together: list[i] is an index, its end SIZE_MAX. */
static enum verify_break arranged(const struct text_lines *l, const size_t *list, struct verify *v)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	enum verify_break broken;

	for (; *list != SIZE_MAX; list++)
		fwrite(l->line[*list], 1, l->len[*list], out);
	fclose(out);
	broken = check(text, size, NULL, v);
	free(text);
	return broken;
}

static void expect(enum verify_break got, enum verify_break want, const struct verify *v, uint64_t line,
		   const char *what, size_t i, size_t k)
{
	if (got != want || v->line != line)
		fail_msg("%s %zu, %zu: %s in line %llu (%s), expected %s in line %llu", what, i, k, verify_break_name(got),
			 (unsigned long long)v->line, v->why, verify_break_name(want), (unsigned long long)line);
}

static void test_lines(void **state)
{
	char head[CANON_HASH + 1], *text;
	struct text_lines l;
	struct planted p;
	struct verify v;
	size_t list[LINES_MOST + 2];

	(void)state;
	plant(&p);
	text = chain_of(&p, head);
	split(text, &l);
	for (size_t i = 0; i < l.n; i++) {
		size_t n = 0;

		for (size_t k = 0; k < l.n; k++)
			if (k != i)
				list[n++] = k;
		list[n] = SIZE_MAX;
		expect(arranged(&l, list, &v), i + 1 == l.n ? VERIFY_CUT : VERIFY_DROPPED, &v, i + 1, "without", i, 0);
		for (size_t at = 0; at <= l.n; at++) { /* line i once more, before line at */
			n = 0;
			for (size_t k = 0; k < l.n; k++) {
				if (k == at)
					list[n++] = i;
				list[n++] = k;
			}
			if (at == l.n)
				list[n++] = i;
			list[n] = SIZE_MAX;
			arranged(&l, list, &v);
			if (v.broken == VERIFY_WHOLE)
				fail_msg("line %zu once more before %zu: not found", i, at);
			if (at > i && at < l.n)
				expect(v.broken, VERIFY_REPEATED, &v, at + 1, "twice", i, at);
		}
		for (size_t k = i + 1; k < l.n; k++) {
			for (n = 0; n < l.n; n++)
				list[n] = n == i ? k : n == k ? i : n;
			list[n] = SIZE_MAX;
			expect(arranged(&l, list, &v), i ? VERIFY_REORDERED : VERIFY_DROPPED, &v, i + 1, "swapped", i, k);
		}
	}
	free(text);
}

/* Writes the chain with another text in one line, whose hash is made anew, as an attacker would. */
static char *forged(const struct text_lines *l, size_t at, bool insert, bool onward, char head[CANON_HASH + 1])
{
	char *text = NULL, prev[CANON_HASH + 1] = CHAIN_FIRST;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0, seq = 0; i < l->n; i++) {
		for (int copies = i == at && insert ? 2 : 1; copies > 0; copies--, seq++) {
			const bool change = i == at && (!insert || copies == 2);
			char *line = malloc(l->len[i] + 64), *buf = malloc(l->len[i] + 64), *where;
			struct canon_line c;
			const char *why;
			size_t byte;
			int n = (int)l->len[i] - 1;

			memcpy(line, l->line[i], (size_t)n);
			line[n] = '\0';
			if (change || (onward && i >= at)) {
				where = strstr(line, "\"prev\":\"") + 8;
				memcpy(where, prev, CANON_HASH);
				where = strstr(line, "\"seq\":") + 6;
				if (insert || onward) { /* all numbers of this chain have one or two digits */
					char rest[4096];

					snprintf(rest, sizeof(rest), "%s", where + strspn(where, "0123456789"));
					n = (int)(where - line) + snprintf(where, 4160, "%zu%s", seq, rest);
				}
				if (change && (where = strstr(line, "\"kind\":\"")) != NULL)
					where[8] = 'z';
				assert_int_equal(canon_read(line, (size_t)n, &c, &byte, &why), 0);
				chain_hash(line, (size_t)n, &c, buf, prev);
				memcpy(line + c.hash_at.at + 8, prev, CANON_HASH);
			} else {
				memcpy(prev, strstr(line, "\"hash\":\"") + 8, CANON_HASH);
			}
			fprintf(out, "%.*s\n", n, line);
			free(line);
			free(buf);
		}
	}
	fclose(out);
	memcpy(head, prev, sizeof(prev));
	return text;
}

static void test_forged(void **state)
{
	char head[CANON_HASH + 1], new_head[CANON_HASH + 1], *text = short_chain(head), *other;
	struct text_lines l;
	struct verify v;

	(void)state;
	split(text, &l);
	for (size_t i = 1; i + 1 < l.n; i++) {
		other = forged(&l, i, false, false, new_head); /* changed, with a new hash */
		expect(check(other, strlen(other), NULL, &v), VERIFY_EDITED, &v, i + 1, "new hash", i, 0);
		free(other);
		other = forged(&l, i, true, false, new_head); /* inserted before line i */
		if (check(other, strlen(other), NULL, &v) != VERIFY_INSERTED && v.broken != VERIFY_EDITED)
			fail_msg("inserted before %zu: %s", i, verify_break_name(v.broken));
		free(other);
		other = forged(&l, i, false, true, new_head); /* all of it anew: only the kept head says so */
		assert_int_equal(check(other, strlen(other), NULL, &v), VERIFY_WHOLE);
		assert_string_not_equal(new_head, head);
		assert_int_equal(check(other, strlen(other), head, &v), VERIFY_OTHER_HEAD);
		assert_int_equal(check(other, strlen(other), new_head, &v), VERIFY_WHOLE);
		free(other);
	}
	free(text);
}

/* Cut and given a new end: the kept head finds it. */
static void test_cut(void **state)
{
	char head[CANON_HASH + 1], less[CANON_HASH + 1], kept[128], *text, *shorter;
	struct planted p;
	struct verify v;

	(void)state;
	plant(&p);
	text = chain_of(&p, head);
	plant(&p);
	p.run.n_losses = 1;
	shorter = chain_of(&p, less);
	snprintf(kept, sizeof(kept), "%u:%s", PLANTED - 1, head);
	assert_int_equal(check(text, strlen(text), kept, &v), VERIFY_WHOLE);
	assert_int_equal(check(shorter, strlen(shorter), NULL, &v), VERIFY_WHOLE);
	assert_int_equal(check(shorter, strlen(shorter), kept, &v), VERIFY_CUT);
	assert_int_equal(check(shorter, strlen(shorter), head, &v), VERIFY_OTHER_HEAD);
	free(text);
	free(shorter);
}

/* ---- the lake ------------------------------------------------------------------------------ */

/* The number of entries that differ between the planted run's file and the changed run. */
static size_t differences(struct planted *now, size_t *ret_in_lake)
{
	char head[CANON_HASH + 1], *text;
	struct verify_difference *list = NULL;
	struct planted before;
	struct entries e;
	struct verify v;
	size_t n = 0;
	FILE *in;

	plant(&before);
	text = chain_of(&before, head);
	in = fmemopen(text, strlen(text), "r");
	assert_int_equal(verify_chain(in, NULL, &v), 0);
	fclose(in);
	assert_int_equal(v.broken, VERIFY_WHOLE);
	assert_int_equal(entries_new(&now->audit, &e), 0);
	assert_int_equal(verify_lake(&v, &e, &list, &n), 0);
	*ret_in_lake = 0;
	for (size_t i = 0; i < n; i++)
		*ret_in_lake += list[i].in_lake;
	free(list);
	free(v.bodies);
	entries_free(&e);
	free(text);
	return n;
}

static void test_lake(void **state)
{
	struct planted p;
	size_t in_lake;

	(void)state;
	plant(&p);
	assert_int_equal(differences(&p, &in_lake), 0);
	reports_kind(&p.processes[1])->exe = "/bin/innocent"; /* a row edited */
	assert_int_equal(differences(&p, &in_lake), 2);
	assert_int_equal(in_lake, 1);
	plant(&p);
	p.inner.n_processes = 0; /* a row removed: its exec, its exit, and the end's count */
	assert_int_equal(differences(&p, &in_lake), 4);
	assert_int_equal(in_lake, 1);
	plant(&p);
	p.losses[1] = p.losses[0]; /* two equal entries */
	assert_int_equal(differences(&p, &in_lake), 2);
	plant(&p);
	p.run.run.uid = 0;
	assert_int_equal(differences(&p, &in_lake), 2);
}

static void test_heads(void **state)
{
	struct verify_head h;

	(void)state;
	assert_int_equal(verify_head_read("12:" CHAIN_FIRST, &h), 0);
	assert_true(h.has_count && h.count == 12);
	assert_int_equal(verify_head_read(CHAIN_FIRST, &h), 0);
	assert_false(h.has_count);
	assert_int_equal(verify_head_read("", &h), -EINVAL);
	assert_int_equal(verify_head_read("-1:" CHAIN_FIRST, &h), -EINVAL);
	assert_int_equal(verify_head_read("99999999999999999999:" CHAIN_FIRST, &h), -EINVAL);
	assert_int_equal(verify_head_read(CHAIN_FIRST "0", &h), -EINVAL);
	assert_int_equal(verify_head_read("x" CHAIN_FIRST, &h), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings), cmocka_unit_test(test_form),  cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_entries), cmocka_unit_test(test_text),  cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_lines),   cmocka_unit_test(test_forged), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_lake),    cmocka_unit_test(test_heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
