/* SPDX-License-Identifier: Apache-2.0 */
/* The tree: places, forms, and everything of YAML that a configuration does not need. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/templates/yaml_tree.h"

static struct cay_notes notes;
static struct cay_arena mem;

static int setup(void **state)
{
        notes = (struct cay_notes){ 0 };
        cay_arena_init(&mem, 8u << 20);
        return 0;
}

static int teardown(void **state)
{
        cay_arena_done(&mem);
        return 0;
}

static struct cay_yaml_node *parse_bytes(const char *text, size_t len)
{
        cay_arena_done(&mem);
        cay_arena_init(&mem, 8u << 20);
        notes = (struct cay_notes){ 0 };
        return cay_yaml_parse(text, len, &mem, &notes);
}

static void refuses_bytes(const char *text, size_t len, const char *expected)
{
        char line[CAY_NOTE_TEXT + 32];

        assert_null(parse_bytes(text, len));
        assert_int_equal(notes.errors, 1);
        assert_string_equal(cay_note_line(&notes.items[0], "f", line, sizeof(line)), expected);
}

static void refuses(const char *text, const char *expected)
{
        refuses_bytes(text, strlen(text), expected);
}

static void nodes_know_their_place(void **state)
{
        const char *text = "a: 1\nb:\n  - x\n  - 'y'\nc: {d: \"z\", e: }\n";
        struct cay_yaml_node *root = parse_bytes(text, strlen(text)), *n;

        assert_non_null(root);
        assert_int_equal(root->kind, CAY_YAML_MAPPING);
        assert_int_equal(root->count, 3);
        n = root->first;
        assert_string_equal(n->key->text, "a");
        assert_string_equal(n->text, "1");
        assert_true(n->line == 1 && n->column == 4 && n->key->column == 1);
        n = n->next;
        assert_int_equal(n->kind, CAY_YAML_SEQUENCE);
        assert_true(n->line == 3 && n->column == 3 && n->count == 2);
        assert_true(n->first->is_plain && n->first->column == 5);
        assert_false(n->first->next->is_plain);
        n = n->next;
        assert_int_equal(n->kind, CAY_YAML_MAPPING);
        assert_true(n->line == 5 && n->column == 4);
        assert_string_equal(n->first->text, "z");
        assert_true(cay_yaml_is_null(n->first->next));
        assert_null(n->next);
}

static void columns_are_characters(void **state)
{
        const char *text = "\"\xc3\xa4\xc3\xb6\": x\n";
        struct cay_yaml_node *root = parse_bytes(text, strlen(text));

        assert_int_equal(root->first->column, 7);
}

static void nothing_expands_and_nothing_is_constructed(void **state)
{
        refuses("a: &x 1\nb: *x\n",
                "f:1:4: anchors (&name) are not supported; write the value where it is needed");
        refuses("a: *x\n", "f:1:4: aliases (*name) are not supported; write the value where it is needed");
        refuses("a: &x [*x]\n",
                "f:1:4: anchors (&name) are not supported; write the value where it is needed");
        refuses("a: {<<: {b: 1}}\n",
                "f:1:5: merge keys (<<) are not supported; write the values where they are needed");
        refuses("a: !!python/object:os.system x\n",
                "f:1:4: tags (!name) are not supported; write the value without one");
        refuses("a: !!int \"3\"\n", "f:1:4: tags (!name) are not supported; write the value without one");
        refuses("a: ! x\n", "f:1:4: tags (!name) are not supported; write the value without one");
        refuses("--- !x\na: b\n", "f:1:5: tags (!name) are not supported; write the value without one");
        refuses("%TAG ! tag:x,2000:\n---\na: b\n", "f:1:1: %TAG is not supported; remove the line");
        refuses("a: b\n---\nc: d\n", "f:2:1: a second document begins here; a registry is one document");
        refuses("? [a, b]\n: c\n", "f:1:3: a key must be one word; lists and mappings cannot be keys");
}

static void broken_texts(void **state)
{
        refuses("", "f:1:1: is empty; a registry begins with 'containers:'");
        refuses("# nothing\n", "f:1:1: is empty; a registry begins with 'containers:'");
        refuses("a:\n\t- b\n", "f:2:1: a tab cannot stand here; indent with blanks");
        refuses("a: [1, 2\nb: 3\n", "f:2:2: while parsing a flow sequence: did not find expected ',' or ']'; "
                                    "look at indentation, colons and quotes here");
        refuses("a: \"x\n", "f:2:1: while scanning a quoted scalar: found unexpected end of stream; look at "
                            "indentation, colons and quotes here");
        refuses("a: b\n  c: d\n",
                "f:2:4: mapping values are not allowed in this context; look at indentation, "
                "colons and quotes here");
        refuses("a: b\nc: \"\\0\"\n", "f:2:4: a NUL character cannot be part of a value; take it out");
        refuses("a: b\nc: \xff\n", "f:2:4: invalid leading UTF-8 octet; write the file as plain UTF-8 text");
        refuses_bytes("a: \0b\n", 6,
                      "f:1:4: control characters are not allowed; write the file as plain UTF-8 text");
        refuses_bytes("\xff\xfe"
                      "a\0",
                      4, "f:1:1: invalid leading UTF-8 octet; write the file as plain UTF-8 text");
}

static void twice_is_an_error_and_the_rest_is_read_on(void **state)
{
        const char *text = "a: 1\nb: 2\na: 3\nb: 4\n";
        char line[CAY_NOTE_TEXT + 32];

        assert_non_null(parse_bytes(text, strlen(text)));
        assert_int_equal(notes.errors, 2);
        assert_string_equal(cay_note_line(&notes.items[0], "f", line, sizeof(line)),
                            "f:3:1: 'a' stands in line 1 already; keep one of them");
        assert_string_equal(cay_note_line(&notes.items[1], "f", line, sizeof(line)),
                            "f:4:1: 'b' stands in line 2 already; keep one of them");
}

static void bounds(void **state)
{
        char deep[64], *many = calloc(1, 256u * 1024);
        size_t len = 0;

        assert_non_null(many);
        memset(deep, '[', sizeof(deep));
        refuses_bytes(deep, sizeof(deep), "f:1:13: nested too deep; at most 12 levels are taken");
        for (unsigned i = 0; i <= CAY_YAML_ENTRIES_MAX; i++)
                len += (size_t)snprintf(many + len, 64, "k%u: v\n", i);
        refuses_bytes(many, len, "f:1025:8: too many entries; at most 1024 may stand together");
        len = 0;
        for (unsigned i = 0; len < 250u * 1024; i++)
                len += (size_t)snprintf(many + len, 64, i % 900 == 0 ? "s%u:\n- x\n" : "- x\n", i);
        refuses_bytes(many, len, "f:19977:3: too many values; split the registry");
        memset(many, '[', 256u * 1024); /* must also be quick */
        assert_null(parse_bytes(many, 256u * 1024));
        free(many);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nodes_know_their_place),
                cmocka_unit_test(columns_are_characters),
                cmocka_unit_test(nothing_expands_and_nothing_is_constructed),
                cmocka_unit_test(broken_texts),
                cmocka_unit_test(twice_is_an_error_and_the_rest_is_read_on),
                cmocka_unit_test(bounds),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
