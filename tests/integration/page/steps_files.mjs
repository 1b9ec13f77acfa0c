// SPDX-License-Identifier: Apache-2.0
// Files: the editor loses nothing, the list follows the sandbox, names need not be text; processes can be ended.
import fs from 'node:fs';
import { check, look, until } from './page.mjs';

const cat = async (p, box, file) => (await p.help('run', { box, command: `od -An -c ${file} | tr -d ' \\n'` })).stdout;

export async function the_editor_keeps_what_it_was_not_told_to_change(p) {
  const { tab } = p;
  const box = await p.box({ name: 'editor-test' });
  await p.help('run', { box, command: "printf 'one\\r\\ntwo\\r\\nthree\\nfour' > crlf; echo mine > shared" });
  await p.open(box, 'files');
  await tab.click('.files button:text("crlf")');
  await tab.fill('dialog textarea', 'one\ntwo\nand a half\nthree\nfour');
  await tab.keyboard.press('Control+s');
  await tab.waitForSelector('dialog:has-text("Saved")');
  check((await cat(p, box, 'crlf')) === 'one\\r\\ntwo\\r\\nandahalf\\r\\nthree\\nfour', `line ends stay: ${await cat(p, box, 'crlf')}`);
  await tab.keyboard.press('Escape'); // nothing is unsaved
  await tab.locator('dialog').waitFor({ state: 'detached' });
  // Escape with edits asks.
  await tab.click('.files button:text("shared")');
  await tab.fill('dialog textarea', 'edited\n');
  await tab.keyboard.press('Escape');
  await tab.waitForSelector('dialog:has-text("Discard your changes?")');
  await tab.keyboard.press('Enter'); // that is: keep editing
  await until('the editor alone', async () => (await tab.locator('dialog').count()) === 1);
  check((await tab.inputValue('dialog textarea')) === 'edited\n', 'the edits are still there');
  // Somebody else was quicker.
  await p.help('run', { box, command: 'echo theirs > shared' });
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('dialog .clash:has-text("changed in the sandbox")');
  check((await p.help('run', { box, command: 'cat shared' })).stdout === 'theirs\n', 'theirs is not overwritten');
  await look(tab, 'edit_clash', { phone: false });
  await tab.click('dialog button:has-text("Load the new version")');
  await until('their text', async () => (await tab.inputValue('dialog textarea')) === 'theirs\n');
  await tab.fill('dialog textarea', 'both\n');
  await tab.click('dialog button[type=submit]');
  await tab.locator('dialog').waitFor({ state: 'detached' });
  check((await p.help('run', { box, command: 'cat shared' })).stdout === 'both\n', 'then it is saved');
  await p.destroy(box);
}

export async function files_follow_the_sandbox(p) {
  const { tab } = p;
  const box = await p.box({ name: 'watch-test' });
  await p.help('run', { box, command: 'mkdir docs; echo text > docs/read.me; touch "$(printf \'bad\\377name\')"; echo x > plain' });
  await p.open(box, 'files');
  // One name that is no text hides nothing, and can be worked with.
  await tab.waitForSelector('.files li:has-text("plain")');
  await tab.waitForSelector('.files li:has-text("bad\ufffdname")');
  await tab.click('button[aria-label="Rename bad\ufffdname"]');
  await tab.fill('dialog input[name=path]', 'plain');
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('dialog .problem:not(:empty), dialog .field-problem'); // it is there already, and that is said in the dialog
  await tab.fill('dialog input[name=path]', 'docs-2');
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('.files li:has-text("docs-2")');
  check((await p.help('run', { box, command: 'ls' })).stdout === 'docs\ndocs-2\nplain\n', 'it has the new name');
  // What commands do is seen without asking.
  await p.help('run', { box, command: 'echo hello > appeared; rm plain' });
  await tab.waitForSelector('.files li:has-text("appeared")');
  await tab.locator('.files li:has-text("plain")').waitFor({ state: 'detached' });
  // A file moved to another folder, a new one, a folder as an archive.
  await tab.click('button[aria-label="Rename appeared"]');
  await tab.fill('dialog input[name=path]', '/workspace/docs/moved');
  await tab.click('dialog button[type=submit]');
  await tab.locator('.files li:has-text("appeared")').waitFor({ state: 'detached' });
  await tab.click('button:has-text("New file")');
  await tab.fill('dialog input[name=path]', 'fresh.txt');
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('.files li:has-text("fresh.txt")');
  const [download] = await Promise.all([tab.waitForEvent('download'), tab.click('button[aria-label="Download docs"]')]);
  check(download.suggestedFilename() === 'docs.tar.gz' && fs.readFileSync(await download.path()).readUInt16BE(0) === 0x1f8b, `a folder comes as an archive: ${download.suggestedFilename()}`);
  check((await p.help('run', { box, command: 'cat docs/moved' })).stdout === 'hello\n', 'what was moved is whole');
  await p.destroy(box);
}

export async function an_upload_shows_its_progress(p) {
  const { tab } = p;
  const box = await p.box({ name: 'upload-test' });
  await p.open(box, 'files');
  await tab.waitForSelector('cay-files .crumbs button:text("workspace")');
  let open;
  const gate = new Promise((r) => { open = r; });
  await tab.route(/files\?path=.*large/, async (route) => { await gate; await route.continue(); });
  await tab.setInputFiles('cay-files input[type=file]', { name: 'large.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(3000000, 7) });
  await tab.waitForSelector('.uploads li:has-text("large.bin") progress');
  open();
  await tab.waitForSelector('.files li:has-text("large.bin"):has-text("2.9 MB")');
  await until('the bar to go', async () => (await tab.locator('.uploads li').count()) === 0);
  await tab.unroute(/files\?path=.*large/);
  // One that is cancelled is not there.
  let go;
  const held = new Promise((r) => { go = r; });
  await tab.route(/files\?path=.*second/, async (route) => { await held; await route.abort().catch(() => {}); });
  await tab.setInputFiles('cay-files input[type=file]', { name: 'second.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(1000) });
  await tab.click('button[aria-label="Cancel the upload of second.bin"]');
  await until('the bar to go', async () => (await tab.locator('.uploads li').count()) === 0);
  go();
  await tab.unroute(/files\?path=.*second/);
  check((await p.help('run', { box, command: 'ls' })).stdout === 'large.bin\n', 'one that was cancelled is not there');
  // A folder is not taken for a file that cannot be read; what is dropped beside it is uploaded.
  await tab.evaluate(() => {
    const drop = new Event('drop', { cancelable: true });
    drop.dataTransfer = { items: [{ webkitGetAsEntry: () => ({ isDirectory: true, name: 'pictures' }) }, {}], files: [new File(['?'], 'pictures'), new File(['text'], 'beside')] };
    document.querySelector('cay-files').dispatchEvent(drop);
  });
  await tab.waitForSelector('.note.bad:has-text("Folders cannot be uploaded (pictures)")');
  await tab.waitForSelector('.files li:has-text("beside")');
  check((await p.help('run', { box, command: 'ls' })).stdout === 'beside\nlarge.bin\n', 'the file alone came');
  await p.destroy(box);
}

export async function a_process_can_be_ended(p) {
  const { tab } = p;
  const box = await p.box({ name: 'process-test' });
  await p.help('start', { box, command: ['python3', '-c', 'x = bytearray(20 << 20)\nwhile True: pass'] });
  await p.open(box, 'processes');
  const row = tab.locator('.processes tr:has-text("bytearray")');
  await until('what it uses', async () => /\d+ %.*2\d(\.\d)? MB/.test((await row.allTextContents())[0] || ''));
  await row.locator('button').click();
  await tab.waitForSelector('dialog:has-text("End process")');
  await tab.click('dialog button[type=submit]');
  await row.waitFor({ state: 'detached' });
  await p.destroy(box);
}
