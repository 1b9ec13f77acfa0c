/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership made visible: variables that clean up after themselves, and "take", which hands ownership on. */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define cay_auto(fn) __attribute__((cleanup(fn)))
#define cay_auto_free cay_auto(cay_freep)
#define cay_auto_close cay_auto(cay_closep)

#define cay_take(p)                                                                                          \
        ({                                                                                                   \
                __auto_type taken_ = (p);                                                                    \
                (p) = NULL;                                                                                  \
                taken_;                                                                                      \
        })
#define cay_take_fd(fd)                                                                                      \
        ({                                                                                                   \
                int taken_ = (fd);                                                                           \
                (fd) = -1;                                                                                   \
                taken_;                                                                                      \
        })

#define CAY_DEFINE_AUTO(type, free_fn)                                                                       \
        static inline void free_fn##p(type **p)                                                              \
        {                                                                                                    \
                free_fn(*p);                                                                                 \
        }

#define cay_container_of(ptr, type, member)                                                                  \
        ((type *)(void *)((char *)(1 ? (ptr) : &((type *)0)->member) - offsetof(type, member)))

#define CAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CAY_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

static inline void cay_freep(void *p)
{
        free(*(void **)p);
}

static inline void cay_closep(int *fd)
{
        if (*fd >= 0)
                close(*fd);
}
