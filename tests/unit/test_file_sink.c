/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/file through its plugin entry: the lines as a JSON parser reads them, and the fate of a batch when the file is
 * full, half written, rotated or in use by another process.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <skep/sink/jsonw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/dead_mount.h"
#include "tests/unit/folder.h"
#include "tests/unit/carried.h"
#include "tests/unit/lake_records.h"

const struct skep_plugin *skep_plugin_entry(const struct skep_host *);

static char folder[] = "/tmp/test_file_sink.XXXXXX";
static char path[256];
static unsigned paths;

static int set_up_all(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down_all(void **state)
{
	(void)state;
	return folder_remove(folder);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/f%u.json", folder, ++paths);
	return 0;
}

static void begin(struct skep_mock *m)
{
	skep_mock_init(m, skep_plugin_entry(NULL));
	m->inline_work = true;
	m->quiet = true;
	assert_int_equal(skep_mock_option(m, "path", path), 0);
	if (skep_mock_start(m) != 0)
		fail_msg("start: %s", m->why);
}

/* The whole file; free() it. */
static char *slurp(const char *p, size_t *ret_n)
{
	FILE *f = fopen(p, "r");
	char *text = NULL;
	size_t room = 0;

	assert_non_null(f);
	if (getdelim(&text, &room, EOF, f) < 0 && text)
		text[0] = '\0';
	fclose(f);
	assert_non_null(text);
	if (ret_n)
		*ret_n = strlen(text);
	return text;
}

static unsigned lines_of(const char *p)
{
	char *text = slurp(p, NULL);
	unsigned n = 0;

	for (char *c = text; *c; c++)
		n += *c == '\n';
	free(text);
	return n;
}

/* Line number n (from 0) as an object; json_decref() it. */
static json_t *line(const char *p, unsigned n)
{
	char *text = slurp(p, NULL), *at = text, *end;
	json_error_t e;
	json_t *o;

	while (n--) {
		at = strchr(at, '\n');
		assert_non_null(at);
		at++;
	}
	end = strchr(at, '\n');
	assert_non_null(end);
	/* a record has no duplicate key, so the parser refuses them */
	o = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, &e);
	if (!o)
		fail_msg("line is no JSON: %s: %.*s", e.text, (int)(end - at), at);
	free(text);
	return o;
}

static const char *text_of(json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "(no string)";
}

static struct skep_mock_batch *batch_of(uint64_t id, uint64_t rows)
{
	struct skep_mock_batch *b = skep_mock_batch_new(id, RECORDS_OFFSET);
	struct record_process p;

	for (uint64_t i = 0; i < rows; i++) {
		records_process(id * 1000 + i, "r", &p);
		records_add_process(b, &p);
	}
	return b;
}

static void deliver(struct skep_mock *m, struct skep_mock_batch *b)
{
	unsigned acks = m->acks;

	assert_int_equal(skep_mock_submit(m, &b->batch), 0);
	skep_mock_settle(m);
	if (m->acks != acks + 1)
		fail_msg("not acknowledged: %s", m->why);
	skep_mock_batch_free(b);
}

/* A batch that waited in the spool over a reboot: its records name the boot that recorded them. */
static void test_boot_of_batch(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 1);
	struct skep_mock m;
	json_t *o;

	(void)state;
	begin(&m);
	b->batch.boot_id = "0f0e0d0c-0b0a-4908-8706-050403020100";
	deliver(&m, b);
	deliver(&m, batch_of(2, 1));
	o = line(path, 0);
	assert_memory_equal(text_of(o, "upid"), "0f0e0d0c-", 9);
	assert_memory_equal(text_of(o, "parent_upid"), "0f0e0d0c-", 9);
	json_decref(o);
	o = line(path, 1);
	assert_memory_equal(text_of(o, "upid"), SKEP_MOCK_BOOT_ID, 9);
	json_decref(o);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_process_line(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_process p;
	const char *key;
	struct skep_mock m;
	json_t *o, *v;
	unsigned at = 0;

	(void)state;
	begin(&m);
	records_process(0, "run1", &p);
	p.exe.total = 9999;
	records_add_process(b, &p);
	deliver(&m, b);
	o = line(path, 0);
	/* the envelope, then the fields in table order */
	static const char *const first[] = { "stream", "time", "upid",     "parent_upid", "image", "pid",
					     "ppid",   "run",  "pipeline", "task",        "tool" };
	json_object_foreach(o, key, v)
	{
		if (at < sizeof(first) / sizeof(first[0]))
			assert_string_equal(key, first[at]);
		at++;
	}
	assert_int_equal(at, record_stream_process.n_fields + 2 + 1); /* two keys share upid; exe_total adds one */
	assert_string_equal(text_of(o, "stream"), "process.exit");
	assert_string_equal(text_of(o, "time"), "2026-11-10T00:16:40.050000000Z");
	assert_string_equal(text_of(o, "start_ns"), "2026-11-10T00:16:40.000000000Z");
	assert_string_equal(text_of(o, "upid"), "01234567-1000-e8d4a51000");
	assert_string_equal(text_of(o, "parent_upid"), "01234567-999-e8990a4600");
	assert_string_equal(text_of(o, "tool"), "samtools sort");
	assert_true(json_is_true(json_object_get(o, "execed")));
	assert_true(json_is_false(json_object_get(o, "oom_killed")));
	assert_int_equal(json_integer_value(json_object_get(o, "exe_total")), 9999);
	v = json_object_get(o, "argv");
	assert_int_equal(json_array_size(v), 6);
	assert_string_equal(json_string_value(json_array_get(v, 1)), "--threads");
	assert_int_equal(json_integer_value(json_object_get(o, "cpu_ns")), p.cpu_ns);
	json_decref(o);
	assert_int_equal(skep_mock_end(&m), 0);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
}

struct all_types {
	uint64_t u;
	int64_t i;
	double f, nan;
	uint8_t b;
	uint64_t t, t0;
	struct skep_str s, v, empty_list;
	struct skep_upid who, nobody;
	uint8_t hash[16], v4[16], v6[16];
	struct skep_str stream, run;
};
#define A(member, type) SKEP_FIELD(struct all_types, member, #member, type, SKEP_S_GAUGE, "", "")
static const struct skep_field all_fields[] = {
	A(u, SKEP_T_U64),     A(i, SKEP_T_I64),           A(f, SKEP_T_F64),    A(nan, SKEP_T_F64),
	A(b, SKEP_T_BOOL),    A(t, SKEP_T_TIME),          A(t0, SKEP_T_TIME),  A(s, SKEP_T_STR),
	A(v, SKEP_T_STRV),    A(empty_list, SKEP_T_STRV), A(who, SKEP_T_UPID), A(nobody, SKEP_T_UPID),
	A(hash, SKEP_T_HASH), A(v4, SKEP_T_IP),           A(v6, SKEP_T_IP),    A(stream, SKEP_T_STR),
	A(run, SKEP_T_STR),
};
static const struct skep_stream all_stream = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "site.\"all\"",
	.record_size = sizeof(struct all_types),
	.n_fields = sizeof(all_fields) / sizeof(all_fields[0]),
	.fields = all_fields,
};

static void test_every_type(void **state)
{
	static const char bad[] = "a\xc3\xa4\xff\xe2\x82z\"\\\n\x01\xed\xa0\x80\xf0\x9f\x90\x9d";
	static const char list[] = "x\0\0y"; /* the last one has no NUL: it was cut */
	struct all_types a = {
		.u = UINT64_C(9007199254740993),
		.i = INT64_MIN,
		.f = 0.1,
		.nan = 0.0 / 0.0,
		.b = 1,
		.t = SECOND + 1,
		.s = { .ptr = bad, .len = sizeof(bad) - 1, .total = sizeof(bad) - 1 },
		.v = { .ptr = list, .len = 4, .total = 40 },
		.who = { .start_ns = 255, .pid = 3 },
		.hash = { 0xde, 0xad },
		.v4 = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 7 },
		.v6 = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 },
		.stream = skep_mock_text("shadow"),
		.run = skep_mock_text("mine"),
	};
	const struct skep_context c = {
		.size = sizeof(c),
		.run = skep_mock_text("other"),
		.tool = skep_mock_text("bwa mem"),
		.task = { .ptr = NULL, .len = 4 },
	};
	struct skep_mock_batch *b = skep_mock_batch_new(1, -2500000000); /* before 1970: a clock that was never set */
	struct skep_mock m;
	json_t *o;

	(void)state;
	begin(&m);
	skep_mock_batch_add(b, &all_stream, NULL, 2 * SECOND, &a, &c);
	deliver(&m, b);
	o = line(path, 0);
	assert_string_equal(text_of(o, "stream"), "site.\"all\"");
	assert_string_equal(text_of(o, "time"), "1969-12-31T23:59:59.500000000Z");
	assert_true(json_is_null(json_object_get(o, "upid")));
	assert_int_equal(json_integer_value(json_object_get(o, "u")), INT64_C(9007199254740993));
	assert_true(json_integer_value(json_object_get(o, "i")) == INT64_MIN);
	assert_true(json_real_value(json_object_get(o, "f")) == 0.1);
	assert_true(json_is_null(json_object_get(o, "nan")));
	assert_true(json_is_true(json_object_get(o, "b")));
	assert_string_equal(text_of(o, "t"), "1969-12-31T23:59:58.500000001Z");
	assert_true(json_is_null(json_object_get(o, "t0")));
	assert_string_equal(
		text_of(o, "s"),
		"a\xc3\xa4\xef\xbf\xbd\xef\xbf\xbdz\"\\\n\x01\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x90\x9d");
	assert_null(json_object_get(o, "s_total"));
	assert_int_equal(json_array_size(json_object_get(o, "v")), 3);
	assert_string_equal(json_string_value(json_array_get(json_object_get(o, "v"), 2)), "y");
	assert_int_equal(json_integer_value(json_object_get(o, "v_total")), 40);
	assert_int_equal(json_array_size(json_object_get(o, "empty_list")), 0);
	assert_string_equal(text_of(o, "who"), "01234567-3-ff");
	assert_true(json_is_null(json_object_get(o, "nobody")));
	assert_string_equal(text_of(o, "hash"), "dead0000000000000000000000000000");
	assert_string_equal(text_of(o, "v4"), "10.0.0.7");
	assert_string_equal(text_of(o, "v6"), "2001:db8::1");
	assert_string_equal(text_of(o, "site.\"all\".stream"), "shadow");
	assert_string_equal(text_of(o, "run"), "mine"); /* the record's own, not the context's */
	assert_string_equal(text_of(o, "tool"), "bwa mem");
	assert_null(json_object_get(o, "task"));
	json_decref(o);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_carried(void **state)
{
	union carried_record records[3];
	struct skep_mock_batch *b = carried_batch(records), *later;
	json_t *first, *second;
	struct skep_mock m;
	char *text, *at;

	(void)state;
	begin(&m);
	deliver(&m, b);
	/* a name that comes later is a second record of the task */
	records[1].task.task = skep_mock_text("later");
	later = skep_mock_batch_new(2, RECORDS_OFFSET);
	records_add_task(later, &records[1].task);
	deliver(&m, later);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(lines_of(path), 4);
	first = line(path, 1);
	second = line(path, 3);
	assert_string_equal(text_of(second, "task"), "later");
	assert_string_equal(text_of(second, "task_id"), text_of(first, "task_id"));
	assert_string_equal(text_of(second, "run"), text_of(first, "run"));
	json_decref(first);
	json_decref(second);
	text = at = slurp(path, NULL);
	for (char *end; (end = strchr(at, '\n')) && end[1]; at = end + 1)
		carried_check_json(at, (size_t)(end - at));
	free(text);
}

static void test_streams(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 3);
	struct record_run r;
	struct skep_mock m;
	json_t *o;

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	skep_mock_option(&m, "path", path);
	skep_mock_option(&m, "fsync", "true");
	skep_mock_option_list(&m, "streams", (const char *[]){ "loss", "run", NULL });
	assert_int_equal(skep_mock_start(&m), 0);
	records_run("r", "ended", 5 * SECOND, &r);
	records_add_run(b, &r);
	deliver(&m, b);
	deliver(&m, batch_of(2, 5)); /* the configuration excludes all of its records */
	assert_int_equal(lines_of(path), 1);
	o = line(path, 0);
	assert_string_equal(text_of(o, "stream"), "run");
	json_decref(o);
	assert_int_equal(skep_mock_counter(&m, "lines"), 1);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_half_line(void **state)
{
	struct skep_mock m;
	FILE *f;
	json_t *o;

	(void)state;
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("{\"a\":1}\n{\"half\":", f);
	fclose(f);
	begin(&m);
	deliver(&m, batch_of(1, 2));
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(lines_of(path), 4);
	o = line(path, 2);
	assert_string_equal(text_of(o, "stream"), "process.exit");
	json_decref(o);
	begin(&m); /* the sink leaves whole lines as they are */
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(lines_of(path), 4);
}

static void test_rotation_and_lock(void **state)
{
	struct skep_mock m, second;
	char moved[300];

	(void)state;
	begin(&m);
	deliver(&m, batch_of(1, 2));
	skep_mock_init(&second, skep_plugin_entry(NULL));
	second.inline_work = true;
	skep_mock_option(&second, "path", path);
	assert_int_equal(skep_mock_start(&second), -EBUSY);
	assert_non_null(strstr(second.why, "another program writes it"));
	skep_mock_end(&second);
	snprintf(moved, sizeof(moved), "%s.1", path);
	assert_int_equal(rename(path, moved), 0);
	deliver(&m, batch_of(2, 3));
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(lines_of(moved), 2);
	assert_int_equal(lines_of(path), 3);
}

static bool exists(const char *base, unsigned k)
{
	char name[300];

	snprintf(name, sizeof(name), "%s.%u", base, k);
	return access(name, F_OK) == 0;
}

/* Rotation by size: a batch stays in one file, the newest `keep` files stay, and no record of those is missing. */
static void test_rotates_by_size(void **state)
{
	unsigned lines = 0;
	char name[300];
	struct skep_mock m;
	size_t n;

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	skep_mock_option(&m, "path", path);
	skep_mock_option(&m, "rotate_bytes", "200KiB");
	skep_mock_option(&m, "keep", "3");
	assert_int_equal(skep_mock_start(&m), 0);
	deliver(&m, batch_of(1, 500)); /* larger than the limit: goes into an empty file */
	assert_false(exists(path, 1));
	for (uint64_t id = 2; id <= 9; id++)
		deliver(&m, batch_of(id, 10));
	assert_int_equal(lines_of(path) % 10, 0);
	snprintf(name, sizeof(name), "%s.1", path);
	assert_int_equal(lines_of(name), 500);
	for (uint64_t id = 10; id <= 90; id++)
		deliver(&m, batch_of(id, 10));
	for (unsigned k = 0; k <= 3; k++) {
		snprintf(name, sizeof(name), k ? "%s.%u" : "%s", path, k);
		free(slurp(name, &n));
		assert_true(n <= 200 * 1024);
		assert_int_equal(lines_of(name) % 10, 0);
		assert_true(lines_of(name) > 0);
		json_decref(line(name, lines_of(name) - 1));
		lines += lines_of(name);
	}
	assert_false(exists(path, 4));
	assert_true(lines >= 300 && lines <= 600);
	assert_true(skep_mock_counter(&m, "rotations") >= 4);
	/* a reload turns rotation off */
	skep_mock_option(&m, "rotate_bytes", "0");
	assert_int_equal(skep_mock_reload(&m), 0);
	n = lines_of(path);
	deliver(&m, batch_of(100, 500));
	assert_int_equal(lines_of(path), n + 500);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_rotates_by_age(void **state)
{
	char name[300];
	struct skep_mock m;

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	skep_mock_option(&m, "path", path);
	skep_mock_option(&m, "rotate_age", "300ms");
	skep_mock_option(&m, "keep", "1");
	assert_int_equal(skep_mock_start(&m), 0);
	deliver(&m, batch_of(1, 3));
	assert_false(exists(path, 1));
	usleep(400000);
	deliver(&m, batch_of(2, 4));
	assert_int_equal(lines_of(path), 4);
	/* another object occupies the rotated file's name: the sink continues in the old file and logs that once */
	snprintf(name, sizeof(name), "%s.1", path);
	assert_int_equal(remove(name), 0);
	assert_int_equal(mkdir(name, 0700), 0);
	usleep(400000);
	deliver(&m, batch_of(3, 5));
	assert_int_equal(lines_of(path), 9);
	assert_non_null(strstr(m.logged, "cannot rename"));
	m.logged[0] = '\0';
	deliver(&m, batch_of(4, 1));
	assert_int_equal(lines_of(path), 10);
	assert_string_equal(m.logged, "");
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_bad_paths(void **state)
{
	struct skep_mock m;

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	assert_int_equal(skep_mock_open(&m), -EINVAL);
	assert_int_equal(skep_mock_end(&m), 0);
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	skep_mock_option(&m, "path", "/nonexistent/folder/x.json");
	assert_int_equal(skep_mock_start(&m), -ENOENT);
	assert_non_null(strstr(m.why, "folder must exist"));
	assert_int_equal(skep_mock_end(&m), 0);
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	skep_mock_option(&m, "path", folder);
	assert_int_equal(skep_mock_start(&m), -EISDIR);
	assert_int_equal(skep_mock_end(&m), 0);
}

/* RLIMIT_FSIZE stands in for a full disk where the test may not mount: write(2) writes a part, then fails. */
static void test_half_batch_is_cut_off(void **state)
{
	struct skep_mock_batch *b = batch_of(2, 500);
	struct rlimit old, small;
	struct skep_mock m;
	size_t before, n;

	(void)state;
	begin(&m);
	deliver(&m, batch_of(1, 10));
	free(slurp(path, &before));
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = before + 10000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.retries, 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	free(slurp(path, &n));
	assert_int_equal(n, before);
	deliver(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(lines_of(path), 510);
}

static void test_full_disk(void **state)
{
	char dir[200];
	struct skep_mock_batch *b = NULL;
	unsigned lines = 0;
	uint64_t id;
	struct skep_mock m;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/tmpfs", folder);
	assert_int_equal(mkdir(dir, 0700), 0);
	if (mount("tmpfs", dir, "tmpfs", 0, "size=1m") != 0) {
		print_message("test_full_disk: skipped: cannot mount a tmpfs (%s)\n", strerror(errno));
		skip();
	}
	snprintf(path, sizeof(path), "%s/out.json", dir);
	begin(&m);
	for (id = 1; id < 100; id++) {
		b = batch_of(id, 100);
		assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
		if (m.retries)
			break;
		b = skep_mock_batch_free(b);
		lines += 100;
	}
	assert_true(lines > 0 && id < 100);
	assert_non_null(strstr(m.why, strerror(ENOSPC)));
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.retries, 2);
	assert_int_equal(lines_of(path), lines);
	assert_int_equal(mount("tmpfs", dir, "tmpfs", MS_REMOUNT, "size=8m"), 0);
	deliver(&m, b);
	assert_int_equal(lines_of(path), lines + 100);
	for (unsigned i = 0; i < lines + 100; i += 50)
		json_decref(line(path, i));
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(umount(dir), 0);
}

/* A reader stops reading and then continues: the sink finishes the batch where it stopped and writes nothing twice. */
static void test_slow_stream(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 300);
	static char got[2000000];
	size_t n = 0, lines = 0;
	int reader, before;
	struct skep_mock m;
	ssize_t part;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	skep_mock_option(&m, "path", path);
	assert_int_equal(skep_mock_start(&m), -ENXIO);
	assert_int_equal(skep_mock_end(&m), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(reader >= 0);
	begin(&m);
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.retries, 1);
	assert_non_null(strstr(m.why, "does not keep up"));
	before = (int)m.retries;
	for (int tries = 0; !m.acks && tries < 50; tries++) {
		while ((part = read(reader, got + n, sizeof(got) - n)) > 0)
			n += (size_t)part;
		assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	}
	while ((part = read(reader, got + n, sizeof(got) - n)) > 0)
		n += (size_t)part;
	assert_int_equal(m.acks, 1);
	assert_true((int)m.retries >= before);
	for (size_t at = 0; at < n; lines++) {
		char *end = memchr(got + at, '\n', n - at);
		json_t *o;

		assert_non_null(end);
		o = json_loadb(got + at, (size_t)(end - got) - at, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(o);
		json_decref(o);
		at = (size_t)(end - got) + 1;
	}
	assert_int_equal(lines, 300);
	/* the reader is gone: no SIGPIPE, and the host offers the batch again later */
	close(reader);
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_non_null(strstr(m.why, strerror(EPIPE)));
	skep_mock_batch_free(b);
	assert_int_equal(skep_mock_end(&m), 0);
}

/* A process that copies from fd to the file at path until the other end closes. */
static pid_t copier(int fd)
{
	static char part[65536];
	pid_t child = fork();
	ssize_t n;
	int to;

	if (child)
		return child;
	/* this process has the other end open too, under several numbers */
	if (dup2(fd, 0) != 0 || close_range(1, ~0u, 0) != 0)
		_exit(1);
	to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	while ((n = read(0, part, sizeof(part))) > 0)
		if (write(to, part, (size_t)n) != n)
			_exit(1);
	_exit(n != 0);
}

/* ends[1] is stdout, which at first no process reads. own: the sink may open the pipe itself. */
static void stdout_stands_still(int ends[2], bool own)
{
	struct skep_mock_batch *b = batch_of(1, 300);
	unsigned retries, acks, defects;
	int real, flags, status = -1;
	struct skep_mock m;
	bool refused;
	pid_t child;

	fflush(stdout);
	real = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	assert_true(real >= 0);
	assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	snprintf(path, sizeof(path), "-");
	if (!own) {
		assert_int_equal(fchmod(ends[1], 0), 0);
		assert_true(geteuid() != 0 || seteuid(65534) == 0);
	}
	begin(&m);
	assert_true(own || getuid() != 0 || seteuid(0) == 0);
	set_up(NULL);
	skep_mock_submit(&m, &b->batch);
	retries = m.retries;
	refused = strstr(m.why, "does not keep up") != NULL;
	flags = fcntl(STDOUT_FILENO, F_GETFL);
	child = copier(ends[0]);
	for (int tries = 0; !m.acks && tries < 50; tries++)
		skep_mock_submit(&m, &b->batch);
	acks = m.acks;
	defects = skep_mock_end(&m);
	/* asserts print to stdout */
	dup2(real, STDOUT_FILENO);
	close(real);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(retries, 1);
	assert_true(refused);
	assert_int_equal(flags & O_NONBLOCK, 0);
	assert_int_equal(acks, 1);
	assert_int_equal(defects, 0);
	assert_int_equal(lines_of(path), 300);
	for (unsigned i = 0; i < 300; i++)
		json_decref(line(path, i));
	skep_mock_batch_free(b);
}

static void test_stdout_stands_still(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	stdout_stands_still(ends, true);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	stdout_stands_still(ends, false);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	stdout_stands_still(ends, true);
}

/* start() does not wait for a file system whose server is gone; records reach the file when the server is back. */
static void test_dead_file_system(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_process p;
	struct skep_mock m;
	char mount[200];
	int fuse;

	(void)state;
	records_process(1, "r", &p);
	records_add_process(b, &p);
	snprintf(mount, sizeof(mount), "%s/dead", folder);
	fuse = dead_mount(mount);
	if (fuse < 0)
		skip();
	snprintf(path, sizeof(path), "%s/f.json", mount);
	alarm(120); /* without the thread start() never returns */
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	skep_mock_option(&m, "path", path);
	assert_int_equal(skep_mock_start(&m), 0);
	assert_non_null(strstr(m.logged, "does not answer"));
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(m.holds, 1);
	assert_non_null(strstr(m.why, path));
	dead_mount_end(fuse, mount);
	skep_mock_settle(&m); /* opening fails late; the next batch opens the file */
	assert_non_null(strstr(m.logged, "opened again with the next batch"));
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	skep_mock_settle(&m);
	assert_int_equal(m.acks, 1);
	assert_int_equal(skep_mock_end(&m), 0);
	skep_mock_batch_free(b);
	alarm(0);
}

static void test_json_numbers(void **state)
{
	static const struct {
		double v;
		const char *text;
	} f64[] = {
		{ 0, "0" },
		{ -0.5, "-0.5" },
		{ 1e300, "1e+300" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 123456789012345680.0, "1.2345678901234568e+17" },
	};
	struct jsonw j = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(f64) / sizeof(f64[0]); i++) {
		skep_jsonw_reset(&j);
		skep_jsonw_f64(&j, f64[i].v);
		skep_jsonw_raw(&j, "", 1);
		assert_string_equal(j.buf, f64[i].text);
	}
	skep_jsonw_reset(&j);
	skep_jsonw_i64(&j, INT64_MIN);
	jsonw_lit(&j, " ");
	skep_jsonw_u64(&j, UINT64_MAX);
	skep_jsonw_raw(&j, "", 1);
	assert_string_equal(j.buf, "-9223372036854775808 18446744073709551615");
	skep_jsonw_free(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_boot_of_batch, set_up),
		cmocka_unit_test_setup(test_process_line, set_up),
		cmocka_unit_test_setup(test_every_type, set_up),
		cmocka_unit_test_setup(test_streams, set_up),
		cmocka_unit_test_setup(test_carried, set_up),
		cmocka_unit_test_setup(test_half_line, set_up),
		cmocka_unit_test_setup(test_rotation_and_lock, set_up),
		cmocka_unit_test_setup(test_rotates_by_size, set_up),
		cmocka_unit_test_setup(test_rotates_by_age, set_up),
		cmocka_unit_test_setup(test_bad_paths, set_up),
		cmocka_unit_test_setup(test_half_batch_is_cut_off, set_up),
		cmocka_unit_test_setup(test_full_disk, set_up),
		cmocka_unit_test_setup(test_slow_stream, set_up),
		cmocka_unit_test_setup(test_stdout_stands_still, set_up),
		cmocka_unit_test_setup(test_dead_file_system, set_up),
		cmocka_unit_test_setup(test_json_numbers, set_up),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
