/* SPDX-License-Identifier: Apache-2.0 */
/* Header blocks and pax records of tar archives, to and from plain structs. */

#include "foundation/tar/tar.h"

#include <errno.h>

#include "foundation/base/cleanup.h"

struct field {
        unsigned at, len;
};

static const struct field NAME = { 0, 100 }, MODE = { 100, 8 }, UID = { 108, 8 }, GID = { 116, 8 };
static const struct field SIZE = { 124, 12 }, MTIME = { 136, 12 }, CHECKSUM = { 148, 8 }, LINK = { 157, 100 };
static const struct field MAGIC = { 257, 8 }, DEV_MAJOR = { 329, 8 }, DEV_MINOR = { 337, 8 };
static const struct field PREFIX = { 345, 155 };

enum { TYPE_AT = 156 };

/* A size leaves room to be rounded up to blocks and added to others without overflow. */
#define SIZE_MAX_BYTES (UINT64_C(1) << 62)
#define SPARSE_FOLDER "GNUSparseFile.0/"       /* as other writers name it */
#define OCTAL_12_MAX ((UINT64_C(1) << 33) - 1) /* 11 octal digits: 8 GiB less one */

static const struct {
        char flag;
        uint8_t type;
} types[] = {
        { '0', CAY_TAR_FILE },       { '\0', CAY_TAR_FILE },     { '7', CAY_TAR_FILE },
        { '1', CAY_TAR_LINK },       { '2', CAY_TAR_SYMLINK },   { '3', CAY_TAR_DEVICE },
        { '4', CAY_TAR_DEVICE },     { '5', CAY_TAR_DIRECTORY }, { '6', CAY_TAR_FIFO },
        { 'S', CAY_TAR_SPARSE },     { 'x', CAY_TAR_PAX },       { 'X', CAY_TAR_PAX },
        { 'g', CAY_TAR_PAX_GLOBAL }, { 'L', CAY_TAR_LONG_NAME }, { 'K', CAY_TAR_LONG_LINK },
};

/* --- Reading --- */

static int octal_parse(const uint8_t *p, unsigned len, int64_t *ret)
{
        uint64_t v = 0;
        unsigned i = 0;

        while (i < len && p[i] == ' ')
                i++;
        for (; i < len && p[i] >= '0' && p[i] <= '7'; i++) {
                if (v > (INT64_MAX >> 3))
                        return -EINVAL;
                v = v << 3 | (uint64_t)(p[i] - '0');
        }
        for (; i < len; i++)
                if (p[i] != ' ' && p[i] != '\0')
                        return -EINVAL;
        *ret = (int64_t)v;
        return 0;
}

/* GNU's form of numbers that octal digits can't hold: big-endian two's complement behind a marker bit. */
static int binary_parse(const uint8_t *p, unsigned len, int64_t *ret)
{
        bool negative = p[0] & 0x40;
        uint64_t v = negative ? UINT64_MAX : 0;

        for (unsigned i = 0; i < len; i++) {
                uint8_t b = i == 0 ? (uint8_t)((p[0] & 0x3f) | (negative ? 0xc0 : 0)) : p[i];

                if (i + 8 < len && b != (negative ? 0xff : 0))
                        return -EINVAL;
                v = v << 8 | b;
        }
        if ((v >> 63) != negative)
                return -EINVAL;
        *ret = (int64_t)v;
        return 0;
}

static int number_parse(const uint8_t *block, struct field f, int64_t *ret)
{
        return block[f.at] & 0x80 ? binary_parse(block + f.at, f.len, ret)
                                  : octal_parse(block + f.at, f.len, ret);
}

static size_t text_copy(char *to, const uint8_t *block, struct field f)
{
        size_t len = strnlen((const char *)block + f.at, f.len);

        memcpy(to, block + f.at, len);
        to[len] = '\0';
        return len;
}

static int checksum_check(const uint8_t block[CAY_TAR_BLOCK])
{
        uint32_t sum = 0;
        int32_t old_sum = 0; /* some old writers added signed bytes */
        int64_t stored;

        for (unsigned i = 0; i < CAY_TAR_BLOCK; i++) {
                bool inside = i >= CHECKSUM.at && i < CHECKSUM.at + CHECKSUM.len;

                sum += inside ? ' ' : block[i];
                old_sum += inside ? ' ' : (int8_t)block[i];
        }
        if (octal_parse(block + CHECKSUM.at, CHECKSUM.len, &stored) < 0)
                return -EBADMSG;
        return stored == sum || stored == old_sum ? 0 : -EBADMSG;
}

static bool is_zero(const uint8_t block[CAY_TAR_BLOCK])
{
        return block[0] == 0 && memcmp(block, block + 1, CAY_TAR_BLOCK - 1) == 0;
}

int cay_tar_header_parse(const uint8_t block[CAY_TAR_BLOCK], struct cay_tar_header *ret)
{
        struct cay_tar_header h = { .type = CAY_TAR_OTHER };
        int64_t mode, size;
        size_t len = 0;
        int r;

        if (is_zero(block))
                return 0;
        r = checksum_check(block);
        if (r < 0)
                return r;

        for (size_t i = 0; i < CAY_COUNT(types); i++)
                if (types[i].flag == (char)block[TYPE_AT])
                        h.type = (enum cay_tar_type)types[i].type;

        if (number_parse(block, MODE, &mode) < 0 || number_parse(block, SIZE, &size) < 0 ||
            number_parse(block, MTIME, &h.mtime_s) < 0)
                return -EINVAL;
        if (mode < 0 || mode > UINT32_MAX || size < 0 || (uint64_t)size > SIZE_MAX_BYTES)
                return -EINVAL;
        h.mode = (uint32_t)mode;
        h.size = (uint64_t)size;

        /* Only POSIX's magic says that the prefix is one: GNU's has other fields in that place. */
        if (memcmp(block + MAGIC.at, "ustar", 6) == 0 && block[PREFIX.at]) {
                len = text_copy(h.name, block, PREFIX);
                h.name[len++] = '/';
        }
        text_copy(h.name + len, block, NAME);
        text_copy(h.link, block, LINK);
        *ret = h;
        return 1;
}

static int decimal_parse(struct cay_view v, uint64_t max, uint64_t *ret)
{
        uint64_t n = 0;

        if (v.len == 0)
                return -EINVAL;
        for (uint32_t i = 0; i < v.len; i++) {
                unsigned digit = (unsigned)v.ptr[i] - '0';

                if (digit > 9 || n > (max - digit) / 10)
                        return -EINVAL;
                n = n * 10 + digit;
        }
        *ret = n;
        return 0;
}

/* "1234", "-1.5", "1234.000000001": seconds and a fraction, of which nine digits count. */
static int time_parse(struct cay_view v, int64_t *ret_s, uint32_t *ret_ns)
{
        bool negative = v.len > 0 && v.ptr[0] == '-';
        struct cay_view whole = { v.ptr + negative, 0 };
        uint32_t ns = 0, unit = 100000000, i;
        uint64_t s;

        for (i = negative; i < v.len && v.ptr[i] != '.'; i++)
                whole.len++;
        if (decimal_parse(whole, INT64_MAX - 1, &s) < 0)
                return -EINVAL;
        for (i++; i < v.len; i++) {
                unsigned digit = (unsigned)v.ptr[i] - '0';

                if (digit > 9)
                        return -EINVAL;
                ns += digit * unit;
                unit /= 10;
        }
        *ret_s = negative ? -(int64_t)s : (int64_t)s;
        *ret_ns = ns;
        if (negative && ns > 0) {
                *ret_s -= 1;
                *ret_ns = 1000000000 - ns;
        }
        return 0;
}

static bool key_is(struct cay_view key, const char *name)
{
        return key.len == strlen(name) && memcmp(key.ptr, name, key.len) == 0;
}

/*
 * Keys behind "GNU.sparse.". Only form 1.0 is known, because older ones are ambiguous about names and sizes.
 */
static int sparse_apply(struct cay_tar_pax *pax, struct cay_view key, struct cay_view value)
{
        unsigned bit = CAY_TAR_SPARSE_OTHER;
        int r = 0;

        if (key_is(key, "major")) {
                bit = key_is(value, "1") ? CAY_TAR_SPARSE_MAJOR : CAY_TAR_SPARSE_OTHER;
        } else if (key_is(key, "minor")) {
                bit = key_is(value, "0") ? CAY_TAR_SPARSE_MINOR : CAY_TAR_SPARSE_OTHER;
        } else if (key_is(key, "name")) {
                bit = CAY_TAR_SPARSE_NAME;
                pax->has_path = true;
                pax->path = value;
                r = value.len == 0 || memchr(value.ptr, '\0', value.len) ? -EINVAL : 0;
        } else if (key_is(key, "realsize")) {
                bit = CAY_TAR_SPARSE_SIZE;
                r = decimal_parse(value, SIZE_MAX_BYTES, &pax->real_size);
        }
        pax->sparse |= bit;
        return r;
}

static int record_apply(struct cay_tar_pax *pax, struct cay_view key, struct cay_view value)
{
        static const char sparse[] = "GNU.sparse.";
        const uint32_t sparse_len = sizeof(sparse) - 1;

        if (key.len >= sparse_len && memcmp(key.ptr, sparse, sparse_len) == 0)
                return sparse_apply(pax, (struct cay_view){ key.ptr + sparse_len, key.len - sparse_len },
                                    value);
        /*
         * An empty value takes back what was said before. The name of a file with holes is the one in its own
         * key.
         */
        if (key_is(key, "path")) {
                if (!(pax->sparse & CAY_TAR_SPARSE_NAME)) {
                        pax->has_path = value.len > 0;
                        pax->path = value;
                }
                return memchr(value.ptr, '\0', value.len) ? -EINVAL : 0;
        }
        if (key_is(key, "linkpath")) {
                pax->has_link = value.len > 0;
                pax->link = value;
                return memchr(value.ptr, '\0', value.len) ? -EINVAL : 0;
        }
        if (key_is(key, "CAY.kind")) {
                pax->kind = value;
                return value.len > CAY_TAR_KIND_MAX || memchr(value.ptr, '\0', value.len) ? -EINVAL : 0;
        }
        if (key_is(key, "CAY.base")) {
                pax->base = value;
                return value.len > CAY_TAR_BASE_MAX || memchr(value.ptr, '\0', value.len) ? -EINVAL : 0;
        }
        if (key_is(key, "size")) {
                pax->has_size = value.len > 0;
                return value.len > 0 ? decimal_parse(value, SIZE_MAX_BYTES, &pax->size) : 0;
        }
        if (key_is(key, "mtime")) {
                pax->has_mtime = value.len > 0;
                return value.len > 0 ? time_parse(value, &pax->mtime_s, &pax->mtime_ns) : 0;
        }
        return 0;
}

int cay_tar_pax_parse(const void *mem, size_t len, struct cay_tar_pax *ret)
{
        struct cay_tar_pax pax = { 0 };
        const char *p = mem, *end = p + len;

        while (p < end) {
                struct cay_view number = { p, 0 }, key, value;
                const char *blank, *equals, *stop;
                uint64_t size;

                /*
                 * The length counts itself, so that it can't be shorter than "5 k=\n" nor longer than what is
                 * left.
                 */
                blank = memchr(p, ' ', (size_t)(end - p) < 8 ? (size_t)(end - p) : 8);
                if (!blank)
                        return -EINVAL;
                number.len = (uint32_t)(blank - p);
                if (decimal_parse(number, CAY_TAR_PAX_MAX, &size) < 0 || size > (uint64_t)(end - p) ||
                    size < (uint64_t)number.len + 3)
                        return -EINVAL;
                stop = p + size - 1;
                if (*stop != '\n')
                        return -EINVAL;
                equals = memchr(blank + 1, '=', (size_t)(stop - blank - 1));
                if (!equals || equals == blank + 1)
                        return -EINVAL;
                key = (struct cay_view){ blank + 1, (uint32_t)(equals - blank - 1) };
                value = (struct cay_view){ equals + 1, (uint32_t)(stop - equals - 1) };
                if (record_apply(&pax, key, value) < 0)
                        return -EINVAL;
                p = stop + 1;
        }
        *ret = pax;
        return 0;
}

/* --- Writing --- */

static void octal_put(uint8_t *block, struct field f, uint64_t v)
{
        block[f.at + f.len - 1] = '\0';
        for (unsigned i = f.len - 1; i-- > 0; v >>= 3)
                block[f.at + i] = (uint8_t)('0' + (v & 7));
}

static void checksum_put(uint8_t block[CAY_TAR_BLOCK])
{
        uint32_t sum = 0;

        memset(block + CHECKSUM.at, ' ', CHECKSUM.len);
        for (unsigned i = 0; i < CAY_TAR_BLOCK; i++)
                sum += block[i];
        octal_put(block, (struct field){ CHECKSUM.at, CHECKSUM.len - 1 }, sum);
}

/*
 * Where the name is cut in prefix and name: the length of the prefix, 0 for none, -1 if it does not fit at
 * all.
 */
static int prefix_find(const char *name, size_t len)
{
        if (len <= NAME.len)
                return 0;
        if (len > PREFIX.len + 1 + NAME.len)
                return -1;
        /* The name part must not be empty: a directory's closing slash is no place to cut. */
        for (size_t i = len - 1 - NAME.len; i <= PREFIX.len && i < len - 1; i++)
                if (i > 0 && name[i] == '/')
                        return (int)i;
        return -1;
}

static void block_put(uint8_t block[CAY_TAR_BLOCK], char flag, const char *name, size_t len, const char *link,
                      uint32_t mode, uint64_t size, int64_t mtime_s)
{
        int prefix = prefix_find(name, len);
        size_t link_len = strlen(link);

        memset(block, 0, CAY_TAR_BLOCK);
        if (prefix > 0) {
                memcpy(block + PREFIX.at, name, (size_t)prefix);
                name += prefix + 1;
                len -= (size_t)prefix + 1;
        }
        if (prefix < 0) {
                /*
                 * Cut, the whole is in the pax header; not behind a slash, which would say "directory" to
                 * some.
                 */
                for (len = NAME.len; name[len - 1] == '/' && len > 1;)
                        len--;
        }
        memcpy(block + NAME.at, name, len);
        memcpy(block + LINK.at, link, link_len < LINK.len ? link_len : LINK.len);
        octal_put(block, MODE, mode & 07777);
        octal_put(block, UID, 0);
        octal_put(block, GID, 0);
        octal_put(block, SIZE, size <= OCTAL_12_MAX ? size : 0);
        octal_put(block, MTIME, mtime_s >= 0 && (uint64_t)mtime_s <= OCTAL_12_MAX ? (uint64_t)mtime_s : 0);
        octal_put(block, DEV_MAJOR, 0);
        octal_put(block, DEV_MINOR, 0);
        block[TYPE_AT] = (uint8_t)flag;
        memcpy(block + MAGIC.at, "ustar\00000", MAGIC.len);
        checksum_put(block);
}

/*
 * One record, whose length counts its own digits. Returns the end of what was written, or NULL if it does not
 * fit.
 */
static char *record_put(char *at, char *end, const char *key, const char *value, size_t len)
{
        size_t bare = strlen(key) + len + 3, total = bare + 1, digits = 1, rest;
        int n;

        for (size_t limit = 10; total >= limit; limit *= 10) {
                digits++;
                total = bare + digits;
        }
        if (!at || total > (size_t)(end - at))
                return NULL;
        n = snprintf(at, (size_t)(end - at), "%zu %s=", total, key);
        rest = total - (size_t)n;
        if (n < 0 || rest != len + 1)
                return NULL;
        memcpy(at + n, value, len);
        at[n + (int)len] = '\n';
        return at + total;
}

static char *number_put(char *at, char *end, const char *key, uint64_t v)
{
        char text[24];
        int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)v);

        return record_put(at, end, key, text, (size_t)n);
}

static char *sparse_put(char *at, char *end, const struct cay_tar_member *m, size_t name_len)
{
        at = record_put(at, end, "GNU.sparse.major", "1", 1);
        at = record_put(at, end, "GNU.sparse.minor", "0", 1);
        at = record_put(at, end, "GNU.sparse.name", m->name, name_len);
        return number_put(at, end, "GNU.sparse.realsize", m->size);
}

unsigned cay_tar_map_line(uint64_t number, char ret[CAY_TAR_MAP_LINE])
{
        return (unsigned)snprintf(ret, CAY_TAR_MAP_LINE, "%llu\n", (unsigned long long)number);
}

uint64_t cay_tar_map_bytes(const struct cay_tar_piece *pieces, size_t count)
{
        char line[CAY_TAR_MAP_LINE];
        uint64_t bytes = cay_tar_map_line(count, line);

        for (size_t i = 0; i < count; i++)
                bytes += cay_tar_map_line(pieces[i].at, line) + cay_tar_map_line(pieces[i].len, line);
        return bytes;
}

static char *time_put(char *at, char *end, int64_t s, uint32_t ns)
{
        bool negative = s < 0;
        uint64_t whole = negative ? (uint64_t) - (s + (ns > 0)) : (uint64_t)s;
        char text[40];
        int n = snprintf(text, sizeof(text), "%s%llu", negative ? "-" : "", (unsigned long long)whole);

        if (ns > 0)
                n += snprintf(text + n, sizeof(text) - (size_t)n, ".%09u", negative ? 1000000000 - ns : ns);
        return record_put(at, end, "mtime", text, (size_t)n);
}

static const char *last_name(const char *name)
{
        const char *slash = strrchr(name, '/');

        return slash ? slash + 1 : name;
}

int cay_tar_member_format(const struct cay_tar_member *m, void *mem, size_t size)
{
        size_t len = strlen(m->name), link_len = strlen(m->link), records_len, padding;
        bool long_name = prefix_find(m->name, len)<0, long_link = link_len> LINK.len;
        size_t kind_len = m->kind ? strlen(m->kind) : 0, base_len = m->base ? strlen(m->base) : 0;
        bool sparse = m->stored > 0;
        uint64_t stored = sparse ? m->stored : m->size;
        bool big = stored > OCTAL_12_MAX;
        /* Whoever does not know the form unpacks map and data under a name that says so. */
        char aside[sizeof(SPARSE_FOLDER) + 64];
        bool far = m->mtime_s < 0 || (uint64_t)m->mtime_s > OCTAL_12_MAX;
        uint8_t *out = mem;
        char *records, *end, *at;
        char flag = '\0';

        if (len == 0 || m->size > SIZE_MAX_BYTES || stored > SIZE_MAX_BYTES ||
            (sparse && m->type != CAY_TAR_FILE))
                return -EINVAL;
        if (kind_len > CAY_TAR_KIND_MAX || base_len > CAY_TAR_BASE_MAX)
                return -EINVAL;
        if (len > CAY_TAR_NAME_MAX || link_len > CAY_TAR_NAME_MAX)
                return -ENAMETOOLONG;
        for (size_t i = CAY_COUNT(types); i-- > 0;) /* the first flag of a type is the one to write */
                if (types[i].type == m->type)
                        flag = types[i].flag;
        if (m->type != CAY_TAR_FILE && m->type != CAY_TAR_LINK && m->type != CAY_TAR_SYMLINK &&
            m->type != CAY_TAR_DIRECTORY)
                return -EINVAL;
        if (m->mtime_s < -(INT64_MAX - 1) || m->mtime_s > INT64_MAX - 1 || m->mtime_ns > 999999999)
                return -EINVAL;
        if (size < CAY_TAR_BLOCK)
                return -EMSGSIZE;
        if (!long_name && !long_link && !big && !far && !sparse && kind_len == 0 && base_len == 0) {
                block_put(out, flag, m->name, len, m->link, m->mode, m->size, m->mtime_s);
                return CAY_TAR_BLOCK;
        }

        /* Header of the records, records, padding, then the member's own header with what fits. */
        if (size < 3 * CAY_TAR_BLOCK)
                return -EMSGSIZE;
        records = at = (char *)out + CAY_TAR_BLOCK;
        end = (char *)out + size - 2 * CAY_TAR_BLOCK;
        if (sparse)
                at = sparse_put(at, end, m, len);
        else if (long_name)
                at = record_put(at, end, "path", m->name, len);
        if (long_link)
                at = record_put(at, end, "linkpath", m->link, link_len);
        if (big)
                at = number_put(at, end, "size", stored);
        if (far || m->mtime_ns > 0)
                at = time_put(at, end, m->mtime_s, m->mtime_ns);
        if (kind_len > 0)
                at = record_put(at, end, "CAY.kind", m->kind, kind_len);
        if (base_len > 0)
                at = record_put(at, end, "CAY.base", m->base, base_len);
        if (!at)
                return -EMSGSIZE;
        records_len = (size_t)(at - records);
        padding = cay_tar_padding(records_len);
        memset(at, 0, padding);
        block_put(out, 'x', "pax_header", 10, "", 0644, records_len, 0);
        snprintf(aside, sizeof(aside), SPARSE_FOLDER "%.60s", last_name(m->name));
        block_put((uint8_t *)at + padding, flag, sparse ? aside : m->name, sparse ? strlen(aside) : len,
                  m->link, m->mode, stored, m->mtime_s);
        return (int)(CAY_TAR_BLOCK + records_len + padding + CAY_TAR_BLOCK);
}
