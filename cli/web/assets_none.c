/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/assets_none.c - a build without the pages.
 */
#include "cli/base/skep.h"
#include "cli/web/assets.h"

const struct web_asset web_report, web_style, web_script;

bool web_built(const char *command)
{
	skep_say(command, "this skep was built without its pages: configure found no node and npm, or had --disable-web; install "
			  "a package of skep, or build it from a release's tarball, which has the pages");
	return false;
}

const struct web_asset *web_asset(const char *path)
{
	(void)path;
	return NULL;
}
