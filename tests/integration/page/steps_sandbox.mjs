// SPDX-License-Identifier: Apache-2.0
// One sandbox: its terminal (by the page, and by ttyd's own client), files, commands, processes, ports and curves.
import fs from 'node:fs';
import { BASE, check, look, npm, shellIsReady, terminalHasFocus, until } from './page.mjs';

export async function terminal_types_colours_resizes(p) {
  const { tab } = p;
  const box = await p.box({ name: 'terminal-test' });
  await p.terminal(box);
  await p.shell('echo $((6*7))a', /42a/);
  await p.shell("printf '\\033[31mred\\033[0m \\033[38;2;10;200;30mgreen\\033[0m\\n'", /^red green/m);
  const colours = await until('both words drawn', async () => {
    const found = await tab.evaluate(() => [...document.querySelectorAll('.xterm-rows span')].filter((s) => ['red', 'green'].includes(s.textContent)).map((s) => getComputedStyle(s).color));
    return found.length === 2 && found;
  });
  check(colours[1] === 'rgb(10, 200, 30)' && colours[0] !== colours[1], `each in its colour (${colours})`);
  await p.shell('mkdir -p src; for i in 1 2 3; do echo "print($i * 14)" > try$i.py; done; python3 try3.py; ls --color=always -l /; echo all-""made', /^all-made/m);
  await tab.click('button[aria-label="Refresh"]');
  await tab.waitForSelector('.files li:has-text("try3.py")');
  await look(tab, 'sandbox', { phone: false });
  await tab.setViewportSize({ width: 1000, height: 640 });
  const size = () => tab.evaluate(() => { const { term } = document.querySelector('cay-terminal'); return term.cols < 80 ? `${term.rows} ${term.cols}` : null; });
  await until('another size', size);
  for (let i = 0; ; i++) { // it may come in more than one step
    const now = await size();
    const said = await p.shell(`echo try-${i} $(stty size)`, new RegExp(`^try-${i} \\d+ \\d+$`, 'm'));
    if (said.includes(`\ntry-${i} ${now}`)) break;
    check(i < 50, `the shell has the size of the page, ${now}`);
  }
  await tab.setViewportSize({ width: 1280, height: 800 });
  await p.go(`sandbox/${box}?pane=terminal`);
  await p.shell('clear; printf "A phone will do.\\n"; ls --color=always; echo all-""shown', /^all-shown/m);
  await look(tab, 'terminal');
  // The same shell after the page was loaded again.
  await p.shell('MINE=kept; echo is-$MINE', /^is-kept/m);
  await tab.reload();
  await shellIsReady(tab);
  await p.shell('echo $MINE$MINE', /keptkept/);
  await p.destroy(box);
}

/** The page that ttyd itself serves (npm has it as its author publishes it), at the base where it would be: it finds our WebSocket beside it. */
export async function a_stock_ttyd_client_works(p) {
  const box = await p.box({ name: 'ttyd-test' });
  const base = `${BASE}/tty/${box}/`;
  // It draws into an element that the published page lacks.
  const html = fs.readFileSync(npm('ttyd/src/index.html'), 'utf-8').replace('<body>', '<body><div id="test"></div>');
  const tab = await p.tab.context().newPage();
  const said = [];
  tab.on('console', (m) => said.push(m.text()));
  await tab.route(base, (route) => route.fulfill({ contentType: 'text/html', body: html }));
  await tab.route(`${base}auth_token.js`, (route) => route.fulfill({ contentType: 'text/javascript', body: "var tty_auth_token = '';" }));
  await p.tab.context().grantPermissions(['local-network-access']); // a page that came from here is not known to be of this machine
  await tab.goto(base);
  const seen = () => tab.evaluate(() => { const b = window.term?.buffer; return b ? Array.from({ length: b.length }, (_, i) => b.getLine(i).translateToString(true)).join('\n') : ''; });
  await until('ttyd’s client to have a prompt', async () => /[$#] *$/.test((await seen()).trimEnd()));
  await tab.click('.xterm');
  check((await tab.title()) === box, 'the title is what the daemon says');
  await tab.keyboard.type('echo $((6*7))b; stty size\n');
  const size = await tab.evaluate(() => `${window.term.rows} ${window.term.cols}`);
  await until('output in ttyd’s client', async () => { const s = await seen(); return /^42b/m.test(s) && s.includes(size); });
  await tab.evaluate(() => window.term.resize(101, 33)); // the client tells the daemon
  await tab.keyboard.type('stty size; printf "\\303\\244\\342\\202\\254\\n"\n');
  await until('the new size, and UTF-8', async () => { const s = await seen(); return s.includes('33 101') && s.includes('ä€'); });
  await tab.keyboard.type('exit 0\n');
  await until('a close that it takes for the end', () => said.some((t) => t.includes('closed with code: 1000')));
  await tab.close();
  await p.destroy(box);
}

export async function files_upload_download_edit(p) {
  const { tab } = p;
  const box = await p.box({ name: 'files-test' });
  await p.open(box, 'files');
  await tab.waitForSelector('cay-files .crumbs button:text("workspace")');
  const bytes = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7) % 256));
  const drop = await tab.evaluateHandle((list) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(list)], 'dropped.bin'));
    data.items.add(new File(['print("hello")\n'], 'hello.py'));
    return data;
  }, [...bytes]);
  await tab.dispatchEvent('cay-files', 'drop', { dataTransfer: drop });
  await tab.waitForSelector('.files li:has-text("dropped.bin")');
  await tab.waitForSelector('.files li:has-text("hello.py")');
  const [download] = await Promise.all([tab.waitForEvent('download'), tab.click('button[aria-label="Download dropped.bin"]')]);
  check(fs.readFileSync(await download.path()).equals(bytes), 'what comes down is what went up');
  await look(tab, 'files');
  await tab.click('.files button:text("hello.py")');
  await tab.fill('dialog textarea', 'print("changed")\n');
  await look(tab, 'edit');
  await Promise.all([tab.waitForSelector('.note:has-text("saved")'), tab.click('dialog button[type=submit]')]); // it goes by itself: waited for from before
  check((await p.help('run', { box, command: 'python3 hello.py' })).stdout === 'changed\n', 'the edited text is there');
  await tab.click('button[aria-label="Remove dropped.bin"]');
  await tab.click('dialog button[type=submit]');
  await tab.locator('.files li:has-text("dropped.bin")').waitFor({ state: 'detached' });
  await p.destroy(box);
}

export async function activity_processes_ports_charts(p) {
  const { tab } = p;
  const box = await p.box({ name: 'activity-test' });
  await p.help('run', { box, command: 'echo said; exit 3' });
  await p.help('run', { box, command: ['no-such-program'] });
  await p.terminal(box, 'activity');
  const exec = tab.locator('.execs li:has-text("exit 3")');
  await exec.locator('summary').click();
  await exec.locator('pre:has-text("said")').waitFor();
  // What did not start says why, in its row and not only in a tip; events are told in words.
  const unknown = tab.locator('.execs li:has-text("no-such-program")');
  await unknown.locator('summary').click();
  await unknown.locator('.cause:has-text("was not found in the sandbox")').waitFor();
  await tab.waitForSelector('.events li:has-text("Command ended"):has-text("exit 3")');
  check(!/sha256|exec_/.test(await tab.textContent('.events')), 'without what is for programs');
  await look(tab, 'activity');
  await p.shell('head -c 300000 /dev/zero > much; echo served-page > index.html; python3 -m http.server 8000 >/dev/null 2>&1 &', /\[1\]/);
  await tab.click('#tab-processes');
  await tab.waitForSelector('cay-processes td:has-text("http.server")');
  const [popup] = await Promise.all([tab.waitForEvent('popup'), tab.click('button:has-text("Open port 8000")')]);
  await popup.waitForSelector('text=served-page');
  await popup.close();
  await look(tab, 'processes');
  await tab.click('#tab-charts');
  await tab.waitForSelector('cay-charts canvas');
  await tab.waitForSelector('cay-charts figure:has-text("Loopback"):has-text("no network")');
  // What the sandbox says to itself is on the curve.
  await p.shell('while :; do python3 -c "import urllib.request; urllib.request.urlopen(\'http://127.0.0.1:8000/much\').read()"; done &', /\[2\]/);
  await until('traffic on loopback', async () => /no network[\d.]+ [KM]B\/s/.test(await tab.textContent('cay-charts figure:last-child')));
  // What was before is the daemon's to tell: it notes a point now and then, whoever looks.
  await until('a point that the daemon noted', () => tab.evaluate((id) => fetch(`/api/sandboxes/${id}/stats?history=true`).then((r) => r.json()).then((s) => s.history.some((q) => q.memory_bytes > 0)), box));
  await tab.click('[data-span="1800"]');
  await look(tab, 'charts');
  await tab.click('#tab-about');
  await tab.waitForSelector('cay-about dd:has-text("none")');
  await look(tab, 'about');
  await tab.click('[data-verb=stop]');
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('.terminal .empty:has-text("This sandbox is stopped")');
  await look(tab, 'stopped');
  await p.destroy(box);
}

/** Panes follow the sandbox: what does not run says so and can be started there, what is gone says why, and nobody is told of errors unasked. */
export async function panes_of_what_does_not_run(p) {
  const { tab } = p;
  const box = await p.box({ name: 'follow-state' });
  await p.help('run', { box, command: 'touch here' });
  await p.open(box, 'files');
  await tab.waitForSelector('.files li:has-text("here")');
  await p.help('post', { path: `/api/sandboxes/${box}/pause` });
  await tab.waitForSelector('.pane .empty:has-text("This sandbox is paused")');
  await tab.click('.pane button:has-text("Resume")');
  await tab.waitForSelector('.files li:has-text("here")');
  await p.help('post', { path: `/api/sandboxes/${box}/stop` });
  await tab.waitForSelector('.pane .empty:has-text("This sandbox is stopped"):has-text("files are kept")');
  await look(tab, 'stopped_files');
  for (const pane of ['processes', 'charts']) {
    await tab.click(`#tab-${pane}`);
    await tab.waitForSelector('.pane .empty:has-text("shown while the sandbox runs")');
  }
  await tab.click('#tab-files');
  await tab.click('.pane button:has-text("Start")');
  await tab.waitForSelector('.files li:has-text("here")');
  await tab.click('#tab-activity');
  await tab.waitForSelector('.events li:has-text("Stopped"):has-text("on request")');
  await tab.click('#tab-processes');
  await tab.waitForSelector('.processes tbody tr');
  await p.destroy(box);
  await tab.waitForSelector('.pane .empty:has-text("This sandbox is gone"):has-text("destroyed on request")');
  check((await tab.locator('.note.bad').count()) === 0, 'nothing was asked for that is not there');
  await tab.click('#tab-about');
  await tab.waitForSelector('cay-about dd:has-text("Gone")');
  await look(tab, 'gone');
}

/** What is refused appears by itself, and one click allows it as far as its template does; rules are typed, taken out and copied. */
export async function network_log_and_rules(p) {
  const { tab } = p;
  const box = await p.box({ name: 'network-test', template: 'online', allow: ['a.example'] });
  const lookUp = (name) => p.help('run', { box, command: `python3 -c "import socket; socket.getaddrinfo('${name}', 443)"` });
  await tab.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await p.open(box, 'network');
  await tab.waitForSelector('cay-network .rules li:has-text("a.example")');
  await tab.waitForSelector('cay-network p:has-text("Nothing has been looked up")');
  await lookUp('a.example');
  await tab.waitForSelector('.connections tr:has-text("a.example"):has-text("looked up")');
  await lookUp('x.b.example');
  const refused = tab.locator('.connections tr:has-text("x.b.example"):has-text("refused")');
  await refused.waitFor();
  await look(tab, 'network');
  await lookUp('x.c.example');
  await tab.click('button[aria-label="Allow x.c.example for this sandbox"]');
  await tab.waitForSelector('.rules li:has-text("x.c.example")');
  await lookUp('x.c.example');
  await tab.waitForSelector('.connections tr:has-text("x.c.example"):has-text("looked up")');
  // A look-up says no port, so all of the web is asked for: more than its template has, which is told.
  await Promise.all([tab.waitForSelector('.note.bad:has-text("x.b.example")'), refused.locator('button').click()]);
  await tab.fill('cay-network input', 'x.b.example:443');
  await tab.keyboard.press('Enter');
  await tab.waitForSelector('.rules li:has-text("x.b.example:443")');
  await lookUp('x.b.example');
  await tab.waitForSelector('.connections tr:has-text("x.b.example"):has-text("looked up")');
  // With a rule for an address, another one is refused by its judge, with its port.
  await tab.fill('cay-network input', '192.0.2.77:80');
  await tab.keyboard.press('Enter');
  await tab.waitForSelector('.rules li:has-text("192.0.2.77:80")');
  await p.help('run', { box, command: 'python3 -c "import socket; socket.create_connection((\'192.0.2.78\', 80), 5)"' });
  const other = tab.locator('.connections tr:has-text("192.0.2.78:80"):has-text("refused")');
  await Promise.all([tab.waitForSelector('.note.bad:has-text("192.0.2.78:80")'), other.locator('button').click()]);
  await tab.click('button[aria-label="Remove allow x.b.example:443"]');
  await tab.locator('.rules li:has-text("x.b.example:443")').waitFor({ state: 'detached' });
  await Promise.all([tab.waitForSelector('.note:has-text("Copied")'), tab.click('button:has-text("Copy as policy")')]);
  check((await tab.evaluate(() => navigator.clipboard.readText())).startsWith('security:\n  network:\n    allow:'), 'a policy is on the clipboard');
  await p.destroy(box);
}

/** The page notes what it has read to its end (window.heard): the network's word that it was sent comes before that. */
function noteHeard() {
  if (window.heard) return;
  window.heard = [];
  for (const kind of ['text', 'arrayBuffer']) {
    const read = Response.prototype[kind];
    Response.prototype[kind] = async function heard() {
      const all = await read.call(this);
      window.heard.push(this.url);
      return all;
    };
  }
}

/** Holds the answer to the next request to such an address until it is told to let it through; resolves when the page has read it. */
async function holdNext(tab, address) {
  await tab.evaluate(noteHeard);
  const heard = async () => (await tab.evaluate(() => window.heard)).filter((url) => address.test(url)).length;
  let open;
  const gate = new Promise((r) => { open = r; });
  let seen;
  const asked = new Promise((r) => { seen = r; });
  await tab.route(address, async (route) => {
    const answer = await route.fetch();
    seen();
    await gate;
    await route.fulfill({ response: answer });
  }, { times: 1 });
  const letGo = async () => {
    const before = await heard();
    open();
    await until(`the page to have read ${address}`, async () => (await heard()) > before);
  };
  return { asked, letGo };
}

/** The next request to such an address is answered so by somebody between the page and the daemon. */
const refuseNext = (tab, address, status) => tab.route(address, (route) => route.fulfill({ status, json: { error: { code: 'busy', message: 'too much at once' } } }), { times: 1 });

/** What comes late is older than what is there: it changes nothing. And what stays as it was is not drawn anew under somebody's pointer. */
export async function late_answers_change_nothing(p) {
  const { tab } = p;
  const box = await p.box({ name: 'late-test' });
  await p.help('run', { box, command: 'mkdir -p inside; touch inside/deep; exit 4' });
  // The list is quicker than the sandbox itself: its terminal is there, and stays when the other answer comes.
  await p.go('sandboxes');
  await tab.waitForSelector('.box:has-text("late-test") .state.ready');
  const itself = await holdNext(tab, new RegExp(`/api/sandboxes/${box}$`));
  await p.go(`sandbox/${box}`);
  await itself.asked;
  await p.help('run', { box, command: 'true' }); // the list hears of it
  await shellIsReady(tab);
  await terminalHasFocus(tab);
  await tab.evaluate(() => { document.querySelector('cay-terminal').mark = true; });
  await itself.letGo();
  check(await tab.evaluate(() => document.querySelector('cay-terminal').mark && document.activeElement.matches('cay-terminal textarea')), 'the terminal stays, and so does the focus');
  // A folder that answers after the next one was asked for.
  await tab.waitForSelector('.files button:text("inside")');
  const workspace = await holdNext(tab, /files\/list\?path=%2Fworkspace$/);
  await tab.click('button[aria-label="Refresh"]');
  await workspace.asked;
  await tab.click('.files button:text("inside")');
  await tab.waitForSelector('.files li:has-text("deep")');
  await workspace.letGo();
  check(await tab.locator('.files li:has-text("deep")').isVisible(), 'the folder that was asked for last is shown');
  // A command that is as it was keeps its row when others come.
  await p.go(`sandbox/${box}?pane=activity`);
  const row = tab.locator('.execs li:has-text("exit 4")');
  await row.evaluate((el) => { el.mark = true; });
  await p.help('run', { box, command: 'exit 5' });
  await tab.waitForSelector('.execs li:has-text("exit 5")');
  check(await row.evaluate((el) => el.mark), 'a row that did not change is the same');
  await p.destroy(box);
}

/** Whoever is quicker than the first folder's answer, or has none, is where it would have begun; a second click opens nothing twice. */
export async function files_before_the_first_answer(p) {
  const { tab } = p;
  const box = await p.box({ name: 'eager-test' });
  await p.help('run', { box, command: 'echo before > text' });
  const first = /files\/list\?path=%2Fworkspace$/;
  await p.open(box, 'about');
  const held = await holdNext(tab, first);
  await tab.click('#tab-files');
  await held.asked;
  await tab.click('button[aria-label="Refresh"]');
  await tab.waitForSelector('.files li:has-text("text")');
  await held.letGo();
  await tab.click('#tab-about');
  await refuseNext(tab, first, 503);
  await tab.click('#tab-files');
  await tab.waitForSelector('.files .empty:has-text("too much at once")');
  await tab.click('button:has-text("New folder")');
  await tab.fill('dialog input[name=path]', 'made');
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('.files li:has-text("made")');
  const text = /files\?path=%2Fworkspace%2Ftext$/;
  let asked = 0;
  tab.on('request', (r) => { asked += r.method() === 'GET' && text.test(r.url()); });
  const read = await holdNext(tab, text);
  await tab.click('.files button:text("text")');
  await read.asked;
  await tab.click('.files button:text("text")');
  await read.letGo();
  check(asked === 1 && (await tab.locator('dialog').count()) === 1, `one dialog of one text (asked for ${asked} times)`);
  await tab.fill('dialog textarea', 'after\n');
  await Promise.all([tab.waitForSelector('.note:has-text("/workspace/text is saved")'), tab.click('dialog button[type=submit]')]);
  await tab.waitForSelector('.files li:has-text("text"):has-text("6 B")'); // its row is the new one: nothing is drawn anew under the click
  await tab.click('.files button:text("text")');
  check((await tab.inputValue('dialog textarea')) === 'after\n', 'it opens again, as it was saved');
  await tab.keyboard.press('Escape');
  await p.destroy(box);
}

/** No answer is no word about a sandbox: what it is comes with the next one. */
export async function a_refusal_that_passes(p) {
  const { tab } = p;
  const box = await p.box({ name: 'busy-test' });
  await p.go('sandboxes');
  await tab.waitForSelector('.box:has-text("busy-test") .state.ready'); // from now on nothing happens that the list would hear of
  await refuseNext(tab, new RegExp(`/api/sandboxes/${box}$`), 503);
  await p.terminal(box);
  check(await tab.evaluate(() => document.querySelector('cay-sandbox').timer > 0), 'its age goes on');
  await refuseNext(tab, /\/api\/sandboxes\/sb-none$/, 429);
  await p.go('sandbox/sb-none');
  await tab.waitForSelector('h1:has-text("Sandbox not found")');
  await p.destroy(box);
}

/** A list that broke off is read again in a while; what happens before that is not made to wait for it. Here the while never ends. */
export async function news_do_not_wait_for_a_broken_list(p) {
  const { tab } = p;
  await p.go('sandboxes');
  const boxes = [await p.box({ name: 'known' })];
  await tab.waitForSelector('.box:has-text("known")'); // the list was read: from here on only events ask for it
  await tab.evaluate(() => {
    const real = window.setTimeout;
    window.waiting = 0;
    window.setTimeout = (run, ms, ...more) => {
      if (ms < 4500 || ms > 5500) return real(run, ms, ...more); // a sum of clocks: not to the last bit
      window.waiting += 1;
      return real(() => {}, 2 ** 30);
    };
  });
  const list = /\/api\/sandboxes\?newest_first/;
  await tab.route(list, (route) => route.abort()); // each, until one has nobody waiting behind it
  boxes.push(await p.box({ name: 'unheard' }));
  await until('the list to be broken off', () => tab.evaluate(() => window.waiting > 0));
  await tab.unroute(list);
  boxes.push(await p.box({ name: 'news' }));
  await tab.waitForSelector('.box:has-text("news")');
  await tab.reload();
  await p.destroy(...boxes);
}
