// SPDX-License-Identifier: Apache-2.0
// What the page's tests share: a browser, people with a tab each, waiting, pictures, and what the page itself measures.
import fs from 'node:fs';
import path from 'node:path';

const { CAY_PAGE_NPM, CAY_PAGE_SHOTS } = process.env;
export const npm = (...name) => path.join(CAY_PAGE_NPM, 'node_modules', ...name);
const { chromium } = await import(npm('playwright-core/index.mjs'));
const axe = fs.readFileSync(npm('axe-core/axe.min.js'), 'utf-8');

export const BASE = process.env.CAY_PAGE_BASE;
const WAIT = 60000;
const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
const TABLET = { width: 820, height: 1180 };

export async function openBrowser() {
  return chromium.launch({ executablePath: process.env.CAY_PAGE_BROWSER || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'], timeout: WAIT });
}

/** A tab of its own person. What the page must never do is noted: errors, refused by its policy, requests to elsewhere. */
export async function openTab(browser) {
  // Nothing moves by itself: colours are what they are, not on their way there.
  const context = await browser.newContext({ viewport: WIDE, acceptDownloads: true, reducedMotion: 'reduce' });
  const tab = await context.newPage();
  tab.faults = [];
  tab.on('pageerror', (e) => tab.faults.push(`error: ${e.message}`));
  tab.on('console', (m) => { if (m.type() === 'error' && /Content Security Policy|Refused to/.test(m.text())) tab.faults.push(`policy: ${m.text()}`); });
  tab.on('request', (r) => { if (!r.url().startsWith(BASE) && !/^(blob|data|about):/.test(r.url())) tab.faults.push(`elsewhere: ${r.url()}`); });
  tab.setDefaultTimeout(WAIT);
  await tab.addInitScript(() => {
    window.longest = { task: 0, frame: 0 };
    new PerformanceObserver((list) => { for (const e of list.getEntries()) window.longest.task = Math.max(window.longest.task, e.duration); }).observe({ entryTypes: ['longtask'] });
    let last = performance.now();
    const frame = (now) => { window.longest.frame = Math.max(window.longest.frame, now - last); last = now; requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
  });
  return tab;
}

export function check(ok, what) {
  if (!ok) throw new Error(`expected: ${what}`);
}

export function checkFaults(tab) {
  check(tab.faults.length === 0, `no faults, but there are:\n${tab.faults.slice(0, 5).join('\n')}`);
}

export async function until(what, test) {
  for (let i = 0; i < WAIT / 50; i++) {
    const found = await test();
    if (found) return found;
    await new Promise((r) => { setTimeout(r, 50); });
  }
  throw new Error(`waited in vain for ${what}`);
}

/** The longest that the page's thread, and its frames, were held since forgetLongest(). */
export const longest = (tab) => tab.evaluate(() => window.longest);
export const forgetLongest = (tab) => tab.evaluate(() => { window.longest = { task: 0, frame: 0 }; });

async function picture(tab, name) {
  fs.mkdirSync(CAY_PAGE_SHOTS, { recursive: true });
  await tab.evaluate(() => { for (const n of document.querySelectorAll('.note')) n.remove(); });
  await tab.mouse.move(2, 600); // over nothing
  await tab.screenshot({ path: path.join(CAY_PAGE_SHOTS, `${name}.png`), animations: 'disabled' });
}

/** What axe-core finds that keeps people out. What programs draw in the terminal has the colours that they choose. */
async function audit(tab, name, rules) {
  if (!(await tab.evaluate(() => Boolean(window.axe)))) await tab.evaluate(axe);
  const found = await tab.evaluate((only) => window.axe.run({ exclude: ['.xterm-screen'] }, { resultTypes: ['violations'], ...(only && { runOnly: only }) })
    .then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target} (${n.any[0]?.message || n.failureSummary})`).join('; ')}`)), rules);
  check(found.length === 0, `nothing in the way of people on ${name}, but there is:\n${found.join('\n')}`);
}

/** A value that is no text, shown as one: a child that was left out, a figure that is not there. What people typed and programs printed may be so. */
async function checkWords(tab, name) {
  const found = await tab.evaluate(() => {
    const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT, (n) => (n.parentElement.closest('.xterm, pre, textarea, script') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT));
    const odd = [];
    while (all.nextNode()) if (/^(false|true|undefined|null)$|\bNaN\b|\bundefined\b|\[object/.test(all.currentNode.data.trim())) odd.push(`${all.currentNode.data} in ${all.currentNode.parentElement.outerHTML.slice(0, 80)}`);
    return odd;
  });
  check(found.length === 0, `words for people on ${name}, but there is:\n${found.join('\n')}`);
}

/** One view as people see it: light, dark, on a phone, on a tablet; each for everybody, and none wider than its screen. */
export async function look(tab, name, { phone = true } = {}) {
  await checkWords(tab, name);
  await picture(tab, name);
  await audit(tab, name);
  await tab.emulateMedia({ colorScheme: 'dark' });
  await picture(tab, `${name}_dark`);
  await audit(tab, `${name} in the dark`, ['color-contrast']); // the one rule that colours are for
  if (phone) {
    await tab.setViewportSize(PHONE);
    await picture(tab, `${name}_phone`);
    await until(`${name} to be no wider than a phone`, () => tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await tab.setViewportSize(TABLET);
    await picture(tab, `${name}_tablet`);
    await until(`${name} to be no wider than a tablet`, () => tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await tab.setViewportSize(WIDE);
  }
  await tab.emulateMedia({ colorScheme: 'light' });
}

export async function showFailure(tab, name) { await picture(tab, `failed_${name}`).catch(() => {}); }

/** The text on the terminal's screen. */
export function screen(tab) {
  return tab.evaluate(() => {
    const { buffer } = document.querySelector('cay-terminal').term;
    const lines = [];
    for (let i = 0; i < buffer.active.length; i++) lines.push(buffer.active.getLine(i)?.translateToString(true) ?? '');
    return lines.join('\n');
  });
}

/** The shell has said that it is there, and keys go to it. */
export async function shellIsReady(tab) {
  await tab.waitForSelector('cay-terminal[data-state=connected]');
  await until('a prompt', async () => /[$#] *$/.test((await screen(tab)).trimEnd()));
}

export const terminalHasFocus = (tab) => until('the terminal to have the focus', () => tab.evaluate(() => document.activeElement.matches('cay-terminal textarea')));

/** Somebody with a tab, and what they do again and again. help: see steps.mjs. */
export class Person {
  constructor(browser, help, owner) {
    Object.assign(this, { browser, owner });
    this.help = (what, args = {}) => help(what, { owner, ...args });
  }

  async signIn(scope = 'exec') {
    this.tab = await openTab(this.browser);
    await this.tab.goto(await this.help('login', { scope }));
    await this.tab.waitForSelector('#who');
    return this;
  }

  async another(owner, scope) { return new Person(this.browser, (what, args) => this.help(what, args), owner).signIn(scope); }

  async leave() {
    checkFaults(this.tab);
    await this.tab.context().close();
  }

  go(where) { return this.tab.goto(`${BASE}/#/${where}`); }

  async open(box, pane = '') {
    await this.go(`sandbox/${box}${pane ? `?pane=${pane}` : ''}`);
    await this.tab.waitForSelector(`cay-sandbox[sandbox="${box}"] .state:not(:empty)`);
  }

  async terminal(box, pane) {
    await this.open(box, pane);
    await shellIsReady(this.tab);
  }

  async shell(text, wanted) {
    await this.tab.locator('cay-terminal .xterm-helper-textarea').focus();
    await this.tab.keyboard.insertText(text);
    await this.tab.keyboard.press('Enter');
    return until(`${wanted} after ${text}`, async () => { const s = await screen(this.tab); return wanted.test(s) && s; });
  }

  async box(fields = {}) { return (await this.help('make', { fields }))[0]; }
  destroy(...boxes) { return this.help('destroy', { boxes }); }
}
