/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of all sandboxes are shared: one that takes all it can leaves others theirs. */
#include "cay-net/box.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* As the connection comes: counted, judged, and gone again if it is refused. */
static bool take(struct net_box *b)
{
        b->conn_count++;
        b->world->connections++;
        if (net_box_is_fair(b))
                return true;
        b->conn_count--;
        b->world->connections--;
        return false;
}

static void a_new_one_always_finds_room(void **state)
{
        struct net_world world = { .connections_most = 512 };
        struct net_box *boxes = calloc(6, sizeof(*boxes));

        assert_non_null(boxes);
        for (unsigned i = 0; i < 6; i++) {
                boxes[i].world = &world;
                for (unsigned n = 0; n < 600; n++)
                        take(&boxes[i]);
                assert_true(boxes[i].conn_count > 4); /* 256, 128, 64, 32, 16, 8 */
        }
        assert_int_equal(boxes[0].conn_count, 256);
        assert_int_equal(boxes[1].conn_count, 128);
        assert_true(world.connections <= world.connections_most);
        assert_false(take(&boxes[0]));
        world.connections -= boxes[1].conn_count;
        boxes[1].conn_count = 0;
        assert_true(take(&boxes[5]));
        free(boxes);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_new_one_always_finds_room),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
