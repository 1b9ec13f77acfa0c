// SPDX-License-Identifier: Apache-2.0
// The desktop of a sandbox, drawn by noVNC. It is started by a click, never by looking; whoever is signed in to read only looks. What the
// desktop cuts goes to this computer's clipboard only by a click: it is what some program of the sandbox said.
import RFB from './npm/novnc/core/rfb.js';
import { h, button, iconButton, setText } from './dom.js';
import * as api from './api.js';
import { fail, note } from './dialogs.js';
import { live } from './live.js';
import * as format from './format.js';

const TEXT_MAX = 1 << 20; // of a text for the clipboard; the daemon leaves out longer ones
const FIT = [['fit', 'Fit the picture'], ['resize', 'Resize the desktop'], ['off', 'Actual size']];
const KEPT = 'cay-desktop-fit';
const BACKSPACE = 0xff08;
const RETURN = 0xff0d;
/** X11's number of a character's key. */
const keyOf = (c) => { const n = c.codePointAt(0); return c === '\n' ? RETURN : n <= 0xff ? n : 0x01000000 | n; };

class CayDesktop extends HTMLElement {
  off = new AbortController();
  tries = 0;

  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.url = api.path('sandboxes', this.sandbox, 'desktop');
    this.status = h('span', { role: 'status', class: 'quiet' });
    this.fit = h('select', { 'aria-label': 'Size', onchange: () => { sessionStorage.setItem(KEPT, this.fit.value); this.#apply(); } }, FIT.map(([value, label]) => h('option', { value }, label)));
    this.fit.value = sessionStorage.getItem(KEPT) || 'fit';
    this.looks = h('input', { type: 'checkbox', onchange: () => this.#apply() });
    this.looks.checked = this.looks.disabled = !api.may('exec');
    this.tools = h('div', { class: 'bar small desk-bar', hidden: true }, this.status, h('span', { class: 'grow' }),
      h('label', { class: 'desk-check' }, this.looks, ' View only'), this.fit,
      iconButton('Keyboard', 'keyboard', { class: 'desk-touch', onclick: () => this.keys.focus() }),
      this.clipboard = iconButton('Clipboard', 'copy', { 'aria-expanded': 'false', onclick: () => this.#showText(this.panel.hidden) }),
      iconButton('Full screen', 'open', { onclick: () => this.#whole() }),
      this.ender = iconButton('Stop the desktop', 'stop', { class: 'danger', hidden: !api.may('exec'), onclick: () => this.#end() }));
    this.text = h('textarea', { rows: 3, 'aria-label': "The desktop's clipboard", spellcheck: 'false', onchange: () => this.#give(this.text.value) });
    this.panel = h('div', { class: 'desk-text', hidden: true }, this.text, h('div', { class: 'row' },
      button('Copy to this computer', { onclick: () => this.#copy() }), this.paster = button('Paste from this computer', { onclick: () => this.#paste() })));
    this.screen = h('div', { class: 'desk-screen', hidden: true });
    // What has no keys of its own types in here: a screen's keyboard, an input method. Nothing stays in it.
    this.keys = h('input', { class: 'desk-keys', 'aria-label': 'Type into the desktop', tabindex: -1, autocapitalize: 'off', autocomplete: 'off', autocorrect: 'off', spellcheck: 'false',
      onbeforeinput: (e) => this.#onInput(e), oncompositionend: (e) => { this.#press(e.data); this.keys.value = ''; },
      onkeydown: (e) => { if (e.key === 'Enter') { e.preventDefault(); this.#press('\n'); } } });
    this.foot = h('div', { class: 'empty whole desk-foot' });
    this.whole = h('div', { class: 'desk-whole' }, this.tools, this.panel, this.screen, this.keys, this.foot);
    this.append(this.whole);
    // All keys are the desktop's, but there has to be a way out.
    this.screen.addEventListener('keydown', (e) => {
      if (e.key !== 'F6' || !e.shiftKey) return;
      e.stopImmediatePropagation();
      e.preventDefault();
      this.fit.focus();
    }, { capture: true });
    live.addEventListener('change', () => this.#onBox(), { signal: this.off.signal });
    this.#look();
  }

  disconnectedCallback() {
    this.off.abort();
    clearTimeout(this.timer);
    this.#leave();
  }

  #leave() {
    const { rfb } = this;
    this.rfb = null;
    rfb?.disconnect();
  }

  /** A sandbox that was started again may have its desktop again. */
  #onBox() {
    const can = format.isAlive(live.boxes.get(this.sandbox) || {});
    if (can && this.could === false) this.#look();
    this.could = can;
  }

  /** What there is: connects to a desktop that runs, offers to start one otherwise. */
  async #look() {
    try {
      const d = await api.get(this.url, { signal: this.off.signal });
      if (this.off.signal.aborted) return;
      if (d.status === 'stopped') this.#stand(d.cause_text ? `The desktop ended: ${d.cause_text}` : '');
      else await this.#connect();
    } catch (e) {
      if (this.off.signal.aborted) return;
      if (api.isRefused(e)) this.#stand(api.words(e));
      else this.#again();
    }
  }

  #again() {
    this.tries += 1;
    this.dataset.state = 'opening';
    this.#say('The connection was lost. Reconnecting…');
    this.timer = setTimeout(() => this.#look(), Math.min(4000, 200 * 2 ** this.tries));
  }

  #say(text) {
    setText(this.status, text);
    if (this.foot.hidden) return;
    this.foot.replaceChildren(h('p', {}, text));
  }

  /** Nothing runs: why, and what can be done. */
  #stand(why) {
    this.dataset.state = 'stopped';
    this.tools.hidden = this.panel.hidden = this.screen.hidden = true;
    this.foot.hidden = false;
    this.foot.replaceChildren(h('h2', {}, 'No desktop runs'), why ? h('p', { class: 'problem' }, why) : h('p', {}, 'A desktop is a screen with windows, for programs that need one, for agents and for you.'),
      api.may('exec') ? button('Start the desktop', { class: 'primary', onclick: () => this.#start() }) : h('p', {}, 'You are signed in with read access. Starting one needs the scope exec.'));
  }

  async #start() {
    this.dataset.state = 'opening';
    this.foot.replaceChildren(h('p', { role: 'status' }, 'Starting…'));
    try {
      await api.post(this.url, {}, { signal: this.off.signal });
      if (!this.off.signal.aborted) await this.#connect();
    } catch (e) { if (!this.off.signal.aborted) this.#stand(api.words(e)); }
  }

  /** By the page's cookie; a pasted token cannot be sent with a WebSocket, so it is exchanged for a link. */
  async #address() {
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    let where = `${this.url}/ws`;
    if (api.hasToken() && !api.may('exec')) throw new api.ApiError(403, { message: 'A pasted token with read access cannot show a desktop. Sign in with a link instead (cay token --login).' });
    if (api.hasToken()) {
      const link = new URL((await api.post(`${this.url}/links`)).url);
      where = link.pathname + link.search;
    }
    return `${scheme}://${location.host}${where}`;
  }

  async #connect() {
    const where = await this.#address();
    if (this.off.signal.aborted) return;
    this.#leave();
    this.foot.hidden = true;
    this.tools.hidden = this.screen.hidden = false;
    this.#say('Connecting…');
    this.screen.replaceChildren();
    const ws = new WebSocket(where, 'cay.desktop'); // noVNC's bytes, and texts that say whose input counts
    ws.addEventListener('message', (e) => {
      if (typeof e.data !== 'string') return;
      e.stopImmediatePropagation();
      this.isOthers = JSON.parse(e.data).input === 'others';
      this.#tell();
    });
    const rfb = new RFB(this.screen, ws, { shared: true });
    this.rfb = rfb;
    this.#apply();
    rfb.addEventListener('connect', () => { if (rfb === this.rfb) this.#onConnect(); });
    rfb.addEventListener('disconnect', () => { if (rfb === this.rfb) this.#onGone(); });
    rfb.addEventListener('clipboard', (e) => { this.text.value = e.detail.text; });
  }

  #onConnect() {
    this.tries = 0;
    this.dataset.state = 'connected';
    const canvas = this.screen.querySelector('canvas');
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', 'The desktop. Shift F6 leaves it.');
    this.isOthers = false;
    this.#tell();
  }

  #tell() {
    this.#say(this.looks.checked ? 'Connected, view only' : this.isOthers ? 'Somebody else is using it: your input is ignored until they pause' : 'Connected');
  }

  #onGone() {
    this.rfb = null;
    if (this.off.signal.aborted) return;
    this.#again();
  }

  #apply() {
    const { rfb } = this;
    const looks = this.looks.checked;
    this.text.readOnly = this.paster.disabled = looks;
    if (!rfb) return;
    rfb.viewOnly = looks;
    rfb.scaleViewport = this.fit.value === 'fit';
    rfb.resizeSession = this.fit.value === 'resize' && !looks;
    rfb.background = 'var(--term-bg)';
    if (this.dataset.state === 'connected') this.#tell();
  }

  #showText(show) {
    this.panel.hidden = !show;
    this.clipboard.setAttribute('aria-expanded', String(show));
    if (show) this.text.focus();
  }

  #give(text) {
    if (this.looks.checked || !this.rfb) return;
    if (new TextEncoder().encode(text).length > TEXT_MAX) fail(new Error('This is too long for the clipboard of the desktop: at most 1 MiB.'));
    else this.rfb.clipboardPasteFrom(text);
  }

  #press(text) {
    if (!this.looks.checked) for (const c of text) this.rfb?.sendKey(keyOf(c), null);
  }

  #onInput(e) {
    if (e.isComposing) return; // told at its end
    e.preventDefault();
    if (e.inputType === 'deleteContentBackward' && !this.looks.checked) this.rfb?.sendKey(BACKSPACE, null);
    else if (e.data) this.#press(e.data);
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.text.value);
      note('Copied');
    } catch {
      this.text.select();
      note('The browser does not allow it: press Ctrl C');
    }
  }

  async #paste() {
    try {
      this.text.value = await navigator.clipboard.readText();
      this.#give(this.text.value);
    } catch {
      this.text.focus();
      this.text.select();
      note('The browser does not allow it: press Ctrl V, then Tab');
    }
  }

  async #whole() {
    try {
      if (document.fullscreenElement) await document.exitFullscreen();
      else await this.whole.requestFullscreen();
      this.rfb?.focus();
    } catch (e) { fail(e); }
  }

  async #end() {
    try {
      this.#leave();
      await api.call('DELETE', this.url);
      this.#stand('');
    } catch (e) { fail(e); this.#look(); }
  }
}
customElements.define('cay-desktop-screen', CayDesktop);
