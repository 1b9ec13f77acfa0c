// SPDX-License-Identifier: Apache-2.0
// Files of a sandbox: look, drop to upload, download, edit small texts.
import { h, button, iconButton, icon, keepRows, setChildren } from './dom.js';
import * as api from './api.js';
import { ask, fail, note } from './dialogs.js';
import * as format from './format.js';

const EDIT_MAX = 256 * 1024;

const join = (dir, name) => `${dir === '/' ? '' : dir}/${name}`;
const parent = (dir) => dir.replace(/\/[^/]*$/, '') || '/';

class Files extends HTMLElement {
  rows = new Map(); // by path, see keepRows
  shows = 0;

  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.base = api.path('sandboxes', this.sandbox, 'files');
    this.crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Folder' });
    this.list = h('ul', { class: 'files', 'aria-label': 'Files' });
    this.pick = h('input', { type: 'file', multiple: true, hidden: true, onchange: () => this.#upload(this.pick.files) });
    this.append(h('div', { class: 'bar small' }, this.crumbs, h('span', { class: 'grow' }),
      button('Upload', { onclick: () => this.pick.click() }, 'up'), button('New folder', { onclick: () => this.#mkdir() }, 'folder'),
      iconButton('Read again', 'refresh', { onclick: () => this.show(this.#here()) }), this.pick), this.list,
    h('p', { class: 'quiet drop-hint' }, 'Drop files here to upload them into this folder.'));
    for (const kind of ['dragenter', 'dragover']) this.addEventListener(kind, (e) => { e.preventDefault(); this.classList.add('dropping'); });
    this.addEventListener('dragleave', (e) => { if (!this.contains(e.relatedTarget)) this.classList.remove('dropping'); });
    this.addEventListener('drop', (e) => { e.preventDefault(); this.classList.remove('dropping'); this.#upload(e.dataTransfer.files); });
    this.first = this.show(this.#here());
  }

  /** Where to begin, until a folder is shown. */
  #here() { return this.folder || '/workspace'; }
  #url(file, more = '') { return `${this.base}?path=${encodeURIComponent(file)}${more}`; }

  /** Only the folder that was asked for last is shown, however late the others answer. */
  async show(dir) {
    this.shows += 1;
    const mine = this.shows;
    let answer;
    try {
      answer = await api.get(`${this.base}/list?path=${encodeURIComponent(dir)}`);
      if (mine !== this.shows) return;
    } catch (e) {
      if (mine !== this.shows) return;
      if (dir === '/workspace' && e.status === 404) await this.show('/');
      else if (!this.folder) this.list.replaceChildren(h('li', { class: 'empty' }, api.words(e)));
      else fail(e);
      return;
    }
    if (this.folder !== dir) this.#enter(dir);
    const entries = answer.entries.sort((a, b) => (b.type === 'folder' || b.type === 'directory') - (a.type === 'folder' || a.type === 'directory') || a.name.localeCompare(b.name));
    const items = this.#draw(entries);
    if (dir !== '/') items.unshift(this.above ??= this.#up());
    if (entries.length === 0) items.push(h('li', { class: 'empty' }, icon('folder'), h('p', {}, 'Nothing in here yet.')));
    if (answer.more) items.push(h('li', { class: 'quiet' }, 'There are more than are shown.'));
    setChildren(this.list, items);
  }

  #enter(dir) {
    this.folder = dir;
    const parts = dir.split('/').filter(Boolean);
    this.crumbs.replaceChildren(h('button', { type: 'button', onclick: () => this.show('/') }, '/'), ...parts.map((p, i) => h('button', { type: 'button', onclick: () => this.show(`/${parts.slice(0, i + 1).join('/')}`) }, p)));
  }

  /** A file that is as it was keeps its row. */
  #draw(entries) {
    this.rows = keepRows(this.rows, entries, (e) => join(this.folder, e.name), (e) => this.#row(e));
    return [...this.rows.values()].map((r) => r.el);
  }

  #up() {
    return h('li', { class: 'folder' }, icon('folder'), h('button', { type: 'button', class: 'link', onclick: () => this.show(parent(this.folder)) }, '..'));
  }

  #row(e) {
    const file = join(this.folder, e.name);
    const isDir = e.type === 'folder' || e.type === 'directory';
    const open = () => (isDir ? this.show(file) : this.#edit(file, e));
    return h('li', { class: isDir ? 'folder' : null }, icon(isDir ? 'folder' : 'file'), h('button', { type: 'button', class: 'link', onclick: open }, e.name),
      h('span', { class: 'quiet num' }, isDir ? '' : format.bytes(e.size)), h('span', { class: 'quiet mode' }, e.mode),
      isDir ? h('span') : iconButton(`Download ${e.name}`, 'down', { onclick: () => this.#download(file, e.name) }),
      iconButton(`Remove ${e.name}`, 'trash', { class: 'danger', onclick: () => this.#remove(file, isDir) }));
  }

  /** A plain link lets the browser write to the disk as bytes come; with a pasted token the page has to fetch them itself. */
  async #download(file, name) {
    const a = h('a', { href: this.#url(file), download: name });
    if (api.hasToken()) {
      try {
        a.href = URL.createObjectURL(await (await api.ask('GET', this.#url(file))).blob());
      } catch (e) { fail(e); return; }
    }
    document.body.append(a);
    a.click();
    a.remove();
  }

  async #upload(files) {
    const all = [...files];
    this.pick.value = '';
    await this.first;
    const folder = this.#here(); // this one, whatever is looked at meanwhile
    for (const f of all) {
      try {
        await api.ask('PUT', this.#url(join(folder, f.name)), { bytes: f });
        note(`${f.name} is in ${folder}.`, { kind: 'good' });
      } catch (e) { fail(e); }
    }
    this.show(this.#here());
  }

  async #mkdir() {
    const given = await ask({ title: 'New folder', yes: 'Make it', fields: [h('label', { for: 'folder' }, 'Name'), h('input', { id: 'folder', name: 'folder', required: true, autofocus: true })] });
    if (!given) return;
    await api.post(`${this.base}/mkdir`, { path: join(this.#here(), given.folder) }).catch(fail);
    this.show(this.#here());
  }

  async #remove(file, isDir) {
    const yes = await ask({ title: `Remove ${file}?`, text: isDir ? 'The folder and everything in it go. This cannot be undone.' : 'This cannot be undone.', yes: 'Remove', danger: true });
    if (!yes) return;
    await api.call('DELETE', this.#url(file, isDir ? '&recursive=true' : '')).catch(fail);
    this.show(this.#here());
  }

  /** One at a time, until it is saved: what a second click would read is older than that. */
  async #edit(file, e) {
    if (e.size > EDIT_MAX || (e.type !== 'file' && e.type !== 'regular')) { this.#download(file, e.name); return; }
    if (this.editing) return;
    this.editing = true;
    try { await this.#editText(file, e); } finally { this.editing = false; }
  }

  async #editText(file, e) {
    let text;
    try {
      const bytes = await (await api.ask('GET', this.#url(file))).arrayBuffer();
      text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (problem) {
      if (problem instanceof api.ApiError) fail(problem);
      else this.#download(file, e.name); // not a text
      return;
    }
    const given = await ask({ title: file, yes: 'Save', fields: [h('textarea', { name: 'text', class: 'code', rows: 18, spellcheck: 'false', 'aria-label': `Text of ${file}`, autofocus: true, value: text })] });
    if (!given) return;
    try {
      await api.ask('PUT', this.#url(file), { bytes: given.text.replaceAll('\r\n', '\n') });
      note(`${file} is saved.`, { kind: 'good' });
    } catch (problem) { fail(problem); }
    this.show(this.#here());
  }
}
customElements.define('cay-files', Files);
