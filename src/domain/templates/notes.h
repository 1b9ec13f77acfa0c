/* SPDX-License-Identifier: Apache-2.0 */
/* Errors and warnings about a registry file, each with its position, up to a maximum. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "foundation/base/buf.h"

#define CAY_NOTES_MAX 64
#define CAY_NOTE_TEXT 256

struct cay_note {
        unsigned line, column; /* from 1; 0: the file as a whole */
        bool is_error;
        char text[CAY_NOTE_TEXT]; /* what was wrong; what to do. UTF-8, one line */
};

struct cay_notes {
        struct cay_note items[CAY_NOTES_MAX];
        unsigned count;
        unsigned errors, warnings; /* also those beyond the bound */
};

void cay_note_error(struct cay_notes *n, unsigned line, unsigned column, const char *fmt, ...)
        CAY_PRINTF(4, 5);
void cay_note_warning(struct cay_notes *n, unsigned line, unsigned column, const char *fmt, ...)
        CAY_PRINTF(4, 5);
void cay_notes_sort(struct cay_notes *n); /* by place; what came first stays first */
/* "file:line:column: text", warnings with "warning: " before the text; into buf; returns buf. */
const char *cay_note_line(const struct cay_note *note, const char *file, char *buf, size_t size);
/* One object: valid, errors, warnings, notes. 0 or -errno. */
int cay_notes_put_json(const struct cay_notes *n, const char *file, struct cay_buf *out);
