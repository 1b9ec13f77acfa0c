// SPDX-License-Identifier: Apache-2.0
// Plays a recording: fetches the archive once, finds its frames, and draws the one that belongs to a time. Frames come from strangers' pages: they are
// decoded as images and drawn, and nothing else is done with them.
import { h, button, iconButton, setText } from './dom.js';
import * as api from './api.js';
import { fail } from './dialogs.js';

const BLOCK = 512;
const SPEEDS = [0.5, 1, 2, 4, 8];
const clock = (ms) => `${Math.floor(ms / 60000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`;

/** [{at, facts, picture}] of a tar archive as Cay writes it; what looks otherwise is passed over. */
export function readFrames(bytes) {
  const text = new TextDecoder();
  const field = (at, len) => text.decode(bytes.subarray(at, at + len)).replace(/\0.*$/s, '');
  const frames = [];
  let facts = {};
  for (let at = 0; at + BLOCK <= bytes.length && bytes[at]; ) {
    const name = field(at, 100);
    const size = parseInt(field(at + 124, 12), 8);
    if (!(size >= 0) || at + BLOCK + size > bytes.length) break;
    const body = bytes.subarray(at + BLOCK, at + BLOCK + size);
    const found = /^\d+-(\d+)\.(json|jpg)$/.exec(name);
    if (found?.[2] === 'json') {
      try { facts = JSON.parse(text.decode(body)); } catch { facts = {}; }
    } else if (found) {
      frames.push({ at: Number(found[1]), facts, picture: new Blob([body], { type: 'image/jpeg' }) });
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return frames;
}

/** The last frame that is not later than a time. */
function frameAt(frames, ms) {
  let low = 0;
  let high = frames.length - 1;
  while (low < high) {
    const mid = Math.ceil((low + high) / 2);
    if (frames[mid].at <= ms) low = mid;
    else high = mid - 1;
  }
  return low;
}

class Player {
  now = 0;
  drawn = -1;

  constructor(frames, signal) {
    this.frames = frames;
    this.signal = signal;
    this.length = frames.at(-1).at;
    this.canvas = h('canvas', { role: 'img', 'aria-label': 'The recording' });
    this.bar = h('input', { type: 'range', min: 0, max: Math.max(1, this.length), step: 1, value: 0, 'aria-label': 'Time', oninput: () => { this.now = Number(this.bar.value); this.#draw(); } });
    this.time = h('span', { class: 'quiet', role: 'timer' });
    this.title = h('span', { class: 'quiet live-title' });
    this.speed = h('select', { 'aria-label': 'Speed' }, SPEEDS.map((s) => h('option', { value: s }, `${s} ×`)));
    this.speed.value = '1';
    this.runner = button('Play', { class: 'primary', onclick: () => this.#run(!this.runs) }, 'play');
    this.#draw();
  }

  #run(runs) {
    if (runs && this.now >= this.length) this.now = 0;
    this.runs = runs;
    setText(this.runner.querySelector('span'), runs ? 'Pause' : 'Play');
    this.last = performance.now();
    if (runs) requestAnimationFrame((t) => this.#step(t));
  }

  #step(t) {
    if (!this.runs || this.signal.aborted || !this.canvas.isConnected) return;
    this.now = Math.min(this.length, this.now + Math.max(0, t - this.last) * Number(this.speed.value));
    this.last = t;
    this.#draw();
    if (this.now >= this.length) this.#run(false);
    else requestAnimationFrame((n) => this.#step(n));
  }

  async #draw() {
    this.bar.value = String(this.now);
    setText(this.time, `${clock(this.now)} / ${clock(this.length)}`);
    if (this.busy) return;
    const nr = frameAt(this.frames, this.now);
    if (nr === this.drawn) return;
    this.busy = true;
    const { facts, picture } = this.frames[nr];
    try {
      const image = await createImageBitmap(picture);
      Object.assign(this.canvas, { width: image.width, height: image.height });
      const pen = this.canvas.getContext('2d');
      pen.drawImage(image, 0, 0);
      if (facts.x !== undefined) this.#dot(pen, facts, image);
      image.close();
    } catch { /* no picture: the one before it stays */ }
    setText(this.title, facts.title || facts.url || '');
    this.drawn = nr;
    this.canvas.dataset.frame = String(nr);
    this.busy = false;
    if (frameAt(this.frames, this.now) !== nr) this.#draw();
  }

  #dot(pen, { x, y, width, height }, image) {
    pen.beginPath();
    pen.arc(x * image.width / (width || image.width), y * image.height / (height || image.height), 9, 0, 2 * Math.PI);
    pen.fillStyle = 'rgba(217, 70, 40, .85)';
    pen.strokeStyle = '#fff';
    pen.lineWidth = 2;
    pen.fill();
    pen.stroke();
  }
}

/** An element that fetches a recording and plays it. */
export function player(url, name, signal, onBack) {
  const room = h('div', { class: 'live-play' }, h('p', { class: 'quiet', role: 'status' }, 'Loading…'));
  (async () => {
    try {
      const archive = await (await api.ask('GET', url, { signal })).blob();
      const frames = readFrames(new Uint8Array(await archive.arrayBuffer()));
      if (!frames.length) {
        room.replaceChildren(h('div', { class: 'empty whole' }, h('h2', {}, 'No frames'), button('Back to the list', { onclick: onBack }, 'back')));
        return;
      }
      const p = new Player(frames, signal);
      const save = () => {
        const a = h('a', { href: URL.createObjectURL(archive), download: `${name}.tar` });
        a.click();
        setTimeout(() => URL.revokeObjectURL(a.href), 10000);
      };
      room.replaceChildren(h('div', { class: 'bar small' }, button('Back to the list', { onclick: onBack }, 'back'), p.title, h('span', { class: 'grow' }), iconButton('Download as an archive', 'down', { onclick: save })),
        h('div', { class: 'live-stage' }, p.canvas), h('div', { class: 'bar small' }, p.runner, p.bar, p.time, p.speed));
    } catch (e) { if (!signal.aborted) fail(e); }
  })();
  return room;
}
