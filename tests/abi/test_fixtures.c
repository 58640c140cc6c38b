/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/test_fixtures.c - the host of today loads plugins built with the headers of each minor version (binaries in
 * tests/abi/fixtures), and they still do everything.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/plugin/plugin.h"
#include "tests/abi/support.h"

static struct {
	unsigned records, details, acked;
	uint64_t last, lost;
	char text[16];
} got;

static void on_emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		    const void *rec)
{
	const struct {
		uint64_t n;
		struct skep_str text;
	} *r = rec;

	(void)inst;
	assert_null(who);
	assert_int_equal(time_ns, 1);
	got.last = r->n;
	if (stream == 1) {
		got.details++;
		return;
	}
	got.records++;
	assert_true(r->text.len < sizeof(got.text));
	snprintf(got.text, sizeof(got.text), "%.*s", (int)r->text.len, r->text.ptr);
}

static void on_lost(struct skep_instance *inst, unsigned stream, enum skep_loss where, uint64_t n)
{
	(void)inst;
	assert_int_equal(stream, 0);
	assert_int_equal(where, SKEP_LOSS_KERNEL);
	got.lost += n;
}

static void on_done(struct skep_instance *inst, const struct skep_batch *batch, const struct skep_batch_answer *answer)
{
	(void)inst;
	(void)batch;
	assert_int_equal(answer->result, SKEP_BATCH_ACK);
	assert_null(answer->why);
	got.acked++;
}

static const struct instance_ops ops = { .emit = on_emit, .lost = on_lost, .batch_answer = on_done };

static uint64_t counter(const struct skep_instance *inst, const char *name)
{
	for (const struct skep_counter *c = inst->counters; c; c = c->next)
		if (strcmp(c->name, name) == 0)
			return c->value;
	fail_msg("no counter \"%s\"", name);
	return 0;
}

/* Into a folder of the test: a checkout may be writable by a group, which the loader refuses. */
static struct plugin *load(const char *name, uint32_t minor)
{
	const char *src = getenv("abs_srcdir");
	char *dir = support_dir_new(), *from, *to, *bytes;
	const char *const dirs[] = { dir, NULL };
	struct plugin *plugin = NULL;
	struct diag diag;
	size_t size;

	assert_true(asprintf(&from, "%s/tests/abi/fixtures/%s.so", src ? src : ".", name) > 0);
	assert_true(asprintf(&to, "%s/%s.so", dir, name) > 0);
	bytes = support_read(from, &size);
	support_write(to, bytes, size, 0644);
	diag_init(&diag);
	if (plugin_load(dirs, name, 0, &diag, &plugin) < 0)
		fail_msg("%s", support_error(&diag));
	assert_int_equal(plugin->note.abi_major, 1);
	assert_int_equal(plugin->note.abi_minor, minor);
	diag_clear(&diag);
	free(bytes);
	free(from);
	free(to);
	support_dir_remove(dir);
	memset(&got, 0, sizeof(got));
	return plugin;
}

static void probe(const char *name, uint32_t minor)
{
	const struct skep_detail_scope scope = { .size = sizeof(scope), .kind = SKEP_SCOPE_HOST, .id = 77 };
	struct plugin *plugin = load(name, minor);
	struct skep_instance *inst;
	bool ticked = false;
	char *why = NULL;
	uv_loop_t loop;

	assert_int_equal(uv_loop_init(&loop), 0);
	inst = support_instance(&loop, plugin, "{ \"step\": 5 }", &ops, NULL);
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	instance_sample(inst);
	instance_sample(inst);
	assert_int_equal(got.records, 2);
	assert_int_equal(got.last, 10);
	assert_int_equal(got.lost, 4);
	assert_string_equal(got.text, "old");
	for (int i = 0; i < 100000 && !ticked; i++) {
		uv_run(&loop, UV_RUN_ONCE);
		ticked = counter(inst, "ticks") > 0 && inst->working == 0;
	}
	assert_true(ticked);
	assert_non_null(instance_detail(inst, 0));
	assert_null(instance_detail(inst, 1));
	assert_string_equal(instance_detail(inst, 0)->name, "olddetail");
	assert_int_equal(instance_attach(inst, 0, &scope, &why), 0);
	instance_detach(inst, 77);
	assert_int_equal(got.details, 1);
	assert_int_equal(got.last, 77);
	assert_string_equal(inst->signals->name, "old.signal");
	assert_int_equal(instance_reload(inst, inst->data, &why), 0);
	assert_null(support_instance_end(inst));

	/* it fails as it did then, with its message */
	inst = support_instance(&loop, plugin, "{ \"text\": \"fail\" }", &ops, NULL);
	assert_int_equal(instance_open(inst), -EINVAL);
	assert_string_equal(inst->reason, "text is \"fail\"");
	assert_null(instance_free(inst));
	support_loop_close(&loop);
}

#ifdef __x86_64__
#define HERE() ((void)state)
#else
#define HERE()                                                                       \
	do {                                                                         \
		(void)state;                                                         \
		print_message("skip: these binaries are for amd64\n");               \
		skip();                                                              \
	} while (0)
#endif

static void test_1_0(void **state)
{
	HERE();
	probe("abi10", 0);
}

/* Records by today's tables, read with their strides. */
static void test_sink(void **state)
{
	static const struct {
		uint64_t n, more;
	} row = { 40, 2 };
	static const struct skep_field fields[] = {
		{ .name = "n", .unit = "1", .type = SKEP_T_U64, .semantics = SKEP_S_GAUGE, .offset = 0, .help = "n" },
		{ .name = "more",
		  .unit = "1",
		  .type = SKEP_T_U64,
		  .semantics = SKEP_S_GAUGE,
		  .offset = 8,
		  .help = "n" },
	};
	static const struct skep_stream stream = {
		.size = sizeof(stream),
		.field_size = sizeof(fields[0]),
		.name = "s",
		.help = "h",
		.record_size = 16,
		.n_fields = 2,
		.fields = fields,
	};
	const struct skep_record record = { .size = sizeof(record), .stream = &stream, .data = &row };
	const struct skep_record *const records[] = { &record };
	const struct skep_batch batch = { .size = sizeof(batch), .n = 1, .id = 1, .key = "k", .records = records };
	struct skep_instance *inst;
	struct plugin *plugin;
	uv_loop_t loop;

	HERE();
	plugin = load("abi10sink", 0);
	assert_int_equal(uv_loop_init(&loop), 0);
	inst = support_instance(&loop, plugin, "{ }", &ops, NULL);
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	assert_int_equal(instance_submit(inst, &batch), 0);
	assert_int_equal(got.acked, 1);
	assert_int_equal(counter(inst, "sum"), 42);
	assert_null(support_instance_end(inst));
	support_loop_close(&loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1_0),
		cmocka_unit_test(test_sink),
	};

	return cmocka_run_group_tests_name("plugins of each minor's headers", tests, NULL, NULL);
}
