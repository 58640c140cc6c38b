/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which answers are about single samples: 400 of Prometheus and Mimir, by their words; Prometheus 2.42 answers 500 to what is older
 * than its out_of_order_time_window; Thanos answers 409, as its documentation has it (it has not been asked).
 */
#include "sinks/prometheus/halves.h"

#include <string.h>

bool halves_help(uint32_t status, const char *body)
{
	static const char *const words[] = { "out of order", "out-of-order", "out of bounds", "duplicate sample", "too old sample",
					     "err-mimir-", NULL };

	if (status == 409)
		return true;
	for (const char *const *w = words; *w && (status == 400 || status == 500); w++)
		if (strcasestr(body, *w))
			return true;
	return false;
}
