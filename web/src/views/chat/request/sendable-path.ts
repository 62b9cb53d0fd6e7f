/** Selects the messages of a conversation that a model gets to read. */
import type { Message } from '../model/types.ts';

/**
 * Leaves out what has failed, what was stopped before its first token, and calls without their results.
 * Questions that then follow each other become one, since many chat templates take only turns.
 * @param path from the first message to the last
 */
export function sendablePath(path: readonly Message[]): Message[] {
  const sent: Message[] = [];
  const answered = new Set(path.flatMap(({ toolCallId }) => toolCallId ?? []));
  const asked = new Set<string>();
  for (const message of path) {
    const kept = message.role === 'assistant' ? asSent(message, answered) : message;
    if (kept === null) continue;
    for (const { id } of kept.toolCalls ?? []) asked.add(id);
    if (kept.role === 'tool' && !asked.has(kept.toolCallId ?? '')) continue;
    const last = sent.at(-1);
    if (last?.role === 'user' && kept.role === 'user') sent[sent.length - 1] = joined(last, kept);
    else sent.push(kept);
  }
  return sent;
}

/** @param answered ids of calls that have results */
function asSent(answer: Message, answered: ReadonlySet<string>): Message | null {
  const { state, content, toolCalls = [] } = answer;
  if (state === 'failed') return null;
  const { toolCalls: _, ...text } = answer;
  const isWhole = toolCalls.length > 0 && toolCalls.every(({ id }) => answered.has(id));
  if (isWhole) return answer;
  return content === '' ? null : text;
}

function joined(first: Message, second: Message): Message {
  const attachments = [...(first.attachments ?? []), ...(second.attachments ?? [])];
  return { ...second, attachments, content: `${first.content}\n\n${second.content}` };
}
