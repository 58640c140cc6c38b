/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/answer.h - what ClickHouse's error codes mean for a batch.
 */
#ifndef SKEP_SINKS_CLICKHOUSE_ANSWER_H
#define SKEP_SINKS_CLICKHOUSE_ANSWER_H

#include <skep/plugin.h>

/* The code in "Code: 60. DB::Exception: ..." (or "Code: 60, e.displayText() = ..."); 0: none. */
unsigned answer_code(const char *body);
/* Refines the verdict of the HTTP status. remedy: for the operator, NULL: none. */
enum skep_batch_result answer_classify(enum skep_batch_result by_status, unsigned code, const char **ret_remedy);
/* Of several requests for one batch: the answer that counts. */
enum skep_batch_result answer_worse(enum skep_batch_result a, enum skep_batch_result b);

#define ANSWER_UNKNOWN_SETTING 115u

/* Settings that an INSERT can do without. */
enum setting {
	SETTING_TOKEN = 0, /* insert_deduplication_token: from 22.2 on */
	SETTING_VIEWS,     /* deduplicate_blocks_in_dependent_materialized_views */
	SETTING_ASYNC,     /* async_insert_deduplicate: later than async_insert */
	SETTINGS
};
extern const char *const setting_names[SETTINGS];
/* Which one a server has not known, by the words that go with ANSWER_UNKNOWN_SETTING. SETTINGS: another one. */
enum setting answer_setting(const char *body);

#endif
