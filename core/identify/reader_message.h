/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/reader_message.h - the messages between the loop, the keeper and the worker of
 * core/identify/reader.h.
 */
#ifndef SKEP_CORE_READER_MESSAGE_H
#define SKEP_CORE_READER_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <skep/plugin.h>

#define READER_BATCH 64u
#define READER_CMDLINE_MAX 32768u /* as much as a probe records */
#define READER_ENVIRON_MAX 65536u
/* In `what`: the batch has only this request, and the packed struct engine_file follows. */
#define READER_FILE (1u << 31)

/* Loop to worker: one message is a batch; only one batch is in progress. */
struct reader_request {
	uint64_t start_ns; /* start time of the target; 0: any process with the pid */
	uint32_t pid;
	uint32_t what; /* SKEP_READ_*, READER_PSS, or READER_FILE */
};
struct reader_batch {
	uint32_t serial, n;
	struct reader_request at[READER_BATCH];
};

/* Worker or keeper to loop. */
enum reader_kind {
	READER_TEXT = 1, /* worker: the answer to request `at` of batch `serial`; the bytes follow */
	/*
	 * keeper: a new worker runs and will answer no older batch; at: 1 when an order killed the previous
	 * worker
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
	READER_CHECK = 1, /* kill the worker if it sleeps; spare a worker that only waits for a CPU */
	READER_KILL,
	READER_TAKE_OVER, /* to the spare: become the keeper */
};

/* The child's side, in core/identify/reader_process.c; does not return. */
enum reader_role { READER_OF_PROCESSES, READER_SPARE, READER_OF_FILES, READER_UNIT };
__attribute__((noreturn)) void reader_keep(const char *name, int data, int control, enum reader_role);

#endif
