/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/human.c - formats numbers for people.  The functions round a value before they choose its unit, so that
 * 59.996 s is "1m00s" and 1023.9 KiB is "1.00 MiB".
 */
#include "cli/base/human.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)

/* Formats a value < 999.5 with three significant digits, in at most four characters. */
static int digits(double value, char buf[HUMAN_SIZE])
{
	return snprintf(buf, HUMAN_SIZE, "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
}

static const char *with_unit(double value, const char *unit, unsigned flags, char buf[HUMAN_SIZE])
{
	int n = digits(value, buf);

	snprintf(buf + n, HUMAN_SIZE - (size_t)n, "%s%s", flags & HUMAN_SHORT ? "" : " ", unit);
	return buf;
}

static uint64_t rounded(uint64_t ns, uint64_t unit)
{
	return ns / unit + (ns % unit >= unit / 2);
}

const char *human_time(uint64_t ns, unsigned flags, char buf[HUMAN_SIZE])
{
	uint64_t s = rounded(ns, SECOND), min = rounded(ns, 60 * SECOND), h = rounded(ns, 3600 * SECOND);
	double v = (double)ns;

	if (ns == 0)
		snprintf(buf, HUMAN_SIZE, "0");
	else if (ns < 1000)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 "%sns", ns, flags & HUMAN_SHORT ? "" : " ");
	else if (v < 999.5e3)
		with_unit(v / 1e3, flags & HUMAN_ASCII ? "us" : "µs", flags, buf);
	else if (v < 999.5e6)
		with_unit(v / 1e6, "ms", flags, buf);
	else if (v < 59.95e9)
		with_unit(v / 1e9, "s", flags, buf);
	else if (s < 3600)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
	else if (min < 24 * 60)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 "h%02" PRIu64 "m", min / 60, min % 60);
	else
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 "d%02" PRIu64 "h", h / 24, h % 24);
	return buf;
}

const char *human_bytes(uint64_t bytes, unsigned flags, char buf[HUMAN_SIZE])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	static const char *const letters[] = { "K", "M", "G", "T", "P", "E" };
	double v = (double)bytes / 1024;
	size_t i = 0;

	if (bytes == 0) {
		snprintf(buf, HUMAN_SIZE, "0");
		return buf;
	}
	if (bytes < 1000) {
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 "%s", bytes, flags & HUMAN_SHORT ? "B" : " B");
		return buf;
	}
	while (v >= 999.5 && i + 1 < sizeof(units) / sizeof(*units)) {
		v /= 1024;
		i++;
	}
	return with_unit(v, flags & HUMAN_SHORT ? letters[i] : units[i], flags, buf);
}

const char *human_count(uint64_t n, char buf[HUMAN_SIZE])
{
	char plain[24];
	size_t len, at = 0;

	len = (size_t)snprintf(plain, sizeof(plain), "%" PRIu64, n);
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = plain[i];
	}
	buf[at] = '\0';
	return buf;
}

const char *human_cores(double cores, char buf[HUMAN_SIZE])
{
	if (!isfinite(cores) || cores <= 0)
		snprintf(buf, HUMAN_SIZE, "0");
	else if (cores < 0.005)
		snprintf(buf, HUMAN_SIZE, "<.01");
	else if (cores < 999.5)
		digits(cores, buf);
	else
		human_count((uint64_t)llround(fmin(cores, 1e15)), buf);
	return buf;
}

const char *human_percent(double ratio, char buf[HUMAN_SIZE])
{
	double v = ratio * 100;

	if (!isfinite(v) || v <= 0)
		snprintf(buf, HUMAN_SIZE, "0 %%");
	else if (v < 0.005)
		snprintf(buf, HUMAN_SIZE, "<0.01 %%");
	else if (v < 9.95)
		snprintf(buf, HUMAN_SIZE, "%.*f %%", v < 0.995 ? 2 : 1, v);
	else
		snprintf(buf, HUMAN_SIZE, "%.0f %%", fmin(v, 1e15));
	return buf;
}

const char *human_date(uint64_t realtime_ns, unsigned flags, char buf[HUMAN_SIZE])
{
	time_t t = (time_t)(realtime_ns / 1000000000);
	char zone[16] = "";
	struct tm tm;

	if (realtime_ns == 0 || !localtime_r(&t, &tm)) {
		snprintf(buf, HUMAN_SIZE, "-");
		return buf;
	}
	if (flags & HUMAN_ZONE && strftime(zone, sizeof(zone), "%Z", &tm) == 0)
		zone[0] = '\0';
	buf[0] = '\0';
	if (flags & HUMAN_DATE)
		snprintf(buf, HUMAN_SIZE, "%04d-%02d-%02d%s", (tm.tm_year + 1900) % 10000, tm.tm_mon + 1, tm.tm_mday,
			 flags & HUMAN_CLOCK ? " " : "");
	if (flags & HUMAN_CLOCK) {
		size_t at = strlen(buf);

		snprintf(buf + at, HUMAN_SIZE - at, "%02d:%02d:%02d%s%s", tm.tm_hour, tm.tm_min, tm.tm_sec,
			 *zone ? " " : "", zone);
	}
	return buf;
}
