/* SPDX-License-Identifier: Apache-2.0 */
/* Parses small files of a host. */
#include "cay/doctor/host_text.h"

#include <endian.h>
#include <linux/capability.h>

#include "foundation/base/parse.h"
#include "foundation/base/str.h"

void cay_doctor_make_plain(char *text)
{
        for (; *text != '\0'; text++)
                if (*text < ' ' || *text > '~')
                        *text = '?';
}

/*
 * NAME=value, NAME="value" or NAME='value' at the start of a line; names of systems contain no shell escapes.
 */
static bool shell_value(const char *text, const char *name, char *ret, size_t size)
{
        size_t name_len = strlen(name), len;
        const char *line = text;

        while (strncmp(line, name, name_len) != 0 || line[name_len] != '=') {
                line = strchr(line, '\n');
                if (line == NULL)
                        return false;
                line++;
        }
        line += name_len + 1;
        len = strcspn(line, "\n");
        if (len >= 2 && (*line == '"' || *line == '\'') && line[len - 1] == *line) {
                line++;
                len -= 2;
        }
        snprintf(ret, size, "%.*s", (int)len, line);
        cay_doctor_make_plain(ret);
        return ret[0] != '\0';
}

bool cay_doctor_os_release(const char *text, char *ret, size_t size)
{
        ret[0] = '\0';
        return shell_value(text, "PRETTY_NAME", ret, size) || shell_value(text, "NAME", ret, size);
}

static bool parse_field(const char *from, size_t len, uint64_t *ret)
{
        char number[24];

        if (len == 0 || len >= sizeof(number))
                return false;
        memcpy(number, from, len);
        number[len] = '\0';
        return cay_parse_u64(number, ret) == 0;
}

/* "user:first:count"; anything else is ignored. */
static bool parse_range(const char *line, size_t len, const char *user, const char *uid, uint64_t *ret_first,
                        uint64_t *ret_count)
{
        const char *end = line + len, *first = memchr(line, ':', len);
        const char *count = first != NULL ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
        size_t name_len = first != NULL ? (size_t)(first - line) : 0;

        if (count == NULL || name_len == 0)
                return false;
        if ((strlen(user) != name_len || memcmp(user, line, name_len) != 0) &&
            (strlen(uid) != name_len || memcmp(uid, line, name_len) != 0))
                return false;
        return parse_field(first + 1, (size_t)(count - first - 1), ret_first) &&
               parse_field(count + 1, (size_t)(end - count - 1), ret_count) && *ret_first <= UINT32_MAX &&
               *ret_count <= UINT32_MAX;
}

uint64_t cay_doctor_id_ranges(const char *text, const char *user, unsigned uid, uint64_t *ret_first)
{
        uint64_t first, count, most = 0;
        char number[16];

        snprintf(number, sizeof(number), "%u", uid);
        *ret_first = 0;
        while (*text != '\0') {
                size_t len = strcspn(text, "\n");

                if (parse_range(text, len, user, number, &first, &count) && count > most) {
                        most = count;
                        *ret_first = first;
                }
                text += len + (text[len] == '\n');
        }
        return most;
}

#define FREE_FROM 100000u     /* where distributions begin to assign ranges */
#define FREE_TO 1878982656u   /* where the ids of root's boxes begin */
#define FREE_TRIES_MAX 20000u /* each is beyond the end of a range in use */

/* "name:FIRST:COUNT", or, without counts, "name:x:ID". */
static bool parse_taken(const char *line, size_t len, bool has_count, uint64_t *ret_first,
                        uint64_t *ret_count)
{
        const char *end = line + len, *second = memchr(line, ':', len);
        const char *third = second != NULL ? memchr(second + 1, ':', (size_t)(end - second - 1)) : NULL;
        const char *fourth = third != NULL ? memchr(third + 1, ':', (size_t)(end - third - 1)) : NULL;

        *ret_count = 1;
        if (third == NULL)
                return false;
        if (!has_count)
                return parse_field(third + 1, (size_t)((fourth != NULL ? fourth : end) - third - 1),
                                   ret_first);
        return parse_field(second + 1, (size_t)(third - second - 1), ret_first) &&
               parse_field(third + 1, (size_t)(end - third - 1), ret_count);
}

/* The end of a range in the text that overlaps [first, first + count); 0: none. */
static uint64_t find_taken(const char *text, bool has_count, uint64_t first, uint64_t count)
{
        while (text != NULL && *text != '\0') {
                size_t len = strcspn(text, "\n");
                uint64_t theirs, ids;

                if (parse_taken(text, len, has_count, &theirs, &ids) && ids > 0 && theirs < first + count &&
                    (ids > UINT64_MAX - theirs || theirs + ids > first))
                        return ids > UINT64_MAX - theirs ? UINT64_MAX : theirs + ids;
                text += len + (text[len] == '\n');
        }
        return 0;
}

uint64_t cay_doctor_free_range(const struct cay_doctor_id_texts *texts, uint64_t count)
{
        uint64_t first = FREE_FROM;

        for (unsigned i = 0; i < FREE_TRIES_MAX && first + count <= FREE_TO; i++) {
                uint64_t end = 0;

                for (unsigned k = 0; k < 2 && end == 0; k++) {
                        end = find_taken(texts->ids[k], true, first, count);
                        if (end == 0)
                                end = find_taken(texts->people[k], false, first, count);
                }
                if (end == 0)
                        return first;
                if (end > FREE_TO)
                        return 0;
                first = end;
        }
        return 0;
}

bool cay_doctor_file_has_cap(const void *value, size_t len, unsigned cap)
{
        struct vfs_cap_data data; /* the first word of versions 2 and 3 */
        uint32_t magic;

        if (len < sizeof(data) || cap >= 64)
                return false;
        memcpy(&data, value, sizeof(data));
        magic = le32toh(data.magic_etc);
        if ((magic & VFS_CAP_REVISION_MASK) < VFS_CAP_REVISION_2 || !(magic & VFS_CAP_FLAGS_EFFECTIVE))
                return false;
        return le32toh(data.data[cap / 32].permitted) & 1u << cap % 32;
}
