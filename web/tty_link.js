// SPDX-License-Identifier: Apache-2.0
// Two ways to look at a command's terminal, with one face: ttyd's protocol over a WebSocket, or plain requests.
import * as api from './api.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const AGAIN_MS = 300;
const toBytes = (data) => (typeof data === 'string' ? encoder.encode(data) : data);

/** ttyd's protocol over a WebSocket: by the page's cookie. */
export class Socket {
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
    const body = toBytes(data);
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
export class Requests {
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

  /** What a paused sandbox does not take waits, as it does on a socket. */
  async #give(bytes) {
    for (;;) {
      try {
        await api.ask('POST', `${this.base}/input`, { bytes, signal: this.stop.signal });
        return;
      } catch (e) {
        const later = e.reason === 'paused' || e.status === 429 || e.status === 503;
        if (!later || this.stop.signal.aborted) throw e;
        await new Promise((r) => { setTimeout(r, AGAIN_MS); });
      }
    }
  }

  /** One after the other, as on a socket: keys stay in their order, and the last size is the one that stays. */
  #next(send) { this.queue = this.queue.then(send).catch(() => {}); }
  input(data) { this.#next(() => this.#give(toBytes(data))); }
  resize({ rows, columns }) { this.#next(() => api.post(`${this.base}/resize`, { rows, cols: columns })); }
  hold(is) { this.held = is; }
  close() { this.stop.abort(); }
}
