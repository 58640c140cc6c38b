/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/reader_message.h - what the loop, the keeper and the worker of core/identify/reader.h send each other.
 */
#ifndef SKEP_CORE_READER_MESSAGE_H
#define SKEP_CORE_READER_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <skep/plugin.h>

#define READER_BATCH 64u
#define READER_CMDLINE_MAX 32768u /* as much as a probe records */
#define READER_ENVIRON_MAX 65536u

/* Loop to worker: one message is a batch; only one batch is under way. */
struct reader_request {
	uint64_t start_ns; /* of the process that is meant; 0: whoever has the pid */
	uint32_t pid;
	uint32_t what; /* SKEP_READ_* */
};
struct reader_batch {
	uint32_t serial, n;
	struct reader_request at[READER_BATCH];
};

/* Worker, and keeper, to loop. */
enum reader_kind {
	READER_TEXT = 1, /* worker: of the request `at` of batch `serial`; the bytes follow */
	/*
	 * keeper: there is a new worker, and no older batch will be answered; at: 1 when an order killed the last
	 * one
	 */
	READER_READY,
};
struct reader_answer {
	uint32_t kind, serial, at;
	int32_t error;
	uint32_t cmdline_len, environ_len;
};
#define READER_ANSWER_MAX (sizeof(struct reader_answer) + READER_CMDLINE_MAX + READER_ENVIRON_MAX)

/* Loop to keeper. */
enum reader_order {
	READER_CHECK = 1, /* kill the worker if it waits for something; not when it only waits for a CPU */
	READER_KILL,
	READER_TAKE_OVER, /* the spare: be the keeper */
};

/* The child's side, core/identify/reader_process.c; does not return. */
__attribute__((noreturn)) void reader_keep(const char *name, int data, int control, bool spare);

#endif
