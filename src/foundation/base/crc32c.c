/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C: by instruction or by tables, eight bytes at a time. */
#include "foundation/base/crc32c.h"

#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* bit-reversed */
#define WIDE 8

static uint32_t tables[WIDE][256];

/* Whoever comes at the same time writes the same. */
static void make_tables(void)
{
        static bool is_made;

        if (__atomic_load_n(&is_made, __ATOMIC_ACQUIRE))
                return;
        for (unsigned i = 0; i < 256; i++) {
                uint32_t v = i;

                for (unsigned bit = 0; bit < 8; bit++)
                        v = v >> 1 ^ (v & 1 ? POLYNOMIAL : 0);
                __atomic_store_n(&tables[0][i], v, __ATOMIC_RELAXED);
        }
        for (unsigned k = 1; k < WIDE; k++)
                for (unsigned i = 0; i < 256; i++) {
                        uint32_t v = tables[k - 1][i];

                        __atomic_store_n(&tables[k][i], v >> 8 ^ tables[0][v & 0xff], __ATOMIC_RELAXED);
                }
        __atomic_store_n(&is_made, true, __ATOMIC_RELEASE);
}

uint32_t cay_crc32c_by_table(uint32_t sum, const void *bytes, size_t len)
{
        const uint8_t *at = bytes;
        uint32_t v = ~sum;

        make_tables();
        for (; len >= WIDE; len -= WIDE, at += WIDE) {
                v ^= (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
                v = tables[7][v & 0xff] ^ tables[6][v >> 8 & 0xff] ^ tables[5][v >> 16 & 0xff] ^
                    tables[4][v >> 24] ^ tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^
                    tables[0][at[7]];
        }
        for (; len > 0; len--, at++)
                v = v >> 8 ^ tables[0][(v ^ *at) & 0xff];
        return ~v;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t sum, const void *bytes, size_t len)
{
        const uint8_t *at = bytes;
        uint64_t v = ~sum;

        for (; len >= sizeof(uint64_t); len -= sizeof(uint64_t), at += sizeof(uint64_t)) {
                uint64_t word;

                memcpy(&word, at, sizeof(word));
                v = __builtin_ia32_crc32di(v, word);
        }
        for (; len > 0; len--, at++)
                v = __builtin_ia32_crc32qi((uint32_t)v, *at);
        return ~(uint32_t)v;
}

uint32_t cay_crc32c(uint32_t sum, const void *bytes, size_t len)
{
        return __builtin_cpu_supports("sse4.2") ? by_instruction(sum, bytes, len)
                                                : cay_crc32c_by_table(sum, bytes, len);
}

#else

uint32_t cay_crc32c(uint32_t sum, const void *bytes, size_t len)
{
        return cay_crc32c_by_table(sum, bytes, len);
}

#endif
