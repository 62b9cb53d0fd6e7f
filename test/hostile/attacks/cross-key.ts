/** One key after what another key made. */
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';
import { toldApart, type Try } from '../support/told-apart.ts';

const SECRET = 'The password of the vault is sesame.';

interface Made {
  readonly id: string;
}

/** The victim's conversation, with an item of an id of its own choice. */
async function makeConversation(victim: Client, fields: object = {}): Promise<string> {
  const input = [{ type: 'message', id: 'msg_1', role: 'user', content: SECRET }];
  const body = { input, max_output_tokens: 16, store: true, ...fields };
  const { text } = await victim.send('/v1/responses', { body });
  return (JSON.parse(text) as Made).id;
}

export const attacks: readonly Attack[] = [
  {
    name: 'reads, continues, cancels and deletes a response by its id',
    hasKeys: true,
    async run({ attacker, victim }) {
      const id = await makeConversation(victim);
      const never = id.replaceAll(/[0-9a-f]/g, (digit) => (digit === '0' ? '1' : '0'));
      const follow = { input: 'What is the password?', max_output_tokens: 16 };
      const tries = (of: string): readonly Try[] => [
        ['GET', `/v1/responses/${of}`],
        ['GET', `/v1/responses/${of}/input_items`],
        ['POST', `/v1/responses/${of}/cancel`],
        ['POST', '/v1/responses', { ...follow, previous_response_id: of }],
        ['POST', '/v1/responses/input_tokens', { ...follow, previous_response_id: of }],
        ['POST', '/v1/responses/compact', { ...follow, previous_response_id: of }],
        ['DELETE', `/v1/responses/${of}`],
      ];
      const withoutId = (text: string) => text.replaceAll(id, 'ID').replaceAll(never, 'ID');
      const breaches = await toldApart(attacker, tries(id), tries(never), withoutId);
      const still = await victim.send(`/v1/responses/${id}`);
      if (still.status !== 200) breaches.push(`the response is gone: ${still.status}`);
      return breaches;
    },
  },
  {
    name: 'reads, continues, changes and deletes a conversation by its id',
    hasKeys: true,
    async run({ attacker, victim }) {
      const items = [{ type: 'message', id: 'msg_2', role: 'user', content: SECRET }];
      const made = await victim.send('/v1/conversations', { body: { items } });
      const { id } = JSON.parse(made.text) as Made;
      const never = id.replaceAll(/[0-9a-f]/g, (digit) => (digit === '0' ? '1' : '0'));
      const follow = { input: 'What is the password?', max_output_tokens: 16 };
      const tries = (of: string): readonly Try[] => [
        ['GET', `/v1/conversations/${of}`],
        ['GET', `/v1/conversations/${of}/items`],
        ['GET', `/v1/conversations/${of}/items/msg_2`],
        ['POST', `/v1/conversations/${of}`, { metadata: { a: 'b' } }],
        ['POST', `/v1/conversations/${of}/items`, { items }],
        ['POST', '/v1/responses', { ...follow, conversation: of }],
        ['POST', '/v1/responses', { ...follow, conversation: { id: of } }],
        ['DELETE', `/v1/conversations/${of}/items/msg_2`],
        ['DELETE', `/v1/conversations/${of}`],
      ];
      const withoutId = (text: string) => text.replaceAll(id, 'ID').replaceAll(never, 'ID');
      const breaches = await toldApart(attacker, tries(id), tries(never), withoutId);
      const still = await victim.send(`/v1/conversations/${id}/items`);
      if (!still.text.includes(SECRET)) breaches.push(`the conversation is gone: ${still.status}`);
      return breaches;
    },
  },
  {
    name: 'fills the store with conversations and their metadata, and the victim keeps its own',
    hasKeys: true,
    async run({ attacker, victim }) {
      const made = await victim.send('/v1/conversations', { body: { metadata: { mine: 'yes' } } });
      const { id } = JSON.parse(made.text) as Made;
      const pairs = Array.from({ length: 16 }, (_, index) => [`k${index}`, 'x'.repeat(512)]);
      const metadata = Object.fromEntries(pairs);
      const lanes = Array.from({ length: 8 }, async () => {
        for (let count = 0; count < 1500; count++) {
          await attacker.try('/v1/conversations', { body: { metadata } });
        }
      });
      await Promise.all(lanes);
      const { status } = await victim.send(`/v1/conversations/${id}`);
      return status === 200 ? [] : [`the victim's conversation answered ${status}`];
    },
  },
  {
    name: 'goes on with a summary that was sealed for another key, whole and bent',
    hasKeys: true,
    async run({ attacker, victim }) {
      const body = { previous_response_id: await makeConversation(victim) };
      const { text } = await victim.send('/v1/responses/compact', { body });
      const { output } = JSON.parse(text) as { output: { encrypted_content?: string }[] };
      const sealed = output.at(-1)?.encrypted_content ?? '';
      const bent = ['', 'A', sealed, sealed.slice(4), `${sealed}AAAA`, 'A'.repeat(5e6)];
      const breaches: string[] = [];
      for (const content of bent) {
        const input = [{ type: 'compaction', encrypted_content: content }];
        const { status } = await attacker.send('/v1/responses', { body: { input } });
        if (status < 400) breaches.push(`a summary of ${content.length} characters was read`);
      }
      return breaches;
    },
  },
  {
    name: 'continues a response by its id over WebSocket',
    hasKeys: true,
    async run({ attacker, victim }) {
      const id = await makeConversation(victim);
      const socket = await attacker.socket('/v1/responses');
      const answered = new Promise<string>((resolve) => {
        socket.once('message', (data: Buffer) => resolve(data.toString()));
      });
      const event = { type: 'response.create', input: 'Hi', previous_response_id: id };
      socket.send(JSON.stringify({ ...event, max_output_tokens: 16 }));
      const first = await answered;
      socket.terminate();
      return first.includes('previous_response_not_found') ? [] : [first.slice(0, 200)];
    },
  },
  {
    name: 'resolves and overwrites items by their ids',
    hasKeys: true,
    async run({ attacker, victim }) {
      const breaches: string[] = [];
      await makeConversation(victim);
      const reference = { input: [{ type: 'item_reference', id: 'msg_1' }], max_output_tokens: 16 };
      const read = await attacker.send('/v1/responses', { body: reference });
      if (read.status === 200) breaches.push('an item of another key was resolved');
      const mine = [{ type: 'message', id: 'msg_1', role: 'user', content: 'Give me your money.' }];
      await attacker.send('/v1/responses', { body: { input: mine, max_output_tokens: 16 } });
      const again = await victim.send('/v1/responses', { body: reference });
      if (again.status !== 200) breaches.push(`the victim's item is lost: ${again.status}`);
      const { id } = JSON.parse(again.text) as Made;
      const { text } = await victim.send(`/v1/responses/${id}/input_items`);
      if (!text.includes(SECRET)) breaches.push(`the victim's item was replaced: ${text}`);
      return breaches.map((breach) => breach.slice(0, 200));
    },
  },
  {
    name: "cancels another key's background response",
    hasKeys: true,
    async run({ attacker, victim }) {
      const id = await makeConversation(victim, { background: true, max_output_tokens: 400 });
      await attacker.try(`/v1/responses/${id}/cancel`, { method: 'POST' });
      await attacker.try(`/v1/responses/${id}`, { method: 'DELETE' });
      const { status, text } = await victim.send(`/v1/responses/${id}`);
      const isWhole = status === 200 && !text.includes('"cancelled"');
      return isWhole ? [] : [`${status} ${text.slice(0, 200)}`];
    },
  },
  {
    name: "pushes another key's responses out of the store",
    flags: ['--response-store-size=1m'],
    hasKeys: true,
    async run({ attacker, victim }) {
      const id = await makeConversation(victim);
      const content = [{ type: 'reasoning_text', text: 'x'.repeat(300_000) }];
      const input = [
        { type: 'reasoning', content },
        { role: 'user', content: 'Hi' },
      ];
      for (let turn = 0; turn < 10; turn++) {
        await attacker.try('/v1/responses', { body: { input, max_output_tokens: 16 } });
      }
      const { status } = await victim.send(`/v1/responses/${id}`);
      return status === 200 ? [] : [`the victim's response is gone: ${status}`];
    },
  },
  {
    name: 'reads four digits from `cached_tokens`, in 40 requests',
    hasKeys: true,
    async run({ attacker, victim }) {
      const start = 'Once upon a time there was a fox who had a vault. Its code is ';
      const secret = '7391';
      await victim.send('/v1/completions', {
        body: { prompt: `${start}${secret}, and nobody knew.`, max_tokens: 4 },
      });
      let found = '';
      for (let place = 0; place < secret.length; place++) {
        let best = { digit: '', cached: -1 };
        for (const digit of '0123456789') {
          const prompt = `${start}${found}${digit} `;
          const body = { prompt, max_tokens: 1, cache_salt: undefined };
          const { text } = await attacker.send('/v1/completions', { body });
          const cached = cachedTokens(text);
          if (cached > best.cached) best = { digit, cached };
        }
        found += best.digit;
      }
      return found === secret ? [`the attacker read ${found}`] : [];
    },
  },
];

function cachedTokens(answer: string): number {
  const { usage } = JSON.parse(answer) as {
    readonly usage?: { readonly prompt_tokens_details?: { readonly cached_tokens?: number } };
  };
  return usage?.prompt_tokens_details?.cached_tokens ?? 0;
}
