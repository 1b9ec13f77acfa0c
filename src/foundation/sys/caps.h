/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities by raw calls: sets as 64-bit masks. All return 0 or -errno. */
#pragma once

#include <linux/capability.h>
#include <stdint.h>

#define SYS_CAP(nr) (1ULL << (nr))
#define SYS_CAP_ALL (~0ULL)

int sys_caps_get(uint64_t *ret_effective, uint64_t *ret_permitted, uint64_t *ret_inheritable);
int sys_caps_set(uint64_t effective, uint64_t permitted, uint64_t inheritable);
/* Drops from the bounding set all but `keep`; needs CAP_SETPCAP for what is still there. */
int sys_caps_bound(uint64_t keep);
/* Makes the ambient set exactly `want` (permitted and inheritable must hold it). */
int sys_caps_ambient(uint64_t want);
