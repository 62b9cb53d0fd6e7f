import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { usePages } from './support/browser.ts';
import { answered, answers, ask, composer } from './support/chat-page.ts';
import { useServer } from './support/server.ts';

const url = useServer();
const open = usePages();

const CHAT = /\/ui\/chat\/[0-9a-z]+$/;

/** Answers that go on until they are stopped. */
async function answerForLong(page: Page): Promise<void> {
  await page.route('**/v1/chat/completions', async (route) => {
    const body = { ...(route.request().postDataJSON() as object), ignore_eos: true };
    await route.continue({ postData: JSON.stringify(body) });
  });
}

const textOf = (page: Page) => page.locator('.answer .markdown').last();

async function begun(page: Page, characters = 20): Promise<void> {
  await expect
    .poll(async () => (await textOf(page).allTextContents()).join('').length)
    .toBeGreaterThan(characters);
}

test('a chat has an address: it is there after a reload, and Back goes to the one before', async () => {
  const page = await open(url());
  await ask(page, 'What is 5 + 6?');
  await page.waitForURL(CHAT);
  const first = page.url();
  const [answer] = await answers(page);
  expect(await page.title()).toBe('What is 5 + 6? · Chairlift');
  await page.reload();
  await page.locator('.answer').waitFor();
  expect(await answers(page)).toEqual([answer]);
  expect(await page.title()).toBe('What is 5 + 6? · Chairlift');

  await page.locator('.chat-list').getByRole('button', { name: 'New chat' }).click();
  await page.getByText('Ask something').waitFor();
  expect(page.url()).toBe(`${url()}/`);
  expect(await page.title()).toBe('Chat · Chairlift');
  await ask(page, 'What is 7 + 8?');
  await page.waitForURL(CHAT);
  expect(page.url()).not.toBe(first);
  await page.goBack();
  await page.getByText('What is 5 + 6?').first().waitFor();
  await expect.poll(() => answers(page)).toEqual([answer]);
  expect(page.url()).toBe(first);
});

test('an address of no chat leads to a new one, and says so', async () => {
  const page = await open(`${url()}/ui/chat/nothing`);
  await page.getByText('There is no such chat in this browser.').waitFor();
  await page.getByText('Ask something').waitFor();
  expect(page.url()).toBe(`${url()}/`);
});

test('an answer that is being written is there after a reload, as far as it came', async () => {
  const page = await open(url());
  await answerForLong(page);
  await composer(page).fill('Tell me a story about a goose.');
  await page.keyboard.press('Enter');
  await begun(page, 60);
  const before = (await textOf(page).textContent()) ?? '';
  // Long before it is stored by itself.
  await page.reload();
  await page.locator('.answer').waitFor();
  const after = (await textOf(page).textContent()) ?? '';
  expect(after.slice(0, before.length).slice(0, 40)).toBe(before.slice(0, 40));
  expect(after.length).toBeGreaterThanOrEqual(before.length - 20);
  expect(await page.locator('.answer-facts').innerText()).toContain('cut off');
  await page.getByRole('button', { name: 'Continue' }).click();
  await begun(page, after.length + 10);
  await page.keyboard.press('Escape');
  await answered(page);
});

test('a question whose answer had not begun can be asked again after a reload', async () => {
  const page = await open(url());
  // An answer that does not come.
  await page.route('**/v1/chat/completions', () => {});
  await composer(page).fill('What is 2 + 3?');
  await page.keyboard.press('Enter');
  await page.locator('.waiting').waitFor();
  await page.reload();
  await page.getByText('The page was left before the answer began.').waitFor();
  await page.unroute('**/v1/chat/completions');
  await page.getByRole('button', { name: 'Try again' }).click();
  await answered(page);
  expect((await answers(page))[0]).toContain('5');
});

test('what is typed and not sent stays, in other chats, other views and after a reload', async () => {
  const page = await open(url());
  await ask(page, 'What is 1 + 2?');
  await page.waitForURL(CHAT);
  await composer(page).fill('A draft of the first chat');
  await page.keyboard.press('Alt+N');
  await page.getByText('Ask something').waitFor();
  expect(await composer(page).inputValue()).toBe('');
  await composer(page).fill('A draft of a new chat');
  await page.getByRole('link', { name: 'Bench', exact: true }).click();
  await page.getByRole('heading', { name: 'Load test' }).waitFor();
  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  await expect.poll(() => composer(page).inputValue()).toBe('A draft of a new chat');
  await page.reload();
  await expect.poll(() => composer(page).inputValue()).toBe('A draft of a new chat');
  await page.locator('.chat-list-item a').click();
  await expect.poll(() => composer(page).inputValue()).toBe('A draft of the first chat');
  await composer(page).press('Enter');
  await answered(page);
  await page.reload();
  await page.locator('.answer').last().waitFor();
  expect(await composer(page).inputValue()).toBe('');
});

test('a deleted chat can be brought back', async () => {
  const page = await open(url());
  await ask(page, 'What is 4 + 4?');
  const before = await answers(page);
  await page.locator('.chat-list-item').hover();
  await page.getByRole('button', { name: 'Delete What is 4 + 4?' }).click();
  await page.getByText('Ask something').waitFor();
  expect(await page.locator('.chat-list-item').count()).toBe(0);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.locator('.answer').waitFor();
  expect(await answers(page)).toEqual(before);
  await page.reload();
  await page.locator('.answer').waitFor();
  expect(await answers(page)).toEqual(before);
});

test('two tabs show the same chat, and what one deletes does not come back in the other', async () => {
  const one = await open(url());
  await answerForLong(one);
  await composer(one).fill('Tell me about the sea.');
  await one.keyboard.press('Enter');
  await begun(one);
  const other = await one.context().newPage();
  await other.goto(one.url());
  // The second tab has what it has of the answer that the first writes, and then more.
  await begun(other);
  const early = (await textOf(other).textContent())?.length ?? 0;
  await begun(other, early + 20);
  await one.keyboard.press('Escape');
  await answered(one);
  const whole = await answers(one);
  await expect.poll(() => answers(other)).toEqual(whole);
  await expect.poll(() => other.locator('.answer').getAttribute('aria-busy')).toBe('false');

  // A title that is changed is changed in both.
  await other.locator('.chat-list-item a').dblclick();
  await other.getByLabel('Title').fill('The sea');
  await other.keyboard.press('Enter');
  await one.locator('.chat-list-item', { hasText: 'The sea' }).waitFor();

  // Deleted in one while the other writes in it: it is gone, for good.
  await composer(other).fill('And now?');
  await other.keyboard.press('Enter');
  await other.getByRole('button', { name: 'Stop' }).waitFor();
  await one.locator('.chat-list-item').hover();
  await one.getByRole('button', { name: 'Delete The sea' }).click();
  await other.getByText('This chat was deleted in another tab.').waitFor();
  await other.getByText('Ask something').waitFor();
  for (const page of [one, other]) {
    await page.reload();
    await page.getByText('Chats are kept in this browser.').waitFor();
  }
  const left = await one.evaluate(
    () =>
      new Promise<number>((resolve, reject) => {
        const opening = indexedDB.open('chairlift');
        opening.addEventListener('error', () => reject(new Error('no database')));
        opening.addEventListener('success', () => {
          const counting = opening.result.transaction('messages').objectStore('messages').count();
          counting.addEventListener('success', () => resolve(counting.result));
        });
      }),
  );
  expect(left).toBe(0);
});

test('a changed setting does not bring its chat to the top of the list', async () => {
  const page = await open(url());
  await ask(page, 'What is 1 + 1?');
  await page.keyboard.press('Alt+N');
  await ask(page, 'What is 2 + 2?');
  const titles = () => page.locator('.chat-list-item a').allInnerTexts();
  await expect.poll(titles).toEqual(['What is 2 + 2?', 'What is 1 + 1?']);
  await page.locator('.chat-list-item a').last().click();
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  await page.getByLabel('System prompt').fill('Be brief.');
  expect(await titles()).toEqual(['What is 2 + 2?', 'What is 1 + 1?']);
  await composer(page).fill('And 3 + 3?');
  await page.keyboard.press('Enter');
  await expect.poll(titles).toEqual(['What is 1 + 1?', 'What is 2 + 2?']);
  await answered(page);
});
