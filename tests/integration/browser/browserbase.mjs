// SPDX-License-Identifier: Apache-2.0
// The stock SDK of Browserbase with Playwright and Puppeteer: browserbase.mjs STEP…; BASE and KEY say where and as whom.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(process.env.CAY_BROWSER_NPM + '/');
const { chromium } = require('playwright-core');
const puppeteer = require('puppeteer-core');
const { Browserbase, toFile, AuthenticationError, NotFoundError, BadRequestError, APIError } =
  require('@browserbasehq/sdk');
const bb = new Browserbase({ apiKey: process.env.KEY, baseURL: process.env.BASE, maxRetries: 1 });
const PAGE = 'data:text/html,<title>One</title><h1>Hi</h1>';

const connect = session => chromium.connectOverCDP(session.connectUrl);
const status = id => bb.sessions.retrieve(id).then(s => s.status);

// States are waited for, never times.
async function until(what, test) {
  for (let i = 0; i < 600; i++) {
    if (await test()) return;
    await new Promise(done => setTimeout(done, 100));
  }
  throw new Error('did not happen: ' + what);
}

async function fails(promise, kind, code, words) {
  const error = await promise.then(() => assert.fail('was accepted: ' + words), e => e);
  assert.ok(error instanceof kind, `${error.name} ${error.message}`);
  assert.equal(error.status, code, error.message);
  assert.match(error.message, words);
}

// Names and bytes of an archive, by its directory.
function unzip(bytes) {
  const files = {};
  const end = bytes.lastIndexOf(Buffer.from('504b0506', 'hex'));
  assert.ok(end >= 0);
  let at = bytes.readUInt32LE(end + 16);
  for (let i = bytes.readUInt16LE(end + 10); i > 0; i--) {
    const [size, name, extra, comment] = [bytes.readUInt32LE(at + 20), bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30), bytes.readUInt16LE(at + 32)];
    const head = bytes.readUInt32LE(at + 42), data = head + 30 + bytes.readUInt16LE(head + 26) + bytes.readUInt16LE(head + 28);
    assert.equal(bytes.readUInt16LE(at + 10), 0);
    files[bytes.toString('utf8', at + 46, at + 46 + name)] = bytes.toString('latin1', data, data + size);
    at += 46 + name + extra + comment;
  }
  return files;
}

// One that begins while another is still on its way to be one would take its place.
const download = (page, name, text) => Promise.all([page.waitForEvent('download'), page.evaluate(([n, t]) => {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(new Blob([t]));
  a.download = n;
  a.click();
}, [name, text])]);

// What a person sees who has the address and no account: the page as it is, and its address unless it is left out.
async function sees(url, hasBar) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
  const page = await browser.newPage();
  await page.goto(url);
  await page.waitForSelector('cay-live-screen[data-state=connected]');
  assert.equal(await page.getByLabel('Address').isVisible(), hasBar);
  assert.ok(await page.getByRole('button', { name: 'Take over' }).isVisible());
  if (hasBar) await page.waitForFunction(url => document.querySelector('[aria-label=Address]').value === url, PAGE);
  await browser.close();
}

// In a frame of a page of allow_origins, and in none of another's.
async function framed(url) {
  const args = ['--no-sandbox', '--disable-features=LocalNetworkAccessChecks']; // the daemon is at 127.0.0.1
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args });
  for (const [origin, may] of [['http://app.test', true], ['http://other.test', false]]) {
    const page = await browser.newPage();
    await page.route(origin + '/**', r => r.fulfill({ contentType: 'text/html', body: `<iframe src="${url}" width=800 height=600></iframe>` }));
    const refused = new Promise(done => page.on('console', m => /frame-ancestors/.test(m.text()) && done()));
    await page.goto(origin + '/');
    if (may) await page.frameLocator('iframe').locator('cay-live-screen[data-state=connected]').waitFor();
    else await refused;
  }
  await browser.close();
}

const steps = {
  // A session from its beginning to its end, as the SDK's own example has it.
  async life() {
    const session = await bb.sessions.create({ projectId: 'some-project', region: 'eu-central-1', api_timeout: 600,
      userMetadata: { who: 'ada', nested: { n: [1, null] } }, browserSettings: { viewport: { width: 900, height: 700 } } });
    assert.match(session.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.deepEqual([session.status, session.projectId, session.region, session.keepAlive, session.proxyBytes],
      ['RUNNING', 'some-project', 'eu-central-1', false, 0]);
    assert.deepEqual(session.userMetadata, { who: 'ada', nested: { n: [1, null] } });
    assert.ok(session.signingKey && session.connectUrl.includes(session.signingKey));
    for (const at of ['createdAt', 'startedAt', 'updatedAt', 'expiresAt']) assert.match(session[at], /^\d{4}-.*Z$/, at);
    assert.ok(Math.abs(Date.parse(session.expiresAt) - Date.parse(session.startedAt) - 600e3) < 60e3);
    const browser = await connect(session);
    const page = browser.contexts()[0].pages()[0];
    assert.deepEqual(await page.evaluate(() => [innerWidth, innerHeight]), [900, 700]);
    await page.goto(PAGE);
    assert.equal(await page.title(), 'One');
    await page.evaluate(() => console.log('from the page'));
    await page.evaluate(() => fetch('http://127.0.0.1:1/none').catch(() => {}));
    assert.equal(await status(session.id), 'RUNNING');
    const live = await bb.sessions.debug(session.id, { expiresIn: 60 });
    assert.ok(live.wsUrl.startsWith('ws') && live.debuggerUrl.startsWith('http'));
    assert.deepEqual([live.debuggerFullscreenUrl, live.pages[0].debuggerUrl], [live.debuggerUrl + '&navbar=false', live.debuggerUrl]);
    await sees(live.debuggerUrl, true);
    await sees(live.debuggerFullscreenUrl, false);
    await sees(live.debuggerFullscreenUrl + '&navbar=false', false); // as examples append it
    await framed(live.debuggerFullscreenUrl);
    assert.deepEqual(live.pages.map(p => [p.url, typeof p.id, typeof p.debuggerUrl, p.title, p.faviconUrl]), [[PAGE, 'string', 'string', 'One', '']]);
    const other = await chromium.connectOverCDP(live.wsUrl);
    assert.equal(await other.contexts()[0].pages()[0].title(), 'One');
    await other.close();
    assert.deepEqual((await bb.sessions.list({ q: "user_metadata['who']:'ada'" })).map(s => s.id), [session.id]);
    assert.deepEqual(await bb.sessions.list({ q: "user_metadata['who']:'eve'" }), []);
    assert.deepEqual((await bb.sessions.list({ status: 'RUNNING' })).map(s => s.id), [session.id]);
    await download(page, 'sample.txt', 'first');
    await download(page, 'sample.txt', 'second ☕');
    await until('two downloads', async () => Object.keys(unzip(Buffer.from(await (await bb.sessions.downloads.list(session.id)).arrayBuffer()))).length === 2);
    await browser.close(); // the last client
    await until('its end', async () => await status(session.id) === 'COMPLETED');
    const ended = await bb.sessions.retrieve(session.id);
    assert.ok(ended.endedAt && !ended.connectUrl);
    assert.deepEqual((await bb.sessions.list({ status: 'COMPLETED' })).map(s => s.id), [session.id]);
    await assert.rejects(connect(session), /404|has ended/);
    const files = unzip(Buffer.from(await (await bb.sessions.downloads.list(session.id)).arrayBuffer()));
    assert.deepEqual(files, { 'sample.txt': 'first', 'sample (2).txt': Buffer.from('second ☕').toString('latin1') });
    const logs = await bb.sessions.logs.list(session.id);
    const methods = new Set(logs.map(l => l.method));
    for (const m of ['Network.requestWillBeSent', 'Network.loadingFailed', 'Runtime.consoleAPICalled']) assert.ok(methods.has(m), [...methods] + '');
    assert.ok(logs.every(l => l.sessionId === session.id && Number.isInteger(l.pageId) && (l.request ?? l.response).rawBody));
    assert.ok(logs.every((l, i) => i === 0 || logs[i - 1].timestamp <= l.timestamp));
    assert.ok(logs.some(l => l.request?.params.text === 'from the page'));
    await fails(bb.sessions.debug(session.id), APIError, 410, /has ended/);
    await fails(bb.sessions.uploads.create(session.id, { file: await toFile(Buffer.from('x'), 'x.txt') }), APIError, 410, /has ended/);
    const again = await bb.sessions.update(session.id, { status: 'REQUEST_RELEASE' });
    assert.equal(again.status, 'COMPLETED');
  },

  async keep_alive() {
    const session = await bb.sessions.create({ keepAlive: true });
    assert.ok(session.keepAlive);
    const one = await connect(session);
    await one.contexts()[0].pages()[0].goto(PAGE);
    await one.close();
    const two = await connect(session);
    assert.equal(await two.contexts()[0].pages()[0].title(), 'One');
    const gone = new Promise(done => two.on('disconnected', done));
    const released = await bb.sessions.update(session.id, { status: 'REQUEST_RELEASE', projectId: 'p' });
    assert.equal(released.status, 'COMPLETED');
    await gone;
    const empty = Buffer.from(await (await bb.sessions.downloads.list(session.id)).arrayBuffer());
    assert.equal(empty.length, 22);
  },

  // Puppeteer's close ends the browser itself.
  async puppeteer() {
    const session = await bb.sessions.create();
    const browser = await puppeteer.connect({ browserWSEndpoint: session.connectUrl });
    const [page] = await browser.pages();
    await page.goto(PAGE);
    assert.equal(await page.title(), 'One');
    await browser.close();
    await until('its end', async () => await status(session.id) === 'COMPLETED');
  },

  async uploads() {
    const session = await bb.sessions.create({});
    const browser = await connect(session);
    const page = browser.contexts()[0].pages()[0];
    const large = Buffer.alloc(3 << 20, 'x');
    assert.match((await bb.sessions.uploads.create(session.id, { file: await toFile(Buffer.from('sent ☕'), 'dir/a b.txt') })).message, /success/);
    await bb.sessions.uploads.create(session.id, { file: await toFile(large, 'large.bin') });
    await page.setContent('<input type=file multiple>');
    const cdp = await page.context().newCDPSession(page);
    const { root } = await cdp.send('DOM.getDocument');
    const { nodeId } = await cdp.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'input' });
    await cdp.send('DOM.setFileInputFiles', { nodeId, files: ['/tmp/.uploads/a b.txt', '/tmp/.uploads/large.bin'] });
    assert.deepEqual(await page.evaluate(async () => {
      const [a, b] = document.querySelector('input').files;
      return [await a.text(), b.size];
    }), ['sent ☕', large.length]);
    await fails(bb.sessions.uploads.create(session.id, { file: await toFile(Buffer.from('x'), '..') }), BadRequestError, 400, /name/);
    const cut = await fetch(`${process.env.BASE}/v1/sessions/${session.id}/uploads`, { method: 'POST', body: '--b\r\nContent-Disposition: form-data; name="file"; filename="cut.txt"\r\n\r\nhalf',
      headers: { 'X-BB-API-Key': process.env.KEY, 'Content-Type': 'multipart/form-data; boundary=b' } });
    assert.deepEqual([cut.status, (await cut.json()).message], [400, 'the form is cut: its last delimiter is missing']);
    await browser.close();
  },

  // What a context keeps, and what it does not. The pages are those of PORT's server in the sandbox: there is none, so requests are answered here.
  async contexts() {
    const context = await bb.contexts.create({ projectId: 'p', name: 'n' });
    assert.match(context.id, /^[0-9a-f-]{36}$/);
    assert.deepEqual([context.cipherAlgorithm, context.initializationVectorSize], ['AES-256-CBC', 16]);
    assert.equal((await bb.contexts.retrieve(context.id)).id, context.id);
    assert.equal((await bb.contexts.update(context.id)).id, context.id);
    const visit = async (persist, work, end = 'client') => {
      const session = await bb.sessions.create({ browserSettings: { context: { id: context.id, persist } } });
      assert.equal(session.contextId, context.id);
      const browser = await connect(session);
      const page = browser.contexts()[0].pages()[0];
      await page.route('**/*', r => r.fulfill({ contentType: 'text/html', body: '<title>site</title>' }));
      await page.goto('http://site.test/');
      const got = await page.evaluate(work);
      const cookies = (await browser.contexts()[0].cookies()).map(c => `${c.name} ${c.domain}`).sort();
      if (end === 'client') await browser.close();
      else await bb.sessions.update(session.id, { status: 'REQUEST_RELEASE' });
      await until('its end', async () => await status(session.id) !== 'RUNNING');
      assert.equal(await status(session.id), 'COMPLETED');
      return [got, cookies];
    };
    const write = () => { document.cookie = 'kept=1; max-age=9999'; document.cookie = 'login=2'; document.cookie = 'wide=3; domain=site.test'; localStorage.basket = 'tea'; return localStorage.length; };
    const read = () => [document.cookie.split('; ').sort().join(' '), localStorage.basket ?? null];
    await visit(true, write);
    const all = [['kept=1 login=2 wide=3', 'tea'], ['kept site.test', 'login site.test', 'wide .site.test']];
    assert.deepEqual(await visit(true, read, 'release'), all);
    assert.deepEqual(await visit(false, read), all);
    await visit(false, () => { localStorage.basket = 'coffee'; document.cookie = 'kept=9; max-age=9999'; });
    assert.deepEqual(await visit(true, read), all); // what a session that does not persist wrote is gone
    const holder = await bb.sessions.create({ keepAlive: true, browserSettings: { context: { id: context.id, persist: true } } });
    await fails(bb.sessions.create({ browserSettings: { context: { id: context.id, persist: true } } }), APIError, 409, /another browser uses this profile/);
    await fails(bb.contexts.delete(context.id), APIError, 409, /release it first/);
    await bb.sessions.update(holder.id, { status: 'REQUEST_RELEASE' });
    console.log('context', context.id);
    if (process.env.KEEP_CONTEXT) return;
    await bb.contexts.delete(context.id);
    await fails(bb.contexts.retrieve(context.id), NotFoundError, 404, /does not exist/);
    await fails(bb.contexts.delete(context.id), NotFoundError, 404, /does not exist/);
    await fails(bb.sessions.create({ browserSettings: { context: { id: context.id } } }), NotFoundError, 404, /context .* does not exist/);
  },

  // After a restart of the daemon.
  async context_again() {
    const id = process.env.KEEP_CONTEXT;
    const session = await bb.sessions.create({ browserSettings: { context: { id } } });
    const browser = await connect(session);
    const page = browser.contexts()[0].pages()[0];
    await page.route('**/*', r => r.fulfill({ contentType: 'text/html', body: '<title>site</title>' }));
    await page.goto('http://site.test/');
    assert.equal(await page.evaluate(() => localStorage.basket), 'tea');
    await browser.close();
    await until('its end', async () => await status(session.id) === 'COMPLETED');
    await bb.contexts.delete(id);
  },

  async projects() {
    const [project] = await bb.projects.list();
    assert.ok(project.id && project.name && project.concurrency > 0 && project.defaultTimeout > 0 && project.createdAt);
    assert.deepEqual(await bb.projects.retrieve(project.id), project);
    const usage = await bb.projects.usage(project.id);
    assert.ok(Number.isInteger(usage.browserMinutes) && usage.proxyBytes === 0);
    await fails(bb.projects.retrieve('other'), NotFoundError, 404, /yours is/);
    await fails(bb.projects.usage('other'), NotFoundError, 404, /yours is/);
  },

  // What is refused, and how a caller is told.
  async errors() {
    const none = '00000000-0000-4000-8000-000000000000';
    const settings = (browserSettings, words) => fails(bb.sessions.create({ browserSettings }), BadRequestError, 400, words);
    await fails(bb.sessions.create({ api_timeout: 59, keepAlive: false }), BadRequestError, 400, /timeout: must be from 60/);
    await fails(bb.sessions.create({ api_timeout: 21601, keepAlive: false }), BadRequestError, 400, /timeout/);
    await fails(bb.sessions.create({ region: 'mars' }), BadRequestError, 400, /region/);
    await fails(bb.sessions.create({ proxies: true }), BadRequestError, 400, /proxies/);
    await fails(bb.sessions.create({ proxies: [{ type: 'browserbase' }] }), BadRequestError, 400, /proxies/);
    await fails(bb.sessions.create({ extensionId: none }), BadRequestError, 400, /extensions are not supported/);
    await settings({ solveCaptchas: true }, /captchas/);
    await settings({ advancedStealth: true }, /stealth/);
    await settings({ verified: true }, /verified/);
    await settings({ blockAds: true }, /advertisements/);
    await settings({ os: 'windows' }, /linux/);
    await settings({ viewport: { width: 5, height: 5 } }, /viewport/);
    await settings({ context: { id: 'nope' } }, /context/);
    await settings({ allowedDomains: ['not a domain'] }, /allow/);
    const some = await toFile(Buffer.from('x'), 'x.zip');
    for (const call of [() => bb.sessions.retrieve(none), () => bb.sessions.update(none, { status: 'REQUEST_RELEASE' }), () => bb.sessions.debug(none), () => bb.sessions.logs.list(none),
      () => bb.sessions.downloads.list(none), () => bb.sessions.uploads.create(none, { file: some }), () => bb.sessions.retrieve('no-uuid')])
      await fails(call(), NotFoundError, 404, /does not exist/);
    await fails(bb.sessions.update(none, { status: 'OTHER' }), BadRequestError, 400, /REQUEST_RELEASE/);
    await fails(bb.sessions.list({ status: 'OTHER' }), BadRequestError, 400, /status/);
    await fails(bb.sessions.list({ q: 'anything' }), BadRequestError, 400, /user_metadata/);
    await fails(bb.sessions.recording.retrieve(none), NotFoundError, 404, /does not exist/);
    for (const call of [() => bb.sessions.recording.downloads.create(none), () => bb.sessions.recording.downloads.list(none),
      () => bb.sessions.replays.retrieve(none), () => bb.sessions.replays.retrievePage(none, '0'), () => bb.extensions.create({ file: some }),
      () => bb.extensions.retrieve(none), () => bb.extensions.delete(none), () => bb.fetchAPI.create({ url: 'http://a/' })])
      await fails(call(), APIError, 501, /no videos|not supported/);
    const bad = new Browserbase({ apiKey: 'nobody', baseURL: process.env.BASE, maxRetries: 0 });
    await fails(bad.sessions.list(), AuthenticationError, 401, /X-BB-API-Key/);
    await fails(bad.sessions.create(), AuthenticationError, 401, /cay key make/);
    if (process.env.OTHER_KEY) { // another owner's
      const other = new Browserbase({ apiKey: process.env.OTHER_KEY, baseURL: process.env.BASE, maxRetries: 0 });
      const mine = await bb.sessions.create({ keepAlive: true });
      await fails(other.sessions.retrieve(mine.id), NotFoundError, 404, /does not exist/);
      assert.deepEqual(await other.sessions.list(), []);
      await bb.sessions.update(mine.id, { status: 'REQUEST_RELEASE' });
    }
  },

  // What was shown, as events of rrweb; a recording does not keep a session alive.
  async recording() {
    const session = await bb.sessions.create({ browserSettings: { recordSession: true, viewport: { width: 640, height: 480 } } });
    const browser = await connect(session);
    const page = browser.contexts()[0].pages()[0];
    await page.goto(PAGE);
    const frames = async () => (await bb.sessions.recording.retrieve(session.id)).filter(e => e.type === 2 || (e.type === 3 && e.data.source === 0)).length;
    await until('a frame', async () => await frames() > 0);
    const before = await frames();
    await page.mouse.click(30, 40);
    await page.evaluate(() => { document.body.style.background = 'red'; });
    await until('another one', async () => await frames() > before); // of a recording that is under way
    await browser.close();
    await until('its end', async () => await status(session.id) === 'COMPLETED');
    const events = await bb.sessions.recording.retrieve(session.id);
    assert.deepEqual(events.slice(0, 2).map(e => e.type), [4, 2]);
    assert.deepEqual([events[0].data.width, events[0].data.height, typeof events[0].data.href], [640, 480, 'string']);
    assert.ok(events.every((e, i) => e.sessionId === session.id && (i === 0 || events[i - 1].timestamp <= e.timestamp)));
    assert.ok(Math.abs(events[0].timestamp - Date.parse(session.startedAt)) < 60e3);
    const picture = n => n.tagName === 'img' ? n : (n.childNodes ?? []).map(picture).find(Boolean);
    const sources = events.flatMap(e => e.type === 2 ? [picture(e.data.node).attributes.src] : e.type === 3 && e.data.source === 0 ? e.data.attributes.map(a => a.attributes.src) : []);
    assert.ok(sources.length > 1 && sources.every(s => s.startsWith('data:image/jpeg;base64,/9j/')));
    assert.ok(events.some(e => e.data.source === 1 && e.data.positions[0].x === 30 && e.data.positions[0].y === 40));
    await fails(bb.sessions.recording.downloads.list(session.id), APIError, 501, /no videos/);
    const other = await bb.sessions.create({ keepAlive: true });
    assert.deepEqual(await bb.sessions.recording.retrieve(other.id), []);
    await bb.sessions.update(other.id, { status: 'REQUEST_RELEASE' });
  },

  // More clients than one: the session lives until the last has gone.
  async several() {
    const session = await bb.sessions.create();
    const [one, two] = await Promise.all([connect(session), connect(session)]);
    await one.close();
    const page = two.contexts()[0].pages()[0];
    await page.goto(PAGE);
    await page.waitForTimeout(1500); // longer than the end of a session takes
    assert.equal(await page.title(), 'One');
    await two.close();
    await until('its end', async () => await status(session.id) === 'COMPLETED');
  },

  async times_out() {
    const session = await bb.sessions.create({ api_timeout: 60, keepAlive: true });
    await until('the first minute', async () => await status(session.id) === 'TIMED_OUT').catch(() => {});
    await until('its end', async () => await status(session.id) === 'TIMED_OUT');
  },

  async crash() {
    const session = await bb.sessions.create({ keepAlive: true });
    console.log('session', session.id);
    await until('its end', async () => await status(session.id) === 'ERROR');
  },
};

for (const name of process.argv.slice(2)) {
  await steps[name]();
  console.log('ok', name);
}
process.exit(0);
