// SPDX-License-Identifier: Apache-2.0
// A message with code in it: the daemon says what it asks for and why (intent_detect), and what is to run runs in a sandbox of its own
// (code_run), line by line.
import { h, button } from './dom.js';
import * as api from './api.js';
import { postConfirmed } from './dialogs.js';
import * as format from './format.js';

const SHOWN_MAX = 200000; // characters of output that stay on the page; the beginning goes first
const EXAMPLE = 'Please run this:\n\n```python\nimport platform\nfor i in range(3):\n    print(i, platform.machine())\nprint(1 / 0)\n```\n';

/** The first fenced block, for daemons without a detector and for "run it anyway". */
export function firstBlock(text) {
  const found = /^```[ \t]*([\w+#.-]*)[^\n]*\n([\s\S]*?)^```/m.exec(text);
  return found ? { language: found[1].toLowerCase(), text: found[2] } : null;
}

/** Output that may be endless: drawn once per frame, cut at the front. */
class Output {
  constructor() {
    this.el = h('pre', { class: 'output live', role: 'log', 'aria-label': 'Output', tabindex: 0 });
    this.pending = [];
    this.length = 0;
  }

  add(kind, text) {
    this.pending.push([kind, text]);
    if (!this.frame) this.frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.frame = 0;
    let room = SHOWN_MAX;
    const fresh = [];
    for (let i = this.pending.length - 1; i >= 0 && room > 0; i--) {
      const [kind, text] = this.pending[i];
      const part = text.slice(-room);
      room -= part.length;
      if (fresh.length && fresh[0][0] === kind) fresh[0][1].unshift(part);
      else fresh.unshift([kind, [part]]);
    }
    this.pending = [];
    for (const [kind, parts] of fresh) {
      const text = parts.join('');
      this.length += text.length;
      this.el.append(h('span', { class: kind }, text));
    }
    while (this.length > SHOWN_MAX && this.el.childNodes.length > 1) {
      this.length -= this.el.firstChild.textContent.length;
      this.el.firstChild.remove();
      this.el.dataset.cut = 'true';
    }
    this.el.scrollTop = this.el.scrollHeight;
  }
}

function textOf(e) {
  if (e.text !== undefined && e.text !== null) return e.text;
  return new TextDecoder().decode(Uint8Array.from(atob(e.base64 || ''), (c) => c.charCodeAt(0)));
}

class Try extends HTMLElement {
  connectedCallback() {
    this.log = h('div', { class: 'chat', 'aria-label': 'Conversation' },
      h('div', { class: 'empty' }, h('p', {}, 'Paste a message with a code block. The daemon decides whether it asks for running, says why, and runs it in a fresh sandbox that is gone afterwards.'),
        button('Use an example', { onclick: () => { this.text.value = EXAMPLE; this.text.focus(); } })));
    this.text = h('textarea', { id: 'message', rows: 4, class: 'code', 'aria-label': 'Message', placeholder: 'A message with a code block between ```', onkeydown: (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) this.#send(); } });
    this.append(h('div', { class: 'bar' }, h('h1', {}, 'Try it')), this.log,
      h('form', { class: 'composer', onsubmit: (e) => { e.preventDefault(); this.#send(); } }, this.text,
        h('div', { class: 'row' }, h('span', { class: 'quiet grow' }, 'Ctrl Enter sends'), h('button', { type: 'submit', class: 'primary' }, 'Send'))));
    this.text.focus();
  }

  disconnectedCallback() { this.stop?.abort(); }

  #say(cls, ...what) {
    const el = h('div', { class: `turn ${cls}` }, what);
    this.log.querySelector('.empty')?.remove();
    this.log.append(el);
    el.scrollIntoView({ block: 'end' });
    return el;
  }

  async #send() {
    const message = this.text.value;
    if (!message.trim()) return;
    this.text.value = '';
    this.#say('you', h('pre', {}, message));
    const block = firstBlock(message);
    let said;
    try {
      said = await api.post('/api/intent', { message });
    } catch (e) {
      const text = e.status === 404 ? 'This daemon has no intent detector.' : api.words(e);
      this.#say('cay', h('p', { class: 'problem' }, text), block && this.#runButton('Run the code block', block, null));
      return;
    }
    this.#decide(said, block);
  }

  #decide(said, block) {
    const code = said.code || block;
    this.#say('cay', h('p', { class: 'decision' }, h('span', { class: `state ${said.execute ? 'ready' : 'stopped'}` }, said.decision), ` ${said.reason} `,
      h('span', { class: 'quiet' }, `${said.confidence} % sure`)),
    said.obstacle && h('p', { class: 'problem' }, said.obstacle),
    said.template && h('p', { class: 'quiet' }, `Template ${said.template.name}, by its ${said.template.matched_by}`),
    !said.execute && code && this.#runButton('Run it anyway', code, said));
    if (said.execute) this.#run(code, said);
  }

  #runButton(label, code, said) {
    const el = button(label, { onclick: () => { el.disabled = true; this.#run(code, said); } }, 'play');
    return el;
  }

  async #run(code, said) {
    const out = new Output();
    const head = h('p', { class: 'quiet', role: 'status' }, 'Making a sandbox…');
    const end = h('p', { class: 'verdict', role: 'status' });
    const stop = button('Stop', { class: 'danger', onclick: () => this.stop?.abort() }, 'stop');
    this.#say('cay run', head, out.el, end, stop);
    const body = { code: code.text, stream: true };
    if (code.language) body.language = code.language;
    if (said?.template) body.template = said.template.name;
    this.stop = new AbortController();
    try {
      const done = await postConfirmed('/api/run', body, (b) => api.stream('POST', '/api/run', b, (e) => this.#event(e, head, out, end), this.stop.signal).then(() => true));
      if (!done) end.textContent = 'Not run: it was not confirmed.';
    } catch (e) {
      end.replaceChildren(h('span', { class: 'state error' }, 'not run'), ` ${e.name === 'AbortError' ? 'Stopped: its sandbox is destroyed.' : api.words(e)}`);
    }
    stop.remove();
  }

  #event(e, head, out, end) {
    if (e.event === 'stdout' || e.event === 'stderr') {
      out.add(e.event, textOf(e));
    } else if (e.event === 'started') {
      head.textContent = `Started ${e.started_at ? format.clock(e.started_at) : ''} in ${e.sandbox_id || 'a sandbox'}`;
    } else if (e.event === 'exited') {
      const good = e.exit_code === 0;
      end.replaceChildren(h('span', {}, h('span', { class: `state ${good ? 'ready' : 'error'}` }, e.exit_code !== null && e.exit_code !== undefined ? `exit ${e.exit_code}` : e.signal || e.cause),
        ` ${format.span((e.wall_us ?? 0) / 1000)} · processor ${format.span((e.cpu_us ?? 0) / 1000)}`,
        e.cause && e.cause !== 'exited' && h('span', { class: 'cause' }, ` ${e.cause_text} ${e.advice}`)));
      end.scrollIntoView({ block: 'end' });
    } else if (e.event === 'error') {
      end.textContent = e.message;
    }
  }
}
customElements.define('cay-try', Try);
