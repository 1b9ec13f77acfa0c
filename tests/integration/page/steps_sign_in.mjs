// SPDX-License-Identifier: Apache-2.0
// Getting in, and out again.
import { BASE, check, checkFaults, look, openTab, screen, shellIsReady, terminalHasFocus, until } from './page.mjs';

export async function sign_in_by_link({ tab, owner }) {
  check(!(await tab.evaluate(() => location.href)).includes('login='), 'the login is out of the address');
  check((await tab.textContent('#who')).startsWith(owner), 'who is signed in is shown');
  check((await tab.evaluate(() => document.cookie)) === '', 'no script can read the session');
  await tab.reload();
  await tab.waitForSelector('#who');
}

export async function sign_in_by_token(p) {
  const t = await openTab(p.browser);
  await t.goto(BASE);
  await t.waitForSelector('cay-sign-in');
  await look(t, 'sign_in');
  await t.fill('#token', 'nonsense');
  await t.keyboard.press('Enter');
  await t.waitForSelector('.problem:text("wrong or has expired")');
  await t.fill('#token', await p.help('token'));
  await t.keyboard.press('Enter');
  await t.waitForSelector('#who');
  const box = await p.box();
  await t.evaluate((b) => { location.hash = `#/sandbox/${b}`; }, box);
  await shellIsReady(t);
  await terminalHasFocus(t);
  await t.keyboard.type('echo $((40+2))x\n');
  await until('output by requests', async () => (await screen(t)).includes('42x'));
  await t.click('#sign-out');
  await t.waitForSelector('cay-sign-in');
  checkFaults(t);
  await t.context().close();
  await p.destroy(box);
}

export async function sign_out_ends_the_session(p) {
  const other = await p.another(p.owner);
  await other.tab.click('#sign-out');
  await other.tab.waitForSelector('cay-sign-in');
  await other.tab.goto(`${BASE}/`);
  await other.tab.waitForSelector('cay-sign-in');
  await other.tab.goto(`${BASE}/#login=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`);
  await other.tab.waitForSelector('.problem:text("already been used or has expired")');
  await other.leave();
}

export async function another_user_sees_nothing(p) {
  const box = await p.box({ name: 'private-one' });
  await p.go('sandboxes');
  await p.tab.waitForSelector('.box:has-text("private-one")');
  const other = await p.another('mallory');
  const { tab } = other;
  await tab.waitForSelector('.empty:not([hidden]):has-text("No sandboxes yet")');
  check((await tab.locator('.box').count()) === 0, 'an empty list');
  await look(tab, 'nothing_yet');
  await other.go(`sandbox/${box}`);
  await tab.waitForSelector('text=Sandbox not found');
  const refused = await tab.evaluate((b) => new Promise((done) => {
    const ws = new WebSocket(`${location.origin.replace('http', 'ws')}/tty/${b}/ws`, 'tty');
    ws.onopen = () => done(false);
    ws.onclose = () => done(true);
  }), box);
  check(refused, 'no terminal either');
  await other.leave();
  await p.destroy(box);
}
