/** Texts that are saved under names of the client's choice (/slots/{id}). */
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';
import { toldApart, type Try } from '../support/told-apart.ts';

const FLAGS = (folder: string) => [`--prefix-cache-dir=${folder}/prefixes`, '--max-num-seqs=4'];
const SECRET = 'The password of the vault is sesame, said the hare to the fox.';

async function act(client: Client, action: string, body: object, slot: number | string = 0) {
  return await client.send(`/slots/${slot}?action=${action}`, { method: 'POST', body });
}

/** A text of the client in its slot 0. */
async function converse(client: Client, prompt = SECRET): Promise<void> {
  await client.send('/completion', { body: { prompt, n_predict: 8, ignore_eos: true } });
}

export const attacks: readonly Attack[] = [
  {
    name: "restores, overwrites, erases and probes another key's saved text",
    flags: FLAGS,
    hasKeys: true,
    async run({ attacker, victim }) {
      await converse(victim);
      const saved = await act(victim, 'save', { filename: 'vault' });
      const breaches = saved.status === 200 ? [] : [`the victim could not save: ${saved.text}`];
      const tries = (filename: string): readonly Try[] => [
        ['POST', '/slots/0?action=restore', { filename }],
        ['POST', '/slots/3?action=restore', { filename }],
        ['POST', '/slots/0?action=save', { filename }],
        ['POST', '/slots/0?action=erase', { filename }],
      ];
      const neutral = (text: string) => text.replaceAll(/vault|never/g, 'NAME');
      breaches.push(...(await toldApart(attacker, tries('vault'), tries('never'), neutral)));
      await converse(attacker, 'Once upon a time');
      await act(attacker, 'save', { filename: 'vault' });
      await act(attacker, 'erase', { filename: 'vault' });
      const still = await act(victim, 'restore', { filename: 'vault' });
      const { n_restored: now } = JSON.parse(still.text) as { readonly n_restored?: number };
      const { n_saved: then } = JSON.parse(saved.text) as { readonly n_saved?: number };
      if (now !== then) breaches.push(`the victim saved ${then} tokens, and has ${now}`);
      const body = { prompt: SECRET, max_tokens: 1 };
      const { text } = await attacker.send('/v1/completions', { body });
      const cached = /"cached_tokens":(?<number>\d+)/.exec(text)?.groups?.['number'] ?? '0';
      if (cached !== '0') breaches.push(`the attacker found ${cached} of the victim's tokens`);
      return breaches;
    },
  },
  {
    name: 'names that are paths, devices, bytes and megabytes, and slots that are none',
    flags: FLAGS,
    async run({ attacker }) {
      await converse(attacker);
      const breaches: string[] = [];
      const names = ['..', '.', '../a', '/etc/passwd', 'a/b', 'a\\b', 'C:a', 'a\0', '\u202e', '-a'];
      const others = ['', ' ', 'ä', 'a\n', '.hidden', 'x'.repeat(129), 'x'.repeat(4e6), 5, [], {}];
      for (const filename of [...names, ...others]) {
        for (const action of ['save', 'restore', 'erase']) {
          const { status } = await act(attacker, action, { filename });
          const isNothing = filename === '' && action === 'erase';
          if (status === 200 && !isNothing) {
            breaches.push(`${action} took ${JSON.stringify(filename).slice(0, 20)}`);
          }
        }
      }
      const slots = [
        -1,
        4,
        1e9,
        '1e0',
        '0x0',
        '00000000',
        '%2e%2e',
        '..%2f..%2fetc',
        'x'.repeat(5000),
      ];
      for (const slot of slots) {
        const { status } = await act(attacker, 'save', { filename: 'a' }, slot);
        if (status < 400) breaches.push(`slot ${String(slot).slice(0, 20)} answered ${status}`);
      }
      return breaches;
    },
  },
  {
    name: '600 files, restored 16 at a time, and the victim keeps its own',
    flags: FLAGS,
    hasKeys: true,
    async run({ attacker, victim }) {
      await Promise.all([converse(victim), converse(attacker, 'a hare '.repeat(200))]);
      await act(victim, 'save', { filename: 'mine' });
      const lanes = Array.from({ length: 16 }, async (_, lane) => {
        for (let count = 0; count < 38; count++) {
          const body = { filename: `${lane}-${count}` };
          await attacker.try('/slots/0?action=save', { method: 'POST', body });
          if (count % 8 !== 0) continue;
          const signal = AbortSignal.timeout(50 + count);
          await attacker.try('/slots/1?action=restore', { method: 'POST', body, signal });
        }
      });
      await Promise.all(lanes);
      const { status, text } = await act(victim, 'restore', { filename: 'mine' });
      return status === 200 ? [] : [`the victim's file answered ${status} ${text.slice(0, 100)}`];
    },
  },
];
