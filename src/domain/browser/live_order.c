/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/live_order.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/json_view.h"
#include "foundation/base/str.h"

typedef int reader(struct cay_json_view o, struct cay_live_order *ret, struct cay_error *err);

/* Small members */

static int read_word(struct cay_json_view o, const char *name, const char *const *words, unsigned count,
                     unsigned *ret, struct cay_error *err)
{
        char word[16];

        cay_json_view_copy(cay_json_view_find(o, name), word, sizeof(word));
        for (unsigned i = 0; i < count; i++) {
                if (strcmp(words[i], word) == 0) {
                        *ret = i;
                        return 0;
                }
        }
        return cay_fail(err, CAY_INVALID, "%s: '%s' is none of its words", name, word);
}

/* A number, cut to its bounds; absent: 0. */
static int read_int(struct cay_json_view o, const char *name, int least, int most)
{
        struct cay_json_view v = cay_json_view_find(o, name);
        char text[32];
        double number;

        if (v.len == 0 || v.len >= sizeof(text) || (v.at[0] != '-' && (v.at[0] < '0' || v.at[0] > '9')))
                return least > 0 ? least : 0;
        memcpy(text, v.at, v.len);
        text[v.len] = '\0';
        number = strtod(text, NULL);
        if (!(number > least))
                return least;
        return number >= most ? most : (int)number;
}

static unsigned read_unsigned(struct cay_json_view o, const char *name, unsigned most)
{
        return (unsigned)read_int(o, name, 0, (int)most);
}

static int read_text(struct cay_json_view o, const char *name, struct cay_live_order *ret,
                     struct cay_error *err)
{
        struct cay_json_view v = cay_json_view_find(o, name);
        cay_auto_buf struct cay_buf text = { 0 };

        if (!cay_json_view_is_text(v))
                return cay_fail(err, CAY_INVALID, "%s: a text is missing", name);
        cay_buf_init(&text, CAY_LIVE_TEXT_MAX);
        if (cay_json_view_text(v, &text) < 0)
                return cay_fail(err, CAY_INVALID, "%s: at most %u bytes", name, CAY_LIVE_TEXT_MAX);
        if (memchr(cay_buf_data(&text), '\0', text.len))
                return cay_fail(err, CAY_INVALID, "%s: a NUL cannot be typed", name);
        memcpy(ret->text, cay_buf_data(&text), text.len);
        ret->text[text.len] = '\0';
        return 0;
}

/* Messages */

static int read_nothing(struct cay_json_view o, struct cay_live_order *ret, struct cay_error *err)
{
        (void)o;
        (void)ret;
        (void)err;
        return 0;
}

static int read_frame(struct cay_json_view o, struct cay_live_order *ret, struct cay_error *err)
{
        if (!cay_json_view_u64(cay_json_view_find(o, "frame"), &ret->number))
                return cay_fail(err, CAY_INVALID, "frame: the number of a frame is missing");
        return 0;
}

static int read_tab(struct cay_json_view o, struct cay_live_order *ret, struct cay_error *err)
{
        if (!cay_json_view_u64(cay_json_view_find(o, "tab"), &ret->number))
                return cay_fail(err, CAY_INVALID, "tab: the number of a tab is missing");
        return 0;
}

static int read_mouse(struct cay_json_view o, struct cay_live_order *ret, struct cay_error *err)
{
        static const char *const types[] = { "move", "down", "up", "wheel" };
        static const char *const buttons[] = { "none", "left", "middle", "right" };
        unsigned type = 0, button = 0;

        if (read_word(o, "type", types, CAY_COUNT(types), &type, err) < 0)
                return -1;
        if (cay_json_view_find(o, "button").len > 0 &&
            read_word(o, "button", buttons, CAY_COUNT(buttons), &button, err) < 0)
                return -1;
        ret->mouse = (enum cay_live_mouse)type;
        ret->button = buttons[button];
        ret->x = read_int(o, "x", 0, CAY_LIVE_FAR);
        ret->y = read_int(o, "y", 0, CAY_LIVE_FAR);
        ret->dx = read_int(o, "dx", -CAY_LIVE_FAR, CAY_LIVE_FAR);
        ret->dy = read_int(o, "dy", -CAY_LIVE_FAR, CAY_LIVE_FAR);
        ret->buttons = read_unsigned(o, "buttons", 7);
        ret->clicks = read_unsigned(o, "clicks", 3);
        ret->modifiers = read_unsigned(o, "modifiers", 15);
        return 0;
}

static int read_key(struct cay_json_view o, struct cay_live_order *ret, struct cay_error *err)
{
        static const char *const types[] = { "up", "down" };
        unsigned type = 0;

        if (read_word(o, "type", types, CAY_COUNT(types), &type, err) < 0)
                return -1;
        ret->is_down = type == 1;
        ret->is_repeat = cay_json_view_is_true(cay_json_view_find(o, "repeat"));
        cay_json_view_copy(cay_json_view_find(o, "key"), ret->key, sizeof(ret->key));
        cay_json_view_copy(cay_json_view_find(o, "code"), ret->code, sizeof(ret->code));
        ret->vk = read_unsigned(o, "vk", 255);
        ret->place = read_unsigned(o, "place", 3);
        ret->modifiers = read_unsigned(o, "modifiers", 15);
        return ret->key[0] != '\0' ? 0 : cay_fail(err, CAY_INVALID, "key: its name is missing");
}

static int read_typed(struct cay_json_view o, struct cay_live_order *ret, struct cay_error *err)
{
        return read_text(o, "text", ret, err);
}

static int read_go(struct cay_json_view o, struct cay_live_order *ret, struct cay_error *err)
{
        return read_text(o, "url", ret, err);
}

static int read_history(struct cay_json_view o, struct cay_live_order *ret, struct cay_error *err)
{
        static const char *const words[] = { "back", "forward", "reload" };
        unsigned where = 0;

        if (read_word(o, "go", words, CAY_COUNT(words), &where, err) < 0)
                return -1;
        ret->history = (enum cay_live_history)where;
        return 0;
}

static int read_dialog(struct cay_json_view o, struct cay_live_order *ret, struct cay_error *err)
{
        ret->accepts = cay_json_view_is_true(cay_json_view_find(o, "accept"));
        return cay_json_view_find(o, "text").len > 0 ? read_text(o, "text", ret, err) : 0;
}

static const struct {
        const char *word;
        reader *read;
} rows[CAY_LIVE_KIND_COUNT] = {
        [CAY_LIVE_ACK] = { "ack", read_frame },
        [CAY_LIVE_TAKE] = { "take", read_nothing },
        [CAY_LIVE_GIVE] = { "give", read_nothing },
        [CAY_LIVE_MOUSE] = { "mouse", read_mouse },
        [CAY_LIVE_KEY] = { "key", read_key },
        [CAY_LIVE_TEXT] = { "text", read_typed },
        [CAY_LIVE_GO] = { "go", read_go },
        [CAY_LIVE_HISTORY] = { "history", read_history },
        [CAY_LIVE_TAB_SELECT] = { "select", read_tab },
        [CAY_LIVE_TAB_OPEN] = { "open", read_nothing },
        [CAY_LIVE_TAB_CLOSE] = { "close", read_tab },
        [CAY_LIVE_DIALOG] = { "dialog", read_dialog },
};

int cay_live_order_read(const char *json, size_t len, struct cay_live_order *ret, struct cay_error *err)
{
        struct cay_json_view o;
        char word[16];

        *ret = (struct cay_live_order){ .button = "none" };
        if (len > CAY_LIVE_ORDER_MAX || cay_json_view_open(json, len, &o) < 0 || o.at[0] != '{')
                return cay_fail(err, CAY_INVALID, "a message is a JSON object of at most %u bytes",
                                CAY_LIVE_ORDER_MAX);
        cay_json_view_copy(cay_json_view_find(o, "do"), word, sizeof(word));
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                if (strcmp(rows[i].word, word) == 0) {
                        ret->kind = (enum cay_live_kind)i;
                        return rows[i].read(o, ret, err);
                }
        }
        return cay_fail(err, CAY_INVALID, "do: '%s' is none of its words", word);
}
