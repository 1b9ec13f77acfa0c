/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a short disk a locked layer pool has. See room_pool_wish.h for the rules. */
#include "cay-warden/room_pool_wish.h"

#include <stdbool.h>

#define PIECE (1ull << 20) /* less is not worth a change, unless it is needed */

static uint64_t least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

struct warden_pool_wish warden_pool_wish(uint64_t shared, uint64_t all, uint64_t margin)
{
        uint64_t rest = all - least(all, margin + shared);

        return (struct warden_pool_wish){
                .wanted = shared + WARDEN_POOL_SLACK + most(rest / 2, WARDEN_POOL_SPARE),
                .least = shared,
                .margin = margin,
        };
}

uint64_t warden_pool_wish_take(const struct warden_pool_wish *wish, uint64_t has, uint64_t avail)
{
        uint64_t room = has + avail - least(avail, wish->margin);
        uint64_t needed = least(room, wish->least + WARDEN_POOL_SLACK);

        return least(wish->wanted, most(needed, room - least(room, WARDEN_POOL_BESIDE)));
}

uint64_t warden_pool_wish_change(const struct warden_pool_wish *wish, uint64_t has, uint64_t avail)
{
        uint64_t needed = wish->least + WARDEN_POOL_SLACK;
        uint64_t keeps = most(wish->wanted, needed + WARDEN_POOL_SPARE), take;
        bool is_short = has + least(wish->wanted / 8, WARDEN_POOL_SPARE / 2) < wish->wanted;

        if (has > wish->wanted + wish->wanted / 4 + WARDEN_POOL_SPARE / 2)
                return wish->wanted;
        if (avail < wish->margin && has >= keeps + WARDEN_POOL_BESIDE)
                return keeps;
        take = is_short ? warden_pool_wish_take(wish, has, avail) : has;
        return take >= has + (has < needed ? 1 : PIECE) ? take : has;
}
