/** Conversations that are to be summed up before they are answered. */
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const PATH = '/v1/responses';
const SECRET = 'The password of the vault is sesame.';
const SAID = { role: 'assistant', content: SECRET };

function compacting(compact_threshold: unknown = 1): object {
  return { context_management: [{ type: 'compaction', compact_threshold }], max_output_tokens: 8 };
}

function talk(numItems: number, words: number): object[] {
  const content = 'boat '.repeat(words);
  const roles = ['user', 'assistant'];
  return Array.from({ length: numItems }, (_, index) => ({ role: roles[index % 2], content }));
}

/** The summary that the server sealed for `client`. */
async function sealedFor(client: Client): Promise<string> {
  const body = { input: [SAID], store: true, ...compacting() };
  const { text } = await client.send(PATH, { body });
  const { output } = JSON.parse(text) as { output: { encrypted_content?: string }[] };
  return output[0]?.encrypted_content ?? '';
}

export const attacks: readonly Attack[] = [
  {
    name: 'sums up at a threshold of 1, turn for turn, by id and in a conversation',
    async run({ attacker }) {
      let previous: string | null = null;
      const made = await attacker.send('/v1/conversations', { body: { items: talk(2, 20) } });
      const { id: conversation } = JSON.parse(made.text) as { id: string };
      for (let turn = 0; turn < 12; turn++) {
        const body = { input: [SAID], ...compacting() };
        await attacker.try(PATH, { body: { ...body, conversation } });
        const next = { ...body, previous_response_id: previous };
        const answer = await attacker.try(PATH, { body: next });
        previous = answer?.status === 200 ? (JSON.parse(answer.text) as { id: string }).id : null;
      }
    },
  },
  {
    name: 'names a threshold twice, a million times, and as what is no number',
    async run({ attacker }) {
      const breaches: string[] = [];
      const input = JSON.stringify([SAID]);
      const entry = '{"type":"compaction","compact_threshold":1}';
      const wrong = ['0', '-1', '1.5', '1e999', '"1"', '[]', '{}', 'true', '9'.repeat(1e6)];
      const lists = [
        `[${entry},${entry}]`,
        `[${`${entry},`.repeat(1e6)}${entry}]`,
        ...wrong.map((each) => `[{"type":"compaction","compact_threshold":${each}}]`),
        `[{"type":"${'x'.repeat(1e6)}"}]`,
        `${'['.repeat(1e5)}${']'.repeat(1e5)}`,
      ];
      for (const list of lists) {
        const body = `{"input":${input},"context_management":${list}}`;
        const answer = await attacker.try(PATH, { body });
        const { status = 400 } = answer ?? {};
        if (status < 400) breaches.push(`${list.slice(0, 60)} was taken`);
      }
      return breaches;
    },
  },
  {
    name: 'sums up thousands of messages, messages of megabytes, and a hundred summaries in a row',
    async run({ attacker }) {
      const sealed = await sealedFor(attacker);
      const summary = { type: 'compaction', encrypted_content: sealed };
      const inputs = [
        talk(100_000, 1),
        talk(2000, 1),
        talk(4, 500_000),
        [...Array.from({ length: 100 }, () => summary), SAID],
        Array.from({ length: 100 }, () => [summary, SAID]).flat(),
      ];
      for (const input of inputs) {
        for (const truncation of ['auto', 'disabled']) {
          await attacker.try(PATH, { body: { input, truncation, ...compacting() } });
        }
      }
    },
  },
  {
    name: 'leaves 200 conversations while they are summed up',
    async run({ attacker }) {
      const body = { input: talk(4, 40), stream: true, ...compacting() };
      for (let count = 0; count < 200; count += 8) {
        const waiting = Array.from({ length: 8 }, (_, index) =>
          attacker.try(PATH, { body, signal: AbortSignal.timeout(20 + 20 * index) }),
        );
        await Promise.all(waiting);
      }
    },
  },
  {
    name: 'goes on with a summary of another key, and sums it up',
    hasKeys: true,
    async run({ attacker, victim }) {
      const sealed = await sealedFor(victim);
      const breaches = sealed === '' ? ['the victim got no summary'] : [];
      for (const content of [sealed, sealed.slice(0, -2), '', 'A'.repeat(5e6)]) {
        const input = [{ type: 'compaction', encrypted_content: content }, SAID];
        const { status } = await attacker.send(PATH, { body: { input, ...compacting() } });
        if (status < 400) breaches.push(`a summary of ${content.length} characters was read`);
      }
      return breaches;
    },
  },
];
