/* SPDX-License-Identifier: Apache-2.0 */
/* The record that says what the base had: written by cay-init, read back strictly. */
#include "foundation/tar/change.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "foundation/base/path.h"

static const char letters[] = {
        [CAY_CHANGE_FILE] = 'f',
        [CAY_CHANGE_DIRECTORY] = 'd',
        [CAY_CHANGE_SYMLINK] = 'l',
        [CAY_CHANGE_OTHER] = 'o',
};

static enum cay_change_type type_of(mode_t mode)
{
        switch (mode & S_IFMT) {
        case S_IFREG:
                return CAY_CHANGE_FILE;
        case S_IFDIR:
                return CAY_CHANGE_DIRECTORY;
        case S_IFLNK:
                return CAY_CHANGE_SYMLINK;
        default:
                return CAY_CHANGE_OTHER;
        }
}

static int64_t nanoseconds(const struct timespec *t)
{
        int64_t ns;

        if (__builtin_mul_overflow((int64_t)t->tv_sec, INT64_C(1000000000), &ns) ||
            __builtin_add_overflow(ns, (int64_t)t->tv_nsec, &ns))
                return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
        return ns;
}

void cay_change_base_of(const struct stat *st, struct cay_change_base *ret)
{
        *ret = (struct cay_change_base){
                .type = type_of(st->st_mode),
                .mode = st->st_mode & 07777,
                .size = st->st_size > 0 ? (uint64_t)st->st_size : 0,
                .ino = st->st_ino,
                .mtime_ns = nanoseconds(&st->st_mtim),
                .ctime_ns = nanoseconds(&st->st_ctim),
        };
}

unsigned cay_change_base_format(const struct cay_change_base *base, char ret[CAY_TAR_BASE_MAX + 1])
{
        int n = 0;

        ret[0] = '\0';
        if (base->type == CAY_CHANGE_UNKNOWN)
                n = snprintf(ret, CAY_TAR_BASE_MAX + 1, "?");
        else if (base->type != CAY_CHANGE_NONE)
                n = snprintf(ret, CAY_TAR_BASE_MAX + 1, "%c:%o:%llu:%lld:%lld:%llu", letters[base->type],
                             (unsigned)base->mode, (unsigned long long)base->size, (long long)base->mtime_ns,
                             (long long)base->ctime_ns, (unsigned long long)base->ino);
        return n > 0 ? (unsigned)n : 0;
}

/* A number and the character behind it; strtoull's signs and blanks never get here. */
static int number(const char **at, unsigned base, uint64_t max, char stop, uint64_t *ret)
{
        const char *p = *at;
        uint64_t v = 0;

        if (*p == '\0' || *p == stop)
                return -EINVAL;
        for (; *p != stop; p++) {
                unsigned digit = (unsigned)(unsigned char)*p - '0';

                if (digit >= base || v > (max - digit) / base)
                        return -EINVAL;
                v = v * base + digit;
        }
        *at = stop ? p + 1 : p;
        *ret = v;
        return 0;
}

static int signed_number(const char **at, char stop, int64_t *ret)
{
        bool negative = **at == '-';
        uint64_t v;

        *at += negative;
        if (number(at, 10, (uint64_t)INT64_MAX + negative, stop, &v) < 0)
                return -EINVAL;
        *ret = negative ? (int64_t)(0 - v) : (int64_t)v;
        return 0;
}

int cay_change_base_parse(const char *text, struct cay_change_base *ret)
{
        struct cay_change_base b = { .type = CAY_CHANGE_NONE };
        char again[CAY_TAR_BASE_MAX + 1];
        const char *at = text;
        uint64_t mode;

        if (!text || !*text) {
                *ret = b;
                return 0;
        }
        if (strcmp(text, "?") == 0) {
                *ret = (struct cay_change_base){ .type = CAY_CHANGE_UNKNOWN };
                return 0;
        }
        for (unsigned i = CAY_CHANGE_FILE; i <= CAY_CHANGE_OTHER; i++)
                if (letters[i] == text[0])
                        b.type = (enum cay_change_type)i;
        if (b.type == CAY_CHANGE_NONE || text[1] != ':')
                return -EINVAL;
        at += 2;
        if (number(&at, 8, 07777, ':', &mode) < 0 || number(&at, 10, INT64_MAX, ':', &b.size) < 0 ||
            signed_number(&at, ':', &b.mtime_ns) < 0 || signed_number(&at, ':', &b.ctime_ns) < 0 ||
            number(&at, 10, UINT64_MAX, '\0', &b.ino) < 0)
                return -EINVAL;
        b.mode = (uint32_t)mode;
        /* One way to write a number: no zeros in front, no "-0". */
        cay_change_base_format(&b, again);
        if (strcmp(again, text) != 0)
                return -EINVAL;
        *ret = b;
        return 0;
}

bool cay_change_path_is_valid(const char *path)
{
        if (strnlen(path, CAY_CHANGE_PATH_MAX + 1) > CAY_CHANGE_PATH_MAX || !cay_path_is_inside(path))
                return false;
        for (size_t n; *path; path += n + (path[n] == '/')) {
                n = strcspn(path, "/");
                if (n > CAY_CHANGE_NAME_MAX || (n == 1 && path[0] == '.'))
                        return false;
        }
        return true;
}
