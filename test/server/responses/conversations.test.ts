/** /v1/conversations, by OpenAI's own client. */
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { ResponseStore } from '../../../src/server/responses/store.ts';
import { errorOf, post } from '../support/client.ts';
import { says, type TestServer, useServers } from '../support/test-server.ts';

const server = useServers();

function clientOf({ url }: TestServer, apiKey = 'k'): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
}

function promptOf({ engine, runtime }: TestServer): string {
  const promptTokenIds = engine.requests.at(-1)?.promptTokenIds ?? [];
  return runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false });
}

const user = (content: string) => ({ type: 'message' as const, role: 'user' as const, content });

async function textsOf(client: OpenAI, id: string): Promise<string[]> {
  const texts: string[] = [];
  for await (const item of client.conversations.items.list(id, { order: 'asc', limit: 2 })) {
    if (item.type !== 'message') continue;
    for (const part of item.content) if ('text' in part) texts.push(part.text);
  }
  return texts;
}

describe('conversations', () => {
  it('are made, read, changed and deleted', async () => {
    const { conversations } = clientOf(await server());
    const made = await conversations.create({ metadata: { topic: 'a' }, items: [user('One')] });
    expect(made).toMatchObject({ object: 'conversation', metadata: { topic: 'a' } });
    expect(await conversations.retrieve(made.id)).toEqual(made);
    const changed = await conversations.update(made.id, { metadata: { topic: 'b' } });
    expect(changed).toEqual({ ...made, metadata: { topic: 'b' } });
    const added = await conversations.items.create(made.id, {
      items: [user('Two'), user('Three')],
    });
    expect(added.data).toHaveLength(2);
    const client = clientOf(await server());
    await expect(client.conversations.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
    expect(await conversations.delete(made.id)).toMatchObject({ deleted: true });
    await expect(conversations.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
  });

  it('list their items page by page, and give and lose single ones', async () => {
    const client = clientOf(await server());
    const { id } = await client.conversations.create({
      items: ['One', 'Two', 'Three', 'Four', 'Five'].map(user),
    });
    expect(await textsOf(client, id)).toEqual(['One', 'Two', 'Three', 'Four', 'Five']);
    const [newest] = (await client.conversations.items.list(id, { limit: 1 })).data;
    const itemId = newest?.id ?? '';
    const item = await client.conversations.items.retrieve(itemId, { conversation_id: id });
    expect(item).toEqual(newest);
    const left = await client.conversations.items.delete(itemId, { conversation_id: id });
    expect(left).toMatchObject({ id, object: 'conversation' });
    expect(await textsOf(client, id)).toEqual(['One', 'Two', 'Three', 'Four']);
    await expect(
      client.conversations.items.retrieve(itemId, { conversation_id: id }),
    ).rejects.toMatchObject({ status: 404 });
  });

  it('get the input and output of each response, stored or not, streamed or not', async () => {
    const target = await server({ script: says('Yes.') });
    const client = clientOf(target);
    const { id } = await client.conversations.create({ items: [user('Zero')] });
    const first = await client.responses.create({ input: 'One', conversation: id });
    expect(first.conversation).toEqual({ id });
    expect(promptOf(target)).toContain('Zero');
    const events = await client.responses.create({
      input: 'Two',
      conversation: { id },
      store: false,
      stream: true,
    });
    for await (const _ of events);
    const prompt = promptOf(target);
    const places = ['Zero', 'One', 'Yes.', 'Two'].map((text) => prompt.indexOf(text));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect(await textsOf(client, id)).toEqual(['Zero', 'One', 'Yes.', 'Two', 'Yes.']);
  });

  it('keep answers apart from their metadata, and survive their deletion', async () => {
    const target = await server({ script: says('Yes.') });
    const client = clientOf(target);
    const { id } = await client.conversations.create();
    const response = await client.responses.create({ input: 'One', conversation: id });
    await client.conversations.update(id, { metadata: { a: 'b' } });
    await client.responses.delete(response.id);
    expect(await textsOf(client, id)).toEqual(['One', 'Yes.']);
    await client.conversations.delete(id);
    expect(target.context.responses.numBytes).toBe(0);
  });

  it.each([
    ['/v1/conversations', { items: [{ type: 'nothing' }] }, 400, 'items.0.type'],
    ['/v1/conversations', { items: [{ role: 'user', content: 5 }] }, 400, 'items.0.content'],
    ['/v1/conversations', { metadata: { a: 5 } }, 400, 'metadata.a'],
    ['/v1/conversations/conv_0', { metadata: {} }, 404, null],
    ['/v1/conversations/conv_0/items', { items: [] }, 404, null],
    ['/v1/responses', { input: 'Hi', conversation: 'conv_0' }, 404, null],
    ['/v1/responses', { input: 'Hi', conversation: 5 }, 400, 'conversation'],
    [
      '/v1/responses',
      { input: 'Hi', conversation: 'conv_0', previous_response_id: 'resp_0' },
      400,
      'conversation',
    ],
  ])('%s refuses %j', async (path, body, status, param) => {
    const target = await server();
    expect(await errorOf(await post(target, path, body), status)).toMatchObject({ param });
  });

  it('are bounded with their metadata, the least used dropped first', () => {
    const store = new ResponseStore(2000);
    const { conversations } = store.of('one');
    const metadata = { text: 'x'.repeat(300) };
    const ids = Array.from({ length: 20 }, () => String(conversations.create(metadata, [])['id']));
    expect(store.numBytes).toBeLessThanOrEqual(2000);
    const kept = ids.filter((id) => {
      try {
        return conversations.get(id) !== undefined;
      } catch {
        return false;
      }
    });
    expect(kept).toEqual(ids.slice(-kept.length));
    expect(kept.length).toBeGreaterThan(3);
    for (const id of kept) conversations.delete(id);
    expect(store.numBytes).toBe(0);
  });

  it('are refused where nothing is stored', () => {
    const { conversations } = new ResponseStore(0).of('');
    expect(() => conversations.create({}, [])).toThrow('not stored');
  });
});
