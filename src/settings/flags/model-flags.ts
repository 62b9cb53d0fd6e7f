import { PRECISIONS } from '../../model/manifest.ts';
import { REASONING_FORMATS } from '../../front/chat/reasoning-formats.ts';
import { TOOL_CALL_FORMATS } from '../../front/tool-calls/formats.ts';
import { LIMITS } from '../../limits.ts';
import type { FlagSpec } from './flag-spec.ts';
import { count, inWords, jsonObject, listOf, oneOf, text } from './values.ts';

const MODEL = {
  flags: '--model <model>',
  short: 'm',
  isBasic: true,
  defaultText: 'summit',
} as const;

/** `auto`, `none` and vLLM's names. */
function parserNames(formats: readonly { readonly names: readonly string[] }[]) {
  return ['auto', 'none', ...new Set(formats.flatMap(({ names }) => names))] as const;
}

const TOOL_CALL_PARSERS = parserNames(TOOL_CALL_FORMATS);
const REASONING_PARSERS = parserNames(REASONING_FORMATS);

/** Flags of the model and its number formats. */
export const MODEL_FLAGS = {
  models: {
    ...MODEL,
    description: 'folder, GGUF file, Hugging Face name or name of `list`',
    schema: listOf(text).optional(),
    list: 'whole',
  },
  model: {
    ...MODEL,
    description: 'folder, GGUF file, Hugging Face name or name of `list`',
    schema: text.optional(),
  },
  servedModelName: {
    flags: '--served-model-name <names>',
    description: 'what clients call it, in place of its own name; several by commas',
    schema: listOf(text).optional(),
    list: 'commas',
    words: /^[^-]/,
    isBasic: true,
  },
  precision: {
    flags: '--precision <name>',
    description: inWords(['auto', ...PRECISIONS]),
    schema: oneOf(['auto', ...PRECISIONS]),
    isBasic: true,
    default: 'auto',
  },
  mmproj: {
    flags: '--mmproj <file>',
    description: 'GGUF file with the part that sees, for a GGUF model; off: no images',
    schema: text.optional(),
    defaultText: 'the one beside the model',
  },
  visionPrecision: {
    flags: '--vision-precision <name>',
    description: 'of the part that sees, in a model that does: auto (fp32), fp32 or int8',
    schema: oneOf(['auto', 'fp32', 'int8']),
    default: 'auto',
  },
  imageMaxTokens: {
    flags: '--image-max-tokens <n>',
    description:
      'tokens of an image, for a model that keeps its shape; larger ones are made smaller',
    schema: count(1),
    default: LIMITS.imageTokens,
  },
  calibrate: {
    flags: '--calibrate <file>',
    description: 'texts to calibrate with: a text, or JSON lines of {"text"}',
    schema: text.optional(),
    defaultText: 'the model writes its own',
  },
  chatTemplate: {
    flags: '--chat-template <file>',
    description: "Jinja template in place of the model's own: a file, the text, or a name",
    schema: text.optional(),
    isBasic: true,
  },
  chatTemplateKwargs: {
    flags: '--chat-template-kwargs <json>',
    description: 'variables of the chat template where a request does not say',
    schema: jsonObject.optional(),
    defaultText: 'none',
  },
  specialTokensInContent: {
    flags: '--special-tokens-in-content',
    description: 'read special tokens in messages as tokens, and not as plain text',
  },
  toolCallParser: {
    flags: '--tool-call-parser <name>',
    description: `how the model writes tool calls: ${inWords(TOOL_CALL_PARSERS)}`,
    schema: oneOf(TOOL_CALL_PARSERS),
    default: 'auto',
  },
  reasoningParser: {
    flags: '--reasoning-parser <name>',
    description: `how the model marks its thoughts: ${inWords(REASONING_PARSERS)}`,
    schema: oneOf(REASONING_PARSERS),
    default: 'auto',
  },
  reasoningBudget: {
    flags: '--reasoning-budget <n>',
    description: 'tokens that are thought where a request does not say; 0 ends thoughts at once',
    schema: count(-1).optional(),
    defaultText: 'no limit',
  },
  randomWeights: {
    flags: '--random-weights <seed>',
    description:
      'random weights from this seed, for tests; --model may then be a preset or config.json',
    schema: count(0).optional(),
  },
} satisfies Record<string, FlagSpec>;
