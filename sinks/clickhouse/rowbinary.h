/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/rowbinary.h - writes values as ClickHouse's RowBinary, and computes the hash for a row's identity.
 */
#ifndef SKEP_SINKS_CLICKHOUSE_ROWBINARY_H
#define SKEP_SINKS_CLICKHOUSE_ROWBINARY_H

#include <skep/sink/jsonw.h>

#include "sinks/clickhouse/columns.h"

/* out: a growing buffer, which keeps an error in its err. */
void rowbinary_number(struct jsonw *out, enum column_type, uint64_t);
void rowbinary_text(struct jsonw *out, const char *s, size_t n);
void rowbinary_list(struct jsonw *out, struct skep_str);

/* FNV-1a with 128 bits. A number counts as its eight bytes, lowest first, on every machine. */
#define ROWBINARY_HASH_BEGIN (((unsigned __int128)0x6c62272e07bb0142u << 64) | 0x62b821756295c58du)
unsigned __int128 rowbinary_hash(unsigned __int128, const void *data, size_t n);
unsigned __int128 rowbinary_hash_number(unsigned __int128, uint64_t);

#endif
