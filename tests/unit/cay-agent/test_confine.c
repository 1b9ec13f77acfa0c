/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must never be among the agent's system calls, by hand, in plain words. That the agent works with them
 * is tested by the contract.
 */
#include "cay-agent/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "foundation/base/str.h"
#include "foundation/sys/fd.h"

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

/* In a child. */
#define MUST(condition)                                                                                      \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        _exit(fprintf(stderr, "line %d: " #condition "\n", __LINE__) < 0 ? 2 : 1);           \
        } while (0)

static bool opens(const char *path, uint64_t flags)
{
        struct {
                uint64_t flags, mode, resolve;
        } how = { .flags = flags | O_CLOEXEC, .mode = flags & O_CREAT ? 0600 : 0 };
        long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

        if (fd >= 0)
                close((int)fd);
        return fd >= 0;
}

/* As this user may, before; the filter cannot see what openat2 is asked for. */
static void try_files(const char *folder, bool is_listening)
{
        int fd = open("f", O_RDWR | O_CREAT | O_CLOEXEC, 0600),
            dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        const struct sockaddr_in to = { .sin_family = AF_INET,
                                        .sin_port = htons(9),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        struct cay_error err = { 0 };
        int sock, beneath;
        char byte;

        MUST(fd >= 0 && dir >= 0 && opens("f", O_RDWR) && opens("f", O_RDONLY) && mkdir("sub", 0700) == 0);
        MUST(agent_confine(is_listening, &err) == 0);
        MUST(!opens("f", O_WRONLY) && errno == EACCES);
        MUST(!opens("f", O_RDWR) && !opens("f", O_RDONLY) && !opens("f", O_WRONLY | O_TRUNC) &&
             !opens("new", O_WRONLY | O_CREAT));
        MUST(!opens(folder, O_RDWR | O_TMPFILE) && !opens(folder, O_RDONLY | O_DIRECTORY) &&
             !opens("/proc/self/mem", O_RDWR));
        MUST(!opens("/etc/hosts", O_WRONLY) && !opens("/dev/shm/x", O_WRONLY | O_CREAT));
        /* What is open stays, and what its work needs can be had. */
        MUST(pwrite(fd, "x", 1, 0) == 1 && pread(fd, &byte, 1, 0) == 1 && byte == 'x' &&
             ftruncate(fd, 0) == 0);
        beneath = sys_open_beneath(dir, "sub", O_PATH | O_DIRECTORY, 0);
        MUST(beneath >= 0 && opens("/etc/passwd", O_RDONLY) && opens("/usr/lib", O_RDONLY | O_DIRECTORY));
        sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        MUST(sock >= 0 && connect(sock, (const struct sockaddr *)&to, sizeof(to)) < 0);
        MUST(errno == ECONNREFUSED || (is_listening && errno == EACCES));
        _exit(0);
}

static int clean(const char *folder)
{
        char path[64];

        snprintf(path, sizeof(path), "%s/f", folder);
        if (unlink(path) < 0)
                return -1;
        snprintf(path, sizeof(path), "%s/sub", folder);
        return rmdir(path);
}

static void no_file_can_be_written(void **state)
{
        char folder[] = "/tmp/cay-agent-confine-XXXXXX";
        bool has_landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 1;
        int status;

        if (!has_landlock)
                skip();
        assert_non_null(mkdtemp(folder));
        for (unsigned i = 0; i < 2; i++) {
                pid_t pid;

                fflush(NULL);
                pid = fork();
                if (pid == 0) {
                        MUST(chdir(folder) == 0);
                        try_files(folder, i);
                }
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_int_equal(status, 0);
                assert_int_equal(clean(folder), 0);
        }
        assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_reaches_others_is_not_there),
                cmocka_unit_test(arguments_are_bounded),
                cmocka_unit_test(no_file_can_be_written),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
