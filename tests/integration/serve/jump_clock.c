/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wall clock that jumps, for single programs: loaded into them by /etc/ld.so.preload of a test's own mount
 * namespace. What is added, in seconds, is in a file that the test writes; it is mapped when the program
 * starts, so that its later bounds do not matter.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;

__attribute__((constructor)) static void begin(void)
{
        char path[256] = JUMP_FOLDER "/";
        void *at;
        int fd;

        strncat(path, program_invocation_short_name, 64);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return;
        at = mmap(NULL, sizeof(*offset), PROT_READ, MAP_SHARED, fd, 0);
        close(fd);
        if (at != MAP_FAILED)
                offset = at;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
        int r = (int)syscall(SYS_clock_gettime, clock, ret);

        if (r == 0 && offset && clock == CLOCK_REALTIME)
                ret->tv_sec += *offset;
        return r;
}

int gettimeofday(struct timeval *ret, void *zone)
{
        struct timespec now;

        (void)zone;
        clock_gettime(CLOCK_REALTIME, &now);
        *ret = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
        return 0;
}

time_t time(time_t *ret)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        if (ret)
                *ret = now.tv_sec;
        return now.tv_sec;
}
