// SPDX-License-Identifier: Apache-2.0
// The only way from the page to the daemon. A session is a cookie that no script can read; a pasted token is kept in memory alone.

export class ApiError extends Error {
  constructor(status, error = {}) {
    super(error.message || `the daemon answered ${status}`);
    this.status = status;
    this.code = error.code || '';
    this.field = error.field || '';
    this.reason = error.reason || '';
    this.confirm = error.confirm || '';
    this.confirmWhy = error.confirm_why || '';
    this.requestId = error.request_id || '';
  }
}

/** It is not there (any more), or not for us; too many requests, or no answer at all, say nothing of it. */
export const isRefused = (e) => e.status >= 400 && e.status < 500 && e.status !== 429;

export const events = new EventTarget(); // 'signed-out'; 'up' and 'down': whether the daemon answers
let token = '';
let isUp = true;

/** Who is signed in, as the daemon says: {owner, scope, credential}. app.js sets it. */
export const session = { owner: '', scope: '' };
const SCOPES = ['read', 'exec', 'admin'];
/** Whether the session may do what needs this scope: what it may not is not offered. */
export function may(scope) { return SCOPES.indexOf(session.scope) >= SCOPES.indexOf(scope); }

export function setToken(text) { token = text; }
export function hasToken() { return token !== ''; }

function tell(up) {
  if (up === isUp) return;
  isUp = up;
  events.dispatchEvent(new Event(up ? 'up' : 'down'));
}

function headers(more = {}) {
  return token ? { Authorization: `Bearer ${token}`, ...more } : more;
}

export function path(...parts) {
  return `/api/${parts.map((p) => encodeURIComponent(p)).join('/')}`;
}

async function problem(answer) {
  let error = {};
  try { error = (await answer.json()).error || {}; } catch { /* not from the daemon: the status has to do */ }
  if (answer.status === 401) events.dispatchEvent(new Event('signed-out'));
  return new ApiError(answer.status, error);
}

/** The answer itself, for bytes and streams. */
export async function ask(method, url, { body, bytes, signal, accept } = {}) {
  const more = {};
  if (body !== undefined) more['Content-Type'] = 'application/json';
  if (accept) more.Accept = accept;
  let answer;
  try {
    answer = await fetch(url, { method, headers: headers(more), signal, body: body !== undefined ? JSON.stringify(body) : bytes });
  } catch (e) {
    if (e.name !== 'AbortError') tell(false);
    throw e;
  }
  tell(true);
  if (!answer.ok) throw await problem(answer);
  return answer;
}

/** A body that is sent with its progress told: each(bytes sent, of so many). `signal` ends it. */
export function upload(method, url, bytes, each, signal) {
  return new Promise((resolve, reject) => {
    const x = new XMLHttpRequest();
    x.open(method, url);
    for (const [name, value] of Object.entries(headers())) x.setRequestHeader(name, value);
    x.upload.addEventListener('progress', (e) => each(e.loaded, e.lengthComputable ? e.total : bytes.size));
    x.addEventListener('load', () => {
      let said = {};
      try { said = JSON.parse(x.responseText); } catch { /* the status has to do */ }
      if (x.status < 300) resolve(said);
      else reject(new ApiError(x.status, said.error));
    });
    x.addEventListener('error', () => reject(new TypeError('no answer')));
    x.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError')));
    signal?.addEventListener('abort', () => x.abort());
    x.send(bytes);
  });
}

export async function call(method, url, body, more = {}) {
  const answer = await ask(method, url, { body, ...more });
  const text = await answer.text();
  return text ? JSON.parse(text) : {};
}

export const get = (url, more) => call('GET', url, undefined, more);
export const post = (url, body = {}, more) => call('POST', url, body, more);

/** One call of each() per line; pieces are handed over between frames, so that a flood of them leaves the page alive. */
export async function lines(answer, each) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const parts = (rest + value).split('\n');
    rest = parts.pop();
    for (const line of parts) if (line.trim()) each(JSON.parse(line));
    if (parts.length > 200) await new Promise((r) => { setTimeout(r); });
  }
  if (rest.trim()) each(JSON.parse(rest));
}

export async function stream(method, url, body, each, signal) {
  await lines(await ask(method, url, { body, signal, accept: 'application/x-ndjson' }), each);
}

/** What a person is told about whatever was thrown. */
export function words(e) {
  if (e instanceof ApiError) return e.message;
  return e.name === 'TypeError' ? 'The daemon is not answering.' : String(e.message || e);
}
