/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-ups of a probe in the kernel's type information (sdk/base/types*.c), on types that the test makes; the part for
 * one object (sdk/probe/object_types.c); the texts that an operator reads when a load fails (sdk/probe/load.c).
 */
#include <bpf/btf.h>
#include <errno.h>
#include <setjmp.h>
#include <skep/drain.h>
#include <skep/load.h>
#include <skep/preempt.h>
#include <skep/types.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "sdk/probe/object_types.h"

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

/* Indexed. The caller frees both. */
static struct skep_kernel_types *indexed(struct btf *btf)
{
	struct skep_kernel_types *ret;
	uint32_t size;
	const void *raw = btf__raw_data(btf, &size);

	assert_non_null(raw);
	assert_int_equal(skep_types_of(raw, size, &ret), 0);
	return ret;
}

static void what_there_is(void **state)
{
	struct btf *btf = types();
	struct skep_kernel_types *t;
	uint32_t first, second;

	(void)state;
	first = (uint32_t)btf__add_struct(btf, "twice", 4);
	btf__add_typedef(btf, "twice", 1);
	second = (uint32_t)btf__add_struct(btf, "twice", 8);
	t = indexed(btf);
	assert_int_equal(t->count, btf__type_cnt(btf));
	assert_true(skep_types_has_tracepoint(t, "wrote"));
	assert_false(skep_types_has_tracepoint(t, "rote"));
	assert_true(skep_types_has_function(t, "vfs_write"));
	assert_false(skep_types_has_function(t, "wrote"));
	assert_true(skep_types_has_member(t, "bio", "bi_blkg"));
	assert_false(skep_types_has_member(t, "bio", "bi_blk"));
	assert_false(skep_types_has_member(t, "bi", "bi_blkg"));
	assert_true(skep_types_has_helper(t, "BPF_FUNC_check_mtu"));
	assert_false(skep_types_has_helper(t, "BPF_FUNC_check"));
	assert_false(skep_types_preempt_programs(t));
	assert_int_equal(skep_types_arguments(t, "wrote"), 2);
	assert_int_equal(skep_types_arguments(t, "rote"), -ENOENT);
	assert_int_equal(skep_types_arguments(t, "odd"), -ENOENT);
	assert_false(skep_types_argument_is_pointer(t, "wrote", 0));
	assert_true(skep_types_argument_is_pointer(t, "wrote", 1));
	assert_false(skep_types_argument_is_pointer(t, "wrote", 2));
	assert_false(skep_types_argument_is_pointer(t, "rote", 0));
	assert_int_equal(skep_types_argument(t, "wrote", "bio"), 1); /* behind const */
	assert_int_equal(skep_types_argument(t, "wrote", "request"), -ENOENT);
	assert_int_equal(skep_types_find(t, "twice", BTF_KIND_STRUCT), first);
	assert_int_equal(t->next(t, "twice", 5, first), first + 1);
	assert_int_equal(t->next(t, "twice", 5, first + 1), second);
	assert_int_equal(t->next(t, "twice", 5, second), 0);
	assert_int_equal(t->next(t, "twic", 4, 0), 0);
	assert_string_equal(skep_types_text(t, skep_types_at(t, first)->name_off), "twice");
	assert_string_equal(skep_types_text(t, UINT32_MAX), "");
	skep_types_free(t);
	btf__free(btf);
}

/* A file that is cut off anywhere, or damaged, is refused or read within its bounds (the sanitizers look). */
static void damaged(void **state)
{
	struct btf *btf = types();
	struct skep_kernel_types *t;
	uint32_t size;
	const void *raw = btf__raw_data(btf, &size);

	(void)state;
	for (uint32_t n = 0; n <= size; n++) {
		char *copy = malloc(n + 1);
		int err;

		assert_non_null(copy);
		memcpy(copy, raw, n);
		err = skep_types_of(copy, n, &t);
		assert_int_equal(err, n == size ? 0 : -EINVAL);
		if (!err)
			skep_types_free(t);
		free(copy);
	}
	for (uint32_t at = 0; at < size; at++) {
		unsigned char *copy = malloc(size);

		assert_non_null(copy);
		memcpy(copy, raw, size);
		copy[at] ^= 0xff;
		if (skep_types_of(copy, size, &t) == 0) {
			skep_types_arguments(t, "wrote");
			skep_types_argument(t, "wrote", "bio");
			skep_types_has_member(t, "bio", "bi_blkg");
			skep_types_has_helper(t, "BPF_FUNC_check_mtu");
			skep_types_free(t);
		}
		free(copy);
	}
	btf__free(btf);
}

/* A plugin host without the types: the plugin reads them itself. */
static void of_the_kernel(void **state)
{
	const struct skep_kernel_types *t;
	struct skep_kernel_types *none;

	(void)state;
	assert_int_equal(skep_types_read("/proc/self/exe", &none), -EINVAL);
	assert_int_equal(skep_types_read("/none", &none), -ENOENT);
	if (access(SKEP_TYPES_PATH, R_OK) != 0)
		skip();
	assert_int_equal(skep_types_get(NULL, &host, &t), 0);
	assert_true(skep_types_has_member(t, "task_struct", "start_time"));
	assert_true(skep_types_has_tracepoint(t, "sched_process_exec"));
	skep_types_put(NULL, &host, t);
	skep_types_put(NULL, &host, NULL);
}

/* An object's part has the types that it names, of any flavour, and their members' types, but none behind a pointer. */
static void part_of_types(void **state)
{
	struct btf *all = types(), *object = btf__new_empty(), *part;
	struct skep_kernel_types *kernel;
	const struct btf_type *t;
	int inner, far, id, fd;
	char path[32];

	(void)state;
	far = btf__add_ptr(all, btf__add_struct(all, "far", 4));
	inner = btf__add_struct(all, "inner", 8);
	assert_int_equal(btf__add_field(all, "far", far, 0, 0), 0);
	id = btf__add_array(all, 1, inner, 2);
	assert_true(btf__add_struct(all, "request", 16) > 0);
	assert_int_equal(btf__add_field(all, "inners", id, 0, 0), 0);
	assert_true(btf__add_struct(object, "request___old", 8) > 0);
	assert_true(btf__add_enum(object, "bpf_func_id", 4) > 0);

	kernel = indexed(all);
	fd = memfd_create("test", MFD_CLOEXEC);
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (int again = 0; again < 2; again++) { /* a second object after a failed load */
		assert_int_equal(skep_object_types_write(fd, kernel, object), 0);
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
		assert_true(btf__find_by_name_kind(part, "bpf_func_id", BTF_KIND_ENUM) > 0);
		assert_true(btf__find_by_name_kind(part, "far", BTF_KIND_STRUCT) < 0);
		assert_true(btf__find_by_name_kind(part, "bio", BTF_KIND_STRUCT) < 0);
		btf__free(part);
	}
	close(fd);
	skep_types_free(kernel);
	btf__free(object);
	btf__free(all);
}

static void needed(void **state)
{
	static const char *const both[] = { "wrote", "read" };
	struct btf *btf = types();
	struct skep_kernel_types *t = indexed(btf);

	(void)state;
	assert_int_equal(skep_types_need(NULL, &host, t, both, 1), 0);
	assert_int_equal(skep_types_need(NULL, &host, t, both, 2), -EOPNOTSUPP);
	assert_string_equal(said, "the kernel has no tracepoint read");
	skep_types_free(t);
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
		cmocka_unit_test(damaged),
		cmocka_unit_test(of_the_kernel),
		cmocka_unit_test(part_of_types),
		cmocka_unit_test(needed),
		cmocka_unit_test(failures),
		cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
