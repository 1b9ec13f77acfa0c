/* SPDX-License-Identifier: Apache-2.0 */
/* A file in E2B's words. */
#include "dialects/e2b/e2b_entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/e2b/e2b_priv.h"

static const char *owner_name(int64_t id, char room[24])
{
        if (id == 0 || id == 1001)
                return id == 0 ? "root" : "user";
        snprintf(room, 24, "%" PRId64, id);
        return room;
}

static void put_permissions(struct cay_json *j, char type, unsigned mode)
{
        static const char letters[] = "rwxrwxrwx";
        char text[11] = { type };

        for (unsigned i = 0; i < 9; i++)
                text[i + 1] = mode >> (8 - i) & 1 ? letters[i] : '-';
        cay_op_key_text(j, "permissions", text);
}

static const char *type_word(const char *type)
{
        return strcmp(type, "directory") == 0 ? "FILE_TYPE_DIRECTORY"
               : strcmp(type, "symlink") == 0 ? "FILE_TYPE_SYMLINK"
                                              : "FILE_TYPE_FILE";
}

/* Where a link points, against the folder that it is in. */
static void put_target(struct cay_json *j, const char *path, const char *target)
{
        char whole[8192];
        const char *slash = strrchr(path, '/');

        if (target[0] == '/' || !slash)
                snprintf(whole, sizeof(whole), "%s", target);
        else
                snprintf(whole, sizeof(whole), "%.*s/%s", (int)(slash - path), path, target);
        cay_op_key_text(j, "symlinkTarget", whole);
}

void e2b_entry_put(struct cay_json *j, const struct cay_json_value *file, const char *path,
                   const struct cay_json_value *target)
{
        const struct cay_json_value *meant = target ? target : file;
        const char *slash = strrchr(path, '/'), *type = e2b_text(meant, "type"),
                   *link = e2b_text(file, "target");
        unsigned mode = (unsigned)strtoul(e2b_text(meant, "mode"), NULL, 8);
        bool is_link = strcmp(e2b_text(file, "type"), "symlink") == 0;
        int64_t uid = 0, gid = 0, size = 0;
        char room[24];

        e2b_number(file, "uid", &uid);
        e2b_number(file, "gid", &gid);
        e2b_number(file, "size", &size);
        cay_json_begin_object(j);
        cay_op_key_text(j, "name", slash && slash[1] ? slash + 1 : path);
        cay_op_key_text(j, "type", type_word(type));
        cay_op_key_text(j, "path", path);
        cay_op_key_u64(j, "size", (uint64_t)size);
        cay_op_key_u64(j, "mode", mode & 0777);
        put_permissions(j, is_link ? 'L' : strcmp(type, "directory") == 0 ? 'd' : '-', mode);
        cay_op_key_text(j, "owner", owner_name(uid, room));
        cay_op_key_text(j, "group", owner_name(gid, room));
        cay_json_key(j, "modifiedTime");
        cay_json_value_put(j, cay_json_value_find(file, "modified_at"));
        if (is_link && link)
                put_target(j, path, link);
        if (cay_json_value_count(cay_json_value_find(file, "metadata")) > 0) {
                cay_json_key(j, "metadata");
                cay_json_value_put(j, cay_json_value_find(file, "metadata"));
        }
        cay_json_end_object(j);
}
