/* SPDX-License-Identifier: Apache-2.0 */
/* What must never be among the agent's system calls, by hand, in plain words. That the agent works with them is tested by the contract. */
#include "cay-agent/confine.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "foundation/base/str.h"

/* As the filter does it: the first row that holds lets the call pass. */
static bool passes(unsigned nr, unsigned arg, unsigned value)
{
        unsigned count;
        const struct sys_seccomp_row *rows = agent_calls(&count);

        for (unsigned i = 0; i < count; i++) {
                if (rows[i].nr != nr)
                        continue;
                if (rows[i].test == SYS_SECCOMP_PASS)
                        return true;
                assert_int_equal(rows[i].arg, arg); /* the question is about the argument that is tested */
                if (rows[i].test == SYS_SECCOMP_NO_BITS ? !(value & rows[i].value) : value == rows[i].value)
                        return true;
        }
        return false;
}

static void what_reaches_others_is_not_there(void **state)
{
        static const unsigned musts[] = {
                SYS_execve,
                SYS_execveat,
                SYS_clone,
                SYS_clone3,
                SYS_kill,
                SYS_tgkill,
                SYS_ptrace,
                SYS_mount,
                SYS_umount2,
                SYS_move_mount,
                SYS_open_tree,
                SYS_unshare,
                SYS_setns,
                SYS_bpf,
                SYS_keyctl,
                SYS_setuid,
                SYS_setresuid,
                SYS_capset,
                SYS_unlinkat,
                SYS_renameat2,
                SYS_mkdirat,
                SYS_fchmodat,
                SYS_fchownat,
                SYS_linkat,
                SYS_symlinkat,
                SYS_truncate,
                SYS_pidfd_getfd,
                SYS_pidfd_open,
                SYS_io_uring_setup,
                SYS_userfaultfd,
                SYS_listen,
                SYS_memfd_create,
                SYS_name_to_handle_at,
                SYS_open_by_handle_at,
                SYS_process_vm_readv,
                SYS_process_vm_writev,
#ifdef __x86_64__
                SYS_fork,
                SYS_vfork,
                SYS_unlink,
                SYS_rename,
                SYS_creat,
                SYS_mkdir,
                SYS_chmod,
#endif
        };

        for (unsigned i = 0; i < CAY_COUNT(musts); i++)
                if (passes(musts[i], 0, 0))
                        fail_msg("system call %u is among the agent's", musts[i]);
}

static void arguments_are_bounded(void **state)
{
        assert_true(passes(SYS_openat, 2, O_RDONLY | O_CLOEXEC));
        assert_false(passes(SYS_openat, 2, O_WRONLY));
        assert_false(passes(SYS_openat, 2, O_RDWR));
        assert_false(passes(SYS_openat, 2, O_CREAT));
        assert_true(passes(SYS_mmap, 2, PROT_READ | PROT_WRITE));
        assert_true(passes(SYS_mmap, 2, PROT_READ | PROT_EXEC));
        assert_false(passes(SYS_mmap, 2, PROT_READ | PROT_WRITE | PROT_EXEC));
        assert_false(passes(SYS_mprotect, 2, PROT_READ | PROT_EXEC));
        assert_true(passes(SYS_socket, 0, AF_INET6));
        assert_false(passes(SYS_socket, 0, AF_PACKET));
        assert_false(passes(SYS_fcntl, 1, F_SETOWN));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_reaches_others_is_not_there),
                cmocka_unit_test(arguments_are_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
