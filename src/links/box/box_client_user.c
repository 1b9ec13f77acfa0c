/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the box's passwd file. Its content is controlled by the box and decides only about ids inside the
 * box.
 */
#include "links/box/box_client_user.h"

#define PASSWD "/etc/passwd"

size_t cay_box_strings_size(const char *const *list, unsigned *ret_count)
{
        size_t size = 0;

        for (*ret_count = 0; list != NULL && list[*ret_count] != NULL; (*ret_count)++)
                size += 4 + strlen(list[*ret_count]);
        return size;
}

static void on_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len)
{
        struct cay_box_lookup *l = cay_container_of(ch, struct cay_box_lookup, ch);

        cay_buf_put(&l->passwd, bytes,
                    len); /* data beyond the maximum is dropped: the name is not found then */
        cay_box_channel_ack(ch, stream, len);
}

static void on_end(struct cay_box_channel *ch, const struct cay_box_end *end)
{
        struct cay_box_lookup *l = cay_container_of(ch, struct cay_box_lookup, ch);
        struct cay_error err = { 0 };

        if (end->code != CAY_OK)
                cay_fail(&err, CAY_NOT_FOUND, "user: '%s': the sandbox's " PASSWD " cannot be read",
                         l->user->name);
        else
                cay_user_find(l->user, cay_buf_data(&l->passwd), l->passwd.len, &err);
        cay_buf_done(&l->passwd);
        l->on_done(l, &err);
}

int cay_box_lookup_begin(struct cay_box_lookup *l, struct cay_box_client *c, struct cay_user *user,
                         void (*on_done)(struct cay_box_lookup *l, struct cay_error *err),
                         struct cay_error *err)
{
        static const struct cay_box_open open = {
                .kind = CAY_BOX_READ,
                .window = CAY_BOX_WINDOW,
                .file = {
                        .uid = CAY_BOX_ID_DEFAULT,
                        .gid = CAY_BOX_ID_DEFAULT,
                        .max_bytes = CAY_USER_PASSWD_MAX,
                        .path = { PASSWD, sizeof(PASSWD) - 1 },
                },
        };
        int r;

        *l = (struct cay_box_lookup){ .on_done = on_done,
                                      .ch = { .on_data = on_data, .on_end = on_end },
                                      .user = user };
        cay_buf_init(&l->passwd, CAY_USER_PASSWD_MAX);
        r = cay_box_channel_open(c, &l->ch, &open, NULL, NULL);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "look up user '%s'", user->name) : 0;
}

void cay_box_lookup_close(struct cay_box_lookup *l)
{
        cay_box_channel_close(&l->ch);
        cay_buf_done(&l->passwd);
}
