// SPDX-License-Identifier: Apache-2.0
// Output as it comes, line by line, however much of it: drawn once per frame, cut at the front.
import { h } from './dom.js';
import * as api from './api.js';

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

const TAIL_MAX = 64 * 1024; // characters of a command's end that stay
const TAIL_MS = 100; // between two drawings
const AGAIN_MS = 1000;

/** The end of a command's output, followed as it grows. Opened by follow(), left by stop(). */
export class Tail {
  constructor(sandbox, exec) {
    this.base = api.path('sandboxes', sandbox, 'execs', exec);
    this.el = h('pre', { class: 'output', tabindex: 0, 'aria-label': 'Output' }, '…');
    this.text = '';
    this.cursor = -1; // not begun
  }

  get isOn() { return Boolean(this.off) && !this.off.signal.aborted; }

  stop() {
    this.off?.abort();
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** Until the command has ended, or stop(). What breaks off is taken up where it was. */
  async follow() {
    this.stop();
    this.off = new AbortController();
    const { signal } = this.off;
    for (let over = false; !over && !signal.aborted;) {
      try {
        const x = await api.get(this.base, { signal });
        const from = Math.max(this.cursor, x.output_first, this.cursor < 0 ? x.output_end - TAIL_MAX : 0);
        if (from > this.cursor && from > 0) this.#cut();
        this.cursor = from;
        await this.#read(signal);
        over = true;
      } catch (e) {
        if (signal.aborted) return;
        if (api.isRefused(e)) { this.#add(`\n[${api.words(e)}]`); over = true; } else await new Promise((r) => { setTimeout(r, AGAIN_MS); });
      }
    }
    if (!signal.aborted) this.#draw();
  }

  async #read(signal) {
    const answer = await api.ask('GET', `${this.base}/output?raw=true&from=${this.cursor}`, { signal });
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.cursor += value.length;
      this.#add(decoder.decode(value, { stream: true }));
    }
  }

  /** Something before what comes is left out: the rest begins with a whole line. */
  #cut() {
    this.isCut = true;
    this.text = this.text.slice(this.text.indexOf('\n') + 1);
  }

  #add(text) {
    this.text += text;
    if (this.text.length > TAIL_MAX) {
      this.text = this.text.slice(-TAIL_MAX);
      this.#cut();
    }
    this.timer ||= setTimeout(() => this.#draw(), TAIL_MS);
  }

  /** Whoever has scrolled up reads there; others see the end. */
  #draw() {
    clearTimeout(this.timer);
    this.timer = 0;
    const { el } = this;
    const atEnd = el.scrollHeight - el.scrollTop - el.clientHeight < 40;
    if (this.isCut) el.dataset.cut = 'true';
    el.textContent = this.text.split('\n').map(plainLine).join('\n') || '(no output)';
    if (atEnd) el.scrollTop = el.scrollHeight;
  }
}
