/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies ClickHouse's answers by the error code in their text.  The HTTP status says little: 18.16 answers 500 to
 * nearly everything, later versions 400, 404 or 500.  The codes are from src/Common/ErrorCodes.cpp of ClickHouse, which
 * has never changed one.
 */
#include "sinks/clickhouse/answer.h"

#include <stdlib.h>
#include <string.h>

static const char no_table[] = "run `skep lake init --clickhouse URL`, or mend the option database";
static const char no_right[] = "mend username and password_file, or what that user may do: INSERT into this database";

static const struct {
	unsigned code;
	enum skep_batch_result result;
	const char *remedy;
} codes[] = {
	/* an operator must act */
	{ 16, SKEP_BATCH_HOLD, no_table },  /* NO_SUCH_COLUMN_IN_TABLE */
	{ 47, SKEP_BATCH_HOLD, no_table },  /* UNKNOWN_IDENTIFIER */
	{ 60, SKEP_BATCH_HOLD, no_table },  /* UNKNOWN_TABLE */
	{ 81, SKEP_BATCH_HOLD, no_table },  /* UNKNOWN_DATABASE */
	/* UNKNOWN_COMPRESSION_METHOD */
	{ 89, SKEP_BATCH_HOLD, "set compression to gzip, which every version understands" },
	{ 115, SKEP_BATCH_HOLD, "this server knows no such setting: leave out async_insert" }, /* UNKNOWN_SETTING */
	{ 164, SKEP_BATCH_HOLD, no_right }, /* READONLY */
	{ 192, SKEP_BATCH_HOLD, no_right }, /* UNKNOWN_USER */
	{ 193, SKEP_BATCH_HOLD, no_right }, /* WRONG_PASSWORD */
	{ 194, SKEP_BATCH_HOLD, no_right }, /* REQUIRED_PASSWORD */
	{ 195, SKEP_BATCH_HOLD, no_right }, /* IP_ADDRESS_NOT_ALLOWED */
	{ 291, SKEP_BATCH_HOLD, no_right }, /* DATABASE_ACCESS_DENIED */
	{ 497, SKEP_BATCH_HOLD, no_right }, /* ACCESS_DENIED */
	{ 516, SKEP_BATCH_HOLD, no_right }, /* AUTHENTICATION_FAILED */
	{ 517, SKEP_BATCH_RETRY, NULL },    /* CANNOT_ASSIGN_ALTER */
	/* a later attempt may succeed by itself */
	{ 74, SKEP_BATCH_RETRY, NULL },  /* CANNOT_READ_FROM_FILE_DESCRIPTOR */
	{ 75, SKEP_BATCH_RETRY, NULL },  /* CANNOT_WRITE_TO_FILE_DESCRIPTOR */
	{ 159, SKEP_BATCH_RETRY, NULL }, /* TIMEOUT_EXCEEDED */
	{ 160, SKEP_BATCH_RETRY, NULL }, /* TOO_SLOW */
	{ 173, SKEP_BATCH_RETRY, NULL }, /* CANNOT_ALLOCATE_MEMORY */
	{ 202, SKEP_BATCH_RETRY, NULL }, /* TOO_MANY_SIMULTANEOUS_QUERIES */
	{ 203, SKEP_BATCH_RETRY, NULL }, /* NO_FREE_CONNECTION */
	{ 209, SKEP_BATCH_RETRY, NULL }, /* SOCKET_TIMEOUT */
	{ 210, SKEP_BATCH_RETRY, NULL }, /* NETWORK_ERROR */
	{ 225, SKEP_BATCH_RETRY, NULL }, /* NO_ZOOKEEPER */
	{ 236, SKEP_BATCH_RETRY, NULL }, /* ABORTED */
	{ 241, SKEP_BATCH_RETRY, NULL }, /* MEMORY_LIMIT_EXCEEDED */
	{ 242, SKEP_BATCH_RETRY, NULL }, /* TABLE_IS_READ_ONLY */
	{ 243, SKEP_BATCH_RETRY, NULL }, /* NOT_ENOUGH_SPACE */
	{ 252, SKEP_BATCH_RETRY, NULL }, /* TOO_MANY_PARTS */
	{ 279, SKEP_BATCH_RETRY, NULL }, /* ALL_CONNECTION_TRIES_FAILED */
	{ 285, SKEP_BATCH_RETRY, NULL }, /* TOO_FEW_LIVE_REPLICAS */
	{ 286, SKEP_BATCH_RETRY, NULL }, /* UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE */
	{ 319, SKEP_BATCH_RETRY, NULL }, /* UNKNOWN_STATUS_OF_INSERT */
	{ 394, SKEP_BATCH_RETRY, NULL }, /* QUERY_WAS_CANCELLED */
	{ 473, SKEP_BATCH_RETRY, NULL }, /* DEADLOCK_AVOIDED */
	{ 999, SKEP_BATCH_RETRY, NULL }, /* KEEPER_EXCEPTION */
};

const char *const setting_names[SETTINGS] = {
	[SETTING_TOKEN] = "insert_deduplication_token",
	[SETTING_VIEWS] = "deduplicate_blocks_in_dependent_materialized_views",
	[SETTING_ASYNC] = "async_insert_deduplicate",
	[SETTING_WAIT] = "wait_for_async_insert",
};

/* Returns the first known setting in the answer: later servers append names that the sender may have meant. */
enum setting answer_setting(const char *body)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_", async[] = "async_insert";
	size_t n;

	for (; *body; body += n + !n) {
		n = strspn(body, letters);
		for (int s = 0; n && s < SETTINGS; s++)
			if (strlen(setting_names[s]) == n && memcmp(body, setting_names[s], n) == 0)
				return (enum setting)s;
		if (n == strlen(async) && memcmp(body, async, n) == 0)
			break;
	}
	return SETTINGS;
}

unsigned answer_code(const char *header, const char *body)
{
	static const char *const then[] = { ". DB::", ", e.", ", type: " };
	unsigned code = (unsigned)strtoul(header, NULL, 10);
	char *end;

	while (!code && (body = strstr(body, "Code: ")) != NULL) {
		unsigned n;

		body += strlen("Code: ");
		n = (unsigned)strtoul(body, &end, 10);
		for (size_t i = 0; i < sizeof(then) / sizeof(then[0]); i++)
			if (strncmp(end, then[i], strlen(then[i])) == 0)
				code = n;
	}
	return code;
}

bool answer_is_success(unsigned status, unsigned code, const char *body)
{
	return status == 200 && !code && !body[strspn(body, " \t\r\n")];
}

enum skep_batch_result answer_classify(enum skep_batch_result by_status, unsigned code, const char **ret_remedy)
{
	*ret_remedy = NULL;
	if (!code && by_status == SKEP_BATCH_ACK) {
		*ret_remedy = "ClickHouse answers an INSERT with 200 and no text: is url ClickHouse's HTTP interface?";
		return SKEP_BATCH_HOLD;
	}
	if (!code)
		return by_status;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (codes[i].code == code) {
			*ret_remedy = codes[i].remedy;
			return codes[i].result;
		}
	}
	/*
	 * Other codes mean that the server cannot read the rows: its table has other column types than the sink's, or
	 * the code is not in this table.  The plugin host finds the batch at fault, and gives up no batch while all
	 * batches fail.
	 */
	return SKEP_BATCH_SUSPECT;
}

/* Ranks answers: one that leaves the whole batch open wins over a final answer for a part. */
static int weight(enum skep_batch_result r)
{
	static const int weights[] = {
		[SKEP_BATCH_ACK] = 0,	  [SKEP_BATCH_REJECT] = 1, [SKEP_BATCH_SUSPECT] = 2,
		[SKEP_BATCH_SPLIT] = 3, [SKEP_BATCH_RETRY] = 4,  [SKEP_BATCH_HOLD] = 5,
	};

	return weights[r];
}

enum skep_batch_result answer_worse(enum skep_batch_result a, enum skep_batch_result b)
{
	return weight(b) > weight(a) ? b : a;
}
