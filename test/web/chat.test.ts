import { expect, test } from 'vitest';
import { usePages } from './support/browser.ts';
import {
  answered,
  answers,
  ask,
  composer,
  openSettings,
  setParameter,
} from './support/chat-page.ts';
import { useServer } from './support/server.ts';
import { slowDownloads } from './support/slow-downloads.ts';

const url = useServer();
const open = usePages();

test('an answer streams, with its counts and times', async () => {
  const page = await open(url());
  // So long that no browser draws it within a few frames.
  await page.route('**/v1/chat/completions', async (route) => {
    const body = {
      ...(route.request().postDataJSON() as object),
      ignore_eos: true,
      max_tokens: 800,
    };
    await route.continue({ postData: JSON.stringify(body) });
  });
  await page.evaluate(() => {
    const lengths: number[] = Object.assign(window, { lengths: [] as number[] }).lengths;
    new MutationObserver(() => {
      lengths.push(document.querySelector('.answer .markdown')?.textContent?.length ?? 0);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await ask(page, 'Tell me a short story about a dog.');
  const lengths = await page.evaluate(() => (window as unknown as { lengths: number[] }).lengths);
  expect(new Set(lengths).size).toBeGreaterThan(5);
  expect((await answers(page))[0]?.length).toBeGreaterThan(100);
  const facts = await page.locator('.answer-facts').innerText();
  expect(facts).toMatch(/summit/);
  expect(facts).toMatch(/to first token/);
  expect(facts).toMatch(/\d+ tokens\b/);
  expect(facts).toMatch(/\d+ tokens\/s/);
  expect(facts).toMatch(/\d+ of 2,048 context/);
});

test('it stops when it is told to, and the server does too', async () => {
  const page = await open(url());
  await openSettings(page);
  await page.getByText('All others').click();
  await page
    .locator('.parameter', { hasText: 'ignore_eos' })
    .locator('select')
    .selectOption('true');
  await slowDownloads(page);
  await composer(page).fill('Tell me a story.');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  await page.waitForFunction(
    () => (document.querySelector('.answer .markdown')?.textContent?.length ?? 0) > 50,
  );
  await page.keyboard.press('Escape');
  await answered(page);
  expect(await page.locator('.answer-facts').innerText()).toContain('stopped');
  await expect
    .poll(async () => {
      const { data } = (await (await fetch(`${url()}/v1/requests`)).json()) as { data: unknown[] };
      return data;
    })
    .toEqual([]);
});

test('a question that is edited is a branch, and so is another answer', async () => {
  const page = await open(url());
  await openSettings(page);
  await setParameter(page, 'temperature', '0');
  await ask(page, 'What is 1 + 1?');
  const [first] = await answers(page);
  await page.getByRole('button', { name: 'Edit and ask again' }).click();
  await page.locator('.message-editor textarea').fill('What is 20 + 30?');
  await page.getByRole('button', { name: 'Ask again' }).click();
  await answered(page);
  await page.getByText('2/2').waitFor();
  const [second] = await answers(page);
  expect(second).not.toBe(first);
  await page.getByRole('button', { name: 'Previous version' }).click();
  expect(await answers(page)).toEqual([first]);
  await page.getByRole('button', { name: 'Regenerate' }).click();
  await answered(page);
  expect(await page.locator('.answer .version-switch').innerText()).toBe('2/2');
  expect(await page.locator('.user-message .version-switch').innerText()).toBe('1/2');
});

test('parameters are sent, with what the server says of them', async () => {
  const page = await open(url());
  await openSettings(page);
  const temperature = page.locator('.parameter', { hasText: 'temperature' }).first();
  expect(await temperature.innerText()).toContain(
    'Randomness; 0 always takes the likeliest token.',
  );
  await setParameter(page, 'temperature', '3');
  expect(await temperature.innerText()).toContain('Expected 0 to 2.');
  await setParameter(page, 'temperature', '0.5');
  await setParameter(page, 'max_completion_tokens', '4');
  await page.getByLabel('System prompt').fill('Be brief.');
  const sent = page.waitForRequest('**/v1/chat/completions');
  await ask(page, 'Tell me a story.');
  expect((await sent).postDataJSON()).toMatchObject({
    temperature: 0.5,
    max_completion_tokens: 4,
    messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
  });
  expect(await page.locator('.answer-facts').innerText()).toContain('token limit reached');
  await page.getByRole('button', { name: 'Continue' }).click();
  await answered(page);
  await page.getByText('2/2').waitFor();
});

test('text files go with a question', async () => {
  const page = await open(url());
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Attach text files' }).click();
  const buffer = Buffer.from('The code is 7.');
  await (
    await chooser
  ).setFiles([
    { name: 'note.txt', mimeType: 'text/plain', buffer },
    { name: 'archive.zip', mimeType: 'application/zip', buffer: Buffer.from([0x89, 0x50, 0, 255]) },
  ]);
  await page.getByText('archive.zip: It is not a text file.').waitFor();
  const sent = page.waitForRequest('**/v1/chat/completions');
  await ask(page, 'What is the code?');
  const { messages } = (await sent).postDataJSON() as { messages: { content: string }[] };
  expect(messages[0]?.content).toBe('note.txt:\n```\nThe code is 7.\n```\n\nWhat is the code?');
});

test('what the server refuses is told', async () => {
  const page = await open(url());
  await openSettings(page);
  await setParameter(page, 'max_completion_tokens', '100000');
  await ask(page, 'Hi');
  expect(await page.locator('.answer-error').innerText()).toMatch(/max_completion_tokens|2048/);
});
