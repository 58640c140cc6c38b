/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/code.h - a batch as bytes, and back.  A body describes itself: it has the field tables of
 * its streams, so it can be read when the plugin that made it has changed, or is gone.
 *
 * A body is one zstd frame with a checksum of its content.  In it, numbers are LEB128 (signed ones zigzag),
 * strings their length and bytes:
 *
 *	version, id, key, boot id, host's name, kernel (none of these three in version 1), realtime_offset_ns,
 *	number of records
 *	number of streams; each: name, help, role, flags, number of fields; each: name, unit, type, semantics
 *	each record: stream, pid and start_ns - time_ns of who it is about, time_ns less that of the record before,
 *	context (0: none, 1: five strings follow, k + 2: the k-th that the body had), its fields in order of the table
 *
 * Pure: no I/O, no loop, no thread of its own.  An object is for one thread at a time.
 */
#ifndef SKEP_SPOOL_CODE_H
#define SKEP_SPOOL_CODE_H

#include <skep/record.h>

#define SPOOL_RECORDS_MAX 65536u       /* of one body */
#define SPOOL_RAW_MAX (256u << 20)     /* bytes of one body, uncompressed */
#define SPOOL_KEY_MAX 256u             /* bytes of a key, NUL included */
#define SPOOL_ORIGIN_MAX 256u          /* the same of a boot id, a host's name, a kernel's release */

struct spool_code;

struct spool_head {
	uint64_t id;
	char key[SPOOL_KEY_MAX];
	/* "": of version 1, which had none */
	char boot_id[SPOOL_ORIGIN_MAX], host_name[SPOOL_ORIGIN_MAX], kernel[SPOOL_ORIGIN_MAX];
	int64_t realtime_offset_ns;
	uint32_t n;
};

struct spool_taker {
	/* Before all else. */
	int (*head)(void *arg, const struct spool_head *);
	/*
	 * One of its streams, as it was stored (borrowed until spool_decode returns).  *ret: the one to give records
	 * as; it has the same fields in the same order, wherever they lie.
	 */
	int (*stream)(void *arg, const struct skep_stream *stored, const struct skep_stream **ret);
	/*
	 * A record; all of it is borrowed until the callback returns. who.pid 0: about no process. context NULL: none.
	 */
	int (*record)(void *arg, const struct skep_stream *, const struct skep_upid *who, uint64_t time_ns,
		      const void *data, const struct skep_context *context);
};

struct spool_code *spool_code_new(void); /* NULL: no memory */
struct spool_code *spool_code_free(struct spool_code *);

/* Borrowed until the next call. 0, -ENOMEM, -E2BIG. ret_raw: bytes before compression; may be NULL. */
int spool_encode(struct spool_code *, const struct skep_batch *, const void **ret, size_t *ret_size, size_t *ret_raw);
/*
 * 0; -EBADMSG: not a body, or a damaged one, why says where; -ENOTSUP: of a later version; -ENOMEM; or what a callback
 * returned.  Records before the damage have been given by then: the checksum is looked at first, so that only a
 * body that was written wrongly comes so far.
 */
int spool_decode(struct spool_code *, const void *body, size_t size, const struct spool_taker *, void *arg, char *why,
		 size_t why_size);

/* The same fields (name, type) in the same order? */
bool spool_same_fields(const struct skep_stream *a, const struct skep_stream *b);

#endif
