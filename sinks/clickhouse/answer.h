/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/answer.h - what ClickHouse's error codes mean for a batch.
 */
#ifndef SKEP_SINKS_CLICKHOUSE_ANSWER_H
#define SKEP_SINKS_CLICKHOUSE_ANSWER_H

#include <skep/plugin.h>

/* The code in "Code: 60. DB::Exception: ..." (or "Code: 60, e.displayText() = ..."); 0: none. */
unsigned answer_code(const char *body);
/* Changes what the status alone has been taken for. remedy: for people, NULL: none. */
enum skep_batch_result answer_classify(enum skep_batch_result by_status, unsigned code, const char **ret_remedy);
/* Of several requests for one batch: the answer that counts. */
enum skep_batch_result answer_worse(enum skep_batch_result a, enum skep_batch_result b);

#define ANSWER_UNKNOWN_SETTING 115u

#endif
