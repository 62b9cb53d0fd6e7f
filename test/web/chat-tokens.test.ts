import { expect, test } from 'vitest';
import { usePages } from './support/browser.ts';
import { answered, answers, ask, openSettings } from './support/chat-page.ts';
import { answerWith } from './support/fake-answers.ts';
import { useServer } from './support/server.ts';

const url = useServer();
const open = usePages();

test('a token shows its alternatives, and the answer goes on from one of them', async () => {
  const page = await open(url());
  await openSettings(page);
  await page.getByLabel('Show tokens and their alternatives').check();
  await ask(page, 'Tell me a short story about a dog.');
  await page.getByRole('button', { name: 'Tokens' }).click();
  // The list comes a moment after the click.
  await page.locator('.token').nth(10).waitFor();
  const tokens = await page.locator('.token').allTextContents();
  await page.locator('.token').nth(6).hover();
  const others = page.locator('.alternative:not(.taken)');
  await others.first().waitFor();
  expect(await page.locator('.alternative.taken').count()).toBe(1);
  const other = await others.first().locator('code').innerText();
  await others.first().click();
  await answered(page);
  await page.getByText('2/2').waitFor();
  // The new answer shows its tokens too, after what it was given.
  const text = await page.locator('.token-text').textContent();
  const given = tokens.slice(0, 6).join('').replaceAll('↵', '') + other.replaceAll('␣', ' ');
  expect(await page.locator('.given').textContent()).toBe(given);
  expect(text?.length).toBeGreaterThan(given.length);
});

test('tokens are reached by keyboard', async () => {
  const page = await open(url());
  await openSettings(page);
  await page.getByLabel('Show tokens and their alternatives').check();
  await ask(page, 'What is 2 + 2?');
  await page.getByRole('button', { name: 'Tokens' }).click();
  await page.locator('.token-text').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  expect(await page.locator('.token.active').count()).toBe(1);
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.className)).toContain('alternative');
});

test('an answer of a schema keeps to it', async () => {
  const page = await open(url());
  await openSettings(page);
  await page.getByLabel('Answer format').selectOption('schema');
  const schema = page.getByRole('textbox', { name: /^JSON schema/ });
  await schema.fill('{"type": ');
  expect(await schema.getAttribute('aria-invalid')).toBe('true');
  await schema.fill(
    '{"type": "object", "properties": {"n": {"type": "integer", "maximum": 99}}, "required": ["n"], "additionalProperties": false}',
  );
  expect(await schema.getAttribute('aria-invalid')).toBe('false');
  await ask(page, 'Give me a number.');
  expect(await page.locator('.json-status').innerText()).toBe('Matches the schema');
  const [text = ''] = await answers(page);
  expect(JSON.parse(text)).toMatchObject({ n: expect.any(Number) as number });
});

test('an answer that breaks its schema is told from', async () => {
  const page = await open(url());
  await answerWith(page, { deltas: [{ content: '{"name": ' }, { content: '7}' }] });
  await openSettings(page);
  await page.getByLabel('Answer format').selectOption('schema');
  await ask(page, 'Who are you?');
  const status = await page.locator('.json-status').innerText();
  expect(status).toContain('Does not match the schema');
  expect(status).toContain('/name');
});
