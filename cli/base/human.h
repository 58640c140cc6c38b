/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/human.h - numbers for people: three significant digits and the unit, at most eight columns for the values of
 * a report.
 */
#ifndef SKEP_CLI_HUMAN_H
#define SKEP_CLI_HUMAN_H

#include <stdint.h>

/* Enough for every text below: the longest is 2^64 with separators, 26 characters. */
#define HUMAN_SIZE 40

enum {
	HUMAN_SHORT = 1, /* "1.50G" "1.23s" for narrow tables */
	HUMAN_ASCII = 2, /* "us" for the micro sign */
};

/* Each fills buf and returns it. */
const char *human_time(uint64_t ns, unsigned flags, char buf[HUMAN_SIZE]); /* "812 ms" "12.3 s" "12m03s" "3d04h" */
const char *human_bytes(uint64_t bytes, unsigned flags,
			char buf[HUMAN_SIZE]);                 /* "0" "812 B" "1.50 GiB", powers of 1024 */
const char *human_count(uint64_t n, char buf[HUMAN_SIZE]);     /* "1,234,567" */
const char *human_cores(double cores, char buf[HUMAN_SIZE]);   /* "0.02" "3.98" "127" */
const char *human_percent(double ratio, char buf[HUMAN_SIZE]); /* "0 %" "<0.01 %" "1.23 %" "64 %" */
/* Local time; flags: its parts, HUMAN_DATE ... ns 0 gives "-". */
enum { HUMAN_DATE = 1, HUMAN_CLOCK = 2, HUMAN_ZONE = 4 };
const char *human_date(uint64_t realtime_ns, unsigned flags, char buf[HUMAN_SIZE]);

#endif
