/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting and printing. */
#include "domain/templates/notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "foundation/base/json_out.h"
#include "foundation/base/utf8.h"

static size_t sequence_length(unsigned char lead)
{
        return lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

/* Text quoted from the file may be cut inside a character, or contain a line end. */
static void clean(char *text)
{
        size_t len = strlen(text), step;

        for (size_t i = 0; i < len; i += step) {
                step = sequence_length((unsigned char)text[i]);
                if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
                        text[i] = ' ';
                } else if (i + step > len || !cay_utf8_valid(text + i, step)) {
                        text[i] = '?';
                        step = 1;
                }
        }
}

CAY_PRINTF(5, 0)
static void add(struct cay_notes *n, bool is_error, unsigned line, unsigned column, const char *fmt,
                va_list ap)
{
        struct cay_note *note = &n->items[n->count];

        *(is_error ? &n->errors : &n->warnings) += 1;
        if (n->count == CAY_NOTES_MAX)
                return;
        *note = (struct cay_note){ .line = line, .column = column, .is_error = is_error };
        vsnprintf(note->text, sizeof(note->text), fmt, ap);
        clean(note->text);
        n->count++;
}

void cay_note_error(struct cay_notes *n, unsigned line, unsigned column, const char *fmt, ...)
{
        va_list ap;

        va_start(ap, fmt);
        add(n, true, line, column, fmt, ap);
        va_end(ap);
}

void cay_note_warning(struct cay_notes *n, unsigned line, unsigned column, const char *fmt, ...)
{
        va_list ap;

        va_start(ap, fmt);
        add(n, false, line, column, fmt, ap);
        va_end(ap);
}

static bool is_before(const struct cay_note *a, const struct cay_note *b)
{
        return a->line != b->line ? a->line < b->line : a->column < b->column;
}

void cay_notes_sort(struct cay_notes *n)
{
        for (unsigned i = 1; i < n->count; i++) {
                for (unsigned k = i; k > 0 && is_before(&n->items[k], &n->items[k - 1]); k--) {
                        struct cay_note swap = n->items[k];

                        n->items[k] = n->items[k - 1];
                        n->items[k - 1] = swap;
                }
        }
}

const char *cay_note_line(const struct cay_note *note, const char *file, char *buf, size_t size)
{
        const char *kind = note->is_error ? "" : "warning: ";

        if (note->line == 0)
                snprintf(buf, size, "%s: %s%s", file, kind, note->text);
        else
                snprintf(buf, size, "%s:%u:%u: %s%s", file, note->line, note->column, kind, note->text);
        return buf;
}

int cay_notes_put_json(const struct cay_notes *n, const char *file, struct cay_buf *out)
{
        struct cay_json j;

        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "file");
        cay_json_text(&j, file);
        cay_json_key(&j, "valid");
        cay_json_bool(&j, n->errors == 0);
        cay_json_key(&j, "errors");
        cay_json_u64(&j, n->errors);
        cay_json_key(&j, "warnings");
        cay_json_u64(&j, n->warnings);
        cay_json_key(&j, "notes");
        cay_json_begin_array(&j);
        for (unsigned i = 0; i < n->count; i++) {
                const struct cay_note *note = &n->items[i];

                cay_json_begin_object(&j);
                cay_json_key(&j, "line");
                cay_json_u64(&j, note->line);
                cay_json_key(&j, "column");
                cay_json_u64(&j, note->column);
                cay_json_key(&j, "severity");
                cay_json_text(&j, note->is_error ? "error" : "warning");
                cay_json_key(&j, "message");
                cay_json_text(&j, note->text);
                cay_json_end_object(&j);
        }
        cay_json_end_array(&j);
        cay_json_end_object(&j);
        return cay_json_end(&j);
}
