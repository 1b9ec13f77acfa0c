/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A registry of any bytes: refused with a place and a reason, or every template of it is whole and within its
 * bounds.
 */

#include <stdint.h>

#include "foundation/base/id.h"
#include "foundation/base/path.h"
#include "foundation/base/utf8.h"
#include "domain/templates/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

static void check_template(const struct cay_template *t, const struct cay_template_set *set)
{
        struct cay_error err = { 0 };

        HOLDS(cay_id_is_valid(t->name) && cay_template_find(set, t->name) == t);
        HOLDS(cay_limits_check(&t->limits, &err) == 0);
        HOLDS(t->limits.memory_bytes > 0 && t->limits.wall_ms > 0 && t->limits.cpu_milli > 0);
        HOLDS(t->root != CAY_TEMPLATE_ROOT_NONE && t->engine && t->network && t->description);
        if (t->root == CAY_TEMPLATE_ROOT_ROOTFS || t->root == CAY_TEMPLATE_ROOT_DOCKERFILE)
                HOLDS(cay_path_is_inside(t->root_text));
        HOLDS(cay_path_is_inside(t->system_path));
        HOLDS(t->interpret.count > 0 && t->root_fd == -1);
        for (unsigned i = 0; i < t->triggers.count; i++)
                HOLDS(t->triggers.items[i][0] != '\0');
        HOLDS(t->available || t->why[0]);
}

static void check_set(struct cay_registry *r, struct cay_notes *notes)
{
        const struct cay_registry_place place = { .folder_fd = -1, .usr_fd = -1, .engines = "native" };
        const struct cay_template_set *set = cay_registry_set(r);

        cay_registry_look(r, &place, notes);
        HOLDS(set->count > 0);
        for (unsigned i = 0; i < set->count; i++)
                check_template(&set->rows[i], set);
        cay_template_match(set, "please run python and test this");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct cay_notes notes;
        cay_auto_buf struct cay_buf json = { 0 };
        struct cay_registry *r = NULL;

        notes = (struct cay_notes){ 0 };
        if (cay_registry_parse("fuzz", (const char *)data, size, &notes, &r) == 0)
                check_set(r, &notes);
        else
                HOLDS(notes.errors > 0 && notes.count > 0 && !r);
        cay_registry_free(r);
        for (unsigned i = 0; i < notes.count; i++) {
                HOLDS(notes.items[i].text[0] && !strchr(notes.items[i].text, '\n'));
                HOLDS(cay_utf8_valid(notes.items[i].text, strlen(notes.items[i].text)));
        }
        cay_buf_init(&json, 1u << 20);
        HOLDS(cay_notes_put_json(&notes, "fuzz", &json) == 0);
        return 0;
}
