// SPDX-License-Identifier: Apache-2.0
// A browser's screen: its live frames, the pointer, tabs and address, and taking over. Used by the pane of a sandbox and by live.html, which a link
// opens. What comes are pictures and texts of strangers' pages: frames are decoded as images and drawn, texts are set as text.
import { h, button, iconButton, setText } from './dom.js';

const MOVE_MS = 40; // between two moves of the mouse that are sent
const BUTTONS = ['left', 'middle', 'right'];
const modifiers = (e) => (e.altKey ? 1 : 0) | (e.ctrlKey ? 2 : 0) | (e.metaKey ? 4 : 0) | (e.shiftKey ? 8 : 0);
const held = (e) => e.buttons & 7;

/** Whether it is a key of a combination that types nothing, and so is the page's here, not this browser's. */
const isMine = (e) => e.key !== 'F5' && e.key !== 'F11' && e.key !== 'F12' && !(e.key === 'F6' && e.shiftKey);

export class LiveScreen extends HTMLElement {
  off = new AbortController();
  tries = 0;
  turn = 'agent';
  onlyLooks = true;
  page = { width: 1, height: 1 };

  /** A promise of the WebSocket's address. Whoever makes this element sets it. */
  address = null;
  /** What to do when the connection ends for good: (why, code). */
  onOver = () => {};

  connectedCallback() {
    this.status = h('span', { role: 'status', class: 'quiet' });
    this.taker = button('Take over', { class: 'primary', hidden: true, onclick: () => this.#say({ do: this.turn === 'yours' ? 'give' : 'take' }) });
    this.tabs = h('div', { class: 'live-tabs', role: 'group', 'aria-label': 'Tabs' });
    this.url = h('input', { 'aria-label': 'Address', spellcheck: 'false', autocomplete: 'off', placeholder: 'Address' });
    this.tools = [iconButton('Back', 'back', { onclick: () => this.#say({ do: 'history', go: 'back' }) }),
      iconButton('Forward', 'forward', { onclick: () => this.#say({ do: 'history', go: 'forward' }) }),
      iconButton('Reload', 'refresh', { onclick: () => this.#say({ do: 'history', go: 'reload' }) })];
    this.opener = iconButton('New tab', 'plus', { onclick: () => this.#say({ do: 'open' }) });
    this.note = h('p', { class: 'live-note', role: 'alert', hidden: true });
    this.canvas = h('canvas', { tabindex: 0, role: 'img', 'aria-label': 'The browser. Shift F6 leaves it.', width: 1280, height: 800 });
    this.dot = h('div', { class: 'live-dot', 'aria-hidden': 'true', hidden: true });
    this.asks = h('div', { class: 'live-asks card', role: 'alertdialog', 'aria-label': 'The page asks', hidden: true });
    // What has no keys of its own types in here: a screen's keyboard, an input method. Nothing stays in it.
    this.keys = h('input', { class: 'live-keys', 'aria-label': 'Type into the browser', tabindex: -1, autocapitalize: 'off', autocomplete: 'off', autocorrect: 'off', spellcheck: 'false',
      onbeforeinput: (e) => { if (!e.isComposing) { e.preventDefault(); this.#type(e.data); } },
      oncompositionend: (e) => { this.#type(e.data); this.keys.value = ''; } });
    this.stage = h('div', { class: 'live-stage' }, this.canvas, this.dot, this.asks, this.keys);
    this.append(
      h('div', { class: 'bar small live-bar' }, this.status, h('span', { class: 'grow' }), iconButton('Keyboard', 'keyboard', { class: 'live-touch', onclick: () => this.keys.focus() }), this.taker),
      h('div', { class: 'live-row' }, this.tabs, this.opener),
      h('form', { class: 'live-row', onsubmit: (e) => { e.preventDefault(); this.#say({ do: 'go', url: this.url.value.trim() }); this.canvas.focus(); } }, this.tools, this.url),
      this.note, this.stage);
    this.#listen();
    this.#draw();
    new ResizeObserver(() => this.#place()).observe(this.stage);
    this.#connect();
  }

  disconnectedCallback() {
    this.off.abort();
    clearTimeout(this.timer);
    this.ws?.close();
    this.ws = null;
  }

  #say(order) { if (this.ws?.readyState === WebSocket.OPEN) this.ws.send(JSON.stringify(order)); }
  get #mine() { return this.turn === 'yours'; }

  async #connect() {
    let ws;
    this.#tell('Connecting…');
    try {
      ws = new WebSocket(await this.address());
    } catch (e) {
      this.onOver(e.message || String(e), 0);
      return;
    }
    if (this.off.signal.aborted) { ws.close(); return; }
    this.ws = ws;
    ws.binaryType = 'blob';
    ws.onmessage = (e) => { if (typeof e.data === 'string') this.#hear(JSON.parse(e.data)); else this.#show(e.data); };
    ws.onclose = (e) => { if (ws === this.ws) this.#onClose(e); };
  }

  #onClose({ code, reason }) {
    this.ws = null;
    this.turn = 'agent';
    delete this.dataset.state;
    this.#draw();
    // Refused, over, or never opened: somebody has to decide. Else it comes back by itself.
    if (code === 1000 || code === 1008 || (code === 1011 && reason)) { this.onOver(reason, code); return; }
    this.tries += 1;
    if (this.tries > 4 && !this.wasOpen) { this.onOver('', code); return; }
    this.#tell('The connection was lost. Reconnecting…');
    this.timer = setTimeout(() => this.#connect(), Math.min(4000, 200 * 2 ** this.tries));
  }

  #hear(m) {
    if (m.frame !== undefined) this.head = m;
    if (m.tabs) this.#showTabs(m.tabs);
    if (m.pointer !== undefined) { this.pointer = m.pointer; this.#place(); }
    if (m.dialog !== undefined) this.#ask(m.dialog);
    if (m.only_looks !== undefined) this.onlyLooks = m.only_looks;
    if (m.note) this.#warn(m.note);
    if (m.error) this.#warn(m.error);
    if (m.turn) { this.turn = m.turn; this.#draw(); }
  }

  async #show(blob) {
    const { head } = this;
    this.wasOpen = true;
    this.tries = 0;
    try {
      const picture = await createImageBitmap(new Blob([blob], { type: 'image/jpeg' }));
      if (this.off.signal.aborted) return;
      if (this.canvas.width !== picture.width || this.canvas.height !== picture.height) Object.assign(this.canvas, { width: picture.width, height: picture.height });
      this.canvas.getContext('2d').drawImage(picture, 0, 0);
      picture.close();
      this.page = { width: head.width || this.canvas.width, height: head.height || this.canvas.height };
      this.frame = head.frame;
      if (this.dataset.state !== 'connected') { this.dataset.state = 'connected'; this.#draw(); }
      this.#place();
    } catch { /* no picture: the next one may be */ }
    this.#say({ do: 'ack', frame: head.frame });
  }

  #showTabs(tabs) {
    const shown = tabs.find((t) => t.shown);
    this.tabs.replaceChildren(...tabs.map((t) => h('span', { class: t.shown ? 'live-tab here' : 'live-tab' },
      h('button', { type: 'button', 'aria-pressed': String(t.shown), title: t.url, disabled: !this.#mine && !t.shown, onclick: () => this.#say({ do: 'select', tab: t.tab }) }, t.title || t.url || 'Empty tab'),
      this.#mine && tabs.length > 1 && iconButton(`Close ${t.title || 'this tab'}`, 'close', { onclick: () => this.#say({ do: 'close', tab: t.tab }) }))));
    this.all = tabs;
    if (document.activeElement !== this.url) this.url.value = shown ? shown.url : '';
  }

  #tell(text) { setText(this.status, text); }

  #warn(text) {
    setText(this.note, text);
    this.note.hidden = false;
    clearTimeout(this.noteTimer);
    this.noteTimer = setTimeout(() => { this.note.hidden = true; }, 8000);
  }

  /** Who is at it, and what may be done now. */
  #draw() {
    const mine = this.#mine;
    this.taker.hidden = this.onlyLooks || this.dataset.state !== 'connected';
    this.taker.disabled = this.turn === 'others';
    this.taker.classList.toggle('primary', !mine);
    setText(this.taker.querySelector('span'), mine ? 'Hand back' : 'Take over');
    for (const el of [...this.tools, this.opener]) el.disabled = !mine;
    this.url.readOnly = !mine;
    this.stage.classList.toggle('mine', mine);
    if (this.dataset.state === 'connected') this.#tell(mine ? 'You have mouse and keys; the agent waits' : this.turn === 'others' ? 'Somebody else has taken over' : this.onlyLooks ? 'Live, view only' : 'Live');
    if (this.all) this.#showTabs(this.all);
    if (mine && !this.contains(document.activeElement?.closest('input, canvas'))) this.canvas.focus({ preventScroll: true });
  }

  /** The picture in the stage as large as it goes, and the pointer on it. */
  #place() {
    const { clientWidth: w, clientHeight: hgt } = this.stage;
    const scale = Math.min(w / this.canvas.width, hgt / this.canvas.height) || 1;
    const width = Math.floor(this.canvas.width * scale);
    const height = Math.floor(this.canvas.height * scale);
    const left = Math.floor((w - width) / 2);
    this.canvas.style.setProperty('width', `${width}px`);
    this.canvas.style.setProperty('height', `${height}px`);
    this.canvas.style.setProperty('left', `${left}px`);
    const top = Math.floor((hgt - height) / 2);
    this.canvas.style.setProperty('top', `${top}px`);
    const p = this.pointer;
    this.dot.hidden = !p || (p.by === 'person' && this.#mine);
    if (!p) return;
    this.dot.style.setProperty('left', `${left + p.x * width / this.page.width}px`);
    this.dot.style.setProperty('top', `${top + p.y * height / this.page.height}px`);
    this.dot.classList.toggle('down', p.type === 'down');
  }

  #ask(d) {
    this.asks.hidden = !d;
    if (!d) { this.asks.replaceChildren(); return; }
    const text = d.type === 'prompt' && h('input', { 'aria-label': 'Answer', value: d.default_text });
    this.asks.replaceChildren(...[h('p', {}, d.message || 'The page asks before it is left.'), text,
      h('div', { class: 'row' }, button('OK', { class: 'primary', onclick: () => this.#say({ do: 'dialog', accept: true, ...(text && { text: text.value }) }) }),
        d.type !== 'alert' && button('Cancel', { onclick: () => this.#say({ do: 'dialog', accept: false }) }))].filter(Boolean));
  }

  /* What a person does */

  #at(e) {
    const r = this.canvas.getBoundingClientRect();
    return { x: Math.max(0, Math.round((e.clientX - r.left) * this.page.width / r.width)), y: Math.max(0, Math.round((e.clientY - r.top) * this.page.height / r.height)) };
  }

  #type(text) { if (this.#mine && text) this.#say({ do: 'text', text }); }

  #mouse(type, e, more = {}) {
    if (!this.#mine) return;
    this.#say({ do: 'mouse', type, ...this.#at(e), buttons: held(e), modifiers: modifiers(e), ...more });
  }

  #listen() {
    const { canvas } = this;
    let moved = 0;
    const on = (name, what, options) => canvas.addEventListener(name, what, options);
    on('pointermove', (e) => {
      const now = performance.now();
      if (now - moved < MOVE_MS) { this.late = e; if (!this.lateTimer) this.lateTimer = setTimeout(() => { this.lateTimer = 0; if (this.late) this.#mouse('move', this.late, this.#button(this.late)); this.late = null; }, MOVE_MS); return; }
      moved = now;
      this.late = null;
      this.#mouse('move', e, this.#button(e));
    });
    on('pointerdown', (e) => {
      if (!this.#mine) return;
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(e.pointerId);
      this.late = null;
      this.#mouse('down', e, { button: BUTTONS[e.button] || 'left', clicks: this.#clicks(e) });
    });
    on('pointerup', (e) => { this.late = null; this.#mouse('up', e, { button: BUTTONS[e.button] || 'left', clicks: this.count || 1 }); });
    on('contextmenu', (e) => { if (this.#mine) e.preventDefault(); });
    on('wheel', (e) => {
      if (!this.#mine) return;
      e.preventDefault();
      const unit = e.deltaMode === 1 ? 40 : e.deltaMode === 2 ? 600 : 1;
      this.#mouse('wheel', e, { dx: Math.round(e.deltaX * unit), dy: Math.round(e.deltaY * unit) });
    }, { passive: false });
    for (const type of ['keydown', 'keyup']) on(type, (e) => this.#key(type === 'keydown' ? 'down' : 'up', e));
    on('paste', (e) => { e.preventDefault(); this.#type(e.clipboardData?.getData('text')); });
  }

  #button(e) { return { button: e.buttons & 1 ? 'left' : e.buttons & 4 ? 'middle' : e.buttons & 2 ? 'right' : 'none' }; }

  /** Clicks that follow each other at one place count up, as in any browser. */
  #clicks(e) {
    const last = this.last || { at: -1000, x: 0, y: 0 };
    const near = e.timeStamp - last.at < 400 && Math.abs(e.clientX - last.x) < 5 && Math.abs(e.clientY - last.y) < 5;
    this.count = near ? (this.count % 3) + 1 : 1;
    this.last = { at: e.timeStamp, x: e.clientX, y: e.clientY };
    return this.count;
  }

  #key(type, e) {
    if (e.key === 'F6' && e.shiftKey) { // all keys are the browser's, but there has to be a way out
      e.preventDefault();
      if (type === 'down') (this.taker.hidden ? this.url : this.taker).focus();
      return;
    }
    if (!this.#mine || e.isComposing || e.key === 'Dead' || e.key === 'Process' || !isMine(e)) return;
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'v') return; // what is pasted comes as a text
    e.preventDefault();
    this.#say({ do: 'key', type, key: e.key, code: e.code, vk: e.keyCode, place: e.location, repeat: e.repeat, modifiers: modifiers(e) });
  }
}
customElements.define('cay-live-screen', LiveScreen);
