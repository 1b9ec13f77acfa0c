/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes text for terminals. */
#include "cay/cli/safe.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "foundation/base/banned.h"
#include "foundation/base/utf8.h"
#include "foundation/sys/fd.h"

enum { PIECE_MAX = 16 };

static uint32_t character(const char *at, size_t n)
{
        static const uint8_t mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
        uint32_t c = (uint8_t)at[0] & mask[n];

        for (size_t i = 1; i < n; i++)
                c = c << 6 | ((uint8_t)at[i] & 0x3f);
        return c;
}

/* C0, DEL, C1, and invisible characters that change direction or hide text. */
static bool is_hidden(uint32_t c)
{
        return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
               (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* Escapes the character at `text`; returns its length. */
static size_t show(const char *text, char ret[PIECE_MAX])
{
        size_t n = cay_utf8_next(text, strnlen(text, 4));
        uint32_t c = n > 0 ? character(text, n) : (uint8_t)*text;

        if (n == 0)
                snprintf(ret, PIECE_MAX, "\\x%02x", c);
        else if (c == '\n' || c == '\t' || c == '\r')
                snprintf(ret, PIECE_MAX, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
        else if (is_hidden(c))
                snprintf(ret, PIECE_MAX, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
        else
                snprintf(ret, PIECE_MAX, "%.*s", (int)n, text);
        return n > 0 ? n : 1;
}

static bool put(const char *piece, char *ret, size_t size, size_t *at)
{
        size_t n = strlen(piece);

        if (*at + n >= size)
                return false;
        memcpy(ret + *at, piece, n);
        *at += n;
        return true;
}

const char *cay_safe_copy(const char *text, char *ret, size_t size)
{
        char piece[PIECE_MAX];
        size_t at = 0;

        while (*text != '\0') {
                text += show(text, piece);
                if (!put(piece, ret, size, &at))
                        break;
        }
        ret[at] = '\0';
        return ret;
}

/*
 * Sequences after ESC [ (parameters, then a letter), ESC ] and similar (up to BEL or ESC \), and ESC with one
 * character.
 */
static size_t sequence(const char *text)
{
        size_t n = 2;

        if (text[0] != 0x1b || text[1] == '\0')
                return 0;
        if (text[1] == '[') {
                n += strspn(text + n, "0123456789:;<=>?");
                n += strspn(text + n, " !\"#$%&'()*+,-./");
                return text[n] >= 0x40 && text[n] < 0x7f ? n + 1 : 0;
        }
        if (strchr("]PX^_", text[1]) != NULL) {
                n += strcspn(text + n, "\x07\x1b");
                return text[n] == 0x07 ? n + 1 : text[n] == 0x1b && text[n + 1] == '\\' ? n + 2 : 0;
        }
        n = 1 + strspn(text + 1, " !\"#$%&'()*+,-./");
        return text[n] >= 0x30 && text[n] < 0x7f ? n + 1 : 0;
}

const char *cay_safe_line(const char *line, char *ret, size_t size)
{
        char piece[PIECE_MAX];
        size_t at = 0, n;

        for (; *line != '\0'; line += n) {
                n = sequence(line);
                if (n > 0)
                        continue;
                if (*line == '\r') {
                        n = strspn(line, "\r");
                        at = line[n] != '\0' ? 0 : at;
                        continue;
                }
                n = show(line, piece);
                if (!put(*line == '\t' ? "\t" : piece, ret, size, &at))
                        break;
        }
        ret[at] = '\0';
        return ret;
}

/* One character, or one invalid byte. */
static size_t show_one(const char *at, size_t len, char ret[PIECE_MAX])
{
        char text[5] = { 0 };
        size_t n = cay_utf8_next(at, len);

        if (*at == '\n' || *at == '\t') {
                snprintf(ret, PIECE_MAX, "%c", *at);
                return 1;
        }
        if (*at == '\r' && len > 1 && at[1] == '\n') {
                snprintf(ret, PIECE_MAX, "\r\n");
                return 2;
        }
        if (*at == '\0') {
                snprintf(ret, PIECE_MAX, "\\x00");
                return 1;
        }
        memcpy(text, at, n > 0 ? n : 1);
        return show(text, ret);
}

static size_t show_all(const char *bytes, size_t len, char *ret)
{
        size_t at = 0, done = 0;

        while (at < len) {
                char piece[PIECE_MAX];
                size_t n;

                at += show_one(bytes + at, len - at, piece);
                n = strlen(piece);
                memcpy(ret + done, piece, n);
                done += n;
        }
        return done;
}

size_t cay_safe_next(struct cay_safe_tail *tail, const char *bytes, size_t len, char ret[CAY_SAFE_SHOWN])
{
        char all[CAY_SAFE_PIECE + sizeof(tail->bytes)];
        size_t total = tail->len + len, use;

        memcpy(all, tail->bytes, tail->len);
        memcpy(all + tail->len, bytes, len);
        use = cay_utf8_cut(all, total);
        if (use > 0 && use == total && all[use - 1] == '\r')
                use--;
        tail->len = (unsigned)(total - use);
        memcpy(tail->bytes, all + use, tail->len);
        return show_all(all, use, ret);
}

size_t cay_safe_end(struct cay_safe_tail *tail, char ret[CAY_SAFE_SHOWN])
{
        size_t len = tail->len;

        tail->len = 0;
        return show_all(tail->bytes, len, ret);
}

int cay_safe_write(int fd, struct cay_safe_tail *tail, const char *bytes, size_t len)
{
        char shown[CAY_SAFE_SHOWN];
        int r = 0;

        for (size_t at = 0, n; r == 0 && at < len; at += n) {
                n = len - at < CAY_SAFE_PIECE ? len - at : CAY_SAFE_PIECE;
                r = sys_write_all(fd, shown, cay_safe_next(tail, bytes + at, n, shown));
        }
        return r;
}

size_t cay_safe_width(const char *safe)
{
        size_t width = 0;

        for (; *safe != '\0'; safe++)
                width += ((uint8_t)*safe & 0xc0) != 0x80;
        return width;
}

bool cay_safe_has_colours(FILE *out)
{
        const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

        return isatty(fileno(out)) && (no == NULL || no[0] == '\0') && term != NULL &&
               strcmp(term, "dumb") != 0;
}

void cay_safe_json(FILE *out, const char *json, size_t len)
{
        size_t at = 0, run = 0; /* run: what goes out as it is, from `at` on */

        while (isatty(fileno(out)) && at + run < len) {
                size_t n = cay_utf8_next(json + at + run, len - at - run);
                uint32_t c = n > 0 ? character(json + at + run, n) : (uint8_t)json[at + run];

                if (n > 0 && (c == '\n' || c == '\t' || c == ' ' || !is_hidden(c))) {
                        run += n;
                        continue;
                }
                fwrite(json + at, 1, run, out);
                fprintf(out, "\\u%04x", n > 0 ? c : 0xfffd);
                at += run + (n > 0 ? n : 1);
                run = 0;
        }
        fwrite(json + at, 1, len - at, out);
        putc('\n', out);
}
