/* SPDX-License-Identifier: Apache-2.0 */
/* The store's own time. */

#include "daemon/store/timeline.h"

#include <errno.h>
#include <inttypes.h>

#include "foundation/base/parse.h"
#include "foundation/base/str.h"

uint64_t cay_timeline_resume(const struct cay_timeline_mark *last, const struct cay_clock_reading *now)
{
        if (!last)
                return now->wall_ms;
        if (last->at.boot_id[0] != '\0' && strcmp(last->at.boot_id, now->boot_id) == 0 &&
            now->boot_ms >= last->at.boot_ms)
                return last->store_ms + (now->boot_ms - last->at.boot_ms);
        return last->store_ms + (now->wall_ms > last->at.wall_ms ? now->wall_ms - last->at.wall_ms : 0);
}

void cay_timeline_text(const struct cay_timeline_mark *m, char ret[CAY_TIMELINE_TEXT_MAX])
{
        snprintf(ret, CAY_TIMELINE_TEXT_MAX, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s", m->store_ms,
                 m->at.wall_ms, m->at.boot_ms, m->at.boot_id);
}

/* The number before the space at *at; *at moves past it. */
static int take_number(const char **at, uint64_t *ret)
{
        size_t len = strcspn(*at, " ");
        char number[24];

        if (len >= sizeof(number) || (*at)[len] != ' ')
                return -EINVAL;
        memcpy(number, *at, len);
        number[len] = '\0';
        *at += len + 1;
        return cay_parse_u64(number, ret) < 0 ? -EINVAL : 0;
}

int cay_timeline_parse(const char *text, struct cay_timeline_mark *ret)
{
        struct cay_timeline_mark m = { 0 };

        if (take_number(&text, &m.store_ms) < 0 || take_number(&text, &m.at.wall_ms) < 0 ||
            take_number(&text, &m.at.boot_ms) < 0 || !cay_str_copy(m.at.boot_id, sizeof(m.at.boot_id), text))
                return -EINVAL;
        *ret = m;
        return 0;
}
