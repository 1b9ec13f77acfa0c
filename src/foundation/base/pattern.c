/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns run: places in a program, one byte after the other. */
#include "foundation/base/pattern.h"

#include <string.h>

#include "foundation/base/pattern_code.h"

static bool is_word(int c)
{
        return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '_';
}

static int fold(int c)
{
        return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static bool takes(const struct cay_pattern *p, const struct cay_pattern_step *s, int c)
{
        switch (s->op) {
        case CAY_STEP_BYTE:
                return (p->no_case ? fold(c) : c) == s->c;
        case CAY_STEP_CLASS:
                return p->classes[s->c][c >> 3] & (1u << (c & 7));
        case CAY_STEP_ANY:
                return c != '\n' && (c & 0xc0) != 0x80;
        default:
                return false;
        }
}

/* before, after: the bytes around the place; -1: the text ends there, or the line does. */
static bool holds(const struct cay_pattern_step *s, int before, int after)
{
        switch (s->op) {
        case CAY_STEP_BEGIN:
                return before < 0;
        case CAY_STEP_END:
                return after < 0;
        case CAY_STEP_WORD:
                return (before >= 0 && is_word(before)) != (after >= 0 && is_word(after));
        default:
                return (before >= 0 && is_word(before)) == (after >= 0 && is_word(after));
        }
}

static bool has(const struct cay_pattern_run *run, const uint16_t *set, unsigned count, unsigned at)
{
        return run->where[at] < count && set[run->where[at]] == at;
}

/* Puts a place and all that it leads to without a byte into the set. True: one of them is a match. */
static bool reach(const struct cay_pattern *p, struct cay_pattern_run *run, uint16_t *set, unsigned *count,
                  unsigned at, int before, int after)
{
        unsigned depth = 0;
        bool found = false;

        run->stack[depth++] = (uint16_t)at;
        while (depth > 0) {
                const struct cay_pattern_step *s;

                at = run->stack[--depth];
                if (has(run, set, *count, at))
                        continue;
                run->where[at] = (uint16_t)*count;
                set[(*count)++] = (uint16_t)at;
                s = &p->code[at];
                switch (s->op) {
                case CAY_STEP_FORK:
                        run->stack[depth++] = (uint16_t)((int)at + s->or);
                        run->stack[depth++] = (uint16_t)((int)at + s->to);
                        break;
                case CAY_STEP_JUMP:
                        run->stack[depth++] = (uint16_t)((int)at + s->to);
                        break;
                case CAY_STEP_BEGIN:
                case CAY_STEP_END:
                case CAY_STEP_WORD:
                case CAY_STEP_NO_WORD:
                        if (holds(s, before, after))
                                run->stack[depth++] = (uint16_t)(at + 1);
                        break;
                case CAY_STEP_MATCH:
                        found = true;
                        break;
                default:
                        break;
                }
        }
        return found;
}

/* Where a match may begin at all, from here on. */
static size_t skip(const struct cay_pattern *p, const char *bytes, size_t at, size_t len)
{
        if (p->may_be_empty)
                return at;
        while (at < len) {
                unsigned c = (unsigned char)bytes[at];

                if (p->first[c >> 3] & (1u << (c & 7)))
                        break;
                at++;
        }
        return at;
}

bool cay_pattern_find(const struct cay_pattern *p, struct cay_pattern_run *run, const char *bytes, size_t len,
                      bool at_start, bool at_end, size_t *ret_end)
{
        uint16_t *now = run->now, *next = run->next;
        unsigned now_count = 0, next_count;

        memset(run->where, 0, sizeof(run->where[0]) * p->count);
        for (size_t i = 0; i <= len; i++) {
                int before, after, c;

                if (now_count == 0)
                        i = skip(p, bytes, i, len);
                before = i > 0 ? (unsigned char)bytes[i - 1] : at_start ? -1 : 'x';
                after = i < len ? (unsigned char)bytes[i] : at_end ? -1 : 'x';
                if (reach(p, run, now, &now_count, 0, before, after)) {
                        *ret_end = i;
                        return true;
                }
                if (i == len)
                        break;
                c = (unsigned char)bytes[i];
                before = c;
                after = i + 1 < len ? (unsigned char)bytes[i + 1] : at_end ? -1 : 'x';
                next_count = 0;
                for (unsigned k = 0; k < now_count; k++) {
                        if (takes(p, &p->code[now[k]], c) &&
                            reach(p, run, next, &next_count, now[k] + 1u, before, after)) {
                                *ret_end = i + 1;
                                return true;
                        }
                }
                uint16_t *swap = now;
                now = next;
                next = swap;
                now_count = next_count;
        }
        return false;
}

/* With every assertion taken as true: what a match can begin with, and whether it needs a byte at all. */
void cay_pattern_find_first(struct cay_pattern *p, struct cay_pattern_run *run)
{
        unsigned count = 0, depth = 0;

        memset(p->first, 0, sizeof(p->first));
        memset(run->where, 0, sizeof(run->where[0]) * p->count);
        p->may_be_empty = false;
        run->stack[depth++] = 0;
        while (depth > 0) {
                unsigned at = run->stack[--depth];
                const struct cay_pattern_step *s = &p->code[at];

                if (has(run, run->now, count, at))
                        continue;
                run->where[at] = (uint16_t)count;
                run->now[count++] = (uint16_t)at;
                if (s->op == CAY_STEP_FORK)
                        run->stack[depth++] = (uint16_t)((int)at + s->or);
                if (s->op == CAY_STEP_FORK || s->op == CAY_STEP_JUMP)
                        run->stack[depth++] = (uint16_t)((int)at + s->to);
                else if (s->op == CAY_STEP_MATCH)
                        p->may_be_empty = true;
                else if (s->op >= CAY_STEP_BEGIN)
                        run->stack[depth++] = (uint16_t)(at + 1);
                else
                        for (int c = 0; c < 256; c++)
                                if (takes(p, s, c))
                                        p->first[c >> 3] |= (uint8_t)(1u << (c & 7));
        }
}
