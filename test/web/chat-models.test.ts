import { expect, test } from 'vitest';
import { usePages } from './support/browser.ts';
import { ask, answered, composer, openSettings, setParameter } from './support/chat-page.ts';
import { useServer } from './support/server.ts';

const url = useServer([
  ...['--model', 'day=models/summit', '--model', 'night=models/summit'],
  ...['--model-control', 'auto'],
]);
const open = usePages();

test('a chat changes its model, which is loaded for it', async () => {
  const page = await open(url());
  const picker = page.getByLabel('Model', { exact: true });
  await picker.locator('option').nth(1).waitFor({ state: 'attached' });
  await picker.selectOption('day');
  await ask(page, 'What is 1 + 2?');
  await picker.selectOption('night');
  await ask(page, 'What is 2 + 3?');
  const facts = await page.locator('.answer-facts').allInnerTexts();
  expect(facts.map((text) => /^\w+/.exec(text)?.[0])).toEqual(['day', 'night']);
  await expect.poll(() => picker.locator('option').allInnerTexts()).toEqual(['day', 'night']);
});

test('two models answer side by side, and the chat goes on with one', async () => {
  const page = await open(url());
  await page.getByLabel('Model', { exact: true }).selectOption('day');
  await openSettings(page);
  await page.getByRole('group', { name: 'Answer side by side with' }).getByLabel('night').check();
  await ask(page, 'Tell me a short story about a cat.');
  expect(await page.locator('.beside-answer').count()).toBe(2);
  const chosen = page.getByLabel('Go on with this one');
  await chosen.check();
  const sent = page.waitForRequest('**/v1/chat/completions');
  const second = await page.locator('.beside-answer').nth(1).locator('.markdown').innerText();
  await composer(page).fill('And then?');
  await page.keyboard.press('Enter');
  const { messages } = (await sent).postDataJSON() as { messages: { content: string }[] };
  expect(messages[1]?.content.replaceAll(/\s+/g, ' ')).toBe(second.replaceAll(/\s+/g, ' '));
  await answered(page);
});

test('one model gives several answers', async () => {
  const page = await open(url());
  await openSettings(page);
  await setParameter(page, 'n', '3');
  await ask(page, 'Tell me a short story about a cow.');
  expect(await page.locator('.beside-answer').count()).toBe(3);
  const texts = await page.locator('.beside-answer .markdown').allInnerTexts();
  expect(new Set(texts).size).toBe(3);
  expect(await page.locator('.answer-facts').first().innerText()).toContain('in 3 answers');
});

test('the dot of a model that answers says so, though it was not loaded when it was asked', async () => {
  const page = await open(url());
  let value = 'unloaded';
  await page.route('**/v1/models', (route) =>
    route.fulfill({ json: { data: [{ id: 'day', status: { value } }] } }),
  );
  await page.route('**/v1/chat/completions', (route) => {
    const body = route.request().postDataJSON() as object;
    return route.continue({ postData: JSON.stringify({ ...body, ignore_eos: true }) });
  });
  await page.reload();
  const dot = page.locator('.model-picker .state');
  await expect.poll(() => dot.getAttribute('class')).toBe('state unloaded');
  value = 'ready';
  await composer(page).fill('Tell me a story.');
  await page.keyboard.press('Enter');
  // It is busy only while the answer is being written.
  await expect.poll(() => dot.getAttribute('class'), { timeout: 3000 }).toBe('state ready busy');
  await page.keyboard.press('Escape');
  await answered(page);
  await expect.poll(() => dot.getAttribute('class')).toBe('state ready');
});

test('a new chat has a model that is loaded', async () => {
  const page = await open(url());
  await page.route('**/v1/models', (route) => {
    const data = [
      { id: 'day', status: { value: 'unloaded' } },
      { id: 'night', status: { value: 'ready' } },
    ];
    return route.fulfill({ json: { data } });
  });
  await page.reload();
  const picker = page.getByLabel('Model', { exact: true });
  await expect.poll(() => picker.locator('option').count()).toBe(2);
  expect(await picker.inputValue()).toBe('night');
});
