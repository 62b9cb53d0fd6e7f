/** The conversation that a request is about: what it goes on with, and what it adds. */
import type { ServerContext } from '../context.ts';
import { badRequest } from '../errors.ts';
import type { ResponseBody } from '../schemas/responses.ts';
import { requireCallsOfOutputs } from './chat-request.ts';
import { parseInput } from './input.ts';
import type { Item } from './items.ts';
import type { ResponsePartition } from './partition.ts';
import { ReferencedItems } from './referenced-items.ts';
import { conversationIdOf } from './response-object.ts';
import { type ClientTexts, sealedTextsOf } from './sealed-texts.ts';
import { conversationOf, type Turn } from './turn.ts';
import { told } from '../../told.ts';

/** Finds the conversation that a response id stands for. */
export type FindTurn = (responseId: string) => Turn | undefined;

/** Its client's part of the server. */
export interface Client {
  readonly partition: ResponsePartition;
  readonly findTurn: FindTurn;
  readonly texts: ClientTexts;
}

export function clientOf(
  client: string,
  findTurn: FindTurn,
  { responses, resumption }: Pick<ServerContext, 'responses' | 'resumption'>,
): Client {
  const texts = sealedTextsOf(client, resumption?.key);
  return { partition: responses.of(client), findTurn, texts };
}

export interface AskedConversation {
  readonly previous: Turn | null;
  readonly input: readonly Item[];
  /** Both, oldest first. */
  readonly items: readonly Item[];
}

type Asking = Pick<ResponseBody, 'previous_response_id' | 'conversation'> & {
  readonly input?: unknown;
};

/** @throws ApiError 4xx for an item that is not well formed, or a conversation that is not there */
export function readConversation(body: Asking, client: Client): AskedConversation {
  const previous = previousTurn(body, client);
  const before = conversationOf(previous);
  const references = new ReferencedItems(before, client.partition);
  const findItem = (id: string): Item | undefined => references.find(id);
  const input = parseInput(body.input, { findItem, ...client.texts });
  const items = [...before, ...input];
  requireCallsOfOutputs(items);
  return { previous, input, items };
}

function previousTurn(body: Asking, { findTurn, partition }: Client): Turn | null {
  const { previous_response_id: id } = body;
  const conversation = conversationIdOf(body);
  if (id === undefined || id === null) {
    return conversation === null ? null : partition.conversations.turnOf(conversation);
  }
  if (conversation !== null) {
    const message = '`conversation` and `previous_response_id` exclude each other.';
    throw badRequest(message, 'conversation', 'invalid_value');
  }
  const turn = findTurn(id);
  if (turn !== undefined) return turn;
  throw badRequest(
    `Previous response with id '${told(id, 100)}' not found.`,
    'previous_response_id',
    'previous_response_not_found',
  );
}
