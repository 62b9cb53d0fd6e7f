/** How models write their tool calls: a table of formats, named as vLLM names its parsers. */
import { createHash } from 'node:crypto';
import type { ToolCallLayout } from '../../grammar/tool-call-layout.ts';
import {
  all,
  COHERE_CALLS,
  DEEPSEEK_V31_CALLS,
  DEEPSEEK_V3_CALLS,
  dsmlCalls,
  each,
  gemmaCall,
  GLM_CALLS,
  KIMI_CALLS,
  list,
  MINIMAX_CALLS,
  NAMED,
  OBJECT,
  PYTHON,
  STEP3_CALLS,
  xmlCall,
} from './layouts.ts';

export interface ToolCallFormat {
  /** Its names for `--tool-call-parser`; several formats may share one, and a template tells them apart. */
  readonly names: readonly [string, ...string[]];
  readonly layout: ToolCallLayout;
  /** Texts that a chat template of the format has, all of them. */
  readonly shownBy: readonly string[];
  /** Its markers may be special tokens, which must not be left out of the text. */
  readonly hasSpecialMarker: boolean;
  /** Calls' ids, as the model's own template takes them back. */
  readonly ids: 'openai' | 'mistral' | 'kimi';
}

const PLAIN = { hasSpecialMarker: false, ids: 'openai' } as const;
const SPECIAL = { hasSpecialMarker: true, ids: 'openai' } as const;

/** Templates refuse ids of another length than 9. */
const MISTRAL = { hasSpecialMarker: true, ids: 'mistral', names: ['mistral'] } as const;

const HERMES = {
  ...PLAIN,
  names: ['hermes', 'granite4', 'ernie45', 'xlam'],
  layout: each(['<tool_call>\n', '\n</tool_call>'], OBJECT),
  shownBy: ['<tool_call>'],
} as const satisfies ToolCallFormat;

const LLAMA: ToolCallFormat = {
  ...SPECIAL,
  names: ['llama3_json', 'llama4_json'],
  layout: {
    ...all(['<|python_tag|>', ''], { ...OBJECT, argumentsKey: 'parameters' }, '; '),
    openIsOptional: true,
  },
  shownBy: ['<|python_tag|>', 'tools'],
};

/** A template shows the first of those that it has all texts of. */
export const TOOL_CALL_FORMATS: readonly ToolCallFormat[] = [
  {
    // Harmony: read by channels.ts, since thoughts and calls are messages alike.
    ...SPECIAL,
    names: ['openai'],
    layout: {
      ...each(['<|channel|>commentary to=functions.', ''], {
        ...NAMED,
        afterName: ' <|constrain|>json<|message|>',
      }),
      repeats: 'never',
    },
    shownBy: ['<|channel|>', '<|message|>'],
  },
  {
    ...MISTRAL,
    layout: {
      ...each(['[TOOL_CALLS]', ''], {
        ...NAMED,
        number: '[CALL_ID]',
        idLength: 9,
        afterName: '[ARGS]',
      }),
      separator: '',
    },
    shownBy: ['[TOOL_CALLS]', '[CALL_ID]'],
  },
  {
    ...MISTRAL,
    layout: { ...each(['[TOOL_CALLS]', ''], { ...NAMED, afterName: '[ARGS]' }), separator: '' },
    shownBy: ['[TOOL_CALLS]', '[ARGS]'],
  },
  {
    ...MISTRAL,
    layout: list(['[TOOL_CALLS]', ''], OBJECT),
    shownBy: ['[TOOL_CALLS]'],
  },
  {
    hasSpecialMarker: true,
    ids: 'kimi',
    names: ['kimi_k2'],
    layout: KIMI_CALLS,
    shownBy: ['<|tool_call_begin|>', '<|tool_call_argument_begin|>'],
  },
  {
    ...SPECIAL,
    names: ['deepseek_v32'],
    layout: dsmlCalls('function_calls'),
    shownBy: ['｜DSML｜', 'function_calls>'],
  },
  {
    ...SPECIAL,
    names: ['deepseek_v4'],
    layout: dsmlCalls('tool_calls'),
    shownBy: ['｜DSML｜'],
  },
  {
    ...SPECIAL,
    names: ['step3'],
    layout: STEP3_CALLS,
    shownBy: ['<steptml:'],
  },
  {
    ...SPECIAL,
    names: ['apertus'],
    // Each call is an object with one key, the name.
    layout: list(['<|tools_prefix|>', '<|tools_suffix|>'], {
      ...NAMED,
      open: '{"',
      afterName: '": ',
      close: '}',
    }),
    shownBy: ['<|tools_prefix|>'],
  },
  {
    ...SPECIAL,
    names: ['deepseek_v3'],
    layout: DEEPSEEK_V3_CALLS,
    shownBy: ['<｜tool▁calls▁begin｜>', '```json'],
  },
  {
    ...SPECIAL,
    names: ['deepseek_v31'],
    layout: DEEPSEEK_V31_CALLS,
    shownBy: ['<｜tool▁calls▁begin｜>'],
  },
  {
    ...PLAIN,
    names: ['glm45', 'glm47'],
    layout: GLM_CALLS,
    shownBy: ['<tool_call>', '<arg_key>'],
  },
  {
    ...SPECIAL,
    names: ['minimax_m2'],
    layout: MINIMAX_CALLS,
    shownBy: ['<minimax:tool_call>'],
  },
  {
    ...SPECIAL,
    names: ['seed_oss'],
    layout: each(['<seed:tool_call>\n', '\n</seed:tool_call>'], xmlCall('')),
    shownBy: ['<seed:tool_call>'],
  },
  {
    ...PLAIN,
    names: ['qwen3_coder', 'qwen3_xml', 'mimo', 'nemotron_v3', 'step3p5'],
    layout: each(['<tool_call>\n', '\n</tool_call>'], xmlCall('\n')),
    shownBy: ['<tool_call>', '<function='],
  },
  {
    ...SPECIAL,
    names: ['functiongemma'],
    layout: {
      ...each(['<start_function_call>', '<end_function_call>'], gemmaCall('<escape>')),
      separator: '',
    },
    shownBy: ['<start_function_call>'],
  },
  {
    ...SPECIAL,
    names: ['gemma4'],
    layout: { ...each(['<|tool_call>', '<tool_call|>'], gemmaCall('<|"|>')), separator: '' },
    shownBy: ['<|tool_call>', '<tool_call|>'],
  },
  {
    ...SPECIAL,
    names: ['lfm2'],
    layout: list(['<|tool_call_start|>', '<|tool_call_end|>'], PYTHON),
    shownBy: ['<|tool_call_start|>'],
  },
  {
    ...SPECIAL,
    names: ['cohere_command3', 'cohere'],
    layout: COHERE_CALLS,
    shownBy: ['<|START_ACTION|>'],
  },
  {
    ...PLAIN,
    names: ['olmo3'],
    layout: all(['<function_calls>', '</function_calls>'], PYTHON, '\n'),
    shownBy: ['<function_calls>'],
  },
  {
    ...SPECIAL,
    names: ['nemotron_json', 'nemotron'],
    layout: list(['<TOOLCALL>', '</TOOLCALL>'], OBJECT),
    shownBy: ['<TOOLCALL>'],
  },
  {
    ...SPECIAL,
    names: ['minimax'],
    layout: all(['<tool_calls>\n', '\n</tool_calls>'], OBJECT, '\n'),
    shownBy: ['<tool_calls>\\n{"name": '],
  },
  {
    ...SPECIAL,
    names: ['hunyuan_a13b', 'jamba'],
    layout: list(['<tool_calls>', '</tool_calls>'], OBJECT),
    shownBy: ['<tool_calls>'],
  },
  {
    ...SPECIAL,
    names: ['internlm'],
    layout: {
      ...each(['<|action_start|>', '<|action_end|>'], { ...OBJECT, argumentsKey: 'parameters' }),
      begin: '<|plugin|>',
    },
    shownBy: ['<|action_start|>'],
  },
  {
    ...PLAIN,
    names: ['longcat'],
    layout: each(['<longcat_tool_call>\n', '\n</longcat_tool_call>'], OBJECT),
    shownBy: ['<longcat_tool_call>'],
  },
  {
    ...PLAIN,
    names: ['phi4_mini_json'],
    layout: list(['functools', ''], OBJECT),
    shownBy: ['functools['],
  },
  {
    ...SPECIAL,
    names: ['granite'],
    layout: list(['<|tool_call|>', ''], OBJECT),
    shownBy: ['<|tool_call|>'],
  },
  HERMES,
  {
    ...SPECIAL,
    names: ['llama4_pythonic', 'pythonic'],
    layout: {
      ...list(['<|python_start|>', ''], PYTHON),
      openIsOptional: true,
      tail: '<|python_end|>',
    },
    shownBy: ['[func_name1('],
  },
  LLAMA,
  { ...LLAMA, shownBy: ['"parameters":', 'tools'] },
];

/** The format for models whose template shows none that is known. */
export const HERMES_FORMAT: ToolCallFormat = HERMES;

/** The format that a chat template shows the model, or null if it knows none of these. */
export function detectToolCallFormat(template: string): ToolCallFormat | null {
  return TOOL_CALL_FORMATS.find((format) => isShownBy(format, template)) ?? null;
}

/** The format of that name; of several the one that the template shows. @returns null if there is none */
export function toolCallFormatNamed(name: string, template: string): ToolCallFormat | null {
  const named = TOOL_CALL_FORMATS.filter(({ names }) => names.includes(name));
  return named.find((format) => isShownBy(format, template)) ?? named.at(-1) ?? null;
}

function isShownBy({ shownBy }: ToolCallFormat, template: string): boolean {
  return shownBy.every((text) => template.includes(text));
}

/**
 * @param of which answer and choice it is of
 * @param index its place there
 */
export function callId({ ids }: ToolCallFormat, of: string, index: number, name: string): string {
  if (ids === 'kimi') return `functions.${name}:${index}`;
  const hash = createHash('sha256').update(`${of} ${index}`).digest('hex');
  if (ids === 'mistral') return hash.slice(0, 9);
  return `call_${hash.substring(0, 24)}`;
}
