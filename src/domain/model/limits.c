/* SPDX-License-Identifier: Apache-2.0 */
/* Everything here walks limits.def: a new limit is a new row. */
#include "domain/model/limits.h"

#include <errno.h>
#include <inttypes.h>

#include "foundation/base/parse.h"

enum {
        KIND_SIZE = CAY_LIMIT_SIZE,
        KIND_MILLI = CAY_LIMIT_MILLI,
        KIND_COUNT = CAY_LIMIT_COUNT_KIND,
        KIND_DURATION = CAY_LIMIT_DURATION
};

static const struct row {
        const char *word;
        enum cay_limit_kind kind;
        uint64_t min, max;
        size_t offset;
} rows[] = {
#define CAY_LIMIT(field, word, kind, min, max, doc)                                                          \
        { word, (enum cay_limit_kind)KIND_##kind, min, max, offsetof(struct cay_limits, field) },
#include "domain/model/limits.def"
#undef CAY_LIMIT
};

_Static_assert(CAY_COUNT(rows) == CAY_LIMIT_NR_COUNT, "a row for every limit");
_Static_assert(CAY_LIMIT_NR_COUNT < 32, "limits are bits of an unsigned");

/* By kind: how a value of it is named and what one looks like. */
static const struct {
        int (*parse)(const char *s, uint64_t *ret);
        const char *what, *like;
} kinds[] = {
        [CAY_LIMIT_SIZE] = { cay_parse_size, "a size", "256m, 1.5g or 1048576" },
        [CAY_LIMIT_MILLI] = { cay_parse_milli, "a number of processors",
                              "0.5 or 2, with at most three decimals" },
        [CAY_LIMIT_COUNT_KIND] = { cay_parse_u64, "a number", "50" },
        [CAY_LIMIT_DURATION] = { cay_parse_duration, "a duration", "60, 0.5, 250ms, 10m, 2h or 1d" },
};

static uint64_t *field(struct cay_limits *l, enum cay_limit nr)
{
        return (uint64_t *)(void *)((char *)l + rows[nr].offset);
}

static uint64_t value(const struct cay_limits *l, enum cay_limit nr)
{
        return *(const uint64_t *)(const void *)((const char *)l + rows[nr].offset);
}

struct cay_limits cay_limits_default_run(void)
{
        return (struct cay_limits){
                .memory_bytes = 256ull << 20,
                .cpu_milli = 500,
                .pids = 50,
                .disk_bytes = 64ull << 20,
                .inodes = 16384,
                .files = 4096,
                .output_bytes = 8ull << 20,
                .wall_ms = 60 * 1000,
        };
}

/* Three significant decimals at most, none where they are zero: 1536 MiB is "1.5 GiB". */
static void scaled(uint64_t v, uint64_t unit, const char *name, char *buf, size_t size)
{
        uint64_t whole = v / unit, rest = v % unit;
        unsigned hundredths = (unsigned)((double)rest * 100 / (double)unit);

        if (hundredths == 0)
                snprintf(buf, size, "%" PRIu64 " %s", whole, name);
        else if (hundredths % 10 == 0)
                snprintf(buf, size, "%" PRIu64 ".%u %s", whole, hundredths / 10, name);
        else
                snprintf(buf, size, "%" PRIu64 ".%02u %s", whole, hundredths, name);
}

static void size_text(uint64_t v, char *buf, size_t size)
{
        static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
        unsigned i = 0;

        while (i + 1 < CAY_COUNT(units) && v >= 1ull << (10 * (i + 1)))
                i++;
        if (v == 1)
                snprintf(buf, size, "1 byte");
        else
                scaled(v, 1ull << (10 * i), units[i], buf, size);
}

static void duration_text(uint64_t ms, char *buf, size_t size)
{
        if (ms < 1000)
                snprintf(buf, size, "%" PRIu64 " ms", ms);
        else if (ms < 600 * 1000 || ms % 60000 != 0)
                scaled(ms, 1000, "s", buf, size);
        else if (ms < 48ull * 3600 * 1000)
                scaled(ms, 60 * 1000, "min", buf, size);
        else
                scaled(ms, 86400ull * 1000, "days", buf, size);
}

const char *cay_limit_value_text(enum cay_limit nr, uint64_t v, char *buf, size_t size)
{
        switch (rows[nr].kind) {
        case CAY_LIMIT_SIZE:
                size_text(v, buf, size);
                break;
        case CAY_LIMIT_DURATION:
                duration_text(v, buf, size);
                break;
        case CAY_LIMIT_MILLI:
                if (v % 1000 == 0)
                        snprintf(buf, size, "%" PRIu64, v / 1000);
                else if (v % 100 == 0)
                        snprintf(buf, size, "%" PRIu64 ".%u", v / 1000, (unsigned)(v % 1000 / 100));
                else if (v % 10 == 0)
                        snprintf(buf, size, "%" PRIu64 ".%02u", v / 1000, (unsigned)(v % 1000 / 10));
                else
                        snprintf(buf, size, "%" PRIu64 ".%03u", v / 1000, (unsigned)(v % 1000));
                break;
        case CAY_LIMIT_COUNT_KIND:
                snprintf(buf, size, "%" PRIu64, v);
                break;
        }
        return buf;
}

static int out_of_range(enum cay_limit nr, const char *option, const char *text, bool big,
                        struct cay_error *err)
{
        char bound[48];

        cay_limit_value_text(nr, big ? rows[nr].max : rows[nr].min, bound, sizeof(bound));
        return cay_fail(err, CAY_INVALID, "%s: '%.80s' is too %s: at %s %s", option, text,
                        big ? "big" : "small", big ? "most" : "least", bound);
}

int cay_limit_parse(struct cay_limits *l, enum cay_limit nr, const char *option, const char *text,
                    struct cay_error *err)
{
        const struct row *row = &rows[nr];
        uint64_t v;
        int r = kinds[row->kind].parse(text, &v);

        if (r == -ERANGE)
                return out_of_range(nr, option, text, true, err);
        if (r < 0)
                return cay_fail(err, CAY_INVALID, "%s: '%.80s' is not %s (like %s)", option, text,
                                kinds[row->kind].what, kinds[row->kind].like);
        if (v < row->min || v > row->max)
                return out_of_range(nr, option, text, v > row->max, err);
        *field(l, nr) = v;
        return 0;
}

int cay_limits_check(const struct cay_limits *l, struct cay_error *err)
{
        char text[48];

        for (unsigned nr = 0; nr < CAY_LIMIT_NR_COUNT; nr++) {
                uint64_t v = value(l, nr);

                if (v == 0 || (v >= rows[nr].min && v <= rows[nr].max))
                        continue;
                cay_limit_value_text(nr, v, text, sizeof(text));
                return out_of_range(nr, rows[nr].word, text, v > rows[nr].max, err);
        }
        return 0;
}

const char *cay_limit_word(enum cay_limit nr)
{
        return (unsigned)nr < CAY_LIMIT_NR_COUNT ? rows[nr].word : "unknown";
}

int cay_limit_find(const char *word)
{
        for (unsigned nr = 0; nr < CAY_LIMIT_NR_COUNT; nr++)
                if (strcmp(rows[nr].word, word) == 0)
                        return (int)nr;
        return -1;
}

const char *cay_limit_mask_text(unsigned mask, char *buf, size_t size)
{
        size_t at = 0;

        if (size == 0)
                return buf;
        buf[0] = '\0';
        for (unsigned nr = 0; nr < CAY_LIMIT_NR_COUNT; nr++) {
                int n;

                if (!(mask & 1u << nr))
                        continue;
                n = snprintf(buf + at, size - at, "%s%s", at > 0 ? ", " : "", rows[nr].word);
                if (n < 0 || (size_t)n >= size - at)
                        break;
                at += (size_t)n;
        }
        return buf;
}

int cay_limit_mask_parse(const char *option, const char *text, unsigned *ret_mask, struct cay_error *err)
{
        unsigned mask = 0;
        const char *at = text;

        if (strcmp(text, "all") == 0) {
                *ret_mask = CAY_LIMIT_MASK_ALL;
                return 0;
        }
        for (;;) {
                size_t len = strcspn(at, ",");
                char word[24], all[CAY_LIMIT_LIST_MAX];
                int nr = -1;

                if (len < sizeof(word)) {
                        memcpy(word, at, len);
                        word[len] = '\0';
                        nr = cay_limit_find(word);
                }
                if (nr < 0)
                        return cay_fail(err, CAY_INVALID, "%s: '%.*s' is no limit; there are: %s, or all",
                                        option, (int)(len < 40 ? len : 40), at,
                                        cay_limit_mask_text(CAY_LIMIT_MASK_ALL, all, sizeof(all)));
                mask |= 1u << nr;
                if (at[len] == '\0')
                        break;
                at += len + 1;
        }
        *ret_mask = mask;
        return 0;
}

unsigned cay_limits_set_mask(const struct cay_limits *l)
{
        unsigned mask = 0;

        for (unsigned nr = 0; nr < CAY_LIMIT_NR_COUNT; nr++)
                if (value(l, nr) != 0)
                        mask |= 1u << nr;
        if (l->memory_bytes != 0)
                mask |= CAY_LIMIT_BIT(swap_bytes);
        return mask;
}
