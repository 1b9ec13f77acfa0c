// SPDX-License-Identifier: Apache-2.0
// The terminal of a sandbox: its shells side by side, one of them shown. A shell is a command of the sandbox that runs on without the page; this
// looks at it over ttyd's protocol and counts the bytes that came. Whatever breaks in between, it comes back at that count: nothing is lost,
// nothing is drawn twice. Whoever opens a shell that ran before is drawn its last screens; what programs asked the terminal back then is not
// answered again, or the answers would be typed into the shell.
import { sweepStyles } from './own_styles.js';
import { Terminal } from './npm/xterm.mjs';
import { FitAddon } from './npm/addon-fit.mjs';
import { Unicode11Addon } from './npm/addon-unicode11.mjs';
import { h, button, iconButton, setText } from './dom.js';
import * as api from './api.js';
import { adviceOf } from './cause_words.js';
import { fail } from './dialogs.js';
import { live } from './live.js';
import * as format from './format.js';
import * as shells from './shells.js';
import { Requests, Socket } from './tty_link.js';
import { TouchKeys } from './touch_keys.js';

const HIGH = 1 << 20; // bytes not drawn yet, from which the daemon is told to wait
const LOW = 1 << 18;
const KEPT_MAX = 16384; // of text that the terminal says by itself

function theme() {
  const css = getComputedStyle(document.documentElement);
  const c = (name) => css.getPropertyValue(name).trim();
  return { background: c('--term-bg'), foreground: c('--term-fg'), cursor: c('--term-fg'), selectionBackground: c('--term-select') };
}

const plain = (text) => String(text ?? '').replace(/[^\x20-\x7e\u00a0-\uffff]/g, ' ').slice(0, KEPT_MAX);

class CayTerminal extends HTMLElement {
  off = new AbortController();
  list = [];

  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.key = `cay-terminal-${this.sandbox}`;
    this.#build();
    this.term = new Terminal({
      cursorBlink: true, scrollback: 5000, fontSize: 13, screenReaderMode: false, allowProposedApi: true,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'), theme: theme(),
    });
    this.fit = new FitAddon();
    this.term.loadAddon(this.fit);
    this.term.loadAddon(new Unicode11Addon());
    this.term.unicode.activeVersion = '11';
    this.term.open(this.place);
    this.term.onData((d) => { if (!this.muted) this.#type(d); });
    this.term.onKey(({ key }) => { if (this.muted) this.#type(key); }); // a person's, not the terminal's own answer
    this.term.onBinary((d) => { if (!this.muted) this.link?.input(Uint8Array.from(d, (c) => c.charCodeAt(0))); });
    this.term.onResize(() => this.link?.resize(this.#size()));
    this.term.attachCustomKeyEventHandler((e) => this.#onKey(e));
    this.#watch();
    this.#fit();
    this.start();
  }

  #build() {
    const { signal } = this.off;
    this.status = h('span', { class: 'quiet term-status', role: 'status' }, h('span', {}), h('span', { class: 'more' }));
    this.tabs = h('div', { class: 'shells', role: 'group', 'aria-label': 'Shells' });
    this.place = h('div', { class: 'term-place' });
    this.said = h('span', { role: 'status' });
    this.again = button('New shell', { onclick: () => this.open(null) });
    this.resume = button('Resume', { onclick: () => api.post(api.path('sandboxes', this.sandbox, 'resume')).then(() => live.refresh(), fail) });
    this.foot = h('div', { class: 'term-foot', hidden: true }, this.said, h('span', { class: 'grow' }), this.resume, this.again);
    this.keys = new TouchKeys((text) => { this.#type(text); }, () => this.term.modes.applicationCursorKeysMode);
    this.append(h('div', { class: 'term-bar' }, this.tabs, iconButton('New shell', 'plus', { class: 'shell-new', onclick: () => this.open(null) }),
      h('span', { class: 'grow' }), this.status, h('span', { class: 'term-leave' }, h('kbd', {}, 'Shift'), ' ', h('kbd', {}, 'F6'), ' leaves')),
    this.place, this.foot, this.keys.el);
    live.addEventListener('event', (e) => { if (e.detail.sandbox_id === this.sandbox && /^exec_/.test(e.detail.kind)) this.#listSoon(); }, { signal });
    live.addEventListener('change', () => this.#tellState(), { signal });
  }

  #watch() {
    this.sizes = new ResizeObserver(() => { cancelAnimationFrame(this.frame); this.frame = requestAnimationFrame(() => this.#fit()); });
    this.sizes.observe(this.place);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.term.options.theme = theme(); }, { signal: this.off.signal });
    this.second = setInterval(() => this.#tick(), 1000);
  }

  disconnectedCallback() {
    this.ended = true;
    this.off.abort();
    clearTimeout(this.timer);
    clearTimeout(this.listing);
    clearInterval(this.second);
    cancelAnimationFrame(this.frame);
    this.link?.close();
    this.sizes.disconnect();
    this.term.dispose();
    sweepStyles();
  }

  #fit() { if (this.place.clientWidth > 40 && this.place.clientHeight > 20) this.fit.fit(); }
  #size() { return { columns: this.term.cols, rows: this.term.rows }; }
  #type(text) { this.link?.input(this.keys.apply(text)); }

  /** Tab belongs to the shell; Shift F6 gives the focus back to the page. Ctrl Shift C copies what is marked, V pastes. */
  #onKey(e) {
    if (e.type !== 'keydown') return true;
    if (e.key === 'F6' && e.shiftKey) {
      document.querySelector('.tabs [aria-selected=true]')?.focus();
      return false;
    }
    if (e.ctrlKey && e.shiftKey && e.code === 'KeyC') {
      e.preventDefault(); // the browser's own meaning of it
      if (this.term.hasSelection()) document.execCommand('copy'); // xterm answers with what is marked; works without a secure origin too
      return false;
    }
    return !(e.ctrlKey && e.shiftKey && e.code === 'KeyV'); // the browser pastes
  }

  /** The shell of this tab, if it still runs; else one that nobody watches; else a new one. */
  async start() {
    this.#say('Starting…');
    try {
      this.list = await shells.list(this.sandbox);
      const mine = this.list.find((x) => x.exec_id === sessionStorage.getItem(this.key));
      await this.open((mine || this.list.findLast((x) => x.watchers === 0))?.exec_id || null);
    } catch (e) { this.#stand(api.words(e)); }
  }

  /** Shows a shell: by its id, or (null) a new one. */
  async open(id) {
    this.opening = (this.opening || 0) + 1;
    const mine = this.opening;
    const isStale = () => this.ended || mine !== this.opening;
    clearTimeout(this.timer);
    this.link?.close();
    this.link = null;
    this.foot.hidden = true;
    this.dataset.state = 'opening';
    this.#say('Starting…');
    try {
      const exec = id || (await shells.start(this.sandbox, this.#size())).exec_id;
      const view = await api.get(api.path('sandboxes', this.sandbox, 'execs', exec));
      const screen = id ? await api.get(api.path('sandboxes', this.sandbox, 'execs', exec, 'screen')) : { cursor: view.output_first, end: view.output_first, begin: '' };
      if (isStale()) return;
      sessionStorage.setItem(this.key, exec);
      this.exec = exec;
      this.#note(view);
      this.term.reset();
      this.cursor = screen.cursor;
      this.tries = 0;
      this.isBack = Boolean(id);
      this.#mute(screen.end);
      if (screen.begin) this.term.write(screen.begin);
      this.#connect();
      this.#listSoon();
    } catch (e) { if (!isStale()) this.#stand(api.words(e)); }
  }

  /** What was printed before `end` is drawn without a word to the shell. */
  #mute(end) {
    this.muteEnd = end;
    this.muted = this.cursor < end;
    this.dataset.muted = String(this.muted);
  }

  #unmute() {
    this.muted = false;
    this.dataset.muted = 'false';
    // A program that draws the whole screen does so again when its size changes.
    if (!this.isBack || this.term.buffer.active.type !== 'alternate') return;
    this.isBack = false;
    const size = this.#size();
    this.link?.resize({ ...size, rows: Math.max(1, size.rows - 1) });
    this.link?.resize(size);
  }

  #connect() {
    const Kind = api.hasToken() ? Requests : Socket;
    this.waiting = 0;
    this.held = false;
    this.link = new Kind(this.sandbox, this.exec, this.cursor, this.#size(), {
      open: () => { this.tries = 0; this.dataset.state = 'connected'; this.#tellState(); },
      title: () => {},
      bytes: (b) => this.#draw(b),
      close: (code, reason) => this.#onClose(code, reason),
    });
  }

  #draw(bytes) {
    const old = this.muted ? Math.max(0, this.muteEnd - this.cursor) : 0;
    if (old > 0 && old <= bytes.length) {
      this.#write(bytes.subarray(0, old), () => this.#unmute());
      this.#write(bytes.subarray(old));
    } else {
      this.#write(bytes);
    }
  }

  /** xterm says when it has drawn; too much undrawn and the daemon stops reading the command's output. */
  #write(bytes, then) {
    this.cursor += bytes.length;
    this.waiting += bytes.length;
    const { link } = this;
    this.term.write(bytes, () => {
      if (link !== this.link) return;
      this.waiting -= bytes.length;
      then?.();
      if (this.held && this.waiting < LOW) { this.held = false; link.hold(false); }
    });
    if (!this.held && this.waiting > HIGH) { this.held = true; link.hold(true); }
  }

  async #onClose(code, reason) {
    this.link = null;
    if (this.ended) return;
    this.dataset.state = 'closed';
    if (code !== 1000 && code !== 1008) {
      this.tries += 1;
      this.#say('The connection was lost. Reconnecting…');
      this.timer = setTimeout(() => this.#return(), Math.min(4000, 200 * 2 ** this.tries));
      return;
    }
    sessionStorage.removeItem(this.key);
    const { exec } = this;
    const x = code === 1000 ? await api.get(api.path('sandboxes', this.sandbox, 'execs', exec)).catch(() => null) : null;
    if (this.ended || exec !== this.exec || this.link) return;
    this.#stand(x ? this.#sayEnd(x) : reason || 'Refused.', x && adviceOf(x));
    this.#listSoon();
  }

  #sayEnd(x) {
    const how = (x.cause && x.cause !== 'exited') || format.hasNotRun(x) ? x.cause_text || x.cause : `exit ${x.exit_code ?? ''}`;
    return `The shell ended: ${how}`;
  }

  /** Nothing is connected: why, in the terminal where it happened and below it, and what can be done. */
  #stand(text, advice) {
    this.dataset.state = 'ended';
    this.view = null;
    this.#say('');
    this.term.write(`\x1b[0m\r\n\x1b[2m[${plain(text)}${advice ? ` (${plain(advice)})` : ''}]\x1b[0m\r\n\x1b[?25l`);
    setText(this.said, text);
    this.resume.hidden = true;
    this.again.hidden = false;
    this.foot.hidden = false;
  }

  /** A handshake that is refused tells a browser nothing: ask whether the shell is still there. */
  async #return() {
    if (this.ended) return;
    const { exec } = this;
    try {
      const x = await api.get(api.path('sandboxes', this.sandbox, 'execs', exec));
      if (this.ended || exec !== this.exec) return;
      this.cursor = Math.max(this.cursor, x.output_first);
      this.#mute(x.output_end);
      this.#note(x);
    } catch (e) {
      if (exec === this.exec) this.#onClose(api.isRefused(e) ? 1008 : 1006, api.words(e));
      return;
    }
    this.#connect();
  }

  /** What is known of the shell's time. */
  #note(view) {
    this.view = view;
    this.viewAt = performance.now();
  }

  /** more: what narrow screens have no room for. */
  #say(text, more = '') {
    setText(this.status.firstChild, text);
    setText(this.status.lastChild, more);
  }

  #tick() { if (this.view && this.dataset.state === 'connected') this.#tellState(); }

  /** Connected, paused, about to end; and what happens to the shell when its watchers leave. */
  #tellState() {
    if (this.dataset.state !== 'connected') return;
    const isPaused = live.boxes.get(this.sandbox)?.status === 'paused';
    if (isPaused) setText(this.said, 'The sandbox is paused. What you type takes effect when it is resumed.');
    this.resume.hidden = !isPaused;
    this.again.hidden = true;
    this.foot.hidden = !isPaused;
    const { deadline_in_ms: left, idle_limit_ms: idle } = this.view || {};
    if (left !== null && left !== undefined) this.#say(`Ends in ${format.countdown(left - (performance.now() - this.viewAt))}`);
    else this.#say('Connected', idle ? ` · keeps running for ${format.span(idle)} after you leave` : '');
  }

  /* The shells of the sandbox, whoever started them */

  #listSoon() {
    clearTimeout(this.listing);
    this.listing = setTimeout(() => this.#readList(), 200);
  }

  async #readList() {
    try {
      this.list = await shells.list(this.sandbox);
      if (!this.ended) this.#drawList();
    } catch (e) { if (!this.ended && !api.isRefused(e)) this.#listSoon(); }
  }

  #drawList() {
    const here = this.dataset.state === 'ended' ? null : this.exec;
    this.tabs.replaceChildren(...this.list.map((x, i) => {
      const name = `${shells.title(x)} ${i + 1}`;
      const others = x.watchers - (x.exec_id === here ? 1 : 0);
      const about = `Started ${format.clock(x.started_at)}${others > 0 ? `, watched by ${others} more` : x.watchers === 0 ? ', watched by nobody' : ''}`;
      return h('span', { class: 'shell', 'data-exec': x.exec_id },
        h('button', { type: 'button', class: 'shell-name', title: about, 'aria-current': x.exec_id === here ? 'true' : null, onclick: () => { if (x.exec_id !== here) this.open(x.exec_id); this.term.focus(); } }, name),
        iconButton(`End ${name}`, 'close', { class: 'shell-end', onclick: () => shells.end(this.sandbox, x.exec_id).then(() => this.#listSoon(), fail) }));
    }));
  }
}
customElements.define('cay-terminal', CayTerminal);
