/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of ttyd's clients: a first message {"AuthToken", "columns", "rows"}, which starts everything, and
 * then messages whose first byte is their type.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAY_TTY_SIDE_MAX 1000u /* rows, columns; larger values are reduced to this */

enum cay_tty_word {
        CAY_TTY_NONSENSE, /* ignored, as ttyd does */
        CAY_TTY_INPUT,    /* the bytes after the first one */
        CAY_TTY_SIZE,
        CAY_TTY_PAUSE,
        CAY_TTY_RESUME,
        CAY_TTY_WORD_COUNT
};

struct cay_tty_size {
        uint64_t rows, cols;
};

#define CAY_TTY_TOKEN_MAX 1024u /* bytes of an AuthToken; a longer one is ignored */

struct cay_tty_first {
        struct cay_tty_size size;
        char token[CAY_TTY_TOKEN_MAX + 1]; /* "": none */
};

/* false: not such a message. The default size is 80 by 24. */
bool cay_tty_read_first(const void *bytes, size_t len, struct cay_tty_first *ret);
/* ret is set with CAY_TTY_SIZE. */
enum cay_tty_word cay_tty_read(const void *bytes, size_t len, struct cay_tty_size *ret);
