/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/path.bpf.h - the path of a file or directory, kernel side.  Include it after kernel.bpf.h.
 *
 * The components of a path, leaf first, each NUL-terminated; user space turns them round
 * (skep/path.h).  bpf_d_path is refused in tp_btf programs, and would not say where it gave
 * up.  Follows what prepend_path (fs/d_path.c) does: up to a root, through mounts.
 *
 * The state of the walk lives in the map and not in registers: so every step looks the
 * same to the verifier, and two ways through one step do not become four through two
 * (with the state in registers 64 steps pass its limit of a million instructions).  A
 * function of its own, so that the loop around it has its back-edge at a jump: up to 6.1
 * the verifier takes no other (check_cfg), and clang likes to let inlined bodies fall through.
 */
#ifndef SKEP_BPF_PATH_BPF_H
#define SKEP_BPF_PATH_BPF_H

#define SKEP_PATH_MAX 4096u  /* bytes of all components of a path */
#define SKEP_PATH_NAME 256u  /* of one component, NUL included (NAME_MAX is 255) */
#define SKEP_PATH_DEPTH 64   /* components, mounts crossed included */

/* In the memory of a map. */
struct skep_walk {
	__u64 dentry, mnt, root_dentry, root_mnt;
	__u32 off;   /* where the next component goes */
	__u32 limit; /* beyond it no other begins */
	__u32 cut;   /* 1: the walk ended before the root */
	__u32 reserved;
};

/* Of data `room` bytes may be filled, a power of two; it has SKEP_PATH_NAME more. */
static __noinline int skep_path_step(struct skep_walk *w, char *data, __u32 room)
{
	struct dentry *dentry = (void *)w->dentry, *parent, *mnt_root;
	struct vfsmount *mnt = (void *)w->mnt;
	__u32 off = w->off;
	long n;

	if (w->dentry == w->root_dentry && w->mnt == w->root_mnt) {
		w->cut = 0;
		return 1;
	}
	parent = BPF_CORE_READ(dentry, d_parent);
	mnt_root = BPF_CORE_READ(mnt, mnt_root);
	if (dentry == mnt_root) {
		struct mount *m = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
		struct mount *up = BPF_CORE_READ(m, mnt_parent);

		if (up == m) {
			w->cut = 0; /* the top of what there is: outside the process's root, or not mounted (memfd) */
			return 1;
		}
		w->dentry = (__u64)BPF_CORE_READ(m, mnt_mountpoint);
		w->mnt = (__u64)up + bpf_core_field_offset(struct mount, mnt);
		return 0;
	}
	if (dentry == parent) {
		w->cut = 0;
		return 1;
	}
	if (off > w->limit)
		return 1;
	n = bpf_probe_read_kernel_str(data + (off & (room - 1)), SKEP_PATH_NAME, BPF_CORE_READ(dentry, d_name.name));
	if (n <= 0)
		return 1;
	w->off = off + n;
	w->dentry = (__u64)parent;
	return 0;
}

/* Appends at w->off what path is, seen from root. */
static __always_inline void skep_path_put(struct skep_walk *w, char *data, __u32 room, struct path *path,
					  struct path *root)
{
	w->dentry = (__u64)BPF_CORE_READ(path, dentry);
	w->mnt = (__u64)BPF_CORE_READ(path, mnt);
	w->root_dentry = (__u64)BPF_CORE_READ(root, dentry);
	w->root_mnt = (__u64)BPF_CORE_READ(root, mnt);
	w->limit = w->off + SKEP_PATH_MAX - SKEP_PATH_NAME;
	w->cut = 1;
	for (int i = 0; i < SKEP_PATH_DEPTH; i++)
		if (skep_path_step(w, data, room))
			break;
}

#endif
