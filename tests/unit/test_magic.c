/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/magic.h: an object of the type passes; a null pointer, a freed object and one of another type end the
 * process.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/base/log.h"
#include "core/base/magic.h"

#define MAGIC_thing 0x7419600du

struct thing {
	uint32_t magic;
	int value;
};

/* The signal that ends a child which uses the pointer; 0: none. */
static int signal_of(void *pointer)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
		log_level(SKEP_LOG_ERROR - 1);
		_exit(MAGIC_OBJECT(thing, pointer)->value);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void only_its_own_type(void **state)
{
	struct thing good = { .magic = MAGIC_thing }, freed = { .magic = 0 }, other = { .magic = MAGIC_thing + 1 };

	(void)state;
	assert_ptr_equal(MAGIC_OBJECT(thing, &good), &good);
	assert_int_equal(signal_of(&good), 0);
	assert_int_equal(signal_of(&freed), SIGABRT);
	assert_int_equal(signal_of(&other), SIGABRT);
	assert_int_equal(signal_of(NULL), SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(only_its_own_type) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
