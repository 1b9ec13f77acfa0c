/* SPDX-License-Identifier: Apache-2.0 */
/* Rows into instructions, and what happens at a denied call. */
#include "foundation/sys/seccomp_list.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "foundation/base/sanitized.h"
#include "foundation/sys/seccomp.h"

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#error "no filter of system calls for this machine yet"
#endif
#define X32_BIT 0x40000000u

enum { BEGIN_LEN = 6, ROW_LEN = 5, END_LEN = 1 };

static const char *program_name;

/* The low half of an argument: each one that a row tests is an int, or flags that fit into one. */
static unsigned place_of(unsigned arg)
{
        return (unsigned)offsetof(struct seccomp_data, args) + arg * 8;
}

/* Each row is ROW_LEN instructions long, so that whatever does not hold jumps to the next. */
static void put_row(struct sock_filter *at, const struct sys_seccomp_row *r)
{
        const struct sock_filter row[ROW_LEN] = {
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->nr, 0, ROW_LEN - 1),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, r->test == SYS_SECCOMP_PASS
                                                           ? (unsigned)offsetof(struct seccomp_data, nr)
                                                           : place_of(r->arg)),
                r->test == SYS_SECCOMP_PASS ? (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0)
                : r->test == SYS_SECCOMP_NO_BITS
                        ? (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, r->value, 1, 0)
                        : (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->value, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, nr)),
        };

        memcpy(at, row, sizeof(row));
}

static size_t put_filter(struct sock_filter *code, const struct sys_seccomp_row *rows, size_t count)
{
        const struct sock_filter begin[BEGIN_LEN] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, arch)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, X32_BIT, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        };

        memcpy(code, begin, sizeof(begin));
        for (size_t i = 0; i < count; i++)
                put_row(code + BEGIN_LEN + i * ROW_LEN, &rows[i]);
        code[BEGIN_LEN + count * ROW_LEN] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
        return BEGIN_LEN + count * ROW_LEN + END_LEN;
}

/* Runs at the denied call, in any state of the process: it takes no lock and allocates nothing. */
static void on_denied(int signo, siginfo_t *info, void *context)
{
        static const char text[] = ": error: a forbidden system call ended the program call=";
        char line[128], digits[12];
        unsigned n = (unsigned)info->si_syscall, count = 0;
        size_t len = strnlen(program_name, 32);

        memcpy(line, program_name, len);
        memcpy(line + len, text, sizeof(text) - 1);
        len += sizeof(text) - 1;
        do
                digits[count++] = (char)('0' + n % 10);
        while ((n /= 10) > 0);
        while (count > 0)
                line[len++] = digits[--count];
        line[len++] = '\n';
        if (write(STDERR_FILENO, line, len) < 0)
                len = 0; /* nobody reads the line: the exit status is enough */
        _exit(1);
}

int sys_seccomp_list_enter(const char *program, const struct sys_seccomp_row *rows, size_t count)
{
        static struct sock_filter code[BEGIN_LEN + SYS_SECCOMP_ROWS_MAX * ROW_LEN + END_LEN];
        struct sigaction on_sys = { .sa_sigaction = on_denied, .sa_flags = SA_SIGINFO };

        if (count > SYS_SECCOMP_ROWS_MAX)
                return -E2BIG;
        program_name = program;
        if (CAY_IS_SANITIZED)
                return 0;
        if (sigaction(SIGSYS, &on_sys, NULL) < 0)
                return -errno;
        return sys_seccomp_enter(code, put_filter(code, rows, count));
}
