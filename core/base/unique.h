/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/unique.h - draws numbers that no other host, boot or clone of a virtual machine draws.
 */
#ifndef SKEP_CORE_UNIQUE_H
#define SKEP_CORE_UNIQUE_H

#include <stdint.h>

uint64_t unique_u64(void); /* any thread; ends the program if the kernel refuses random numbers */

#endif
