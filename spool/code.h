/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/code.h - encodes a batch to bytes, a body, and decodes it.  A body contains the field tables of its streams, so
 * skepd can read it after the plugin has changed or was removed.
 *
 * A body is one zstd frame with a checksum of its content.  In it, numbers are LEB128 (signed ones zigzag),
 * strings their length and bytes:
 *
 *	version, id, key, boot id, host name, kernel, realtime_offset_ns, number of records
 *	number of streams; each: name, help, role, flags, number of fields; each: name, unit, type, semantics
 *	each record: stream, time_ns minus the previous record's time_ns, pid of its process and (unless 0)
 *	time_ns - start_ns of the process, context, its fields in the order of the table
 *	a context: 0: none; k + 2: the k-th context of the body; 1: payer + 1, five strings, its realtime_offset_ns
 *	minus the body's, plus 1 (0: none)
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
	char boot_id[SPOOL_ORIGIN_MAX], host_name[SPOOL_ORIGIN_MAX], kernel[SPOOL_ORIGIN_MAX];
	int64_t realtime_offset_ns;
	uint32_t n;
};

struct spool_taker {
	/* The first callback. */
	int (*head)(void *arg, const struct spool_head *);
	/*
	 * A stream of the body, as it was stored (borrowed until spool_decode returns).  *ret: spool_decode passes the
	 * records in the layout of this stream; it has the same fields in the same order, at any offsets.
	 */
	int (*stream)(void *arg, const struct skep_stream *stored, const struct skep_stream **ret);
	/*
	 * A record, borrowed until the callback returns. who->pid 0: about no process. context NULL: none.
	 */
	int (*record)(void *arg, const struct skep_stream *, const struct skep_upid *who, uint64_t time_ns,
		      const void *data, const struct skep_context *context);
};

struct spool_code *spool_code_new(void); /* NULL: no memory */
struct spool_code *spool_code_free(struct spool_code *);

/*
 * Encodes a batch; *ret is borrowed until the next call. 0, -ENOMEM, -E2BIG, or -EINVAL: a field of an unknown type.
 * ret_raw: bytes before compression; may be NULL.
 */
int spool_encode(struct spool_code *, const struct skep_batch *, const void **ret, size_t *ret_size, size_t *ret_raw);
/*
 * Decodes a body.  0; -EBADMSG: not a body, or a damaged body, why has the position; -ENOTSUP: written by another
 * version; -ENOMEM; or the result of a callback.  The checksum is verified first, so only a body that was encoded
 * wrongly fails in the middle.  The callbacks have then got the records before the error.
 */
int spool_decode(struct spool_code *, const void *body, size_t size, const struct spool_taker *, void *arg, char *why,
		 size_t why_size);

/* One zstd frame of any bytes, with a checksum; *ret is borrowed until the next call. 0, -ENOMEM. */
int spool_pack(struct spool_code *, const void *data, size_t size, const void **ret, size_t *ret_size);
/* *ret is borrowed until the next call. 0; -EBADMSG: why has the reason; -ENOMEM. */
int spool_unpack(struct spool_code *, const void *body, size_t size, const void **ret, size_t *ret_size, char *why,
		 size_t why_size);

/* Have both streams the same fields (name, type) in the same order? */
bool spool_same_fields(const struct skep_stream *a, const struct skep_stream *b);

#endif
