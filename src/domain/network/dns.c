/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/network/dns.h"

#include <string.h>

#include "foundation/base/banned.h"

enum {
        HEAD = 12,
        RESPONSE = 0x8000,
        OPCODE = 0x7800,
        RECURSION_DESIRED = 0x0100,
        RECURSION_THERE = 0x0080,
        CLASS_IN = 1
};

static uint16_t get16(const uint8_t *at)
{
        return (uint16_t)(at[0] << 8 | at[1]);
}

static uint8_t *put16(uint8_t *at, unsigned value)
{
        at[0] = (uint8_t)(value >> 8);
        at[1] = (uint8_t)value;
        return at + 2;
}

/* Labels up to the empty one, with dots between them; how many bytes they took, 0: malformed. */
static size_t read_name(const uint8_t *at, size_t left, char text[256], size_t *ret_len)
{
        size_t used = 0, len = 0;

        while (used < left && at[used] != 0) {
                size_t label = at[used];

                if (label > 63 || label + 1 >= left - used || len + label + 1 > 254)
                        return 0;
                for (size_t i = 0; i < label;
                     i++) { /* a dot inside a label must not pass for one between labels */
                        char c = (char)at[used + 1 + i];

                        text[len++] = c == '.' ? '\0' : c;
                }
                text[len++] = '.';
                used += label + 1;
        }
        if (used >= left)
                return 0;
        *ret_len = len;
        return used + 1;
}

int cay_dns_read(const void *bytes, size_t len, struct cay_dns_query *ret, enum cay_dns_code *ret_code)
{
        const uint8_t *at = bytes;
        char text[256];
        size_t name_len = 0, used;

        *ret = (struct cay_dns_query){ 0 };
        if (len < HEAD || (get16(at + 2) & RESPONSE))
                return -1;
        ret->id = get16(at);
        ret->flags = get16(at + 2);
        if (ret->flags & OPCODE) {
                *ret_code = CAY_DNS_NOTIMP;
                return 1;
        }
        *ret_code = CAY_DNS_FORMERR;
        if (get16(at + 4) != 1 || get16(at + 6) != 0)
                return 1;
        used = read_name(at + HEAD, len - HEAD, text, &name_len);
        if (used == 0 || len - HEAD - used < 4)
                return 1;
        ret->question_len = used + 4;
        memcpy(ret->question, at + HEAD, ret->question_len);
        ret->type = get16(at + HEAD + used);
        if (get16(at + HEAD + used + 2) != CLASS_IN) {
                *ret_code = CAY_DNS_NOTIMP;
                return 1;
        }
        if (!cay_policy_name_fold(text, name_len, ret->name))
                ret->name[0] = '\0';
        *ret_code = CAY_DNS_OK;
        return 0;
}

size_t cay_dns_answer(const struct cay_dns_query *q, enum cay_dns_code code,
                      const struct cay_address *address, uint8_t ret[CAY_DNS_MESSAGE_MAX])
{
        size_t address_len = q->type == CAY_DNS_A ? 4 : 16;
        uint8_t *at = ret;

        at = put16(at, q->id);
        at = put16(at,
                   RESPONSE | RECURSION_THERE | (q->flags & (OPCODE | RECURSION_DESIRED)) | (unsigned)code);
        at = put16(at, q->question_len > 0);
        at = put16(at, address != NULL);
        at = put16(at, 0);
        at = put16(at, 0);
        memcpy(at, q->question, q->question_len);
        at += q->question_len;
        if (address == NULL)
                return (size_t)(at - ret);
        at = put16(at, 0xc000 | HEAD); /* the question's name */
        at = put16(at, q->type);
        at = put16(at, CLASS_IN);
        at = put16(at, 0);
        at = put16(at, CAY_DNS_TTL_S);
        at = put16(at, (unsigned)address_len);
        memcpy(at, address->bytes + 16 - address_len, address_len);
        return (size_t)(at + address_len - ret);
}
