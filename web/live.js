// SPDX-License-Identifier: Apache-2.0
// The list of sandboxes as it is now. Events tell that something changed; what it is now is asked for, at most once a second, one
// question after the other, so that no answer is followed by an older one. Events are followed from before the first question: what changes
// between the two is heard of. When the daemon goes away this comes back by itself, more patiently each time.
import { get, path, stream } from './api.js';

const PAGE = 500;
const SOON_MS = 150;
const CALM_MS = 1000;
const AWAY_MS = 5000;
const HIDDEN_MS = 10000;
const SAMPLES = 60;

async function readAll(signal) {
  const all = [];
  let cursor = '';
  do {
    const part = await get(`/api/sandboxes?newest_first=true&limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`, { signal });
    all.push(...part.sandboxes);
    cursor = part.next || '';
  } while (cursor && all.length < 10000);
  return all;
}

export const pause = (ms) => new Promise((r) => { setTimeout(r, ms); });

/** Resolves when somebody can see the page. */
export function untilSeen(signal) {
  if (!document.hidden) return null;
  return new Promise((resolve) => {
    const stop = new AbortController();
    const done = () => { if (!document.hidden || signal.aborted) { stop.abort(); resolve(); } };
    document.addEventListener('visibilitychange', done, { signal: stop.signal });
    signal.addEventListener('abort', done, { signal: stop.signal });
  });
}

/** [a signal that ends with `signal`, or when the page has been hidden for a while; what ends the watch for that] */
export function whileSeen(signal) {
  const hidden = new AbortController();
  const stop = new AbortController();
  let timer = 0;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => hidden.abort(), HIDDEN_MS);
  }, { signal: stop.signal });
  return [AbortSignal.any([signal, hidden.signal]), () => { clearTimeout(timer); stop.abort(); }];
}

export class Live extends EventTarget {
  boxes = new Map();
  history = new Map(); // id -> [{at, wall, cpu, memory, pids, rx, tx, loopback, stats}]
  loaded = false;
  #stop = null;
  #timer = 0;
  #due = 0; // when it goes off
  #readAt = 0;
  #seq = 0;
  #last = Promise.resolve(); // the read that was asked for last
  #asked = new Map(); // id -> the sample that is asked for

  start() {
    if (this.#stop) return;
    this.#stop = new AbortController();
    this.#follow(this.#stop.signal);
  }

  stop() {
    this.#stop?.abort();
    this.#stop = null;
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.boxes.clear();
    this.history.clear();
    this.loaded = false;
    this.#seq = 0;
  }

  /** Whoever is in more of a hurry than the one who waits already goes before. */
  refresh(least = SOON_MS) {
    if (!this.#stop) return;
    const now = performance.now();
    const due = Math.max(now + least, this.#readAt + CALM_MS);
    if (this.#timer && this.#due <= due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      // One that was refused (too many requests) or broke off is asked again; where there is no daemon, #follow is quicker.
      this.#read().catch((e) => { if (e.status !== 401) this.refresh(e.status ? SOON_MS : AWAY_MS); });
    }, due - now);
  }

  #read() {
    const { signal } = this.#stop;
    this.#last = this.#last.catch(() => {}).then(() => this.#readNow(signal));
    return this.#last;
  }

  async #readNow(signal) {
    if (signal.aborted) return;
    this.#readAt = performance.now();
    const all = await readAll(signal);
    if (signal.aborted) return;
    const readAt = performance.now(); // what is left of its time is counted from here
    this.boxes = new Map(all.map((b) => [b.sandbox_id, { ...b, read_at: readAt }]));
    for (const id of this.history.keys()) if (!this.boxes.has(id)) this.history.delete(id);
    this.loaded = true;
    this.dispatchEvent(new Event('change'));
  }

  /**
   * A browser has six connections to a server for all of its tabs, and this stream keeps one: a tab that nobody has seen for a while gives it back
   * until it is looked at again.
   */
  async #follow(signal) {
    for (let tries = 0; !signal.aborted; tries++) {
      await untilSeen(signal);
      const [seen, letGo] = whileSeen(signal);
      try {
        this.#seq ||= (await get('/api/events?newest_first=true&limit=1', { signal })).events[0]?.seq || 0;
        clearTimeout(this.#timer);
        this.#timer = 0;
        await this.#read();
        tries = 0;
        await stream('GET', `/api/events?follow=true&after=${this.#seq}`, undefined, (e) => this.#hear(e), seen);
      } catch (e) {
        if (signal.aborted || e.status === 401) return;
        if (seen.aborted) tries = -1; // nothing was wrong
      } finally { letGo(); }
      await pause(Math.min(5000, 300 * 2 ** Math.min(tries, 5)));
    }
  }

  #hear(e) {
    if (e.seq) this.#seq = e.seq;
    this.dispatchEvent(new CustomEvent('event', { detail: e }));
    this.refresh();
  }

  /** What one uses now; kept for the small curves. One question at a time: an answer is never followed by an older one. */
  sample(id) {
    if (!this.#asked.has(id)) this.#asked.set(id, this.#sampleNow(id).finally(() => this.#asked.delete(id)));
    return this.#asked.get(id);
  }

  async #sampleNow(id) {
    const s = await get(path('sandboxes', id, 'stats'));
    const list = this.history.get(id) || [];
    const last = list.at(-1);
    const at = performance.now();
    // Counters only grow; after a start they begin again.
    const rate = (name) => (last && s[name] > last.stats[name] ? ((s[name] - last.stats[name]) * 1000) / Math.max(1, at - last.at) : 0);
    list.push({
      at, wall: Date.now() / 1000, cpu: rate('cpu_us') / 1e6, memory: s.memory_bytes, pids: s.pids,
      rx: rate('rx_bytes'), tx: rate('tx_bytes'), loopback: rate('loopback_bytes'), stats: s,
    });
    if (list.length > SAMPLES * 5) list.shift();
    this.history.set(id, list);
    this.dispatchEvent(new CustomEvent('sample', { detail: id }));
    return s;
  }
}

export const live = new Live();
