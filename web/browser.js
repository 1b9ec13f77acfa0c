// SPDX-License-Identifier: Apache-2.0
// The pane "Browser" of a sandbox: its screen live, what its pages print and ask of the network, links for others, and recordings. It is started by a
// click, never by looking.
import { h, button, iconButton, setText } from './dom.js';
import * as api from './api.js';
import { ask, fail, note } from './dialogs.js';
import { pause } from './live.js';
import * as format from './format.js';
import './live_screen.js';
import { player } from './browser_player.js';

const LOG_MS = 1500;
const ROWS = 100;

class Browser extends HTMLElement {
  off = new AbortController();

  connectedCallback() {
    this.url = api.path('sandboxes', this.getAttribute('sandbox'), 'browser');
    this.room = h('div', { class: 'live-room' });
    this.append(this.room);
    this.#look();
  }

  disconnectedCallback() { this.off.abort(); }

  /** What there is: shows a browser that runs, offers to start one otherwise. */
  async #look(why = '') {
    try {
      const b = await api.get(this.url, { signal: this.off.signal });
      if (!this.off.signal.aborted) this.#live(b);
    } catch (e) {
      if (this.off.signal.aborted) return;
      if (e.status === 404) this.#stand(why);
      else if (api.isRefused(e)) this.#stand(api.words(e));
      else { await pause(1000); if (!this.off.signal.aborted) this.#look(why); }
    }
  }

  #stand(why) {
    this.dataset.state = 'stopped';
    this.room.replaceChildren(h('div', { class: 'empty whole' }, h('h2', {}, 'No browser runs'),
      why ? h('p', { class: 'problem' }, why) : h('p', {}, 'A web browser for agents: look at what it does, take over, and hand back.'),
      h('div', { class: 'row' }, api.may('exec') ? button('Start the browser', { class: 'primary', onclick: () => this.#start() }) : h('p', {}, 'You are signed in with read access. Starting one needs the scope exec.'),
        button('Recordings', { onclick: () => this.#recordings() }))));
  }

  async #start() {
    this.room.replaceChildren(h('div', { class: 'empty whole' }, h('p', { role: 'status' }, 'Starting…')));
    try {
      await api.post(this.url, {}, { signal: this.off.signal });
      if (!this.off.signal.aborted) this.#look();
    } catch (e) { if (!this.off.signal.aborted) this.#stand(api.words(e)); }
  }

  /** By the page's cookie; a pasted token cannot be sent with a WebSocket, so it is exchanged for a link. */
  async #address() {
    let where = `${this.url}/live`;
    if (api.hasToken() && !api.may('exec')) throw new Error('A pasted token with read access cannot show a browser. Sign in with a link instead (cay token --login).');
    if (api.hasToken()) {
      const link = new URL((await api.post(`${this.url}/live/links`)).url);
      where = link.pathname + link.search;
    }
    return `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}${where}`;
  }

  #live() {
    this.dataset.state = 'live';
    const screen = document.createElement('cay-live-screen');
    screen.address = () => this.#address();
    screen.onOver = (why) => { if (screen.isConnected) this.#look(why || 'The browser ended.'); };
    this.recorder = button('Record', { onclick: () => this.#record() });
    const logs = ['Console', 'Network'].map((name) => button(name, { 'aria-pressed': 'false', onclick: () => this.#log(name) }));
    this.logs = logs;
    this.list = h('ul', { class: 'live-list', tabindex: 0, 'aria-label': 'Console', hidden: true });
    this.side = h('div', { class: 'live-side' }, h('div', { class: 'bar small' }, logs, h('span', { class: 'grow' }), api.may('exec') && this.recorder,
      button('Recordings', { onclick: () => this.#recordings() }),
      api.may('exec') && button('Share', { onclick: () => this.#share() }),
      api.may('exec') && iconButton('Stop the browser', 'stop', { class: 'danger', onclick: () => this.#end() })), this.list);
    this.room.replaceChildren(screen, this.side);
    this.#lookForRecording();
  }

  /* Console and network */

  #log(name) {
    const open = this.shown !== name;
    this.shown = open ? name : '';
    for (const b of this.logs) b.setAttribute('aria-pressed', String(b.textContent === this.shown));
    this.list.hidden = !open;
    this.list.setAttribute('aria-label', name);
    this.list.replaceChildren();
    if (open) this.#follow(name);
  }

  async #follow(name) {
    const here = () => this.isConnected && this.shown === name && this.dataset.state === 'live';
    let as = '';
    while (here()) {
      try {
        const got = await api.get(`${this.url}/${name === 'Console' ? 'console' : 'requests'}?limit=${ROWS}`, { signal: this.off.signal });
        const text = JSON.stringify(name === 'Console' ? got.messages : got.requests);
        if (here() && text !== as) {
          as = text;
          const below = this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < 30;
          const rows = name === 'Console' ? got.messages.map((m) => this.#row(m.level, m.text, ['error', 'assert'].includes(m.level)))
            : got.requests.map((r) => this.#row(r.status ?? (r.error ? 'failed' : '…'), `${r.method} ${r.url}`, r.error || r.status >= 400));
          this.list.replaceChildren(...(rows.length ? rows : [h('li', {}, h('span', { class: 'quiet' }, name === 'Console' ? 'Nothing has been printed yet.' : 'No requests yet.'))]));
          if (below) this.list.scrollTop = this.list.scrollHeight;
        }
      } catch (e) { if (!this.off.signal.aborted && api.isRefused(e)) return; }
      await pause(LOG_MS);
    }
  }

  #row(word, text, bad) { return h('li', {}, h('span', { class: bad ? 'word problem' : 'word' }, String(word)), h('span', { class: bad ? 'grow problem' : 'grow' }, text)); }

  /* Links and ends */

  async #share() {
    const looks = h('input', { type: 'checkbox', id: 'live-looks' });
    looks.checked = true;
    const yes = await ask({ title: 'Share this browser', yes: 'Make a link', fields: [h('p', {}, 'Whoever opens the link sees this browser for an hour, without signing in.'),
      h('label', { class: 'desk-check', for: 'live-looks' }, looks, ' View only: they cannot take over')] });
    if (!yes) return;
    try {
      const { page_url: made } = await api.post(`${this.url}/live/links`, { view_only: looks.checked });
      const link = `${location.origin}/live.html${new URL(made).hash}`;
      const field = h('input', { readonly: true, value: link, 'aria-label': 'Link', onfocus: () => field.select() });
      try { await navigator.clipboard.writeText(link); note('Copied'); } catch { /* it is shown */ }
      await ask({ title: 'A link to this browser', yes: 'Close', no: '', fields: [field] });
    } catch (e) { fail(e); }
  }

  async #end() {
    try {
      await api.call('DELETE', this.url);
      this.#stand('');
    } catch (e) { fail(e); this.#look(); }
  }

  /* Recordings */

  async #lookForRecording() {
    try {
      const { recordings } = await api.get(`${this.url}/recordings`);
      this.running = recordings.find((r) => r.status === 'recording')?.recording_id;
      this.#drawRecorder();
    } catch { /* the button says so when it is used */ }
  }

  #drawRecorder() {
    setText(this.recorder.querySelector('span'), this.running ? 'Stop recording' : 'Record');
    this.recorder.setAttribute('aria-pressed', String(Boolean(this.running)));
  }

  async #record() {
    try {
      if (this.running) await api.post(`${this.url}/recordings/${this.running}/stop`);
      const was = this.running;
      this.running = was ? null : (await api.post(`${this.url}/recordings`)).recording_id;
      note(was ? 'The recording is kept until the sandbox is destroyed' : 'Recording');
    } catch (e) { fail(e); this.#lookForRecording(); return; }
    this.#drawRecorder();
  }

  async #recordings() {
    this.dataset.state = 'recordings';
    const list = h('tbody', {});
    const back = button('Back to the browser', { onclick: () => this.#look() }, 'back');
    this.room.replaceChildren(h('div', { class: 'bar small' }, back, h('span', { class: 'grow' })), h('div', { class: 'live-records' }, list));
    try {
      const { recordings } = await api.get(`${this.url}/recordings`);
      if (!recordings.length) { list.parentElement.replaceChildren(h('div', { class: 'empty whole' }, h('h2', {}, 'No recordings'), h('p', {}, '“Record”, below the browser, begins one.'))); return; }
      list.parentElement.replaceChildren(h('table', {}, h('thead', {}, h('tr', {}, ['Began', 'Length', 'Frames', 'Size'].map((t) => h('th', { scope: 'col' }, t)), h('td', {}))), list));
      list.replaceChildren(...recordings.reverse().map((r) => h('tr', {}, h('td', { title: r.cause_text }, format.moment(r.started_at)), h('td', {}, r.status === 'recording' ? 'recording…' : format.span(r.duration_ms)), h('td', {}, String(r.frames)), h('td', {}, format.bytes(r.bytes)),
        h('td', {}, h('div', { class: 'row' }, button('Play', { onclick: () => this.#play(r) }, 'play'),
          api.may('exec') && iconButton('Remove the recording', 'trash', { class: 'danger', onclick: () => this.#remove(r) }))))));
    } catch (e) { fail(e); }
  }

  async #remove(r) {
    if (!await ask({ title: 'Remove this recording?', text: 'Its frames are deleted. This cannot be undone.', yes: 'Remove', danger: true })) return;
    try { await api.call('DELETE', `${this.url}/recordings/${r.recording_id}`); } catch (e) { fail(e); }
    this.#recordings();
  }

  #play(r) {
    this.dataset.state = 'playing';
    this.room.replaceChildren(player(`${this.url}/recordings/${r.recording_id}/export`, r.recording_id, this.off.signal, () => this.#recordings()));
  }
}
customElements.define('cay-browser', Browser);
