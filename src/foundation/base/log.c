/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. The format is walked here instead of by vsnprintf, because only so is it known which
 * bytes of a line are ours (the literal: keys, '=', blanks) and which are data. A pair is built aside: its
 * value first as plain bytes, then written quoted and escaped for the form of the line. A line that does not
 * fit is cut at a pair, and says so; a value that does not fit is cut itself. The end of a line is always
 * kept.
 */

#include "foundation/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "foundation/base/utf8.h"

enum {
        LINE_MAX_BYTES = 2048,
        VALUE_MAX_BYTES = 512,
        TAIL_BYTES = 24, /* kept for "cut" and the end of the line */
};

static const char *const words[] = {
        [CAY_LOG_DEBUG] = "debug", [CAY_LOG_INFO] = "info", [CAY_LOG_WARN] = "warn",
        [CAY_LOG_ERROR] = "error", [CAY_LOG_OFF] = "off",
};
_Static_assert(CAY_COUNT(words) == CAY_LOG_LEVEL_COUNT, "one word per level");

static struct cay_log_config now_used = { .program = "cay", .least = CAY_LOG_WARN, .fd = STDERR_FILENO };

struct text {
        char *mem;
        size_t len, max;
        bool full; /* something did not fit; nothing more is taken */
        bool cut;  /* something in it is shorter than it was */
};

struct pair {
        char key_mem[64], value_mem[VALUE_MAX_BYTES];
        struct text key, value;
        bool has_key, is_number, is_mixed; /* is_number: one conversion of a number and nothing else */
};

static void put(struct text *t, const char *bytes, size_t len)
{
        if (t->full || len > t->max - t->len) {
                t->full = true;
                return;
        }
        if (len > 0)
                memcpy(t->mem + t->len, bytes, len);
        t->len += len;
}

static void puts_to(struct text *t, const char *s)
{
        put(t, s, strlen(s));
}

/* As much as fits. */
static void put_some(struct text *t, const char *bytes, size_t len)
{
        size_t left = t->max - t->len;

        put(t, bytes, len < left ? len : left);
        if (len > left)
                t->full = true;
}

static void put_number(struct text *t, uint64_t v, unsigned base, bool negative)
{
        char digits[24];
        size_t at = sizeof(digits);

        do {
                digits[--at] = "0123456789abcdef"[v % base];
                v /= base;
        } while (v > 0);
        if (negative)
                digits[--at] = '-';
        put(t, digits + at, sizeof(digits) - at);
}

/* Characters that end lines, steer terminals or turn the reading direction, beyond the ASCII ones. */
static bool is_steering(const uint8_t *c, size_t len)
{
        if (len == 2)
                return c[0] == 0xc2 && c[1] < 0xa0; /* C1 */
        if (len != 3 || c[0] != 0xe2)
                return false;
        return (c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae))) ||
               (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

static void put_hex(struct text *t, bool json, uint8_t c)
{
        static const char hex[] = "0123456789abcdef";
        const char text[] = { '\\', 'x', hex[c >> 4], hex[c & 15] };

        /* In JSON the backslash itself is escaped: both forms read the same once decoded. */
        if (json)
                put(t, "\\", 1);
        put(t, text, sizeof(text));
}

static void put_escaped(struct text *t, bool json, const char *s, size_t len)
{
        while (len > 0) {
                uint8_t c = (uint8_t)*s;
                size_t n = cay_utf8_next(s, len);

                if (c == '\\' || c == '"') {
                        put(t, c == '"' ? "\\\"" : json ? "\\\\\\\\" : "\\\\", c == '"' ? 2 : json ? 4 : 2);
                } else if (n == 0 || c < 0x20 || c == 0x7f || is_steering((const uint8_t *)s, n)) {
                        n = n > 0 ? n : 1;
                        for (size_t i = 0; i < n; i++)
                                put_hex(t, json, (uint8_t)s[i]);
                } else {
                        put(t, s, n);
                }
                s += n;
                len -= n;
        }
}

static bool needs_quotes(const struct text *v)
{
        if (v->len == 0)
                return true;
        for (size_t i = 0; i < v->len; i++) {
                uint8_t c = (uint8_t)v->mem[i];

                if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f)
                        return true;
        }
        return false;
}

static void put_quoted(struct text *line, bool json, const char *s, size_t len)
{
        put(line, "\"", 1);
        put_escaped(line, json, s, len);
        put(line, "\"", 1);
}

static void pair_begin(struct pair *p)
{
        p->key = (struct text){ .mem = p->key_mem, .max = sizeof(p->key_mem) };
        p->value = (struct text){ .mem = p->value_mem, .max = sizeof(p->value_mem) };
        p->has_key = p->is_number = p->is_mixed = false;
}

/* Writes the pair whole or not at all, and starts the next. */
static void pair_end(struct pair *p, struct text *line, bool json)
{
        struct text before = *line;

        if (!p->has_key && p->value.len == 0)
                return;
        if (p->value.full) {
                p->value.len = cay_utf8_cut(p->value.mem, p->value.len);
                line->cut = true;
        }
        puts_to(line, json ? ",\"" : " ");
        if (p->has_key)
                put(line, p->key.mem, p->key.len);
        else if (json)
                puts_to(line, "text");
        puts_to(line, json ? "\":" : p->has_key ? "=" : "");
        if (json ? p->is_number && !p->is_mixed : !needs_quotes(&p->value))
                put(line, p->value.mem, p->value.len);
        else
                put_quoted(line, json, p->value.mem, p->value.len);
        if (line->full) {
                *line = before;
                line->full = true;
        }
        pair_begin(p);
}

static void put_string(struct pair *p, const char *s, int precision)
{
        if (!s)
                s = "(null)";
        put_some(&p->value, s, precision >= 0 ? strnlen(s, (size_t)precision) : strlen(s));
        p->is_mixed = true;
}

static void pair_number(struct pair *p, uint64_t v, unsigned base, bool negative)
{
        if (p->value.len > 0 || base != 10)
                p->is_mixed = true;
        p->is_number = true;
        put_number(&p->value, v, base, negative);
}

CAY_PRINTF(3, 0)
static void put_pairs(struct text *line, bool json, const char *fmt, va_list ap)
{
        struct pair p;

        pair_begin(&p);
        for (; *fmt; fmt++) {
                char size = 'i'; /* i int, l long, L long long, z size_t, j intmax_t, t ptrdiff_t */
                int precision = -1;
                uint64_t v;
                int64_t d;

                if (*fmt == ' ') {
                        pair_end(&p, line, json);
                        continue;
                }
                if (*fmt == '=' && !p.has_key) {
                        p.has_key = true;
                        put_some(&p.key, p.value.mem, p.value.len);
                        p.value.len = 0;
                        p.is_mixed = false;
                        continue;
                }
                if (*fmt != '%' || fmt[1] == '%' || fmt[1] == '\0') {
                        put_some(&p.value, fmt, 1);
                        p.is_mixed = true;
                        fmt += *fmt == '%' && fmt[1] == '%';
                        continue;
                }
                fmt++;
                if (fmt[0] == '.' && fmt[1] == '*') {
                        precision = va_arg(ap, int);
                        fmt += 2;
                }
                for (; *fmt && strchr("hlzjt", *fmt); fmt++) {
                        if (*fmt != 'h') /* h arrives as int, and fits its own range already */
                                size = *fmt == 'l' && size == 'l' ? 'L' : *fmt;
                }
                switch (*fmt) {
                case 's':
                        put_string(&p, va_arg(ap, const char *), precision);
                        continue;
                case 'c': {
                        char c = (char)va_arg(ap, int);

                        put_some(&p.value, &c, 1);
                        p.is_mixed = true;
                        continue;
                }
                case 'd':
                case 'i':
                        d = size == 'i'   ? va_arg(ap, int)
                            : size == 'l' ? va_arg(ap, long)
                            : size == 'L' ? va_arg(ap, long long)
                            : size == 'j' ? va_arg(ap, intmax_t)
                                          : va_arg(ap, ptrdiff_t);
                        pair_number(&p, d < 0 ? -(uint64_t)d : (uint64_t)d, 10, d < 0);
                        continue;
                case 'u':
                case 'x':
                        v = size == 'i'   ? va_arg(ap, unsigned)
                            : size == 'l' ? va_arg(ap, unsigned long)
                            : size == 'L' ? va_arg(ap, unsigned long long)
                            : size == 'j' ? va_arg(ap, uintmax_t)
                                          : va_arg(ap, size_t);
                        pair_number(&p, v, *fmt == 'x' ? 16 : 10, false);
                        continue;
                default:
                        /* Not in the list above: from here on the arguments cannot be told apart. */
                        put_string(&p, "(format)", -1);
                        pair_end(&p, line, json);
                        return;
                }
        }
        pair_end(&p, line, json);
}

static void put_time(struct text *line)
{
        struct timespec t = { 0 };
        struct tm tm = { 0 };
        char stamp[64];

        clock_gettime(CLOCK_REALTIME, &t);
        gmtime_r(&t.tv_sec, &tm);
        snprintf(stamp, sizeof(stamp), "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, t.tv_nsec / 1000000);
        puts_to(line, stamp);
}

void cay_log_setup(const struct cay_log_config *config)
{
        now_used = *config;
}

bool cay_log_is_on(enum cay_log_level level)
{
        return level >= now_used.least && level < CAY_LOG_OFF;
}

const char *cay_log_level_word(enum cay_log_level level)
{
        return (unsigned)level < CAY_LOG_LEVEL_COUNT ? words[level] : "unknown";
}

int cay_log_level_find(const char *word)
{
        for (size_t i = 0; i < CAY_COUNT(words); i++) {
                if (strcmp(words[i], word) == 0)
                        return (int)i;
        }
        return -EINVAL;
}

void cay_log_write(enum cay_log_level level, const char *event, const char *fmt, ...)
{
        char mem[LINE_MAX_BYTES];
        struct text line = { .mem = mem, .max = sizeof(mem) - TAIL_BYTES };
        bool json = now_used.json;
        int saved_errno = errno;
        const char *at = mem;
        va_list ap;

        if (!cay_log_is_on(level))
                return;
        puts_to(&line, json ? "{\"time\":\"" : "");
        put_time(&line);
        puts_to(&line, json ? "\",\"level\":\"" : " ");
        puts_to(&line, words[level]);
        puts_to(&line, json ? "\",\"program\":" : " ");
        if (json)
                put_quoted(&line, json, now_used.program, strnlen(now_used.program, 64));
        else
                put_escaped(&line, json, now_used.program, strnlen(now_used.program, 64));
        puts_to(&line, json ? ",\"event\":" : ": ");
        if (json)
                put_quoted(&line, json, event, strnlen(event, 256));
        else
                put_escaped(&line, json, event, strnlen(event, 256));

        va_start(ap, fmt);
        put_pairs(&line, json, fmt, ap);
        va_end(ap);

        line.max = sizeof(mem);
        if (line.full || line.cut) {
                line.full = false;
                puts_to(&line, json ? ",\"cut\":true" : " cut=yes");
        }
        puts_to(&line, json ? "}\n" : "\n");
        while (line.len > 0) {
                ssize_t n = write(now_used.fd, at, line.len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        break; /* nowhere to tell it */
                at += n;
                line.len -= (size_t)n;
        }
        errno = saved_errno;
}
