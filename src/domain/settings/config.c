/* SPDX-License-Identifier: Apache-2.0 */
/* Parses, checks and stores values by kind. Everything iterates over config_keys.def. */

#include "domain/settings/config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <regex.h>

#include "foundation/base/log.h"
#include "foundation/base/parse.h"
#include "foundation/base/utf8.h"
#include "domain/settings/config_priv.h"

enum {
        TEXT_MAX = 4096, /* of texts whose row has no maximum */
        REGEX_MAX = 512,
        REGEX_REPEATS = 64,
        REGEX_DEPTH = 3,
};

const struct cay_config_row cay_config_rows[CAY_CONFIG_KEY_COUNT] = {
#define CAY_CONFIG(field, kind, def, min, max, env, flags, doc)                                              \
        { #field, CAY_CONFIG_##kind, flags, def, min, max, env, doc, offsetof(struct cay_config, field) },
#include "domain/settings/config_keys.def"
#undef CAY_CONFIG
};

static const char *const kind_texts[] = {
        [CAY_CONFIG_TEXT] = "a text",
        [CAY_CONFIG_PATH] = "an absolute path",
        [CAY_CONFIG_REGEX] = "an extended regular expression",
        [CAY_CONFIG_LIST] = "a list with commas",
        [CAY_CONFIG_PATHS] = "a list of absolute paths with commas",
        [CAY_CONFIG_BOOL] = "true or false",
        [CAY_CONFIG_U64] = "a whole number",
        [CAY_CONFIG_SIZE] = "a size (like 256m, 1.5g or 1048576)",
        [CAY_CONFIG_MEBI] = "a size (like 256m or 1.5g; a plain number is MiB)",
        [CAY_CONFIG_DURATION] = "a duration (like 60, 0.5, 250ms, 10m, 2h or 1d)",
        [CAY_CONFIG_MILLI] = "a number with at most three decimals",
        [CAY_CONFIG_PERCENT] = "a percentage (like 50 or 12.5)",
        [CAY_CONFIG_LEVEL] = "a log level (debug, info, warn, error or off)",
        [CAY_CONFIG_LISTEN] = "HOST:PORT (like 127.0.0.1:8888 or [::1]:8888)",
};

_Static_assert(CAY_COUNT(kind_texts) == CAY_CONFIG_KIND_COUNT, "a text for every kind");

static const char *kind_text(enum cay_config_kind kind)
{
        return (unsigned)kind < CAY_COUNT(kind_texts) ? kind_texts[kind] : "nothing";
}

const char *cay_config_source_word(enum cay_config_source source)
{
        static const char *const words[] = {
                [CAY_CONFIG_DEFAULT] = "default",
                [CAY_CONFIG_FILE] = "file",
                [CAY_CONFIG_ENV] = "environment",
                [CAY_CONFIG_FLAG] = "flag",
        };

        _Static_assert(CAY_COUNT(words) == CAY_CONFIG_SOURCE_COUNT, "a word for every source");
        return (unsigned)source < CAY_COUNT(words) ? words[source] : "nothing";
}

/* Numbers */

static int parse_mebi(const char *s, uint64_t *ret)
{
        uint64_t v;
        int r = cay_parse_u64(s, &v);

        if (r == -EINVAL)
                return cay_parse_size(s, ret);
        if (r < 0 || __builtin_mul_overflow(v, UINT64_C(1) << 20, ret))
                return -ERANGE;
        return 0;
}

/* Thousandths of one are tenths of a percent: "12.5" is 125. */
static int parse_percent(const char *s, uint64_t *ret)
{
        uint64_t v;
        int r = cay_parse_milli(s, &v);

        if (r < 0)
                return r;
        if (v % 100 != 0)
                return -EINVAL;
        *ret = v / 100;
        return 0;
}

static int parse_level(const char *s, uint64_t *ret)
{
        int level = cay_log_level_find(s);

        if (level < 0)
                return -EINVAL;
        *ret = (uint64_t)level;
        return 0;
}

static int (*const number_parsers[])(const char *s, uint64_t *ret) = {
        [CAY_CONFIG_U64] = cay_parse_u64,     [CAY_CONFIG_SIZE] = cay_parse_size,
        [CAY_CONFIG_MEBI] = parse_mebi,       [CAY_CONFIG_DURATION] = cay_parse_duration,
        [CAY_CONFIG_MILLI] = cay_parse_milli, [CAY_CONFIG_PERCENT] = parse_percent,
        [CAY_CONFIG_LEVEL] = parse_level,
};

static int bad(const struct cay_config_row *row, const char *where, const char *value, struct cay_error *err)
{
        return cay_fail(err, CAY_INVALID, "%s: %s = '%.60s' is not %s", where, row->name, value,
                        kind_text(row->kind));
}

static int out_of_range(const struct cay_config_row *row, const char *where, const char *value, bool is_big,
                        struct cay_error *err)
{
        cay_auto_buf struct cay_buf bound = { 0 };

        cay_buf_init(&bound, 64);
        cay_config_number_text(row->kind,
                               is_big && row->max > 0 ? row->max
                               : is_big               ? UINT64_MAX
                                                      : row->min,
                               &bound);
        return cay_fail(err, CAY_INVALID, "%s: %s = '%.60s' is too %s: at %s %s", where, row->name, value,
                        is_big ? "big" : "small", is_big ? "most" : "least",
                        (const char *)cay_buf_data(&bound));
}

static int set_number(const struct cay_config_row *row, const char *where, const char *value, uint64_t *at,
                      struct cay_error *err)
{
        uint64_t v;
        int r = number_parsers[row->kind](value, &v);

        if (r == -EINVAL)
                return bad(row, where, value, err);
        if (r < 0 || (row->max > 0 && v > row->max))
                return out_of_range(row, where, value, true, err);
        if (v < row->min)
                return out_of_range(row, where, value, false, err);
        *at = v;
        return 0;
}

static int set_bool(const struct cay_config_row *row, const char *where, const char *value, bool *at,
                    struct cay_error *err)
{
        static const struct {
                const char *word;
                bool is;
        } words[] = { { "true", true },   { "1", true },  { "yes", true }, { "on", true },
                      { "false", false }, { "0", false }, { "no", false }, { "off", false } };

        for (size_t i = 0; i < CAY_COUNT(words); i++) {
                if (strcmp(words[i].word, value) == 0) {
                        *at = words[i].is;
                        return 0;
                }
        }
        return bad(row, where, value, err);
}

/* Texts */

static int no_memory(struct cay_error *err)
{
        return cay_fail(err, CAY_INTERNAL, "no memory for the configuration");
}

static int check_path(const struct cay_config_row *row, const char *where, const char *value,
                      struct cay_error *err)
{
        if (value[0] != '/')
                return cay_fail(err, CAY_INVALID, "%s: %s = '%.80s' must be an absolute path", where,
                                row->name, value);
        return 0;
}

/*
 * Refuses what makes the C library's regular expressions explode: nested repeats (each copies what it
 * repeats, so + after + doubles) and back references. Groups nest only a few levels, and the product of all
 * {repeat} counts is bounded.
 */
struct taming {
        unsigned long factor;
        unsigned depth;
        bool was_repeat; /* the previous piece was a repeat */
};

/* The last character of a bracket expression that starts at `at`, or the end of the text. */
static const char *skip_bracket(const char *at)
{
        const char *first = at + 1 + (at[1] == '^');

        for (at = first; *at && (*at != ']' || at == first); at++) {
                if (*at == '[' && at[1] == ':') { /* [:alpha:] */
                        const char *end = strstr(at + 2, ":]");

                        at = end ? end + 1 : at;
                }
        }
        return *at ? at : at - 1;
}

static bool take_repeat(struct taming *t, const char *at)
{
        unsigned long low, high;
        char *end;

        if (t->was_repeat)
                return false;
        t->was_repeat = true;
        if (*at != '{')
                return true;
        low = strtoul(at + 1, &end, 10);
        high = *end == ',' ? strtoul(end + 1, NULL, 10) : low;
        high = high > low ? high : low;
        if (high > REGEX_REPEATS)
                return false;
        t->factor *= high > 0 ? high : 1;
        return t->factor <= REGEX_REPEATS;
}

static bool is_tame(const char *regex)
{
        struct taming t = { .factor = 1 };

        for (const char *at = regex; *at; at++) {
                if (strchr("*+?{", *at)) {
                        if (!take_repeat(&t, at))
                                return false;
                        at = *at == '{' && strchr(at, '}') ? strchr(at, '}') : at;
                        continue;
                }
                t.was_repeat = false;
                if (*at == '[')
                        at = skip_bracket(at);
                else if (*at == '\\' && at[1] >= '1' && at[1] <= '9')
                        return false;
                else if (*at == '\\')
                        at += at[1] != '\0';
                else if (*at == '(' && ++t.depth > REGEX_DEPTH)
                        return false;
                else if (*at == ')')
                        t.depth -= t.depth > 0;
        }
        return true;
}

static int check_regex(const struct cay_config_row *row, const char *where, const char *value,
                       struct cay_error *err)
{
        char why[80];
        regex_t re;
        int r;

        if (strlen(value) > REGEX_MAX || !is_tame(value))
                return cay_fail(err, CAY_INVALID,
                                "%s: %s is too complex: at most %d bytes, no back references, few repeats",
                                where, row->name, REGEX_MAX);
        r = regcomp(&re, value, REG_EXTENDED | REG_NOSUB);
        if (r != 0) {
                regerror(r, &re, why, sizeof(why));
                return cay_fail(err, CAY_INVALID, "%s: %s is not an extended regular expression: %s", where,
                                row->name, why);
        }
        regfree(&re);
        return 0;
}

/* Errors tell only the length of a secret. "" is always valid: not set. */
static int check_text(const struct cay_config_row *row, const char *where, const char *value,
                      struct cay_error *err)
{
        size_t len = strlen(value), max = row->max > 0 ? row->max : TEXT_MAX;

        if (len == 0)
                return 0;
        if (row->kind == CAY_CONFIG_PATH)
                return check_path(row, where, value, err);
        if (row->kind == CAY_CONFIG_REGEX)
                return check_regex(row, where, value, err);
        if (len < row->min || len > max)
                return cay_fail(err, CAY_INVALID, "%s: %s has %zu bytes: it needs %" PRIu64 " to %zu", where,
                                row->name, len, row->min, max);
        return 0;
}

static void free_text(const struct cay_config_row *row, char *text)
{
        if (text && row->flags & CAY_CONFIG_SECRET)
                explicit_bzero(text, strlen(text));
        free(text);
}

static int set_text(const struct cay_config_row *row, const char *where, const char *value, char **at,
                    struct cay_error *err)
{
        char *copy;

        if (check_text(row, where, value, err) < 0)
                return -1;
        copy = strdup(value);
        if (!copy)
                return no_memory(err);
        free_text(row, *at);
        *at = copy;
        return 0;
}

/* Lists */

static void list_done(struct cay_config_list *l)
{
        for (unsigned i = 0; i < l->count; i++)
                free(l->items[i]);
        free(l->items);
        *l = (struct cay_config_list){ 0 };
}

static int list_add(struct cay_config_list *l, const char *item, size_t len)
{
        char **items = reallocarray(l->items, l->count + 2, sizeof(*items));

        if (!items)
                return -1;
        l->items = items;
        items[l->count + 1] = NULL;
        items[l->count] = strndup(item, len);
        if (!items[l->count])
                return -1;
        l->count++;
        return 0;
}

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

static int split(const struct cay_config_row *row, const char *where, const char *value,
                 struct cay_config_list *l, struct cay_error *err)
{
        for (const char *at = value; *at;) {
                size_t len = strcspn(at, ","), from = 0, to = len;

                while (from < to && is_blank(at[from]))
                        from++;
                while (to > from && is_blank(at[to - 1]))
                        to--;
                if (from == to)
                        return cay_fail(err, CAY_INVALID, "%s: %s has an empty entry", where, row->name);
                if (l->count == row->max)
                        return cay_fail(err, CAY_INVALID, "%s: %s has too many entries: at most %" PRIu64,
                                        where, row->name, row->max);
                if (row->kind == CAY_CONFIG_PATHS && check_path(row, where, at + from, err) < 0)
                        return -1;
                if (list_add(l, at + from, to - from) < 0)
                        return no_memory(err);
                at += len;
                if (*at == ',' && *++at == '\0')
                        return cay_fail(err, CAY_INVALID, "%s: %s ends with a comma", where, row->name);
        }
        return 0;
}

static int set_list(const struct cay_config_row *row, const char *where, const char *value,
                    struct cay_config_list *at, struct cay_error *err)
{
        struct cay_config_list l = { 0 };

        if (split(row, where, value, &l, err) < 0) {
                list_done(&l);
                return -1;
        }
        list_done(at);
        *at = l;
        return 0;
}

/* HOST:PORT, [HOST]:PORT or :PORT (all addresses). Sets both members or neither. */
static int set_listen(struct cay_config *c, enum cay_config_source source, const char *where,
                      const char *value, struct cay_error *err)
{
        const struct cay_config_row *row = &cay_config_rows[CAY_CONFIG_KEY_listen];
        const char *colon = strrchr(value, ':');
        size_t len = colon ? (size_t)(colon - value) : 0;
        uint64_t port;
        char host[256];

        if (!colon || len >= sizeof(host) || cay_parse_u64(colon + 1, &port) < 0 || port > 65535)
                return bad(row, where, value, err);
        memcpy(host, value, len);
        host[len] = '\0';
        if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
                memmove(host, host + 1, len - 2);
                host[len - 2] = '\0';
        } else if (strchr(host, ':')) {
                return bad(row, where, value, err);
        }
        if (host[0] == '\0')
                snprintf(host, sizeof(host), "0.0.0.0");
        if (cay_config_set(c, CAY_CONFIG_KEY_host, source, where, host, err) < 0)
                return -1;
        return cay_config_set(c, CAY_CONFIG_KEY_port, source, where, colon + 1, err);
}

/* Keys */

static int set_value(struct cay_config *c, enum cay_config_key key, const char *where, const char *value,
                     struct cay_error *err)
{
        const struct cay_config_row *row = &cay_config_rows[key];
        void *at = cay_config_at(c, key);

        switch (row->kind) {
        case CAY_CONFIG_TEXT:
        case CAY_CONFIG_PATH:
        case CAY_CONFIG_REGEX:
                return set_text(row, where, value, at, err);
        case CAY_CONFIG_LIST:
        case CAY_CONFIG_PATHS:
                return set_list(row, where, value, at, err);
        case CAY_CONFIG_BOOL:
                return set_bool(row, where, value, at, err);
        case CAY_CONFIG_LISTEN:
        case CAY_CONFIG_KIND_COUNT:
                return 0;
        default:
                return set_number(row, where, value, at, err);
        }
}

int cay_config_set(struct cay_config *c, enum cay_config_key key, enum cay_config_source source,
                   const char *where, const char *value, struct cay_error *err)
{
        char *kept;

        if (strlen(value) > CAY_CONFIG_VALUE_MAX)
                return cay_fail(err, CAY_INVALID, "%s: the value of %s is too long: at most %d bytes", where,
                                cay_config_rows[key].name, CAY_CONFIG_VALUE_MAX);
        if (!cay_utf8_valid(value, strlen(value)))
                return cay_fail(err, CAY_INVALID, "%s: the value of %s is not UTF-8", where,
                                cay_config_rows[key].name);
        for (const char *at = value; *at; at++) {
                if (iscntrl((unsigned char)*at))
                        return cay_fail(err, CAY_INVALID, "%s: the value of %s has a control character in it",
                                        where, cay_config_rows[key].name);
        }
        if (cay_config_rows[key].kind == CAY_CONFIG_LISTEN)
                return value[0] == '\0' ? 0 : set_listen(c, source, where, value, err);
        kept = strdup(where);
        if (!kept)
                return no_memory(err);
        if (set_value(c, key, where, value, err) < 0) {
                free(kept);
                return -1;
        }
        free(c->where[key]);
        c->where[key] = kept;
        c->source[key] = source;
        return 0;
}

int cay_config_init(struct cay_config *c, struct cay_error *err)
{
        *c = (struct cay_config){ 0 };
        for (unsigned key = 0; key < CAY_CONFIG_KEY_COUNT; key++) {
                if (cay_config_set(c, key, CAY_CONFIG_DEFAULT, "default", cay_config_rows[key].def, err) <
                    0) {
                        cay_config_done(c);
                        return -1;
                }
        }
        return 0;
}

void cay_config_done(struct cay_config *c)
{
        for (unsigned key = 0; key < CAY_CONFIG_KEY_COUNT; key++) {
                void *at = cay_config_at(c, key);

                switch (cay_config_rows[key].kind) {
                case CAY_CONFIG_TEXT:
                case CAY_CONFIG_PATH:
                case CAY_CONFIG_REGEX:
                        free_text(&cay_config_rows[key], *(char **)at);
                        break;
                case CAY_CONFIG_LIST:
                case CAY_CONFIG_PATHS:
                        list_done(at);
                        break;
                default:
                        break;
                }
                free(c->where[key]);
        }
        *c = (struct cay_config){ 0 };
}

/* Names have underscores in the file and dashes as flags; both forms are found. */
static bool is_name(const char *row, const char *name, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                if (row[i] != (name[i] == '-' ? '_' : name[i]) || row[i] == '\0')
                        return false;
        }
        return row[len] == '\0';
}

int cay_config_find(const char *name, size_t len)
{
        for (unsigned key = 0; key < CAY_CONFIG_KEY_COUNT; key++) {
                if (is_name(cay_config_rows[key].name, name, len))
                        return (int)key;
        }
        return -1;
}
