// SPDX-License-Identifier: Apache-2.0
// A message with code in it: the daemon says what it asks for and why (intent_detect), and what is to run runs in a sandbox of its own
// (code_run), line by line. The conversation stays while the tab is open, also over a reload; signing out ends it.
import { h, button, icon } from './dom.js';
import * as api from './api.js';
import { upperFirst } from './format.js';
import { Notebook } from './notebook.js';
import { Run, savedRun } from './try_run.js';

const EXAMPLES = [
  { title: 'Run some Python', about: 'with an error at the end', text: 'Please run this:\n\n```python\nimport platform\nfor i in range(3):\n    print(i, platform.machine())\nprint(1 / 0)\n```\n' },
  { title: 'Ask about code', about: 'questions do not run it', text: 'What does this do?\n\n```bash\nfind . -name "*.o" -delete\n```\n' },
  { title: 'Look around', about: 'inside a sandbox', text: 'Run this and show me what it prints:\n\n```sh\nid; uname -a; ls -l /; cat /proc/self/cgroup\n```\n' },
];
const DECISIONS = { run: 'run', write: 'write code', explain: 'explain', improve: 'improve', why: 'explain why', none: 'do not run' };
const CHOSEN = { language: 'the language of the code', trigger: 'a trigger in the message', default: 'default' };
const STORED = 'cay-try';
const STORED_MAX = 300000;
const FENCE = /^```[ \t]*([\w+#.-]*)[^\n]*\n([\s\S]*?)^```[ \t]*$/gm;

/** A message as people write them: words, and code between fences. */
function showMessage(text) {
  return text.split(/^```[^\n]*\n([\s\S]*?)^```[ \t]*$/m).map((part, i) => part.trim() && h('pre', { class: i % 2 ? 'code' : null }, i % 2 ? part.replace(/\n$/, '') : part.trim()));
}

/** The fenced blocks of a message. */
export function blocksOf(text) {
  return [...text.matchAll(FENCE)].map(([, language, code]) => ({ language: language.toLowerCase(), text: code }));
}

/** What runs of a message that asks for it: every block that there is; when the daemon counts otherwise, the one that it names. */
function chosen(said, message) {
  const blocks = blocksOf(message);
  if (said.code?.kind === 'fenced' && blocks.length > 1 && blocks.length === said.code.blocks) {
    return blocks.map((b, i) => ({ message, code: i === said.code.block - 1 ? said.code : b, template: i === said.code.block - 1 ? said.template?.name : '', label: `Block ${i + 1} of ${blocks.length}` }));
  }
  const code = said.code || blocks[0];
  return code ? [{ message, code, template: said.template?.name, label: said.code?.blocks > 1 ? `Block ${said.code.block} of ${said.code.blocks}` : '' }] : [];
}

/** The conversation, which outlives the view. Each turn is an element; those that a reload brings back are also data. */
class Conversation {
  log = h('div', { class: 'chat', 'aria-label': 'Conversation' });
  side = h('section', { class: 'outputs', 'aria-label': 'Output', hidden: true }, h('p', { class: 'empty' }, 'The output of code that runs is shown here.'));
  turns = []; // {you} {cay} {run}
  split = localStorage.getItem('cay-split') === '1';

  constructor() {
    let turns = [];
    try { turns = JSON.parse(sessionStorage.getItem(STORED) || '[]'); } catch { /* as if there were none */ }
    for (const t of turns) this.#restore(t);
  }

  #restore(t) {
    if (t.you) this.put(h('div', { class: 'turn you' }, showMessage(t.you)), t);
    else if (t.run) this.put(savedRun(t.run), t, true);
    else if (t.cay) this.put(h('div', { class: 'turn cay' }, t.cay.map((p) => h('p', { class: p.class }, p.text))), t);
  }

  /** A run has its place among the messages, and is shown there or on the side. */
  put(el, turn, isRun = false) {
    this.log.querySelector('.empty')?.remove();
    if (isRun) {
      const marker = h('span', { class: 'marker', hidden: true });
      this.log.append(marker);
      el.marker = marker;
    }
    this.#place(el);
    if (turn) this.turns.push(turn);
    el.scrollIntoView({ block: 'end' });
  }

  #place(el) {
    if (!el.marker) this.log.append(el);
    else if (this.split) this.side.append(el);
    else el.marker.after(el);
  }

  setSplit(on) {
    this.split = on;
    localStorage.setItem('cay-split', on ? '1' : '0');
    for (const el of [...this.log.querySelectorAll('.run'), ...this.side.querySelectorAll('.run')]) this.#place(el);
    this.side.hidden = !on;
  }

  /** What is kept over a reload is bounded: the oldest goes. */
  store() {
    const turns = this.turns.map((t) => (t.live ? { run: t.live.saved() } : t));
    while (turns.length && JSON.stringify(turns).length > STORED_MAX) turns.shift();
    try { sessionStorage.setItem(STORED, JSON.stringify(turns)); } catch { /* there is no room: it lives in this page alone */ }
  }
}

let conversation = null;
let notebook = null;

export function forgetConversation() {
  conversation = null;
  notebook = null;
  sessionStorage.removeItem(STORED);
}
addEventListener('pagehide', () => conversation?.store());

class Try extends HTMLElement {
  connectedCallback() {
    conversation ??= new Conversation();
    const { log, side } = conversation;
    if (!log.firstChild) log.append(this.#welcome());
    this.text = h('textarea', { id: 'message', rows: 4, class: 'code', 'aria-label': 'Message', placeholder: 'Please run this:\n```python\nprint("Hello")\n```', onkeydown: (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) this.#send(); } });
    this.keep = h('input', { type: 'checkbox', id: 'keep-sandbox' });
    this.toggle = button('Split screen', { id: 'split', 'aria-pressed': 'false', title: 'Code on the left, its output on the right', onclick: () => this.#setSplit(!conversation.split) }, 'split');
    this.clear = button('Clear', { class: 'clear', onclick: () => this.#clear() });
    const may = api.may('exec');
    this.mode = button('Notebook', { id: 'notebook', 'aria-pressed': 'false', title: 'Cells of code that share their variables', onclick: () => this.#setNotebook(this.book.hidden) }, 'layers');
    this.append(h('div', { class: 'bar' }, h('h1', {}, 'Try it'), h('span', { class: 'grow' }), may && this.mode, this.clear),
      this.panes = h('div', { class: 'panes' }, h('div', { class: 'left' }, log,
        h('form', { class: 'composer', onsubmit: (e) => { e.preventDefault(); this.#send(); } }, h('div', { class: 'card' }, this.text,
          h('div', { class: 'row' }, may && h('label', { class: 'check', for: 'keep-sandbox' }, this.keep, 'Keep the sandbox'), h('span', { class: 'quiet small grow keys-hint' }, h('kbd', {}, 'Ctrl'), ' ', h('kbd', {}, 'Enter'), ' sends'), this.toggle, h('button', { type: 'submit', class: 'primary' }, 'Send'))))), side));
    this.#setSplit(conversation.split);
    notebook ??= new Notebook();
    this.book = notebook.el;
    this.append(this.book);
    this.#setNotebook(may && localStorage.getItem('cay-notebook') === '1');
    if (this.book.hidden) this.text.focus();
  }

  #setNotebook(on) {
    localStorage.setItem('cay-notebook', on ? '1' : '0');
    this.book.hidden = !on;
    this.panes.hidden = this.clear.hidden = on;
    this.mode.setAttribute('aria-pressed', String(on));
    if (on) notebook.cells[0].text.focus();
  }

  disconnectedCallback() { conversation?.store(); }

  #welcome() {
    return h('div', { class: 'empty' }, icon('chat'), h('h2', {}, 'Paste a message with a code block'), h('p', {}, 'The daemon decides whether the message asks for the code to be run, explains why, and runs it in a new sandbox.'),
      h('div', { class: 'examples' }, EXAMPLES.map((e) => h('button', { type: 'button', onclick: () => { this.text.value = e.text; this.text.focus(); } }, e.title, h('span', { class: 'quiet' }, e.about)))));
  }

  #setSplit(on) {
    conversation.setSplit(on);
    this.classList.toggle('is-split', on);
    this.toggle.setAttribute('aria-pressed', String(on));
  }

  #clear() {
    conversation = null;
    sessionStorage.removeItem(STORED);
    this.replaceChildren();
    this.connectedCallback();
  }

  #say(...what) {
    const el = h('div', { class: 'turn cay' }, what);
    const turn = { cay: [...el.querySelectorAll('p')].map((p) => ({ class: p.className, text: p.textContent })) };
    conversation.put(el, turn);
    return el;
  }

  async #send() {
    const message = this.text.value;
    if (!message.trim()) return;
    this.text.value = '';
    conversation.put(h('div', { class: 'turn you' }, showMessage(message)), { you: message });
    const mine = conversation;
    let said;
    try {
      said = await api.post('/api/intent', { message });
    } catch (e) {
      if (mine === conversation) this.#say(h('p', { class: 'problem' }, api.words(e)), this.#runButton('Run the code', blocksOf(message).map((code, i, all) => ({ code, message, label: all.length > 1 ? `Block ${i + 1} of ${all.length}` : '' }))));
      return;
    }
    if (mine === conversation) this.#decide(said, message);
  }

  #decide(said, message) {
    const runs = chosen(said, message);
    const asks = said.decision === 'run' && said.needs_confirm && !said.obstacle; // it runs once it is confirmed
    const execute = (said.execute || asks) && api.may('exec');
    this.#say(h('p', { class: 'decision' }, h('span', { class: `state ${execute ? 'ready' : 'stopped'}` }, DECISIONS[said.decision] || said.decision), ' ', h('span', {}, upperFirst(said.reason)), ' ',
      h('span', { class: 'quiet' }, `${said.confidence} % confident`)),
    said.obstacle && h('p', { class: 'problem' }, `${upperFirst(said.obstacle)}.`),
    said.execute && !api.may('exec') && h('p', { class: 'quiet' }, 'You are signed in with read access, so it does not run.'),
    said.template && h('p', { class: 'quiet' }, `Template ${said.template.name}, chosen by ${CHOSEN[said.template.matched_by] || said.template.matched_by}${runs.length > 1 ? `. ${runs.length} blocks run one after the other, each in a sandbox of its own.` : ''}`),
    said.danger && h('p', { class: 'problem' }, said.danger.where === 'code' ? `The code ${said.danger.what}: ` : 'The message is about destructive work or production: ', h('code', {}, said.danger.text)),
    !execute && !(said.obstacle && !said.template && said.code?.language) && this.#runButton('Run it anyway', runs));
    if (execute) this.#runAll(runs);
  }

  #runButton(label, runs) {
    if (!api.may('exec') || runs.length === 0) return null;
    const el = button(label, { onclick: () => { el.disabled = true; this.#runAll(runs); } }, 'play');
    return el;
  }

  async #runAll(runs, keep = this.keep.checked) {
    const mine = conversation;
    for (const r of runs) {
      if (mine !== conversation) return;
      const run = new Run({ ...r, keep, onEnd: () => mine.store() });
      run.onAgain = () => this.#runAll([r], true);
      mine.put(run.el, { live: run }, true);
      await run.go();
    }
  }
}
customElements.define('cay-try', Try);
