/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where a terminal can begin to draw, and in which modes. */
#include "domain/model/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/cleanup.h"

enum { GROUND, ESCAPE, DESIGNATE, CONTROL, STRING, STRING_ESCAPE };

#define ESC '\x1b'

/* Modes that outlive the sequence that set them. The first three are one: the alternate screen. */
static const struct {
        unsigned number;
        bool is_private, is_on; /* is_on: of a fresh terminal */
        bool soft;              /* a soft reset ends it */
} modes[] = {
        { 1049, true, false, false }, { 1047, true, false, false }, { 47, true, false, false },
        { 1, true, false, true },     { 5, true, false, false },    { 6, true, false, true },
        { 7, true, true, false },     { 9, true, false, false },    { 25, true, true, true },
        { 45, true, false, false },   { 66, true, false, true },    { 1000, true, false, false },
        { 1002, true, false, false }, { 1003, true, false, false }, { 1004, true, false, false },
        { 1005, true, false, false }, { 1006, true, false, false }, { 1015, true, false, false },
        { 1016, true, false, false }, { 2004, true, false, false }, { 4, false, false, true },
        { 20, false, false, false },
};
_Static_assert(sizeof(modes) / sizeof(modes[0]) <= 32, "each has its bit");

static void reset(struct cay_screen *s)
{
        s->modes = 0;
        s->top = s->bottom = 0;
        s->set[0] = s->set[1] = 'B';
        s->shifted = s->keypad = false;
        s->colours[0] = '\0';
}

void cay_screen_init(struct cay_screen *s, uint64_t at, uint64_t want)
{
        *s = (struct cay_screen){ .at = at, .want = want, .found = at == 0 && want == 0 };
        reset(s);
}

static void reset_softly(struct cay_screen *s)
{
        for (unsigned i = 0; i < CAY_COUNT(modes); i++)
                if (modes[i].soft)
                        s->modes &= ~(1u << i);
        s->top = s->bottom = 0;
        s->set[0] = s->set[1] = 'B';
        s->shifted = s->keypad = false;
        s->colours[0] = '\0';
}

static void set_mode(struct cay_screen *s, unsigned number, bool is_private, bool on)
{
        for (unsigned i = 0; i < CAY_COUNT(modes); i++) {
                if (modes[i].number != number || modes[i].is_private != is_private)
                        continue;
                if (on == modes[i].is_on)
                        s->modes &= ~(1u << i);
                else
                        s->modes |= 1u << i;
                return;
        }
}

static void set_modes(struct cay_screen *s, bool on)
{
        bool is_private = s->args[0] == '?';
        char *at = s->args + is_private;

        for (;;) {
                char *end;
                unsigned long number = strtoul(at, &end, 10);

                if (end > at && number < 100000)
                        set_mode(s, (unsigned)number, is_private, on);
                if (*end != ';')
                        return;
                at = end + 1;
        }
}

static void set_margins(struct cay_screen *s)
{
        char *end;
        unsigned long top = strtoul(s->args, &end, 10), bottom = *end == ';' ? strtoul(end + 1, &end, 10) : 0;

        if (*end != '\0' || top > 65535 || bottom > 65535)
                return;
        s->top = (unsigned)top;
        s->bottom = (unsigned)bottom;
}

/*
 * Numbers that follow each other add up; the list begins again with a 0. What would be too long is no longer
 * known: plain text.
 */
static void add_colours(struct cay_screen *s)
{
        const char *more = s->args;
        size_t has = strlen(s->colours), len;

        if (more[0] == '\0' || (more[0] == '0' && (more[1] == '\0' || more[1] == ';'))) {
                s->colours[0] = '\0';
                has = 0;
                more += more[0] != '\0';
                more += more[0] == ';';
        }
        len = strlen(more);
        if (len == 0)
                return;
        if (has + 1 + len > CAY_SCREEN_ARGS)
                has = 0;
        if (has > 0)
                s->colours[has++] = ';';
        memcpy(s->colours + has, more, len + 1);
}

static bool are_numbers(const char *text)
{
        return text[strspn(text, "0123456789;:")] == '\0';
}

static void end_control(struct cay_screen *s, char final)
{
        s->args[s->args_len] = '\0';
        s->state = GROUND;
        if (s->too_long)
                return;
        if ((final == 'h' || final == 'l') && are_numbers(s->args + (s->args[0] == '?')))
                set_modes(s, final == 'h');
        else if (final == 'r' && are_numbers(s->args))
                set_margins(s);
        else if (final == 'm' && are_numbers(s->args))
                add_colours(s);
        else if (final == 'p' && strcmp(s->args, "!") == 0)
                reset_softly(s);
}

static void take_control(struct cay_screen *s, char c)
{
        if (c >= 0x40 && c <= 0x7e) {
                end_control(s, c);
        } else if (c >= 0x20 && c < 0x40) {
                if (s->args_len < CAY_SCREEN_ARGS)
                        s->args[s->args_len++] = c;
                else
                        s->too_long = true;
        } else if (c == '\x18' || c == '\x1a') {
                s->state = GROUND;
        }
}

static void take_escape(struct cay_screen *s, char c)
{
        s->state = GROUND;
        switch (c) {
        case '[':
                s->state = CONTROL;
                s->args_len = 0;
                s->too_long = false;
                break;
        case ']':
        case 'P':
        case 'X':
        case '^':
        case '_':
                s->state = STRING;
                break;
        case '(':
        case ')':
                s->state = DESIGNATE;
                break;
        case 'c':
                reset(s);
                break;
        case '=':
        case '>':
                s->keypad = c == '=';
                break;
        default:
                break;
        }
}

static void take(struct cay_screen *s, char c)
{
        if (c == ESC) {
                s->state = s->state == STRING ? STRING_ESCAPE : ESCAPE;
                return;
        }
        switch (s->state) {
        case ESCAPE:
                take_escape(s, c);
                break;
        case DESIGNATE:
                if (c >= 0x30 && c <= 0x7e)
                        s->set[s->last == ')'] = c;
                s->state = GROUND;
                break;
        case CONTROL:
                take_control(s, c);
                break;
        case STRING:
                if (c == '\a' || c == '\x18' || c == '\x1a')
                        s->state = GROUND;
                break;
        case STRING_ESCAPE: /* a string's end; or another sequence, which ends the string too */
                if (c == '\\')
                        s->state = GROUND;
                else
                        take_escape(s, c);
                break;
        default:
                if (c == '\x0e' || c == '\x0f')
                        s->shifted = c == '\x0e';
                break;
        }
}

static bool is_good_place(const struct cay_screen *s, char next)
{
        if (s->at < s->want || s->state != GROUND)
                return false;
        return next == ESC || s->last == '\n' || (s->at - s->want > CAY_SCREEN_LOOK && !(next & 0x80));
}

size_t cay_screen_feed(struct cay_screen *s, const void *bytes, size_t len)
{
        const char *text = bytes;

        for (size_t i = 0; i < len; i++) {
                s->found = s->found || is_good_place(s, text[i]);
                if (s->found)
                        return i;
                take(s, text[i]);
                s->last = text[i];
                s->at++;
        }
        return len;
}

static int put_mode(const struct cay_screen *s, unsigned i, struct cay_buf *out)
{
        char text[24];

        if (!(s->modes & 1u << i))
                return 0;
        snprintf(text, sizeof(text), "\x1b[%s%u%c", modes[i].is_private ? "?" : "", modes[i].number,
                 modes[i].is_on ? 'l' : 'h');
        return cay_buf_puts(out, text);
}

int cay_screen_put(const struct cay_screen *s, struct cay_buf *out)
{
        char text[CAY_SCREEN_ARGS + 64] = "";
        int r = 0;

        for (unsigned i = 0; i < CAY_COUNT(modes) && r == 0; i++)
                r = put_mode(s, i, out);
        if (r == 0 && (s->top || s->bottom)) {
                if (s->bottom)
                        snprintf(text, sizeof(text), "\x1b[%u;%ur", s->top ? s->top : 1, s->bottom);
                else
                        snprintf(text, sizeof(text), "\x1b[%ur", s->top);
                r = cay_buf_puts(out, text);
        }
        for (unsigned i = 0; i < 2 && r == 0; i++) {
                snprintf(text, sizeof(text), "\x1b%c%c", i ? ')' : '(', s->set[i]);
                if (s->set[i] != 'B')
                        r = cay_buf_puts(out, text);
        }
        snprintf(text, sizeof(text), "%s%s%s%s%s", s->shifted ? "\x0e" : "", s->keypad ? "\x1b=" : "",
                 s->colours[0] ? "\x1b[" : "", s->colours, s->colours[0] ? "m" : "");
        return r == 0 ? cay_buf_puts(out, text) : r;
}
