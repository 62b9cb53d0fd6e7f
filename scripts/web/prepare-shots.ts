/** Brings views to where they are worth a picture. */
import type { Page } from 'playwright-core';

/** Requests of a few users, one after the other. */
async function serveSome(url: string, numRounds: number): Promise<void> {
  for (let round = 0; round < numRounds; round++) {
    const requests = Array.from({ length: 3 + (round % 4) * 2 }, (_, index) =>
      fetch(`${url}/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          prompt: `Request ${index} of the round ${round % 3} begins with these words`,
          max_tokens: 48,
          ignore_eos: true,
        }),
      }).then((response) => response.text()),
    );
    await Promise.all(requests);
  }
}

export async function status(page: Page, url: string): Promise<void> {
  await serveSome(url, 16);
  // Until the last of it is sampled.
  await page.waitForTimeout(6000);
}

export async function completion(page: Page): Promise<void> {
  const text = page.getByLabel('Text', { exact: true });
  await text.fill('Once upon a time there was a little fox who');
  await page.getByLabel('Seed').fill('7');
  await page.getByLabel('Max tokens').fill('96');
  await page.getByLabel('Color my text too').check();
  await page.getByRole('button', { name: 'Generate' }).click();
  await page.locator('.pad-outcome').filter({ hasText: 'out' }).waitFor();
  await text.evaluate((element) => {
    if (element instanceof HTMLTextAreaElement) element.setSelectionRange(60, 60);
  });
  await page.locator('.alternative').first().waitFor();
  await page.locator('.pad-tokens summary').click();
  await page.locator('.token-list li').first().waitFor();
}

export async function bench(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('heading', { name: 'Report' }).waitFor({ timeout: 120_000 });
}

export async function docs(page: Page): Promise<void> {
  const section = page.locator('section[data-path="/v1/chat/completions"]').first();
  await section.locator('.try-it > summary').click();
  await section.getByRole('button', { name: 'Send' }).click();
  await section.getByText(/whole after/).waitFor();
  await section.locator('form').evaluate((form) => form.scrollIntoView({ block: 'start' }));
}
