/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/plugin.c - `skep plugin`: for those who write plugins.
 */
#include "cli/plugin.h"

#include <string.h>

#include "cli/skep.h"
#include "filters/suggest.h"

const char cmd_plugin_help[] =
	"skep plugin new KIND NAME [DIR]    a project to begin with, in DIR (default: ./NAME), from the\n"
	"                                   template KIND: probe-proc, probe-bpf, sink, recognizer\n"
	"skep plugin check FILE.so          is that plugin as the host expects it? Its file, its ABI, its exports,\n"
	"                                   its tables; and its life (open, start, sample, stop, close) under the\n"
	"                                   mock host of skep/mock.h, in a process of its own\n"
	"\n"
	"  --option NAME=VALUE   check: an option of the plugin, as in a configuration; a list as NAME=A,B.\n"
	"                        May be given often\n"
	"  --samples N           check: sample so often (default 3)\n"
	"  --submit              check: give a sink a batch of two records, which it sends to its receiver\n"
	"  --no-start            check: only open and close, nothing outside the process is touched\n"
	"  --json                check: for programs: one object\n"
	"  --templates PATH      new: where templates are (default: where skep was installed)\n"
	"\n"
	"No daemon is asked. What a running skepd does with its plugins: skep plugins.\n"
	"\n"
	"Exit codes: 0 sound, or warnings only; 1 defects; 2 usage; 4 sound so far, but it could not start\n"
	"without privilege; 5 built for another plugin ABI, or not a plugin.\n";

int cmd_plugin(int argc, char **argv)
{
	static const char *const names[] = { "check", "new", NULL };
	const char *nearest;

	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return skep_help("plugin");
	if (argc < 2)
		return skep_usage("plugin", "what? check FILE.so, or new KIND NAME");
	if (strcmp(argv[1], "check") == 0)
		return plugin_check(argc - 1, argv + 1);
	if (strcmp(argv[1], "new") == 0)
		return plugin_new(argc - 1, argv + 1);
	nearest = suggest_nearest(argv[1], names);
	return skep_usage("plugin", "unknown command '%s'%s%s%s; check and new are known", argv[1], nearest ? "; did you mean '" : "",
			  nearest ? nearest : "", nearest ? "'?" : "");
}
