/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/files.bpf.h - which file, of which process; and its path to user space (skep/files.h).
 * Include it after kernel.bpf.h and path.bpf.h.
 *
 * Reads by helper and not by plain loads: the task, and what a descriptor stands for, come as
 * bare addresses (there is no typed current task before 5.11).
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

/* One a CPU; a program that uses it never nests within itself, so an element has one user at a time. */
#define SKEP_FILE_ROOM 8192u
struct skep_file_scratch {
	struct skep_walk walk;
	struct skep_file_key key;
	__u64 matched;               /* for scope.bpf.h */
	__u64 ids;                   /* given out by this CPU */
	__u64 path;                  /* of the row: struct path, 0: none */
	__u64 given;                 /* text that follows it, 0: none */
	__u32 given_user, reserved;  /* it lies in the program's memory */
	/* what a name is relative to: dentry, mount, inode and its generation; 0: the root */
	__u64 place[4];
	struct skep_file_path head;  /* and right behind it what is sent */
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

/* Regular files of real file systems: what is kept, and what a network serves; not /proc, /sys and their like. */
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
	/* unsigned long, a __u64 from 7.2 on: the same on machines of 64 bits */
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
 * SipHash-1-3 of the `len` bytes at s->data and of s->place, by a key that user space chooses at random before the
 * load. The hash is a row's identity, and programs choose their names: without a secret they can choose two of one
 * hash.
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
			/* little-endian, as all machines that skep knows system calls of */
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
 * Fills s->head and s->data: the path of s->path, then the text s->given.  Returns how many bytes
 * of them are to be sent.
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
 * Sends the path of a row, when its turn is: once it has been sent no more.  ring: a map of
 * type RINGBUF.  0, or what the ring said: then it is tried again when the row is next counted.
 */
static __always_inline long skep_file_tell(void *ring, struct skep_file_scratch *s, struct skep_file_head *row,
					   struct task_struct *p, __u64 flags)
{
	__u32 len;
	long err;

	s->head.id = row->id;
	s->head.key = s->key;
	len = skep_file_put(s, p);
	/* the verifier wants the bound where it is used */
	asm volatile("" : "+r"(len));
	if (len > sizeof(s->data))
		len = sizeof(s->data);
	err = bpf_ringbuf_output(ring, &s->head, sizeof(s->head) + len, flags);
	if (!err)
		row->told = 1;
	return err;
}

#endif
