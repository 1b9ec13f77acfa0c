// SPDX-License-Identifier: Apache-2.0
// Playwright and Puppeteer, as they come, on a browser in a sandbox: clients.mjs STEP…; the address is in CDP_URL.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(process.env.CAY_BROWSER_NPM + '/');
const { chromium } = require('playwright-core');
const puppeteer = require('puppeteer-core');
const SITE = 'http://127.0.0.1:8000';
const url = process.env.CDP_URL;

const connect = (...more) => chromium.connectOverCDP(url, ...more);

const steps = {
  async playwright() {
    const browser = await connect();
    const page = browser.contexts()[0].pages()[0];
    await page.goto(SITE + '/');
    await page.fill('#name', 'Tea ☕');
    await page.click('#add');
    assert.equal(await page.title(), 'Cart');
    assert.equal(await page.textContent('#cart'), 'Tea ☕');
    assert.equal(await page.frame('inner').textContent('#in'), 'inside');
    assert.ok((await page.screenshot({ fullPage: true })).length > 1000);
    assert.equal((await page.pdf()).subarray(0, 5).toString(), '%PDF-');
    const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#pop')]);
    await popup.waitForLoadState();
    assert.equal(await popup.title(), 'Frame');
    await popup.close();
    page.once('dialog', d => d.accept());
    await page.click('#ask');
    assert.equal(await page.title(), 'true');
    await page.setInputFiles('#up', { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('sent') });
    await page.waitForFunction(() => document.title === 'up:sent');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#file')]);
    assert.equal(download.suggestedFilename(), 'report.bin');
    await page.goto(SITE + '/app');
    await page.click('a');
    assert.equal(await page.textContent('h2'), 'Number one');
    await page.goto(SITE + '/worker');
    await page.waitForFunction(() => document.title === 'ready');
    await page.goto(SITE + '/many');
    await page.waitForFunction(() => document.title === 'got 19900');
    await browser.close();
  },

  // Two Playwrights and a Puppeteer at once: each has its own sessions, rules for requests and contexts.
  async several() {
    const [one, two, three] = await Promise.all([connect(), connect(),
      puppeteer.connect({ browserWSEndpoint: url, defaultViewport: null })]);
    const mine = await (await one.newContext()).newPage();
    const yours = await (await two.newContext()).newPage();
    await mine.route('**/*', r => r.fulfill({ contentType: 'text/html', body: '<title>mine</title>' }));
    const theirs = await (await three.createBrowserContext()).newPage();
    await Promise.all([mine.goto(SITE + '/frame'), yours.goto(SITE + '/frame'), theirs.goto(SITE + '/')]);
    assert.deepEqual([await mine.title(), await yours.title(), await theirs.title()], ['mine', 'Frame', 'Shop']);
    await theirs.type('#name', 'puppet');
    await theirs.click('#add');
    assert.equal(await theirs.$eval('#cart', e => e.textContent), 'puppet');
    await theirs.browserContext().close(); // Puppeteer's contexts outlive it
    await three.disconnect();
    await one.close();
    assert.equal(await yours.title(), 'Frame'); // the others' leaving changes nothing
    await two.close();
  },

  // Bytes both ways that are larger than any buffer on the way.
  async large() {
    const browser = await connect();
    const page = browser.contexts()[0].pages()[0];
    await page.goto('about:blank');
    const text = await page.evaluate(n => 'x'.repeat(n), 10 << 20);
    assert.equal(text.length, 10 << 20);
    assert.equal(await page.evaluate(t => t.length, 'x'.repeat(10 << 20)), 10 << 20);
    await browser.close();
  },

  async still_there() {
    const browser = await connect();
    assert.equal(await browser.contexts()[0].pages()[0].title(), process.env.TITLE);
    await browser.close();
  },

  async open_frame() {
    const browser = await connect();
    await browser.contexts()[0].pages()[0].goto(SITE + '/frame');
    await browser.close();
  },

  async by_http() {
    const browser = await chromium.connectOverCDP(process.env.HTTP_URL, { headers: { Authorization: 'Bearer ' + process.env.TOKEN } });
    assert.ok(browser.version());
    await browser.close();
  },

  async crash() {
    const browser = await connect();
    const page = await browser.contexts()[0].newPage();
    const crashed = page.waitForEvent('crash');
    page.goto('chrome://crash').catch(() => {});
    await crashed;
    const other = await browser.contexts()[0].newPage();
    await other.goto(SITE + '/frame');
    assert.equal(await other.title(), 'Frame');
    await other.close();
    await page.close();
    await browser.close();
  },

  // Puppeteer's close ends the browser itself.
  async close() {
    await (await puppeteer.connect({ browserWSEndpoint: url })).close();
  },
};

for (const name of process.argv.slice(2)) {
  await steps[name]();
  console.log('ok', name);
}
process.exit(0);
