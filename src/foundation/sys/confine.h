/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For a process that has finished its privileged work and now parses untrusted input. It gives up every
 * capability, root's ids (switches to nobody), new privileges and dumpability. Where landlock exists it also
 * gives up every file that is not open yet.
 */
#pragma once

/*
 * Root becomes `id` (user and group), with no other group, and every capability is gone; files are left as
 * they are. 0 or -errno.
 */
int sys_give_up_root(unsigned id);
int sys_self_confine(void); /* 0 or -errno; also allowed for a process that never had privileges */
