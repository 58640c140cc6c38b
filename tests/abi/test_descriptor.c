/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/test_descriptor.c - descriptors whose tables would mislead the host are refused: each case adds one defect
 * to a sound descriptor and expects an error of its own.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/plugin/plugin.h"

struct state {
	int64_t number;
	bool yes;
};

struct record {
	uint64_t count;
	struct skep_str text;
	uint8_t bytes[16];
	uint8_t flag;
};

/* Writable copies: each case spoils one of them. */
static struct skep_option options[3];
static struct skep_field fields[4];
static struct skep_stream stream, other_stream;
static const struct skep_stream *streams[2];
static struct skep_sink_ops sink_ops;
static struct skep_plugin plugin;
static struct skep_plugin_note note;

static int plugin_open(struct skep_instance *inst, void *data, const struct skep_host *host)
{
	(void)inst;
	(void)data;
	(void)host;
	return 0;
}

static int plugin_start(struct skep_instance *inst, void *data)
{
	(void)inst;
	(void)data;
	return 0;
}

static void plugin_end(struct skep_instance *inst, void *data)
{
	(void)inst;
	(void)data;
}

static int plugin_submit(struct skep_instance *inst, void *data, const struct skep_batch *batch)
{
	(void)inst;
	(void)data;
	(void)batch;
	return 0;
}

static void make_sound(void)
{
	options[0] = (struct skep_option) {
		.name = "number", .type = SKEP_O_INT, .offset = offsetof(struct state, number), .help = "n"
	};
	options[1] = (struct skep_option) {
		.name = "yes", .type = SKEP_O_BOOL, .offset = offsetof(struct state, yes), .help = "y"
	};
	options[2] = (struct skep_option) { .name = NULL };
	fields[0] =
		(struct skep_field)SKEP_FIELD(struct record, count, "count", SKEP_T_U64, SKEP_S_DELTA, "1", "how many");
	fields[1] =
		(struct skep_field)SKEP_FIELD(struct record, text, "text", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "what");
	fields[2] = (struct skep_field)SKEP_FIELD(struct record, bytes, "bytes", SKEP_T_HASH, SKEP_S_ATTRIBUTE, "",
						  "which");
	fields[3] = (struct skep_field)SKEP_FIELD(struct record, flag, "flag", SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "",
						  "whether");
	stream = (struct skep_stream) {
		.size = sizeof(stream),
		.field_size = sizeof(fields[0]),
		.name = "a.stream",
		.help = "records",
		.record_size = sizeof(struct record),
		.n_fields = 4,
		.fields = fields,
	};
	other_stream = stream;
	other_stream.name = "other.stream";
	streams[0] = &stream;
	streams[1] = &other_stream;
	sink_ops = (struct skep_sink_ops) { .size = sizeof(sink_ops), .submit = plugin_submit };
	plugin = (struct skep_plugin) {
		.magic = SKEP_NOTE_MAGIC,
		.abi_major = SKEP_ABI_MAJOR,
		.abi_minor = SKEP_ABI_MINOR,
		.size = sizeof(plugin),
		.kind = SKEP_KIND_PROBE,
		.name = "sound",
		.version = "1.0",
		.summary = "s",
		.license = "Apache-2.0",
		.options = options,
		.option_size = sizeof(options[0]),
		.n_streams = 2,
		.streams = streams,
		.state_size = sizeof(struct state),
		.open = plugin_open,
		.start = plugin_start,
		.stop = plugin_end,
		.close = plugin_end,
	};
	note = (struct skep_plugin_note) {
		.magic = SKEP_NOTE_MAGIC,
		.abi_major = SKEP_ABI_MAJOR,
		.abi_minor = SKEP_ABI_MINOR,
		.kind = SKEP_KIND_PROBE,
		.name = "sound",
		.version = "1.0",
	};
}

static void no_summary(void)
{
	plugin.summary = NULL;
}
static void no_name(void)
{
	plugin.name = NULL;
}
static void no_stop(void)
{
	plugin.stop = NULL;
}
static void sink_without_ops(void)
{
	plugin.kind = note.kind = SKEP_KIND_SINK;
}
static void sink_ops_short(void)
{
	sink_without_ops();
	plugin.sink = &sink_ops;
	sink_ops.size = 8;
}
static void sink_no_submit(void)
{
	sink_without_ops();
	plugin.sink = &sink_ops;
	sink_ops.submit = NULL;
}
static void option_stride(void)
{
	plugin.option_size = 12;
}
static void option_twice(void)
{
	options[1].name = "number";
}
static void option_reserved(void)
{
	options[1].name = "required";
}
static void option_type(void)
{
	options[1].type = 99;
}
static void option_outside(void)
{
	options[0].offset = sizeof(struct state) - 4;
}
static void option_unaligned(void)
{
	options[0].offset = 4;
}
static void option_nameless(void)
{
	options[1].name = "";
}
static void too_many_streams(void)
{
	plugin.n_streams = 0x10000;
}
static void no_stream_table(void)
{
	plugin.streams = NULL;
}
static void stream_missing(void)
{
	streams[1] = NULL;
}
static void stream_short(void)
{
	stream.size = 8;
}
static void stream_nameless(void)
{
	stream.name = "";
}
static void stream_twice(void)
{
	other_stream.name = "a.stream";
}
static void stream_role(void)
{
	stream.role = 42;
}
static void record_empty(void)
{
	stream.record_size = 0;
}
static void record_huge(void)
{
	stream.record_size = 1u << 30;
}
static void record_below_role(void)
{
	stream.role = SKEP_ROLE_PROC_EXEC;
}
static void field_table_missing(void)
{
	stream.fields = NULL;
}
static void field_count(void)
{
	stream.n_fields = 0xffffffff;
}
static void field_stride(void)
{
	stream.field_size = 39;
}
static void field_nameless(void)
{
	fields[1].name = NULL;
}
static void field_twice(void)
{
	fields[3].name = "count";
}
static void field_unitless(void)
{
	fields[0].unit = NULL;
}
static void field_type(void)
{
	fields[0].type = 0;
}
static void field_semantics(void)
{
	fields[0].semantics = 9;
}
static void field_outside(void)
{
	fields[0].offset = sizeof(struct record);
}
static void field_wraps(void)
{
	fields[0].offset = 0xfffffffc;
}
static void field_half_outside(void)
{
	fields[1].offset = sizeof(struct record) - 8;
}
static void field_unaligned(void)
{
	fields[0].offset = 4;
}

static const struct {
	void (*spoil)(void);
	const char *expect;
} cases[] = {
	{ no_summary, "summary and license must be set" },
	{ no_name, "disagree: name \"\" and \"sound\"" },
	{ no_stop, "lacks stop()" },
	{ sink_without_ops, "a sink without submit()" },
	{ sink_ops_short, "a sink without submit()" },
	{ sink_no_submit, "a sink without submit()" },
	{ option_stride, "option_size 12" },
	{ option_twice, "two options are named \"number\"" },
	{ option_reserved, "option \"required\": skepd has an option of that name" },
	{ option_type, "option \"yes\": type 99" },
	{ option_outside, "option \"number\": offset 12" },
	{ option_unaligned, "option \"number\": offset 4" },
	{ option_nameless, "option number 1 has no name" },
	{ too_many_streams, "65536 streams" },
	{ no_stream_table, "2 streams, but no table" },
	{ stream_missing, "stream number 1: its descriptor is missing" },
	{ stream_short, "stream number 0: its descriptor is missing or shorter" },
	{ stream_nameless, "stream number 0 has no name" },
	{ stream_twice, "two streams are named \"a.stream\"" },
	{ stream_role, "role 42 is not known" },
	{ record_empty, "a record of 0 bytes" },
	{ record_huge, "a record of 1073741824 bytes" },
	{ record_below_role, "but its role needs" },
	{ field_table_missing, "4 fields, but no table" },
	{ field_count, "4294967295 fields" },
	{ field_stride, "field_size 39" },
	{ field_nameless, "field number 1 has no name" },
	{ field_twice, "two fields are named \"count\"" },
	{ field_unitless, "unit and help must be set" },
	{ field_type, "type 0 is not known" },
	{ field_semantics, "semantics 9 are not known" },
	{ field_outside, "8 bytes at offset 48 do not lie within the record's 48 bytes" },
	{ field_wraps, "8 bytes at offset 4294967292 do not lie" },
	{ field_half_outside, "16 bytes at offset 40 do not lie" },
	{ field_unaligned, "offset 4 is not a multiple of 8" },
};

static void test_sound(void **state)
{
	char why[512] = "";

	(void)state;
	make_sound();
	assert_int_equal(plugin_check_descriptor(&plugin, &note, "x.so", why, sizeof(why)), 0);
	assert_string_equal(why, "");
	/* A descriptor without streams and options is sound too. */
	plugin.n_streams = 0;
	plugin.streams = NULL;
	plugin.options = NULL;
	plugin.state_size = 0;
	assert_int_equal(plugin_check_descriptor(&plugin, &note, "x.so", why, sizeof(why)), 0);
	plugin.kind = note.kind = SKEP_KIND_SINK;
	plugin.sink = &sink_ops;
	assert_int_equal(plugin_check_descriptor(&plugin, &note, "x.so", why, sizeof(why)), 0);
}

/* A plugin of a later build of minor 0 may have longer structs than ours: it brings stride and size. */
static void test_longer_structs(void **state)
{
	struct {
		struct skep_field field;
		uint64_t later;
	} longer[2];
	char why[512];

	(void)state;
	make_sound();
	memset(longer, 0xff, sizeof(longer));
	longer[0].field = fields[0];
	longer[1].field = fields[3];
	stream.fields = &longer[0].field;
	stream.field_size = sizeof(longer[0]);
	stream.n_fields = 2;
	stream.size += 64;
	plugin.size += 64;
	assert_int_equal(plugin_check_descriptor(&plugin, &note, "x.so", why, sizeof(why)), 0);
}

static void test_spoilt(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char why[512] = "";

		make_sound();
		cases[i].spoil();
		if (plugin_check_descriptor(&plugin, &note, "dir/x.so", why, sizeof(why)) != -ENOEXEC ||
		    strncmp(why, "dir/x.so: ", 10) != 0 || !strstr(why, cases[i].expect))
			fail_msg("case %zu: \"%s\" lacks \"%s\"", i, why, cases[i].expect);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound),
		cmocka_unit_test(test_longer_structs),
		cmocka_unit_test(test_spoilt),
	};

	return cmocka_run_group_tests_name("descriptors", tests, NULL, NULL);
}
