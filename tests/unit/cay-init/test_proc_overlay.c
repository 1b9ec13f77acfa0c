/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of meminfo, stat and loadavg: totals exact, lengths constant, figures as the kernel would put
 * them.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <sys/mman.h>

#include "foundation/base/clock.h"
#include "cay-init/proc_overlay.h"

static char text[256 * 1024];

static unsigned long long value_of(const char *key)
{
        const char *at = strstr(text, key);

        assert_non_null(at);
        return strtoull(at + strlen(key), NULL, 10);
}

static void memory_adds_up(void **state)
{
        struct cay_proc_overlay_memory m = {
                .total = 256u << 20,
                .used = 100u << 20,
                .swap_total = 64u << 20,
                .swap_used = 1u << 20,
                .cache = 40u << 20,
                .shmem = 8u << 20,
                .active_file = 10u << 20,
                .inactive_file = 22u << 20,
                .slab_reclaimable = 2u << 20,
        };
        size_t len = cay_proc_overlay_meminfo(&m, text, sizeof(text));

        text[len] = 0;
        assert_int_equal(value_of("MemTotal:"), 262144);
        assert_int_equal(value_of("MemFree:"), 156 * 1024);
        assert_int_equal(value_of("MemAvailable:"), (156 + 34) * 1024);
        assert_int_equal(value_of("Cached:"), 40 * 1024);
        assert_int_equal(value_of("Shmem:"), 8 * 1024);
        assert_int_equal(value_of("SwapTotal:"), 64 * 1024);
        assert_int_equal(value_of("SwapFree:"), 63 * 1024);
        assert_int_equal(value_of("Inactive(file):"), 22 * 1024);
}

static void memory_never_runs_over(void **state)
{
        struct cay_proc_overlay_memory small = {
                .total = 1 << 20, .used = 2 << 20, .cache = 9 << 20, .swap_used = 5
        };
        struct cay_proc_overlay_memory huge = { .total = UINT64_MAX / 8,
                                                .used = 12345,
                                                .active_file = UINT64_MAX / 8 };
        size_t first = cay_proc_overlay_meminfo(&small, text, sizeof(text));

        text[first] = 0;
        assert_int_equal(value_of("MemFree:"), 0);
        assert_int_equal(value_of("MemAvailable:"), 0);
        assert_int_equal(value_of("Cached:"), 1024);
        assert_int_equal(value_of("SwapFree:"), 0);
        assert_true(cay_proc_overlay_meminfo(&huge, text, sizeof(text)) >= first);
        huge.total = 1ull << 49; /* half a petabyte still has the same length */
        huge.active_file = 0;
        assert_int_equal(cay_proc_overlay_meminfo(&huge, text, sizeof(text)), first);
}

static void both_kinds_of_memory_stat_are_known(void **state)
{
        struct cay_proc_overlay_memory m = { 0 };

        cay_proc_overlay_parse_memory(
                "cache 1\nrss 2\nshmem 3\ninactive_file 4\ntotal_cache 100\ntotal_rss 200\ntotal_shmem 0\n"
                "total_inactive_file 400\ntotal_active_file 50\ntotal_swap 7\n",
                &m);
        assert_int_equal(m.cache, 100);
        assert_int_equal(m.anon, 200);
        assert_int_equal(m.shmem, 0); /* the box's sum, although it is 0 */
        assert_int_equal(m.inactive_file, 400);
        assert_int_equal(m.active_file, 50);
        assert_int_equal(m.swap_used, 7);
        m = (struct cay_proc_overlay_memory){ 0 };
        cay_proc_overlay_parse_memory(
                "anon 11\nfile 22\nkernel_stack 33\nshmem 44\nfile_mapped 55\ninactive_file 66\n"
                "slab_reclaimable 77\npagetables 88\n",
                &m);
        assert_int_equal(m.anon, 11);
        assert_int_equal(m.cache, 22);
        assert_int_equal(m.kernel_stack, 33);
        assert_int_equal(m.shmem, 44);
        assert_int_equal(m.mapped, 55);
        assert_int_equal(m.inactive_file, 66);
        assert_int_equal(m.slab_reclaimable, 77);
        assert_int_equal(m.page_tables, 88);
        cay_proc_overlay_parse_memory("", &m);
        assert_int_equal(m.cache, 0);
}

static void stat_has_exactly_the_cpus(void **state)
{
        for (uint32_t cpus = 1; cpus <= 70; cpus += 23) {
                struct cay_proc_overlay_cpu c = { .cpus = cpus,
                                                  .user_ticks = 1001,
                                                  .system_ticks = 77,
                                                  .idle_ticks = 123457,
                                                  .boot_s = 1700000000 };
                unsigned long long user = 0, idle = 0;
                size_t len = cay_proc_overlay_stat(&c, text, sizeof(text));
                unsigned found = 0;
                char *at = text;

                text[len] = 0;
                assert_true(strncmp(text, "cpu  1001 0 77 123457 0 0 0 0 0 0 ", 34) == 0);
                for (at = strchr(at, '\n') + 1; strncmp(at, "cpu", 3) == 0; at = strchr(at, '\n') + 1) {
                        unsigned long long u, s, i;
                        unsigned nr;

                        assert_int_equal(sscanf(at, "cpu%u %llu 0 %llu %llu", &nr, &u, &s, &i), 4);
                        assert_int_equal(nr, found++);
                        user += u;
                        idle += i;
                }
                assert_int_equal(found, cpus);
                assert_int_equal(user, 1001); /* the shares make the sum */
                assert_int_equal(idle, 123457);
                assert_int_equal(value_of("\nbtime "), 1700000000);
                c.user_ticks = UINT64_MAX / 4;
                c.last_pid = INT32_MAX;
                assert_int_equal(cay_proc_overlay_stat(&c, text, sizeof(text)), len);
        }
}

static void stat_stays_inside_its_buffer(void **state)
{
        struct cay_proc_overlay_cpu c = { .cpus = UINT32_MAX };

        assert_int_equal(cay_proc_overlay_stat(&c, text, 1000), 0);
        assert_true(cay_proc_overlay_stat(&c, text, sizeof(text)) <= sizeof(text));
}

static void the_load_rises_and_falls(void **state)
{
        uint64_t load[3] = { 0, 0, 0 };
        size_t len, first = cay_proc_overlay_loadavg(load, 0, 1, 1, text, sizeof(text));
        double one, five, fifteen;

        text[first] = 0;
        assert_true(strncmp(text, "0.00 0.00 0.00 0/1 1 ", 21) == 0);
        cay_proc_overlay_decay(load, 4, 60); /* a minute of 4: 1 - 1/e of it, 1 - e^(-1/5), 1 - e^(-1/15) */
        len = cay_proc_overlay_loadavg(load, 4, 300, 99999, text, sizeof(text));
        text[len] = 0;
        assert_int_equal(len, first);
        assert_int_equal(sscanf(text, "%lf %lf %lf", &one, &five, &fifteen), 3);
        assert_true(one > 2.49 && one < 2.57);
        assert_true(five > 0.70 && five < 0.75);
        assert_true(fifteen > 0.24 && fifteen < 0.28);
        assert_non_null(strstr(text, " 4/300 99999"));
        cay_proc_overlay_decay(load, 0, 1000000);
        assert_int_equal(load[0], load[0] & 0xff); /* nothing that shows */
        cay_proc_overlay_loadavg(load, 0, 1, 1, text, sizeof(text));
        assert_true(strncmp(text, "0.00 ", 5) == 0);
        cay_proc_overlay_decay(load, UINT32_MAX, 7200); /* absurd, but no overflow */
}

static bool busy;

static bool is_busy(struct cay_proc_overlay *t)
{
        return busy;
}

static size_t read_back(int fd)
{
        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

        assert_true(n >= 0);
        text[n] = 0;
        return (size_t)n;
}

static void files_are_written_whole_and_at_most_each_second(void **state)
{
        struct cay_init_config config = { .cpus = 3, .memory_bytes = 64u << 20, .boot_wall_s = 1600000000 };
        int fds[CAY_INIT_FD_COUNT];
        struct cay_proc_overlay t;
        struct cay_loop *loop = cay_loop_new();
        unsigned tries = 0;
        uint64_t now;
        size_t len;

        for (int i = 0; i < CAY_INIT_FD_COUNT; i++)
                fds[i] = -1;
        cay_proc_overlay_init(&t, loop, &config, fds, is_busy);
        cay_proc_overlay_refresh(&t); /* nothing to write to: nothing is done, no timer */
        assert_null(t.timer.loop);
        fds[CAY_INIT_FD_MEMINFO] = memfd_create("meminfo", MFD_CLOEXEC);
        fds[CAY_INIT_FD_STAT] = memfd_create("stat", MFD_CLOEXEC);
        fds[CAY_INIT_FD_LOADAVG] = memfd_create("loadavg", MFD_CLOEXEC);
        cay_proc_overlay_init(&t, loop, &config, fds, is_busy);
        cay_proc_overlay_refresh(&t);
        assert_true(read_back(fds[CAY_INIT_FD_MEMINFO]) > 100);
        assert_int_equal(value_of("MemTotal:"), 65536);
        len = read_back(fds[CAY_INIT_FD_STAT]);
        assert_non_null(strstr(text, "\ncpu2 "));
        assert_null(strstr(text, "\ncpu3 "));
        assert_true(read_back(fds[CAY_INIT_FD_LOADAVG]) > 10);

        do { /* within a second, which a busy machine may let pass */
                assert_int_equal(ftruncate(fds[CAY_INIT_FD_STAT], 0), 0);
                t.at_ns = now = cay_clock_ns();
                cay_proc_overlay_refresh(&t); /* too early: not written again */
        } while (cay_clock_ns() - now >= 1000000000u && ++tries < 100);
        assert_int_equal(read_back(fds[CAY_INIT_FD_STAT]), 0);
        busy = true;
        t.at_ns -= 1100000000ull;
        cay_proc_overlay_refresh(&t);
        assert_int_equal(read_back(fds[CAY_INIT_FD_STAT]), len);
        assert_non_null(t.timer.loop);
        busy = false;
        usleep(1010000);
        assert_int_equal(cay_loop_round(loop, 100), 0); /* idle: the timer stops itself */
        assert_null(t.timer.loop);
        for (int i = 0; i < CAY_INIT_FD_COUNT; i++) {
                if (fds[i] >= 0)
                        close(fds[i]);
        }
        cay_loop_free(loop);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(memory_adds_up),
                cmocka_unit_test(memory_never_runs_over),
                cmocka_unit_test(both_kinds_of_memory_stat_are_known),
                cmocka_unit_test(stat_has_exactly_the_cpus),
                cmocka_unit_test(stat_stays_inside_its_buffer),
                cmocka_unit_test(the_load_rises_and_falls),
                cmocka_unit_test(files_are_written_whole_and_at_most_each_second),
        };

        return cmocka_run_group_tests_name("init/proc_overlay", tests, NULL, NULL);
}
