/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/object.c - opens, loads and attaches a BPF object with types that are read already.
 *
 * libbpf reads the kernel's types for each object that has a program of type tracing.  It asks for the type before it
 * loads the programs, so handlers of the sections give such a program another type at first, and its own when it loads.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/btf.h>
#include <skep/object.h>
#include <skep/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sdk/probe/object_types.h"

/* The type that stands for a program in the kernel: of "iter/task" the function bpf_iter_task. */
static const struct {
	const char *section;
	enum bpf_attach_type attach;
	const char *prefix;
	uint32_t kind;
} sections[] = {
	{ "tp_btf", BPF_TRACE_RAW_TP, "btf_trace_", BTF_KIND_TYPEDEF },
	{ "iter", BPF_TRACE_ITER, "bpf_iter_", BTF_KIND_FUNC },
	{ "fentry", BPF_TRACE_FENTRY, "", BTF_KIND_FUNC },
	{ "fexit", BPF_TRACE_FEXIT, "", BTF_KIND_FUNC },
};
#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

static const struct skep_object *current; /* libbpf's handlers are the process's: one object at a time */

/* libbpf is about to load the program. */
static int on_load(struct bpf_program *program, struct bpf_prog_load_opts *opts, long section)
{
	const char *slash = strchr(bpf_program__section_name(program), '/');
	char name[128];
	uint32_t id;

	if (opts->attach_btf_id) /* of bpf_program__set_attach_target() */
		return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
	if (!slash || !current)
		return -EINVAL;
	if (snprintf(name, sizeof(name), "%s%s", sections[section].prefix, slash + 1) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	id = skep_types_find(current->types, name, sections[section].kind);
	if (!id)
		return -ESRCH;
	opts->attach_btf_id = id;
	return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
}

static void forget(struct skep_object *o)
{
	for (size_t i = 0; i < SECTIONS; i++) {
		if (o->handlers[i] > 0)
			libbpf_unregister_prog_handler(o->handlers[i]);
		o->handlers[i] = 0;
	}
	current = NULL;
}

/*
 * A handler for no section, for ever: libbpf up to 1.2 frees its table with the last handler, and uses it again with
 * the next.
 */
static bool keep_table(void)
{
	static int handler;

	if (handler <= 0)
		handler = libbpf_register_prog_handler("skep_none", BPF_PROG_TYPE_UNSPEC, 0, NULL);
	return handler > 0;
}

static void handle(struct skep_object *o)
{
	_Static_assert(SECTIONS == sizeof(o->handlers) / sizeof(o->handlers[0]), "one handler a section");

	if (!keep_table())
		return;
	for (size_t i = 0; i < SECTIONS; i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)i, .prog_prepare_load_fn = on_load);
		char section[16];

		snprintf(section, sizeof(section), "%s+", sections[i].section);
		o->handlers[i] = libbpf_register_prog_handler(section, BPF_PROG_TYPE_RAW_TRACEPOINT,
							      sections[i].attach, &opts);
		if (o->handlers[i] < 0) { /* no memory: libbpf's own handlers read the types */
			forget(o);
			return;
		}
	}
	current = o;
}

void skep_object_begin(struct skep_object *o, const struct skep_kernel_types *types)
{
	*o = (struct skep_object){ .types = types };
	o->fd = memfd_create("skep-types", MFD_CLOEXEC);
	if (o->fd < 0)
		return;
	snprintf(o->text, sizeof(o->text), "/proc/self/fd/%d", o->fd);
	o->path = o->text;
	handle(o);
}

int skep_object_ready(struct skep_object *o, struct bpf_object *object)
{
	int err = skep_object_cast(o->types, object);

	return err || o->fd < 0 ? err : skep_object_types_write(o->fd, o->types, bpf_object__btf(object));
}

void skep_object_end(struct skep_object *o)
{
	forget(o);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	o->path = NULL;
}

/*
 * Never by bpf_program__attach(), which asks the program's handler: it is gone.  Programs of type tracing all attach in
 * the same way but for iterators.
 */
int skep_object_attach_program(struct bpf_program *program, struct bpf_link **ret)
{
	if (bpf_program__type(program) != BPF_PROG_TYPE_TRACING)
		*ret = bpf_program__attach(program);
	else if (bpf_program__expected_attach_type(program) == BPF_TRACE_ITER)
		*ret = bpf_program__attach_iter(program, NULL);
	else
		*ret = bpf_program__attach_trace(program);
	return *ret ? 0 : -errno;
}

int skep_object_attach(struct bpf_object_skeleton *skeleton)
{
	for (int i = 0; i < skeleton->prog_cnt; i++) {
		const struct bpf_prog_skeleton *its = &skeleton->progs[i];
		int err;

		if (!its->link || *its->link || !bpf_program__autoload(*its->prog) ||
		    !bpf_program__autoattach(*its->prog))
			continue;
		err = skep_object_attach_program(*its->prog, its->link);
		if (err && err != -EOPNOTSUPP) /* a section that does not say where, as "raw_tp" */
			return err;
	}
	return 0;
}
