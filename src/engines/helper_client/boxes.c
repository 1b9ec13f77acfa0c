/* SPDX-License-Identifier: Apache-2.0 */
/* What engines with a helper have in common besides the link. */
#include "engines/helper_client/boxes.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "foundation/base/str.h"

struct engine_known *engine_boxes_find(struct engine_boxes *b, const char *id)
{
        for (unsigned i = 0; i < b->rows; i++)
                if (strcmp(b->known[i].id, id) == 0)
                        return &b->known[i];
        return NULL;
}

void engine_boxes_note(struct engine_boxes *b, const char *id, bool live, bool kept)
{
        struct engine_known *k = engine_boxes_find(b, id);
        unsigned i = 0;

        if (!k) {
                while (i < b->rows && b->known[i].id[0])
                        i++;
                if (i == ENGINE_BOXES_MAX)
                        return; /* the helper will refuse it */
                if (i == b->rows)
                        b->rows++;
                k = &b->known[i];
                cay_str_copy(k->id, sizeof(k->id), id);
        }
        k->live = live;
        k->kept = kept;
}

void engine_boxes_forget(struct engine_boxes *b, const char *id)
{
        struct engine_known *k = engine_boxes_find(b, id);

        if (k)
                k->id[0] = '\0';
}

bool engine_boxes_has_live(const struct engine_boxes *b)
{
        for (unsigned i = 0; i < b->rows; i++)
                if (b->known[i].id[0] && b->known[i].live)
                        return true;
        return false;
}

void engine_boxes_tell_gone(struct engine_boxes *b, const char *id)
{
        if (b->gone)
                b->gone(b->gone_ctx, id);
}

void engine_boxes_tell_files_lost(struct engine_boxes *b, const char *id)
{
        engine_boxes_forget(b, id);
        if (b->files_lost)
                b->files_lost(b->files_lost_ctx, id);
}

void engine_boxes_lose_all(struct engine_boxes *b)
{
        for (unsigned i = 0; i < b->rows; i++)
                if (b->known[i].id[0] && b->known[i].live)
                        engine_boxes_tell_gone(b, b->known[i].id);
        b->rows = 0;
}

void engine_boxes_each_live(const struct engine_boxes *b, void (*each)(void *ctx, const char *id), void *ctx)
{
        for (unsigned i = 0; i < b->rows; i++)
                if (b->known[i].id[0] && b->known[i].live)
                        each(ctx, b->known[i].id);
}

/* Limits */

static const struct {
        unsigned core, wire;
} limit_bits[] = {
        { CAY_LIMIT_BIT(memory_bytes), HELPER_LIMIT_MEMORY },
        { CAY_LIMIT_BIT(swap_bytes), HELPER_LIMIT_SWAP },
        { CAY_LIMIT_BIT(cpu_milli), HELPER_LIMIT_CPUS },
        { CAY_LIMIT_BIT(pids), HELPER_LIMIT_PIDS },
        { CAY_LIMIT_BIT(disk_bytes), HELPER_LIMIT_DISK },
        { CAY_LIMIT_BIT(inodes), HELPER_LIMIT_INODES },
};

unsigned engine_limits_from_wire(unsigned wire)
{
        unsigned core = 0;

        for (unsigned i = 0; i < CAY_COUNT(limit_bits); i++)
                core |= wire & limit_bits[i].wire ? limit_bits[i].core : 0;
        return core;
}

unsigned engine_limits_to_wire(unsigned core)
{
        unsigned wire = 0;

        for (unsigned i = 0; i < CAY_COUNT(limit_bits); i++)
                wire |= core & limit_bits[i].core ? limit_bits[i].wire : 0;
        return wire;
}

unsigned engine_limits_by_init(void)
{
        return CAY_LIMIT_BIT(files) | CAY_LIMIT_BIT(output_bytes) | CAY_LIMIT_BIT(wall_ms) |
               CAY_LIMIT_BIT(cpu_time_ms);
}

/* The box link */

int engine_box_open_link(struct cay_engine_box *box, int *ret_theirs, struct cay_error *err)
{
        int links[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the box link");
        box->link_fd = links[0];
        *ret_theirs = links[1];
        return 0;
}

int engine_box_make_secret(struct cay_engine_box *box, struct cay_error *err)
{
        if (getrandom(box->secret, sizeof(box->secret), 0) == (ssize_t)sizeof(box->secret))
                return 0;
        return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the box's secret");
}
