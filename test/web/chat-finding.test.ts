import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { usePages } from './support/browser.ts';
import { ask, composer, openSettings, setParameter } from './support/chat-page.ts';
import { answerWith } from './support/fake-answers.ts';
import { useServer } from './support/server.ts';
import { slowDownloads } from './support/slow-downloads.ts';

const url = useServer();
const open = usePages();

async function startChat(page: Page, question: string): Promise<void> {
  await page.keyboard.press('Alt+N');
  await page.getByText('Ask something').waitFor();
  await ask(page, question);
}

test('chats are found by their titles and by what was said in them', async () => {
  const page = await open(url());
  await answerWith(
    page,
    { deltas: [{ content: 'The <b>harbour</b> is full of ships.' }] },
    { deltas: [{ content: `${'Filler. '.repeat(60)} A lighthouse stands there.` }] },
    { deltas: [{ content: 'Nothing of that.' }] },
  );
  await ask(page, 'Ships');
  await startChat(page, 'Towers');
  await ask(page, 'And another thing');
  await startChat(page, 'Something else');
  await page.keyboard.press('Control+K');
  const search = page.getByRole('combobox', { name: 'Search' });
  const hits = page.getByRole('dialog').getByRole('option');
  await search.fill('harBOUR');
  await expect.poll(() => hits.allInnerTexts()).toHaveLength(1);
  const [hit] = await hits.allInnerTexts();
  expect(hit).toContain('Ships');
  expect(hit).toContain('The <b>harbour</b> is');
  expect(await hits.locator('mark').innerText()).toBe('harbour');
  await search.fill('nowhere at all');
  await page.getByText('Nothing was found.').waitFor();
  // By keyboard, to the message itself, also if another branch or place is shown.
  await search.fill('lighthouse');
  await expect.poll(() => hits.count()).toBe(1);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByText('A lighthouse stands there.').waitFor();
  expect(await page.locator('.chat-header h1').innerText()).toBe('Towers');
  expect(await page.getByRole('dialog').count()).toBe(0);
});

test('chats stand under the days on which they were, and are renamed in their place', async () => {
  const page = await open(url());
  await answerWith(page, { deltas: [{ content: 'Yes.' }] });
  await ask(page, 'The first');
  await expect.poll(() => page.locator('.chat-list-period').allInnerTexts()).toEqual(['Today']);
  await page.locator('.chat-list-item a').focus();
  await page.keyboard.press('F2');
  await page.getByLabel('Title').fill('Another name');
  await page.keyboard.press('Escape');
  expect(await page.locator('.chat-list-item').innerText()).toContain('The first');
  await page.locator('.chat-list-item a').dblclick();
  await page.getByLabel('Title').fill('Another name');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('.chat-header h1').innerText()).toBe('Another name');
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  await page.locator('.chat-header').getByLabel('Title').fill('A third name');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('.chat-list-item').innerText()).toContain('A third name');
  await page.reload();
  await expect.poll(() => page.locator('.chat-header h1').innerText()).toBe('A third name');
});

test('settings have names, show what holds without them, and show that they are set', async () => {
  const page = await open(url());
  const bodies = await answerWith(page, { deltas: [{ content: 'Yes.' }] });
  await openSettings(page);
  const preset = page.locator('label').filter({ hasText: 'Preset' }).locator('select');
  const placeholder = (name: string) =>
    page
      .locator('.parameter')
      .filter({ has: page.locator(`code:text-is("${name}")`) })
      .locator('input')
      .getAttribute('placeholder');
  const { data } = (await (await fetch(`${url()}/v1/models`)).json()) as {
    data: { default_sampling_params: Record<string, number>; max_model_len: number }[];
  };
  expect(await placeholder('temperature')).toBe(
    String(data[0]?.default_sampling_params['temperature']),
  );
  expect(await placeholder('top_p')).toBe(String(data[0]?.default_sampling_params['top_p']));
  expect(await placeholder('n')).toBe('1');
  expect(await page.locator('.chat-header .count').count()).toBe(0);
  await setParameter(page, 'temperature', '0.25');
  await page.getByLabel('System prompt').fill('You are a pirate.');
  expect(await page.locator('.chat-header .count').innerText()).toBe('2');
  await page.getByRole('button', { name: 'Save as …' }).click();
  await page.getByLabel('Name of the preset').fill('Pirate');
  await page.keyboard.press('Enter');
  expect(await preset.inputValue()).toBe('Pirate');
  await ask(page, 'Ahoy');
  // A new chat has the parameters of the last one, and says so.
  await page.keyboard.press('Alt+N');
  await page.getByText('Set for this chat, as for the last one: temperature').waitFor();
  await page.getByRole('button', { name: 'Reset', exact: true }).click();
  expect(await page.locator('.chat-header .count').count()).toBe(0);
  expect(await preset.inputValue()).toBe('');
  await preset.selectOption('Pirate');
  await ask(page, 'Ahoy again');
  expect(bodies[1]).toMatchObject({
    temperature: 0.25,
    messages: [{ role: 'system', content: 'You are a pirate.' }, { role: 'user' }],
  });
  await page.reload();
  await openSettings(page);
  await page.getByRole('button', { name: 'Delete the preset Pirate' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect.poll(() => preset.inputValue()).toBe('Pirate');
});

test('while an answer is written its speed and the context that it uses are shown', async () => {
  const page = await open(url());
  await page.route('**/v1/chat/completions', async (route) => {
    const body = { ...(route.request().postDataJSON() as object), ignore_eos: true };
    await route.continue({ postData: JSON.stringify(body) });
  });
  await slowDownloads(page);
  await composer(page).fill('Tell me a long story.');
  await page.keyboard.press('Enter');
  const facts = page.locator('.answer[aria-busy=true] .answer-facts');
  await facts.getByText(/\d+ tokens\/s/).waitFor();
  const used = async () => Number(/([\d,]+) of 2,048 context/.exec(await facts.innerText())?.[1]);
  const first = await used();
  expect(first).toBeGreaterThan(0);
  await expect.poll(used).toBeGreaterThan(first);
  await page.keyboard.press('Escape');
});
