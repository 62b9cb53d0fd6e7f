/** How models mark their thoughts: a table of formats, named as vLLM names its parsers. */
import type { ThoughtLayout } from '../../grammar/grammar-source.ts';

export interface ReasoningFormat {
  /** Its names for `--reasoning-parser`. */
  readonly names: readonly [string, ...string[]];
  readonly open: string;
  /** Its first character is nowhere else in it. */
  readonly close: string;
  /** Around what is said then; empty where nothing is. */
  readonly answer: { readonly open: string; readonly close: string };
  /** The start of the next message, in formats of channels, where a thought is a message too. */
  readonly next: string;
  /** Texts that a chat template of the format has, all of them. */
  readonly shownBy: readonly string[];
  /** Its markers may be special tokens, which must not be left out of the text. */
  readonly hasSpecialMarker: boolean;
}

const NOTHING = { open: '', close: '' };
const PLAIN = { answer: NOTHING, next: '', hasSpecialMarker: false };
const SPECIAL = { ...PLAIN, hasSpecialMarker: true };
const THINK = { ...PLAIN, open: '<think>', close: '</think>' };

/** A template shows the first of those that it has all texts of. */
export const REASONING_FORMATS: readonly ReasoningFormat[] = [
  {
    // Harmony: read by channels.ts.
    ...SPECIAL,
    names: ['openai_gptoss'],
    open: '<|channel|>analysis<|message|>',
    close: '<|end|>',
    next: '<|start|>assistant',
    answer: { open: '<|channel|>final<|message|>', close: '' },
    shownBy: ['<|channel|>'],
  },
  {
    ...SPECIAL,
    names: ['mistral'],
    open: '[THINK]',
    close: '[/THINK]',
    shownBy: ['[THINK]'],
  },
  {
    ...SPECIAL,
    names: ['gemma4'],
    open: '<|channel>thought\n',
    close: '<channel|>',
    shownBy: ['<channel|>'],
  },
  {
    ...SPECIAL,
    names: ['seed_oss'],
    open: '<seed:think>',
    close: '</seed:think>',
    shownBy: ['<seed:think>'],
  },
  {
    ...SPECIAL,
    names: ['cohere_command3'],
    open: '<|START_THINKING|>',
    close: '<|END_THINKING|>',
    answer: { open: '<|START_RESPONSE|>', close: '<|END_RESPONSE|>' },
    shownBy: ['<|START_THINKING|>'],
  },
  {
    ...SPECIAL,
    names: ['apertus'],
    open: '<|inner_prefix|>',
    close: '<|inner_suffix|>',
    shownBy: ['<|inner_prefix|>'],
  },
  {
    ...PLAIN,
    names: ['granite'],
    open: 'Here is my thought process:',
    close: 'Here is my response:',
    shownBy: ['Here is my thought process:'],
  },
  {
    ...THINK,
    names: ['hunyuan_a13b'],
    answer: { open: '<answer>', close: '</answer>' },
    shownBy: ['<answer>', 'think>'],
  },
  {
    ...THINK,
    names: ['ernie45'],
    answer: { open: '<response>', close: '</response>' },
    shownBy: ['<global_setting>', 'think>'],
  },
  {
    ...THINK,
    names: [
      'think',
      'deepseek_r1',
      'deepseek_v3',
      'qwen3',
      'glm45',
      'glm47',
      'holo2',
      'kimi_k2',
      'mimo',
      'minimax_m2',
      'nemotron_v3',
      'olmo3',
      'step3',
    ],
    // Some templates have but one of the two.
    shownBy: ['think>'],
  },
];

/** The format that a chat template, or a prompt, has to do with; null for none of these. */
export function detectReasoningFormat(template: string): ReasoningFormat | null {
  const shows = ({ shownBy }: ReasoningFormat) => shownBy.every((text) => template.includes(text));
  return REASONING_FORMATS.find(shows) ?? null;
}

/** @returns null if there is none of that name */
export function reasoningFormatNamed(name: string): ReasoningFormat | null {
  return REASONING_FORMATS.find(({ names }) => names.includes(name)) ?? null;
}

/** Where a text begins that follows a prompt: before a thought, within one or after it. */
export type ThoughtPlace = 'before' | 'within' | 'after';

/** Templates open or end a thought for the model. */
export function placeAfter({ open, close }: ReasoningFormat, prompt: string): ThoughtPlace {
  const text = prompt.trimEnd();
  if (text.endsWith(open.trim())) return 'within';
  return text.endsWith(close) ? 'after' : 'before';
}

export function thoughtLayout(format: ReasoningFormat, place: ThoughtPlace): ThoughtLayout {
  const { open, close, next, answer } = format;
  return { open, close, next, isOpen: place === 'within', answer: answer.open };
}
