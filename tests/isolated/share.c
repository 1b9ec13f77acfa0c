/* SPDX-License-Identifier: Apache-2.0 */
/* The theory is in share.h. */
#include "isolated/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engines/process/own_id.h"

#define RUN_FOLDER "/run/cay"
#define OWN_IDS_EACH (CAY_OWN_IDS / SHARE_COUNT)
#define WAIT_S 3600

static _Noreturn void give_up(const char *what)
{
        perror(what);
        exit(1);
}

/*
 * Locked, or -1: somebody else has it. Its owner may remove the name between open and lock: then it is made
 * again.
 */
static int lock_file(const char *path)
{
        for (unsigned i = 0; i < 16; i++) {
                int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
                struct stat here, there;

                if (fd < 0)
                        give_up(path);
                if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                        close(fd);
                        return -1;
                }
                if (fstat(fd, &here) == 0 && lstat(path, &there) == 0 && here.st_ino == there.st_ino)
                        return fd;
                close(fd);
        }
        return -1;
}

static void share_path(unsigned number, char ret[64])
{
        snprintf(ret, 64, RUN_FOLDER "/test-%u", number);
}

static void record_path(const struct test_share *s, unsigned i, char ret[64])
{
        snprintf(ret, 64, RUN_FOLDER "/box-%u", s->number * SHARE_SLOTS + i);
}

static bool take_any(struct test_share *s)
{
        char path[64];

        for (unsigned i = 0; i < SHARE_COUNT; i++) {
                s->number = ((unsigned)getpid() + i) % SHARE_COUNT;
                share_path(s->number, path);
                s->lock = lock_file(path);
                if (s->lock >= 0)
                        return true;
        }
        return false;
}

/* A record that has content names what a killed warden left: it is for wardens to clean up. */
static int take_record(const char *path)
{
        int fd = lock_file(path);
        struct stat st;

        if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_size > 0)) {
                close(fd);
                return -1;
        }
        return fd;
}

void test_share_take(struct test_share *s)
{
        struct timespec nap = { .tv_nsec = 100000000 };
        char path[64];
        bool any = false;

        if (mkdir(RUN_FOLDER, 0700) < 0 && errno != EEXIST)
                give_up(RUN_FOLDER);
        for (unsigned tries = 0; !take_any(s); tries++) {
                if (tries == WAIT_S * 10) {
                        fprintf(stderr, "run_isolated: %u other tests have run for an hour\n", SHARE_COUNT);
                        exit(1);
                }
                nanosleep(&nap, NULL);
        }
        for (unsigned i = 0; i < SHARE_SLOTS; i++) {
                record_path(s, i, path);
                s->records[i] = take_record(path);
                any = any || s->records[i] >= 0;
        }
        if (!any) {
                fprintf(stderr, "run_isolated: all id ranges of share %u are in use\n", s->number);
                exit(1);
        }
}

void test_share_drop(struct test_share *s)
{
        char path[64];

        for (unsigned i = 0; i < SHARE_SLOTS; i++) {
                if (s->records[i] < 0)
                        continue;
                record_path(s, i, path);
                unlink(path);
                close(s->records[i]);
        }
        share_path(s->number, path);
        unlink(path);
        close(s->lock);
}

static uint32_t first_id(const struct test_share *s, unsigned i)
{
        return CAY_RECORD_FIRST_ID + (s->number * SHARE_SLOTS + i) * CAY_RECORD_IDS;
}

uint32_t test_share_first_id(const struct test_share *s)
{
        unsigned i = 0;

        while (s->records[i] < 0)
                i++;
        return first_id(s, i);
}

/* What lies in [from, to) apart from [ours, ours_end). */
static size_t reserve_around(char *text, size_t size, uint32_t from, uint32_t to, uint32_t ours,
                             uint32_t ours_end)
{
        size_t len = 0;

        if (ours > from)
                len += (size_t)snprintf(text, size, "cay-test:%u:%u\n", from, ours - from);
        if (to > ours_end)
                len += (size_t)snprintf(text + len, size - len, "cay-test:%u:%u\n", ours_end, to - ours_end);
        return len;
}

size_t test_share_reserve(const struct test_share *s, char *text, size_t size)
{
        const uint32_t all_end = CAY_RECORD_FIRST_ID + CAY_RECORD_SLOTS * CAY_RECORD_IDS;
        const uint32_t own = CAY_OWN_ID_FIRST + s->number * OWN_IDS_EACH;
        size_t len = reserve_around(text, size, CAY_RECORD_FIRST_ID, all_end, first_id(s, 0),
                                    first_id(s, SHARE_SLOTS));

        len += reserve_around(text + len, size - len, CAY_OWN_ID_FIRST, CAY_OWN_ID_FIRST + CAY_OWN_IDS, own,
                              own + OWN_IDS_EACH);
        for (unsigned i = 0; i < SHARE_SLOTS; i++)
                if (s->records[i] < 0)
                        len += (size_t)snprintf(text + len, size - len, "cay-test:%u:%u\n", first_id(s, i),
                                                CAY_RECORD_IDS);
        return len;
}
