/* SPDX-License-Identifier: Apache-2.0 */
/* Versions, the user, the place, and the ids that we may use. Reads only. */
#include <errno.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "foundation/base/str.h"
#include "cay/doctor/facts_priv.h"
#include "cay/doctor/host_text.h"
#include "foundation/sys/caps.h"
#include "foundation/sys/fd.h"

#define RANGES_MAX (1u << 20) /* of /etc/subuid; a longer one is cut */

static void collect_versions(struct cay_doctor_facts *f)
{
        char text[4096];
        struct utsname u;

        if (uname(&u) == 0) {
                snprintf(f->kernel, sizeof(f->kernel), "%s", u.release);
                snprintf(f->machine, sizeof(f->machine), "%s", u.machine);
        }
        if (sys_read_file(AT_FDCWD, "/etc/os-release", text, sizeof(text)) > 0 ||
            sys_read_file(AT_FDCWD, "/usr/lib/os-release", text, sizeof(text)) > 0)
                cay_doctor_os_release(text, f->distribution, sizeof(f->distribution));
}

static void collect_user(struct cay_doctor_facts *f)
{
        const uint64_t map_caps = SYS_CAP(CAP_SETUID) | SYS_CAP(CAP_SETGID);
        uint64_t effective = 0, permitted, inheritable;
        const struct passwd *pw;

        f->uid = geteuid();
        f->maps_any = !f->at.nested && sys_caps_get(&effective, &permitted, &inheritable) == 0 &&
                      (effective & map_caps) == map_caps;
        pw = getpwuid(f->uid);
        if (pw != NULL && f->at.ids_mapped)
                cay_str_copy(f->user, sizeof(f->user), pw->pw_name);
        cay_doctor_make_plain(f->user);
        f->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

/* NULL: there is no such file. */
static char *read_text(const char *path)
{
        cay_auto_free char *text = malloc(RANGES_MAX);

        return text == NULL || sys_read_file(AT_FDCWD, path, text, RANGES_MAX) < 0 ? NULL : cay_take(text);
}

static void judge_text(const char *text, const struct cay_doctor_facts *f, struct cay_doctor_ranges *ret)
{
        if (text == NULL)
                return;
        ret->has_file = true;
        ret->ids = cay_doctor_id_ranges(text, f->user, f->uid, &ret->first);
}

static void collect_ranges(struct cay_doctor_facts *f)
{
        cay_auto_free char *subuid = read_text("/etc/subuid"), *subgid = read_text("/etc/subgid");
        cay_auto_free char *passwd = read_text("/etc/passwd"), *group = read_text("/etc/group");
        const struct cay_doctor_id_texts all = { .ids = { subuid, subgid }, .people = { passwd, group } };

        judge_text(subuid, f, &f->subuid);
        judge_text(subgid, f, &f->subgid);
        f->free_ids = cay_doctor_free_range(&all, CAY_DOCTOR_RANGE);
}

static void look_at_helper(const char *path, unsigned cap, struct cay_doctor_helper *ret)
{
        struct statvfs vfs;
        struct stat st;
        char value[64];
        ssize_t n;

        if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0 ||
            !cay_str_copy(ret->path, sizeof(ret->path), path))
                return;
        ret->set_id = st.st_uid == 0 && st.st_mode & S_ISUID;
        n = getxattr(path, "security.capability", value, sizeof(value));
        ret->has_cap = n > 0 && cay_doctor_file_has_cap(value, (size_t)n, cap);
        ret->nosuid = statvfs(path, &vfs) == 0 && vfs.f_flag & ST_NOSUID;
        cay_doctor_make_plain(ret->path);
}

static void find_helper(const char *path_list, const char *name, unsigned cap, struct cay_doctor_helper *ret)
{
        char path[256];

        while (*path_list != '\0' && ret->path[0] == '\0') {
                int len = (int)strcspn(path_list, ":");

                if (len > 0 && path_list[0] == '/' &&
                    snprintf(path, sizeof(path), "%.*s/%s", len, path_list, name) < (int)sizeof(path))
                        look_at_helper(path, cap, ret);
                path_list += len + (path_list[len] == ':');
        }
}

void cay_doctor_collect_host(const char *path, struct cay_doctor_facts *f)
{
        if (path == NULL)
                path = "";
        sys_userns_facts_collect(&f->at);
        collect_versions(f);
        collect_user(f);
        collect_ranges(f);
        look_at_helper("/usr/bin/newuidmap", CAP_SETUID, &f->newuidmap);
        look_at_helper("/usr/bin/newgidmap", CAP_SETGID, &f->newgidmap);
        find_helper(path, "newuidmap", CAP_SETUID, &f->newuidmap);
        find_helper(path, "newgidmap", CAP_SETGID, &f->newgidmap);
}
