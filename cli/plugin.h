/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/plugin.h - the subcommands of `skep plugin`.
 */
#ifndef SKEP_CLI_PLUGIN_H
#define SKEP_CLI_PLUGIN_H

/* argv[0] is the subcommand's name. The process's exit status. */
int plugin_check(int argc, char **argv);
int plugin_new(int argc, char **argv);

#endif
