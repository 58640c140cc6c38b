/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of entries of "sinks" that skepd itself reads, through a real configuration, and plugins that have an option
 * of that name.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/options.h"
#include "core/config/sink_terms.h"

struct state {
	uint64_t max_age;
};

static const struct skep_option own[] = {
	{ .name = "max_age", .type = SKEP_O_TIME, .offset = offsetof(struct state, max_age) },
	{ .name = NULL },
};
static const struct skep_option none[] = { { .name = NULL } };
static const struct skep_sink_ops ordered = { .size = sizeof(ordered) },
				  any = { .size = sizeof(any), .flags = SKEP_SINK_ANY_ORDER };

static struct skep_plugin plugin(const struct skep_sink_ops *ops, const struct skep_option *options)
{
	return (struct skep_plugin){
		.size = sizeof(struct skep_plugin), .kind = SKEP_KIND_SINK, .name = "test", .sink = ops,
		.options = options, .option_size = sizeof(struct skep_option), .state_size = sizeof(struct state),
	};
}

/* 0 with the options' values; else the message, in f. */
static int read(const struct skep_plugin *desc, const char *keys, struct sink_terms *ret, char *why, size_t size)
{
	struct options_memory *memory = NULL;
	struct config *config;
	struct state state = { 0 };
	struct diag diag;
	char text[512];
	int err, as_options;

	diag_init(&diag);
	snprintf(text, sizeof(text), "{ \"sinks\": [\n{ \"plugin\": \"test\"%s } ] }", keys);
	config = config_parse(text, strlen(text), "f", &diag);
	assert_non_null(config);
	err = sink_terms_read(desc, config, &config->sinks[0], ret, &diag);
	snprintf(why, size, "%s", diag.n > 0 ? diag.entries[0].text : "");
	if (diag.n > 0)
		assert_int_equal(diag.entries[0].line, 2);
	/* the plugin does not get them as unknown options */
	as_options = options_apply(desc, config, &config->sinks[0], &state, &memory, &diag);
	assert_int_equal(as_options, 0);
	options_memory_free(memory);
	config_free(config);
	diag_clear(&diag);
	return err;
}

static void test_good(void **state)
{
	const struct {
		const struct skep_sink_ops *ops;
		const char *keys;
		bool any_order;
		uint64_t max_age_ns;
	} good[] = {
		{ &ordered, "", false, 0 },
		{ &any, "", true, 0 },
		{ NULL, "", false, 0 },
		{ &any, ", \"max_age\": \"6h\"", true, 6 * 3600 * 1000000000ull },
		{ &ordered, ", \"max_age\": \"0s\"", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct skep_plugin desc = plugin(good[i].ops, none);
		struct sink_terms terms;
		char why[256];

		assert_int_equal(read(&desc, good[i].keys, &terms, why, sizeof(why)), 0);
		assert_string_equal(why, "");
		assert_int_equal(terms.any_order, good[i].any_order);
		assert_int_equal(terms.max_age_ns, good[i].max_age_ns);
	}
}

static void test_wrong(void **state)
{
	const struct {
		const struct skep_sink_ops *ops;
		const char *keys, *why;
	} wrong[] = {
		{ &any, ", \"max_age\": 5",
		  "sinks[0] (test): max_age: expected a time such as \"5s\" (units: ns us ms s m h d), "
		  "found the integer 5" },
		{ &any, ", \"max_age\": \"5\"",
		  "sinks[0] (test): max_age: expected a time such as \"5s\" (units: ns us ms s m h d), "
		  "found the string \"5\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct skep_plugin desc = plugin(wrong[i].ops, none);
		struct sink_terms terms;
		char why[256];

		assert_int_equal(read(&desc, wrong[i].keys, &terms, why, sizeof(why)), -EINVAL);
		assert_string_equal(why, wrong[i].why);
	}
}

/* An option that the plugin declares goes to the plugin. */
static void test_own(void **state)
{
	const struct skep_plugin desc = plugin(&any, own);
	struct sink_terms terms;
	char why[256];

	(void)state;
	assert_false(sink_terms_key(&desc, "max_age"));
	assert_false(sink_terms_key(&desc, "plugin"));
	assert_int_equal(read(&desc, ", \"max_age\": \"6h\"", &terms, why, sizeof(why)), 0);
	assert_int_equal(terms.max_age_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
