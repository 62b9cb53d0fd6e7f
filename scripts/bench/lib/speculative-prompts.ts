import { readFileSync } from 'node:fs';
import { schemaOf } from './record-prompts.ts';

export interface BenchPrompt {
  /** How much of the answer is in the text already depends on this. */
  readonly kind: string;
  readonly text: string;
  readonly system?: string;
  /** Completed as it is, to a fixed length, without the chat template. */
  readonly isRaw: boolean;
  /** Schema of the JSON that the answer has to be. */
  readonly schema?: object;
  /** Answer, whatever the model would say; see giveTexts. */
  readonly answer?: string;
}

const KINDS: Readonly<Record<string, string>> = {
  json_valid: 'JSON',
  json_exact: 'JSON',
  echo: 'echo',
  echo_sentences: 'echo',
  tool_calls: 'tool call',
  capitals: 'chat',
  word_problems: 'chat',
  counting_heldout: 'chat',
  arithmetic_heldout: 'chat',
};
const STORY = /<\|im_start\|>user\n([^<]*\b(?:story|tale)\b[^<]*)<\|im_end\|>/i;
/** A single long string: hardly anything is forced. */
const STORY_SCHEMA = schemaOf({ story: '' });

const NAMES = ['Ada', 'Maya', 'Lena', 'Emil', 'Sam', 'Nora', 'Zack', 'Opal', 'Uma', 'Ian'];
const CODE_LINES: readonly ((name: string, number: number) => string)[] = [
  (name, n) => `{"id": ${n}, "name": "${name}", "age": ${20 + n * 7}, "active": true}`,
  (name, n) => `users.add(new User("${name}", ${20 + n * 7}));`,
  (name) => `def get_${name.toLowerCase()}(self):\n    return self.${name.toLowerCase()}\n`,
  (name, n) => `  <item key="${n}"><name>${name}</name></item>`,
  (name, n) => `INSERT INTO people (id, name) VALUES (${n}, '${name}');`,
  (name, n) => `${name},${n},${name.toLowerCase()}@post.org,yes`,
  (name, n) => `case ${n}: return "${name}"; break;`,
  (name) => `- name: ${name}\n  role: user\n  active: true`,
];

const JSON_LISTS: readonly string[][] = [
  ['name and age', 'Ada (89), Maya (42), Lena (14), Emil (22), Sam (31), Opal (67) and Zack (50)'],
  ['name and city', 'Nora (Lyon), Uma (Berlin), Ian (Kyoto), Ben (Manila) and Noah (Hamburg)'],
  ['item and price', 'kite (136), drum (20), lamp (75), rope (9), flute (211) and compass (64)'],
  ['name and pet', 'Lily (a dog), Greta (a cat), Nico (a parrot), Amina (a frog) and Ada (a bee)'],
  ['name and job', 'Sam (baker), Ian (pilot), Maya (farmer), Uma (teacher) and Zack (tailor)'],
  ['item and colour', 'scarf (red), button (yellow), box (gold), hat (green) and coat (blue)'],
];

interface EvalEntry {
  readonly text?: string;
  readonly task?: string;
  readonly prompt?: string;
  readonly system?: string;
  readonly answer?: string;
}

/**
 * Up to `perKind` prompts of each kind, all different, in a random order that is always the same.
 * @param evalFile a model's eval.jsonl
 */
export function speculativePrompts(evalFile: string, perKind: number): BenchPrompt[] {
  const entries = readFileSync(evalFile, 'utf8')
    .trim()
    .split('\n')
    .map((line): EvalEntry => JSON.parse(line));
  const prompts = shuffled([...entries.flatMap(toPrompts), ...codePrompts(), ...listPrompts()]);
  const counts = new Map<string, number>();
  return prompts.filter(({ kind }) => {
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return count <= perKind;
  });
}

function toPrompts(
  { text = '', task = '', prompt, system, answer }: EvalEntry,
  index: number,
): BenchPrompt[] {
  const story = STORY.exec(text)?.[1];
  if (story !== undefined) {
    const free = { kind: 'story', text: story, isRaw: false };
    return [index % 2 === 0 ? { ...free, kind: 'story, schema', schema: STORY_SCHEMA } : free];
  }
  const kind = KINDS[task];
  if (kind === undefined || prompt === undefined) return [];
  const free = { kind, text: prompt, isRaw: false, ...(system === undefined ? {} : { system }) };
  const schema = kind === 'JSON' ? schemaOf(JSON.parse(answer ?? 'null')) : {};
  // Without keys nothing to speak of is forced.
  const hasKeys = JSON.stringify(schema).includes('"properties"');
  return [hasKeys && index % 2 === 0 ? { ...free, kind: 'JSON, schema', schema } : free];
}

function listPrompts(): BenchPrompt[] {
  return JSON_LISTS.flatMap(([keys, items]) =>
    ['As a JSON array of objects', 'Write a JSON array of objects'].map((start) => ({
      kind: 'JSON list',
      text: `${start} with the keys ${keys}: ${items}.`,
      isRaw: false,
    })),
  );
}

/** The beginning of a file of lines that are alike. */
function codePrompts(): BenchPrompt[] {
  return CODE_LINES.flatMap((line, form) =>
    [0, 1].map((half) => {
      const names = NAMES.map((_, at) => NAMES[(at * 3 + form + half * 5) % NAMES.length] ?? '');
      const lines = names.slice(0, 6 + half * 2).map((name, at) => line(name, at + 1 + half * 40));
      return { kind: 'code-like', text: `${lines.join('\n')}\n`, isRaw: true };
    }),
  );
}

function shuffled<T>(items: readonly T[]): T[] {
  const result = [...items];
  let state = 12_345;
  for (let last = result.length - 1; last > 0; last--) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const other = state % (last + 1);
    const [a, b] = [result[last], result[other]];
    if (a !== undefined && b !== undefined) [result[last], result[other]] = [b, a];
  }
  return result;
}
