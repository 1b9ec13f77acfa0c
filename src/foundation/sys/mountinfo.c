/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc/PID/mountinfo. */
#include "foundation/sys/mountinfo.h"

#include "foundation/sys/fd.h"

#define FIELD_ROOT 3
#define FIELD_POINT 4

/* A blank-separated field of one line, counted from 0; its length, 0 when there is none. */
static int field(const char *line, const char *end, unsigned nr, const char **ret)
{
        const char *at = line;

        for (; nr > 0; nr--) {
                at = memchr(at, ' ', (size_t)(end - at));
                if (at == NULL)
                        return 0;
                at++;
        }
        *ret = at;
        while (at < end && *at != ' ')
                at++;
        return (int)(at - *ret);
}

static const char *find_dash(const char *line, const char *end)
{
        for (const char *at = line; at + 3 <= end; at++)
                if (memcmp(at, " - ", 3) == 0)
                        return at + 3;
        return NULL;
}

/* id parent major:minor ROOT POINT options [optional…] - TYPE source OPTIONS */
static bool parse(const char *line, const char *end, struct sys_mountinfo *m)
{
        const char *rest = find_dash(line, end);

        if (rest == NULL)
                return false;
        m->root_len = field(line, rest, FIELD_ROOT, &m->root);
        m->point_len = field(line, rest, FIELD_POINT, &m->point);
        m->type_len = field(rest, end, 0, &m->type);
        m->options_len = field(rest, end, 2, &m->options);
        return m->root_len > 0 && m->point_len > 0 && m->type_len > 0 && m->options_len > 0;
}

bool sys_mountinfo_next(const char **at, struct sys_mountinfo *ret)
{
        while (**at != '\0') {
                const char *line = *at, *end = strchrnul(line, '\n');

                *at = *end == '\n' ? end + 1 : end;
                if (parse(line, end, ret))
                        return true;
        }
        return false;
}

bool sys_mountinfo_field_is(const char *field, int len, const char *text)
{
        return (size_t)len == strlen(text) && memcmp(field, text, (size_t)len) == 0;
}

bool sys_mountinfo_has_root(const char *text)
{
        struct sys_mountinfo m;

        while (sys_mountinfo_next(&text, &m))
                if (sys_mountinfo_field_is(m.point, m.point_len, "/"))
                        return true;
        return false;
}

void sys_mountinfo_read(char *text, size_t size)
{
        if (sys_read_file(AT_FDCWD, "/proc/self/mountinfo", text, size) < 0)
                text[0] = '\0';
}
