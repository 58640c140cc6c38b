/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/files.bpf.h - finds the file of a descriptor and sends the file's path to user space (skep/files.h).
 * Include this header after kernel.bpf.h and path.bpf.h.
 *
 * The functions read by helper calls, not by plain loads: they get the task and the file as bare addresses (before
 * 5.11 no helper returns a typed current task).
 */
#ifndef SKEP_BPF_FILES_BPF_H
#define SKEP_BPF_FILES_BPF_H

#include <skep/files.h>

#define SKEP_FMODE_WRITE 0x2u        /* include/linux/fs.h */
#define SKEP_FMODE_PATH 0x4000u      /* O_PATH: a name, nothing can be read */
#define SKEP_FMODE_CREATED 0x100000u /* since 4.19 */
#define SKEP_S_IFMT 0170000u
#define SKEP_S_IFREG 0100000u
#define SKEP_AT_FDCWD -100

/* One for each CPU. A program that uses it never nests within itself, so an element has one user at a time. */
#define SKEP_FILE_ROOM 8192u
struct skep_file_scratch {
	struct skep_walk walk;
	struct skep_file_key key;
	__u64 matched;               /* for scope.bpf.h */
	__u64 ids;                   /* number of row ids that this CPU gave out */
	__u64 path;                  /* address of the row's struct path; 0: none */
	__u64 given;                 /* address of the text after the path; 0: none */
	__u32 given_user, reserved;  /* given_user: `given` is an address of the process's memory */
	/* the folder that a name is relative to: dentry, mount, inode and its generation; 0: the root */
	__u64 place[4];
	struct skep_file_path head;  /* the record for user space; `data` must follow it directly */
	char data[SKEP_FILE_ROOM + SKEP_PATH_MAX];
};

static __always_inline void *skep_file_of_fd(struct task_struct *p, __u32 fd)
{
	struct task_struct___files *t = (void *)p;
	struct fdtable *table = BPF_CORE_READ(t, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	void *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), &files[fd]);
	return file;
}

/* 1: a regular file of a file system with data, on a disk or from a network; 0: a file of /proc, /sys and the like. */
static __always_inline int skep_file_is_data(struct inode___file *inode)
{
	if ((BPF_CORE_READ(inode, i_mode) & SKEP_S_IFMT) != SKEP_S_IFREG)
		return 0;
	switch ((__u32)BPF_CORE_READ(inode, i_sb, s_magic)) { /* include/uapi/linux/magic.h */
	case 0x9fa0:     /* proc */
	case 0x62656572: /* sysfs */
	case 0x27e0eb:   /* cgroup */
	case 0x63677270: /* cgroup2 */
	case 0x64626720: /* debugfs */
	case 0x74726163: /* tracefs */
	case 0x73636673: /* securityfs */
	case 0x62656570: /* configfs */
	case 0xf97cff8c: /* selinuxfs */
	case 0xcafe4a11: /* bpf */
	case 0xde5e81e4: /* efivarfs */
	case 0x6e736673: /* nsfs */
		return 0;
	default:
		return 1;
	}
}

static __always_inline void skep_file_key_of(struct skep_file_key *key, struct inode___file *inode)
{
	/* i_ino is an unsigned long before 7.2 and a __u64 since: the same size on 64-bit machines */
	key->ino = BPF_CORE_READ(inode, i_ino);
	key->generation = BPF_CORE_READ(inode, i_generation);
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
}

static __always_inline __u64 skep_file_rotate(__u64 x, int by)
{
	return x << by | x >> (64 - by);
}

/* The same round as skep_hash_round() of skep/hash.h. */
static __always_inline void skep_file_hash_word(__u64 v[4], __u64 word)
{
	v[3] ^= word;
	v[0] += v[1];
	v[2] += v[3];
	v[1] = skep_file_rotate(v[1], 13) ^ v[0];
	v[3] = skep_file_rotate(v[3], 16) ^ v[2];
	v[0] = skep_file_rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = skep_file_rotate(v[1], 17) ^ v[2];
	v[3] = skep_file_rotate(v[3], 21) ^ v[0];
	v[2] = skep_file_rotate(v[2], 32);
	v[0] ^= word;
}

/*
 * SipHash-1-3 of the `len` bytes at s->data and of s->place.  User space chooses the key at random before the load.
 * The hash identifies a row, and programs choose the names of files: without a secret key a program could choose two
 * names with one hash.
 */
static __noinline __attribute__((unused)) __u64 skep_file_name_hash(struct skep_file_scratch *s, __u32 len, __u64 k0,
								    __u64 k1)
{
	__u64 v[4] = { k0 ^ 0x736f6d6570736575ull, k1 ^ 0x646f72616e646f6dull, k0 ^ 0x6c7967656e657261ull,
		       k1 ^ 0x7465646279746573ull };

#pragma unroll
	for (int i = 0; i < 4; i++)
		skep_file_hash_word(v, s->place[i]);
	for (__u32 at = 0; at < SKEP_PATH_MAX; at += 8) {
		__u64 word;

		if (at >= len)
			break;
		word = *(__u64 *)(s->data + at);
		if (len - at < 8)
			/* little-endian, like every architecture that skep supports */
			word &= ~0ull >> 8 * (8 - (len - at));
		skep_file_hash_word(v, word);
	}
	skep_file_hash_word(v, len);
	v[2] ^= 0xff;
#pragma unroll
	for (int i = 0; i < 3; i++)
		skep_file_hash_word(v, 0);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/*
 * Fills s->head, and s->data with the components of s->path and then the text at s->given.  Returns the number of
 * bytes in s->data.
 */
static __noinline __u32 skep_file_put(struct skep_file_scratch *s, struct task_struct *p)
{
	__u32 off = 0, flags = 0;
	long n = 0;

	s->walk.off = 0;
	s->walk.cut = 0;
	if (s->path) {
		struct fs_struct *fs = BPF_CORE_READ(p, fs);

		skep_path_put(&s->walk, s->data, SKEP_FILE_ROOM, (void *)s->path,
			      __builtin_preserve_access_index(&fs->root));
		off = s->walk.off;
		if (s->walk.cut)
			flags |= SKEP_FILE_CUT;
	}
	off &= SKEP_FILE_ROOM - 1;
	s->head.path_len = off;
	if (s->given) {
		n = s->given_user ? bpf_probe_read_user_str(s->data + off, SKEP_PATH_MAX, (void *)s->given) :
				    bpf_probe_read_kernel_str(s->data + off, SKEP_PATH_MAX, (void *)s->given);
		flags |= SKEP_FILE_GIVEN;
	}
	if (n < 0)
		n = 0;
	s->head.given_len = n;
	s->head.flags = flags;
	s->head.reserved = 0;
	off += n;
	return off;
}

/*
 * Sends the path of a row to user space.  The caller checks row->sent first, so that each path is sent once.  ring: a
 * map of type RINGBUF.  0, or the error of bpf_ringbuf_output(); the caller tries again at the row's next event.
 */
static __always_inline long skep_file_tell(void *ring, struct skep_file_scratch *s, struct skep_file_head *row,
					   struct task_struct *p, __u64 flags)
{
	__u32 len;
	long err;

	s->head.id = row->id;
	s->head.key = s->key;
	len = skep_file_put(s, p);
	/* keeps clang from removing the check below: the verifier needs the bound next to the use */
	asm volatile("" : "+r"(len));
	if (len > sizeof(s->data))
		len = sizeof(s->data);
	err = bpf_ringbuf_output(ring, &s->head, sizeof(s->head) + len, flags);
	if (!err)
		row->sent = 1;
	return err;
}

#endif
