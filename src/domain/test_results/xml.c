/* SPDX-License-Identifier: Apache-2.0 */
/* A state machine over bytes. */
#include "domain/test_results/xml.h"

#include <stdlib.h>
#include <string.h>

enum state {
        TEXT,
        REFERENCE,   /* behind & */
        TAG,         /* behind < */
        NAME,        /* of an element */
        IN_TAG,      /* between attributes */
        ATTRIBUTE,   /* its name */
        EQUALS,      /* behind the name */
        VALUE_START, /* behind = */
        VALUE,
        EMPTY,   /* behind / in a tag */
        END_TAG, /* behind </ */
        BANG,    /* behind <! */
        COMMENT,
        CDATA,
        INSTRUCTION, /* behind <? */
};

void cay_xml_init(struct cay_xml *x, const struct cay_xml_events *events, void *ctx)
{
        *x = (struct cay_xml){ .events = events, .ctx = ctx, .state = TEXT };
}

static bool is_space(char c)
{
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_name(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-' || c == '.' || c == ':' || (unsigned char)c >= 0x80;
}

static void put(char *buf, size_t *len, size_t max, char c)
{
        if (*len < max)
                buf[(*len)++] = c;
        buf[*len] = '\0';
}

static uint32_t hash(const char *text, size_t len)
{
        uint32_t h = 2166136261u;

        for (size_t i = 0; i < len; i++)
                h = (h ^ (unsigned char)text[i]) * 16777619u;
        return h;
}

/* Text or a part of a value, by where the machine is. */
static void give(struct cay_xml *x, unsigned where, const char *bytes, size_t len)
{
        if (where == TEXT) {
                if (x->depth > 0)
                        x->events->text(x->ctx, bytes, len);
                return;
        }
        for (size_t i = 0; i < len; i++) {
                x->value_cut = x->value_cut || x->value_len == CAY_XML_VALUE_MAX;
                put(x->value, &x->value_len, CAY_XML_VALUE_MAX, bytes[i]);
        }
}

/* References */

static size_t encode(uint32_t c, char ret[4])
{
        if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
                c = 0xfffd;
        if (c < 0x80) {
                ret[0] = (char)c;
                return 1;
        }
        if (c < 0x800) {
                ret[0] = (char)(0xc0 | c >> 6);
                ret[1] = (char)(0x80 | (c & 0x3f));
                return 2;
        }
        if (c < 0x10000) {
                ret[0] = (char)(0xe0 | c >> 12);
                ret[1] = (char)(0x80 | (c >> 6 & 0x3f));
                ret[2] = (char)(0x80 | (c & 0x3f));
                return 3;
        }
        ret[0] = (char)(0xf0 | c >> 18);
        ret[1] = (char)(0x80 | (c >> 12 & 0x3f));
        ret[2] = (char)(0x80 | (c >> 6 & 0x3f));
        ret[3] = (char)(0x80 | (c & 0x3f));
        return 4;
}

static bool number(const char *text, uint32_t *ret)
{
        bool is_hex = text[0] == 'x';
        char *end;
        unsigned long n;

        text += is_hex;
        if (!text[0] || text[strspn(text, is_hex ? "0123456789abcdefABCDEF" : "0123456789")])
                return false;
        n = strtoul(text, &end, is_hex ? 16 : 10); /* of at most ten digits */
        *ret = n > 0x10ffff ? 0 : (uint32_t)n;
        return true;
}

/* The reference in word is complete, or cannot become one: then it is text. */
static void resolve(struct cay_xml *x, bool is_complete)
{
        static const char *const words[][2] = {
                { "amp", "&" }, { "lt", "<" }, { "gt", ">" }, { "quot", "\"" }, { "apos", "'" },
        };
        char bytes[4];
        uint32_t c;

        x->state = x->back;
        for (unsigned i = 0; is_complete && i < CAY_COUNT(words); i++)
                if (strcmp(x->word, words[i][0]) == 0) {
                        give(x, x->back, words[i][1], 1);
                        return;
                }
        if (is_complete && x->word[0] == '#' && number(x->word + 1, &c)) {
                give(x, x->back, bytes, encode(c, bytes));
                return;
        }
        give(x, x->back, "&", 1);
        give(x, x->back, x->word, x->word_len);
        if (is_complete)
                give(x, x->back, ";", 1);
}

/* Elements */

static int begin(struct cay_xml *x, struct cay_error *err)
{
        if (x->depth == 0 && x->seen_root)
                return cay_fail(err, CAY_INVALID, "there is something behind the end of the document");
        if (x->depth == CAY_XML_DEPTH_MAX)
                return cay_fail(err, CAY_INVALID, "elements are nested deeper than %u", CAY_XML_DEPTH_MAX);
        x->names[x->depth++] = hash(x->name, x->name_len);
        x->seen_root = true;
        x->events->open(x->ctx, x->name);
        return 0;
}

static int finish(struct cay_xml *x, bool has_name, struct cay_error *err)
{
        if (x->depth == 0 || (has_name && x->names[x->depth - 1] != hash(x->name, x->name_len)))
                return cay_fail(err, CAY_INVALID, "</%.40s> ends an element that is not open", x->name);
        x->depth--;
        x->events->close(x->ctx);
        return 0;
}

static void start_word(struct cay_xml *x, unsigned state)
{
        x->state = state;
        x->word_len = 0;
        x->word[0] = '\0';
}

static int on_tag(struct cay_xml *x, char c, struct cay_error *err)
{
        x->name_len = 0;
        x->name[0] = '\0';
        x->run = 0;
        if (c == '/') {
                x->state = END_TAG;
        } else if (c == '?') {
                x->state = INSTRUCTION;
        } else if (c == '!') {
                start_word(x, BANG);
        } else if (is_name(c)) {
                put(x->name, &x->name_len, CAY_XML_NAME_MAX, c);
                x->state = NAME;
        } else {
                return cay_fail(err, CAY_INVALID, "there is a < that begins no element");
        }
        return 0;
}

static int on_in_tag(struct cay_xml *x, char c, struct cay_error *err)
{
        if (c == '>') {
                x->state = TEXT;
        } else if (c == '/') {
                x->state = EMPTY;
        } else if (is_name(c)) {
                start_word(x, ATTRIBUTE);
                put(x->word, &x->word_len, CAY_XML_NAME_MAX, c);
        } else if (!is_space(c)) {
                return cay_fail(err, CAY_INVALID, "there is no attribute in <%.40s>", x->name);
        }
        return 0;
}

static int on_name(struct cay_xml *x, char c, struct cay_error *err)
{
        if (is_name(c)) {
                put(x->name, &x->name_len, CAY_XML_NAME_MAX, c);
                return 0;
        }
        x->state = IN_TAG;
        return begin(x, err) < 0 ? -1 : on_in_tag(x, c, err);
}

static int on_attribute(struct cay_xml *x, char c, struct cay_error *err)
{
        if (x->state == ATTRIBUTE && is_name(c)) {
                put(x->word, &x->word_len, CAY_XML_NAME_MAX, c);
        } else if (c == '=') {
                x->state = VALUE_START;
        } else if (is_space(c)) {
                x->state = EQUALS;
        } else {
                return cay_fail(err, CAY_INVALID, "the attribute '%.40s' has no value", x->word);
        }
        return 0;
}

static int on_value_start(struct cay_xml *x, char c, struct cay_error *err)
{
        if (is_space(c))
                return 0;
        if (c != '"' && c != '\'')
                return cay_fail(err, CAY_INVALID, "the value of '%.40s' has no quotes", x->word);
        x->quote = c;
        x->value_len = 0;
        x->value[0] = '\0';
        x->value_cut = false;
        /* The name gives way to references; it is told with the value. */
        memcpy(x->name, x->word, x->word_len + 1);
        x->name_len = x->word_len;
        x->state = VALUE;
        return 0;
}

static int on_value(struct cay_xml *x, char c, struct cay_error *err)
{
        if (c == x->quote) {
                x->state = IN_TAG;
                x->events->attribute(x->ctx, x->name, x->value, x->value_cut);
        } else if (c == '&') {
                x->back = VALUE;
                start_word(x, REFERENCE);
        } else if (c == '<') {
                return cay_fail(err, CAY_INVALID, "the value of '%.40s' contains <", x->name);
        } else {
                give(x, VALUE, &c, 1);
        }
        return 0;
}

static int on_end_tag(struct cay_xml *x, char c, struct cay_error *err)
{
        if (c == '>') {
                x->state = TEXT;
                return finish(x, true, err);
        }
        if (is_name(c) && !x->run)
                put(x->name, &x->name_len, CAY_XML_NAME_MAX, c);
        else if (is_space(c))
                x->run = 1;
        else
                return cay_fail(err, CAY_INVALID, "</%.40s is not ended", x->name);
        return 0;
}

static int on_bang(struct cay_xml *x, char c, struct cay_error *err)
{
        put(x->word, &x->word_len, CAY_XML_NAME_MAX, c);
        x->run = 0;
        if (strcmp(x->word, "--") == 0)
                x->state = COMMENT;
        else if (strcmp(x->word, "[CDATA[") == 0)
                x->state = CDATA;
        else if (strncmp("--", x->word, x->word_len) != 0 && strncmp("[CDATA[", x->word, x->word_len) != 0)
                return cay_fail(err, CAY_INVALID, "a document type or the like (<!%.20s) is not accepted",
                                x->word);
        return 0;
}

/* Two of `mark`, or one, and then >; what is no end of a CDATA section is its text. */
static void skip(struct cay_xml *x, char c, char mark, unsigned marks)
{
        if (c == mark) {
                if (x->run < marks)
                        x->run++;
                else if (x->state == CDATA)
                        give(x, TEXT, &c, 1);
                return;
        }
        if (c == '>' && x->run == marks) {
                x->state = TEXT;
        } else if (x->state == CDATA) {
                for (unsigned i = 0; i < x->run; i++)
                        give(x, TEXT, &mark, 1);
                give(x, TEXT, &c, 1);
        }
        x->run = 0;
}

static int step(struct cay_xml *x, char c, struct cay_error *err);

static int on_reference(struct cay_xml *x, char c, struct cay_error *err)
{
        if (c == ';') {
                resolve(x, true);
                return 0;
        }
        if ((is_name(c) || c == '#') && x->word_len < 10) {
                put(x->word, &x->word_len, CAY_XML_NAME_MAX, c);
                return 0;
        }
        resolve(x, false);
        return step(x, c, err);
}

static void on_text(struct cay_xml *x, char c)
{
        if (c == '<') {
                x->state = TAG;
        } else if (c == '&') {
                x->back = TEXT;
                start_word(x, REFERENCE);
        } else {
                give(x, TEXT, &c, 1);
        }
}

static int step(struct cay_xml *x, char c, struct cay_error *err)
{
        switch ((enum state)x->state) {
        case TEXT:
                on_text(x, c);
                return 0;
        case REFERENCE:
                return on_reference(x, c, err);
        case TAG:
                return on_tag(x, c, err);
        case NAME:
                return on_name(x, c, err);
        case IN_TAG:
                return on_in_tag(x, c, err);
        case ATTRIBUTE:
        case EQUALS:
                return on_attribute(x, c, err);
        case VALUE_START:
                return on_value_start(x, c, err);
        case VALUE:
                return on_value(x, c, err);
        case EMPTY:
                if (c != '>')
                        return cay_fail(err, CAY_INVALID, "there is a / in a tag");
                x->state = TEXT;
                return finish(x, false, err);
        case END_TAG:
                return on_end_tag(x, c, err);
        case BANG:
                return on_bang(x, c, err);
        case COMMENT:
                skip(x, c, '-', 2);
                return 0;
        case CDATA:
                skip(x, c, ']', 2);
                return 0;
        case INSTRUCTION:
                skip(x, c, '?', 1);
                return 0;
        }
        return 0;
}

/* How many bytes are plain text. */
static size_t plain_length(const char *bytes, size_t len)
{
        size_t n = 0;

        while (n < len && bytes[n] != '<' && bytes[n] != '&')
                n++;
        return n;
}

int cay_xml_feed(struct cay_xml *x, const char *bytes, size_t len, struct cay_error *err)
{
        for (size_t i = 0; i < len; i++) {
                size_t plain = x->state == TEXT ? plain_length(bytes + i, len - i) : 0;

                if (plain > 0) {
                        give(x, TEXT, bytes + i, plain);
                        i += plain - 1;
                } else if (step(x, bytes[i], err) < 0) {
                        return -1;
                }
        }
        return 0;
}

int cay_xml_end(const struct cay_xml *x, struct cay_error *err)
{
        if (x->depth > 0 || x->state != TEXT)
                return cay_fail(err, CAY_INVALID, "the document ends in the middle");
        if (!x->seen_root)
                return cay_fail(err, CAY_INVALID, "there is no element in it");
        return 0;
}
