import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { usePages } from './support/browser.ts';
import { answered, ask, composer, openSettings, setParameter } from './support/chat-page.ts';
import { answerWith } from './support/fake-answers.ts';
import { useServer } from './support/server.ts';

const url = useServer();
const open = usePages();

/** Name of what has the focus, or its element. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    return element?.getAttribute('aria-label') ?? element?.id ?? element?.tagName ?? '';
  });

test('the skip link goes to the content', async () => {
  const page = await open(`${url()}/ui/status`);
  // Until there is something to go to: the status is asked for after the heading is shown.
  await page.locator('main').locator('button, a, [tabindex="0"]').first().waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await focused(page)).toBe('main');
  await page.keyboard.press('Tab');
  const isInside = await page.evaluate(
    () => document.activeElement?.closest('main') !== null && document.activeElement !== null,
  );
  expect(isInside).toBe(true);
});

test('a menu is walked through, and closed by Escape and by Tab', async () => {
  const page = await open(url());
  await page.getByRole('button', { name: 'More' }).focus();
  await page.keyboard.press('Enter');
  const items = page.getByRole('menuitem');
  await items.first().waitFor();
  const current = () => page.evaluate(() => document.activeElement?.textContent?.trim());
  expect(await current()).toBe('Copy as program');
  await page.keyboard.press('End');
  expect(await current()).toBe('Import JSON');
  await page.keyboard.press('ArrowDown');
  expect(await current()).toBe('Copy as program');
  await page.keyboard.press('e');
  expect(await current()).toBe('Export as Markdown');
  await page.keyboard.press('Home');
  expect(await current()).toBe('Copy as program');
  await page.keyboard.press('Escape');
  await expect.poll(() => items.count()).toBe(0);
  expect(await focused(page)).toBe('More');
  await page.keyboard.press('Enter');
  await items.first().waitFor();
  await page.keyboard.press('Tab');
  await expect.poll(() => items.count()).toBe(0);
  expect(await focused(page)).not.toBe('More');
});

test('Escape closes what is nearest: an answer goes on when settings are closed', async () => {
  const page = await open(url());
  await page.route('**/v1/chat/completions', async (route) => {
    const body = { ...(route.request().postDataJSON() as object), ignore_eos: true };
    await route.continue({ postData: JSON.stringify(body) });
  });
  await composer(page).fill('Tell me a story.');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  await page.getByLabel('System prompt').waitFor();
  // Opening it goes there.
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Settings');
  await page.getByLabel('System prompt').focus();
  await page.keyboard.press('Escape');
  await expect.poll(() => page.locator('.settings').count()).toBe(0);
  expect(await focused(page)).toBe('Settings');
  expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(1);
  await page.keyboard.press('Escape');
  await answered(page);
  expect(await page.locator('.answer-facts').innerText()).toContain('stopped');
});

test('the focus stays where one goes on', async () => {
  const page = await open(url());
  await answerWith(page, { deltas: [{ content: 'An answer.' }] });
  await ask(page, 'A question.');
  await page.getByRole('button', { name: 'Edit answer' }).click();
  await page.locator('.message-editor textarea:focus').waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => focused(page)).toBe('Edit answer');
  await page.getByRole('button', { name: 'Edit and ask again' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await expect.poll(() => focused(page)).toBe('Edit and ask again');
  await page.getByRole('button', { name: 'Regenerate' }).click();
  await page.getByText('2/2').waitFor();
  await expect.poll(() => focused(page)).toBe('Message');
  await page.locator('.chat-list-item').hover();
  await page.locator('.chat-list-item').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Ask something').waitFor();
  await expect.poll(() => focused(page)).toBe('Message');
});

test('those who hear the page are told that an answer is written, and how it ended', async () => {
  const page = await open(url());
  const said = page.locator('.announcer');
  await said.waitFor({ state: 'attached' });
  await page.evaluate(() => {
    const texts: string[] = Object.assign(window, { said: [] as string[] }).said;
    const element = document.querySelector('.announcer');
    if (element === null) return;
    new MutationObserver(() => texts.push(element.textContent ?? '')).observe(element, {
      subtree: true,
      childList: true,
      characterData: true,
    });
  });
  await ask(page, 'What is 3 + 4?');
  await expect.poll(() => said.innerText()).toMatch(/^The answer is finished: \d+ words?\.$/);
  const texts = await page.evaluate(() => (window as unknown as { said: string[] }).said);
  expect(texts.find((text) => text !== '')).toBe('The answer is being written.');
  expect(await said.getAttribute('role')).toBe('status');
  await page.route('**/v1/chat/completions', (route) =>
    route.fulfill({ status: 500, json: { error: { message: 'It broke.' } } }),
  );
  await ask(page, 'And now?');
  await expect.poll(() => said.innerText()).toBe('The answer failed: It broke.');
});

test('on a phone the list of chats covers nothing that closes it', async () => {
  const page = await open(url(), { viewport: { width: 360, height: 740 }, hasTouch: true });
  await ask(page, 'What is 1 + 5?');
  const list = page.locator('.chat-list');
  const isShown = () => list.evaluate((element) => getComputedStyle(element).visibility);
  await page.getByRole('button', { name: 'Chats', exact: true }).tap();
  await expect.poll(isShown).toBe('visible');
  await page.getByRole('button', { name: 'Close the list of chats' }).tap();
  await expect.poll(isShown).toBe('hidden');
  expect(await focused(page)).toBe('Chats');
  await page.getByRole('button', { name: 'Chats', exact: true }).tap();
  await expect.poll(isShown).toBe('visible');
  // Next to it.
  await page.touchscreen.tap(340, 400);
  await expect.poll(isShown).toBe('hidden');
  await page.getByRole('button', { name: 'Chats', exact: true }).tap();
  await expect.poll(isShown).toBe('visible');
  await page.keyboard.press('Escape');
  await expect.poll(isShown).toBe('hidden');
});

test('fields on a phone are large enough that Safari does not zoom in on them', async () => {
  const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
  const page = await open(url(), phone);
  await openSettings(page);
  const sizes = await page
    .locator('input:not([type=checkbox]), select, textarea')
    .evaluateAll((all) => all.map((each) => parseFloat(getComputedStyle(each).fontSize)));
  expect(sizes.length).toBeGreaterThan(5);
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(16);
});

test('a wrong parameter is red, and holds up the question until it is corrected', async () => {
  const page = await open(url());
  const bodies = await answerWith(page, { deltas: [{ content: 'An answer.' }] });
  await openSettings(page);
  await setParameter(page, 'temperature', '7');
  const note = page.locator('.parameter', { hasText: 'temperature' }).first().locator('.note');
  expect(await note.innerText()).toBe('Expected 0 to 2.');
  const [red, gray] = await note.evaluate((element) => {
    const other = element.closest('.settings')?.querySelectorAll('.note')[1];
    return [element, other].map((each) => (each ? getComputedStyle(each).color : ''));
  });
  expect(red).not.toBe(gray);
  await composer(page).fill('A question.');
  await composer(page).press('Enter');
  await page.getByText('temperature: Expected 0 to 2. Correct it or clear it first.').waitFor();
  expect(bodies).toEqual([]);
  expect(await composer(page).inputValue()).toBe('A question.');
  await setParameter(page, 'temperature', '0.7');
  await composer(page).press('Enter');
  await answered(page);
  expect(bodies).toMatchObject([{ temperature: 0.7 }]);
});

test('? lists the shortcuts, and not while one types', async () => {
  const page = await open(url());
  await composer(page).press('?');
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.getByRole('button', { name: 'More' }).focus();
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await dialog.waitFor();
  expect(await dialog.innerText()).toContain('search all chats');
  await page.keyboard.press('Escape');
  await expect.poll(() => dialog.count()).toBe(0);
  expect(await focused(page)).toBe('More');
});
