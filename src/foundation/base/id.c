/* SPDX-License-Identifier: Apache-2.0 */
/* Ids in base 32. Letters come first in the alphabet, so a small enough node starts with one. */

#include "foundation/base/id.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
_Static_assert(sizeof(alphabet) == 32 + 1, "five bits per character");
_Static_assert(2 + 2 + 15 * 8 / 5 == CAY_ID_LEN, "node, epoch, random bits");

static bool is_letter(char c)
{
        return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

void cay_id_make(char ret[CAY_ID_LEN + 1], unsigned node, unsigned epoch, const uint8_t random[15])
{
        unsigned bits = 0, have = 0;
        char *at = ret;

        assert(node < CAY_ID_NODES && epoch < CAY_ID_EPOCHS);
        *at++ = alphabet[node / 32];
        *at++ = alphabet[node % 32];
        *at++ = alphabet[epoch / 32];
        *at++ = alphabet[epoch % 32];
        for (size_t i = 0; i < 15; i++) {
                bits = (bits << 8 | random[i]) & 0xfff;
                for (have += 8; have >= 5; have -= 5)
                        *at++ = alphabet[bits >> (have - 5) & 31];
        }
        *at = '\0';
}

bool cay_id_is_made(const char *id)
{
        return is_letter(id[0]) && strspn(id, alphabet) == CAY_ID_LEN && id[CAY_ID_LEN] == '\0';
}

bool cay_id_is_valid(const char *id)
{
        size_t len;

        for (len = 0; id[len]; len++) {
                bool inner = is_letter(id[len]) || is_digit(id[len]);

                if (len == CAY_NAME_MAX || (!inner && (id[len] != '-' || len == 0)))
                        return false;
        }
        return len > 0 && id[len - 1] != '-';
}
