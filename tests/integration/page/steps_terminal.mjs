// SPDX-License-Identifier: Apache-2.0
// The terminal over hours and browsers: pauses, coming back, several shells, ends that say why; and how long a sandbox lives.
import { BASE, check, look, screen, shellIsReady, until } from './page.mjs';

const terminal = (tab, read) => tab.evaluate(read);
const execs = (tab, box) => tab.evaluate((id) => fetch(`/api/sandboxes/${id}/execs`).then((r) => r.json()).then((a) => a.execs), box);
const shells = async (tab, box) => (await execs(tab, box)).filter((x) => x.tty && x.status !== 'ended');
const tabsOf = (tab) => tab.locator('.shells .shell');

/** The most of the page's code is the terminal's: a page that shows none does not fetch it. */
export async function terminal_code_comes_when_needed(p) {
  const { tab } = p;
  const asked = [];
  const note = (r) => asked.push(new URL(r.url()).pathname);
  tab.on('request', note);
  const box = await p.box({ name: 'lazy-test' });
  await tab.goto(`${BASE}/#/sandboxes`);
  await tab.reload();
  await tab.waitForSelector('.box:has-text("lazy-test")');
  check(asked.includes('/app.js') && !asked.some((u) => /xterm|unicode11|\/terminal/.test(u)), `the list fetches no terminal: ${asked}`);
  await p.terminal(box);
  check(asked.includes('/npm/xterm.mjs') && asked.includes('/npm/xterm.css') && asked.includes('/terminal.js'), `a sandbox does: ${asked}`);
  tab.off('request', note);
  await p.destroy(box);
}

/** Keys that are pressed while it is paused have their effect when it goes on, and so do those after them. */
export async function typing_into_a_paused_sandbox(p) {
  const { tab } = p;
  const box = await p.box({ name: 'pause-test' });
  await p.terminal(box);
  await p.shell('echo be""fore', /^before/m);
  await tab.click('[data-verb=pause]');
  await tab.waitForSelector('.term-foot:visible:has-text("paused")');
  await tab.locator('cay-terminal .xterm-helper-textarea').focus();
  await tab.keyboard.insertText('echo mean""while');
  await tab.keyboard.press('Enter');
  await tab.click('.term-foot button:has-text("Resume")');
  await until('what was typed meanwhile', async () => /^meanwhile/m.test(await screen(tab)));
  await tab.locator('.term-foot').waitFor({ state: 'hidden' });
  await p.shell('echo af""ter', /^after/m);
  await p.destroy(box);
}

/** What programs asked the terminal long ago is not answered again: the answers would be typed into the shell. */
export async function coming_back_types_nothing(p) {
  const { tab } = p;
  const box = await p.box({ name: 'replay-test' });
  // It asks for the terminal's kind, the cursor's place, a mode and a colour, and reads the answers itself.
  await p.help('run', { box, command: "cat > ask.sh <<'X'\nstty -echo raw; printf '\\033[c\\033[6n\\033[?2004$p\\033]11;?\\007'; timeout --foreground 2 cat > answers; stty sane; echo asked-$(wc -c < answers)\nX\n" });
  await p.terminal(box);
  const said = await p.shell('sh ask.sh', /^asked-\d+/m);
  check(Number(/asked-(\d+)/.exec(said)[1]) > 10, `a program that asks now is answered: ${said}`);
  await tab.reload();
  await shellIsReady(tab);
  await until('the replay to be drawn', () => tab.evaluate(() => document.querySelector('cay-terminal').dataset.muted === 'false'));
  const back = await p.shell('echo now""here', /^nowhere/m);
  check(!/\[\?1;2c|\d+;\d+R|rgb:/.test(back.slice(back.lastIndexOf('asked-'))), `nothing was typed by the terminal: ${back}`);
  check((back.match(/^asked-/gm) || []).length === 1, 'and what was drawn before is drawn');
  await p.destroy(box);
}

/** Of much output the end is drawn, from the start of a line, on the screen and in the modes that the program had set. */
export async function coming_back_draws_the_last_screens(p) {
  const { tab } = p;
  const box = await p.box({ name: 'screens-test' });
  await p.help('run', { box, command: "cat > app.sh <<'X'\nprintf '\\033[?1049h\\033[2J\\033[Hon the other screen'\ntrap 'printf \"\\033[2J\\033[Hdrawn-%s\" $(stty size | tr \" \" x)' WINCH\nwhile :; do sleep 0.1; done\nX\n" });
  await p.terminal(box);
  await p.shell("seq -f 'line %08g of a long output' 60000; echo all-\"\"printed", /^all-printed/m);
  await p.shell('bash app.sh', /on the other screen/);
  const cursor = await terminal(tab, () => document.querySelector('cay-terminal').cursor);
  check(cursor > 1500000, `it came from the first byte: ${cursor}`);
  const at = await tab.evaluate(() => { const t = document.querySelector('cay-terminal'); return fetch(`/api/sandboxes/${t.sandbox}/execs/${t.exec}/screen`).then((r) => r.json()); });
  check(at.end - at.cursor <= 256 * 1024 && at.end >= cursor && at.cursor > 0, `the last screens: ${JSON.stringify(at)}`);
  await tab.reload();
  await tab.waitForSelector('cay-terminal[data-state=connected][data-muted=false]');
  await until('the program to draw again', async () => /drawn-\d+x\d+/.test(await screen(tab)));
  check(await terminal(tab, () => document.querySelector('cay-terminal').term.buffer.active.type === 'alternate'), 'on the other screen');
  await tab.keyboard.press('Control+c');
  await p.shell("printf '\\033[?1049l'; echo re\"\"turned", /^returned/m);
  const lines = (await screen(tab)).split('\n').filter((l) => l.startsWith('line'));
  check(lines.length > 1000 && lines.every((l) => /^line \d{8} of a long output$/.test(l)), `whole lines: ${lines.length}, ${lines[0]}`);
  await p.destroy(box);
}

/** Closing a tab leaves its shell; the next one, in any browser, goes on with it. More are side by side, and each can be ended. */
export async function shells_are_tabs(p) {
  const { tab } = p;
  const box = await p.box({ name: 'shells-test' });
  await p.terminal(box);
  await p.shell('WHO=first; echo i-am-$WHO', /^i-am-first/m);
  await until('its tab', async () => (await tabsOf(tab).count()) === 1);
  await tab.click('.shell-new');
  await until('a second tab', async () => (await tabsOf(tab).count()) === 2);
  await shellIsReady(tab);
  await p.shell('WHO=second; echo i-am-$WHO', /^i-am-second/m);
  check(!/i-am-first/.test(await screen(tab)), 'it is another shell');
  await look(tab, 'shells');
  await tabsOf(tab).first().locator('.shell-name').click();
  await until('the first one', async () => /^i-am-first/m.test(await screen(tab)));
  await p.shell('echo still-$WHO', /^still-first/m);
  // Another browser: what nobody watches is taken up, not added to.
  const other = await p.another(p.owner, 'exec');
  await other.terminal(box);
  await other.shell('echo here-$WHO', /^here-second/m);
  check((await shells(tab, box)).length === 2, 'no third shell was started');
  await until('both tabs there too', async () => (await tabsOf(other.tab).count()) === 2);
  await other.leave();
  await until('to be alone again', async () => (await shells(tab, box)).some((x) => x.watchers === 0));
  // One is ended from here; the one that is shown says so.
  await tabsOf(tab).last().locator('.shell-end').click();
  await until('one tab', async () => (await tabsOf(tab).count()) === 1);
  await p.shell('echo and-$WHO', /^and-first/m);
  await p.shell('exit 3', /\[The shell ended: exit 3\]/);
  await tab.waitForSelector('.term-foot:visible:has-text("exit 3")');
  await tab.click('.term-foot button:has-text("New shell")');
  await shellIsReady(tab);
  await p.shell('echo new-${WHO:-none}', /^new-none/m);
  await p.destroy(box);
}

/** A shell has the time that it needs; one with a limit counts it down, and says in the terminal that it was reached. */
export async function ends_are_told_in_the_terminal(p) {
  const { tab } = p;
  const box = await p.box({ name: 'ends-test', limits: { wall_time: '2s' } });
  await p.terminal(box);
  await p.shell('sleep 2.5; echo sur""vived', /^survived/m);
  const limited = await tab.evaluate((id) => fetch(`/api/sandboxes/${id}/execute`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ command: 'exec sh -i', tty: true, open_stdin: true, background: true, timeout: '15s' }) }).then((r) => r.json()), box);
  await tab.click(`.shell[data-exec="${limited.exec_id}"] .shell-name`);
  await until('a countdown', async () => /^Ends in 0:\d\d$/.test(await tab.textContent('.term-status')));
  await until('its end in the terminal', async () => /The shell ended: time limit of 15 s reached/.test(await screen(tab)));
  await tab.waitForSelector('.term-foot:visible button:has-text("New shell")');
  await look(tab, 'shell_ended');
  await p.destroy(box);
}

/** How long it lives is counted down where it is shown; what ends it is told there; what it is given more, too. */
export async function life_is_counted_down(p) {
  const { tab } = p;
  const box = await p.box({ name: 'life-test', timeout: '100s', idle_timeout: '1h' });
  await p.open(box, 'about');
  const life = () => tab.textContent('.life');
  const first = await until('a countdown', async () => /ends in 1:\d\d/.exec(await life())?.[0]);
  await until('another second', async () => /ends in 1:\d\d/.exec(await life())?.[0] !== first);
  await until('the idle rule, once its shell runs', async () => /or 1 h after its last use/.test(await life()));
  await tab.waitForSelector('cay-about dd:has-text("1 h")');
  await look(tab, 'life');
  await tab.click('.life button:has-text("Extend")');
  await tab.fill('dialog [name=timeout]', '2h');
  await tab.fill('dialog [name=idle_timeout]', '0');
  await tab.click('dialog button[type=submit]');
  const view = () => tab.evaluate((id) => fetch(`/api/sandboxes/${id}`).then((r) => r.json()), box);
  await until('two hours', async () => /ends in (2:00:00|1:59:\d\d)$/.test((await life()).replace(/ *Extend$/, '').trim()));
  // The one can be changed alone; the other stays. Nothing at all is refused where it is asked.
  await tab.click('[data-verb=extend]');
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('dialog [name=timeout][aria-invalid=true]');
  await tab.fill('dialog [name=idle_timeout]', '3h');
  await tab.click('dialog button[type=submit]');
  await until('the idle rule beside the lifetime', async () => /ends in 1:59:\d\d, or 3 h after its last use/.test(await life()));
  check((await view()).expires_in_ms > 7000000, 'its lifetime is as it was');
  await tab.waitForSelector('cay-about dd:has-text("Ends in 1:59")');
  await p.destroy(box);
  await tab.waitForSelector('.terminal .empty:has-text("destroyed on request")');
  await tab.waitForSelector('.state:has-text("gone")');
  // One that went while nobody looked.
  const idle = await p.box({ name: 'idle-test', idle_timeout: '1s' });
  await until('its end', () => tab.evaluate((id) => fetch(`/api/sandboxes/${id}`).then((r) => r.status === 404), idle));
  await p.go(`sandbox/${idle}`);
  await tab.waitForSelector('h1:has-text("This sandbox is gone")');
  await tab.waitForSelector('.card p:has-text("not used")');
}

/** A command that goes on is shown as it goes on: the end of it, and the last of that. */
export async function activity_follows_a_command(p) {
  const { tab } = p;
  const box = await p.box({ name: 'follow-test' });
  await p.help('start', { box, command: 'seq 20000; i=0; while [ ! -e stop ]; do i=$((i+1)); echo tick-$i; sleep 0.2; done; echo last-word' });
  await p.open(box, 'activity');
  const row = tab.locator('.execs li:has-text("last-word")').first();
  await row.locator('summary').click();
  const out = row.locator('pre.output');
  const ticks = async () => Number(/tick-(\d+)\s*$/.exec(await out.textContent())?.[1] || 0);
  const seen = await until('ticks', ticks);
  await until('more of them', async () => (await ticks()) > seen + 3);
  check(!(await out.textContent()).includes('\n7\n') && (await out.getAttribute('data-cut')) === 'true', 'the beginning is left out, and that is said');
  check(await out.evaluate((el) => el.scrollHeight - el.scrollTop - el.clientHeight < 40), 'the end is in sight');
  const age = await row.locator('[data-since]').textContent();
  await until('its age to tick', async () => (await row.locator('[data-since]').textContent()) !== age);
  await look(tab, 'activity_follows', { phone: false });
  await p.help('run', { box, command: 'touch stop' });
  await row.locator('pre:has-text("last-word")').waitFor();
  await row.locator('.state:has-text("exit 0")').waitFor();
  check(await row.locator('details').evaluate((el) => el.open), 'its row stays open');
  await p.destroy(box);
}

/** Emoji are as wide for the page as for the shell; Ctrl Shift C copies; the prompt has colour. */
export async function widths_copying_prompt(p) {
  const { tab } = p;
  await tab.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const box = await p.box({ name: 'width-test' });
  await p.terminal(box);
  const colours = await until('a prompt in colours', () => terminal(tab, () => {
    const { active } = document.querySelector('cay-terminal').term.buffer;
    const cell = active.getLine(active.baseY + active.cursorY)?.getCell(0);
    return cell && !cell.isFgDefault() && cell.getFgColor();
  }));
  check(colours !== undefined, 'the prompt has a colour');
  // What is typed behind them and taken back leaves no trace: both sides count the same cells.
  await tab.locator('cay-terminal .xterm-helper-textarea').focus();
  await tab.keyboard.insertText('echo 🥳🧪x');
  await tab.keyboard.press('Backspace');
  await tab.keyboard.press('Backspace');
  await tab.keyboard.insertText('Z');
  await tab.keyboard.press('Enter');
  await until('the right characters', async () => /^🥳Z$/m.test(await screen(tab)) && /echo 🥳Z$/m.test(await screen(tab)));
  await p.shell("printf 'mark-%s\\n' this", /^mark-this/m);
  await terminal(tab, () => {
    const { term } = document.querySelector('cay-terminal');
    for (let i = 0; i < term.buffer.active.length; i++) if (term.buffer.active.getLine(i).translateToString(true) === 'mark-this') term.select(0, i, 9);
  });
  await tab.keyboard.press('Control+Shift+C');
  await until('the marked text in the clipboard', async () => (await tab.evaluate(() => navigator.clipboard.readText())) === 'mark-this');
  await terminal(tab, () => document.querySelector('cay-terminal').term.clearSelection());
  await p.shell('echo un""harmed', /^unharmed/m);
  await p.destroy(box);
}

/** A phone's keyboard has no Esc, Tab, Ctrl and arrows: the page has. And a tablet shows the terminal as wide as its pane. */
export async function touch_keys_and_tablets(p) {
  const box = await p.box({ name: 'touch-test' });
  const context = await p.browser.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, reducedMotion: 'reduce' });
  const tab = await context.newPage();
  tab.setDefaultTimeout(60000);
  await tab.goto(await p.help('login', { scope: 'exec' }));
  await tab.waitForSelector('#who');
  await tab.goto(`${BASE}/#/sandbox/${box}?pane=terminal`);
  await shellIsReady(tab);
  const key = (name) => tab.locator('.touch-keys button', { hasText: new RegExp(`^${name}$`) }).tap();
  const type = async (text) => { await tab.locator('cay-terminal .xterm-helper-textarea').focus(); await tab.keyboard.insertText(text); };
  await type('echo sec""ond');
  await tab.keyboard.press('Enter');
  await until('its output', async () => /^second/m.test(await screen(tab)));
  await key('↑');
  await key('←');
  await type('X');
  await until('the last line, changed', async () => /echo sec""onXd$/m.test(await screen(tab)));
  await key('Ctrl');
  await type('c');
  await until('a fresh prompt', async () => /\^C/.test(await screen(tab)));
  await type('cat /etc/hostn');
  await key('Tab');
  await until('the whole name', async () => /cat \/etc\/hostname/.test(await screen(tab)));
  await look(tab, 'touch', { phone: false });
  check(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'no wider than the phone');
  for (const [name, width, height] of [['tablet', 820, 1180], ['tablet_wide', 1024, 768]]) {
    await tab.setViewportSize({ width, height });
    await until(`no wider than a ${name}`, () => tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await until(`a terminal as wide as its place on a ${name}`, () => tab.evaluate(() => {
      const t = document.querySelector('cay-terminal');
      const cells = t.querySelector('.xterm-screen').clientWidth;
      return t.place.clientWidth - cells < 60 && cells > 300;
    }));
    await look(tab, name, { phone: false });
    await tab.setViewportSize({ width, height });
  }
  await context.close();
  await p.destroy(box);
}
