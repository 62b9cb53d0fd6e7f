/** Fields of a form for transcriptions and translations, as OpenAI and vLLM have them. */
import { z } from 'zod';
import { languageCode } from '../../front/transcription/languages.ts';
import { badRequest } from '../errors.ts';
import { shortText } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';

const FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const;

/** Formats that can be streamed. */
const STREAMED: readonly string[] = ['json', 'text'];

const MAX_PROMPT = 4096;

const GRANULARITIES = 'timestamp_granularities';

const language = shortText.transform((given, check) => {
  const code = languageCode(given);
  if (code !== null) return code;
  check.addIssue({
    code: 'custom',
    message:
      'expected an ISO-639-1 code that Whisper has, such as `en`, or a name, such as `english`',
  });
  return z.NEVER;
});

export const audioFields = z.looseObject({
  model: shortText.optional(),
  language: language.optional(),
  prompt: z.string().max(MAX_PROMPT).optional(),
  response_format: z
    .enum(FORMATS, { error: `expected ${FORMATS.map((name) => `\`${name}\``).join(', ')}` })
    .optional(),
  temperature: z.coerce
    .number({ error: 'expected a number' })
    .pipe(z.number({ error: 'expected a number' }).min(0).max(1))
    .optional(),
  stream: z
    .enum(['true', 'false', 'True', 'False', '1', '0'], { error: 'expected `true` or `false`' })
    .transform((given) => /^(?:true|1)$/i.test(given))
    .optional(),
});

/** Fields that change the answer in ways that are not built, and values that change nothing. */
const UNSUPPORTED: ReadonlyMap<string, readonly string[]> = new Map([
  ['include', []],
  ['chunking_strategy', ['auto']],
  ['hotwords', ['']],
  ['known_speaker_names', []],
  ['known_speaker_references', []],
  ['to_language', ['']],
  ['seed', ['']],
  ['top_p', ['1', '1.0']],
  ['top_k', ['0', '-1']],
  ['min_p', ['0', '0.0']],
  ['repetition_penalty', ['1', '1.0']],
  ['frequency_penalty', ['0', '0.0']],
  ['presence_penalty', ['0', '0.0']],
  ['max_completion_tokens', ['']],
]);

export interface AudioRequest {
  readonly model: string | undefined;
  /** Code; null to find out. */
  readonly language: string | null;
  readonly prompt: string;
  readonly format: (typeof FORMATS)[number];
  readonly temperature: number;
  readonly isStreamed: boolean;
  /** Whether times of words are wanted, and segments. */
  readonly withWords: boolean;
  readonly withSegments: boolean;
}

/**
 * @param fields with their values; brackets at the end of a name are those of a list
 * @throws ApiError 400 naming the field
 */
export function toAudioRequest(fields: ReadonlyMap<string, readonly string[]>): AudioRequest {
  const lists = new Map<string, readonly string[]>();
  for (const [name, values] of fields) {
    const list = name.replace(/\[\d*\]$/, '');
    lists.set(list, [...(lists.get(list) ?? []), ...values]);
  }
  for (const [name, values] of lists) {
    const neutral = UNSUPPORTED.get(name);
    if (neutral === undefined || values.every((value) => neutral.includes(value))) continue;
    const reason =
      name === 'hotwords' ? 'is not supported; `prompt` may have such words' : 'is not supported';
    throw badRequest(`\`${name}\` ${reason}.`, name, 'unsupported_parameter');
  }
  const granularities = granularitiesOf(lists.get('timestamp_granularities') ?? []);
  // Clients send fields that are not set as empty ones.
  const given = [...lists].flatMap(([name, [first = '']]) => (first === '' ? [] : [[name, first]]));
  const known = parseWith(audioFields, Object.fromEntries(given));
  const { response_format: format = 'json', stream: isStreamed = false } = known;
  if (isStreamed && !STREAMED.includes(format)) {
    const message = `\`stream\`: expected \`response_format\` \`json\` or \`text\` with it.`;
    throw badRequest(message, 'stream', 'invalid_value');
  }
  const withWords = granularities.has('word');
  if (withWords && format !== 'verbose_json') {
    const message = `\`${GRANULARITIES}\`: times of words are in \`response_format\` \`verbose_json\` alone.`;
    throw badRequest(message, GRANULARITIES, 'invalid_value');
  }
  return {
    model: known.model,
    language: known.language ?? null,
    prompt: known.prompt ?? '',
    format,
    temperature: known.temperature ?? 0,
    isStreamed,
    withWords,
    withSegments: !withWords || granularities.has('segment'),
  };
}

function granularitiesOf(values: readonly string[]): ReadonlySet<string> {
  const asked = new Set(values.filter((value) => value !== ''));
  for (const value of asked) {
    if (value === 'segment' || value === 'word') continue;
    const message = `\`${GRANULARITIES}\`: expected \`segment\` or \`word\`.`;
    throw badRequest(message, GRANULARITIES, 'invalid_value');
  }
  return asked;
}
