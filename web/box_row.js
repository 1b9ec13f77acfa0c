// SPDX-License-Identifier: Apache-2.0
// One sandbox in the list: made once, then only changed.
import { h, iconButton, svg, setText } from './dom.js';
import { actionButtons, showCause } from './actions.js';
import { session } from './api.js';
import { copy } from './clipboard.js';
import { lifeOf } from './life.js';
import { live } from './live.js';
import * as format from './format.js';

const POINTS = 30;
const WIDTH = 72;
const HEIGHT = 24;

/** A small curve and, beside it, what it is now. */
class Spark {
  constructor(label) {
    this.line = svg('polyline', { points: '' });
    this.area = svg('polygon', { points: '' });
    this.text = h('span', { class: 'num' });
    this.el = h('span', { class: 'spark', hidden: true }, svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
      svg('path', { d: `M0 ${HEIGHT - 1}H${WIDTH}` }), this.area, this.line), this.text);
  }

  set(values, max, text) {
    const step = WIDTH / (POINTS - 1);
    const top = Math.max(max, ...values, 1e-9);
    const from = POINTS - values.length;
    const at = values.map((v, i) => `${((from + i) * step).toFixed(1)},${(HEIGHT - 1.5 - (v / top) * (HEIGHT - 4)).toFixed(1)}`);
    this.line.setAttribute('points', at.join(' '));
    this.area.setAttribute('points', `${(from * step).toFixed(1)},${HEIGHT - 1} ${at.join(' ')} ${WIDTH},${HEIGHT - 1}`);
    setText(this.text, text);
    this.el.hidden = false;
  }
}

export class Row {
  constructor(id) {
    this.id = id;
    this.name = h('a', { href: `#/sandbox/${encodeURIComponent(id)}`, class: 'name' });
    this.pick = h('input', { type: 'checkbox', class: 'pick' });
    this.sub = h('span', { class: 'quiet id' }, id);
    this.owner = h('span', { class: 'chip owner', hidden: true });
    this.state = h('span', { class: 'state' });
    this.cause = h('p', { class: 'cause', hidden: true });
    this.template = h('span', {});
    this.age = h('span', { class: 'num' });
    this.left = h('span', { class: 'quiet num' });
    this.cpu = new Spark('Processor over the last minute');
    this.memory = new Spark('Memory over the last minute');
    this.actions = actionButtons(() => this.box);
    this.copy = iconButton('Copy the id', 'copy', { class: 'copy', onclick: () => copy(id, `Copied ${id}.`) });
    const cell = (name, ...what) => h('div', { class: name, role: 'cell' }, ...what);
    this.el = h('div', { class: 'box', role: 'row', 'data-id': id },
      cell('c-pick', this.pick), cell('c-name', h('span', { class: 'title' }, this.name, this.owner), h('span', { class: 'title' }, this.sub, this.copy), this.cause), cell('c-state', this.state), cell('c-template', this.template), cell('c-age', this.age, this.left),
      cell('c-cpu', this.cpu.el), cell('c-memory', this.memory.el), cell('c-actions', this.actions));
  }

  set(box) {
    const changed = this.box?.changed_at !== box.changed_at || this.box?.status !== box.status;
    this.box = box;
    setText(this.name, format.title(box));
    this.pick.setAttribute('aria-label', `Select ${format.title(box)}`);
    this.owner.hidden = box.owner === session.owner;
    setText(this.owner, box.owner);
    this.owner.title = `Owner: ${box.owner}`;
    this.sub.hidden = format.title(box) === box.sandbox_id;
    setText(this.template, box.template);
    if (changed) {
      setText(this.state, box.status);
      this.state.className = `state ${box.status}`;
      this.actions.setState(box);
      this.cause.hidden = !box.cause;
      if (box.cause) showCause(this.cause, box);
      this.draw();
    }
    this.tick();
  }

  tick() {
    setText(this.age, format.age(this.box.created_at));
    const { short, text, soon } = lifeOf(this.box);
    setText(this.left, short);
    this.left.title = text;
    this.left.classList.toggle('soon', soon);
  }

  draw() {
    const list = (live.history.get(this.id) || []).slice(-POINTS);
    const last = list.at(-1);
    const limit = this.box.limits?.memory_bytes || 0;
    if (!last || !format.isAlive(this.box)) {
      this.cpu.el.hidden = true;
      this.memory.el.hidden = true;
      return;
    }
    this.cpu.set(list.map((s) => s.cpu), 1, `${Math.round(last.cpu * 100)} %`);
    this.memory.set(list.map((s) => s.memory), limit / 8, `${format.bytes(last.memory)}${limit ? ` / ${format.bytes(limit)}` : ''}`);
  }
}

/** The shape of a row, while the list is being asked for. */
export function ghostRow() {
  return h('div', { class: 'box loading', 'aria-hidden': 'true' }, Array.from({ length: 7 }, () => h('span', { class: 'ghost' })));
}
