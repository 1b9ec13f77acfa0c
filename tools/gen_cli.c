/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the tables of src/cay/cli/ops.h, and the verbs that ops' rows ask for, as C, from the op table
 * itself: run at build time. Pointers in a static program cost at every start, for a table that `cay run`
 * never looks at: so what is written holds none. Texts lie in one array, rows have places in it, and a
 * function makes the tables when they are first asked for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "domain/ops/op.h"

static size_t text_len; /* of what put_text has written */
static unsigned field_count;

/* Appends to the array of texts; where it begins. */
static size_t put_text(const char *s)
{
        size_t at = text_len;

        printf("        \"");
        for (; s != NULL && *s != '\0'; s++, text_len++) {
                if (*s == '"' || *s == '\\')
                        printf("\\%c", *s);
                else if (*s == '\n')
                        printf("\\n");
                else
                        putchar(*s);
        }
        printf("\\0\"\n");
        text_len++;
        return at;
}

/* Both passes walk in the same order: first the texts, then the rows that point into them. */
static void put_field_texts(const struct cay_field *fields)
{
        for (const struct cay_field *f = fields; f != NULL && f->name != NULL; f++) {
                put_text(f->name);
                put_text(f->doc);
        }
        for (const struct cay_field *f = fields; f != NULL && f->name != NULL; f++)
                if (f->fields != NULL)
                        put_field_texts(f->fields);
}

static size_t take_text(size_t *at, const char *s)
{
        size_t from = *at;

        *at += (s != NULL ? strlen(s) : 0) + 1;
        return from;
}

static unsigned count_fields(const struct cay_field *fields)
{
        unsigned n = 0;

        while (fields != NULL && fields[n].name != NULL)
                n++;
        return n;
}

/* A table and its end, then those of its objects; `inner` is where the first of those will stand. */
static void put_fields(const struct cay_field *fields, size_t *at)
{
        unsigned inner = field_count + count_fields(fields) + 1;

        for (const struct cay_field *f = fields; f != NULL && f->name != NULL; f++) {
                size_t name = take_text(at, f->name), doc = take_text(at, f->doc);

                printf("        { %zu, %zu, %d, %" PRIu64 "u, %" PRIu64 "u, %" PRIu64 "u, %zu, %u },\n", name,
                       doc, (int)f->kind, f->flags, f->min, f->max, f->item_max,
                       f->fields != NULL ? inner : 0);
                if (f->fields != NULL)
                        inner += count_fields(f->fields) + 1;
        }
        printf("        { 0 },\n");
        field_count += count_fields(fields) + 1;
        for (const struct cay_field *f = fields; f != NULL && f->name != NULL; f++)
                if (f->fields != NULL)
                        put_fields(f->fields, at);
}

static const char *scope_of(const struct cay_op *op)
{
        return op->flags & CAY_OP_OPEN       ? ""
               : op->scope & CAY_SCOPE_ADMIN ? "admin"
               : op->scope & CAY_SCOPE_EXEC  ? "exec"
                                             : "read";
}

static void method_of(const struct cay_op *op, char ret[16])
{
        snprintf(ret, 16, "%.*s", (int)strcspn(op->route, " "), op->route);
}

static void put_texts(void)
{
        printf("static const char texts[] =\n");
        for (unsigned i = 0; i < cay_op_count; i++) {
                const struct cay_op *op = cay_ops[i];
                char method[16];

                method_of(op, method);
                put_text(op->name);
                put_text(method);
                put_text(strchr(op->route, ' ') + 1);
                put_text(op->doc);
                put_text(scope_of(op));
        }
        for (unsigned i = 0; i < cay_op_count; i++)
                put_field_texts(cay_ops[i]->fields);
        printf("        \"\";\n\n");
}

/* Verbs, and the columns that they show */

static unsigned column_count;
static bool is_wrong;

static const struct cay_result_field *find_member(const struct cay_result_table *t, const char *name,
                                                  size_t len)
{
        for (const struct cay_result_field *f = t->fields; f->name != NULL; f++) {
                const struct cay_result_field *in =
                        f->kind == CAY_RESULT_ALSO ? find_member(f->table, name, len) : NULL;

                if (in != NULL || (strlen(f->name) == len && memcmp(f->name, name, len) == 0))
                        return in != NULL ? in : f;
        }
        return NULL;
}

/* "dialog.message" too: a member of a member. */
static const struct cay_result_field *find_path(const struct cay_result_table *t, const char *path,
                                                size_t len)
{
        const char *dot = memchr(path, '.', len);
        size_t first = dot != NULL ? (size_t)(dot - path) : len;
        const struct cay_result_field *f = find_member(t, path, first);

        if (dot == NULL || f == NULL)
                return f;
        return f->table != NULL ? find_path(f->table, dot + 1, len - first - 1) : NULL;
}

static bool ends_with(const char *text, const char *end)
{
        return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* How a value of this row looks. NULL: not in a line. */
static const char *cell_of(const struct cay_result_field *f)
{
        switch (f->kind) {
        case CAY_RESULT_TIME:
                return "WHEN";
        case CAY_RESULT_BOOL:
                return "BOOL";
        case CAY_RESULT_NUMBER:
                return ends_with(f->name, "_bytes") ? "BYTES" : ends_with(f->name, "_ms") ? "MS" : "NUMBER";
        case CAY_RESULT_TEXTS:
        case CAY_RESULT_NUMBERS:
                return "LIST";
        case CAY_RESULT_WORDS:
                return "COMMAND";
        case CAY_RESULT_PAIRS:
        case CAY_RESULT_COUNTS:
                return "PAIRS";
        case CAY_RESULT_TEXT:
        case CAY_RESULT_EITHER:
                return "TEXT";
        default:
                return NULL;
        }
}

static void put_column(const char *head, size_t head_len, const char *path, size_t path_len, const char *kind,
                       size_t kind_len)
{
        is_wrong = is_wrong || head_len > 15 || path_len > 23; /* struct cay_column */
        printf("        { \"");
        for (size_t i = 0; i < head_len; i++)
                putchar(head[i] == '_' ? ' ' : head[i]);
        printf("\", \"%.*s\", CAY_CELL_", (int)path_len, path);
        for (size_t i = 0; i < kind_len; i++)
                putchar(kind[i] >= 'a' && kind[i] <= 'z' ? kind[i] - 32 : kind[i]);
        printf(" },\n");
        column_count++;
}

/* "HEAD=member/kind", with blanks between. */
static void put_said_columns(const struct cay_op *op, const struct cay_result_table *t, const char *said)
{
        for (const char *at = said + strspn(said, " "); *at != '\0'; at += strspn(at, " ")) {
                size_t head = strcspn(at, "= "), path, kind;
                const char *member = at + head + (at[head] == '='), *word;
                const struct cay_result_field *f;

                path = strcspn(member, "/ ");
                word = member + path + (member[path] == '/');
                kind = member[path] == '/' ? strcspn(word, " ") : 0;
                f = t != NULL ? find_path(t, member, path) : NULL;
                if (f == NULL || (kind == 0 && cell_of(f) == NULL)) {
                        fprintf(stderr, "%s: cannot show '%.*s'\n", op->name, (int)path, member);
                        is_wrong = true;
                        return;
                }
                put_column(at, head, member, path, kind > 0 ? word : cell_of(f),
                           kind > 0 ? kind : strlen(cell_of(f)));
                at = word + kind;
        }
}

static void put_all_columns(const struct cay_result_table *t, bool is_table)
{
        for (const struct cay_result_field *f = t->fields; f->name != NULL; f++) {
                char head[16];

                if (f->kind == CAY_RESULT_ALSO)
                        put_all_columns(f->table, is_table);
                if (f->kind == CAY_RESULT_ALSO || cell_of(f) == NULL)
                        continue;
                snprintf(head, sizeof(head), "%s", f->name);
                for (char *c = head; is_table && *c != '\0'; c++)
                        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c;
                put_column(head, strlen(head), f->name, strlen(f->name), cell_of(f), strlen(cell_of(f)));
        }
}

/* The list that a table is made of; NULL: the answer is shown as a record. */
static const struct cay_result_field *list_of(const struct cay_op *op)
{
        const char *said = op->verb->shows;
        size_t len = said != NULL ? strcspn(said, ": ") : 0;

        if (op->result == NULL)
                return NULL;
        if (said != NULL)
                return said[len] == ':' ? find_member(op->result, said, len) : NULL;
        for (const struct cay_result_field *f = op->result->fields; f->name != NULL; f++)
                if (f->kind == CAY_RESULT_LIST)
                        return f;
        return NULL;
}

static void put_columns(const struct cay_op *op)
{
        const struct cay_result_field *list = list_of(op);
        const struct cay_result_table *t = list != NULL ? list->table : op->result;
        const char *said = op->verb->shows;

        if (said != NULL)
                put_said_columns(op, t, list != NULL ? strchr(said, ':') + 1 : said);
        else if (t != NULL)
                put_all_columns(t, list != NULL);
        printf("        { \"\" },\n");
        column_count++;
}

static void put_string(const char *s)
{
        putchar('"');
        for (; *s != '\0'; s++) {
                if (*s == '\n') {
                        printf("\\n");
                        continue;
                }
                if (*s == '"' || *s == '\\')
                        putchar('\\');
                putchar(*s);
        }
        putchar('"');
}

static void put_verb(const struct cay_op *op, unsigned columns)
{
        const struct cay_op_verb *v = op->verb;
        const struct cay_result_field *list = list_of(op);

        printf("        { .name = \"%s\", .op = \"%s\", .words = \"%s\", .list = \"%s\", .columns = %u,\n"
               "          .flat = \"%s\", .letters = \"%s\", .renames = \"%s\", .show = CAY_SHOW_COLUMNS,\n"
               "          .about = ",
               v->name, op->name, v->words != NULL ? v->words : "", list != NULL ? list->name : "", columns,
               v->flat != NULL ? v->flat : "", v->letters != NULL ? v->letters : "",
               v->renames != NULL ? v->renames : "");
        put_string(v->about != NULL ? v->about : op->doc);
        if (v->about == NULL)
                printf(" \".\"");
        printf(" },\n");
}

static void put_verbs(void)
{
        unsigned first[256] = { 0 };

        printf("const struct cay_column cay_op_columns[] = {\n");
        for (unsigned i = 0; i < cay_op_count; i++) {
                first[i] = column_count;
                if (cay_ops[i]->verb != NULL)
                        put_columns(cay_ops[i]);
        }
        printf("        { \"\" },\n};\n\nconst struct cay_verb cay_op_verbs[] = {\n");
        for (unsigned i = 0; i < cay_op_count; i++)
                if (cay_ops[i]->verb != NULL)
                        put_verb(cay_ops[i], first[i]);
        printf("        { \"\" },\n};\n\n");
}

/* Where the fields' texts begin: behind those of the ops. */
static size_t skip_ops(void)
{
        size_t at = 0;

        for (unsigned i = 0; i < cay_op_count; i++)
                at += strlen(cay_ops[i]->name) + strlen(cay_ops[i]->route) + 1 + strlen(cay_ops[i]->doc) + 1 +
                      strlen(scope_of(cay_ops[i])) + 2;
        return at;
}

static void put_ops(const unsigned *first)
{
        size_t at = 0;

        printf("static const struct cay_cli_op_row ops[] = {\n");
        for (unsigned i = 0; i < cay_op_count; i++) {
                const struct cay_op *op = cay_ops[i];
                size_t name = take_text(&at, op->name), method, path, doc, scope;
                char text[16];

                method_of(op, text);
                method = take_text(&at, text);
                path = take_text(&at, strchr(op->route, ' ') + 1);
                doc = take_text(&at, op->doc);
                scope = take_text(&at, scope_of(op));
                printf("        { %zu, %zu, %zu, %zu, %zu, %d, %d, %d, %u },\n", name, method, path, doc,
                       scope, !!(op->flags & CAY_OP_RAW_IN), !!(op->flags & CAY_OP_STREAM),
                       !!(op->flags & CAY_OP_DESTRUCTIVE), first[i]);
        }
        printf("};\n\n");
}

int main(void)
{
        unsigned first[256];
        size_t at = skip_ops();

        if (cay_op_count > 256)
                return 1;
        printf("/* Written by tools/gen_cli out of src/domain/ops. */\n#include \"cay/cli/ops.h\"\n"
               "#include \"cay/cli/verb.h\"\n\n");
        put_texts();
        printf("static const struct cay_cli_field_row fields[] = {\n");
        for (unsigned i = 0; i < cay_op_count; i++) {
                first[i] = field_count;
                put_fields(cay_ops[i]->fields, &at);
        }
        printf("};\n\n");
        put_ops(first);
        put_verbs();
        printf("static struct cay_field made_fields[%u];\nstatic struct cay_cli_op made_ops[%u];\n\n",
               field_count, cay_op_count);
        printf("struct cay_cli_tables cay_cli_tables_get(void)\n{\n"
               "        return (struct cay_cli_tables){ texts, fields, %u, ops, %u, made_fields, made_ops "
               "};\n}\n",
               field_count, cay_op_count);
        return is_wrong || at != text_len || fflush(stdout) != 0 || ferror(stdout);
}
