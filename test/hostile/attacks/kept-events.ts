/** The events of background responses, which can be read again. */
import { setMaxListeners } from 'node:events';
import { LIMITS } from '../../../src/limits.ts';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';
import { toldApart, type Try } from '../support/told-apart.ts';

const PATH = '/v1/responses';
const NUMBERS = ['0', '-1', '1e9', '999999999999999', '9'.repeat(4000), '%00', 'NaN', ''];

/** Its id, once its last event was told. */
async function makeResponse(client: Client, fields: object = {}): Promise<string> {
  const body = { input: 'Tell me a story.', background: true, stream: true, ...fields };
  const { text } = await client.send(PATH, { body });
  return /resp_[0-9a-f]+/.exec(text)?.[0] ?? '';
}

export const attacks: readonly Attack[] = [
  {
    name: "reads the events of another key's background response",
    hasKeys: true,
    async run({ attacker, victim }) {
      const id = await makeResponse(victim, { max_output_tokens: 16 });
      const never = id.replaceAll(/[0-9a-f]/g, (digit) => (digit === '0' ? '1' : '0'));
      const tries = (of: string): readonly Try[] =>
        ['', ...NUMBERS.map((number) => `&starting_after=${number}`)].map((query) => [
          'GET',
          `${PATH}/${of}?stream=true${query}`,
        ]);
      const withoutId = (text: string) => text.replaceAll(id, 'ID').replaceAll(never, 'ID');
      const breaches = await toldApart(attacker, tries(id), tries(never), withoutId);
      const { text } = await victim.send(`${PATH}/${id}?stream=true`);
      if (!/response\.(completed|incomplete)/.test(text)) breaches.push('the events are gone');
      return breaches;
    },
  },
  {
    name: 'numbers of events that there never were, and HEAD',
    async run({ attacker }) {
      const id = await makeResponse(attacker, { max_output_tokens: 16 });
      const paths = NUMBERS.map((number) => `${PATH}/${id}?stream=true&starting_after=${number}`);
      const answers = await Promise.all([
        ...paths.map((path) => attacker.send(path)),
        attacker.send(`${PATH}/${id}?stream=true`, { method: 'HEAD' }),
      ]);
      return answers
        .filter(({ status }) => status !== 200 && status !== 400)
        .map(({ status, text }) => `${status} ${text.slice(0, 100)}`);
    },
  },
  {
    name: '100 readers of a background response with all log-probabilities, who read nothing',
    flags: ['--response-store-size=6m'],
    async run({ attacker }) {
      const logprobs = { include: ['message.output_text.logprobs'], top_logprobs: LIMITS.logprobs };
      const fields = { ...logprobs, max_output_tokens: 400, ignore_eos: true };
      const id = await makeResponse(attacker, fields);
      const left = new AbortController();
      setMaxListeners(0, left.signal);
      const readers = Array.from({ length: 100 }, () => openReader(attacker, id, left.signal));
      const statuses = await Promise.all(readers);
      // Pushes out what they are reading.
      await makeResponse(attacker, fields);
      left.abort();
      const others = statuses.filter((status) => status !== 200 && status !== 429);
      return others.map((status) => `a reader got ${status}`);
    },
  },
  {
    name: '2,000 readers of a response that waits, who come and go',
    flags: ['--max-num-seqs=2'],
    async run({ attacker }) {
      const id = await makeResponse(attacker, { max_output_tokens: 16 });
      for (let round = 0; round < 20; round++) {
        const left = new AbortController();
        setMaxListeners(0, left.signal);
        const number = round % 2 === 0 ? '' : '&starting_after=99999999';
        await Promise.all(
          Array.from({ length: 100 }, () => openReader(attacker, id + number, left.signal)),
        );
        left.abort();
      }
      const { status } = await attacker.send(`${PATH}/${id}?stream=true`);
      return status === 200 ? [] : [`no place is left: ${status}`];
    },
  },
];

/** The status that a reader gets, who then reads no more until `signal` aborts. */
async function openReader(client: Client, id: string, signal: AbortSignal): Promise<number> {
  const socket = await client.connect();
  signal.addEventListener('abort', () => socket.destroy(), { once: true });
  const answered = new Promise<string>((resolve) => {
    socket.once('data', (data: Buffer) => {
      socket.pause();
      resolve(data.toString('latin1'));
    });
    socket.once('close', () => resolve(''));
  });
  socket.write(`${client.head('GET', `${PATH}/${id}?stream=true`, {})}\r\n`);
  return Number((await answered).slice(9, 12));
}
