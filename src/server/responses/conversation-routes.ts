/** /v1/conversations: made, read, changed and deleted; responses add to them by `conversation`. */
import type { Context, Hono } from 'hono';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import type { JsonObject } from '../json-object.ts';
import { parseWith } from '../schemas/parse.ts';
import { conversationBody, conversationChange } from '../schemas/responses.ts';
import type { Conversations } from './conversations.ts';
import { parseInput } from './input.ts';
import type { Item } from './items.ts';
import { listItems } from './list-items.ts';
import { ReferencedItems } from './referenced-items.ts';
import { sealedTextsOf } from './sealed-texts.ts';

const ONE = '/v1/conversations/:id';
const ITEMS = `${ONE}/items`;
const ITEM = `${ITEMS}/:item`;

export function conversationRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const partitionOf = (c: Context<ServerEnv>) => context.responses.of(c.get('client') ?? '');
  const conversationsOf = (c: Context<ServerEnv>): Conversations => partitionOf(c).conversations;
  const read = (c: Context<ServerEnv>): Promise<unknown> =>
    context.bodies.read(c.env.incoming, callerOf(context, c).client);
  const itemsOf = (c: Context<ServerEnv>, value: unknown, known: readonly Item[]): Item[] => {
    const references = new ReferencedItems(known, partitionOf(c));
    return parseInput(value, {
      field: 'items',
      findItem: (id) => references.find(id),
      ...sealedTextsOf(c.get('client') ?? '', context.resumption?.key),
    });
  };

  app.post('/v1/conversations', async (c) => {
    const body = parseWith(conversationBody, await read(c));
    const items = itemsOf(c, body['items'] ?? [], []);
    return c.json(conversationsOf(c).create(body.metadata ?? {}, items));
  });
  app.get(ONE, (c) => c.json(conversationsOf(c).get(c.req.param('id'))));
  app.post(ONE, async (c) => {
    const { metadata } = parseWith(conversationChange, await read(c));
    return c.json(conversationsOf(c).setMetadata(c.req.param('id'), metadata ?? {}));
  });
  app.delete(ONE, (c) => {
    const id = c.req.param('id');
    conversationsOf(c).delete(id);
    return c.json({ id, object: 'conversation.deleted', deleted: true });
  });
  app.get(ITEMS, (c) =>
    c.json(listItems(conversationsOf(c).itemsOf(c.req.param('id')), c.req.query())),
  );
  app.post(ITEMS, async (c) => {
    const id = c.req.param('id');
    const conversations = conversationsOf(c);
    const body: JsonObject = Object(await read(c));
    const items = itemsOf(c, body['items'], conversations.itemsOf(id));
    conversations.add(id, items);
    const all = { order: 'asc', limit: '100' };
    return c.json(listItems(items.slice(0, 100), all));
  });
  app.get(ITEM, (c) => c.json(conversationsOf(c).item(c.req.param('id'), c.req.param('item'))));
  app.delete(ITEM, (c) =>
    c.json(conversationsOf(c).deleteItem(c.req.param('id'), c.req.param('item'))),
  );
}
