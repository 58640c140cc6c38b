/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/path.bpf.h - collects the path of a file or directory, kernel side.  Include this header after
 * kernel.bpf.h.
 *
 * The walk writes the components of a path, leaf first, each NUL-terminated; user space reverses them (skep/path.h).
 * It goes up to a root, through mounts, like prepend_path() (fs/d_path.c).  The helper bpf_d_path() cannot replace the
 * walk: the kernel refuses it in tp_btf programs, and it does not report where it stopped.
 *
 * A reader with the same root sees this path in /proc/PID/exe and cwd: d_path() puts " (deleted)" behind
 * a path whose last name was removed, and prints a file that never was in a folder as "/memfd:NAME (deleted)".  Outside
 * the root, or in a mount that was detached, both go up to the top of the mount tree ("(unreachable)" is of getcwd()
 * alone).  They differ for a folder that was moved out of the bind mount that leads to it: d_path() prints "/", and this
 * walk the names up to the file system's root, as a path whose beginning is missing.
 *
 * The state of the walk is in a map and not in registers.  So every step looks the same to the verifier, which need
 * not follow each combination of branches of the steps before.  With the state in registers, 64 steps exceed its limit
 * of a million instructions.  skep_path_step() is a function of its own, so that the back-edge of the loop around it
 * is a jump: up to 6.1 the verifier accepts no other (check_cfg), and clang lets inlined bodies fall through.
 */
#ifndef SKEP_BPF_PATH_BPF_H
#define SKEP_BPF_PATH_BPF_H

#define SKEP_PATH_MAX 4096u  /* bytes of all components of a path */
#define SKEP_PATH_NAME 256u  /* bytes of one component, NUL included (NAME_MAX is 255) */
#define SKEP_PATH_DEPTH 64   /* steps: components and crossed mounts */

#define SKEP_PATH_INLINE 40u /* the longest name in a dentry itself, NUL included: DNAME_INLINE_LEN, 32 or 40 */

/* What a step reads of a dentry at once: the name's text follows where the kernel has the members in this order. */
struct skep_walk_dentry {
	__u64 parent;
	__u64 hash_len; /* of d_name: the length in the upper half */
	__u64 name;
	__u64 inode;
	__u64 text[SKEP_PATH_INLINE / 8];
};

/* State of a walk, in the memory of a map. */
struct skep_walk {
	__u64 dentry, mnt, root_dentry, root_mnt;
	__u64 mnt_root; /* of mnt */
	__u32 off;      /* offset in data of the next component */
	__u32 limit;    /* no component begins beyond this offset */
	__u32 cut;      /* 1: the walk ended before the root */
	__u32 deleted;  /* 1: " (deleted)" follows the first component */
	struct skep_walk_dentry here;
};

#define SKEP_PATH_DELETED " (deleted)"

static __always_inline __u64 skep_path_mnt_root(__u64 mnt)
{
	return (__u64)BPF_CORE_READ((struct vfsmount *)mnt, mnt_root);
}

/* Offset in struct dentry of the name that it holds itself; 0: unknown. */
static __always_inline __u32 skep_path_inline(void)
{
	if (bpf_core_field_exists(struct dentry___inline, d_iname))
		return bpf_core_field_offset(struct dentry___inline, d_iname);
	if (bpf_core_field_exists(struct dentry___short, d_shortname))
		return bpf_core_field_offset(struct dentry___short, d_shortname);
	return 0;
}

/*
 * Appends the name of the dentry in w->here at `at`. Returns its length with the NUL, or < 1.  Most names are in the
 * dentry, and the program has them already: a call of a helper costs more than the rest of a step.
 */
static __always_inline long skep_path_name(struct skep_walk *w, char *at)
{
	const __u32 first = bpf_core_field_offset(struct dentry, d_parent), text = skep_path_inline();
	__u64 len = w->here.hash_len >> 32;

	if (text - first != offsetof(struct skep_walk_dentry, text) || w->here.name != w->dentry + text ||
	    len >= SKEP_PATH_INLINE)
		return bpf_probe_read_kernel_str(at, SKEP_PATH_NAME, (void *)w->here.name);
#pragma unroll
	for (__u32 i = 0; i < SKEP_PATH_INLINE / 8; i++)
		((__u64 *)(void *)at)[i] = w->here.text[i];
	at[len & 63] = '\0';
	return len + 1;
}

/* One step up; 1: the walk ends. room: a power of two; data has room + SKEP_PATH_NAME bytes. */
static __always_inline int skep_path_up(struct skep_walk *w, char *data, __u32 room)
{
	const __u32 first = bpf_core_field_offset(struct dentry, d_parent);
	__u64 dentry = w->dentry;
	__u32 off = w->off;
	long n;

	if (dentry == w->root_dentry && w->mnt == w->root_mnt) {
		w->cut = 0;
		return 1;
	}
	if (dentry == w->mnt_root) {
		struct mount *m = (void *)w->mnt - bpf_core_field_offset(struct mount, mnt);
		struct mount *up = BPF_CORE_READ(m, mnt_parent);

		if (up == m) {
			w->cut = 0; /* the top of the mount tree: outside the process's root, or a detached mount */
			return 1;
		}
		w->dentry = (__u64)BPF_CORE_READ(m, mnt_mountpoint);
		w->mnt = (__u64)up + bpf_core_field_offset(struct mount, mnt);
		w->mnt_root = skep_path_mnt_root(w->mnt);
		return 0;
	}
	if (bpf_core_field_offset(struct dentry, d_name.hash_len) - first == 8 &&
	    bpf_core_field_offset(struct dentry, d_name.name) - first == 16) {
		if (bpf_probe_read_kernel(&w->here, sizeof(w->here), (void *)dentry + first))
			return 1;
	} else {
		w->here.parent = (__u64)BPF_CORE_READ((struct dentry *)dentry, d_parent);
		w->here.name = (__u64)BPF_CORE_READ((struct dentry *)dentry, d_name.name);
		w->here.hash_len = ~0ull;
	}
	if (off > w->limit)
		return 1;
	n = skep_path_name(w, data + (off & (room - 1)));
	if (n <= 0)
		return 1;
	if (dentry == w->here.parent) {
		if (n == 2)
			return 1; /* "/": the root of a file system, which the mount does not show */
		w->cut = 0; /* a file that never was in a folder: memfd */
	}
	off += n;
	if (w->deleted) {
		__builtin_memcpy(data + ((off - 1) & (room - 1)), SKEP_PATH_DELETED, sizeof(SKEP_PATH_DELETED));
		off += sizeof(SKEP_PATH_DELETED) - 1;
		w->deleted = 0;
	}
	w->off = off;
	w->dentry = w->here.parent;
	return !w->cut;
}

/* Like skep_path_up(), but not inlined. */
static __noinline int skep_path_step(struct skep_walk *w, char *data, __u32 room)
{
	return skep_path_up(w, data, room);
}

/* Prepares a walk from `dentry` of `mnt` up to the root, which appends at w->off. */
static __always_inline void skep_path_from(struct skep_walk *w, struct dentry *dentry, struct vfsmount *mnt,
					   struct dentry *root_dentry, struct vfsmount *root_mnt)
{
	w->dentry = (__u64)dentry;
	w->mnt = (__u64)mnt;
	w->root_dentry = (__u64)root_dentry;
	w->root_mnt = (__u64)root_mnt;
	w->mnt_root = skep_path_mnt_root(w->mnt);
	w->limit = w->off + SKEP_PATH_MAX - SKEP_PATH_NAME;
	w->cut = 1;
	w->deleted = 0;
}

/*
 * After skep_path_from(): whether d_path() calls the file deleted, by d_hash.pprev and d_parent of its dentry.  No name
 * leads to the root of a file system either.
 */
static __always_inline void skep_path_unhashed(struct skep_walk *w, void *pprev, struct dentry *parent)
{
	w->deleted = !pprev && (w->dentry != (__u64)parent || w->dentry != w->mnt_root);
}

/* The same for addresses of paths. */
static __always_inline void skep_path_begin(struct skep_walk *w, struct path *path, struct path *root)
{
	struct dentry *dentry = BPF_CORE_READ(path, dentry);

	skep_path_from(w, dentry, BPF_CORE_READ(path, mnt), BPF_CORE_READ(root, dentry), BPF_CORE_READ(root, mnt));
	skep_path_unhashed(w, BPF_CORE_READ(dentry, d_hash.pprev), BPF_CORE_READ(dentry, d_parent));
}

static __always_inline void skep_path_walk(struct skep_walk *w, char *data, __u32 room)
{
	for (int i = 0; i < SKEP_PATH_DEPTH; i++)
		if (skep_path_step(w, data, room))
			break;
}

/* Appends the components of path, up to root, at w->off. */
static __always_inline void skep_path_put(struct skep_walk *w, char *data, __u32 room, struct path *path,
					  struct path *root)
{
	skep_path_begin(w, path, root);
	skep_path_walk(w, data, room);
}

#endif
