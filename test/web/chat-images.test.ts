import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { usePages } from './support/browser.ts';
import { ask, composer } from './support/chat-page.ts';
import { answerWith } from './support/fake-answers.ts';
import { useServer } from './support/server.ts';

const url = useServer();
const open = usePages();

const DOT = Buffer.from('R0lGODlhAQABAIABAP///wAAACwAAAAAAQABAAACAkQBADs=', 'base64');
const DOT_URL = `data:image/gif;base64,${DOT.toString('base64')}`;
const FILE = { name: 'dot.gif', mimeType: 'image/gif', buffer: DOT };

/** Has the server's model say that it takes images, which the embedded one does not. */
async function openSeeing(): Promise<Page> {
  const page = await open(url());
  await page.route('**/v1/models', async (route) => {
    const response = await route.fetch();
    const { data } = (await response.json()) as { data: { capabilities: string[] }[] };
    for (const { capabilities } of data) capabilities.push('vision');
    await route.fulfill({ response, json: { object: 'list', data } });
  });
  await page.reload();
  return page;
}

async function attach(page: Page, label: string): Promise<void> {
  const chosen = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: label, exact: true }).click();
  await (await chosen).setFiles(FILE);
}

test('an image is attached, sent before the text, shown, and kept', async () => {
  const page = await openSeeing();
  const bodies = await answerWith(page, {
    deltas: [{ content: 'A dot.' }],
    usage: {
      prompt_tokens: 80,
      completion_tokens: 3,
      prompt_tokens_details: { cached_tokens: 0, image_tokens: 64 },
    },
  });
  await attach(page, 'Attach images or text files');
  await page.locator('.attachments img').waitFor();
  await ask(page, 'What is this?');
  expect(bodies[0]?.['messages']).toEqual([
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: DOT_URL } },
        { type: 'text', text: 'What is this?' },
      ],
    },
  ]);
  await page.getByText(/^83 .*context, 64 of images$/).waitFor();
  await page.reload();
  const shown = page.getByRole('img', { name: 'dot.gif' });
  await expect.poll(() => shown.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1);
});

test('a model without eyes is sent no image', async () => {
  const page = await open(url());
  await attach(page, 'Attach text files');
  await page.getByText('dot.gif: This model takes no images.').waitFor();
  expect(await page.locator('.attachments').count()).toBe(0);
  await composer(page).waitFor();
});
