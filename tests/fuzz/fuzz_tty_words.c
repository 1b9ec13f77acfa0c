/* SPDX-License-Identifier: Apache-2.0 */
/* What a terminal's client says: one of a few words, sizes within their bounds, whatever comes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/page/tty_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

static bool is_fine(const struct cay_tty_size *s)
{
        return s->rows >= 1 && s->cols >= 1 && s->rows <= CAY_TTY_SIDE_MAX && s->cols <= CAY_TTY_SIDE_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct cay_tty_size later = { 0 };
        struct cay_tty_first first;

        if (cay_tty_read_first(data, size, &first))
                HOLDS(is_fine(&first.size) && size >= 2 && memchr(first.token, '\0', sizeof(first.token)));
        if (cay_tty_read(data, size, &later) == CAY_TTY_SIZE)
                HOLDS(is_fine(&later));
        else
                HOLDS(later.rows == 0 && later.cols == 0);
        return 0;
}
