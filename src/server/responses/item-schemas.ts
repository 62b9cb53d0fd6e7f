/** The items of `input` of a response, as they are checked. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { boundedList } from '../schemas/bounded-list.ts';
import { shortText } from '../schemas/fields.ts';
import { inputImagePart } from '../schemas/images.ts';
import { HOSTED_ITEMS } from './items.ts';

const textPart = z.looseObject({
  type: z.enum(['input_text', 'output_text', 'text']),
  text: z.string(),
});

const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });

export const parts = boundedList(
  z.discriminatedUnion('type', [textPart, inputImagePart, refusalPart], {
    error: 'only parts of text (`input_text`, `output_text`) and `input_image` are supported',
  }),
  LIMITS.messageParts,
);

const status = z.enum(['in_progress', 'completed', 'incomplete']).nullish();

export const content = z.union([z.string(), parts], {
  error: 'expected a string or a list of parts',
});

export const message = z.looseObject({
  type: z.literal('message').nullish(),
  id: shortText.nullish(),
  status,
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  phase: z.enum(['commentary', 'final_answer']).nullish(),
  content,
});

export const functionCall = z.looseObject({
  type: z.literal('function_call'),
  id: shortText.nullish(),
  status,
  call_id: shortText.min(1),
  name: shortText.min(1),
  namespace: shortText.nullish(),
  arguments: z.string(),
});

export const customCall = z.looseObject({
  type: z.literal('custom_tool_call'),
  id: shortText.nullish(),
  status,
  call_id: shortText.min(1),
  name: shortText.min(1),
  namespace: shortText.nullish(),
  input: z.string(),
});

export const customCallOutput = z.looseObject({
  type: z.literal('custom_tool_call_output'),
  id: shortText.nullish(),
  call_id: shortText.min(1),
  output: content,
});

export const clientCall = z.looseObject({
  type: z.enum(['local_shell_call', 'shell_call', 'apply_patch_call']),
  id: shortText.nullish(),
  call_id: shortText.min(1),
});

export const clientCallOutput = z.looseObject({
  type: z.enum(['local_shell_call_output', 'shell_call_output', 'apply_patch_call_output']),
  id: shortText.nullish(),
  /** Missing where a client gives the id of the call as its own. */
  call_id: shortText.min(1).nullish(),
  output: z.unknown(),
});

export const hostedItem = z.looseObject({ type: z.enum(HOSTED_ITEMS), id: shortText.nullish() });

export const functionCallOutput = z.looseObject({
  type: z.literal('function_call_output'),
  id: shortText.nullish(),
  status,
  call_id: shortText.min(1),
  output: content,
});

export const reasoning = z.looseObject({
  type: z.literal('reasoning'),
  id: shortText.nullish(),
  status,
  summary: boundedList(z.looseObject({}), LIMITS.messageParts).nullish(),
  content: boundedList(
    z.looseObject({ type: z.literal('reasoning_text'), text: z.string() }),
    LIMITS.messageParts,
  ).nullish(),
  encrypted_content: z.string().nullish(),
});

export const compaction = z.looseObject({
  type: z.literal('compaction'),
  id: shortText.nullish(),
  encrypted_content: z.string(),
});

export const itemReference = z.looseObject({
  type: z.literal('item_reference').nullish(),
  id: shortText,
});

/** Describes `input` to readers; parsed by hand, so that the first bad item of a long list ends it. */
export const inputSchema = z.union([
  z.string(),
  z.array(
    z.union([
      message,
      functionCall,
      functionCallOutput,
      customCall,
      customCallOutput,
      clientCall,
      clientCallOutput,
      hostedItem,
      reasoning,
      compaction,
      itemReference,
    ]),
  ),
]);
