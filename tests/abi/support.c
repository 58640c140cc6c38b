/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/support.c - helpers that the tests of the loader and of instances share.
 */
#include "tests/abi/support.h"
#include "tests/unit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

char *support_dir_new(void)
{
	char template[] = "/tmp/skep-abi-XXXXXX";
	char *dir;

	assert_non_null(mkdtemp(template));
	dir = strdup(template);
	assert_non_null(dir);
	return dir;
}

char *support_dir_remove(char *dir)
{
	if (dir) {
		assert_int_equal(folder_remove(dir), 0);
		free(dir);
	}
	return NULL;
}

char *support_path(const char *dir, const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	return path;
}

char *support_read(const char *path, size_t *ret_size)
{
	char *bytes = NULL;
	struct stat st;
	FILE *f = fopen(path, "re");

	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	assert_int_equal(fstat(fileno(f), &st), 0);
	bytes = malloc((size_t)st.st_size + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)st.st_size, f), st.st_size);
	bytes[st.st_size] = '\0';
	fclose(f);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

void support_write(const char *path, const void *bytes, size_t size, unsigned mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	/* Not open()'s mode: the umask must not decide the result of a test. */
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
}

char *support_plugin_bytes(const char *name, size_t *ret_size)
{
	const char *dir = getenv("SKEP_TEST_PLUGIN_DIRS");
	char *path, *bytes;

	assert_true(asprintf(&path, "%s/%s.so", dir ? dir : "plugins-test", name) > 0);
	bytes = support_read(path, ret_size);
	free(path);
	return bytes;
}

void support_plugin_copy(const char *name, const char *dir)
{
	size_t size;
	char *bytes = support_plugin_bytes(name, &size), *path;

	assert_true(asprintf(&path, "%s/%s.so", dir, name) > 0);
	support_write(path, bytes, size, 0644);
	free(path);
	free(bytes);
}

const char *support_error(const struct diag *diag)
{
	assert_int_equal(diag->n_errors, 1);
	assert_int_equal(diag->n, 1);
	return diag->entries[0].text;
}

struct skep_instance *support_instance(uv_loop_t *loop, struct plugin *plugin, const char *json,
				       const struct instance_ops *ops, void *owner)
{
	const struct skep_host proto = {
		.boot_id = "01234567-89ab-cdef-0123-456789abcdef",
		.interval_ns = 1000000000,
		.verdict_fd = -1,
	};
	const char *list = plugin->desc->kind == SKEP_KIND_SINK ? "sinks" : "probes";
	const char *rest = strchr(json, '{') + 1;
	struct skep_instance *inst = NULL;
	struct config *config;
	struct diag diag;
	char *text;
	int err;

	while (*rest == ' ')
		rest++;
	assert_true(asprintf(&text, "{ \"%s\": [ { \"plugin\": \"%s\"%s %s ] }", list, plugin->note.name,
			     *rest == '}' ? "" : ",", rest) > 0);
	diag_init(&diag);
	config = config_parse(text, strlen(text), "test", &diag);
	if (!config)
		diag_print(&diag, stderr);
	assert_non_null(config);
	err = instance_new(loop, plugin, config, plugin->desc->kind == SKEP_KIND_SINK ? config->sinks : config->probes,
			   &proto, ops, owner, &diag, &inst);
	if (err < 0)
		diag_print(&diag, stderr);
	assert_int_equal(err, 0);
	config_free(config);
	diag_clear(&diag);
	free(text);
	return inst;
}

static uint64_t support_now_ms(void)
{
	return uv_hrtime() / 1000000;
}

void support_loop_until(uv_loop_t *loop, const bool *flag)
{
	uint64_t end = support_now_ms() + 100000;

	/* Polls, so that the tested loop has no handle of the test's. */
	while (!*flag && support_now_ms() < end) {
		uv_run(loop, UV_RUN_NOWAIT);
		if (!*flag)
			usleep(500);
	}
	assert_true(*flag);
}

struct skep_instance *support_instance_end(struct skep_instance *inst)
{
	if (inst) {
		instance_stop(inst);
		for (int i = 0; i < 100000 && !instance_stopped(inst); i++) {
			if (uv_run(inst->loop, UV_RUN_NOWAIT) && !instance_stopped(inst))
				usleep(1000);
		}
		assert_true(instance_stopped(inst));
	}
	return instance_free(inst);
}

void support_loop_close(uv_loop_t *loop)
{
	uv_run(loop, UV_RUN_NOWAIT);
	assert_int_equal(uv_loop_close(loop), 0);
}
