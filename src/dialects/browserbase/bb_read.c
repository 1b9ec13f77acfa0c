/* SPDX-License-Identifier: Apache-2.0 */
/* Small readers of what clients and ops say, and ids. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dialects/browserbase/bb_priv.h"
#include "domain/settings/config.h"

const struct cay_json_value *bb_member(const struct bb_request *q, const char *name)
{
        return q->body ? cay_json_value_find(cay_json_in_root(q->body), name) : NULL;
}

const char *bb_text(const struct cay_json_value *object, const char *name)
{
        return cay_json_value_text(cay_json_value_find(object, name));
}

bool bb_number(const struct cay_json_value *object, const char *name, int64_t *ret)
{
        return cay_json_value_i64(cay_json_value_find(object, name), ret);
}

bool bb_flag(const struct cay_json_value *object, const char *name, bool otherwise)
{
        const struct cay_json_value *v = cay_json_value_find(object, name);

        return cay_json_value_type(v) == CAY_JSON_BOOL ? cay_json_value_is_true(v) : otherwise;
}

bool bb_has(const struct cay_json_value *object, const char *name)
{
        return cay_json_value_type(cay_json_value_find(object, name)) != CAY_JSON_NULL;
}

void bb_put_copy(struct cay_json *j, const char *key, const struct cay_json_value *value)
{
        cay_json_key(j, key);
        cay_json_value_put(j, value);
}

bool bb_id_is_one(const char *text)
{
        static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

        for (unsigned i = 0; i < BB_ID_LEN; i++) {
                bool is_hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');

                if (form[i] == '-' ? text[i] != '-' : !is_hex)
                        return false;
        }
        return text[BB_ID_LEN] == '\0';
}

/* 32 digits with the marks of a random UUID. */
static void shape(const char digits[static 32], char ret[BB_ID_LEN + 1])
{
        snprintf(ret, BB_ID_LEN + 1, "%.8s-%.4s-4%.3s-8%.3s-%.12s", digits, digits + 8, digits + 13,
                 digits + 17, digits + 20);
}

void bb_id_make(char ret[BB_ID_LEN + 1])
{
        char one[CAY_GATE_ID + 1], other[CAY_GATE_ID + 1], digits[2 * CAY_GATE_ID + 1];

        cay_gate_make_id(one);
        cay_gate_make_id(other);
        snprintf(digits, sizeof(digits), "%s%s", one, other);
        shape(digits, ret);
}

/* Without a setting it is made of the owner's name (FNV-1a): always the same one. */
const char *bb_project(const struct bb_request *q, char room[BB_ID_LEN + 1])
{
        uint64_t hash = 0xcbf29ce484222325;
        char digits[33];

        if (q->world->config->browserbase_project[0])
                return q->world->config->browserbase_project;
        for (const char *at = q->caller.owner; *at; at++)
                hash = (hash ^ (uint8_t)*at) * 0x100000001b3;
        snprintf(digits, sizeof(digits), "%016" PRIx64 "%016" PRIx64, hash, hash * 0x9e3779b97f4a7c15);
        shape(digits, room);
        return room;
}
