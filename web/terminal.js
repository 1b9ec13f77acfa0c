// SPDX-License-Identifier: Apache-2.0
// A terminal in a sandbox. The shell is a command of the sandbox (exec_run with tty); this looks at it over ttyd's protocol and counts the
// bytes that came. Whatever breaks in between, it comes back at that count: nothing is lost, nothing is drawn twice.
import { sweepStyles } from './own_styles.js';
import { Terminal } from './npm/xterm.mjs';
import { FitAddon } from './npm/addon-fit.mjs';
import { h, button } from './dom.js';
import * as api from './api.js';

const HIGH = 1 << 20; // bytes not drawn yet, from which the daemon is told to wait
const LOW = 1 << 18;
/** A login shell where there is bash, else whatever sh is. */
export const SHELL = 'command -v bash >/dev/null 2>&1 && exec bash -l; exec sh -l';
const encoder = new TextEncoder();
const decoder = new TextDecoder();

function theme() {
  const css = getComputedStyle(document.documentElement);
  const c = (name) => css.getPropertyValue(name).trim();
  return { background: c('--term-bg'), foreground: c('--term-fg'), cursor: c('--term-fg'), selectionBackground: c('--term-select') };
}

/** ttyd's protocol over a WebSocket: by the page's cookie. */
class Socket {
  constructor(sandbox, exec, from, size, on) {
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    this.ws = new WebSocket(`${scheme}://${location.host}/tty/${encodeURIComponent(sandbox)}/ws?exec=${encodeURIComponent(exec)}&from=${from}`, 'tty');
    this.ws.binaryType = 'arraybuffer';
    this.ws.onopen = () => { this.ws.send(JSON.stringify({ AuthToken: '', ...size })); on.open(); };
    this.ws.onmessage = (e) => {
      const bytes = new Uint8Array(e.data);
      if (bytes[0] === 0x30) on.bytes(bytes.subarray(1));
      else if (bytes[0] === 0x31) on.title(decoder.decode(bytes.subarray(1)));
    };
    this.ws.onclose = (e) => on.close(e.code, e.reason);
  }

  #say(kind, data) {
    if (this.ws.readyState !== WebSocket.OPEN) return;
    const body = encoder.encode(data);
    const frame = new Uint8Array(body.length + 1);
    frame[0] = kind.charCodeAt(0);
    frame.set(body, 1);
    this.ws.send(frame);
  }

  input(text) { this.#say('0', text); }
  resize(size) { this.#say('1', JSON.stringify(size)); }
  hold(is) { this.#say(is ? '2' : '3', ''); }
  close() { this.ws.onclose = null; this.ws.close(); }
}

/** The same by requests, where a token was pasted: a browser's WebSocket cannot show one. */
class Requests {
  constructor(sandbox, exec, from, size, on) {
    this.base = api.path('sandboxes', sandbox, 'execs', exec);
    this.stop = new AbortController();
    this.queue = Promise.resolve();
    this.resize(size);
    this.#read(from, on);
  }

  async #read(from, on) {
    try {
      const answer = await api.ask('GET', `${this.base}/output?raw=true&from=${from}`, { signal: this.stop.signal });
      on.open();
      const reader = answer.body.getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        on.bytes(value);
        while (this.held && !this.stop.signal.aborted) await new Promise((r) => { setTimeout(r, 20); });
      }
      const exec = await api.get(this.base);
      if (exec.status !== 'ended') throw new Error('the output broke off');
      on.close(1000, exec.exit_code === null ? `signal ${exec.signal}` : `exit ${exec.exit_code}`);
    } catch (e) {
      if (!this.stop.signal.aborted) on.close(api.isRefused(e) ? 1008 : 1006, api.words(e));
    }
  }

  /** One after the other, as on a socket: keys stay in their order, and the last size is the one that stays. */
  #next(send) { this.queue = this.queue.then(send).catch(() => {}); }
  input(text) { this.#next(() => api.ask('POST', `${this.base}/input`, { bytes: encoder.encode(text) })); }
  resize({ rows, columns }) { this.#next(() => api.post(`${this.base}/resize`, { rows, cols: columns })); }
  hold(is) { this.held = is; }
  close() { this.stop.abort(); }
}

class CayTerminal extends HTMLElement {
  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.key = `cay-terminal-${this.sandbox}`;
    this.status = h('span', { class: 'quiet', role: 'status' });
    this.again = button('New shell', { onclick: () => this.start(), hidden: true });
    this.place = h('div', { class: 'term-place' });
    this.append(h('div', { class: 'term-bar' }, this.status, h('span', { class: 'grow' }), this.again, h('span', { class: 'term-leave' }, h('kbd', {}, 'Shift'), ' ', h('kbd', {}, 'F6'), ' leaves')), this.place);
    this.term = new Terminal({
      cursorBlink: true, scrollback: 5000, fontSize: 13, screenReaderMode: false,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'), theme: theme(),
    });
    this.fit = new FitAddon();
    this.term.loadAddon(this.fit);
    this.term.open(this.place);
    this.term.onData((d) => this.link?.input(d));
    this.term.onBinary((d) => this.link?.input(d));
    this.term.onResize(() => this.link?.resize(this.#size()));
    // Tab belongs to the shell; Shift F6 gives the focus back to the page.
    this.term.attachCustomKeyEventHandler((e) => {
      if (e.type !== 'keydown' || e.key !== 'F6' || !e.shiftKey) return true;
      document.querySelector('.tabs [aria-selected=true]')?.focus();
      return false;
    });
    this.sizes = new ResizeObserver(() => { cancelAnimationFrame(this.frame); this.frame = requestAnimationFrame(() => this.#fit()); });
    this.sizes.observe(this.place);
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.onDark = () => { this.term.options.theme = theme(); };
    this.dark.addEventListener('change', this.onDark);
    this.#fit();
    this.start();
  }

  disconnectedCallback() {
    this.ended = true;
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    this.link?.close();
    this.sizes.disconnect();
    this.dark.removeEventListener('change', this.onDark);
    this.term.dispose();
    sweepStyles();
  }

  #fit() { if (this.place.clientWidth > 40 && this.place.clientHeight > 20) this.fit.fit(); }
  #size() { return { columns: this.term.cols, rows: this.term.rows }; }
  #say(text) { this.status.textContent = text; }

  /** The shell of this tab, if it still runs; else a new one. */
  async start() {
    this.again.hidden = true;
    this.#say('Starting a shell…');
    try {
      this.first = 0;
      this.exec = await this.#known();
      if (!this.exec) {
        const made = await api.post(api.path('sandboxes', this.sandbox, 'execute'), {
          command: SHELL, tty: true, open_stdin: true, background: true,
          term: 'xterm-256color', rows: this.term.rows, cols: this.term.cols,
        });
        this.exec = made.exec_id;
        sessionStorage.setItem(this.key, this.exec);
      }
    } catch (e) {
      this.#say(api.words(e));
      this.again.hidden = false;
      return;
    }
    if (this.ended) return;
    this.term.reset();
    this.cursor = this.first;
    this.tries = 0;
    this.#connect();
  }

  async #known() {
    const id = sessionStorage.getItem(this.key);
    if (!id) return null;
    try {
      const exec = await api.get(api.path('sandboxes', this.sandbox, 'execs', id));
      this.first = exec.output_first; // what is kept no longer is not drawn again
      return exec.status === 'ended' ? null : id;
    } catch (e) {
      if (api.isRefused(e)) return null;
      throw e;
    }
  }

  #connect() {
    const Kind = api.hasToken() ? Requests : Socket;
    this.waiting = 0;
    this.held = false;
    this.link = new Kind(this.sandbox, this.exec, this.cursor, this.#size(), {
      open: () => { this.tries = 0; this.#say('Connected'); this.dataset.state = 'connected'; },
      title: () => {},
      bytes: (b) => this.#draw(b),
      close: (code, reason) => this.#onClose(code, reason),
    });
  }

  /** xterm says when it has drawn; too much undrawn and the daemon stops reading the command's output. */
  #draw(bytes) {
    this.cursor += bytes.length;
    this.waiting += bytes.length;
    const { link } = this;
    this.term.write(bytes, () => {
      this.waiting -= bytes.length;
      if (this.held && this.waiting < LOW && link === this.link) { this.held = false; link.hold(false); }
    });
    if (!this.held && this.waiting > HIGH) { this.held = true; link.hold(true); }
  }

  #onClose(code, reason) {
    this.link = null;
    if (this.ended) return;
    this.dataset.state = 'closed';
    if (code === 1000 || code === 1008) {
      sessionStorage.removeItem(this.key);
      this.dataset.state = 'ended';
      this.#say(code === 1000 ? `The shell ended (${reason || 'exit 0'}).` : reason || 'Refused.');
      this.again.hidden = false;
      return;
    }
    this.tries += 1;
    this.#say('The connection is gone. Coming back…');
    this.timer = setTimeout(() => this.#return(), Math.min(4000, 200 * 2 ** this.tries));
  }

  /** A handshake that is refused tells a browser nothing: ask whether the shell is still there. */
  async #return() {
    if (this.ended) return;
    try {
      const exec = await api.get(api.path('sandboxes', this.sandbox, 'execs', this.exec));
      this.cursor = Math.max(this.cursor, exec.output_first);
    } catch (e) {
      if (api.isRefused(e)) this.#onClose(1008, api.words(e));
      else this.#onClose(1006, '');
      return;
    }
    this.#connect();
  }
}
customElements.define('cay-terminal', CayTerminal);
