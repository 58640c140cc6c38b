/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/skep.c - skep: main. Its commands are in cli/commands.c.
 */
#include "cli/base/command.h"

int main(int argc, char **argv)
{
	return command_main(&skep_program, argc, argv);
}
