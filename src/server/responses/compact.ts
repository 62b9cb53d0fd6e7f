/** /v1/responses/compact: a conversation becomes what its user said, and a summary that the model writes. */
import type { Caller } from '../../front/caller.ts';
import { createId } from '../ids.ts';
import type { ServedText } from '../runtimes.ts';
import type { JsonObject } from '../json-object.ts';
import { parseWith } from '../schemas/parse.ts';
import { compactBody } from '../schemas/responses.ts';
import { clientOf, type FindTurn, readConversation } from './asked-conversation.ts';
import type { ResponseServices } from './create.ts';
import type { Item } from './items.ts';
import { toUsage } from './response-object.ts';
import { prepareSummary, startSummary } from './summary.ts';
import { rememberedOf } from './summaries.ts';

/** @throws ApiError 4xx when the body can't be served, 500 for a summary without a word */
export async function compactConversation(
  served: ServedText,
  json: unknown,
  findTurn: FindTurn,
  caller: Caller,
  server: ResponseServices,
): Promise<JsonObject> {
  const body = parseWith(compactBody, json);
  const client = clientOf(caller.client, findTurn, server);
  const items = rememberedOf(readConversation({ ...body, input: body.input ?? [] }, client).items);
  const { summaries } = client.texts;
  const chat = await prepareSummary(served, items, body, summaries, caller);
  const finish = await startSummary(served, chat, caller);
  const { text, usage } = await finish();
  const compaction = {
    id: createId('cmp_'),
    type: 'compaction',
    encrypted_content: summaries.seal(text),
  };
  return {
    id: createId('resp_'),
    object: 'response.compaction',
    created_at: Math.floor(Date.now() / 1000),
    output: [...items.filter(isOfUser), compaction],
    usage: toUsage(usage),
  };
}

function isOfUser(item: Item): boolean {
  return item.type === 'message' && item.role === 'user';
}
