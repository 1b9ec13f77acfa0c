/* SPDX-License-Identifier: Apache-2.0 */
/* The clock port on the machine's own clocks. The boot id is read once: it cannot change while we run. */

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "daemon/store/store_sqlite.h"

static char boot_id[CAY_CLOCK_BOOT_MAX];
static pthread_once_t boot_once = PTHREAD_ONCE_INIT;

static void read_boot_id(void)
{
        cay_auto_close int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, boot_id, sizeof(boot_id) - 1);

        boot_id[n > 0 ? n : 0] = '\0';
        boot_id[strcspn(boot_id, "\n ")] = '\0';
}

#ifdef CAY_TEST_HOOKS

/* For tests: CAY_TEST_CLOCK names a file with the milliseconds to add to the wall clock. */
static int64_t test_shift_ms(void)
{
        const char *name = getenv("CAY_TEST_CLOCK");
        cay_auto_close int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
        char text[24] = "";
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

        return n > 0 ? strtoll(text, NULL, 10) : 0;
}

#else

static int64_t test_shift_ms(void)
{
        return 0;
}

#endif

static void read_clock(const struct cay_clock *clock, struct cay_clock_reading *ret)
{
        struct timespec ts = { 0 };

        pthread_once(&boot_once, read_boot_id);
        clock_gettime(CLOCK_BOOTTIME, &ts);
        ret->wall_ms = (uint64_t)((int64_t)cay_clock_wall_ms() + test_shift_ms());
        ret->boot_ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
        cay_str_copy(ret->boot_id, sizeof(ret->boot_id), boot_id);
}

const struct cay_clock cay_store_system_clock = { .read = read_clock };
