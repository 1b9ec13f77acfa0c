/* SPDX-License-Identifier: Apache-2.0 */
/* Parses control groups from text. */
#include "cay/doctor/cgroup_text.h"

#include "foundation/base/cleanup.h"
#include "foundation/sys/mountinfo.h"

static const char *const names[] = {
        [CAY_DOCTOR_MEMORY] = "memory",
        [CAY_DOCTOR_CPU] = "cpu",
        [CAY_DOCTOR_CPUSET] = "cpuset",
        [CAY_DOCTOR_PIDS] = "pids",
};
_Static_assert(CAY_COUNT(names) == CAY_DOCTOR_CONTROLLERS, "a name for every controller");

static unsigned bit_of(const char *word, size_t len)
{
        for (unsigned i = 0; i < CAY_COUNT(names); i++)
                if (strlen(names[i]) == len && memcmp(names[i], word, len) == 0)
                        return 1u << i;
        return 0;
}

unsigned cay_doctor_controllers_parse(const char *text, size_t len, char sep)
{
        const char *end = text + len;
        unsigned bits = 0;

        while (text < end) {
                const char *word = text;

                while (text < end && *text != sep && *text != '\n')
                        text++;
                bits |= bit_of(word, (size_t)(text - word));
                text++;
        }
        return bits;
}

const char *cay_doctor_controllers_text(unsigned bits, char *buf, size_t size)
{
        size_t at = 0;

        buf[0] = '\0';
        for (unsigned i = 0; i < CAY_COUNT(names); i++) {
                int n;

                if (!(bits & 1u << i))
                        continue;
                n = snprintf(buf + at, size - at, "%s%s", at > 0 ? ", " : "", names[i]);
                if (n < 0 || (size_t)n >= size - at) {
                        buf[at] = '\0';
                        break;
                }
                at += (size_t)n;
        }
        return buf;
}

/* "ID:controllers:PATH": our path in the hierarchy with one of `bits` (0: the unified one). */
static bool find_path(const char *self_cgroup, unsigned bits, char *path, size_t size)
{
        for (const char *line = self_cgroup; *line != '\0';) {
                const char *end = strchrnul(line, '\n'), *list = memchr(line, ':', (size_t)(end - line));
                const char *at = list != NULL ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;

                if (at != NULL) {
                        size_t len = (size_t)(at - list - 1);
                        bool is_ours = bits != 0 ? cay_doctor_controllers_parse(list + 1, len, ',') & bits
                                                 : len == 0;

                        if (is_ours && (size_t)(end - at - 1) < size) {
                                snprintf(path, size, "%.*s", (int)(end - at - 1), at + 1);
                                return true;
                        }
                }
                line = *end == '\n' ? end + 1 : end;
        }
        return false;
}

/* A mount shows the tree from its root: our folder is below the mount only if our path is below that root. */
static void join(const struct sys_mountinfo *m, const char *path, char *dir)
{
        const char *rest = path;

        if (!sys_mountinfo_field_is(m->root, m->root_len, "/")) {
                size_t len = (size_t)m->root_len;

                if (strncmp(path, m->root, len) != 0 || (path[len] != '\0' && path[len] != '/'))
                        return;
                rest = path + len;
        }
        if (path[0] != '/' || strstr(rest, "/..") != NULL) /* outside of the cgroup namespace */
                return;
        if (strcmp(rest, "/") == 0)
                rest = "";
        if (snprintf(dir, CAY_DOCTOR_CGROUP_DIR, "%.*s%s", m->point_len, m->point, rest) >=
            CAY_DOCTOR_CGROUP_DIR)
                dir[0] = '\0';
}

static void take_v1(const char *self_cgroup, const struct sys_mountinfo *m,
                    struct cay_doctor_cgroup_dirs *ret)
{
        unsigned bits = cay_doctor_controllers_parse(m->options, (size_t)m->options_len, ',');
        char path[CAY_DOCTOR_CGROUP_DIR];

        for (unsigned i = 0; i < CAY_DOCTOR_CONTROLLERS; i++)
                if (bits & 1u << i && find_path(self_cgroup, 1u << i, path, sizeof(path)))
                        join(m, path, ret->v1[i]);
}

void cay_doctor_cgroup_parse(const char *self_cgroup, const char *mountinfo,
                             enum cay_doctor_cgroup_version *ret_version, struct cay_doctor_cgroup_dirs *ret)
{
        bool has_v1 = false, has_v2 = false;
        char path[CAY_DOCTOR_CGROUP_DIR];
        struct sys_mountinfo m;

        memset(ret, 0, sizeof(*ret));
        while (sys_mountinfo_next(&mountinfo, &m)) {
                if (sys_mountinfo_field_is(m.type, m.type_len, "cgroup")) {
                        has_v1 = true;
                        take_v1(self_cgroup, &m, ret);
                } else if (sys_mountinfo_field_is(m.type, m.type_len, "cgroup2")) {
                        has_v2 = true;
                        if (find_path(self_cgroup, 0, path, sizeof(path)))
                                join(&m, path, ret->v2);
                }
        }
        *ret_version = has_v1 && has_v2 ? CAY_DOCTOR_CGROUP_BOTH
                       : has_v1         ? CAY_DOCTOR_CGROUP_1
                       : has_v2         ? CAY_DOCTOR_CGROUP_2
                                        : CAY_DOCTOR_CGROUP_NONE;
}
