/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/assets.c - see cli/web/assets.h.
 */
#include "cli/web/assets.h"

#include <string.h>

#include "web/bundle.h"

const struct web_asset web_report = { .data = web_report_html, .len = sizeof(web_report_html) - 1 };
const struct web_asset web_style = { "/app.css", "text/css; charset=utf-8", web_app_css, sizeof(web_app_css) - 1 };
const struct web_asset web_script = { "/app.js", "text/javascript; charset=utf-8", web_app_js, sizeof(web_app_js) - 1 };
static const struct web_asset web_index = { "/", "text/html; charset=utf-8", web_index_html, sizeof(web_index_html) - 1 };

bool web_built(const char *command)
{
	(void)command;
	return true;
}

const struct web_asset *web_asset(const char *path)
{
	const struct web_asset *const all[] = { &web_index, &web_style, &web_script };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(path, all[i]->path) == 0)
			return all[i];
	return NULL;
}
