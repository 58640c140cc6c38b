/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises answers about single samples: 400 of Prometheus and Mimir by their text.  Prometheus 2.42 answers 500 to
 * samples older than its out_of_order_time_window.  Thanos answers 409 according to its documentation (not tried).
 */
#include "sinks/prometheus/bisect.h"

#include <string.h>
#include <strings.h>

bool bisect_applies(uint32_t status, const char *body)
{
	static const char *const words[] = { "out of order",
					     "out-of-order",
					     "out of bounds",
					     "duplicate sample",
					     "too old sample",
					     "err-mimir-",
					     NULL };

	if (status == 409)
		return true;
	/*
	 * A 500 with another text may pass by itself, so only the text's beginning counts: a quoted user's text must
	 * not make the answer final.  A 400 is final with any text.
	 */
	for (const char *const *w = words; *w; w++)
		if (status == 400 ? strcasestr(body, *w) != NULL
				  : status == 500 && strncasecmp(body, *w, strlen(*w)) == 0)
			return true;
	return false;
}
