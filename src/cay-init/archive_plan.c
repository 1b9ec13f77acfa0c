/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions on archive members: names, types, modes, limits. No file is touched here. */

#include "cay-init/archive_plan.h"

#include "foundation/base/files_text.h"

enum { COMPONENT_MAX = 255 };

static const struct cay_tar_sink_ops sink_ops;

void cay_archive_plan_init(struct cay_archive_plan *p, struct cay_archive_actions *actions,
                           uint64_t max_bytes, uint64_t max_entries)
{
        p->sink.ops = &sink_ops;
        p->actions = actions;
        p->max_bytes = max_bytes > 0 ? max_bytes : UINT64_MAX;
        p->max_entries = max_entries > 0 ? max_entries : CAY_ARCHIVE_ENTRIES_MAX;
        p->bytes = p->entries = 0;
        cay_tar_reader_init(&p->reader, &p->sink);
}

int cay_archive_plan_feed(struct cay_archive_plan *p, const void *bytes, size_t len, struct cay_error *err)
{
        return cay_tar_reader_feed(&p->reader, bytes, len, err);
}

int cay_archive_plan_finish(struct cay_archive_plan *p, struct cay_error *err)
{
        return cay_tar_reader_finish(&p->reader, err);
}

int cay_archive_path_clean(const char *name, char ret[CAY_TAR_NAME_MAX + 1], const char **ret_why)
{
        size_t len = 0, depth = 0, n;

        if (*name == '/') {
                *ret_why = "its name is absolute";
                return -1;
        }
        if (*name == '\0') {
                *ret_why = "it has no name";
                return -1;
        }
        for (; *name; name += n + (name[n] == '/')) {
                n = strcspn(name, "/");
                if (n == 0 || (n == 1 && name[0] == '.'))
                        continue;
                if (n == 2 && name[0] == '.' && name[1] == '.') {
                        *ret_why = "its name has a '..' in it";
                        return -1;
                }
                if (n > COMPONENT_MAX || len + n + 1 > CAY_TAR_NAME_MAX || ++depth > CAY_ARCHIVE_DEPTH_MAX) {
                        *ret_why = "its name is too long or too deep";
                        return -1;
                }
                if (len > 0)
                        ret[len++] = '/';
                memcpy(ret + len, name, n);
                len += n;
        }
        ret[len] = '\0';
        return (int)len;
}

static int refuse(const struct cay_tar_member *m, struct cay_error *err, enum cay_code code, const char *why)
{
        struct cay_files_text t;

        return cay_fail(err, code, "member '%s': %s", cay_files_quote(&t, m->name), why);
}

/* Counted before anything is made: what would go beyond a limit is not begun. */
static int limits_check(struct cay_archive_plan *p, const struct cay_tar_member *m, struct cay_error *err)
{
        struct cay_files_text t;

        if (p->entries >= p->max_entries)
                return cay_fail(err, CAY_LIMIT, "member '%s': more than %llu members",
                                cay_files_quote(&t, m->name), (unsigned long long)p->max_entries);
        if (m->size > p->max_bytes - p->bytes)
                return cay_fail(err, CAY_LIMIT, "member '%s': more than %llu bytes of files",
                                cay_files_quote(&t, m->name), (unsigned long long)p->max_bytes);
        p->entries++;
        p->bytes += m->size;
        return 0;
}

static int on_member(struct cay_tar_sink *sink, const struct cay_tar_member *m, struct cay_error *err)
{
        struct cay_archive_plan *p = cay_container_of(sink, struct cay_archive_plan, sink);
        const struct cay_archive_action_ops *ops = p->actions->ops;
        struct cay_tar_member cut = *m;
        const char *why = "";
        int len;

        if (m->type == CAY_TAR_DEVICE || m->type == CAY_TAR_FIFO)
                return refuse(m, err, CAY_DENIED, "devices and FIFOs are not unpacked");
        len = cay_archive_path_clean(m->name, p->path, &why);
        if (len < 0)
                return refuse(m, err, CAY_DENIED, why);
        if (limits_check(p, m, err) < 0)
                return -1;
        cut.mode &= 0777;
        if (len == 0) {
                /* "./": the target is there already and stays as it is. */
                if (m->type == CAY_TAR_DIRECTORY)
                        return 0;
                return refuse(m, err, CAY_DENIED, "only a directory can be the target itself");
        }

        switch (m->type) {
        case CAY_TAR_DIRECTORY:
                return ops->directory(p->actions, p->path, &cut, err);
        case CAY_TAR_FILE:
                return ops->file_begin(p->actions, p->path, &cut, err);
        case CAY_TAR_SYMLINK:
                if (m->link[0] == '\0')
                        return refuse(m, err, CAY_INVALID, "a symbolic link without a target");
                return ops->symlink(p->actions, p->path, &cut, err);
        case CAY_TAR_LINK:
                len = cay_archive_path_clean(m->link, p->target, &why);
                if (len <= 0)
                        return refuse(m, err, CAY_DENIED, "a hard link whose target leaves the archive");
                return ops->link(p->actions, p->path, p->target, err);
        default:
                return refuse(m, err, CAY_INVALID, "unknown type of member");
        }
}

static int on_data(struct cay_tar_sink *sink, const void *bytes, size_t len, struct cay_error *err)
{
        struct cay_archive_plan *p = cay_container_of(sink, struct cay_archive_plan, sink);

        return p->actions->ops->file_data(p->actions, bytes, len, err);
}

static int on_hole(struct cay_tar_sink *sink, uint64_t len, struct cay_error *err)
{
        struct cay_archive_plan *p = cay_container_of(sink, struct cay_archive_plan, sink);

        return p->actions->ops->file_hole(p->actions, len, err);
}

static int on_end(struct cay_tar_sink *sink, struct cay_error *err)
{
        struct cay_archive_plan *p = cay_container_of(sink, struct cay_archive_plan, sink);

        return p->actions->ops->file_end(p->actions, err);
}

static const struct cay_tar_sink_ops sink_ops = {
        .member = on_member,
        .data = on_data,
        .end = on_end,
        .hole = on_hole,
};
