import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { seriousFaults } from './support/axe.ts';
import { usePages } from './support/browser.ts';
import { ask, openSettings } from './support/chat-page.ts';
import { answerWith } from './support/fake-answers.ts';
import { useServer } from './support/server.ts';

const url = useServer();
const open = usePages();

// A transition that begins while axe reads is seen halfway, in colors that no reader is left with.
const STILL = { reducedMotion: 'reduce' } as const;

const RICH = `# Title\n\nText with \`code\`, [a link](https://example.com) and **more**.

\`\`\`typescript
const veryLong: string = '${'x'.repeat(200)}'; // A comment
\`\`\`

| a | b |\n| --- | --: |\n| ${'wide '.repeat(40)} | 2 |\n\n> Quoted\n\n1. One\n2. Two`;

/** A chat with all that an answer can have. */
async function fillChat(page: Page): Promise<void> {
  const call = { index: 0, id: 'c', function: { name: 'look', arguments: '{"a": 1}' } };
  await answerWith(
    page,
    { deltas: [{ reasoning_content: 'Hm.' }, { content: RICH }] },
    { deltas: [{ content: 'Let me see.' }, { tool_calls: [call] }], finish: 'tool_calls' },
  );
  await ask(page, `A question. ${'Long'.repeat(60)}`);
  await ask(page, 'Another one.');
}

/** Views, with what is there once the server has answered: a button that becomes enabled while axe reads has neither color. */
const VIEWS = [
  ['/', 'main h1'],
  ['/ui/completion', 'main h1'],
  ['/ui/batch', 'button:enabled:has-text("Send 16 requests")'],
  ['/ui/status', 'main h1 + *'],
  ['/ui/bench', 'button:enabled:has-text("Start")'],
] as const;

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe finds nothing serious, ${colorScheme}`, async () => {
    const page = await open(url(), { ...STILL, colorScheme });
    for (const [path, loaded] of VIEWS) {
      await page.goto(url() + path);
      await page.locator(loaded).first().waitFor();
      expect({ path, faults: await seriousFaults(page) }).toEqual({ path, faults: [] });
    }
    await page.goto(url());
    await fillChat(page);
    await openSettings(page);
    await page.getByText('All others').click();
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'More' }).click();
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole('menuitem', { name: 'Copy as program' }).click();
    expect(await seriousFaults(page)).toEqual([]);
  });
}

test('tokens in all colors can be read', async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await open(url(), { ...STILL, colorScheme });
    await openSettings(page);
    await page.getByLabel('Show tokens and their alternatives').check();
    await ask(page, 'Tell me a short story about a hen.');
    await page.getByRole('button', { name: 'Tokens' }).click();
    await page.locator('.token').first().hover();
    expect(await seriousFaults(page)).toEqual([]);
  }
});

test('a chat fits a phone', async () => {
  const page = await open(url(), { viewport: { width: 360, height: 740 }, hasTouch: true });
  await fillChat(page);
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  expect(await width()).toBe(360);
  const cut = await page.evaluate(() =>
    [...document.querySelectorAll('main button, main select, main textarea')]
      .filter((element) => element.checkVisibility({ visibilityProperty: true }))
      .filter((element) => !element.closest('.code-block, .chat-list'))
      .filter((element) => element.getBoundingClientRect().right > 361)
      .map((element) => element.outerHTML),
  );
  expect(cut).toEqual([]);
  await page.getByRole('button', { name: 'Chats' }).click();
  await page.locator('.chat-list-item').first().waitFor();
  await page.locator('.chat-list-item').first().click();
  await openSettings(page);
  expect(await width()).toBe(360);
  await page.getByRole('button', { name: 'Close settings' }).click();
});
