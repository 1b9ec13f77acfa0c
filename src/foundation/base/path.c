/* SPDX-License-Identifier: Apache-2.0 */
/* Path strings, component by component. */

#include "foundation/base/path.h"

static bool is_dots(const char *s, size_t len)
{
        return len == 2 && s[0] == '.' && s[1] == '.';
}

bool cay_path_is_inside(const char *path)
{
        for (;;) {
                size_t len = strcspn(path, "/");

                if (len == 0 || is_dots(path, len))
                        return false;
                if (path[len] == '\0')
                        return true;
                path += len + 1;
        }
}

bool cay_path_is_plain(const char *path)
{
        if (!cay_path_is_inside(path))
                return false;
        for (;;) {
                size_t len = strcspn(path, "/");

                if (len == 1 && path[0] == '.')
                        return false;
                if (path[len] == '\0')
                        return true;
                path += len + 1;
        }
}

bool cay_path_is_name(const char *name)
{
        size_t len = strlen(name);

        return len > 0 && !memchr(name, '/', len) && !(len == 1 && name[0] == '.') && !is_dots(name, len);
}

const char *cay_path_base(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}
