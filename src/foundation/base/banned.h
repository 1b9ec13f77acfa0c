/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that invite overflow or lose errors: using one is a compile error. Included by every base header.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With fortification some are macros of the C library (clang); a macro cannot be banned. */
#undef strcpy
#undef strcat
#undef sprintf
#undef vsprintf
#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok atoi atol atoll
