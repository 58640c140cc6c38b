/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of boundaries: the probe can search for every name, no name is a secret or a user's own text, and
 * redaction leaves ordinary values of all names alone.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/identify/recognizer.h"
#include "core/identify/redact.h"

static struct recognizers *recognizers;

static int open_table(void **state)
{
	struct diag diag;

	(void)state;
	diag_init(&diag);
	recognizers = recognizers_new(NULL, &diag);
	diag_print(&diag, stderr);
	diag_clear(&diag);
	return !recognizers;
}

static int close_table(void **state)
{
	(void)state;
	recognizers_unref(recognizers);
	return 0;
}

static void check_list(const char *const *list, size_t most, size_t longest)
{
	size_t n = 0;

	for (; list[n]; n++) {
		assert_in_range(strlen(list[n]), 1, longest);
		for (size_t i = 0; i < n; i++)
			assert_string_not_equal(list[i], list[n]);
	}
	assert_in_range(n, 1, most);
}

static void lists_are_sound(void **state)
{
	(void)state;
	check_list(recognizers_environ(recognizers), 64, 31);
	check_list(recognizers_parents(recognizers), 256, 15);
}

static void names_are_no_secrets(void **state)
{
	/* secrets and users' own texts that stand beside the ids of engines, in the same environments */
	static const char *const never[] = { "SSHPASS",
					     "MAKEFLAGS",
					     "MFLAGS",
					     "MAKEOVERRIDES",
					     "ARGO_TEMPLATE",
					     "AIRFLOW_CTX_DAG_EMAIL",
					     "AIRFLOW_CTX_DAG_OWNER",
					     "DAGSTER_PIPES_CONTEXT",
					     "FLYTE_INTERNAL_EXECUTION_ID",
					     "AWS_SECRET_ACCESS_KEY",
					     "AWS_ACCESS_KEY_ID",
					     "AWS_SESSION_TOKEN",
					     "NXF_OPTS",
					     "TMPDIR" };

	(void)state;
	for (const char *const *name = recognizers_environ(recognizers); *name; name++) {
		for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
			assert_string_not_equal(*name, never[i]);
		assert_int_not_equal(strncmp(*name, "PBS_O_", 6), 0);
		assert_int_not_equal(strncmp(*name, "SLURM_SPANK_", 12), 0);
	}
}

static void values_are_redacted(void **state)
{
	char list[64], wanted[64];
	struct redact *redact;
	struct diag diag;
	uint32_t len;

	(void)state;
	diag_init(&diag);
	redact = redact_new(NULL, &diag);
	diag_clear(&diag);
	assert_non_null(redact);
	for (const char *const *name = recognizers_environ(recognizers); *name; name++) {
		len = (uint32_t)snprintf(list, sizeof(list), "%s=align-7", *name) + 1;
		memcpy(wanted, list, len);
		assert_int_equal(redact_argv(redact, "", list, &len), 0);
		assert_string_equal(list, wanted);
		len = (uint32_t)snprintf(list, sizeof(list), "%s=ftp://me:hunter2@host/", *name) + 1;
		assert_int_equal(redact_argv(redact, "", list, &len), 1);
		assert_null(strstr(list, "hunter2"));
	}
	redact_free(redact);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_sound),
		cmocka_unit_test(names_are_no_secrets),
		cmocka_unit_test(values_are_redacted),
	};

	return cmocka_run_group_tests_name("boundaries", tests, open_table, close_table);
}
