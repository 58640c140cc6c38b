/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/skep_dev.c - skep-dev: main. Its commands are in cli/dev/dev.c.
 */
#include "cli/base/command.h"

int main(int argc, char **argv)
{
	return command_main(&skep_dev_program, argc, argv);
}
