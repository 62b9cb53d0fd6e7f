/** Fields that say what the output must look like; OpenAI's, and vLLM's of yesterday and today. */
import { z } from 'zod';
import { boundedList } from './fields.ts';

const MAX_CHOICES = 1000;
const MAX_GRAMMAR_LENGTH = 100_000;

const grammarText = z.string().min(1).max(MAX_GRAMMAR_LENGTH);
/** A JSON Schema, as an object or as its text. */
const schema = z.union([z.record(z.string(), z.unknown()), z.boolean(), grammarText]);
const choices = boundedList(z.string().min(1, 'a choice must not be empty'), MAX_CHOICES).refine(
  (list) => list.length > 0,
  { error: 'expected at least one choice' },
);

const responseFormat = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: z.literal('text') }),
    z.looseObject({ type: z.literal('json_object') }),
    z.looseObject({
      type: z.literal('json_schema'),
      json_schema: z.looseObject({
        name: z.string().nullish(),
        schema: z.union([z.record(z.string(), z.unknown()), z.boolean()]).nullish(),
        strict: z.boolean().nullish(),
      }),
    }),
  ],
  { error: 'expected `text`, `json_object` or `json_schema`' },
);

const structuredOutputs = z.looseObject({
  json: schema.nullish(),
  regex: grammarText.nullish(),
  choice: choices.nullish(),
  grammar: grammarText.nullish(),
  json_object: z.boolean().nullish(),
  structural_tag: z.unknown().optional(),
});

export const structuredFields = {
  response_format: responseFormat.nullish(),
  /** One of `json`, `regex`, `choice`, `grammar` (EBNF) and `json_object`, as in vLLM. */
  structured_outputs: structuredOutputs.nullish(),
  /** Older names of the same. */
  guided_json: schema.nullish(),
  guided_regex: grammarText.nullish(),
  guided_choice: choices.nullish(),
  guided_grammar: grammarText.nullish(),
};

const structuredBody = z.looseObject(structuredFields);

export type StructuredFields = z.infer<typeof structuredBody>;
