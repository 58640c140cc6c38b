/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_proc.c - bytes as if from the kernel side of the probe "proc": the ring's
 * records and the iterator's.  The first byte chooses; nothing may be read beyond the input,
 * and every string handed on must lie in memory that is ours.
 *
 * With -DFUZZ_MAIN a program that replays files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugins/proc/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned touched;

static void touch(const struct skep_str *s)
{
	for (uint32_t i = 0; i < s->len; i++)
		touched += (unsigned char)s->ptr[i];
	if (s->total < s->len)
		abort();
}

static void emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		 const void *rec)
{
	const struct skep_stream *s = proc_streams[stream];

	(void)inst;
	touched += (who ? who->pid : 0) + (unsigned)time_ns;
	for (uint32_t i = 0; i < s->n_fields; i++)
		if (s->fields[i].type == SKEP_T_STR || s->fields[i].type == SKEP_T_STRV)
			touch((const struct skep_str *)((const char *)rec + s->fields[i].offset));
}

static unsigned redact(struct skep_instance *inst, const char *exe, char *argv, uint32_t *len)
{
	(void)inst;
	touched += (unsigned)strlen(exe);
	for (uint32_t i = 0; i < *len; i++)
		touched += (unsigned char)argv[i];
	return 0;
}

static bool known(struct skep_instance *inst, uint64_t id, const struct skep_str *path)
{
	(void)inst;
	(void)id;
	if (path)
		touch(path);
	return true;
}

static void sweep_end(struct skep_instance *inst, bool complete)
{
	(void)inst;
	(void)complete;
}

static void counter_add(struct skep_counter *c, uint64_t n)
{
	(void)c;
	(void)n;
}

/* the functions of other files that decode.c and scan.c call */
int proc_pending_add(struct skep_instance *inst, struct proc_state *st, const struct proc_final *f)
{
	proc_emit_final(inst, st, f);
	return 0;
}

void proc_catch_up(struct proc_state *st)
{
	(void)st;
}

bool proc_drain(struct skep_instance *inst, struct proc_state *st, uint64_t budget_ns)
{
	(void)inst;
	(void)st;
	(void)budget_ns;
	return true;
}

static const struct proc_others others; /* as the kernel side writes them */
static const struct skep_rules rules;

static bool process_known(struct skep_instance *inst, const struct skep_upid *who)
{
	(void)inst;
	(void)who;
	return true;
}

static const struct skep_host host = {
	.size = sizeof(host),
	.emit = emit,
	.redact = redact,
	.cgroup_known = known,
	.process_known = process_known,
	.sweep_end = sweep_end,
	.counter_add = counter_add,
};

static void iterator(struct proc_state *st, const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	st->scan_buffer = malloc(64 * 1024);
	if (!st->scan_buffer)
		abort();
	st->iter_fd = fd; /* the end of the scan closes it */
	proc_scan_step(NULL, st, 0);
	free(st->scan_buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *names[] = { "A", "SKEP_TASK", NULL };
	static struct proc_state st;
	void *copy;

	if (size < 1)
		return 0;
	memset(&st, 0, sizeof(st));
	st.host = &host;
	st.opt_environ = names;
	proc_environ_option(&st, &st.environ);
	st.page_size = 4096;
	st.iter_fd = -1;
	st.others = &others;
	st.rules = &rules;
	if (data[0] & 1) {
		iterator(&st, data + 1, size - 1);
		return 0;
	}
	/* exactly as long as the record: the sanitizer finds every read beyond it */
	copy = malloc(size - 1 ? size - 1 : 1);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	proc_decode_ring(NULL, &st, copy, size - 1);
	free(copy);
	return 0;
}

#ifdef FUZZ_MAIN
int main(int argc, char **argv)
{
	static uint8_t data[1 << 20];

	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		size_t n;

		if (!f) {
			perror(argv[i]);
			return 1;
		}
		n = fread(data, 1, sizeof(data), f);
		fclose(f);
		LLVMFuzzerTestOneInput(data, n);
	}
	return 0;
}
#endif
