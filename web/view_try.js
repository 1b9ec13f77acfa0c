// SPDX-License-Identifier: Apache-2.0
// A message with code in it: the daemon says what it asks for and why (intent_detect), and what is to run runs in a sandbox of its own
// (code_run), line by line.
import { h, button, icon } from './dom.js';
import * as api from './api.js';
import { postConfirmed } from './dialogs.js';
import { Output } from './output.js';
import * as format from './format.js';

const EXAMPLES = [
  { title: 'Run some Python', about: 'and see its stack trace', text: 'Please run this:\n\n```python\nimport platform\nfor i in range(3):\n    print(i, platform.machine())\nprint(1 / 0)\n```\n' },
  { title: 'Explain, not run', about: 'the detector knows the difference', text: 'What does this do?\n\n```bash\nfind . -name "*.o" -delete\n```\n' },
  { title: 'Look around', about: 'where does the code run?', text: 'Run this and show me what it prints:\n\n```sh\nid; uname -a; ls -l /; cat /proc/self/cgroup\n```\n' },
];

/** A message as people write them: words, and code between fences. */
function showMessage(text) {
  return text.split(/^```[^\n]*\n([\s\S]*?)^```[ \t]*$/m).map((part, i) => part.trim() && h('pre', { class: i % 2 ? 'code' : null }, i % 2 ? part.replace(/\n$/, '') : part.trim()));
}

/** The first fenced block, for daemons without a detector and for "run it anyway". */
export function firstBlock(text) {
  const found = /^```[ \t]*([\w+#.-]*)[^\n]*\n([\s\S]*?)^```/m.exec(text);
  return found ? { language: found[1].toLowerCase(), text: found[2] } : null;
}

class Try extends HTMLElement {
  off = new AbortController();

  connectedCallback() {
    this.log = h('div', { class: 'chat', 'aria-label': 'Conversation' },
      h('div', { class: 'empty' }, icon('chat'), h('h2', {}, 'Paste a message with a code block'), h('p', {}, 'The daemon decides whether it asks for running, says why, and runs it in a fresh sandbox that is gone afterwards.'),
        h('div', { class: 'examples' }, EXAMPLES.map((e) => h('button', { type: 'button', onclick: () => { this.text.value = e.text; this.text.focus(); } }, e.title, h('span', { class: 'quiet' }, e.about))))));
    this.text = h('textarea', { id: 'message', rows: 4, class: 'code', 'aria-label': 'Message', placeholder: 'A message with a code block between ```', onkeydown: (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) this.#send(); } });
    this.append(h('div', { class: 'bar' }, h('h1', {}, 'Try it')), this.log,
      h('form', { class: 'composer', onsubmit: (e) => { e.preventDefault(); this.#send(); } }, h('div', { class: 'card' }, this.text,
        h('div', { class: 'row' }, h('span', { class: 'quiet small grow' }, h('kbd', {}, 'Ctrl'), ' ', h('kbd', {}, 'Enter'), ' sends'), h('button', { type: 'submit', class: 'primary' }, 'Send')))));
    this.text.focus();
  }

  disconnectedCallback() { this.off.abort(); }

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
    this.#say('you', showMessage(message));
    const block = firstBlock(message);
    let said;
    try {
      said = await api.post('/api/intent', { message });
    } catch (e) {
      const text = e.status === 404 ? 'This daemon has no intent detector.' : api.words(e);
      this.#say('cay', h('p', { class: 'problem' }, text), block && this.#runButton('Run the code block', block, null, message));
      return;
    }
    this.#decide(said, block, message);
  }

  #decide(said, block, message) {
    const code = said.code || block;
    const asks = said.decision === 'run' && said.needs_confirm && !said.obstacle;
    this.#say('cay', h('p', { class: 'decision' }, h('span', { class: `state ${said.execute ? 'ready' : 'stopped'}` }, said.decision), said.reason,
      h('span', { class: 'quiet' }, `${said.confidence} % sure`)),
    said.obstacle && h('p', { class: 'problem' }, said.obstacle),
    said.template && h('p', { class: 'quiet' }, `Template ${said.template.name}, by its ${said.template.matched_by}`),
    said.danger && h('p', { class: 'problem' }, said.danger.where === 'code' ? `The code ${said.danger.what}: ` : 'The message speaks of destruction or of production: ', h('code', {}, said.danger.text)),
    !said.execute && !asks && code && this.#runButton('Run it anyway', code, said, message));
    if (said.execute || asks) this.#run(code, said, message);
  }

  #runButton(label, code, said, message) {
    const el = button(label, { onclick: () => { el.disabled = true; this.#run(code, said, message); } }, 'play');
    return el;
  }

  async #run(code, said, message) {
    const out = new Output();
    const head = h('p', { class: 'quiet', role: 'status' }, 'Making a sandbox…');
    const end = h('p', { class: 'verdict', role: 'status' });
    const halt = new AbortController();
    const stop = button('Stop', { class: 'danger', onclick: () => halt.abort() }, 'stop');
    this.#say('cay run', head, out.el, end, stop);
    const body = { code: code.text, stream: true, from_message: message };
    if (code.language) body.language = code.language;
    if (said?.template) body.template = said.template.name;
    try {
      const done = await postConfirmed('/api/run', body, (b) => api.stream('POST', '/api/run', b, (e) => this.#event(e, head, out, end), AbortSignal.any([halt.signal, this.off.signal])).then(() => true));
      if (!done) end.textContent = 'Not run: it was not confirmed.';
    } catch (e) {
      end.replaceChildren(h('span', { class: 'state error' }, 'not run'), ` ${e.name === 'AbortError' ? 'Stopped: its sandbox is destroyed.' : api.words(e)}`);
    }
    stop.remove();
  }

  #event(e, head, out, end) {
    if (out.event(e)) return;
    if (e.event === 'started') {
      head.textContent = `Started ${e.started_at ? format.clock(e.started_at) : ''} in ${e.sandbox_id || 'a sandbox'}`;
    } else if (e.event === 'exited') {
      const good = e.exit_code === 0;
      end.replaceChildren(h('span', { class: `state ${good ? 'ready' : 'error'}` }, e.exit_code !== null && e.exit_code !== undefined ? `exit ${e.exit_code}` : e.signal || e.cause),
        h('span', { class: 'quiet num' }, `${format.span((e.wall_us ?? 0) / 1000)} · processor ${format.span((e.cpu_us ?? 0) / 1000)}`),
        e.cause && e.cause !== 'exited' ? h('span', { class: 'cause' }, `${e.cause_text} ${e.advice}`) : '');
      end.scrollIntoView({ block: 'end' });
    } else if (e.event === 'error') {
      end.textContent = e.message;
    }
  }
}
customElements.define('cay-try', Try);
