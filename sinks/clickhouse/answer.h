/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/answer.h - maps ClickHouse's error codes to the answer for a batch.
 */
#ifndef SKEP_SINKS_CLICKHOUSE_ANSWER_H
#define SKEP_SINKS_CLICKHOUSE_ANSWER_H

#include <skep/plugin.h>

/* The header in which ClickHouse gives the code of an exception, also when its status is 200. */
#define ANSWER_CODE_HEADER "X-ClickHouse-Exception-Code"
/*
 * Returns the code in the header's value, else in the text: "Code: 60. DB::Exception: ..." or "Code: 60,
 * e.displayText() = ...", wherever it begins.  0: no code.
 */
unsigned answer_code(const char *header, const char *body);
/*
 * True for a success: 200, no code and no text.  The server sends the status before it has read all rows when the
 * user's profile sets send_progress_in_http_headers, or when the rows stop arriving; a later exception then stands in
 * the header or in the text of a 200 (ClickHouse issues 33205, 45381 and 65117).
 */
bool answer_is_success(unsigned status, unsigned code, const char *body);
/*
 * Refines the classification of the HTTP status by the error code.  An ACK without a code stands for a 2xx that is no
 * success.  *ret_remedy: advice for the operator, or NULL.
 */
enum skep_batch_result answer_classify(enum skep_batch_result by_status, unsigned code, const char **ret_remedy);
/* Returns the answer that counts when a batch needed several requests. */
enum skep_batch_result answer_worse(enum skep_batch_result a, enum skep_batch_result b);

#define ANSWER_UNKNOWN_SETTING 115u

/* Settings that an INSERT can do without. */
enum setting {
	SETTING_TOKEN = 0, /* insert_deduplication_token: since 22.2 */
	SETTING_VIEWS,     /* deduplicate_blocks_in_dependent_materialized_views */
	SETTING_ASYNC,     /* async_insert_deduplicate: newer than async_insert */
	SETTING_WAIT,      /* wait_for_async_insert: as old as async_insert, 21.11 */
	SETTINGS
};
extern const char *const setting_names[SETTINGS];
/* Returns the setting that the text of an ANSWER_UNKNOWN_SETTING names. SETTINGS: another setting. */
enum setting answer_setting(const char *body);

#endif
