/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies landlock to the calling process. Afterwards only files below the given folders can be opened by
 * name, and no TCP port can be bound or connected to. Where the kernel supports it, neither signals nor
 * abstract sockets reach processes outside. Open descriptors stay usable. Needs no_new_privs; applies to this
 * thread and the threads it starts afterwards.
 */
#pragma once

#include <stdint.h>

/* Rights that every version of the kernel's landlock has. */
#define SYS_LANDLOCK_WRITE_FILE 0x2ull
#define SYS_LANDLOCK_READ_FILE 0x4ull
#define SYS_LANDLOCK_READ_DIR 0x8ull
#define SYS_LANDLOCK_REMOVE_DIR 0x10ull
#define SYS_LANDLOCK_REMOVE_FILE 0x20ull
#define SYS_LANDLOCK_MAKE_DIR 0x80ull
#define SYS_LANDLOCK_MAKE_REG 0x100ull
/* Newer: omitted where the kernel does not know it. */
#define SYS_LANDLOCK_TRUNCATE 0x4000ull

struct sys_landlock_folder {
        int fd;
        uint64_t rights;
};

/*
 * The kernel's version of landlock (at least 1), or -errno: -ENOSYS or -EOPNOTSUPP where there is none. Then
 * nothing is changed.
 */
int sys_landlock_enter(const struct sys_landlock_folder *folders, unsigned count);
/* The same, except that one TCP port may be connected to (0: none). */
int sys_landlock_enter_but(const struct sys_landlock_folder *folders, unsigned count, uint16_t connect_port);
/* The same, except that every TCP port may be connected to; none can be bound. */
int sys_landlock_enter_client(const struct sys_landlock_folder *folders, unsigned count);
