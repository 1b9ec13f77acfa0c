/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of contexts: which command runs one, and its source, by language. */
#pragma once

#include <stddef.h>

#define CAY_KERNEL_WORDS_MAX 6

struct cay_kernel {
        const char *language;                   /* as foundation/base/language.h names it */
        const char *argv[CAY_KERNEL_WORDS_MAX]; /* NULL at the end */
        const unsigned char *source;
        size_t source_len;
        unsigned signal_after_ms; /* the line of an interrupt (kernels.def) */
};

/* By a language's name or alias (py, js). NULL: there is no kernel for it. */
const struct cay_kernel *cay_kernel_find(const char *language);
/* "python, javascript, bash". Returns buf. */
const char *cay_kernel_names(char *buf, size_t size);
