/** Content of each picture. */
import type { Page } from 'playwright-core';
import { ask, openSettings, setParameter } from '../../test/web/support/chat-page.ts';
import { BATCH_FLAGS, showBatch } from './batch-load.ts';
import { bench, completion, docs, status } from './prepare-shots.ts';

const DRAWING = 'test/fixtures/drawings/0019.png';

export interface Shot {
  /** Name of the file. */
  readonly name: string;
  readonly path: string;
  /** Flags of `chairlift serve`. */
  readonly args?: readonly string[];
  /** 1200 by 750 if left out. */
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Brings the page to where it is worth a picture. */
  readonly prepare?: (page: Page, url: string) => Promise<void>;
}

export const SHOTS: readonly Shot[] = [
  { name: 'chat', path: '/', prepare: chat },
  { name: 'tokens', path: '/', prepare: tokens },
  { name: 'image', path: '/', args: ['--model', 'test/fixtures/lookout'], prepare: image },
  { name: 'completion', path: '/ui/completion', prepare: completion },
  { name: 'batch', path: '/ui/batch', args: BATCH_FLAGS, prepare: showBatch },
  { name: 'status', path: '/ui/status', args: ['--model-control', 'explicit'], prepare: status },
  {
    name: 'bench',
    path: '/ui/bench',
    viewport: { width: 1200, height: 1100 },
    prepare: bench,
  },
  { name: 'docs', path: '/docs', prepare: docs },
];

async function chat(page: Page): Promise<void> {
  await openSettings(page);
  await setParameter(page, 'seed', '7');
  await page.getByRole('button', { name: 'Close settings' }).click();
  await ask(page, 'What is 23 + 45?');
  await ask(page, 'Tell me a short story about a dog.');
}

async function image(page: Page): Promise<void> {
  const chosen = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Attach images or text files', exact: true }).click();
  await (await chosen).setFiles(DRAWING);
  await page.locator('.attachments img').waitFor();
  await ask(page, 'What is in this image?');
}

async function tokens(page: Page): Promise<void> {
  await openSettings(page);
  await setParameter(page, 'seed', '7');
  await page.getByLabel('Show tokens and their alternatives').check();
  await ask(page, 'Tell me a short story about a fox.');
  await page.getByRole('button', { name: 'Tokens' }).click();
  await page.locator('.messages').evaluate((element) => (element.scrollTop = 0));
  await page.locator('.token.open, .token.rare').nth(2).hover();
  await page.locator('.alternatives').waitFor();
}
