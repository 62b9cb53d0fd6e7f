import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { seriousFaults } from './support/axe.ts';
import { usePages } from './support/browser.ts';
import { useServer } from './support/server.ts';

const url = useServer();
const open = usePages();

const textOf = (page: Page): Locator => page.getByLabel('Text', { exact: true });
const outcomeOf = (page: Page): Locator => page.locator('.pad-outcome');

/** The pad, with a text and settings that give the same answer each time. */
async function openPad(text: string, numTokens = 16): Promise<Page> {
  const page = await open(`${url()}/ui/completion`);
  await page
    .getByLabel('Model', { exact: true })
    .locator('option')
    .first()
    .waitFor({ state: 'attached' });
  await textOf(page).fill(text);
  await page.getByLabel('Temperature').fill('0');
  await page.getByLabel('Max tokens').fill(String(numTokens));
  return page;
}

async function generate(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Generate' }).click();
  await outcomeOf(page).filter({ hasText: 'out' }).waitFor();
}

/** The same request without the page. */
async function answerOf(body: object) {
  const response = await fetch(`${url()}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ temperature: 0, max_tokens: 16, logprobs: 8, ...body }),
  });
  const json = (await response.json()) as {
    choices: {
      text: string;
      logprobs: { tokens: string[]; top_logprobs: (Record<string, number> | null)[] };
    }[];
  };
  const [choice] = json.choices;
  if (choice === undefined) throw new Error('there is no choice');
  return choice;
}

const PROMPT = 'Once upon a time';

test('goes on with a text, with each token in its color', async () => {
  const page = await openPad(PROMPT);
  await generate(page);
  const { text, logprobs } = await answerOf({ prompt: PROMPT });
  expect(await textOf(page).inputValue()).toBe(PROMPT + text);
  const tokens = page.locator('.pad-colors .token');
  expect(await tokens.allTextContents()).toEqual(logprobs.tokens.filter((token) => token !== ''));
  for (const look of await tokens.evaluateAll((all) => all.map((each) => each.className))) {
    expect(look).toMatch(/level-[0-6]/);
  }
});

test('a number that is being typed stays when something else changes', async () => {
  const page = await openPad(PROMPT);
  const temperature = page.getByLabel('Temperature');
  await temperature.fill('1.5');
  await textOf(page).evaluate((area) => {
    (area as HTMLTextAreaElement).value += '!';
    area.dispatchEvent(new Event('input', { bubbles: true }));
  });
  await page.getByText(`${PROMPT}!`).first().waitFor({ state: 'attached' });
  expect(await temperature.inputValue()).toBe('1.5');
});

test('what is written is scored too, and an edit takes away what it changes', async () => {
  const page = await openPad('The cat sat on the mat.');
  await page.getByRole('button', { name: 'Score' }).click();
  await outcomeOf(page).filter({ hasText: 'tokens in' }).waitFor();
  expect(await textOf(page).inputValue()).toBe('The cat sat on the mat.');
  const tokens = page.locator('.pad-colors .token');
  expect((await tokens.allTextContents()).join('')).toBe('The cat sat on the mat.');
  await textOf(page).press('End');
  await textOf(page).press('Backspace');
  expect((await tokens.allTextContents()).join('')).toBe('The cat sat on the mat');
});

test('the token at the cursor shows what it could have been, and goes on from there', async () => {
  const page = await openPad(PROMPT);
  await generate(page);
  const { logprobs } = await answerOf({ prompt: PROMPT });
  const [first = '', second = ''] = logprobs.tokens;
  const position = PROMPT.length + first.length + 1;
  await textOf(page).evaluate((element, at) => {
    if (!(element instanceof HTMLTextAreaElement)) return;
    element.focus();
    element.setSelectionRange(at, at);
  }, position);
  const listed = page.getByRole('button', { name: /^Continue with/ });
  await listed.first().waitFor();
  const likeliest = Object.entries(logprobs.top_logprobs[1] ?? {}).sort(([, a], [, b]) => b - a);
  expect(await listed.count()).toBe(likeliest.length);
  const other = likeliest.findIndex(([text]) => text !== second);
  const [chosen = ''] = likeliest[other] ?? [];
  await listed.nth(other).focus();
  await page.keyboard.press('Enter');
  await outcomeOf(page).filter({ hasText: 'out' }).waitFor();
  const prompt = PROMPT + first + chosen;
  expect(await textOf(page).inputValue()).toBe(prompt + (await answerOf({ prompt })).text);
  await page.getByRole('button', { name: 'Undo' }).click();
  expect(await textOf(page).inputValue()).toContain(PROMPT + first + second);
});

test('stop sequences end a text, one on each line', async () => {
  const { text } = await answerOf({ prompt: PROMPT });
  const stop = text.slice(8, 11);
  const page = await openPad(PROMPT);
  await page.getByLabel('Stop sequences').fill(`never in a text\n${stop}`);
  await generate(page);
  const shown = await textOf(page).inputValue();
  expect(shown).toBe(PROMPT + text.slice(0, text.indexOf(stop)));
  expect(await outcomeOf(page).innerText()).toContain('stopped at');
});

test('Escape stops an answer, and what has come stays', async () => {
  const page = await openPad(PROMPT, 1500);
  // A text that would go on: without an end that the model may choose.
  await page.route('**/v1/completions', async (route) => {
    const body = { ...(route.request().postDataJSON() as object), ignore_eos: true };
    await route.continue({ postData: JSON.stringify(body) });
  });
  await textOf(page).press('Control+Enter');
  await expect.poll(() => textOf(page).inputValue()).not.toBe(PROMPT);
  await page.getByRole('button', { name: 'Stop' }).focus();
  await page.keyboard.press('Escape');
  await outcomeOf(page).filter({ hasText: 'stopped' }).waitFor();
  const shown = await textOf(page).inputValue();
  expect(shown.length).toBeGreaterThan(PROMPT.length);
  await page.waitForTimeout(300);
  expect(await textOf(page).inputValue()).toBe(shown);
  const running = async () => {
    const { data } = (await (await fetch(`${url()}/v1/requests`)).json()) as { data: unknown[] };
    return data;
  };
  await expect.poll(running).toEqual([]);
});

test('shows tokens, their ids and their bytes', async () => {
  const page = await openPad('Hi ä');
  await page.locator('.pad-tokens summary').click();
  const list = page.locator('.token-list li');
  await list.first().waitFor();
  const response = await fetch(`${url()}/tokenize`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'Hi ä', return_token_bytes: true }),
  });
  const told = (await response.json()) as { tokens: number[]; token_bytes: number[][] };
  await page.getByText('ids', { exact: true }).click();
  expect(await list.allInnerTexts()).toEqual(told.tokens.map(String));
  await page.getByText('bytes', { exact: true }).click();
  const hex = told.token_bytes.map((bytes) => Buffer.from(bytes).toString('hex'));
  expect((await list.allInnerTexts()).map((text) => text.replaceAll(' ', ''))).toEqual(hex);
  expect(hex.join('')).toContain(Buffer.from('Hi ä').toString('hex'));
});

test('says that this model has no tokens for filling in', async () => {
  const page = await openPad('a');
  await page.getByText('Why is Fill in off?').click();
  await page.getByText('It needs a model with special tokens for it').waitFor();
  expect(await page.getByRole('button', { name: 'Fill in' }).isDisabled()).toBe(true);
});

test('a model with such tokens fills in where the cursor is', async () => {
  const page = await open('about:blank');
  const sent: { prompt: string }[] = [];
  await page.route('**/tokenize', (route) => route.fulfill({ json: { count: 3, tokens: [] } }));
  await page.route('**/v1/completions', (route) => {
    sent.push(route.request().postDataJSON() as { prompt: string });
    const chunk = { choices: [{ text: ' b ', finish_reason: 'stop' }] };
    return route.fulfill({
      contentType: 'text/event-stream',
      body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`,
    });
  });
  await page.goto(`${url()}/ui/completion`);
  await textOf(page).fill('ac');
  await textOf(page).press('ArrowLeft');
  await page.getByRole('button', { name: 'Fill in' }).click();
  await expect.poll(() => textOf(page).inputValue()).toBe('a b c');
  expect(sent.map(({ prompt }) => prompt)).toEqual([
    '<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>',
  ]);
});

test('markup in a text is text', async () => {
  const page = await openPad('<img src=x onerror="document.title=1"><script>1</script>');
  await page.getByRole('button', { name: 'Score' }).click();
  await outcomeOf(page).filter({ hasText: 'tokens in' }).waitFor();
  await page.locator('.pad-tokens summary').click();
  await page.locator('.token-list li').first().waitFor();
  expect(await page.locator('.pad img, .pad script').count()).toBe(0);
});

test.each(['light', 'dark'] as const)('axe finds nothing serious, %s', async (colorScheme) => {
  const page = await open(`${url()}/ui/completion`, { colorScheme });
  await textOf(page).fill(PROMPT);
  await page.getByLabel('Color my text too').check();
  await generate(page);
  await textOf(page).press('Control+End');
  await page.locator('.alternative').first().waitFor();
  await page.locator('.pad-tokens summary').click();
  await page.locator('.token-list li').first().waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});

test('fits a phone', async () => {
  const page = await open(`${url()}/ui/completion`, { viewport: { width: 360, height: 740 } });
  await textOf(page).fill('long'.repeat(100));
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
});
