/** Fields for structured output: OpenAI's, and vLLM's older and current ones. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { boundedList } from './bounded-list.ts';
import { grammarJsonFault } from '../../grammar/grammar-json.ts';

export const grammarText = z.string().min(1).max(LIMITS.grammarCharacters);
/** Measured before it is looked at, as `boundedList`. */
export function measured<Schema extends z.ZodType>(schema: Schema) {
  return z
    .custom<unknown>((value) => grammarJsonFault(value) === null, {
      error: ({ input }) => grammarJsonFault(input) ?? 'expected a JSON schema',
    })
    .pipe(schema);
}

const schemaObject = z.union([z.record(z.string(), z.unknown()), z.boolean()]);
/** A JSON Schema, as an object or as its text. */
export const jsonSchema = measured(z.union([schemaObject, grammarText]));
const choices = boundedList(z.string().min(1, 'a choice must not be empty'), LIMITS.grammarChoices)
  .refine((list) => list.length > 0, { error: 'expected at least one choice' })
  .refine(
    (list) => list.reduce((sum, { length }) => sum + length, 0) <= LIMITS.grammarChoiceCharacters,
    {
      error: `expected at most ${LIMITS.grammarChoiceCharacters} characters in all choices together`,
    },
  );

const responseFormat = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: z.literal('text') }),
    z.looseObject({
      type: z.literal('json_object'),
      /** As llama-server takes it. */
      schema: measured(schemaObject).nullish(),
      /** As text-generation-inference takes it, and Hugging Face's client sends it. */
      value: measured(schemaObject).nullish(),
    }),
    z.looseObject({
      type: z.literal('json_schema'),
      json_schema: z.looseObject({
        name: z.string().nullish(),
        schema: measured(schemaObject).nullish(),
        strict: z.boolean().nullish(),
      }),
    }),
  ],
  { error: 'expected `text`, `json_object` or `json_schema`' },
);

const structuredOutputs = z.looseObject({
  json: jsonSchema.nullish(),
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
  guided_json: jsonSchema.nullish(),
  guided_regex: grammarText.nullish(),
  guided_choice: choices.nullish(),
  guided_grammar: grammarText.nullish(),
};

const structuredBody = z.looseObject(structuredFields);

export type StructuredFields = z.infer<typeof structuredBody>;
