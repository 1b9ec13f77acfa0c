// SPDX-License-Identifier: Apache-2.0
// One run of Try it: code, in a sandbox of its own, with its output as it comes and what became of both. It goes on when the view is left.
import { h, button } from './dom.js';
import * as api from './api.js';
import { adviceOf, saidOf } from './cause_words.js';
import { confirmFacts } from './create.js';
import { fail, postConfirmed } from './dialogs.js';
import { Output } from './output.js';
import * as format from './format.js';

const KEEP_IDLE = '10m'; // a kept sandbox that nobody uses ends after this
const SAVED_MAX = 20000; // characters of output that a reload keeps

const link = (id) => h('a', { class: 'button', href: `#/sandbox/${encodeURIComponent(id)}` }, 'Open this sandbox');

export class Run {
  /** code: {text, language}; message: that it came from; template: its name or ''; label: which block it is; keep: its sandbox stays. */
  constructor({ code, message = '', template = '', label = '', keep = false, onEnd = () => {} }) {
    Object.assign(this, { code, message, template, keep, label, onEnd });
    this.out = new Output();
    this.head = h('p', { class: 'quiet', role: 'status' }, 'Creating a sandbox…');
    this.end = h('p', { class: 'verdict', role: 'status' });
    this.after = h('div', { class: 'row after' });
    this.stop = button('Stop', { class: 'danger', onclick: () => this.#halt() }, 'stop');
    this.el = h('div', { class: 'turn cay run' }, label && h('h3', {}, label), this.head, this.out.el, this.end, this.after, this.stop);
    this.halt = new AbortController();
  }

  async go() {
    const body = { code: this.code.text, stream: true, keep: this.keep };
    if (this.code.language) body.language = this.code.language;
    if (this.template) body.template = this.template;
    if (this.message) body.from_message = this.message;
    if (this.keep) body.labels = { from: 'try-it' };
    try {
      const done = await postConfirmed('/api/run', body, {
        send: (b) => api.stream('POST', '/api/run', b, (e) => this.#event(e), this.halt.signal).then(() => true),
        facts: () => confirmFacts({ template: this.template || undefined }), code: this.code.text,
      });
      if (!done) this.#say('stopped', 'not run', 'You did not confirm it.');
      else if (!this.ended) this.#say('error', 'unknown', 'The connection ended before the result arrived.');
    } catch (e) {
      if (e.name === 'AbortError') this.#say('stopped', 'not run', 'Stopped before the code started. Nothing was run.');
      else if (this.sandbox) this.#say('error', 'unknown', `${api.words(e)} The code had started in ${this.sandbox}.`);
      else this.#say('error', 'not run', api.words(e));
    }
    this.stop.remove();
    await this.#settle();
    this.after.scrollIntoView({ block: 'nearest' });
    this.onEnd(this);
  }

  /** Ends the command, not the stream: what became of it is then told as it happened. Before there is one, the request itself is ended. */
  async #halt() {
    this.stop.disabled = true;
    if (!this.exec) {
      this.halt.abort();
      return;
    }
    this.wasStopped = true;
    try {
      await api.call('DELETE', api.path('sandboxes', this.sandbox, 'execs', this.exec));
    } catch (e) {
      this.stop.disabled = false;
      if (!this.ended) fail(e);
    }
  }

  #say(look, word, ...text) {
    this.ended = true;
    this.end.replaceChildren(h('span', { class: `state ${look}` }, word), ' ', ...text);
  }

  #event(e) {
    if (this.out.event(e)) return;
    if (e.event === 'started') {
      this.sandbox = e.sandbox_id;
      this.exec = e.exec_id;
      this.head.textContent = `Started${e.started_at ? ` at ${format.clock(e.started_at)}` : ''} in sandbox ${e.sandbox_id}`;
      if (this.sandbox) this.after.replaceChildren(link(this.sandbox));
    } else if (e.event === 'exited') {
      this.#exited(e);
    } else if (e.event === 'error') {
      this.#say('error', 'failed', e.message);
    }
  }

  #exited(e) {
    const good = e.exit_code === 0;
    const word = this.wasStopped ? 'stopped' : e.exit_code !== null && e.exit_code !== undefined ? `exit ${e.exit_code}` : e.signal || e.cause;
    this.#say(good ? 'ready' : this.wasStopped ? 'stopped' : 'error', word,
      h('span', { class: 'quiet num' }, `${format.span((e.wall_us ?? 0) / 1000)} · processor time ${format.span((e.cpu_us ?? 0) / 1000)}`),
      this.wasStopped ? h('span', {}, 'You stopped it.') : e.cause && e.cause !== 'exited' ? h('span', { class: 'cause' }, `${saidOf(e)} ${adviceOf(e)}`) : format.hasNotRun(e) ? h('span', { class: 'cause' }, saidOf(e)) : '');
    this.end.scrollIntoView({ block: 'nearest' });
  }

  /** Whether its sandbox is still there is asked, not assumed. */
  async #settle() {
    if (!this.sandbox) return;
    let box = null;
    try { box = await api.get(api.path('sandboxes', this.sandbox)); } catch (e) { if (!api.isRefused(e)) return; }
    if (box && this.keep) {
      // It is used by nobody from now on, so it gets an end: the page that made it may never come back.
      const ends = await api.post(api.path('sandboxes', this.sandbox, 'extend'), { idle_timeout: KEEP_IDLE }).then(() => true, () => false);
      this.after.replaceChildren(link(this.sandbox), h('span', { class: 'quiet small' }, ends ? `It is kept until it has not been used for ${KEEP_IDLE.replace('m', ' minutes')}.` : 'It is kept.'));
      return;
    }
    if (box) return; // the link to it stays
    const again = button('Run again and keep the sandbox', { onclick: () => { again.disabled = true; this.onAgain?.(); } }, 'play');
    this.after.replaceChildren(h('span', { class: 'quiet small' }, 'Its sandbox has been destroyed.'), api.may('exec') ? again : '');
  }

  /** For a reload: what was to be seen. */
  saved() {
    const cut = this.keep ? 'The page was reloaded while this ran. The command continues in its sandbox.' : 'The page was reloaded while this ran, which ended it.';
    return { head: this.head.textContent, output: this.out.el.textContent.slice(-SAVED_MAX), verdict: this.ended ? this.end.textContent : cut, label: this.label, sandbox: this.keep ? this.sandbox : '' };
  }
}

/** A run of before a reload. */
export function savedRun(s) {
  return h('div', { class: 'turn cay run' }, s.label && h('h3', {}, s.label), h('p', { class: 'quiet' }, s.head), h('pre', { class: 'output', tabindex: 0, 'aria-label': 'Output' }, s.output), h('p', { class: 'verdict' }, s.verdict),
    s.sandbox && h('div', { class: 'row after' }, link(s.sandbox)));
}
