import { expect, test } from 'vitest';
import { usePages } from './support/browser.ts';
import { answers, ask } from './support/chat-page.ts';
import { useServer } from './support/server.ts';

const url = useServer(['--api-key', 'a-secret-key']);
const open = usePages();

test('the page asks for the key, and forgets it with the tab', async () => {
  const page = await open(url());
  const dialog = page.getByRole('dialog', { name: 'API key' });
  await dialog.getByLabel('Key').fill('a-secret-key');
  await dialog.getByRole('button', { name: 'Use this key' }).click();
  await ask(page, 'What is 1 + 1?');
  expect((await answers(page))[0]).toContain('2');
  const kept = () =>
    page.evaluate(() =>
      JSON.stringify([
        Object.entries(localStorage),
        Object.entries(sessionStorage),
        document.cookie,
      ]),
    );
  expect(await kept()).not.toContain('a-secret-key');
  await page.reload();
  await dialog.waitFor();
  await dialog.getByLabel('Key').fill('a-secret-key');
  await dialog.getByLabel('Keep it in this browser').check();
  await dialog.getByRole('button', { name: 'Use this key' }).click();
  expect(await kept()).toContain('a-secret-key');
  await page.reload();
  await page
    .getByLabel('Model', { exact: true })
    .locator('option')
    .first()
    .waitFor({ state: 'attached' });
  expect(await dialog.count()).toBe(0);
});
