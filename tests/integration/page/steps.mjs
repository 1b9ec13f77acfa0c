// SPDX-License-Identifier: Apache-2.0
// What a person does with the page, step by step; see test_page.py. Each step leaves the tab signed in, and nothing that another needs.
import fs from 'node:fs';
import readline from 'node:readline';
import { check, checkFaults, forgetLongest, longest, openBrowser, openTab, screen, shot, type, until } from './page.mjs';

const BASE = process.env.CAY_PAGE_BASE;
const LONG_MS = 1000; // no task of the page may hold its thread for longer, on however busy a machine

const input = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function help(what, args = {}) {
  process.stdout.write(`ask ${JSON.stringify([what, args])}\n`);
  return JSON.parse((await input.next()).value);
}

const browser = await openBrowser();
let tab;

async function signIn(options, who = {}) {
  const link = await help('login', who);
  const t = await openTab(browser, BASE, options);
  await t.goto(link);
  await t.waitForSelector('#who');
  return t;
}

async function open(box, pane = '') {
  await tab.goto(`${BASE}/#/sandbox/${box}${pane ? `?pane=${pane}` : ''}`);
  await tab.waitForSelector('cay-sandbox .state:not(:empty)');
}

async function terminal(box, pane) {
  await open(box, pane);
  await tab.waitForSelector('cay-terminal[data-state=connected]');
  await until('a prompt', async () => /[$#] *$/.test((await screen(tab)).trimEnd()));
}

async function shell(text, wanted) {
  await type(tab, text);
  return until(`${wanted} after ${text}`, async () => { const s = await screen(tab); return wanted.test(s) && s; });
}

async function oneBox(fields = {}) { return (await help('make', fields))[0]; }

const steps = {
  async sign_in_by_link() {
    check(!(await tab.evaluate(() => location.href)).includes('login='), 'the login is out of the address');
    check((await tab.textContent('#who')).startsWith('default'), 'who is signed in is shown');
    check((await tab.evaluate(() => document.cookie)) === '', 'no script can read the session');
    await tab.reload();
    await tab.waitForSelector('#who');
  },

  async sign_in_by_token() {
    const t = await openTab(browser, BASE);
    await t.goto(BASE);
    await t.waitForSelector('cay-sign-in');
    await shot(t, 'sign_in');
    await t.fill('#token', 'nonsense');
    await t.keyboard.press('Enter');
    await t.waitForSelector('.problem:text("not good")');
    await t.fill('#token', await help('token'));
    await t.keyboard.press('Enter');
    await t.waitForSelector('#who');
    const [box] = await help('make');
    await t.evaluate((b) => { location.hash = `#/sandbox/${b}`; }, box);
    await t.waitForSelector('cay-terminal[data-state=connected]');
    await type(t, 'echo $((40+2))x');
    await until('output by requests', async () => (await screen(t)).includes('42x'));
    await t.click('#sign-out');
    await t.waitForSelector('cay-sign-in');
    checkFaults(t);
    await t.context().close();
    await help('destroy', { boxes: [box] });
  },

  async sign_out_ends_the_session() {
    const t = await signIn();
    await t.click('#sign-out');
    await t.waitForSelector('cay-sign-in');
    await t.goto(`${BASE}/`);
    await t.waitForSelector('cay-sign-in');
    await t.goto(`${BASE}/#login=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`);
    await t.waitForSelector('.problem:text("not good")');
    checkFaults(t);
    await t.context().close();
  },

  async create_filter_destroy() {
    await tab.goto(`${BASE}/#/sandboxes`);
    await tab.waitForSelector('#create');
    await tab.keyboard.press('n');
    await tab.waitForSelector('dialog[open]');
    await tab.selectOption('dialog select[name=template]', 'python');
    check((await tab.textContent('dialog .facts')).includes('256 MB'), 'the template’s defaults are shown');
    await tab.fill('dialog input[name=name]', 'first-one');
    await shot(tab, 'create');
    await tab.keyboard.press('Enter');
    await tab.waitForSelector('.box:has-text("first-one") .state.ready');
    const boxes = [await oneBox({ name: 'build-linux' }), await oneBox({ name: 'docs' })];
    await tab.waitForSelector('.box:has-text("docs")');
    await tab.fill('input[type=search]', 'build');
    await until('one row', async () => (await tab.locator('.box').count()) === 1);
    check((await tab.evaluate(() => location.hash)).includes('q=build'), 'the filter is in the address');
    await tab.reload();
    await tab.waitForSelector('.box:has-text("build-linux")');
    check((await tab.inputValue('input[type=search]')) === 'build', 'the filter comes back with the address');
    check((await tab.locator('.box').count()) === 1, 'and holds');
    await tab.goto(`${BASE}/#/sandboxes`);
    const row = tab.locator('.box:has-text("docs")');
    await row.locator('[data-verb=pause]').click();
    await row.locator('.state.paused').waitFor();
    await row.locator('[data-verb=resume]').click();
    await row.locator('.state.ready').waitFor();
    await row.locator('[data-verb=stop]').click();
    await tab.click('dialog button[type=submit]');
    await row.locator('.state.stopped').waitFor();
    await help('start', { box: boxes[0], command: 'python3 -c "import time\nx = []\nwhile True:\n    x.append(bytearray(3000000)); time.sleep(0.2); sum(range(2000000))"' });
    await tab.waitForTimeout(4500); // for the curves on the picture; nothing depends on it
    await shot(tab, 'sandboxes');
    await tab.emulateMedia({ colorScheme: 'dark' });
    await shot(tab, 'sandboxes_dark');
    await tab.setViewportSize({ width: 390, height: 844 });
    check(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than a phone');
    await shot(tab, 'sandboxes_phone');
    await tab.setViewportSize({ width: 1280, height: 800 });
    await tab.emulateMedia({ colorScheme: 'light' });
    for (const name of ['first-one', 'docs', 'build-linux']) {
      await tab.locator(`.box:has-text("${name}") [data-verb=destroy]`).click();
      await tab.click('dialog button[type=submit]');
      await tab.locator(`.box:has-text("${name}")`).waitFor({ state: 'detached' });
    }
  },

  async terminal_types_colours_resizes() {
    const box = await oneBox({ name: 'terminal-test' });
    await terminal(box);
    await shell('echo $((6*7))a', /42a/);
    await shell("printf '\\033[31mred\\033[0m \\033[38;2;10;200;30mgreen\\033[0m\\n'", /^red green/m);
    const colours = await tab.evaluate(() => [...document.querySelectorAll('.xterm-rows span')].filter((s) => ['red', 'green'].includes(s.textContent)).map((s) => getComputedStyle(s).color));
    check(colours.length === 2 && colours[1] === 'rgb(10, 200, 30)' && colours[0] !== colours[1], `both colours are drawn (${colours})`);
    await shell('for i in 1 2 3; do echo "print($i * 14)" > try$i.py; done; python3 try3.py; ls --color=always -l /', /workspace/);
    await tab.click('button[aria-label="Read again"]');
    await tab.waitForSelector('.files li:has-text("try3.py")');
    await shot(tab, 'sandbox');
    await tab.setViewportSize({ width: 1000, height: 640 });
    const size = await until('another size', () => tab.evaluate(() => { const { term } = document.querySelector('cay-terminal'); return term.cols < 80 ? `${term.rows} ${term.cols}` : null; }));
    await tab.locator('cay-terminal .xterm-helper-textarea').focus();
    await tab.keyboard.press('Shift+F6');
    check(await tab.evaluate(() => document.activeElement.getAttribute('role') === 'tab'), 'the keyboard can leave the terminal');
    await shell('stty size', new RegExp(`^${size}$`, 'm'));
    await tab.setViewportSize({ width: 390, height: 844 });
    await tab.goto(`${BASE}/#/sandbox/${box}?pane=terminal`);
    await tab.emulateMedia({ colorScheme: 'dark' });
    await tab.waitForTimeout(300);
    await shot(tab, 'sandbox_phone');
    await tab.emulateMedia({ colorScheme: 'light' });
    await tab.setViewportSize({ width: 1280, height: 800 });
    // The same shell after the page was loaded again.
    await shell('MINE=kept', /MINE/);
    await tab.reload();
    await tab.waitForSelector('cay-terminal[data-state=connected]');
    await shell('echo $MINE$MINE', /keptkept/);
    await help('destroy', { boxes: [box] });
  },

  async files_upload_download_edit() {
    const box = await oneBox({ name: 'files-test' });
    await open(box, 'files');
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
    await tab.click('.files button:text("hello.py")');
    await tab.fill('dialog textarea', 'print("changed")\n');
    await shot(tab, 'edit');
    await tab.click('dialog button[type=submit]');
    await tab.waitForSelector('.note:has-text("saved")');
    check((await help('run', { box, command: 'python3 hello.py' })).stdout === 'changed\n', 'the edited text is there');
    await tab.click('button[aria-label="Remove dropped.bin"]');
    await tab.click('dialog button[type=submit]');
    await tab.locator('.files li:has-text("dropped.bin")').waitFor({ state: 'detached' });
    await help('destroy', { boxes: [box] });
  },

  async activity_processes_ports_charts() {
    const box = await oneBox({ name: 'activity-test' });
    await help('run', { box, command: 'echo said; exit 3' });
    await terminal(box, 'activity');
    const exec = tab.locator('.execs li:has-text("exit 3")');
    await exec.locator('summary').click();
    await exec.locator('pre:has-text("said")').waitFor();
    await shot(tab, 'activity');
    await shell('echo served-page > index.html; python3 -m http.server 8000 >/dev/null 2>&1 &', /\[1\]/);
    await tab.click('#tab-processes');
    await tab.waitForSelector('cay-processes td:has-text("http.server")');
    const [popup] = await Promise.all([tab.waitForEvent('popup'), tab.click('button:has-text("Open port 8000")')]);
    await popup.waitForSelector('text=served-page');
    await popup.close();
    await shot(tab, 'processes');
    await tab.click('#tab-charts');
    await tab.waitForSelector('cay-charts canvas');
    await tab.waitForTimeout(3500); // for the picture
    await shot(tab, 'charts');
    await help('destroy', { boxes: [box] });
  },

  async try_it() {
    await tab.goto(`${BASE}/#/try`);
    await tab.fill('#message', 'Please run this:\n\n```python\nimport sys\nprint("six times seven:", 6 * 7)\nsys.stdout.flush()\n1 / 0\n```\n');
    await tab.keyboard.press('Control+Enter');
    await tab.waitForSelector('.decision .state.ready:has-text("run")');
    await tab.waitForSelector('.turn .output:has-text("six times seven: 42")');
    await tab.waitForSelector('.turn .output .stderr:has-text("ZeroDivisionError")');
    await tab.waitForSelector('.verdict .state:has-text("exit 1")');
    await tab.locator('.turn button:has-text("Stop")').waitFor({ state: 'detached' });
    await shot(tab, 'try');
    await tab.fill('#message', 'Can you explain what this does?\n\n```python\nprint("never said")\n```\n');
    await tab.keyboard.press('Control+Enter');
    await tab.waitForSelector('.decision .state.stopped:has-text("explain")');
    check((await tab.locator('.turn.run').count()) === 1, 'what asks for words is not run');
    await tab.click('button:has-text("Run it anyway")');
    await tab.waitForSelector('.turn .output:has-text("never said")');
  },

  async templates_and_metrics() {
    await tab.goto(`${BASE}/#/templates`);
    await tab.waitForSelector('.card:has-text("careful"):has-text("Asks first")');
    await shot(tab, 'templates');
    await tab.goto(`${BASE}/#/metrics`);
    await until('figures', async () => /≤/.test(await tab.textContent('cay-metrics .stats')));
    await tab.waitForTimeout(4500); // for the picture
    await shot(tab, 'metrics');
  },

  async confirmation() {
    await tab.goto(`${BASE}/#/sandboxes`);
    await tab.click('#create');
    await tab.selectOption('dialog select[name=template]', 'careful');
    await tab.click('dialog button[type=submit]');
    await tab.waitForSelector('dialog:has-text("needs your word")');
    await shot(tab, 'confirm');
    await tab.keyboard.press('Escape');
    check((await tab.locator('.box:has-text("careful")').count()) === 0, 'nothing was made without a word');
    await tab.click('#create');
    await tab.selectOption('dialog select[name=template]', 'careful');
    await tab.click('dialog button[type=submit]');
    await tab.click('dialog button:has-text("Allow")');
    const row = tab.locator('.box:has-text("careful")');
    await row.locator('.state.ready').waitFor();
    await row.locator('[data-verb=destroy]').click();
    await tab.click('dialog button[type=submit]');
    await row.waitFor({ state: 'detached' });
  },

  async another_user_sees_nothing() {
    const box = await oneBox({ name: 'private-one' });
    await tab.goto(`${BASE}/#/sandboxes`);
    await tab.waitForSelector('.box:has-text("private-one")');
    const other = await signIn({}, { owner: 'mallory' });
    await other.waitForSelector('.empty:not([hidden])');
    check((await other.locator('.box').count()) === 0, 'an empty list');
    await other.goto(`${BASE}/#/sandbox/${box}`);
    await other.waitForSelector('text=This sandbox is not there');
    const refused = await other.evaluate((b) => new Promise((done) => {
      const ws = new WebSocket(`${location.origin.replace('http', 'ws')}/tty/${b}/ws`, 'tty');
      ws.onopen = () => done(false);
      ws.onclose = () => done(true);
    }), box);
    check(refused, 'no terminal either');
    await other.context().close();
    await help('destroy', { boxes: [box] });
  },

  async front_dies_and_page_recovers() {
    const box = await oneBox({ name: 'survivor' });
    await terminal(box);
    await shell('BEFORE=still; for i in 1 2 3 4 5 6; do sleep 0.5; echo line$i; done', /line1/);
    await help('kill_front');
    await until('every line, once', async () => { const s = await screen(tab); return /line6/.test(s) && s; });
    const s = await screen(tab);
    for (let i = 1; i <= 6; i++) check(s.split(`\nline${i}`).length === 2, `line${i} is there once`);
    await shell('echo $BEFORE-here', /still-here/);
    await tab.goto(`${BASE}/#/sandboxes`);
    await tab.waitForSelector('.box:has-text("survivor")');
    const more = await oneBox({ name: 'afterwards' });
    await tab.waitForSelector('.box:has-text("afterwards")');
    await help('destroy', { boxes: [box, more] });
  },

  async much_output_does_not_freeze() {
    const box = await oneBox({ name: 'flood' });
    await terminal(box);
    // That the observer sees what holds the page, before it is believed that nothing does.
    await tab.evaluate(() => { setTimeout(() => { const t = performance.now(); while (performance.now() - t < 300); }); });
    await until('a long task seen', async () => (await longest(tab)) >= 250);
    await forgetLongest(tab);
    await shell("yes 'fifty megabytes of this' | head -c 50000000; echo; echo flo''od-over", /flood-over/);
    const ms = await longest(tab);
    check(ms < LONG_MS, `no task longer than ${LONG_MS} ms while 50 MB came (${ms})`);
    check((await tab.evaluate(() => document.querySelector('cay-terminal').cursor)) > 50000000, 'all of it came');
    console.log(`  50 MB: longest task ${Math.round(ms)} ms`);
    await help('destroy', { boxes: [box] });
  },

  async two_hundred_sandboxes_stay_smooth() {
    const boxes = await help('make', { count: 200, own_user_only: true, project_name: 'many' });
    await tab.goto(`${BASE}/#/templates`);
    await forgetLongest(tab);
    await tab.goto(`${BASE}/#/sandboxes?q=many`);
    await until('200 rows', async () => (await tab.locator('.box').count()) === 200);
    for (let i = 0; i < 10; i++) await tab.mouse.wheel(0, 900);
    await help('destroy', { boxes: boxes.slice(0, 20) });
    await until('180 rows', async () => (await tab.locator('.box').count()) === 180);
    const ms = await longest(tab);
    check(ms < LONG_MS, `no task longer than ${LONG_MS} ms with 200 rows (${ms})`);
    console.log(`  200 rows: longest task ${Math.round(ms)} ms`);
    await help('destroy', { boxes: boxes.slice(20) });
  },
};

let failed = 0;
const wanted = process.argv.slice(2);
try {
  tab = await signIn();
  for (const [name, step] of Object.entries(steps)) {
    if (wanted.length && !wanted.includes(name)) continue;
    try {
      await step();
      checkFaults(tab);
      console.log(`ok ${name}`);
    } catch (e) {
      failed += 1;
      console.log(`FAILED ${name}: ${e.stack.split('\n').slice(0, 6).join('\n')}`);
      await shot(tab, `failed_${name}`).catch(() => {});
      await tab.context().close().catch(() => {});
      tab = await signIn();
    }
  }
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);
