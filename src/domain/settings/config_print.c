/* SPDX-License-Identifier: Apache-2.0 */
/* Prints values as text: for people, and in the format of the file. */

#include <inttypes.h>

#include "foundation/base/log.h"
#include "domain/settings/config_priv.h"

enum { COLUMN = 44 }; /* the origin's column, if the value is short enough */

static int put_list(const struct cay_config_list *l, struct cay_buf *out)
{
        int r = 0;

        for (unsigned i = 0; i < l->count && r == 0; i++)
                r = cay_buf_printf(out, "%s%s", i > 0 ? ", " : "", l->items[i]);
        return r;
}

/* Uses the largest unit that divides it: "2g" stays "2g". */
static int put_size(uint64_t v, struct cay_buf *out)
{
        static const char units[] = { 't', 'g', 'm', 'k' };

        for (unsigned i = 0; i < CAY_COUNT(units) && v > 0; i++) {
                uint64_t unit = UINT64_C(1) << (40 - 10 * i);

                if (v % unit == 0)
                        return cay_buf_printf(out, "%" PRIu64 "%c", v / unit, units[i]);
        }
        return cay_buf_printf(out, "%" PRIu64 "b", v); /* some keys take a plain number as MiB */
}

static int put_duration(uint64_t ms, struct cay_buf *out)
{
        if (ms % 1000 != 0)
                return cay_buf_printf(out, "%" PRIu64 "ms", ms);
        if (ms == 0 || ms % 60000 != 0)
                return cay_buf_printf(out, "%" PRIu64 "s", ms / 1000);
        if (ms % 3600000 != 0)
                return cay_buf_printf(out, "%" PRIu64 "m", ms / 60000);
        return cay_buf_printf(out, "%" PRIu64 "h", ms / 3600000);
}

/* With `decimals` digits after the point, without zeros at the end. */
static int put_decimal(uint64_t v, unsigned decimals, struct cay_buf *out)
{
        uint64_t one = decimals == 3 ? 1000 : 10, rest = v % one;

        while (rest > 0 && rest % 10 == 0) {
                rest /= 10;
                decimals--;
        }
        if (rest == 0)
                return cay_buf_printf(out, "%" PRIu64, v / one);
        return cay_buf_printf(out, "%" PRIu64 ".%0*" PRIu64, v / one, (int)decimals, rest);
}

int cay_config_number_text(enum cay_config_kind kind, uint64_t v, struct cay_buf *out)
{
        switch (kind) {
        case CAY_CONFIG_SIZE:
        case CAY_CONFIG_MEBI:
                return put_size(v, out);
        case CAY_CONFIG_DURATION:
                return put_duration(v, out);
        case CAY_CONFIG_MILLI:
                return put_decimal(v, 3, out);
        case CAY_CONFIG_PERCENT:
                return put_decimal(v, 1, out);
        default:
                return cay_buf_printf(out, "%" PRIu64, v);
        }
}

int cay_config_value_text(const struct cay_config *c, enum cay_config_key key, struct cay_buf *out)
{
        const void *at = cay_config_at(c, key);

        switch (cay_config_rows[key].kind) {
        case CAY_CONFIG_TEXT:
        case CAY_CONFIG_PATH:
        case CAY_CONFIG_REGEX:
                return cay_buf_puts(out, *(char *const *)at);
        case CAY_CONFIG_LIST:
        case CAY_CONFIG_PATHS:
                return put_list(at, out);
        case CAY_CONFIG_BOOL:
                return cay_buf_puts(out, *(const bool *)at ? "true" : "false");
        case CAY_CONFIG_U64:
        case CAY_CONFIG_SIZE:
        case CAY_CONFIG_MEBI:
        case CAY_CONFIG_DURATION:
        case CAY_CONFIG_MILLI:
        case CAY_CONFIG_PERCENT:
                return cay_config_number_text(cay_config_rows[key].kind, *(const uint64_t *)at, out);
        case CAY_CONFIG_LEVEL:
                return cay_buf_puts(out, cay_log_level_word((enum cay_log_level) * (const uint64_t *)at));
        case CAY_CONFIG_LISTEN:
        case CAY_CONFIG_KIND_COUNT:
                break;
        }
        return 0;
}

/* Quoted if it could be misread. */
static int put_quoted(const char *value, struct cay_buf *out)
{
        size_t len = strlen(value);
        int r;

        if (len > 0 && !strpbrk(value, "\"\\#") && value[0] != ' ' && value[len - 1] != ' ')
                return cay_buf_puts(out, value);
        r = cay_buf_putc(out, '"');
        for (; *value && r == 0; value++) {
                if (*value == '"' || *value == '\\')
                        r = cay_buf_putc(out, '\\');
                if (r == 0)
                        r = cay_buf_putc(out, *value);
        }
        return r < 0 ? r : cay_buf_putc(out, '"');
}

static int put_line(const struct cay_config *c, enum cay_config_key key, bool secrets, struct cay_buf *out)
{
        const struct cay_config_row *row = &cay_config_rows[key];
        cay_auto_buf struct cay_buf value;
        bool hide;
        int r;

        cay_buf_init(&value, CAY_CONFIG_VALUE_MAX * 2);
        r = cay_config_value_text(c, key, &value);
        if (r == 0)
                r = cay_buf_printf(out, "%s = ", row->name);
        hide = row->flags & CAY_CONFIG_SECRET && !secrets;
        if (r == 0 && hide)
                r = cay_buf_puts(out, value.len > 0 ? "(set)" : "(not set)");
        else if (r == 0)
                r = put_quoted(cay_buf_data(&value), out);
        if (row->flags & CAY_CONFIG_SECRET)
                explicit_bzero(cay_buf_data(&value), value.len);
        return r;
}

static int put_origin(const struct cay_config *c, enum cay_config_key key, size_t line_start,
                      struct cay_buf *out)
{
        size_t width = out->len - line_start;
        int pad = width < COLUMN ? (int)(COLUMN - width) : 1;

        return cay_buf_printf(out, "%*s# %s\n", pad, "", c->where[key] ? c->where[key] : "default");
}

int cay_config_print(const struct cay_config *c, bool docs, struct cay_buf *out)
{
        int r = 0;

        for (unsigned key = 0; key < CAY_CONFIG_KEY_COUNT && r == 0; key++) {
                size_t start;

                if (cay_config_rows[key].kind == CAY_CONFIG_LISTEN)
                        continue;
                if (docs)
                        r = cay_buf_printf(out, "# %s\n", cay_config_rows[key].doc);
                start = out->len;
                if (r == 0)
                        r = put_line(c, key, false, out);
                if (r == 0)
                        r = put_origin(c, key, start, out);
        }
        return r;
}

/* A file name may contain any byte, so line breaks are replaced. */
static int put_source(const struct cay_config *c, enum cay_config_key key, struct cay_buf *out)
{
        int r = cay_buf_printf(out, CAY_CONFIG_ORIGIN "%s ", cay_config_source_word(c->source[key]));

        for (const char *at = c->where[key]; at && *at && r == 0; at++)
                r = cay_buf_putc(out, (unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at);
        return r < 0 ? r : cay_buf_putc(out, '\n');
}

int cay_config_write(const struct cay_config *c, struct cay_buf *out)
{
        int r = 0;

        for (unsigned key = 0; key < CAY_CONFIG_KEY_COUNT && r == 0; key++) {
                if (c->source[key] == CAY_CONFIG_DEFAULT || cay_config_rows[key].kind == CAY_CONFIG_LISTEN)
                        continue;
                r = put_source(c, key, out);
                if (r == 0)
                        r = put_line(c, key, true, out);
                if (r == 0)
                        r = cay_buf_putc(out, '\n');
        }
        return r;
}
