import { expect, test } from 'vitest';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { usePages } from './support/browser.ts';
import { answers, answered, composer, openSettings, setParameter } from './support/chat-page.ts';

const open = usePages();
const KEY = ['--resume-key', 'a key for the tests of streams'];

/** The whole text of a question's answer. */
async function answerTo(server: ServerProcess, content: string): Promise<string> {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      messages: [{ role: 'user', content }],
      temperature: 0,
      ignore_eos: true,
      max_completion_tokens: 1500,
    }),
  });
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? '';
}

test('a stream goes on when its server is killed and comes back', async () => {
  let server = await startServer(KEY);
  try {
    const page = await open(server.url);
    await openSettings(page);
    await setParameter(page, 'temperature', '0');
    await setParameter(page, 'max_completion_tokens', '1500');
    await page.getByText('All others').click();
    await page
      .locator('.parameter', { hasText: 'ignore_eos' })
      .locator('select')
      .selectOption('true');
    const question = 'Tell me a long story about a bear.';
    await composer(page).fill(question);
    await page.keyboard.press('Enter');
    await page.waitForFunction(
      () => (document.querySelector('.answer .markdown')?.textContent?.length ?? 0) > 100,
    );
    await server.stop('SIGKILL');
    const { port } = new URL(server.url);
    server = await startServer([...KEY, '--port', port]);
    await answered(page);
    expect(await page.locator('.answer-facts').innerText()).toContain('continued after');
    const [text = ''] = await answers(page);
    const whole = await answerTo(server, question);
    expect(text.replaceAll(/\s+/g, ' ')).toBe(whole.trim().replaceAll(/\s+/g, ' '));
  } finally {
    await server.stop();
  }
});
