/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passwd file comes from an image or from code in the box: it is untrusted, and a line may lack its end.
 */
#include "domain/model/user.h"

#include "foundation/base/parse.h"

static bool parse_id(const char *s, size_t len, uint32_t *ret)
{
        char digits[8];
        uint64_t v;

        if (len == 0 || len >= sizeof(digits))
                return false;
        memcpy(digits, s, len);
        digits[len] = '\0';
        if (cay_parse_u64(digits, &v) < 0 || v > CAY_USER_ID_MAX)
                return false;
        *ret = (uint32_t)v;
        return true;
}

static bool is_name(const char *s)
{
        size_t len = strlen(s);

        if (len == 0 || len > CAY_USER_NAME_MAX || s[0] == '-')
                return false;
        return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == len;
}

int cay_user_parse(const char *text, struct cay_user *ret, struct cay_error *err)
{
        struct cay_user u = { .uid = CAY_USER_DEFAULT, .gid = CAY_USER_DEFAULT, .name = "sandbox" };
        const char *colon;

        if (text == NULL || strcmp(text, "sandbox") == 0) {
                *ret = u;
                return 0;
        }
        colon = strchr(text, ':');
        if (strcmp(text, "root") == 0) {
                u.uid = u.gid = 0;
                snprintf(u.name, sizeof(u.name), "root");
        } else if (text[0] >= '0' && text[0] <= '9') {
                size_t len = colon != NULL ? (size_t)(colon - text) : strlen(text);

                if (!parse_id(text, len, &u.uid) ||
                    (colon != NULL && !parse_id(colon + 1, strlen(colon + 1), &u.gid)))
                        return cay_fail(err, CAY_INVALID,
                                        "'%.80s' is no UID or UID:GID of a sandbox (each 0 to %u)", text,
                                        CAY_USER_ID_MAX);
                if (colon == NULL)
                        u.gid = u.uid;
                u.name[0] = '\0';
        } else if (is_name(text)) {
                snprintf(u.name, sizeof(u.name), "%s", text);
                u.lookup = true;
        } else {
                return cay_fail(err, CAY_INVALID, "'%.80s' is no user: a name, UID, or UID:GID", text);
        }
        *ret = u;
        return 0;
}

void cay_user_settle(struct cay_user *u)
{
        if (!u->lookup && u->uid == CAY_USER_OWN && u->gid == CAY_USER_OWN)
                *u = (struct cay_user){ .uid = CAY_USER_DEFAULT, .gid = CAY_USER_DEFAULT, .name = "sandbox" };
}

/* name:password:uid:gid:… */
static bool read_line(const char *line, const char *end, const char *name, size_t name_len, uint32_t *ret_uid,
                      uint32_t *ret_gid)
{
        const char *field[4];
        size_t len[4];

        for (unsigned i = 0; i < CAY_COUNT(field); i++) {
                const char *stop = memchr(line, ':', (size_t)(end - line));

                if (stop == NULL)
                        return false;
                field[i] = line;
                len[i] = (size_t)(stop - line);
                line = stop + 1;
        }
        if (len[0] != name_len || memcmp(field[0], name, name_len) != 0)
                return false;
        return parse_id(field[2], len[2], ret_uid) && parse_id(field[3], len[3], ret_gid);
}

int cay_user_find(struct cay_user *u, const char *passwd, size_t len, struct cay_error *err)
{
        const char *at = passwd, *end = passwd + len;
        size_t name_len = strlen(u->name);

        while (at < end) {
                const char *newline = memchr(at, '\n', (size_t)(end - at));
                const char *stop = newline != NULL ? newline : end;

                if (read_line(at, stop, u->name, name_len, &u->uid, &u->gid)) {
                        u->lookup = false;
                        return 0;
                }
                at = stop + 1;
        }
        return cay_fail(err, CAY_NOT_FOUND, "user: user '%s' is not in the sandbox's /etc/passwd", u->name);
}
