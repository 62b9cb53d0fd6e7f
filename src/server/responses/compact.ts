/** /v1/responses/compact: a conversation becomes what its user said, and a summary that the model writes. */
import type { Caller } from '../../front/caller.ts';
import { ApiError } from '../errors.ts';
import { createId } from '../ids.ts';
import type { ServedText } from '../runtimes.ts';
import type { JsonObject } from '../json-object.ts';
import { parseWith } from '../schemas/parse.ts';
import { compactBody } from '../schemas/responses.ts';
import { type FindTurn, PreparedResponse, type ResponseServices } from './create.ts';
import { type Item, textOf } from './items.ts';
import { sealedTextsOf } from './sealed-texts.ts';

/** Largest share of the model's context. */
const SUMMARY_SHARE = 1 / 4;
const MAX_SUMMARY_TOKENS = 4096;

const TASK =
  'Write a summary of this conversation for the one who will go on with it and will see nothing else of it: ' +
  'what the user wants, what was decided and done, names of files and values that matter, results of tools, ' +
  'what failed, and what is to be done next. Do not answer the user, and call no tools.';

/**
 * Nobody waits for it as for an answer: it runs in the last service class.
 * @throws ApiError 4xx when the body can't be served, 500 for a summary without a word
 */
export async function compactConversation(
  served: ServedText,
  json: unknown,
  findTurn: FindTurn,
  caller: Caller,
  server: ResponseServices,
): Promise<JsonObject> {
  const body = parseWith(compactBody, json);
  const input: unknown = body['input'] ?? [];
  const given: unknown = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  const { model, instructions, previous_response_id, prompt_cache_key } = body;
  const ofContext = Math.floor(served.model.maxModelLen * SUMMARY_SHARE);
  const asked = {
    ...{ model, instructions, previous_response_id, prompt_cache_key },
    input: Array.isArray(given)
      ? [...(given as unknown[]), { role: 'user', content: TASK }]
      : given,
    max_output_tokens: Math.max(1, Math.min(MAX_SUMMARY_TOKENS, ofContext)),
    truncation: 'auto',
    store: false,
  };
  const background = { ...caller, isOfBatch: true };
  const prepared = await PreparedResponse.prepare(served, asked, findTurn, background, server);
  const events = await prepared.start(background);
  for await (const _ of events);
  if (prepared.error !== null) throw prepared.error;
  const { output, usage } = prepared.response;
  const summary = (output as readonly Item[]).flatMap((item) =>
    item.type === 'message' ? textOf(item) : [],
  );
  if (summary.join('').trim() === '') {
    throw new ApiError(500, 'InternalServerError', 'The model wrote no summary.');
  }
  const { summaries } = sealedTextsOf(caller.client, server.resumption?.key);
  const compaction = {
    id: createId('cmp_'),
    type: 'compaction',
    encrypted_content: summaries.seal(summary.join('\n').trim()),
  };
  const said = prepared.items.slice(0, -1).filter(isOfUser);
  return {
    id: createId('resp_'),
    object: 'response.compaction',
    created_at: Math.floor(Date.now() / 1000),
    output: [...said, compaction],
    usage,
  };
}

function isOfUser(item: Item): boolean {
  return item.type === 'message' && item.role === 'user';
}
