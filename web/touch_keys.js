// SPDX-License-Identifier: Apache-2.0
// Keys that a phone's keyboard lacks. Shown where fingers point.
import { h } from './dom.js';

const KEYS = [
  ['Esc', null, () => '\x1b'], ['Tab', null, () => '\t'],
  ['←', 'Left', (app) => (app ? '\x1bOD' : '\x1b[D')], ['↑', 'Up', (app) => (app ? '\x1bOA' : '\x1b[A')],
  ['↓', 'Down', (app) => (app ? '\x1bOB' : '\x1b[B')], ['→', 'Right', (app) => (app ? '\x1bOC' : '\x1b[C')],
];

/** Ctrl holds for the next key. send(text) types; isApp() says which form of the arrows the program wants. */
export class TouchKeys {
  constructor(send, isApp) {
    this.ctrl = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => this.#setCtrl(!this.isCtrl) }, 'Ctrl');
    const keys = KEYS.map(([face, name, text]) => h('button', { type: 'button', 'aria-label': name, onclick: () => send(text(isApp())) }, face));
    // The focus, and with it the keyboard on the screen, stays where it is.
    this.el = h('div', { class: 'touch-keys', role: 'group', 'aria-label': 'Keys', onpointerdown: (e) => e.preventDefault() }, keys[0], keys[1], this.ctrl, ...keys.slice(2));
  }

  get isCtrl() { return this.ctrl.getAttribute('aria-pressed') === 'true'; }
  #setCtrl(is) { this.ctrl.setAttribute('aria-pressed', String(is)); }

  /** What was typed, with Ctrl if that was pressed before. */
  apply(text) {
    if (!this.isCtrl || text.length !== 1) return text;
    this.#setCtrl(false);
    const code = text.toUpperCase().charCodeAt(0);
    return code === 0x20 || (code >= 0x40 && code < 0x60) ? String.fromCharCode(code & 0x1f) : text;
  }
}
