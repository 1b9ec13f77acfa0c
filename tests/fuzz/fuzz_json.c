/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stranger's JSON body, read by a table with a row of every kind. Beyond "does not crash" it checks what
 * json_in.h promises: errors have a code and a text, values are in the range of their rows, what was parsed
 * prints and parses again.
 */

#include <stdint.h>

#include "foundation/base/utf8.h"
#include "foundation/json/json_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

struct inner {
        uint64_t memory, cpus;
};

struct args {
        const char *text;
        uint64_t number, timeout;
        bool yes, given;
        struct cay_field_texts list, words;
        struct cay_field_map map;
        struct inner inner;
        const struct cay_json_value *any;
};

static const struct cay_field inner_fields[] = {
        { "memory", CAY_FIELD_SIZE, offsetof(struct inner, memory), 0, "", .min = 1, .max = 1ull << 40 },
        { "cpus", CAY_FIELD_MILLI, offsetof(struct inner, cpus), 0, "", .max = 64000 },
        {},
};

static const struct cay_field fields[] = {
        { "text", CAY_FIELD_TEXT, offsetof(struct args, text), 0, "", .max = 20,
          .given = CAY_FIELD_GIVEN(struct args, given) },
        { "number", CAY_FIELD_U64, offsetof(struct args, number), 0, "", .min = 2, .max = 1000 },
        { "timeout", CAY_FIELD_DURATION, offsetof(struct args, timeout), 0, "", .max = 100000 },
        { "yes", CAY_FIELD_BOOL, offsetof(struct args, yes), 0, "" },
        { "list", CAY_FIELD_TEXTS, offsetof(struct args, list), 0, "", .max = 4, .item_max = 8 },
        { "words", CAY_FIELD_WORDS, offsetof(struct args, words), 0, "", .max = 4, .item_max = 8 },
        { "map", CAY_FIELD_MAP, offsetof(struct args, map), 0, "", .max = 4, .item_max = 8 },
        { "inner", CAY_FIELD_OBJECT, offsetof(struct args, inner), 0, "", .fields = inner_fields },
        { "any", CAY_FIELD_ANY, offsetof(struct args, any), 0, "" },
        {},
};

static void check_texts(const struct cay_field_texts *t)
{
        HOLDS(t->count <= 4 && (!t->line || t->count == 0));
        for (unsigned i = 0; i < t->count; i++)
                HOLDS(strlen(t->items[i]) <= 8);
        HOLDS(!t->items || !t->items[t->count]);
}

static void check_args(const struct args *a)
{
        HOLDS(!a->text || strlen(a->text) <= 20);
        HOLDS(a->given == (a->text != NULL));
        HOLDS(a->number == 0 || (a->number >= 2 && a->number <= 1000));
        HOLDS(a->timeout <= 100000 && a->inner.memory <= 1ull << 40 && a->inner.cpus <= 64000);
        check_texts(&a->list);
        check_texts(&a->words);
        HOLDS(a->map.count <= 4);
        for (unsigned i = 0; i < a->map.count; i++)
                HOLDS(strlen(a->map.pairs[i].value) <= 8);
}

/* Printed and parsed again it prints the same. */
static void check_print(const struct cay_json_in *doc)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *again = NULL;
        cay_auto_buf struct cay_buf one, two;
        struct cay_error err;

        cay_buf_init(&one, 1 << 20);
        cay_buf_init(&two, 1 << 20);
        if (cay_json_value_print(cay_json_in_root(doc), &one) < 0)
                return;
        HOLDS(cay_utf8_valid(cay_buf_data(&one), one.len));
        if (cay_json_in_parse(cay_buf_data(&one), one.len, NULL, &again, &err) < 0)
                return; /* a real at the edge of its range may print as one beyond it */
        HOLDS(cay_json_value_print(cay_json_in_root(again), &two) == 0);
        HOLDS(one.len == two.len && memcmp(cay_buf_data(&one), cay_buf_data(&two), one.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static bool seeded;
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        char field[CAY_JSON_IN_FIELD_MAX + 1] = "";
        struct cay_error err = { 0 };
        struct args args = { 0 };

        if (!seeded)
                cay_json_in_seed(1); /* the same each time, so that what is found can be found again */
        seeded = true;
        if (cay_json_in_parse((const char *)data, size, NULL, &doc, &err) < 0) {
                HOLDS(!doc && err.msg[0] != '\0');
                HOLDS(err.code == CAY_INVALID || err.code == CAY_LIMIT);
                return 0;
        }
        if (cay_json_in_read(doc, cay_json_in_root(doc), fields, &args, field, &err) < 0) {
                HOLDS(err.code == CAY_INVALID || err.code == CAY_LIMIT);
                HOLDS(strlen(field) <= CAY_JSON_IN_FIELD_MAX);
        } else {
                check_args(&args);
        }
        check_print(doc);
        return 0;
}
