/* SPDX-License-Identifier: Apache-2.0 */
/* What a harness promises: where it is not so, the input is a finding. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define must(x)                                                                                              \
        do {                                                                                                 \
                if (!(x)) {                                                                                  \
                        fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x);                      \
                        abort();                                                                             \
                }                                                                                            \
        } while (0)
