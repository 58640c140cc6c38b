/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/object.h - opens, loads and attaches a BPF object without a look of libbpf at the types of the whole kernel.
 * libbpf reads them anew for each object with CO-RE relocations or programs of type tracing, which took 8 ms of CPU an
 * object.  With these functions it gets the few types that the object names, and ids from skep/types.h.  The object's
 * source has the usual sections: tp_btf/, fentry/, fexit/, iter/.  Link libskep-probe (pkg-config skep-probe).  Loop
 * thread.
 *
 *	struct skep_object o;
 *	skep_object_begin(&o, types);
 *	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = o.path);
 *	bpf = NAME_bpf__open_opts(&opts);
 *	...                                         sizes of maps, programs that this kernel has
 *	err = skep_object_ready(&o, bpf->obj);
 *	err = err ?: NAME_bpf__load(bpf);           or skep_pins_load()
 *	skep_object_end(&o);                        after errors too
 *	err = err ?: skep_object_attach(bpf->skeleton);   or skep_pins_attach(); never NAME_bpf__attach()
 */
#ifndef SKEP_OBJECT_H
#define SKEP_OBJECT_H

#include <skep/plugin.h>

struct bpf_link; /* <bpf/libbpf.h> */
struct bpf_object;
struct bpf_object_skeleton;
struct bpf_program;

#ifdef __cplusplus
extern "C" {
#endif

/* The caller's, at one address from begin to end. */
struct skep_object {
	const char *path; /* for bpf_object_open_opts.btf_custom_path; NULL: libbpf reads the types itself */
	/* private */
	const struct skep_kernel_types *types;
	char text[32];
	int fd;
	int handlers[4];
};

/*
 * Prepares for one object.  types: the caller keeps them until skep_object_end().  Cannot fail: when something is
 * missing, libbpf reads the types itself.  One object at a time: in between, libbpf opens and loads no other one.
 */
void skep_object_begin(struct skep_object *o, const struct skep_kernel_types *types);
/* Between opening and loading, after bpf_program__set_autoload().  0 or -errno. */
int skep_object_ready(struct skep_object *o, struct bpf_object *object);
void skep_object_end(struct skep_object *o);

/*
 * Attaches one program, or all of an object that load by themselves and have no link yet.  The caller owns the links
 * as after bpf_program__attach() and NAME_bpf__attach(), which crash for programs that were loaded like this.  0 or
 * -errno.
 */
int skep_object_attach_program(struct bpf_program *program, struct bpf_link **ret);
int skep_object_attach(struct bpf_object_skeleton *skeleton);

#ifdef __cplusplus
}
#endif

#endif
