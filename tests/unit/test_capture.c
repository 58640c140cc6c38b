/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_capture.c - capture patterns: their matches, the captured parts, and wrong patterns. On random
 * patterns and paths the test compares the matcher with one that tries everything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <time.h>

#include "core/identify/capture.h"

#define H64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define I64 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static const char *const names[] = { "id", "step", NULL };

static struct capture *compiled(const char *pattern)
{
	char why[CAPTURE_ERROR_SIZE] = "";
	struct capture *c = NULL;
	int err = capture_new(pattern, names, &c, why);

	if (err)
		fail_msg("%s: %s", pattern, why);
	return c;
}

/* "end id step", or "-" */
static const char *found(const char *pattern, const char *path)
{
	static char text[1024];
	char copy[2][256] = { "", "" };
	struct capture_match m;
	struct capture *c = compiled(pattern);
	size_t len = strlen(path);
	char *exact = malloc(len ? len : 1); /* no NUL behind it: the sanitizer sees a read too far */

	assert_non_null(exact);
	memcpy(exact, path, len);
	if (capture_find(c, exact, len, &m)) {
		for (int i = 0; i < 2; i++)
			if (m.spans[i].ptr)
				capture_copy(&m.spans[i], copy[i]);
		snprintf(text, sizeof(text), "%.*s %s %s", (int)m.end, exact, copy[0], copy[1]);
	} else {
		strcpy(text, "-");
	}
	free(exact);
	capture_free(c);
	return text;
}

static void matches(void **state)
{
	static const struct {
		const char *pattern, *path, *expect;
	} cases[] = {
		{ "docker-{id:hex64}.scope", "/system.slice/docker-" H64 ".scope",
		  "/system.slice/docker-" H64 ".scope " H64 " " },
		{ "docker-{id:hex64}.scope", "/system.slice/docker-" H64 ".scope/init.scope",
		  "/system.slice/docker-" H64 ".scope " H64 " " },
		{ "docker-{id:hex64}.scope", "/system.slice/docker-" H64 "0.scope", "-" },
		{ "docker-{id:hex64}.scope", "/system.slice/xdocker-" H64 ".scope", "-" },
		/* the innermost */
		{ "docker/{id:hex64}", "/docker/" H64 "/docker/" I64, "/docker/" H64 "/docker/" I64 " " I64 " " },
		{ "docker/{id:hex64}", "/docker/" H64 "/docker/", "/docker/" H64 " " H64 " " },
		{ "/docker/{id:hex64}", "/docker/" H64 "/docker/" I64, "/docker/" H64 " " H64 " " },
		{ "/docker/{id:hex64}", "/x/docker/" H64, "-" },
		{ "a/{id}", "a/b", "a/b b " },
		{ "a/{id}", "/a", "-" },
		{ "a/{id}", "", "-" },
		{ "a/{id}", "/", "-" },
		{ "/a", "", "-" },
		{ "/{id}", "/a/b", "/a a " },
		{ "{id}", "/a/b", "/a/b b " },
		{ "{id=x<digits>}.scope", "/x12.scope", "/x12.scope x12 " },
		{ "{id=x<digits>}.scope", "/x.scope", "-" },
		{ "{id=}x", "/x", "/x  " },
		{ "{id}-{step}", "/a-b-c", "/a-b-c a-b c" }, /* the first field takes as much as possible */
		{ "{id:digits}*{step}", "/12", "/12 1 2" },
		{ "*_{id=slot<any>}", "/condor_a_slot_b_slot1_1@h", "/condor_a_slot_b_slot1_1@h slot1_1@h " },
		{ "*pod{id:uid}.slice", "/kubepods-pod0a1b2c3d_0000_1111_2222_333344445555.slice",
		  "/kubepods-pod0a1b2c3d_0000_1111_2222_333344445555.slice 0a1b2c3d-0000-1111-2222-333344445555 " },
		{ "pod{id:uid}", "/pod0123456789abcdef0123456789abcdef",
		  "/pod0123456789abcdef0123456789abcdef 0123456789abcdef0123456789abcdef " },
		{ "pod{id:uid}", "/pod0a1b2c3d_0000-1111_2222_333344445555", "-" }, /* one or the other */
		{ "m-{id:unit}.scope/!sup", "/m-a\\x2db.scope/pay", "/m-a\\x2db.scope a-b " },
		{ "m-{id:unit}.scope/!sup", "/m-a.scope", "/m-a.scope a " },
		{ "m-{id:unit}.scope/!sup", "/m-a.scope/sup", "-" },
		/* a supervisor in b's cgroup belongs to a */
		{ "m-{id:unit}.scope/!sup", "/m-a.scope/payload/m-b.scope/sup", "/m-a.scope a " },
		/* only complete escapes are decoded; an escaped NUL is not */
		{ "m-{id:unit}", "/m-\\x2\\x00\\xzz\\x41", "/m-\\x2\\x00\\xzz\\x41 \\x2\\x00\\xzzA " },
		{ "\\*\\<\\{\\}\\\\{id}", "/*<{}\\x", "/*<{}\\x x " },
		{ "{id:name}", "/a b", "-" },
		{ "{id:name}", "/a.b-c_1:2+3@4", "/a.b-c_1:2+3@4 a.b-c_1:2+3@4 " },
		{ "{id:hex}", "/0aF", "-" },
		{ "x/{id:sluid}/{step}", "/x/s5K1KKYAYG5D00/step_0", "/x/s5K1KKYAYG5D00/step_0 s5K1KKYAYG5D00 step_0" },
		{ "x/{id:sluid}", "/x/s5K1KKYAYG5D0", "-" },
		{ "x/{id:sluid}", "/x/s5K1KKYAYG5D000", "-" },
		{ "x/{id:sluid}", "/x/S5K1KKYAYG5D00", "-" },
		{ "x/{id:sluid}", "/x/s5K1KKYAYG5DU0", "-" },
		{ "x/{id:sluid}", "/x/s5k1kkyayg5d00", "-" },
		{ "a//b", "", NULL },
		{ "", "", NULL },
		{ "/", "", NULL },
		{ "{ip}", "", NULL },
		{ "{id", "", NULL },
		{ "{id:hex", "", NULL },
		{ "{id:hex/}", "", NULL },
		{ "{id:hexe}", "", NULL },
		{ "{id}{id}", "", NULL },
		{ "{id=a{step}}", "", NULL },
		{ "{id=a", "", NULL },
		{ "{id=a/b}", "", NULL },
		{ "}", "", NULL },
		{ "<hex", "", NULL },
		{ "<nope>", "", NULL },
		{ "a\\", "", NULL },
		{ "!a", "", NULL },
		{ "a/!b/c", "", NULL },
		{ "a/!{id}", "", NULL },
		{ "a/!", "", NULL },
		{ "a/b/c/d/e/f/g/h/i", "", NULL },
		{ "0123456789012345678901234567890123456789012345678", "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char why[CAPTURE_ERROR_SIZE] = "";
		struct capture *c = NULL;

		if (cases[i].expect) {
			if (strcmp(found(cases[i].pattern, cases[i].path), cases[i].expect) != 0)
				fail_msg("%s on %s: %s", cases[i].pattern, cases[i].path,
					 found(cases[i].pattern, cases[i].path));
			continue;
		}
		if (capture_new(cases[i].pattern, names, &c, why) != -EINVAL)
			fail_msg("%s: taken", cases[i].pattern);
		assert_null(c);
		assert_int_equal(strncmp(why, "character ", 10), 0);
	}
	assert_null(capture_free(NULL));
}

static void errors_say_where(void **state)
{
	char why[CAPTURE_ERROR_SIZE];
	struct capture *c;

	(void)state;
	assert_int_equal(capture_new("a/{id:hex6}", names, &c, why), -EINVAL);
	assert_string_equal(
		why, "character 7: no class \"hex6\": one of any, name, digits, hex, hex32, hex64, uuid, uid, unit, sluid");
	assert_int_equal(capture_new("a/{idd}", names, &c, why), -EINVAL);
	assert_string_equal(why, "character 4: there is no capture \"idd\" here");
	assert_int_equal(capture_new("a/b//c", names, &c, why), -EINVAL);
	assert_string_equal(why, "character 5: an empty segment");
}

/* ---- against a matcher that tries everything ------------------------------------------- */

static uint32_t seed = 20261121;

static unsigned rnd(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* Patterns of literals a b, '*', <digits> and '/', without captures. */
static bool slow_segment(const char *p, const char *pend, const char *t, const char *tend)
{
	if (p == pend)
		return t == tend;
	if (*p == '*') {
		for (const char *at = t; at <= tend; at++)
			if (slow_segment(p + 1, pend, at, tend))
				return true;
		return false;
	}
	if (*p == '<') {
		for (const char *at = t; at < tend && *at >= '0' && *at <= '9'; at++)
			if (slow_segment(p + 8, pend, at + 1, tend))
				return true;
		return false;
	}
	return t < tend && *p == *t && slow_segment(p + 1, pend, t + 1, tend);
}

/* Where the match that begins at t ends, or 0. */
static const char *slow_at(const char *p, const char *t)
{
	for (;;) {
		const char *pend = p + strcspn(p, "/"), *tend = t + strcspn(t, "/");

		if (!*t || !slow_segment(p, pend, t, tend))
			return NULL;
		if (!*pend)
			return tend;
		if (!*tend)
			return NULL;
		p = pend + 1;
		t = tend + 1;
	}
}

static size_t slow_find(const char *p, const char *t)
{
	size_t deepest = 0;

	for (const char *at = t;; at++) {
		const char *end = slow_at(p, at);

		if (end && (size_t)(end - t) > deepest)
			deepest = (size_t)(end - t);
		at = strchr(at, '/');
		if (!at)
			return deepest;
	}
}

static void random_segments(char *to, const char *const *parts, unsigned n_parts, unsigned most)
{
	unsigned segments = 1 + rnd(3);

	*to = '\0';
	for (unsigned s = 0; s < segments; s++) {
		unsigned n = 1 + rnd(most);

		if (s)
			strcat(to, "/");
		for (unsigned i = 0; i < n; i++)
			strcat(to, parts[rnd(n_parts)]);
	}
}

static void same_as_slow(void **state)
{
	static const char *const pattern_parts[] = { "a", "b", "*", "<digits>" }, *const path_parts[] = { "a", "b",
													  "1" };
	unsigned hits = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char pattern[256], path[256];
		struct capture_match m;
		struct capture *c;
		size_t expect, got;

		random_segments(pattern, pattern_parts, 4, 5);
		random_segments(path, path_parts, 3, 6);
		c = compiled(pattern);
		got = capture_find(c, path, strlen(path), &m) ? m.end : 0;
		expect = slow_find(pattern, path);
		if (got != expect)
			fail_msg("%s on %s: ends at %zu, should at %zu", pattern, path, got, expect);
		hits += got > 0;
		capture_free(c);
	}
	assert_true(hits > 1000 && hits < 19000); /* the test saw both outcomes often */
}

/* A path made to be slow to match is not slow. */
static void bounded(void **state)
{
	char path[4096], *at = path;
	struct capture_match m;
	struct capture *c = compiled("*a*a*a*a*a*a*a*a*a*a*b{id:digits}");
	struct timespec begin, end;

	(void)state;
	for (int s = 0; s < 15; s++) {
		*at++ = '/';
		memset(at, 'a', 250);
		at += 250;
	}
	/* CPU time. The bound is far above every build's time; a matcher without a bound on steps would take years. */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	assert_false(capture_find(c, path, (size_t)(at - path), &m));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_true((double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9 < 30);
	capture_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches),
		cmocka_unit_test(errors_say_where),
		cmocka_unit_test(same_as_slow),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
