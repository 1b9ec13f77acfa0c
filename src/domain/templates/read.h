/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the tree into structs, by tables. Every error is noted with its position; valid values are filled
 * anyway.
 */
#pragma once

#include "foundation/base/field.h"
#include "domain/templates/yaml_tree.h"

struct cay_registry_reader {
        struct cay_arena *mem; /* lists and maps go here */
        struct cay_notes *notes;
};

/*
 * `where` names the mapping in texts ("containers.x"); "" for the file itself. strict: every unknown key is
 * an error.
 */
void cay_registry_read(struct cay_registry_reader *r, const struct cay_yaml_node *node,
                       const struct cay_field *table, void *args, const char *where, bool strict);
/* The entry of a mapping, or NULL. */
const struct cay_yaml_node *cay_registry_entry(const struct cay_yaml_node *mapping, const char *name);
/* Notes every key that the table does not have, with the key that was probably meant. */
void cay_registry_read_unknown(struct cay_registry_reader *r, const struct cay_yaml_node *mapping,
                               const struct cay_field *table, const char *where, bool strict);
