/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/web_keys.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/str.h"
#include "foundation/base/utf8.h"

#define WORD_MAX 32u

static const struct {
        const char *name, *key, *code, *text;
        unsigned vk;
} named[] = {
        { "enter", "Enter", "Enter", "\r", 13 },
        { "return", "Enter", "Enter", "\r", 13 },
        { "tab", "Tab", "Tab", "", 9 },
        { "escape", "Escape", "Escape", "", 27 },
        { "esc", "Escape", "Escape", "", 27 },
        { "backspace", "Backspace", "Backspace", "", 8 },
        { "delete", "Delete", "Delete", "", 46 },
        { "insert", "Insert", "Insert", "", 45 },
        { "space", " ", "Space", " ", 32 },
        { "home", "Home", "Home", "", 36 },
        { "end", "End", "End", "", 35 },
        { "pageup", "PageUp", "PageUp", "", 33 },
        { "pagedown", "PageDown", "PageDown", "", 34 },
        { "arrowleft", "ArrowLeft", "ArrowLeft", "", 37 },
        { "left", "ArrowLeft", "ArrowLeft", "", 37 },
        { "arrowup", "ArrowUp", "ArrowUp", "", 38 },
        { "up", "ArrowUp", "ArrowUp", "", 38 },
        { "arrowright", "ArrowRight", "ArrowRight", "", 39 },
        { "right", "ArrowRight", "ArrowRight", "", 39 },
        { "arrowdown", "ArrowDown", "ArrowDown", "", 40 },
        { "down", "ArrowDown", "ArrowDown", "", 40 },
        { "contextmenu", "ContextMenu", "ContextMenu", "", 93 },
        { "shift", "Shift", "ShiftLeft", "", 16 },
        { "control", "Control", "ControlLeft", "", 17 },
        { "alt", "Alt", "AltLeft", "", 18 },
        { "meta", "Meta", "MetaLeft", "", 91 },
        { "plus", "+", "Equal", "+", 187 },
};

static const struct {
        const char *name;
        unsigned bit;
} modifiers[] = {
        { "ctrl", CAY_WEB_CTRL }, { "control", CAY_WEB_CTRL }, { "shift", CAY_WEB_SHIFT },
        { "alt", CAY_WEB_ALT },   { "option", CAY_WEB_ALT },   { "meta", CAY_WEB_META },
        { "cmd", CAY_WEB_META },  { "super", CAY_WEB_META },
};

static unsigned modifier_of(const char *word)
{
        for (unsigned i = 0; i < CAY_COUNT(modifiers); i++)
                if (strcasecmp(modifiers[i].name, word) == 0)
                        return modifiers[i].bit;
        return 0;
}

static bool set_named(const char *word, struct cay_web_key *ret)
{
        unsigned nr = 0;

        for (unsigned i = 0; i < CAY_COUNT(named); i++) {
                if (strcasecmp(named[i].name, word) == 0) {
                        cay_str_copy(ret->key, sizeof(ret->key), named[i].key);
                        cay_str_copy(ret->code, sizeof(ret->code), named[i].code);
                        cay_str_copy(ret->text, sizeof(ret->text), named[i].text);
                        ret->vk = named[i].vk;
                        return true;
                }
        }
        if ((word[0] == 'F' || word[0] == 'f') && sscanf(word + 1, "%2u", &nr) == 1 && nr >= 1 && nr <= 12 &&
            strlen(word) <= 3) {
                snprintf(ret->key, sizeof(ret->key), "F%u", nr);
                snprintf(ret->code, sizeof(ret->code), "F%u", nr);
                ret->vk = 111 + nr;
                return true;
        }
        return false;
}

/* One character. */
static bool set_character(const char *word, struct cay_web_key *ret)
{
        size_t len = strlen(word);
        bool is_letter = len == 1 && ((*word | 0x20) >= 'a' && (*word | 0x20) <= 'z');

        if (len == 0 || cay_utf8_next(word, len) != len)
                return false;
        cay_str_copy(ret->key, sizeof(ret->key), word);
        cay_str_copy(ret->text, sizeof(ret->text), word);
        if (is_letter) {
                snprintf(ret->code, sizeof(ret->code), "Key%c", *word & ~0x20);
                ret->vk = (unsigned char)(*word & ~0x20);
                if (ret->modifiers & CAY_WEB_SHIFT)
                        ret->key[0] = ret->text[0] = (char)(*word & ~0x20);
        } else if (len == 1 && *word >= '0' && *word <= '9') {
                snprintf(ret->code, sizeof(ret->code), "Digit%c", *word);
                ret->vk = (unsigned char)*word;
        }
        return true;
}

static int set_key(const char *word, struct cay_web_key *ret, struct cay_error *err)
{
        if (!set_named(word, ret) && !set_character(word, ret))
                return cay_fail(err, CAY_INVALID,
                                "keys: '%.30s' is no key; use names like Enter, Tab, ArrowDown, F5, a "
                                "character, or combinations like ctrl+a",
                                word);
        if (ret->modifiers & (CAY_WEB_CTRL | CAY_WEB_ALT | CAY_WEB_META))
                ret->text[0] = '\0'; /* such keys type nothing */
        return 0;
}

int cay_web_key_next(const char **at, struct cay_web_key *ret, struct cay_error *err)
{
        const char *text = *at + strspn(*at, " ");
        size_t len = strcspn(text, " "), n;
        char word[WORD_MAX];

        *ret = (struct cay_web_key){ 0 };
        *at = text + len;
        *at += strspn(*at, " ");
        if (len == 0)
                return 0;
        while ((n = strcspn(text + (text[0] == '+'), "+ ") + (text[0] == '+')) < len && text[n] == '+' &&
               n > 0) {
                snprintf(word, sizeof(word), "%.*s", (int)n, text);
                if (modifier_of(word) == 0)
                        return cay_fail(err, CAY_INVALID,
                                        "keys: '%.30s' cannot be held; ctrl, shift, alt and meta can", word);
                ret->modifiers |= modifier_of(word);
                text += n + 1;
                len -= n + 1;
        }
        if (len == 0 || len >= sizeof(word))
                return cay_fail(err, CAY_INVALID, "keys: a key is missing behind '+', or too long");
        snprintf(word, sizeof(word), "%.*s", (int)len, text);
        return set_key(word, ret, err) < 0 ? -1 : 1;
}

int cay_web_modifiers(const char *text, unsigned *ret, struct cay_error *err)
{
        char word[WORD_MAX];

        *ret = 0;
        while (*text) {
                size_t n = strcspn(text, "+");

                snprintf(word, sizeof(word), "%.*s", (int)n, text);
                if (n >= sizeof(word) || modifier_of(word) == 0)
                        return cay_fail(err, CAY_INVALID,
                                        "keys: '%.30s' cannot be held; ctrl, shift, alt and meta can", word);
                *ret |= modifier_of(word);
                text += n + (text[n] == '+');
        }
        return 0;
}
