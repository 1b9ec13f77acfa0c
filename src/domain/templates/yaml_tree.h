/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A YAML text as a small tree with the position of each value. The only place that uses the library.
 *
 * Only what a configuration needs is accepted: one document of mappings, sequences and scalars. Anchors,
 * aliases, merge keys and tags are refused (so nothing expands and nothing is constructed), keys are plain
 * scalars and come once, and depth, counts and sizes have bounds. Scalars stay texts: the reader of the tree
 * interprets them.
 */
#pragma once

#include "foundation/base/arena.h"
#include "domain/templates/notes.h"

#define CAY_YAML_DEPTH_MAX 12
#define CAY_YAML_NODES_MAX 20000
#define CAY_YAML_ENTRIES_MAX 1024 /* of one mapping or sequence */

enum cay_yaml_kind { CAY_YAML_SCALAR, CAY_YAML_SEQUENCE, CAY_YAML_MAPPING };

struct cay_yaml_node { /* all in the arena */
        enum cay_yaml_kind kind;
        unsigned line, column;     /* from 1; of a mapping's entry: of its value */
        const char *text;          /* SCALAR: without NUL inside */
        bool is_plain;             /* SCALAR: not quoted, no block */
        struct cay_yaml_node *key; /* entries of a MAPPING: the scalar */
        struct cay_yaml_node *first, *next;
        unsigned count; /* of children */
};

/*
 * The root, or NULL when it is no such text; notes say why. A key that comes twice is an error in notes, and
 * both are in the tree.
 */
struct cay_yaml_node *cay_yaml_parse(const char *text, size_t len, struct cay_arena *mem,
                                     struct cay_notes *notes);
/* Nothing was written: `key:` alone, ~ or null. */
bool cay_yaml_is_null(const struct cay_yaml_node *node);
const char *cay_yaml_kind_text(const struct cay_yaml_node *node); /* "a list" */
