// SPDX-License-Identifier: Apache-2.0
// What a sandbox was like before each command: its steps with what came of each, ways back and branches, and the terminals that were recorded.
import { h, button, icon, iconButton, keepRows, setChildren, setText } from './dom.js';
import * as api from './api.js';
import { ask, fail, note } from './dialogs.js';
import { show } from './file_path.js';
import { live } from './live.js';
import * as format from './format.js';
import { SHELL } from './shells.js';
import { play } from './player.js';

const CHANGES_MAX = 200; // shown of one step
const MARKS = { added: '+', removed: '−', changed: '~' };
/** The page's own terminals by what they are. */
const say = (text) => (text === SHELL || text === `sh -c ${SHELL}` ? 'a shell in a terminal' : show(text));
const ENDS = { limit: 'it reached its largest size', disk: 'the disk of the daemon was full', undone: 'the sandbox was undone', damaged: 'it cannot be read' };

class Timeline extends HTMLElement {
  off = new AbortController();
  rows = new Map(); // by number, see keepRows
  casts = new Map(); // by exec_id

  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.steps = h('ol', { class: 'steps', 'aria-label': 'Steps, newest first' });
    this.none = h('p', { class: 'hint', hidden: true }, 'No steps yet. A sandbox that was created with ', h('code', {}, 'checkpoint'), ' has one before each command.');
    this.problem = h('p', { class: 'problem', role: 'status' });
    this.recorded = h('ol', { class: 'casts', 'aria-label': 'Recorded terminals' });
    this.recording = h('p', { class: 'hint' });
    this.about = h('section', { class: 'recorded', hidden: true, 'aria-label': 'Recording' }, h('h2', {}, 'Recording'), this.recording, this.recorded);
    const acts = api.may('exec') ? [button('Snapshot', { onclick: () => this.#snapshot() }, 'layers'), button('Fork', { onclick: () => this.#fork(this.sandbox, 'its files as they are now') }, 'split')] : [];
    this.append(h('div', { class: 'bar small' }, h('h2', {}, 'Steps'), h('span', { class: 'grow' }), acts, iconButton('Refresh', 'refresh', { onclick: () => this.#read() })),
      this.problem, this.none, this.steps, this.about);
    live.addEventListener('event', (e) => { if (e.detail.sandbox_id === this.sandbox && /^(step_|sandbox_|snapshot_|exec_|recording_)/.test(e.detail.kind)) this.#soon(); }, { signal: this.off.signal });
    this.#read();
  }

  disconnectedCallback() { this.off.abort(); clearTimeout(this.timer); }

  #soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#read(), 400);
  }

  async #read() {
    if (this.reading) { this.again = true; return; } // no answer is followed by an older one
    this.reading = true;
    try {
      const { steps } = await api.get(api.path('sandboxes', this.sandbox, 'steps'), { signal: this.off.signal });
      const recording = await api.get(api.path('sandboxes', this.sandbox, 'recording'), { signal: this.off.signal }).catch((e) => { if (!api.isRefused(e)) throw e; return null; });
      this.#draw(steps, recording);
      setText(this.problem, '');
    } catch (e) {
      if (!this.off.signal.aborted) setText(this.problem, api.words(e));
    }
    this.reading = false;
    if (this.again && !this.off.signal.aborted) { this.again = false; this.#soon(); }
  }

  #draw(steps, recording) {
    this.none.hidden = steps.length > 0;
    // What a command did is seen between its step and the next one.
    const items = steps.map((s, i) => ({ ...s, next: i > 0 ? steps[i - 1].step : null }));
    this.rows = keepRows(this.rows, items, (s) => s.step, (s, was) => this.#step(s, was));
    setChildren(this.steps, items.map((s) => this.rows.get(s.step).el));
    this.about.hidden = !recording;
    if (!recording) return;
    setText(this.recording, `${recording.commands} command${recording.commands === 1 ? '' : 's'} and ${recording.files} change${recording.files === 1 ? '' : 's'} of files are recorded, ${format.bytes(recording.bytes)}.${recording.stopped ? ` The recording ended: ${ENDS[recording.stopped] || recording.stopped}.` : ''}`);
    this.casts = keepRows(this.casts, recording.terminals, (t) => t.exec_id, (t) => this.#cast(t));
    setChildren(this.recorded, recording.terminals.map((t) => this.casts.get(t.exec_id).el));
  }

  #step(s, was) {
    const place = was?.querySelector('.changes') || h('div', { class: 'changes', hidden: true });
    const before = say(s.before || '');
    const look = button('Changes', { 'aria-label': `Changes since step ${s.step}`, onclick: () => this.#changes(s, place, look) });
    if (!place.hidden) place.hidden = true; // what it shows may be old
    return h('li', { 'data-step': s.step, class: /^(undo to step|the recording begins)/.test(before) ? 'made' : null },
      h('div', { class: 'step-head' }, h('b', {}, `Step ${s.step}`), h('time', { class: 'quiet num', datetime: s.created_at, title: format.moment(s.created_at) }, format.clock(s.created_at)),
        h('span', { class: 'quiet num' }, s.added_bytes ? format.bytes(s.added_bytes) : 'no space'), h('span', { class: 'grow' }),
        api.may('exec') && h('span', { class: 'step-acts', role: 'group', 'aria-label': `Step ${s.step}` }, look,
          button('Fork', { 'aria-label': `Fork step ${s.step}`, onclick: () => this.#fork(s.snapshot_id, `its files at step ${s.step}`) }),
          button('Undo', { 'aria-label': `Undo to step ${s.step}`, onclick: () => this.#undo(s) }))),
      h('p', { class: 'before', title: before }, before), place);
  }

  async #changes(s, place, look) {
    if (!place.hidden) { place.hidden = true; return; }
    look.disabled = true;
    place.hidden = false;
    place.replaceChildren(h('p', { class: 'quiet' }, 'Comparing…'));
    try {
      const d = await api.post(api.path('sandboxes', this.sandbox, 'diff'), { from: s.step, limit: CHANGES_MAX, ...(s.next && { to: s.next }) });
      place.replaceChildren(d.changes.length ? h('ul', {}, d.changes.map((c) => h('li', { class: c.change }, h('span', { class: 'mark', 'aria-hidden': 'true' }, MARKS[c.change]), h('span', { class: 'offscreen' }, `${c.change} `), show(c.name ?? '�'), c.type === 'file' && c.change !== 'removed' && h('span', { class: 'quiet num' }, ` ${format.bytes(c.size)}`))))
        : h('p', { class: 'quiet' }, `No file differs between step ${s.step} and ${s.next ? `step ${s.next}` : 'now'}.`), d.why && h('p', { class: 'quiet', title: d.why }, d.more ? 'There are more.' : 'Some files could not be read.'));
    } catch (e) {
      place.replaceChildren(h('p', { class: 'problem' }, api.words(e)));
    }
    look.disabled = false;
  }

  async #undo(s) {
    const yes = await ask({ title: `Go back to step ${s.step}?`, text: `The files become what they were before “${show(s.before || '')}”. Running commands are ended. The current files are kept as a step, so that you can come back.`, yes: 'Go back' });
    if (!yes) return;
    this.classList.add('busy');
    try {
      const r = await api.post(api.path('sandboxes', this.sandbox, 'undo'), { step: s.step });
      note(`The files are those of step ${r.step}. The files before that are step ${r.kept_as}.${r.commands_ended ? ` ${r.commands_ended} running command${r.commands_ended > 1 ? 's were' : ' was'} ended.` : ''}`, { kind: 'good' });
    } catch (e) {
      fail(e);
    }
    this.classList.remove('busy');
    live.refresh();
    this.#read();
  }

  async #fork(id, what) {
    const made = await ask({ title: 'Fork this sandbox', text: `New sandboxes get ${what}. They have no running processes.`, yes: 'Fork',
      fields: [h('label', { for: 'count' }, 'How many'), h('input', { id: 'count', name: 'count', type: 'number', min: 1, max: 100, value: '1', autofocus: true })],
      send: (v) => api.post(api.path('sandboxes', id, 'fork'), { count: Number(v.count) }) });
    if (!made) return;
    live.refresh();
    const [one] = made.sandboxes;
    note(`${made.count} sandbox${made.count > 1 ? 'es were' : ' was'} made.`, { kind: 'good', action: one && { label: 'Open', run: () => { location.hash = `#/sandbox/${encodeURIComponent(one.sandbox_id)}`; } } });
  }

  async #snapshot() {
    const made = await ask({ title: 'Make a snapshot', text: 'A copy of the files as they are now, which stays when the sandbox is destroyed.', yes: 'Make it',
      fields: [h('label', { for: 'name' }, 'Name (optional)'), h('input', { id: 'name', name: 'name', autocomplete: 'off', autofocus: true })],
      send: (v) => api.post(api.path('sandboxes', this.sandbox, 'snapshots'), v.name.trim() ? { name: v.name.trim() } : {}) });
    if (made) note(`Snapshot ${made.name || made.snapshot_id} is made: ${format.bytes(made.bytes)}.`, { kind: 'good' });
  }

  #cast(t) {
    const title = say(t.command);
    return h('li', {}, h('button', { type: 'button', class: 'play', 'aria-label': `Play ${title}`, onclick: () => play(this.sandbox, t).catch(fail) }, icon('play')),
      h('span', { class: 'before', title }, title), h('span', { class: 'quiet num' }, format.span(t.duration_ms)), h('time', { class: 'quiet num', datetime: t.started_at, title: format.moment(t.started_at) }, format.clock(t.started_at)),
      h('a', { class: 'quiet', href: api.path('sandboxes', this.sandbox, 'recording', t.exec_id, 'cast'), download: `${t.exec_id}.cast`, title: 'Download as asciicast v2', 'aria-label': `Download ${title} as asciicast` }, icon('down')));
  }
}
customElements.define('cay-timeline', Timeline);
