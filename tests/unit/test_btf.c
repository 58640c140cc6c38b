/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-ups of a probe in the kernel's type information (sdk/probe/btf.c), on types that the test makes, and the texts
 * that an operator reads when a load fails (sdk/probe/load.c).
 */
#include <bpf/btf.h>
#include <errno.h>
#include <setjmp.h>
#include <skep/btf.h>
#include <skep/drain.h>
#include <skep/load.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char said[512];

__attribute__((format(printf, 3, 4))) static int on_fail(struct skep_instance *inst, int err, const char *format, ...)
{
	va_list ap;

	(void)inst;
	va_start(ap, format);
	vsnprintf(said, sizeof(said), format, ap);
	va_end(ap);
	return err;
}

static const struct skep_host host = { .size = sizeof(host), .fail = on_fail, .verdict_fd = -1 };

/* tracepoint "wrote": (void *, int, const struct bio *) */
static struct btf *types(void)
{
	struct btf *btf = btf__new_empty();
	int number, any, bio, constant, to_bio, proto;

	assert_non_null(btf);
	number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	any = btf__add_ptr(btf, 0);
	bio = btf__add_struct(btf, "bio", 4);
	assert_int_equal(btf__add_field(btf, "bi_blkg", number, 0, 0), 0);
	constant = btf__add_const(btf, bio);
	to_bio = btf__add_ptr(btf, constant);
	proto = btf__add_func_proto(btf, 0);
	assert_int_equal(btf__add_func_param(btf, "ignore", any), 0);
	assert_int_equal(btf__add_func_param(btf, "n", number), 0);
	assert_int_equal(btf__add_func_param(btf, "bio", to_bio), 0);
	assert_true(btf__add_typedef(btf, "btf_trace_wrote", btf__add_ptr(btf, proto)) > 0);
	assert_true(btf__add_typedef(btf, "btf_trace_odd", btf__add_ptr(btf, number)) > 0); /* not a function */
	assert_true(btf__add_func(btf, "vfs_write", BTF_FUNC_GLOBAL, proto) > 0);
	assert_true(btf__add_enum(btf, "bpf_func_id", 4) > 0);
	assert_int_equal(btf__add_enum_value(btf, "BPF_FUNC_unspec", 0), 0);
	assert_int_equal(btf__add_enum_value(btf, "BPF_FUNC_check_mtu", 163), 0);
	return btf;
}

static void what_there_is(void **state)
{
	struct btf *btf = types();

	(void)state;
	assert_true(skep_btf_has_tracepoint(btf, "wrote"));
	assert_false(skep_btf_has_tracepoint(btf, "rote"));
	assert_true(skep_btf_has_function(btf, "vfs_write"));
	assert_false(skep_btf_has_function(btf, "wrote"));
	assert_true(skep_btf_has_member(btf, "bio", "bi_blkg"));
	assert_false(skep_btf_has_member(btf, "bio", "bi_blk"));
	assert_false(skep_btf_has_member(btf, "bi", "bi_blkg"));
	assert_true(skep_btf_has_helper(btf, "BPF_FUNC_check_mtu"));
	assert_false(skep_btf_has_helper(btf, "BPF_FUNC_check"));
	btf__free(btf);
}

/* An object's part has the types that it names, of any flavour, and what they contain, but not what they point to. */
static void part_of_types(void **state)
{
	struct btf *all = types(), *object = btf__new_empty(), *part;
	char path[SKEP_BTF_PART_PATH];
	const struct btf_type *t;
	int inner, far, id, fd;

	(void)state;
	far = btf__add_ptr(all, btf__add_struct(all, "far", 4));
	inner = btf__add_struct(all, "inner", 8);
	assert_int_equal(btf__add_field(all, "far", far, 0, 0), 0);
	id = btf__add_array(all, 1, inner, 2);
	assert_true(btf__add_struct(all, "request", 16) > 0);
	assert_int_equal(btf__add_field(all, "inners", id, 0, 0), 0);
	assert_true(btf__add_struct(object, "request___old", 8) > 0);
	assert_true(btf__add_enum(object, "bpf_func_id", 4) > 0);

	fd = skep_btf_part_new(path);
	assert_true(fd >= 0);
	for (int again = 0; again < 2; again++) { /* a second object after a failed load */
		assert_int_equal(skep_btf_part_write(fd, all, object), 0);
		part = btf__parse(path, NULL);
		assert_non_null(part);
		id = btf__find_by_name_kind(part, "request", BTF_KIND_STRUCT);
		assert_true(id > 0);
		t = btf__type_by_id(part, btf_members(btf__type_by_id(part, (uint32_t)id))[0].type);
		assert_true(btf_is_array(t));
		assert_true(btf_is_int(btf__type_by_id(part, btf_array(t)->index_type)));
		t = btf__type_by_id(part, btf_array(t)->type);
		assert_string_equal(btf__name_by_offset(part, t->name_off), "inner");
		t = btf__type_by_id(part, btf_members(t)[0].type);
		assert_true(btf_is_ptr(t) && t->type == 0);
		assert_true(skep_btf_has_helper(part, "BPF_FUNC_check_mtu"));
		assert_true(btf__find_by_name_kind(part, "far", BTF_KIND_STRUCT) < 0);
		assert_true(btf__find_by_name_kind(part, "bio", BTF_KIND_STRUCT) < 0);
		btf__free(part);
	}
	close(fd);
	btf__free(object);
	btf__free(all);
}

static void arguments(void **state)
{
	struct btf *btf = types();

	(void)state;
	assert_int_equal(skep_btf_arguments(btf, "wrote"), 2);
	assert_int_equal(skep_btf_arguments(btf, "rote"), -ENOENT);
	assert_int_equal(skep_btf_arguments(btf, "odd"), -ENOENT);
	assert_false(skep_btf_argument_is_pointer(btf, "wrote", 0));
	assert_true(skep_btf_argument_is_pointer(btf, "wrote", 1));
	assert_false(skep_btf_argument_is_pointer(btf, "wrote", 2));
	assert_false(skep_btf_argument_is_pointer(btf, "rote", 0));
	assert_int_equal(skep_btf_argument(btf, "wrote", "bio"), 1); /* behind const */
	assert_int_equal(skep_btf_argument(btf, "wrote", "request"), -ENOENT);
	btf__free(btf);
}

static void needed(void **state)
{
	static const char *const both[] = { "wrote", "read" };
	struct btf *btf = types();

	(void)state;
	assert_int_equal(skep_btf_need(NULL, &host, btf, both, 1), 0);
	assert_int_equal(skep_btf_need(NULL, &host, btf, both, 2), -EOPNOTSUPP);
	assert_string_equal(said, "the kernel has no tracepoint read");
	btf__free(btf);
}

static void failures(void **state)
{
	uint32_t pids = 7;

	(void)state;
	assert_int_equal(skep_load_fail(NULL, &host, -EACCES, "loading the BPF programs"), -EPERM);
	assert_non_null(strstr(
		said, "loading the BPF programs: not permitted: needs the capabilities CAP_BPF and CAP_PERFMON"));
	assert_int_equal(skep_load_fail(NULL, &host, -E2BIG, "loading the BPF programs"), -E2BIG);
	assert_string_equal(
		said, "loading the BPF programs: Argument list too long (verbose logging shows the kernel's message)");
	assert_int_equal(skep_detail_fail(NULL, &host, -EPERM, "the hook on opens"), -EPERM);
	assert_string_equal(said,
			    "cannot attach the hook on opens: Operation not permitted; needs CAP_BPF and CAP_PERFMON");
	assert_int_equal(skep_load_verdict(&host, NULL, &pids), 0); /* a plugin host without a verdict map */
	assert_int_equal(pids, 7);
}

static void sizes(void **state)
{
	const uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
	uint64_t of_cpu[3][2] = { { 1, 10 }, { 2, 20 }, { 3, 30 } }, sums[2] = { 99, 99 };

	(void)state;
	assert_int_equal(skep_ring_bytes(0), page);
	assert_int_equal(skep_ring_bytes(page + 1), 2 * page);
	assert_int_equal(skep_ring_bytes(UINT64_MAX), 1u << 30);
	skep_sums_of_view(of_cpu, 3, sizeof(sums), sums);
	assert_int_equal(sums[0], 6);
	assert_int_equal(sums[1], 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_there_is),
		cmocka_unit_test(part_of_types),
		cmocka_unit_test(arguments),
		cmocka_unit_test(needed),
		cmocka_unit_test(failures),
		cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
