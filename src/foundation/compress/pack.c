/* SPDX-License-Identifier: Apache-2.0 */
/* Packing and unpacking whatever the form; members in a row, bounds and ends. */
#include "foundation/compress/pack.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/compress/pack_priv.h"

struct cay_packer {
        const struct cay_pack_ops *ops;
        void *state; /* owned */
        bool is_done;
};

struct cay_unpacker {
        const struct cay_pack_ops *ops;
        void *state; /* owned */
        const char *word;
        uint64_t in_bytes, out_bytes, most;
        bool is_between; /* at the end of a member, or before the first */
        bool any;        /* a whole member was seen */
};

static const struct row {
        const char *word, *type;
        const struct cay_pack_ops *ops;
} rows[CAY_PACK_FORM_COUNT] = {
        [CAY_PACK_NONE] = { "none", NULL, NULL },
#define CAY_PACK_FORM(name, word, type, ops) [CAY_PACK_##name] = { word, type, &ops },
#include "foundation/compress/forms.def"
#undef CAY_PACK_FORM
};

const char *cay_pack_type(enum cay_pack_form form)
{
        return rows[form].type;
}

enum cay_pack_form cay_pack_sniff(const void *bytes, size_t len)
{
        for (unsigned i = CAY_PACK_NONE + 1; i < CAY_PACK_FORM_COUNT; i++) {
                const struct cay_pack_ops *ops = rows[i].ops;

                if (len >= ops->magic_len && memcmp(bytes, ops->magic, ops->magic_len) == 0)
                        return (enum cay_pack_form)i;
        }
        return CAY_PACK_NONE;
}

struct cay_packer *cay_packer_new(enum cay_pack_form form)
{
        struct cay_packer *p = calloc(1, sizeof(*p));

        if (!p)
                return NULL;
        p->ops = rows[form].ops;
        p->state = p->ops->packer_new();
        if (!p->state) {
                free(p);
                return NULL;
        }
        return p;
}

void cay_packer_free(struct cay_packer *p)
{
        if (!p)
                return;
        p->ops->packer_free(p->state);
        free(p);
}

enum cay_pack_state cay_packer_step(struct cay_packer *p, struct cay_pack_io *io, bool last)
{
        if (!p->is_done)
                p->is_done = p->ops->pack(p->state, io, last) == CAY_PACK_DONE;
        return p->is_done ? CAY_PACK_DONE : CAY_PACK_MORE;
}

struct cay_unpacker *cay_unpacker_new(enum cay_pack_form form, uint64_t most)
{
        struct cay_unpacker *u = calloc(1, sizeof(*u));

        if (!u)
                return NULL;
        u->ops = rows[form].ops;
        u->word = rows[form].word;
        u->most = most;
        u->is_between = true;
        u->state = u->ops->unpacker_new();
        if (!u->state) {
                free(u);
                return NULL;
        }
        return u;
}

void cay_unpacker_free(struct cay_unpacker *u)
{
        if (!u)
                return;
        u->ops->unpacker_free(u->state);
        free(u);
}

static int unpack_once(struct cay_unpacker *u, struct cay_pack_io *io, struct cay_error *err)
{
        size_t in_len = io->in_len, out_room = io->out_room;
        const char *why = "";
        int r = u->ops->unpack(u->state, io, &why);

        u->in_bytes += in_len - io->in_len;
        u->out_bytes += out_room - io->out_room;
        if (r < 0)
                return cay_fail(err, CAY_INVALID, "the %s stream is damaged near byte %llu: %s", u->word,
                                (unsigned long long)u->in_bytes, why);
        if (u->out_bytes > u->most)
                return cay_fail(err, CAY_LIMIT, "the %s stream unpacks to more than %llu bytes", u->word,
                                (unsigned long long)u->most);
        if (r == CAY_PACK_DONE)
                u->is_between = u->any = true;
        else if (in_len > io->in_len)
                u->is_between = false;
        return r;
}

int cay_unpacker_step(struct cay_unpacker *u, struct cay_pack_io *io, struct cay_error *err)
{
        int r;

        if (u->is_between && io->in_len == 0)
                return u->any ? CAY_PACK_DONE : CAY_PACK_MORE;
        do {
                r = unpack_once(u, io, err);
        } while (r == CAY_PACK_DONE && io->in_len > 0 && io->out_room > 0);
        return r == CAY_PACK_DONE && io->in_len > 0 ? CAY_PACK_MORE : r;
}

int cay_unpacker_finish(struct cay_unpacker *u, struct cay_error *err)
{
        if (u->is_between && u->any)
                return 0;
        return cay_fail(err, CAY_INVALID, "the %s stream ends in the middle, after %llu bytes", u->word,
                        (unsigned long long)u->in_bytes);
}
