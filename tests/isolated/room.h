/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file systems and the network of one isolated test. /tmp, /var/tmp, /var/lib, /run and /dev/shm are its
 * own, on a disk of its own (an ext4 image without a name on a loop device); the rest is the machine's. Loop
 * devices are the machine's as well: those of this test are known by having their file on its disk.
 */
#pragma once

#include "isolated/share.h"

#define ROOM_DISK "CAY_TEST_DISK" /* environment: device number of the test's disk */

/*
 * In a mount and network namespace that were just made. `keep`: environment variables with folders that stay
 * as they are, wherever they lie; NULL at the end. A folder that ordinary users can't reach (below /root,
 * say) is shown at another place, and the variable changed: some tests run programs as an ordinary user.
 */
void test_room_enter(const struct test_share *share, const char *const *keep);
/* An interface and a default route that lead nowhere. */
void test_room_add_route(void);
