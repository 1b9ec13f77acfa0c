/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table by number (an address is a base and a number) and one by name, both of open addressing with linear
 * probing; the order of use is a doubly linked list of rows.
 */
#include "domain/network/names.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/banned.h"

#define SLOTS (2 * CAY_NAMES_MAX)
#define NONE UINT16_MAX
#define NUMBERS (1u << 17) /* in 198.18.0.0/15 */
#define FIRST_NUMBER 1u    /* the range's own address is no host's */

struct row {
        char name[CAY_POLICY_NAME_MAX + 1];
        uint32_t number;
        uint16_t older, newer;
};

struct cay_names {
        struct row rows[CAY_NAMES_MAX];
        uint16_t count, oldest, newest;
        uint16_t by_name[SLOTS], by_number[SLOTS]; /* row; NONE: free */
        uint32_t next;
};

static const uint8_t v4_base[16] = { [10] = 0xff, [11] = 0xff, 198, 18 };
static const uint8_t v6_base[16] = { 0xfd, 0xca, 0xc0, 0xde };

struct cay_names *cay_names_new(void)
{
        struct cay_names *n = calloc(1, sizeof(*n));

        if (n == NULL)
                return NULL;
        memset(n->by_name, 0xff, sizeof(n->by_name));
        memset(n->by_number, 0xff, sizeof(n->by_number));
        n->oldest = n->newest = NONE;
        n->next = FIRST_NUMBER;
        return n;
}

void cay_names_free(struct cay_names *n)
{
        free(n);
}

static uint32_t hash_name(const char *name)
{
        uint32_t h = 2166136261u;

        for (; *name != '\0'; name++)
                h = (h ^ (uint8_t)*name) * 16777619u;
        return h;
}

static uint32_t hash_number(uint32_t number)
{
        return number * 2654435761u >> 7;
}

static uint32_t hash_of(const struct cay_names *n, const uint16_t *slots, uint16_t row)
{
        return slots == n->by_name ? hash_name(n->rows[row].name) : hash_number(n->rows[row].number);
}

static void put_slot(struct cay_names *n, uint16_t *slots, uint16_t row)
{
        uint32_t at = hash_of(n, slots, row) % SLOTS;

        while (slots[at] != NONE)
                at = (at + 1) % SLOTS;
        slots[at] = row;
}

/* Takes a row out, and moves those behind it that may not lie behind a gap. */
static void remove_slot(struct cay_names *n, uint16_t *slots, uint16_t row)
{
        uint32_t at = hash_of(n, slots, row) % SLOTS, next;

        while (slots[at] != row)
                at = (at + 1) % SLOTS;
        slots[at] = NONE;
        for (next = (at + 1) % SLOTS; slots[next] != NONE; next = (next + 1) % SLOTS) {
                uint16_t moved = slots[next];

                slots[next] = NONE;
                put_slot(n, slots, moved);
        }
}

static void unlink_row(struct cay_names *n, uint16_t row)
{
        struct row *r = &n->rows[row];

        *(r->older == NONE ? &n->oldest : &n->rows[r->older].newer) = r->newer;
        *(r->newer == NONE ? &n->newest : &n->rows[r->newer].older) = r->older;
}

static void link_newest(struct cay_names *n, uint16_t row)
{
        struct row *r = &n->rows[row];

        r->older = n->newest;
        r->newer = NONE;
        *(n->newest == NONE ? &n->oldest : &n->rows[n->newest].newer) = row;
        n->newest = row;
}

static uint16_t find_name(const struct cay_names *n, const char *name)
{
        for (uint32_t at = hash_name(name) % SLOTS; n->by_name[at] != NONE; at = (at + 1) % SLOTS)
                if (strcmp(n->rows[n->by_name[at]].name, name) == 0)
                        return n->by_name[at];
        return NONE;
}

static uint16_t find_number(const struct cay_names *n, uint32_t number)
{
        for (uint32_t at = hash_number(number) % SLOTS; n->by_number[at] != NONE; at = (at + 1) % SLOTS)
                if (n->rows[n->by_number[at]].number == number)
                        return n->by_number[at];
        return NONE;
}

/* One that no name has now. There are far more numbers than names. */
static uint32_t free_number(struct cay_names *n)
{
        uint32_t number;

        do {
                number = n->next;
                n->next = n->next + 1 < NUMBERS - 1 ? n->next + 1 : FIRST_NUMBER;
        } while (find_number(n, number) != NONE);
        return number;
}

static uint16_t add(struct cay_names *n, const char *name)
{
        uint32_t number = free_number(n);
        uint16_t row = n->oldest;

        if (n->count < CAY_NAMES_MAX) {
                row = n->count++;
        } else {
                remove_slot(n, n->by_name, row);
                remove_slot(n, n->by_number, row);
                unlink_row(n, row);
        }
        memcpy(n->rows[row].name, name, strlen(name) + 1);
        n->rows[row].number = number;
        put_slot(n, n->by_name, row);
        put_slot(n, n->by_number, row);
        link_newest(n, row);
        return row;
}

static void use(struct cay_names *n, uint16_t row)
{
        unlink_row(n, row);
        link_newest(n, row);
}

int cay_names_address(struct cay_names *n, const char *name, bool v6, struct cay_address *ret)
{
        uint16_t row = find_name(n, name);
        uint32_t number;

        if (strlen(name) > CAY_POLICY_NAME_MAX)
                return -1;
        if (row == NONE)
                row = add(n, name);
        else
                use(n, row);
        number = n->rows[row].number;
        memcpy(ret->bytes, v6 ? v6_base : v4_base, sizeof(ret->bytes));
        ret->bytes[13] = (uint8_t)(ret->bytes[13] | number >> 16);
        ret->bytes[14] = (uint8_t)(number >> 8);
        ret->bytes[15] = (uint8_t)number;
        return 0;
}

static bool is_v6_one(const struct cay_address *a)
{
        return memcmp(a->bytes, v6_base, 8) == 0;
}

bool cay_names_is_one(const struct cay_address *a)
{
        return is_v6_one(a) || (memcmp(a->bytes, v4_base, 13) == 0 && (a->bytes[13] & 0xfe) == 18);
}

const char *cay_names_find(struct cay_names *n, const struct cay_address *a)
{
        bool v6 = is_v6_one(a);
        uint32_t number = (uint32_t)(a->bytes[13] & 1) << 16 | (uint32_t)a->bytes[14] << 8 | a->bytes[15];
        uint16_t row;

        if (!cay_names_is_one(a) || (v6 && (memcmp(a->bytes + 8, v6_base + 8, 5) != 0 || a->bytes[13] > 1)))
                return NULL;
        row = find_number(n, number);
        if (row == NONE)
                return NULL;
        use(n, row);
        return n->rows[row].name;
}
