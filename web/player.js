// SPDX-License-Identifier: Apache-2.0
// Plays a recorded terminal (asciicast v2) in a dialog: at any speed, from any place.
import { h, button, iconButton, setText } from './dom.js';
import * as api from './api.js';
import { loadTerminal } from './load_later.js';
import { show } from './file_path.js';
import * as format from './format.js';

const SPEEDS = [0.5, 1, 2, 4, 8, 16];
const LONGEST_REST = 2; // seconds: a longer rest is shortened to this, unless it is asked for
const FONT = 13;

/** One cast: its head, and its lines as [seconds, kind, text], with rests shortened. */
export function readCast(text, shorten) {
  const [head, ...lines] = text.split('\n').filter((l) => l.trim()).map((l) => JSON.parse(l));
  if (head?.version !== 2) throw new Error('This is not an asciicast of version 2.');
  let at = 0;
  let cut = 0;
  return { head, lines: lines.map(([t, kind, data]) => {
    if (shorten && t - at > LONGEST_REST) cut += t - at - LONGEST_REST;
    at = t;
    return [t - cut, kind, data];
  }) };
}

class Player {
  at = 0; // seconds
  next = 0; // line
  speed = 1;
  isOn = false;

  constructor(Terminal, text, title) {
    this.text = text;
    this.clock = h('span', { class: 'num', role: 'timer' });
    this.place = h('div', { class: 'player-place' });
    this.seek = h('input', { type: 'range', min: 0, step: 'any', value: '0', 'aria-label': 'Place in the recording', oninput: () => this.go(Number(this.seek.value)) });
    this.toggle = button('Play', { class: 'toggle', onclick: () => this.run(!this.isOn) }, 'play');
    this.rate = h('select', { 'aria-label': 'Speed', onchange: () => { this.speed = Number(this.rate.value); } }, SPEEDS.map((s) => h('option', { value: `${s}` }, `${s}×`)));
    this.rate.value = '1';
    this.rests = h('input', { type: 'checkbox', checked: true, onchange: () => this.read() });
    this.dialog = h('dialog', { class: 'player', 'aria-label': title }, h('div', { class: 'bar small' }, h('h2', { title }, title), h('span', { class: 'grow' }), iconButton('Close', 'close', { onclick: () => this.dialog.close() })),
      this.place, h('div', { class: 'player-bar' }, this.toggle, this.seek, this.clock, this.rate, h('label', { class: 'check' }, this.rests, ' short rests')));
    this.term = new Terminal({ fontSize: FONT, scrollback: 1000, disableStdin: true, cursorBlink: false, allowProposedApi: true, fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
      theme: { background: '#0d141d', foreground: '#dbe4ee' } });
    this.dialog.addEventListener('close', () => this.end());
  }

  open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.term.open(this.place);
    this.read();
    this.run(true);
    this.toggle.focus();
  }

  end() {
    this.isOn = false;
    cancelAnimationFrame(this.frame);
    this.term.dispose();
    this.dialog.remove();
  }

  read() {
    const part = this.length ? this.at / this.length : 0;
    Object.assign(this, readCast(this.text, this.rests.checked));
    this.length = this.lines.at(-1)?.[0] || 0;
    this.seek.max = `${this.length}`;
    this.go(part * this.length);
  }

  /** What comes before a place is written at once: the terminal knows no way back. */
  go(at) {
    if (at < this.at || this.at === 0) {
      this.term.reset();
      this.term.resize(this.head.width, this.head.height);
      this.next = 0;
    }
    this.at = Math.min(at, this.length);
    for (; this.next < this.lines.length && this.lines[this.next][0] <= this.at; this.next++) {
      const [, kind, data] = this.lines[this.next];
      if (kind === 'o') this.term.write(data);
      else if (kind === 'r') this.term.resize(...data.split('x').map(Number));
    }
    if (document.activeElement !== this.seek || this.isOn) this.seek.value = `${this.at}`;
    setText(this.clock, `${format.countdown(this.at * 1000)} / ${format.countdown(this.length * 1000)}`);
  }

  run(on) {
    this.isOn = on;
    setText(this.toggle.querySelector('span'), on ? 'Pause' : 'Play');
    cancelAnimationFrame(this.frame);
    if (!on) return;
    if (this.at >= this.length) this.go(0);
    let last = performance.now();
    const step = (now) => {
      this.go(this.at + (Math.max(0, now - last) / 1000) * this.speed);
      last = now;
      if (this.at >= this.length) this.run(false);
      else if (this.isOn) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }
}

export async function play(sandbox, t) {
  const [answer] = await Promise.all([api.ask('GET', api.path('sandboxes', sandbox, 'recording', t.exec_id, 'cast')), loadTerminal()]);
  const [text, { Terminal }] = await Promise.all([answer.text(), import('./npm/xterm.mjs')]);
  new Player(Terminal, text, show(t.command)).open();
}
