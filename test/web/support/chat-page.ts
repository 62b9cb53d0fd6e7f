/** Steps of tests in the chat. */
import type { Locator, Page } from 'playwright-core';

export function composer(page: Page): Locator {
  return page.locator('.composer').getByLabel('Message');
}

/** Sends a question, and waits until nothing is written any more. */
export async function ask(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press('Enter');
  await answered(page);
}

export async function answered(page: Page): Promise<void> {
  await page.locator('.answer').first().waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
}

/** Texts of the answers that are shown, without what is next to them. */
export async function answers(page: Page): Promise<string[]> {
  const texts = page.locator('.answer > .markdown, .answer > .code-block code');
  return (await texts.allInnerTexts()).map((text) => text.trim());
}

/** Sets a parameter, with the settings open. */
export async function setParameter(page: Page, name: string, value: string): Promise<void> {
  await page
    .locator('.parameter')
    .filter({ has: page.locator(`code:text-is("${name}")`) })
    .locator('input, textarea, select')
    .fill(value);
}

export async function openSettings(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Settings(, \d+ set)?$/ }).click();
  await page.locator('.parameter').first().waitFor();
}
