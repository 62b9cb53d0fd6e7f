/** Whether answers tell what is another key's from what never was. */
import type { Client } from './client.ts';

export type Try = readonly [method: string, path: string, body?: object];

/**
 * @param invented the same tries with ids that there never were
 * @param neutral an answer or a path without what differs between any two
 * @returns what is answered in another way, in words
 */
export async function toldApart(
  attacker: Client,
  tries: readonly Try[],
  invented: readonly Try[],
  neutral: (text: string) => string,
): Promise<string[]> {
  const breaches: string[] = [];
  for (const [index, [method, path, body]] of tries.entries()) {
    const answer = await attacker.send(path, { method, body });
    const [, otherPath = '', otherBody] = invented[index] ?? [];
    const other = await attacker.send(otherPath, { method, body: otherBody });
    if (answer.status === other.status && neutral(answer.text) === neutral(other.text)) continue;
    breaches.push(`${method} ${neutral(path)}: ${answer.status} ${answer.text}`.slice(0, 200));
  }
  return breaches;
}
