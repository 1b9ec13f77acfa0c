// SPDX-License-Identifier: Apache-2.0
// How long a sandbox lives, counted down, and why one is gone.
import { h, button, setText } from './dom.js';
import { get, may, path } from './api.js';
import { ACTIONS, run } from './actions.js';
import { live } from './live.js';
import * as format from './format.js';

const SOON_MS = 2 * 60 * 1000;
export const ASK_AGAIN_MS = 10000; // what is idle may have been used meanwhile, and nobody is told of that

/** What is left of a time that was so much when the sandbox was read. */
const leftOf = (box, ms) => ms - (box.read_at === undefined ? 0 : performance.now() - box.read_at);

/** {text, short: for a narrow column, soon: it will be gone in a moment unless somebody does something, counts: the idle time runs} */
export function lifeOf(box) {
  const ends = box.expires_in_ms === null || box.expires_in_ms === undefined ? null : leftOf(box, box.expires_in_ms);
  const counts = Boolean(box.idle_limit_ms) && box.execs_running === 0 && ['ready', 'busy', 'error'].includes(box.status);
  const idle = counts ? leftOf(box, box.idle_limit_ms - box.idle_ms) : null;
  const soonest = Math.min(ends ?? Infinity, idle ?? Infinity);
  const rule = box.idle_limit_ms && box.status !== 'stopped' ? `${format.span(box.idle_limit_ms)} after its last use` : '';
  const parts = [];
  if (ends !== null) parts.push(`ends in ${format.countdown(ends)}`);
  if (idle !== null) parts.push(`idle, ends in ${format.countdown(idle)}`);
  else if (rule) parts.push(ends === null ? `ends ${rule}` : `or ${rule}`);
  const short = idle !== null && idle === soonest ? `idle, ${format.span(Math.max(0, idle))} left` : ends !== null ? `${format.span(Math.max(0, ends))} left` : rule ? `idle limit ${format.span(box.idle_limit_ms)}` : '';
  return { text: parts.join(', ') || 'lives until destroyed', short, soon: soonest < SOON_MS, counts };
}

/** One line with the time that is left; when it is little, a button that gives it more. */
export class Life {
  constructor(find) {
    this.find = find;
    this.text = h('span', { class: 'num' });
    this.more = button('Extend', { class: 'small', hidden: true, onclick: () => run(ACTIONS.find((a) => a.verb === 'extend'), find()) });
    this.el = h('span', { class: 'life quiet' }, this.text, ' ', this.more);
    this.askedAt = 0;
  }

  tick() {
    const { text, soon, counts } = lifeOf(this.find());
    setText(this.text, text);
    this.el.classList.toggle('soon', soon);
    this.more.hidden = !soon || !may('exec');
    if (counts && performance.now() - this.askedAt > ASK_AGAIN_MS) {
      this.askedAt = performance.now();
      live.refresh();
    }
  }
}

const WHY = {
  asked: (at) => `It was destroyed on request at ${at}.`,
  expired: (at) => `Its lifetime ended at ${at}.`,
  idle: (at, box) => `It was destroyed at ${at}, because it was not used for ${box?.idle_limit_ms ? format.span(box.idle_limit_ms) : 'longer than its idle limit'}.`,
  cleanup: (at) => `A cleanup removed it at ${at}.`,
};

/** Why a sandbox is not there any more, for people; box: as it was last seen, or null. '' when nobody knows. */
export async function whyGone(id, box) {
  const { events } = await get(`${path('sandboxes', id, 'events')}?newest_first=true&limit=50`).catch(() => ({ events: [] }));
  const end = events.find((e) => e.kind === 'sandbox_destroyed');
  if (!end) return '';
  const why = end.detail?.why;
  const at = format.clock(end.at);
  return WHY[why]?.(at, box) || `It ended at ${at}: ${why}.`;
}
