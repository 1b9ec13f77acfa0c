/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a command ended: facts in, one typed cause and a set of hints out. Pure.
 *
 * Rules. Exit 0 is always `exited`. Killed by us: the limit that made us do it. Else, for a non-zero end:
 * memory if the oom-kill count rose during the exec, pids if the pids limit was hit, disk if the layer was
 * full at the end, network if that was cut for its limit of bytes, syscall if a denied call was the last
 * refusal before the end or the end was SIGSYS; several true: this order. Else signalled or exited. What was
 * hit without ending anything is in `hints`, also on exit 0. A box that disappeared without a report ended
 * for memory if the oom-kill count says so: its init was the victim.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cay_cause {
        CAY_CAUSE_NONE,
#define CAY_CAUSE(name, word, advice) CAY_CAUSE_##name,
#include "domain/model/cause.def"
#undef CAY_CAUSE
        CAY_CAUSE_COUNT
};

struct cay_cause_facts {
        int exit_code;               /* -1: none */
        int signal;                  /* 0: none */
        enum cay_cause killed_by_us; /* WALL_TIME, CPU_TIME, OUTPUT, SYSCALL, KILLED, DAEMON_LOST, or NONE */
        enum cay_cause lost;     /* SANDBOX_GONE, ENGINE_LOST, DAEMON_LOST: no end was reported; else NONE */
        const char *not_started; /* why the program could not be started, NULL: it was; borrowed */
        uint64_t oom_kills, memory_peak, memory_limit; /* during the exec */
        uint64_t pids_refused, pids_limit;
        bool disk_blocks_full, disk_inodes_full;
        unsigned volumes_full;   /* bit set over the sandbox's volumes */
        const char *full_volume; /* name of the first of them; NULL: not known */
        uint64_t disk_limit, inodes_limit;
        bool output_hit; /* limit reached (also when cut) */
        uint64_t output_limit, wall_limit_ms, cpu_limit_ms;
        bool network_hit; /* the network was cut for its limit of bytes in all */
        uint64_t network_limit;
        const char *denied_syscall; /* last denied call's name, NULL: none; borrowed */
        unsigned denied_count;
};

struct cay_verdict {
        enum cay_cause cause;
        unsigned hints;     /* bit set over enum cay_cause: hit, but not the cause */
        char text[200];     /* "memory limit of 256 MiB reached (peak 256 MiB)": what happened */
        const char *advice; /* static; "" when there is none */
};

struct cay_verdict cay_cause_judge(const struct cay_cause_facts *f);
const char *cay_cause_word(enum cay_cause c);
const char *cay_cause_advice(enum cay_cause c); /* "" when there is none */

/*
 * Exit status for a shell: the command's own, 128+n for a signal; 124 for time, 137 for memory, 128+asked
 * when a signal to us ended it (0: none did), 125 when there is no end to report.
 */
int cay_cause_exit_status(const struct cay_cause_facts *f, enum cay_cause cause, int asked);

#define CAY_SIGNAL_NAME_MAX 16
const char *cay_signal_name(int signo,
                            char buf[CAY_SIGNAL_NAME_MAX]); /* "SIGSEGV", "SIGRTMIN+3"; returns buf */
