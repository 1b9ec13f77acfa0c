// SPDX-License-Identifier: Apache-2.0
// Small things that the page's tests share: a browser, waiting, screenshots, and figures that the page itself takes.
import fs from 'node:fs';
import path from 'node:path';

const { CAY_PAGE_NPM, CAY_PAGE_SHOTS } = process.env;
const { chromium } = await import(path.join(CAY_PAGE_NPM, 'node_modules/playwright-core/index.mjs'));

export const WAIT = 30000;

export async function openBrowser() {
  return chromium.launch({ executablePath: process.env.CAY_PAGE_BROWSER || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });
}

/** A tab of its own person. What the page must never do is noted: errors, refused by its policy, requests to elsewhere. */
export async function openTab(browser, base, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...options });
  const tab = await context.newPage();
  tab.faults = [];
  tab.on('pageerror', (e) => tab.faults.push(`error: ${e.message}`));
  tab.on('console', (m) => { if (m.type() === 'error' && /Content Security Policy|Refused to/.test(m.text())) tab.faults.push(`policy: ${m.text()}`); });
  tab.on('request', (r) => { if (!r.url().startsWith(base) && !/^(blob|data|about):/.test(r.url())) tab.faults.push(`elsewhere: ${r.url()}`); });
  tab.setDefaultTimeout(WAIT);
  await tab.addInitScript(() => {
    window.longest = 0;
    new PerformanceObserver((list) => { for (const e of list.getEntries()) window.longest = Math.max(window.longest, e.duration); }).observe({ entryTypes: ['longtask'] });
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

export async function shot(tab, name, options = {}) {
  fs.mkdirSync(CAY_PAGE_SHOTS, { recursive: true });
  await tab.evaluate(() => { for (const n of document.querySelectorAll('.note')) n.remove(); });
  await tab.screenshot({ path: path.join(CAY_PAGE_SHOTS, `${name}.png`), ...options });
}

/** The text on the terminal's screen. */
export function screen(tab) {
  return tab.evaluate(() => {
    const { buffer } = document.querySelector('cay-terminal').term;
    const lines = [];
    for (let i = 0; i < buffer.active.length; i++) lines.push(buffer.active.getLine(i)?.translateToString(true) ?? '');
    return lines.join('\n');
  });
}

export async function type(tab, text) {
  await tab.locator('cay-terminal .xterm-helper-textarea').focus();
  await tab.keyboard.type(text);
  await tab.keyboard.press('Enter');
}

export const longest = (tab) => tab.evaluate(() => window.longest);
export const forgetLongest = (tab) => tab.evaluate(() => { window.longest = 0; });
