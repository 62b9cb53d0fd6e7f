import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { usePages } from './support/browser.ts';
import { answers, ask } from './support/chat-page.ts';
import { useServer } from './support/server.ts';

const url = useServer();
const open = usePages();

const NUM_MESSAGES = 10_000;

function longChat(): string {
  const messages = Array.from({ length: NUM_MESSAGES }, (_, index) => ({
    id: `m${index}`,
    parentId: index === 0 ? null : `m${index - 1}`,
    chatId: 'c',
    role: index % 2 === 0 ? 'user' : 'assistant',
    createdAt: index,
    content: `Message ${index}: ${'words '.repeat((index * 7) % 60)}`,
  }));
  return JSON.stringify({
    format: 'chairlift-chats',
    version: 1,
    chats: [{ chat: { id: 'c', title: 'A long chat', settings: {}, chosen: {} }, messages }],
  });
}

async function importFile(page: Page, text: string): Promise<void> {
  await page.getByRole('button', { name: 'More' }).click();
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('menuitem', { name: 'Import JSON' }).click();
  const buffer = Buffer.from(text);
  await (await chooser).setFiles({ name: 'chats.json', mimeType: 'application/json', buffer });
}

/** Saves what a menu's item makes. */
async function exported(page: Page, item: string): Promise<string> {
  await page.getByRole('button', { name: 'More' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: item }).click();
  return readFile(await (await download).path(), 'utf8');
}

test('10,000 messages scroll, and only those in sight exist', async () => {
  const page = await open(url());
  await importFile(page, longChat());
  await page.getByText(`Message ${NUM_MESSAGES - 1}:`).waitFor();
  expect(await page.locator('.row').count()).toBeLessThan(60);
  const list = page.locator('.messages');
  // To the first, in leaps: what is in between is never made.
  await list.evaluate((element) => (element.scrollTop = 0));
  await page.getByText('Message 0:').waitFor();
  await list.evaluate((element) => (element.scrollTop = element.scrollHeight / 2));
  await expect
    .poll(async () => Number(/Message (\d+)/.exec(await list.innerText())?.[1]))
    .toBeGreaterThan(3000);
  expect(await page.locator('.row').count()).toBeLessThan(60);
  // Frames that scrolling by wheel takes: they may not stand still. A machine with other work may.
  const usual = await list.evaluate(async (element) => {
    const times: number[] = [];
    for (let turn = 0; turn < 60; turn++) {
      const begun = performance.now();
      element.scrollTop += 300;
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      times.push(performance.now() - begun);
    }
    return times.toSorted((a, b) => a - b)[30];
  });
  expect(usual).toBeLessThan(500);
  await page.getByRole('button', { name: 'To the end' }).click();
  await page.getByText(`Message ${NUM_MESSAGES - 1}:`).waitFor();
});

test('chats are there after the page is loaded again', async () => {
  const page = await open(url());
  await ask(page, 'What is 5 + 6?');
  const before = await answers(page);
  await page.reload();
  await page.locator('.chat-list-item', { hasText: 'What is 5 + 6?' }).click();
  await page.locator('.answer').waitFor();
  expect(await answers(page)).toEqual(before);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Delete this chat' }).click();
  await page.getByText('Ask something').waitFor();
  await page.reload();
  await page.getByText('Chats are kept in this browser.').waitFor();
});

test('an exported chat can be imported, and read', async () => {
  const page = await open(url());
  await ask(page, 'What is 7 + 8?');
  const [answer = ''] = await answers(page);
  const json = await exported(page, 'Export as JSON');
  const markdown = await exported(page, 'Export as Markdown');
  expect(markdown).toContain('# What is 7 + 8?\n\n## User\n\nWhat is 7 + 8?\n\n## Assistant');
  expect(markdown).toContain(answer);
  await importFile(page, json);
  await expect.poll(() => page.locator('.chat-list-item').count()).toBe(2);
  await expect.poll(() => answers(page)).toEqual([answer]);
  await importFile(page, '{"format": "other"}');
  await page.getByText('chats.json: This is not a file of chats.').waitFor();
});
