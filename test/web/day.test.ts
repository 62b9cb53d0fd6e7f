import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { PictureCanvas } from '../../web/src/views/batch/picture.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { usePages } from './support/browser.ts';
import { answered, answers, ask, composer } from './support/chat-page.ts';
import { slowDownloads } from './support/slow-downloads.ts';

const open = usePages();
// The batch is for the operator.
const ARGS = ['--api-key=a-user-key', '--admin-api-key=the-right-key', '--max-num-seqs=8'];
const DESK = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };

interface Sent {
  readonly messages: readonly { readonly role: string; readonly content: string | null }[];
}

/** Tokens before which a story does not end. */
const STORY_TOKENS = 1200;

/**
 * Bodies of all chats that a page sends. The server is asked only the last question of each, greedy: after a story of
 * chance length a small model may add up wrongly, or say nothing. Stories do not end soon.
 */
async function watchChats(page: Page): Promise<Sent[]> {
  const bodies: Sent[] = [];
  await page.context().route('**/v1/chat/completions', async (route) => {
    const body = route.request().postDataJSON() as Sent;
    bodies.push(body);
    const question = body.messages.findLastIndex(({ role }) => role === 'user');
    const messages = body.messages.slice(question);
    // Not `ignore_eos`: after the end of its text a model may write only tokens that nobody sees.
    const min_tokens = messages[0]?.content?.includes('story') ? STORY_TOKENS : 0;
    const postData = JSON.stringify({ ...body, messages, temperature: 0, min_tokens });
    await route.continue({ postData });
  });
  return bodies;
}

async function giveKey(page: Page, key: string, isKept = false): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'API key' });
  await dialog.getByLabel('Key', { exact: true }).fill(key);
  if (isKept) await dialog.getByLabel('Keep it in this browser').check();
  await page.keyboard.press('Enter');
}

/** Presses Tab until the focus is on what has this name, as those do who have no mouse. */
async function tabTo(page: Page, name: RegExp, key = 'Tab'): Promise<void> {
  for (let turn = 0; turn < 60; turn++) {
    const focused = await page.evaluate(() => {
      const { activeElement } = document;
      return activeElement?.getAttribute('aria-label') ?? activeElement?.textContent ?? '';
    });
    if (name.test(focused)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`Tab does not lead to ${name}`);
}

async function written(page: Page, characters: number): Promise<void> {
  const text = page.locator('.answer .markdown').last();
  await expect
    .poll(async () => (await text.allTextContents()).join('').length)
    .toBeGreaterThan(characters);
}

const titles = (page: Page) => page.locator('.chat-list-item a').allInnerTexts();

const barsOf = (page: Page) =>
  page
    .locator('.batch-picture canvas')
    .first()
    .evaluate((canvas: PictureCanvas) => canvas.drawnBars?.() ?? []);

/** One finger goes across, in some steps, as the browser gets it from a screen. */
async function swipe(page: Page, from: { x: number; y: number }, across: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', moved: number) =>
    session.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: type === 'touchEnd' ? [] : [{ x: from.x + moved, y: from.y }],
    });
  await touch('touchStart', 0);
  for (let step = 1; step <= 8; step++) await touch('touchMove', (across * step) / 8);
  await touch('touchEnd', across);
  await session.detach();
}

/** Uses of a phone: two chats, and a look at the batch. */
async function handle(page: Page): Promise<void> {
  const list = page.getByRole('complementary', { name: 'Chats' });
  const openList = async () => {
    await page.getByRole('button', { name: 'Chats', exact: true }).tap();
    await list.waitFor();
  };
  for (const question of ['What is 2 + 6?', 'What is 4 + 5?']) {
    await composer(page).fill(question);
    await page.getByRole('button', { name: 'Send', exact: true }).tap();
    await answered(page);
    await openList();
    await list.getByRole('button', { name: 'New chat' }).tap();
    await expect.poll(() => list.isVisible()).toBe(false);
  }
  await openList();
  // Beside the list is what closes it.
  await page.touchscreen.tap(PHONE.width - 12, 400);
  await expect.poll(() => list.isVisible()).toBe(false);
  await openList();
  await list.getByRole('link', { name: '2 + 6' }).tap();
  await expect.poll(() => list.isVisible()).toBe(false);
  expect((await answers(page))[0]).toContain('8');
  // Where nothing hovers, what is done to a chat is seen without it.
  await openList();
  await list.getByRole('button', { name: /^Delete .*4 \+ 5/ }).tap();
  await page.getByRole('button', { name: 'Undo' }).tap();
  await expect.poll(async () => (await titles(page)).length).toBe(2);
  await page.getByRole('button', { name: 'Close the list of chats' }).tap();

  await page.getByRole('link', { name: 'Batch', exact: true }).tap();
  await page.getByRole('button', { name: 'Send 16 requests' }).first().tap();
  const lanes = page.locator('.batch-picture canvas').first();
  await expect.poll(async () => (await barsOf(page)).length).toBeGreaterThan(4);
  await page.getByRole('button', { name: 'Send 16 requests' }).first().waitFor();
  await lanes.scrollIntoViewIfNeeded();
  const frame = await lanes.boundingBox();
  if (frame === null) throw new Error('there is no picture');
  const middle = { x: frame.x + frame.width / 2, y: frame.y + frame.height / 2 };
  // So that there is more than is in sight.
  for (let turn = 0; turn < 2; turn++) await page.getByRole('button', { name: 'Zoom in' }).tap();
  const ends = async () =>
    new Map((await barsOf(page)).map(({ name, box }) => [name, box.x + box.width]));
  await swipe(page, middle, 40);
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  const before = await ends();
  // Bars under the finger go with it, here back in time.
  await swipe(page, middle, 100);
  const moves = async () =>
    [...(await ends())].flatMap(([name, end]) => {
      const was = before.get(name);
      return was === undefined ? [] : [Math.abs(end - was - 100) <= 2];
    });
  await expect.poll(moves).toContain(true);
  expect(await moves()).not.toContain(false);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.width);
}

test('a day with the page', async () => {
  let server: ServerProcess = await startServer(ARGS);
  const { port } = new URL(server.url);
  try {
    // In the morning: a wrong key, then the right one; what was asked before is answered.
    const page = await open(server.url, { viewport: DESK });
    const sent = await watchChats(page);
    await giveKey(page, 'a-wrong-key');
    await page.getByText('The server says that this key is not valid.').waitFor();
    await giveKey(page, 'the-right-key', true);
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await ask(page, 'What is 3 + 4?');
    expect((await answers(page))[0]).toContain('7');

    // A long answer; the page is reloaded in the midst of it, and the answer continued.
    const speedUp = await slowDownloads(page);
    await page.keyboard.press('Alt+N');
    await composer(page).fill('Tell me a story about a river.');
    await page.keyboard.press('Enter');
    await written(page, 80);
    await page.reload();
    await page.getByRole('button', { name: 'Continue' }).waitFor();
    const [kept = ''] = await answers(page);
    expect(kept.length).toBeGreaterThan(40);
    await page.getByRole('button', { name: 'Continue' }).click();
    await written(page, kept.length + 40);
    await page.keyboard.press('Escape');
    await answered(page);
    expect((await answers(page))[0]?.slice(0, 40)).toBe(kept.slice(0, 40));
    await speedUp();

    // A second tab, in the same chat: what is asked there is seen here.
    const second = await page.context().newPage();
    await second.goto(page.url());
    await expect.poll(() => answers(second)).toHaveLength(1);
    await ask(second, 'What is 1 + 1?');
    await expect.poll(() => answers(page)).toEqual(await answers(second));
    await second.close();

    // At noon the server is gone. What is asked fails, says why, and can be asked again.
    await server.stop('SIGKILL');
    await page.locator('.banner').getByText('The server does not answer.').waitFor();
    await ask(page, 'What is 5 + 3?');
    expect(await page.locator('.answer-error').innerText()).toContain('does not answer');
    await composer(page).fill('A thought for later');
    server = await startServer([...ARGS, '--port', port]);
    await expect.poll(() => page.locator('.banner').count()).toBe(0);
    await page.getByRole('button', { name: 'Try again' }).click();
    await answered(page);
    expect(sent.at(-1)?.messages.map(({ content }) => content)).toEqual([
      'Tell me a story about a river.',
      expect.stringContaining(kept.slice(0, 40)),
      'What is 1 + 1?',
      expect.stringContaining('2'),
      'What is 5 + 3?',
    ]);
    expect((await answers(page)).at(-1)).toContain('8');
    expect(await page.locator('.answer-error').count()).toBe(0);
    expect(await composer(page).inputValue()).toBe('A thought for later');

    // In the afternoon without a mouse: another chat, its title, and back by search.
    await page.keyboard.press('Alt+N');
    await page.keyboard.type('What is 2 + 2?');
    await page.keyboard.press('Enter');
    await answered(page);
    await tabTo(page, /^More$/, 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('menu').waitFor();
    await page.keyboard.press('r');
    await page.keyboard.press('Enter');
    await page.getByLabel('Title').waitFor();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('Sums');
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await titles(page))[0]).toBe('Sums');
    await page.keyboard.press('Control+K');
    await page.getByRole('combobox', { name: 'Search' }).waitFor();
    await page.keyboard.type('river');
    await page.getByRole('dialog').getByRole('option').first().waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.chat-header h1').innerText()).toContain('river');
    // Typed text is still there.
    expect(await composer(page).inputValue()).toBe('A thought for later');
    await tabTo(page, /^Batch$/, 'Shift+Tab');
    await page.keyboard.press('Enter');
    await tabTo(page, /^Send 16 requests/);
    const numBars = (await barsOf(page)).length;
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await barsOf(page)).length).toBeGreaterThan(numBars + 4);

    // In the evening by phone, in the same browser.
    await page.setViewportSize(PHONE);
    for (const view of ['Completion', 'Batch', 'Status', 'Bench', 'Chat']) {
      await page.getByRole('link', { name: view, exact: true }).click();
      await page.locator('main h1').first().waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.width);
    }
    await page.getByRole('button', { name: 'Chats', exact: true }).click();
    await page.getByRole('link', { name: 'Sums', exact: true }).hover();
    await page.getByRole('button', { name: 'Delete Sums' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => (await titles(page)).includes('Sums')).toBe(true);

    // The next day all of it is there.
    await page.reload();
    await page.getByRole('button', { name: 'Chats', exact: true }).click();
    await expect.poll(async () => (await titles(page)).length).toBe(3);
    await page.locator('.chat-list-item a').filter({ hasText: 'river' }).click();
    await expect.poll(() => page.locator('.user-message').count()).toBe(3);
    expect(await composer(page).inputValue()).toBe('A thought for later');

    // And a phone of its own, with fingers alone.
    const phone = await open(server.url, { viewport: PHONE, hasTouch: true, isMobile: true });
    await watchChats(phone);
    await giveKey(phone, 'the-right-key');
    await handle(phone);

    // No answer that failed or is empty was ever sent to the model as its own.
    const own = sent.flatMap(({ messages }) => messages.filter(({ role }) => role === 'assistant'));
    expect(own.length).toBeGreaterThan(0);
    for (const { content } of own) expect(content).toMatch(/\S/);
    for (const { messages } of sent) {
      const roles = messages.map(({ role }) => role);
      expect(roles.some((role, index) => role === roles[index - 1])).toBe(false);
    }
  } finally {
    await server.stop();
  }
}, 180_000);
