/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-init/files_attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"

#define PREFIX "user.e2b."
#define NAME_MAX_BYTES 255u /* of an attribute's whole name: the kernel's maximum */
#define NAMES_MAX (16u * 1024)
#define VALUE_MAX 4096u

static char names[NAMES_MAX]; /* a worker does one thing at a time */

static bool is_printable(const char *text, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (text[i] < ' ' || text[i] > '~')
                        return false;
        return true;
}

/* The pair at *at, which moves behind it. False: malformed. */
static bool read_pair(const char **at, char name[NAME_MAX_BYTES + 1], const char **ret_value, size_t *ret_len)
{
        size_t name_len = strcspn(*at, "\t\n"), value_len;
        const char *value = *at + name_len + 1;

        if ((*at)[name_len] != '\t' || name_len == 0 || !is_printable(*at, name_len))
                return false;
        value_len = strcspn(value, "\n");
        if (value[value_len] != '\n' || value_len > VALUE_MAX || !is_printable(value, value_len) ||
            snprintf(name, NAME_MAX_BYTES + 1, PREFIX "%.*s", (int)name_len, *at) > (int)NAME_MAX_BYTES)
                return false;
        *ret_value = value;
        *ret_len = value_len;
        *at = value + value_len + 1;
        return true;
}

static int check(const char *text)
{
        char name[NAME_MAX_BYTES + 1];
        const char *value;
        size_t len;

        while (*text)
                if (!read_pair(&text, name, &value, &len))
                        return -EINVAL;
        return 0;
}

/* A file system without attributes has none to remove. */
static int remove_all(int fd)
{
        ssize_t len = flistxattr(fd, names, sizeof(names));

        if (len < 0)
                return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -errno;
        for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1)
                if (strncmp(names + at, PREFIX, strlen(PREFIX)) == 0 && fremovexattr(fd, names + at) < 0)
                        return -errno;
        return 0;
}

int cay_files_attributes_set(int fd, const char *text)
{
        char name[NAME_MAX_BYTES + 1];
        const char *value;
        size_t len;
        int r = check(text);

        if (r == 0)
                r = remove_all(fd);
        while (r == 0 && *text)
                if (!read_pair(&text, name, &value, &len) || fsetxattr(fd, name, value, len, 0) < 0)
                        r = -errno;
        return r;
}

void cay_files_attributes_get(int fd, char *ret, size_t size)
{
        static char value[VALUE_MAX];
        ssize_t len = flistxattr(fd, names, sizeof(names)), value_len;
        size_t used = 0;

        ret[0] = '\0';
        for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
                const char *name = names + at + strlen(PREFIX);
                int n;

                if (strncmp(names + at, PREFIX, strlen(PREFIX)) != 0 || !*name ||
                    !is_printable(name, strlen(name)))
                        continue;
                value_len = fgetxattr(fd, names + at, value, sizeof(value));
                if (value_len < 0 || !is_printable(value, (size_t)value_len))
                        continue;
                n = snprintf(ret + used, size - used, "%s\t%.*s\n", name, (int)value_len, value);
                if (n < 0 || (size_t)n >= size - used)
                        ret[used] = '\0'; /* it does not fit; a shorter one may */
                else
                        used += (size_t)n;
        }
}

void cay_files_attributes_find(int fd, const char *path, char *ret, size_t size)
{
        cay_auto_close int file = openat(fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

        ret[0] = '\0';
        if (file >= 0)
                cay_files_attributes_get(file, ret, size);
}
