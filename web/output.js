// SPDX-License-Identifier: Apache-2.0
// Output as it comes, line by line, however much of it: drawn once per frame, cut at the front.
import { h } from './dom.js';

const SHOWN_MAX = 200000; // characters that stay on the page; the beginning goes first

/** An event's bytes; those that are no text come as base64. */
function textOf(e) {
  if (e.text !== undefined && e.text !== null) return e.text;
  return new TextDecoder().decode(Uint8Array.from(atob(e.base64 || ''), (c) => c.charCodeAt(0)));
}

// eslint-disable-next-line no-control-regex
const SEQUENCES = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]/g; // that colour, move, name a window
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g; // would not be seen, or turn what is around them

/** A line that a program wrote for a terminal, as text: what was written over (\r) is gone, what only a terminal understands is, too. */
export function plainLine(line) {
  return line.replace(SEQUENCES, '').replace(/\r+$/, '').replace(/^[^]*\r/, '').replace(HIDDEN, '\ufffd');
}

export class Output {
  constructor() {
    this.el = h('pre', { class: 'output live', role: 'log', 'aria-label': 'Output', tabindex: 0 });
    this.pending = [];
    this.length = 0;
  }

  add(kind, text) {
    this.pending.push([kind, text]);
    if (!this.frame) this.frame = requestAnimationFrame(() => this.#draw());
  }

  /** true: it was output, and is shown. */
  event(e) {
    const is = e.event === 'stdout' || e.event === 'stderr';
    if (is) this.add(e.event, textOf(e));
    return is;
  }

  #draw() {
    this.frame = 0;
    let room = SHOWN_MAX;
    const fresh = [];
    for (let i = this.pending.length - 1; i >= 0 && room > 0; i--) {
      const [kind, text] = this.pending[i];
      const part = text.slice(-room);
      room -= part.length;
      if (fresh.length && fresh[0][0] === kind) fresh[0][1].unshift(part);
      else fresh.unshift([kind, [part]]);
    }
    this.pending = [];
    for (const [kind, parts] of fresh) {
      const text = parts.join('');
      this.length += text.length;
      this.el.append(h('span', { class: kind }, text));
    }
    while (this.length > SHOWN_MAX && this.el.childNodes.length > 1) {
      this.length -= this.el.firstChild.textContent.length;
      this.el.firstChild.remove();
      this.el.dataset.cut = 'true';
    }
    this.el.scrollTop = this.el.scrollHeight;
  }
}
